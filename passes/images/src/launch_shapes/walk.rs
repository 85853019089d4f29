//! A function of host code, walked through until its states change no more.

use std::collections::BTreeSet;

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpKind,
};

use super::calls::{Entry, Returns};
use super::events::{Event, Roles};
use super::operands::{Decoded, Stepper};
use super::program::{Program, Target};
use super::state::State;
use crate::host_code::{Code, CodeAddress};
use crate::limits::{MAX_FUNCTION_BLOCKS, MAX_FUNCTION_INSTRUCTIONS};

/// The steps that are left for the functions of a file.
pub(super) struct Steps(pub(super) usize);

impl Steps {
    fn take(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// The events in a function; `None` where they are not known: its code cannot be followed, or is too much.
pub(super) fn events(
    program: &Program<'_, '_>,
    roles: &Roles,
    function: &Code<'_>,
    steps: &mut Steps,
) -> Option<Vec<Event>> {
    let code = decoded(program, function)?;
    let targets = targets(program, &code);
    let mut is_leader = vec![false; code.len()];
    for target in targets.iter().flatten() {
        is_leader[*target] = true;
    }
    if is_leader.iter().filter(|is_leader| **is_leader).count() > MAX_FUNCTION_BLOCKS {
        return None;
    }
    let entry = at(&code, function.start)?;
    let mut walk = Walk {
        ways: Ways {
            is_leader,
            states: vec![None; code.len()],
            open: BTreeSet::new(),
        },
        code: &code,
        targets,
        is_reached: vec![false; code.len()],
        stepper: Stepper {
            program,
            roles,
            state: State::entry(),
            info: InstructionInfoFactory::new(),
            events: None,
        },
    };
    walk.ways.join(entry, &State::entry());
    walk.finish(steps)?;
    // The runtime enters code that nothing leads to, to handle exceptions.
    for (number, decoded) in code.iter().enumerate() {
        if !walk.is_reached[number] && !is_padding(decoded) {
            walk.ways.join(number, &State::handler());
            walk.finish(steps)?;
        }
    }
    walk.stepper.events = Some(Vec::new());
    for leader in 0..code.len() {
        walk.block(leader, steps)?;
    }
    walk.stepper.events.take()
}

/// The instructions of a function and its cold parts, sorted by place.
fn decoded(program: &Program<'_, '_>, function: &Code<'_>) -> Option<Vec<Decoded>> {
    let mut code = Vec::new();
    for part in std::iter::once(function).chain(program.cold_parts(function)) {
        let size = usize::try_from(part.size).ok()?;
        let bytes = program.bytes_at(part.start)?.get(..size)?;
        let mut decoder = Decoder::with_ip(64, bytes, part.start.1, DecoderOptions::NONE);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.code() == Opcode::INVALID || code.len() >= MAX_FUNCTION_INSTRUCTIONS {
                return None;
            }
            code.push(Decoded {
                at: (part.start.0, instruction.ip()),
                code: instruction,
                offsets: decoder.get_constant_offsets(&instruction),
            });
        }
    }
    code.sort_by_key(|decoded| decoded.at);
    let overlaps = code.windows(2).any(|pair| pair[0].at == pair[1].at);
    (!overlaps).then_some(code)
}

/// The number of the instruction at a place.
fn at(code: &[Decoded], place: CodeAddress) -> Option<usize> {
    code.binary_search_by_key(&place, |decoded| decoded.at).ok()
}

/// For each instruction: the one in the function that it branches to.
fn targets(program: &Program<'_, '_>, code: &[Decoded]) -> Vec<Option<usize>> {
    let target = |decoded: &Decoded| match decoded.code.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
            at(code, branch(program, decoded).place?)
        }
        _ => None,
    };
    code.iter().map(target).collect()
}

fn branch<'a>(program: &Program<'_, 'a>, decoded: &Decoded) -> Target<'a> {
    program.branch(decoded.at, &decoded.code, decoded.offsets)
}

/// True for what only fills the space up to the next block.
fn is_padding(decoded: &Decoded) -> bool {
    let code = &decoded.code;
    let is_nop = matches!(code.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    let is_self_move = code.mnemonic() == Mnemonic::Xchg
        && code.op1_kind() == OpKind::Register
        && code.op0_register() == code.op1_register();
    is_nop || is_self_move
}

/// The ways to leaders, which are the instructions at which blocks begin.
struct Ways {
    is_leader: Vec<bool>,
    /// Before leaders.
    states: Vec<Option<Box<State>>>,
    /// Leaders whose states have changed.
    open: BTreeSet<usize>,
}

impl Ways {
    /// One more way to an instruction.
    fn join(&mut self, leader: usize, state: &State) {
        self.is_leader[leader] = true;
        let is_new = match &mut self.states[leader] {
            Some(known) => known.join(state),
            none => {
                *none = Some(Box::new(state.clone()));
                true
            }
        };
        if is_new {
            self.open.insert(leader);
        }
    }
}

struct Walk<'w, 'e, 'a> {
    ways: Ways,
    code: &'w [Decoded],
    targets: Vec<Option<usize>>,
    is_reached: Vec<bool>,
    stepper: Stepper<'w, 'e, 'a>,
}

impl<'a> Walk<'_, '_, 'a> {
    /// Goes on until no state changes. `None` if the successor is unknown.
    fn finish(&mut self, steps: &mut Steps) -> Option<()> {
        while let Some(leader) = self.ways.open.pop_first() {
            self.block(leader, steps)?;
        }
        Some(())
    }

    /// Goes on at an instruction with the state as it is.
    fn go_to(&mut self, number: usize) {
        if self.stepper.events.is_none() {
            self.ways.join(number, &self.stepper.state);
        }
    }

    /// Goes over the instructions from a leader to the end of its block. `None` if the successor is unknown.
    fn block(&mut self, leader: usize, steps: &mut Steps) -> Option<()> {
        let Some(state) = &self.ways.states[leader] else {
            return Some(());
        };
        self.stepper.state.clone_from(state);
        let mut number = leader;
        loop {
            if !steps.take() {
                return None;
            }
            self.is_reached[number] = true;
            if !self.instruction(number)? {
                return Some(());
            }
            let decoded = &self.code[number];
            let next = (decoded.at.0, decoded.at.1 + decoded.code.len() as u64);
            number += 1;
            if self.code.get(number).is_none_or(|code| code.at != next) {
                return Some(());
            }
            if self.ways.is_leader[number] {
                self.go_to(number);
                return Some(());
            }
        }
    }

    /// Goes over an instruction; true if the next one may follow.
    fn instruction(&mut self, number: usize) -> Option<bool> {
        let decoded = &self.code[number];
        let program = self.stepper.program;
        match decoded.code.flow_control() {
            FlowControl::Next | FlowControl::XbeginXabortXend => self.stepper.step(decoded),
            FlowControl::Call if decoded.code.is_call_near() => {
                let target = branch(program, decoded);
                return Some(self.stepper.call(Some(target), Entry::Call) == Returns::Yes);
            }
            FlowControl::IndirectCall => {
                let target = self.through_slot(decoded);
                return Some(self.stepper.call(target, Entry::Call) == Returns::Yes);
            }
            FlowControl::ConditionalBranch => self.branch(number)?,
            FlowControl::UnconditionalBranch => {
                self.branch(number)?;
                return Some(false);
            }
            // Through a slot it leads to another function; else it may be a table of this one.
            FlowControl::IndirectBranch => {
                let target = self.through_slot(decoded)?;
                self.stepper.call(Some(target), Entry::Jump);
                return Some(false);
            }
            FlowControl::Return => {
                self.stepper.leak(self.stepper.state.registers[0]);
                self.stepper.leak(self.stepper.state.registers[2]);
                return Some(false);
            }
            FlowControl::Exception | FlowControl::Interrupt => return Some(false),
            FlowControl::Call => return None,
        }
        Some(true)
    }

    /// A branch within the function, or the last call of one. `None` if it leads into the midst of other code.
    fn branch(&mut self, number: usize) -> Option<()> {
        if let Some(number) = self.targets[number] {
            self.go_to(number);
            return Some(());
        }
        let target = branch(self.stepper.program, &self.code[number]);
        self.stepper.program.names(target).next()?;
        // Where the branch is conditional, the state goes on without the call.
        let state = self.stepper.state.clone();
        self.stepper.call(Some(target), Entry::Jump);
        self.stepper.state = state;
        Some(())
    }

    /// The target of a call through a slot, such as one of the global offset table.
    fn through_slot(&self, decoded: &Decoded) -> Option<Target<'a>> {
        let code = &decoded.code;
        if !code.is_ip_rel_memory_operand() {
            return None;
        }
        let target = self.stepper.program.operand(decoded.at, code, decoded.offsets);
        let is_known = target.is_slot || !self.stepper.program.is_object && target.name.is_some();
        is_known.then_some(target)
    }
}
