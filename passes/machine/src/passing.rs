//! Takes threads past code that they may or may not execute.

use ptxcheck_ir::BlockId;

use crate::effects::Effects;
use crate::machine::{Machine, Step};
use crate::observe::Event;
use crate::outcome::Unknown;
use crate::thread::State;
use crate::world::Outside;

impl Machine<'_> {
    /// Moves a thread at the end of a block, from a branch with an unknown guard or index to the block where all paths meet.
    pub(crate) fn pass_by(&mut self, thread: usize, block: BlockId) -> Step {
        let (kernel, function) = (self.kernel, self.point(thread).function);
        let Some(body) = kernel.body(function) else {
            return Ok(());
        };
        let detour = kernel.detours.past(kernel.module.0, function, body, block);
        let detour = detour.ok_or_else(|| self.unknown(thread, Unknown::Branch))?;
        // A turn of a loop around it costs as much as the effects are.
        self.spend(1 + detour.effects.registers.len() as u64 / 64)?;
        if detour.may_wait {
            self.tell(thread, &Event::MayWait);
            self.leave_open(thread);
        }
        self.suffer(thread, &detour.effects)?;
        self.enter_in(thread, body, detour.to);
        self.threads[thread].state = State::Running;
        Ok(())
    }

    /// Forgets what code with these effects may have changed.
    pub(crate) fn suffer(&mut self, thread: usize, effects: &Effects) -> Step {
        if effects.may_order {
            self.tell(thread, &Event::MayOrder);
            self.leave_open(thread);
        }
        for &symbol in &effects.outside {
            match self.outside(thread, symbol) {
                Outside::Returns | Outside::Ends => {}
                Outside::Writes => self.forget_all(),
                Outside::Unknown => return Err(self.unknown(thread, Unknown::Callee)),
            }
        }
        for &space in &effects.spaces {
            self.forget_of(thread, space);
        }
        for &register in &effects.registers {
            self.set_register(thread, register, None);
        }
        if let Some(frame) = self.frame(thread) {
            for call in &effects.calls {
                frame.results.remove(&call.index());
            }
            if effects.returns {
                frame.returned.forget();
            }
        }
        Ok(())
    }
}
