//! Calls and returns.

use ptxcheck_ir::{Body, Call, Callee, FunctionId, InstructionId, SymbolId};

use crate::address::{self, FRAME, STACK};
use crate::evaluate::Word;
use crate::launch::WARP;
use crate::limits::{MAX_CALL_DEPTH, MAX_REGISTERS, MAX_STACK};
use crate::machine::{Machine, Step, at};
use crate::observe::Event;
use crate::operands::argument;
use crate::outcome::{End, Unknown};
use crate::thread::{Act, Frame, State};
use crate::world::Outside;

impl Machine<'_> {
    /// Begins a call: of code that is not here, the thread is poised before it.
    pub(crate) fn call(&mut self, thread: usize, body: &Body<'_>, call: &Call) -> Step {
        let module = self.kernel.module.0;
        let (function, symbol) = match call.callee {
            Callee::Direct(symbol) => (module.called(symbol), Some(symbol)),
            Callee::Indirect(value) => {
                let address = self.value(thread, value);
                let address = address.ok_or_else(|| self.unknown(thread, Unknown::Callee))?;
                let function = self.kernel.symbols.function_at(module, address);
                (
                    function,
                    function.map(|function| module.function(function).symbol),
                )
            }
        };
        let is_here = |function: &FunctionId| {
            let known = module.function(*function);
            let has_code = known.body.as_ref().is_some_and(|body| !body.blocks.is_empty());
            has_code && !known.is_damaged
        };
        match function.filter(is_here) {
            Some(function) => self.enter(thread, function, body, call),
            None => {
                self.threads[thread].state = State::Poised(Act::Outside(symbol));
                Ok(())
            }
        }
    }

    fn enter(&mut self, thread: usize, function: FunctionId, caller: &Body<'_>, call: &Call) -> Step {
        let depth = self.threads[thread].frames.len();
        let context = self.contexts.enter(self.point(thread));
        let callee = self.kernel.body(function);
        let (Some(context), Some(callee), true) = (context, callee, depth < MAX_CALL_DEPTH) else {
            return Err(self.unknown(thread, Unknown::Depth));
        };
        let unwritten = self.world.unwritten();
        let banks = &mut self.banks[thread / WARP];
        self.registers += banks.enter(context, thread % WARP, callee.registers.len(), unwritten);
        if self.registers > MAX_REGISTERS {
            return Err(self.unknown(thread, Unknown::Depth));
        }
        // A call takes as long as it has arguments and registers.
        self.spend(callee.registers.len() as u64 / 64)?;
        let mut arguments = caller.arguments(call).to_vec();
        arguments.sort_by_key(|one| (one.param, one.offset));
        for one in arguments {
            let bits = one
                .value
                .register()
                .map_or(0, |register| caller.registers.bits(register));
            let bytes = if bits == 0 { 8 } else { u64::from(bits.div_ceil(8)) };
            let word = self.value(thread, one.value);
            self.stored = if self.follows() {
                self.bits_of(thread, one.value)
            } else {
                0
            };
            let raw = argument(depth as u64, one.param, one.offset);
            if let Some(generic) = address::to_generic(ptxcheck_ir::Space::Param, raw) {
                self.store(thread, generic, bytes, word)?;
            }
        }
        let frame = Frame::new(function, context, callee, self.kernel.slice_of(function));
        self.threads[thread].frames.push(frame);
        Ok(())
    }

    /// Returns from the innermost function, or ends the thread.
    pub(crate) fn leave(&mut self, thread: usize, is_exit: bool) {
        let frames = &mut self.threads[thread].frames;
        let left = if is_exit { frames.len() } else { 1 };
        let mut returned = None;
        for frame in frames.drain(frames.len().saturating_sub(left)..) {
            let freed = self.banks[thread / WARP].leave(frame.context, thread % WARP);
            self.registers = self.registers.saturating_sub(freed);
            returned = Some(frame.returned);
        }
        let (Some(caller), Some(returned)) = (frames.last_mut(), returned) else {
            return self.end(thread);
        };
        let call = caller.position.instruction;
        let first = self.code_of(thread).and_then(|(body, instruction)| {
            let register = body.results(instruction).first()?.register()?;
            returned.read(0, returned_bytes(body.registers.bits(register)))
        });
        if let Some(caller) = self.frame(thread) {
            caller.results.insert(call, returned);
        }
        let results = self
            .code_of(thread)
            .map_or(0, |(_, instruction)| instruction.results);
        for number in 0..usize::from(results) {
            self.define(thread, number, first.filter(|_| number == 0));
        }
        self.advance(thread);
    }

    /// The value that a call returned, for the instruction that a thread is at; `None` if the call was of code that is not here.
    pub(crate) fn call_result(&mut self, thread: usize, call: InstructionId) -> Option<Word> {
        let (body, instruction) = self.code_of(thread)?;
        let offset = body.uses(instruction).first().copied();
        let offset = offset.and_then(|offset| self.value(thread, offset));
        let returned = self.threads[thread].frames.last()?.results.get(&call.index())?;
        let register = body
            .results(instruction)
            .first()
            .and_then(|result| result.register());
        let bits = register.map_or(0, |register| body.registers.bits(register));
        Some(offset.and_then(|offset| returned.read(offset, returned_bytes(bits))))
    }

    /// The effect of a function that is not here.
    pub(crate) fn outside(&mut self, thread: usize, symbol: SymbolId) -> Outside {
        let point = self.point(thread);
        self.world
            .outside(&at(self.block, thread, point, &self.contexts), symbol)
    }

    /// Executes a call of code that is not here.
    pub(crate) fn call_outside(&mut self, thread: usize, symbol: Option<SymbolId>) -> Step {
        let point = self.point(thread);
        let effect = symbol.map_or(Outside::Unknown, |symbol| self.outside(thread, symbol));
        self.tell(thread, &Event::MayOrder);
        match effect {
            Outside::Returns | Outside::Writes => {
                if effect == Outside::Writes {
                    self.forget_all();
                    self.leave_open(thread);
                }
                self.ask_results(thread);
                // An earlier call here may have been of code that is here.
                if let Some(frame) = self.frame(thread) {
                    frame.results.remove(&point.instruction.index());
                }
                self.advance(thread);
                Ok(())
            }
            Outside::Ends => Err(End::Trap(self.contexts.site(point))),
            Outside::Unknown => Err(self.unknown(thread, Unknown::Callee)),
        }
    }

    /// Memory on the stack: its address in local memory.
    pub(crate) fn stack(&mut self, thread: usize, bytes: Word) -> Step<Word> {
        let depth = self.threads[thread].frames.len() as u64 - 1;
        let bytes = bytes.filter(|&bytes| bytes <= MAX_STACK);
        let (Some(bytes), Some(frame)) = (bytes, self.frame(thread)) else {
            return Err(self.unknown(thread, Unknown::Address));
        };
        let address = depth * FRAME + STACK + frame.stack;
        frame.stack += bytes.next_multiple_of(256).max(256);
        if frame.stack > FRAME - STACK {
            return Err(End::Unknown(Unknown::Memory));
        }
        Ok(Some(address))
    }

    /// True if a thread has executed the last instruction of its function.
    pub(crate) fn is_at_end(&self, thread: usize) -> bool {
        self.threads[thread]
            .frames
            .last()
            .is_none_or(|frame| frame.position.is_end())
    }
}

fn returned_bytes(bits: u8) -> u64 {
    if bits == 0 { 8 } else { u64::from(bits.div_ceil(8)) }
}
