//! Steps of a lane on its own: control flow, calls, arithmetic, its own memory.

use ptxcheck_passes::analysis::evaluate::evaluate_result;
use ptxcheck_passes::ir::{
    Access, AccessKind, Barrier, Body, Callee, Collective, Instruction, InstructionId, Op, Space, Special,
    Value,
};

use super::generator::Random;
use super::machine::{Frame, Machine, State, WARP, Wrong, body, warp_of};

impl Machine<'_> {
    /// The operands of the instruction that a lane is at.
    pub(super) fn uses(&self, lane: usize) -> Vec<u64> {
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let body = body(self.module, frame.function);
        let instruction = body.instruction(InstructionId::new(frame.next));
        body.uses(instruction)
            .iter()
            .map(|&value| self.value(lane, frame, value))
            .collect()
    }

    fn value(&self, lane: usize, frame: &Frame, value: Value) -> u64 {
        let inputs = &self.inputs;
        let (thread, number) = (lane as u64, lane as u64 % WARP as u64);
        let [x, y, _] = inputs.block;
        match value {
            Value::Register(register) => frame.registers[register.index()],
            Value::Not(register) => frame.registers[register.index()] & 1 ^ 1,
            Value::Integer(value) => value as u64,
            Value::Symbol(symbol, offset) => ((symbol.index() as u64 + 1) << 16).wrapping_add(offset as u64),
            Value::Special(Special::Tid(0)) => thread % x,
            Value::Special(Special::Tid(1)) => thread / x % y,
            Value::Special(Special::Tid(2)) => thread / x / y,
            Value::Special(Special::Ntid(dimension)) => inputs.block[usize::from(dimension.min(2))],
            Value::Special(Special::Ctaid(0)) => inputs.ctaid,
            Value::Special(Special::LaneId) => number,
            Value::Special(Special::WarpId) => thread / WARP as u64,
            Value::Special(Special::LaneMaskEq) => 1 << number,
            Value::Special(Special::LaneMaskLt) => (1 << number) - 1,
            Value::Special(Special::LaneMaskLe) => (2 << number) - 1,
            Value::Special(Special::LaneMaskGe) => u64::from(u32::MAX << number),
            Value::Special(Special::LaneMaskGt) => u64::from(u32::MAX << number << 1),
            _ => 0,
        }
    }

    pub(super) fn silent_step(&mut self, lane: usize) {
        let module = self.module;
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let next = frame.next;
        let body = body(module, frame.function);
        if next >= body.instructions.len() {
            return self.end(lane);
        }
        let id = InstructionId::new(next);
        let instruction = body.instruction(id);
        let block = body.block_of(id);
        let start = |block: usize| body.blocks[block].instructions.start as usize;
        if self.lanes[lane].frames.len() == 1 && start(block.index()) == next {
            self.ways.enter(&mut self.lanes[lane].rounds, block.index());
        }
        let frame = self.frame(lane);
        let runs = instruction
            .guard
            .is_none_or(|guard| (frame.registers[guard.register.index()] & 1 == 1) != guard.negated);
        let successors = body.successors(block);
        match instruction.op {
            Op::Branch => {
                frame.next = start(successors[usize::from(!runs)].index());
            }
            Op::BranchTable => {
                let place = if runs {
                    self.uses(lane)[0] as usize
                } else {
                    successors.len() - 1
                };
                match successors.get(place) {
                    Some(target) => self.frame(lane).next = start(target.index()),
                    // Beyond the table: not defined.
                    None => self.outcome.is_cut = true,
                }
            }
            _ if !runs => frame.next += 1,
            Op::Return | Op::Exit => self.leave(lane, instruction.op == Op::Exit),
            Op::Collective(kind, _) => self.arrive(lane, kind),
            Op::Barrier(barrier) => self.arrive_at_barrier(lane, barrier),
            Op::Call(call) => self.call(lane, body, body.call(call)),
            Op::CallResult(call) => {
                let offset = self.uses(lane)[0];
                let results = self.frame(lane).results.get(&call.index());
                let result = results.and_then(|results| results.get(&offset)).copied();
                self.resume(lane, &[result.unwrap_or(0)]);
            }
            Op::ActiveMask => self.lanes[lane].state = State::Poised,
            Op::Access(access) => self.access(lane, access, body, instruction),
            op => {
                let uses = self.uses(lane);
                let count = body.results(instruction).len();
                let results: Vec<u64> = (0..count)
                    .map(|result| evaluate_result(op, result, &uses).unwrap_or(0))
                    .collect();
                self.resume(lane, &results);
            }
        }
    }

    fn leave(&mut self, lane: usize, is_exit: bool) {
        let frames = &mut self.lanes[lane].frames;
        let frame = frames.pop().expect("a lane has a frame");
        if is_exit {
            frames.clear();
        }
        match frames.last_mut() {
            Some(caller) => {
                caller.results.insert(caller.next - 1, frame.returned);
            }
            None => {
                // Its places are asked for no more.
                frames.push(Frame::default());
                self.end(lane);
            }
        }
    }

    fn call(&mut self, lane: usize, body: &Body<'_>, call: &ptxcheck_passes::ir::Call) {
        let Callee::Direct(symbol) = call.callee else {
            panic!("no pointers here")
        };
        let module = self.module;
        let callee = module.function_of(symbol).expect("a function");
        let frame = self.lanes[lane].frames.last().expect("a lane has a frame");
        let arguments = body
            .arguments(call)
            .iter()
            .map(|argument| self.value(lane, frame, argument.value))
            .collect();
        let registers = vec![0; self::body(module, callee.index()).registers.len()];
        self.frame(lane).next += 1;
        self.lanes[lane].frames.push(Frame {
            function: callee.index(),
            registers,
            arguments,
            ..Frame::default()
        });
    }

    fn arrive(&mut self, lane: usize, kind: Collective) {
        let mask = self.uses(lane)[0] as u32;
        let place = self.place(lane);
        if !self.outcome.is_broken {
            self.outcome.reached.insert(place.clone());
        }
        if mask >> (lane % WARP) & 1 == 0 {
            self.wrong(place.clone(), Wrong::NotNamed);
        }
        let threads = self.inputs.block.iter().product::<u64>() as usize;
        let mut missing = warp_of(lane).filter(|&other| other >= threads);
        if missing.any(|other| mask >> (other % WARP) & 1 == 1) {
            self.wrong(place, Wrong::BeyondBlock);
        }
        self.lanes[lane].state = State::Waiting(kind, mask);
    }

    fn arrive_at_barrier(&mut self, lane: usize, barrier: Barrier) {
        if !barrier.waits || barrier.counted {
            // A count says that not all take part; who does, nobody here knows.
            self.lanes[lane].state = State::Poised;
            return;
        }
        let place = self.place(lane);
        if !self.outcome.is_broken {
            self.outcome.reached.insert(place);
        }
        let id = self.uses(lane).first().copied().unwrap_or(0);
        self.lanes[lane].state = State::AtBarrier(id, barrier.aligned);
    }

    fn access(&mut self, lane: usize, access: Access, body: &Body<'_>, instruction: &Instruction) {
        let uses = self.uses(lane);
        let address = uses[0].wrapping_add(uses[1]);
        let base = body.uses(instruction)[0];
        match (access.kind, access.space, base) {
            (AccessKind::Load, _, Value::Param(number, _)) => {
                let argument = self.frame(lane).arguments.get(usize::from(number)).copied();
                self.resume(lane, &[argument.unwrap_or(0)]);
            }
            (AccessKind::Store, _, Value::ReturnSlot(_, offset)) => {
                let offset = uses[1].wrapping_add(offset as u64);
                self.frame(lane).returned.insert(offset, uses[2]);
                self.resume(lane, &[]);
            }
            (AccessKind::Load, Space::Local, _) => {
                let value = self.lanes[lane].local.get(&address).copied();
                self.resume(lane, &[value.unwrap_or(0)]);
            }
            (AccessKind::Store, Space::Local, _) => {
                self.lanes[lane].local.insert(address, uses[2]);
                self.resume(lane, &[]);
            }
            // Memory holds small numbers, always the same ones.
            (AccessKind::Load, ..) => {
                let value = Random::new(self.inputs.seed ^ address.wrapping_mul(77)).next() % 40;
                self.resume(lane, &[value]);
            }
            _ => self.lanes[lane].state = State::Poised,
        }
    }
}
