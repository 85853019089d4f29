//! A function of host code, walked through until its states change no more.

use std::collections::BTreeSet;

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpKind,
};

use super::calls::Returns;
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
    let leaders = leaders(program, &code);
    if leaders.len() > MAX_FUNCTION_BLOCKS {
        return None;
    }
    let entry = at(&code, function.start)?;
    let mut walk = Walk {
        code: &code,
        leaders,
        states: vec![None; code.len()],
        is_reached: vec![false; code.len()],
        open: BTreeSet::new(),
        stepper: Stepper {
            program,
            roles,
            state: State::entry(),
            info: InstructionInfoFactory::new(),
            events: None,
        },
    };
    walk.join(entry, &State::entry());
    loop {
        while let Some(leader) = walk.open.pop_first() {
            walk.block(leader, steps)?;
        }
        // The runtime enters code that nothing leads to, to handle exceptions.
        let unreached =
            (0..code.len()).find(|number| !walk.is_reached[*number] && !is_padding(&code[*number]));
        let Some(unreached) = unreached else { break };
        walk.leaders.insert(unreached);
        walk.join(unreached, &State::handler());
    }
    walk.stepper.events = Some(Vec::new());
    let reached: Vec<usize> = (0..code.len())
        .filter(|number| walk.states[*number].is_some())
        .collect();
    for leader in reached {
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

/// The instructions that branches lead to.
fn leaders(program: &Program<'_, '_>, code: &[Decoded]) -> BTreeSet<usize> {
    let branches = code.iter().filter(|decoded| {
        matches!(
            decoded.code.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        )
    });
    let places = branches.filter_map(|decoded| branch(program, decoded).place);
    places.filter_map(|place| at(code, place)).collect()
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

struct Walk<'w, 'e, 'a> {
    code: &'w [Decoded],
    leaders: BTreeSet<usize>,
    /// Before the instructions that are leaders.
    states: Vec<Option<Box<State>>>,
    is_reached: Vec<bool>,
    /// Leaders whose states have changed.
    open: BTreeSet<usize>,
    stepper: Stepper<'w, 'e, 'a>,
}

impl<'a> Walk<'_, '_, 'a> {
    /// One more way to a leader.
    fn join(&mut self, leader: usize, state: &State) {
        match &mut self.states[leader] {
            Some(known) => {
                let before = known.clone();
                known.join(state);
                if *known == before {
                    return;
                }
            }
            none => *none = Some(Box::new(state.clone())),
        }
        self.open.insert(leader);
    }

    /// Goes on at an instruction with the state as it is.
    fn go_to(&mut self, number: usize) {
        if self.stepper.events.is_none() {
            let state = self.stepper.state.clone();
            self.join(number, &state);
        }
    }

    /// Goes over the instructions from a leader to the end of its block. `None` where it is not known what follows.
    fn block(&mut self, leader: usize, steps: &mut Steps) -> Option<()> {
        let Some(state) = &self.states[leader] else {
            return Some(());
        };
        self.stepper.state = State::clone(state);
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
            if self.leaders.contains(&number) {
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
                return Some(self.stepper.call(Some(target)) == Returns::Yes);
            }
            FlowControl::IndirectCall => {
                let target = self.through_slot(decoded);
                return Some(self.stepper.call(target) == Returns::Yes);
            }
            FlowControl::ConditionalBranch => self.branch(decoded)?,
            FlowControl::UnconditionalBranch => {
                self.branch(decoded)?;
                return Some(false);
            }
            // Through a slot it leads to another function; else it may be a table of this one.
            FlowControl::IndirectBranch => {
                let target = self.through_slot(decoded)?;
                self.stepper.call(Some(target));
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
    fn branch(&mut self, decoded: &Decoded) -> Option<()> {
        let target = branch(self.stepper.program, decoded);
        if let Some(number) = target.place.and_then(|place| at(self.code, place)) {
            self.go_to(number);
            return Some(());
        }
        self.stepper.program.names(target).next()?;
        // Where the branch is conditional, the state goes on without the call.
        let state = self.stepper.state.clone();
        self.stepper.call(Some(target));
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
