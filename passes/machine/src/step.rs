//! Steps of a thread: the instructions that it executes on its own, and those that others see.

use ptxcheck_ir::{Barrier, BlockId, Body, Collective, Instruction, MemberMask, Op, Space, Value};

use crate::address;
use crate::effects::{Effects, OwnPart, is_computation, may_order, own_part};
use crate::evaluate::{self, Word};
use crate::launch::{WARP, lane_bit, warp_of};
use crate::machine::{Machine, Step};
use crate::observe::Event;
use crate::outcome::{End, Unknown, Wrong};
use crate::site::Point;
use crate::thread::{Act, Numbered, State};
use crate::world::Unmodelled;

impl Machine<'_> {
    /// Executes one instruction of a thread, if others do not see it; else the thread waits, or is poised before it.
    pub(crate) fn silent_step(&mut self, thread: usize) -> Step {
        if self.is_at_end(thread) {
            self.leave(thread, false);
            return Ok(());
        }
        let Some((body, instruction)) = self.code_of(thread) else {
            return Ok(());
        };
        let block = self.enter_block(thread, body);
        if matches!(instruction.op, Op::Branch | Op::BranchTable)
            && let Some(slice) = self.kernel.slice_of(self.point(thread).function)
            && let Some(to) = slice.past(block)
        {
            self.jump(thread, body, Some(to));
            return Ok(());
        }
        let runs = match instruction.guard {
            None => Some(true),
            Some(guard) => {
                let predicate = self.register(thread, guard.register);
                predicate.map(|predicate| (predicate & 1 == 1) != guard.negated)
            }
        };
        let bits = self
            .follows()
            .then(|| self.note_uses(thread, body, instruction, runs));
        match runs {
            Some(true) => self.execute(thread, body, instruction, block)?,
            Some(false) => self.pass(thread, body, instruction, block),
            None => self.pass_over(thread, body, instruction, block)?,
        }
        if let Some(bits) = bits {
            self.hand_on(thread, (body, instruction), runs, bits);
        }
        Ok(())
    }

    /// The block that a thread is in; counts the rounds of loops of the kernel.
    fn enter_block(&mut self, thread: usize, body: &Body<'_>) -> BlockId {
        let Some(frame) = self.threads[thread].frames.last() else {
            return BlockId::new(0);
        };
        let position = frame.position;
        if self.threads[thread].frames.len() == 1 && position.is_first(body) {
            self.kernel
                .ways
                .enter(&mut self.threads[thread].rounds, position.block);
        }
        position.block
    }

    /// Passes over an instruction whose guard does not hold.
    fn pass(&mut self, thread: usize, body: &Body<'_>, instruction: &Instruction, block: BlockId) {
        if instruction.op.is_terminator() {
            let next = body.successors(block).last().copied();
            self.branch(thread, body, next);
        } else {
            self.advance(thread);
        }
    }

    /// Skips an instruction whose guard is unknown: no matter if it does, the thread gets to the same
    /// place.
    fn pass_over(
        &mut self,
        thread: usize,
        body: &Body<'_>,
        instruction: &Instruction,
        block: BlockId,
    ) -> Step {
        match instruction.op {
            Op::Branch | Op::BranchTable => return self.pass_by(thread, block),
            // A run that it ends is another one.
            Op::Trap => {
                self.pass(thread, body, instruction, block);
                return Ok(());
            }
            op if is_computation(op) => {
                if may_order(instruction) {
                    self.tell(thread, &Event::MayOrder);
                    self.leave_open(thread);
                }
                for number in 0..usize::from(instruction.results) {
                    self.define(thread, number, None);
                }
            }
            _ => {
                let id = self.point(thread).instruction;
                let mut effects = Effects::default();
                let kernel = self.kernel;
                let added = effects.add(&kernel.detours.callees, kernel.module.0, body, id, instruction);
                added.map_err(|_| self.unknown(thread, Unknown::Branch))?;
                self.suffer(thread, &effects)?;
            }
        }
        self.advance(thread);
        Ok(())
    }

    /// Goes to a block that a predicate or an index has picked.
    fn branch(&mut self, thread: usize, body: &Body<'_>, to: Option<BlockId>) {
        if let Some(to) = to {
            self.tell(thread, &Event::Branch(to));
        }
        self.jump(thread, body, to);
    }

    fn jump(&mut self, thread: usize, body: &Body<'_>, to: Option<BlockId>) {
        let blocks = body.blocks.len();
        self.enter_in(thread, body, to.unwrap_or(BlockId::new(blocks)));
    }

    fn execute(&mut self, thread: usize, body: &Body<'_>, instruction: &Instruction, block: BlockId) -> Step {
        let successors = body.successors(block);
        let results = usize::from(instruction.results);
        match instruction.op {
            Op::Branch if instruction.guard.is_some() => {
                self.branch(thread, body, successors.first().copied());
            }
            Op::Branch => self.jump(thread, body, successors.first().copied()),
            Op::BranchTable => {
                let Some(index) = self.uses(thread).first().copied().flatten() else {
                    return self.pass_by(thread, block);
                };
                let targets =
                    successors.len() - usize::from(instruction.guard.is_some()).min(successors.len());
                let target = usize::try_from(index).ok().filter(|&index| index < targets);
                let target = target.ok_or_else(|| self.unknown(thread, Unknown::BeyondTable))?;
                self.branch(thread, body, Some(successors[target]));
            }
            Op::Return => self.leave(thread, false),
            Op::Exit => self.leave(thread, true),
            Op::Trap => return Err(End::Trap(self.contexts.site(self.point(thread)))),
            Op::Assume => {
                let condition = self.uses(thread).first().copied().flatten();
                self.record.breaks_assumption |= condition.is_some_and(|holds| holds & 1 == 0);
                self.advance(thread);
            }
            Op::Collective(kind, MemberMask::Operand) => self.arrive(thread, kind)?,
            Op::Collective(kind, MemberMask::Absent) => {
                self.threads[thread].state = State::Poised(Act::Together(kind));
            }
            Op::ActiveMask => self.threads[thread].state = State::Poised(Act::ActiveMask),
            Op::Barrier(barrier) => self.arrive_at_barrier(thread, barrier)?,
            Op::Call(call) => self.call(thread, body, body.call(call))?,
            Op::CallResult(call) => {
                let word = match self.call_result(thread, call) {
                    Some(word) => word,
                    None => self.ask(thread, Unmodelled::Result(0)),
                };
                self.resume(thread, &[word]);
            }
            Op::Access(access) => self.access(thread, access)?,
            Op::StackAlloc => {
                let bytes = self.uses(thread).first().copied().flatten();
                let address = self.stack(thread, bytes)?;
                self.resume(thread, &[address]);
            }
            Op::ToGeneric(space, _) => {
                let raw = self.uses(thread).first().copied().flatten();
                self.resume(thread, &[raw.and_then(|raw| address::to_generic(space, raw))]);
            }
            // An address of another space has none there (PTX ISA, cvta).
            Op::FromGeneric(space, _) => {
                let generic = self.uses(thread).first().copied().flatten();
                let raw = generic.and_then(|generic| address::from_generic(space, generic));
                self.resume(thread, &[raw]);
            }
            Op::IsSpace(space) => {
                let generic = self.uses(thread).first().copied().flatten();
                let is_there = generic.map(|generic| u64::from(address::is_in(space, generic)));
                self.resume(thread, &[is_there]);
            }
            Op::MapShared(space) => {
                let mapped = self.mapped(thread, space);
                self.resume(thread, &[mapped]);
            }
            Op::Opaque if self.execute_asynchronous(thread) => self.advance(thread),
            Op::CompareOther | Op::Opaque | Op::SetRegisters(_) => {
                match own_part(body, self.point(thread).instruction) {
                    Some(OwnPart::Fence) => self.tell(thread, &Event::Fence),
                    Some(_) => {}
                    None if may_order(instruction) => self.tell(thread, &Event::MayOrder),
                    None => {}
                }
                self.ask_results(thread);
                self.advance(thread);
            }
            op @ (Op::Copy
            | Op::Binary(..)
            | Op::Unary(..)
            | Op::MulAdd(..)
            | Op::ExtractBits(..)
            | Op::InsertBits(..)
            | Op::Lop3(_)
            | Op::FunnelShift { .. }
            | Op::Compare(..)
            | Op::Select
            | Op::Convert { .. }
            | Op::Pack(_)
            | Op::Unpack(_)) => {
                let mut uses = std::mem::take(&mut self.operands);
                uses.clear();
                for &value in body.uses(instruction) {
                    uses.push(self.value(thread, value));
                }
                if let Op::Binary(op, bits) = op
                    && op.is_shift()
                    && let (Some(Value::Register(_)), Some(&Some(amount))) =
                        (body.uses(instruction).get(1), uses.get(1))
                {
                    let is_beyond = amount & u64::from(u32::MAX) >= u64::from(bits);
                    self.note_shift(self.point(thread), is_beyond);
                }
                for number in 0..results {
                    let word = evaluate::result(op, number, &uses);
                    self.define_in(thread, (body, instruction), number, word);
                }
                self.operands = uses;
                self.advance_in(thread, body);
            }
        }
        Ok(())
    }

    /// Notes a shift by an amount that is not known before the run.
    pub(crate) fn note_shift(&mut self, point: Point, is_beyond: bool) {
        let shifts = &mut self.record.shifts;
        let all = shifts.entry((point.function, point.instruction)).or_insert(true);
        *all &= is_beyond;
    }

    /// PTX ISA, mapa: the address in the shared memory of another CTA of the cluster. The CTA that runs has the first part of the
    /// window, each other one a part of its own.
    fn mapped(&mut self, thread: usize, space: Space) -> Word {
        let [Some(address), Some(rank), ..] = self.uses(thread)[..] else {
            return None;
        };
        let start = match space {
            Space::Generic => address::window(Space::Shared),
            _ => 0,
        };
        let raw = address.checked_sub(start)?;
        let rank = rank & 0xffff_ffff;
        let is_own = rank == u64::from(self.launch.cluster_rank);
        // Other blocks may do the same with this one.
        if !is_own {
            self.leave_open(thread);
        }
        let part = if is_own { 0 } else { rank + 1 };
        Some(start + raw % address::CTA + part * address::CTA)
    }

    /// Comes to a collective with a mask, and waits.
    fn arrive(&mut self, thread: usize, kind: Collective) -> Step {
        let mask = self.uses(thread).first().copied().flatten();
        let mask = mask.ok_or_else(|| self.unknown(thread, Unknown::Mask))? as u32;
        self.tell(thread, &Event::Arrived(kind, mask));
        self.reach(thread);
        if mask & lane_bit(thread) == 0 {
            self.wrong(thread, Wrong::NotNamed, lane_bit(thread), Some(mask));
        }
        let lacking = warp_of(thread)
            .filter(|&other| other >= self.count)
            .fold(0, |lanes, other| lanes | lane_bit(other));
        if mask & lacking != 0 {
            self.wrong(thread, Wrong::BeyondBlock, mask & lacking, Some(mask));
        }
        self.threads[thread].state = State::Waiting(kind, mask);
        Ok(())
    }

    fn arrive_at_barrier(&mut self, thread: usize, barrier: Barrier) -> Step {
        if barrier.counted && !barrier.cluster {
            let state = match self.uses(thread)[..] {
                [Some(number), Some(count), ..] if barrier.waits => State::AtCounted { number, count },
                [Some(number), Some(count), ..] => State::Poised(Act::Signal { number, count }),
                _ => State::Poised(Act::PassBarrier),
            };
            match state {
                State::AtCounted { number, count } => {
                    self.tell(thread, &Event::AtBarrier);
                    self.has_counts = true;
                    self.compare_count(thread, number, Some(count));
                }
                State::Poised(Act::Signal { .. }) => self.has_counts = true,
                State::Poised(Act::PassBarrier) => self.leave_open(thread),
                _ => {}
            }
            self.threads[thread].state = state;
            return Ok(());
        }
        if !barrier.waits || barrier.counted {
            if !barrier.cluster {
                self.leave_open(thread);
            }
            self.threads[thread].state = State::Poised(Act::PassBarrier);
            return Ok(());
        }
        let number = if barrier.cluster {
            Numbered::Cluster
        } else {
            let number = self.uses(thread).first().copied().flatten();
            let number = number.ok_or_else(|| self.unknown(thread, Unknown::Barrier))?;
            if self.has_counts {
                self.compare_count(thread, number, None);
            }
            Numbered::Cta(number)
        };
        self.tell(thread, &Event::AtBarrier);
        self.reach(thread);
        self.threads[thread].state = State::AtBarrier {
            number,
            aligned: barrier.aligned,
        };
        Ok(())
    }

    fn reach(&mut self, thread: usize) {
        if !self.record.is_broken {
            let point = self.point(thread);
            self.record.reached.insert(point);
        }
    }

    /// The threads at a point execute its visible instruction: those of a warp together or, under some schedules, not.
    pub(crate) fn visible_step(&mut self, point: Point) -> Step {
        let is_there = |number: &usize| {
            let thread = &self.threads[*number];
            let is_at = matches!(thread.state, State::Poised(_)) && thread.point() == Some(point);
            is_at && !self.is_stalled(*number)
        };
        let mut there: Vec<usize> = (0..self.threads.len()).filter(is_there).collect();
        self.order.part(&mut there);
        self.visible_steps(&there)
    }

    /// These threads, at one point, execute its visible instruction.
    pub(crate) fn visible_steps(&mut self, there: &[usize]) -> Step {
        if let Some(&first) = there.first() {
            self.tell(first, &Event::Visible(there));
        }
        let is_sign = |&thread: &usize| self.threads[thread].state != State::Poised(Act::ActiveMask);
        let signs: Vec<usize> = there.iter().copied().filter(is_sign).collect();
        self.owe(&signs)?;
        for warp in there.chunk_by(|&one, &other| one / WARP == other / WARP) {
            let lanes = warp.iter().fold(0, |lanes, &thread| lanes | lane_bit(thread));
            for &thread in warp {
                let State::Poised(act) = self.threads[thread].state else {
                    continue;
                };
                self.polls.acts += 1;
                match act {
                    Act::ActiveMask => self.resume(thread, &[Some(u64::from(lanes))]),
                    Act::Access(access) => self.execute_access(thread, access)?,
                    Act::PassBarrier => self.pass_unordered(thread),
                    Act::Signal { number, count } => {
                        self.signal(thread, number, count);
                        if Some(&thread) == warp.last() {
                            self.complete_by_signals(number)?;
                        }
                    }
                    Act::Outside(symbol) => self.call_outside(thread, symbol)?,
                    Act::Together(kind) => {
                        self.reach(thread);
                        if Some(&thread) == warp.last() {
                            self.complete(kind, lanes, warp);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
