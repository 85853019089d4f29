//! Clocks of 32 members that meet: the lanes of a warp, or the warps of a block.
//!
//! ```text
//! of(m)[n]         the last epoch of member n that comes before what m does next; of(m)[m] is the epoch of m itself
//! meeting of G     for m ∈ G: of(m) := max of the clocks in G, and then m begins an epoch of its own
//! signal of m      the clock of m then; m begins an epoch of its own
//! wait of G        a meeting of G, and of those that have signalled
//! ```

use crate::launch::WARP;

/// By member, an epoch.
pub(super) type Clock = [u32; WARP];

/// The clocks of all members.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    of: [Clock; WARP],
}

impl Default for Clocks {
    fn default() -> Self {
        let mut of = [[0; WARP]; WARP];
        for (member, clock) in of.iter_mut().enumerate() {
            clock[member] = 1;
        }
        Self { of }
    }
}

impl Clocks {
    /// The epoch of a member.
    pub(super) const fn epoch(&self, member: usize) -> u32 {
        self.of[member][member]
    }

    /// By member: its last epoch that comes before what one does next.
    pub(super) const fn of(&self, member: usize) -> &Clock {
        &self.of[member]
    }

    /// Members meet, a bit for each: what each did comes before what all of them do next.
    pub(super) fn meet(&mut self, members: u32) {
        self.wait(members, &[0; WARP]);
    }

    /// A member lets others know what it has done so far.
    pub(super) fn signal(&mut self, member: usize) -> Clock {
        let clock = self.of[member];
        self.of[member][member] += 1;
        clock
    }

    /// Members meet, a bit for each, and learn what signals say.
    pub(super) fn wait(&mut self, members: u32, heard: &Clock) {
        let members = || (0..WARP).filter(|member| members >> member & 1 == 1);
        let mut joined = *heard;
        for member in members() {
            join(&mut joined, &self.of[member]);
        }
        for member in members() {
            self.of[member] = joined;
            self.of[member][member] += 1;
        }
    }
}

/// Makes a clock know what another one knows.
pub(super) fn join(clock: &mut Clock, other: &Clock) {
    for (all, &one) in clock.iter_mut().zip(other) {
        *all = one.max(*all);
    }
}
