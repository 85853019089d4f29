//! Fences that come too late for the storing threads.

use ptxcheck_ir::InstructionId;

use super::alike::may_wait_elsewhere;
use super::kernel::AsyncSite;
use super::sites::Site;
use super::sum::leads_to_without;
use super::unfenced_stores::{Sent, fences_of};

/// The fences between a meeting and a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// There is one.
    Behind,
    /// There is none, and no fence of another thread can be in between.
    Never,
}

impl Sent<'_, '_> {
    /// The fences after a meeting that the storing threads reach before any other fence.
    pub(super) fn late_fences(&self, (id, store): Site, reader: &AsyncSite) -> Option<Late> {
        let body = self.module.module.function(id).body.as_ref()?;
        let copy = reader.operation.instruction;
        let is_here = |fence: &AsyncSite| fence.function == id;
        if reader.function != id || !fences_of(self.kernel).all(is_here) {
            return None;
        }
        let analyses = self.module.function(id);
        let is_between = |&&(of, meeting): &&Site| {
            of == id && analyses.is_before(store, meeting) && analyses.is_before(meeting, copy)
        };
        let fences = || fences_of(self.kernel).map(|fence| fence.operation.instruction);
        let mut between = self
            .waiting_sites()
            .iter()
            .filter(is_between)
            .map(|(_, meeting)| *meeting);
        // All storing threads pass it before they reach a later meeting.
        let is_fenced = between.clone().any(|meeting| {
            fences().any(|fence| {
                leads_to_without(body, store, fence, meeting)
                    && !leads_to_without(body, store, meeting, fence)
            })
        });
        let is_unfenced =
            |&meeting: &InstructionId| fences().all(|fence| !leads_to_without(body, store, fence, meeting));
        let meeting = between.find(is_unfenced).filter(|_| !is_fenced)?;
        let comes_after = |fence| {
            leads_to_without(body, meeting, fence, copy) && leads_to_without(body, fence, copy, meeting)
        };
        if fences().any(comes_after) {
            return Some(Late::Behind);
        }
        let may_meet_elsewhere = may_wait_elsewhere(self.module, self.kernel, (id, body), store, copy);
        (!may_meet_elsewhere).then_some(Late::Never)
    }
}
