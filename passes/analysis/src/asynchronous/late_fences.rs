//! Fences that come too late for the storing threads.

use ptxcheck_ir::InstructionId;
use ptxcheck_ir::paths::Paths;

use super::kernel::AsyncSite;
use super::sites::Site;
use super::sum::has_path_avoiding;
use super::unfenced_stores::{OrdinaryStores, shared_fences_of};
use super::uniform_reach::may_wait_at_other_barrier;

/// The fences between a meeting and a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// There is one.
    Behind,
    /// There is none, and no fence of another thread can be in between.
    Never,
}

impl OrdinaryStores<'_, '_> {
    /// The fences after a meeting that the storing threads reach before any other fence.
    pub(super) fn late_fences(&self, (id, store): Site, reader: &AsyncSite) -> Option<Late> {
        let body = self.module.module.function(id).body.as_ref()?;
        let copy = reader.operation.instruction;
        let is_here = |fence: &AsyncSite| fence.function == id;
        if reader.function != id || !shared_fences_of(self.kernel).all(is_here) {
            return None;
        }
        let (analyses, paths) = (self.module.function(id), Paths::new(body));
        let is_between = |&&(of, meeting): &&Site| {
            // Of a loop that may have no round, a store is on no path that skips it.
            let is_in_loop_before =
                || paths.lead(store, store) && paths.lead(store, meeting) && !paths.lead(meeting, store);
            of == id
                && (analyses.is_on_every_path_to(store, meeting) || is_in_loop_before())
                && analyses.is_on_every_path_to(meeting, copy)
        };
        let fences = || shared_fences_of(self.kernel).map(|fence| fence.operation.instruction);
        let mut between = self
            .waiting_sites()
            .iter()
            .filter(is_between)
            .map(|(_, meeting)| *meeting);
        // All storing threads pass it before they reach a later meeting.
        let is_fenced = between.clone().any(|meeting| {
            fences().any(|fence| {
                has_path_avoiding(body, store, fence, meeting)
                    && !has_path_avoiding(body, store, meeting, fence)
            })
        });
        let is_unfenced =
            |&meeting: &InstructionId| fences().all(|fence| !has_path_avoiding(body, store, fence, meeting));
        let meeting = between.find(is_unfenced).filter(|_| !is_fenced)?;
        let comes_after = |fence| {
            has_path_avoiding(body, meeting, fence, copy) && has_path_avoiding(body, fence, copy, meeting)
        };
        if fences().any(comes_after) {
            return Some(Late::Behind);
        }
        let may_meet_elsewhere = may_wait_at_other_barrier(self.module, self.kernel, (id, body), store, copy);
        (!may_meet_elsewhere).then_some(Late::Never)
    }
}
