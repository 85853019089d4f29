//! Writes to bytes that a copy of another thread is still reading, after a wait for that thread.
//!
//! ```text
//! copy     by one thread, which the code selects by its number or by `elect.sync`; it waits for groups
//! wait     a barrier of all threads, which all of them reach alike; or one at which that thread hands over
//! in flight  whenever the sender reaches its arrival there
//! write    by another thread that its number distinguishes, after the wait on each path, with nothing in between at which it might wait
//!          for the sender again
//! ```

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AsyncOp, Asynchronous, Body, Completion, FunctionId, InstructionId};

use super::handovers::Handovers;
use super::kernel::AsyncKernel;
use super::overlap::{CopyInFlight, End, Overlap, Ways};
use super::pending::Pending;
use super::problems::AsyncAnalysis;
use super::sum::{ALL_BYTES, Extent};
use super::uniform_reach::is_reached_by_block_alike;
use super::unordered::WaitingInstructions;
use super::view::View;
use crate::lanes::is_full_barrier;
use crate::limits::MAX_BEHIND_BARRIERS;

/// A write, and the bytes that it writes.
type Write = (InstructionId, u64);

impl<'a, 'm> AsyncAnalysis<'a, 'm> {
    /// Adds the writes of a kernel to sources of copies that other threads have started before a wait for them, and do not wait for before it.
    pub(super) fn add_writes_behind_barriers(self, kernel: &'a AsyncKernel, found: &mut Vec<Overlap>) {
        let (module, id) = (self.module, kernel.kernel);
        let Some(body) = &module.module.function(id).body else {
            return;
        };
        let writes = self.shared_writes(id, body);
        let waiting = WaitingInstructions::of_threads(module, kernel, body).list();
        if waiting.len().saturating_mul(writes.len() + waiting.len()) > MAX_BEHIND_BARRIERS {
            return;
        }
        let views = View::distinct_threads(module, id);
        let senders = views.iter().filter(|view| view.is_single_thread());
        let mut search = Search {
            analysis: self,
            id,
            body,
            writes,
            waiting,
            senders: senders
                .filter_map(|sender| Some((sender, Pending::new(sender)?)))
                .collect(),
            views: &views,
            found,
        };
        if search.senders.is_empty() {
            return;
        }
        search.visit_common_barriers();
        if let Some(handovers) = Handovers::new(module, kernel) {
            search.visit_handovers(&handovers);
        }
    }
}

struct Search<'s, 'a, 'm> {
    analysis: AsyncAnalysis<'a, 'm>,
    id: FunctionId,
    body: &'a Body<'m>,
    writes: Vec<Write>,
    /// The instructions at which threads may wait for others.
    waiting: Vec<InstructionId>,
    /// Single threads, with their copies.
    senders: Vec<(&'s View<'a, 'm>, Pending<'s, 'a, 'm>)>,
    views: &'s [View<'a, 'm>],
    found: &'s mut Vec<Overlap>,
}

impl Search<'_, '_, '_> {
    fn visit_common_barriers(&mut self) {
        let barriers = self
            .body
            .iter()
            .filter(|(_, instruction)| is_full_barrier(instruction));
        let barriers: Vec<InstructionId> = barriers.map(|(at, _)| at).collect();
        for barrier in barriers {
            let behind = self.directly_behind(barrier, &self.writes);
            if behind.is_empty() || !is_reached_by_block_alike(self.analysis.module, self.id, barrier) {
                continue;
            }
            for sender in 0..self.senders.len() {
                self.add_writes_during_copies(sender, barrier, &behind);
            }
        }
    }

    /// The same for waits at which one role hands over to another.
    fn visit_handovers(&mut self, handovers: &Handovers<'_, '_>) {
        for write in self.writes.clone() {
            for handover in handovers.before(write.0) {
                if handover.is_common() || self.directly_behind(handover.wait, &[write]).is_empty() {
                    continue;
                }
                for sender in 0..self.senders.len() {
                    if let Some(arrival) = handover.only_arrival_of(self.senders[sender].0) {
                        self.add_writes_during_copies(sender, arrival, &[write]);
                    }
                }
            }
        }
    }

    /// Adds those of some writes that overlap what copies of a sender read, where these are in flight whenever it reaches its arrival.
    fn add_writes_during_copies(&mut self, sender: usize, arrival: InstructionId, behind: &[Write]) {
        let number = self.senders[sender].0.thread_number();
        for (copy, held) in self.sources_under_way(sender, arrival) {
            for &(at, bytes) in behind {
                let is_it = |known: &Overlap| (known.function, known.access) == (self.id, at);
                let is_by_other = |writer: &View<'_, '_>| {
                    let stored = Extent::of_access(writer, at, bytes);
                    writer.thread_number().is_some()
                        && writer.thread_number() != number
                        && writer.may_execute(at)
                        && stored.is_some_and(|stored| stored.surely_overlaps(&held))
                };
                let mut known = self.found.iter();
                if known.any(|known| is_it(known) && known.under_way.ways.is_certain())
                    || !self.analysis.module.function(self.id).is_reached(at)
                    || !self.views.iter().any(is_by_other)
                {
                    continue;
                }
                self.found.retain(|known| !is_it(known));
                self.found.push(Overlap {
                    function: self.id,
                    access: at,
                    copy,
                    under_way: CopyInFlight {
                        thread: None,
                        is_elected: false,
                        is_of_other_thread: true,
                        ways: Ways::All,
                    },
                });
            }
        }
    }

    /// Those writes that a thread reaches after a wait on each path, without waiting again in between.
    fn directly_behind(&self, wait: InstructionId, writes: &[Write]) -> Vec<Write> {
        let paths = Paths::new(self.body).without(wait);
        let again = self.waiting.iter().copied();
        let again: Vec<InstructionId> = again
            .filter(|&other| other != wait && paths.lead(wait, other))
            .collect();
        if again.len().saturating_mul(writes.len()) > MAX_BEHIND_BARRIERS {
            return Vec::new();
        }
        let is_direct = |&&(at, _): &&Write| {
            self.analysis
                .module
                .function(self.id)
                .is_on_every_path_to(wait, at)
                && !again.iter().any(|&other| other != at && paths.lead(other, at))
        };
        writes.iter().filter(is_direct).copied().collect()
    }

    /// The copies of a sender that are in flight whenever it reaches an instruction, with the bytes that they read.
    fn sources_under_way(&self, sender: usize, at: InstructionId) -> Vec<(Asynchronous, Extent)> {
        let (sender, pending) = &self.senders[sender];
        if sender.executes(at) != Some(true) {
            return Vec::new();
        }
        let states = pending.states_before(at);
        let under_way = pending.copies().iter().zip(&states);
        // Others may know by its barrier that a copy is complete; of its group, only the sender.
        let is_in_group =
            |op| matches!(op, AsyncOp::Copy(copy) if matches!(copy.completion, Completion::Group(_)));
        let under_way = under_way.filter(|(copy, states)| is_in_group(copy.op) && states.is_in_flight());
        let held = under_way.filter_map(|(copy, _)| {
            let source = End::Source.access_of_end(copy)?;
            let sizes = self.analysis.sizes();
            let bytes = sizes.certain_bytes(self.id, copy)?;
            let is_whole = sizes.byte_mask(self.id, copy) == ALL_BYTES;
            Some((
                *copy,
                Extent::of_access(sender, source, bytes).filter(|_| is_whole)?,
            ))
        });
        held.collect()
    }
}
