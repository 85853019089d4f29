//! Runs one thread of a kernel in the device IR, with addresses for all its memory, and says at each use of an address whether
//! it was right.
//!
//! Addresses (PTX ISA, Generic Addressing): shared and local memory each have a window, of generic addresses, that objects lie
//! in at small offsets; so has constant memory. All else is global memory. The result of converting an address outside the window is
//! undefined, and so is the content of a register that nothing has written, and each result computed from undefined values. A run ends with
//! a wrong access, with a branch on what is undefined, or after [`FUEL`] instructions.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_passes::analysis::evaluate::evaluate_result;
use ptxcheck_passes::ir::{
    Access, AccessKind, Body, Call, Callee, FunctionId, Instruction, InstructionId, Module, Op, Space,
    Special, SymbolId, Value,
};

use super::generator::Random;

const FUEL: usize = 4_000;

/// Bytes of each variable of the generator, at least.
const OBJECT: u64 = 64;
/// Where the windows begin.
const CONST_WINDOW: u64 = 0x7d00_0000_0000;
const LOCAL_WINDOW: u64 = 0x7e00_0000_0000;
const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// Bytes of the windows of local and constant memory.
const WINDOW: u64 = 1 << 24;
/// Bytes of shared memory's window that belong to one CTA. The own CTA's are the first.
const CTA: u64 = 1 << 24;
/// Bytes of the window of a cluster's shared memory.
const CLUSTER: u64 = 8 * CTA;
/// The memory that the host has allocated.
const BUFFERS: [u64; 2] = [0x2_0000_0000, 0x3_0000_0000];
const BUFFER: u64 = 1 << 16;
/// Where variables in global memory begin.
const GLOBALS: u64 = 0x1_0000_0000;

/// The calls that lead to an instruction, outermost first, and the instruction.
pub type Place = (Vec<(usize, usize)>, usize, usize);

/// The values that the host passes, and the run's own.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    pub seed: u64,
    pub arguments: [u64; 3],
    /// Number of the CTA in the grid, and rank in its cluster.
    pub rank: u64,
}

impl Inputs {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut pointer = || match random.below(6) {
            0 => 0,
            1 => random.below(3) as u64,
            _ => random.pick(&BUFFERS) + random.below(16) as u64 * 8,
        };
        let pointers = [pointer(), pointer()];
        Self {
            seed,
            arguments: [pointers[0], pointers[1], random.below(4) as u64],
            rank: 0,
        }
    }

    /// The same in the other CTA of a cluster of two.
    pub const fn in_other_cta(self) -> Self {
        Self { rank: 1, ..self }
    }
}

/// The content of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Content {
    bits: u64,
    is_undefined: bool,
    /// The conversion that it comes from.
    cast: Option<usize>,
}

const UNDEFINED: Content = Content {
    bits: 0xdead_beef_0bad,
    is_undefined: true,
    cast: None,
};

/// The outcome of a run.
#[derive(Default)]
pub struct Outcome {
    /// Uses of addresses that were executed, and whether one was right.
    pub uses: BTreeMap<Place, bool>,
    /// Stores that were executed, and whether one stored what is not an address of local memory.
    pub harmless_stores: BTreeMap<Place, bool>,
    /// Conversions whose result was used.
    pub used_casts: BTreeSet<Place>,
    /// The kernel reached its end.
    pub is_complete: bool,
}

struct Frame {
    function: usize,
    next: usize,
    registers: Vec<Content>,
    arguments: BTreeMap<(u64, u64), Content>,
    returned: Content,
    results: BTreeMap<usize, Content>,
}

/// The run ends.
struct Ended;

pub struct Machine<'m> {
    module: &'m Module<'m>,
    inputs: Inputs,
    frames: Vec<Frame>,
    memory: BTreeMap<u64, Content>,
    casts: Vec<Place>,
    outcome: Outcome,
}

/// Runs the kernel.
pub fn run(module: &Module<'_>, kernel: FunctionId, inputs: Inputs) -> Outcome {
    let mut arguments = BTreeMap::new();
    for (number, bits) in inputs.arguments.into_iter().enumerate() {
        arguments.insert(
            (number as u64, 0),
            Content {
                bits,
                ..Content::default()
            },
        );
    }
    let mut machine = Machine {
        module,
        inputs,
        frames: Vec::new(),
        memory: BTreeMap::new(),
        casts: Vec::new(),
        outcome: Outcome::default(),
    };
    machine.enter(kernel, arguments);
    for _ in 0..FUEL {
        if machine.frames.is_empty() {
            machine.outcome.is_complete = true;
            break;
        }
        if machine.step().is_err() {
            break;
        }
    }
    machine.outcome
}

/// True if a number lies in a window of so many bytes.
const fn is_in(address: u64, start: u64, size: u64) -> bool {
    address >= start && address - start < size
}

const fn is_in_window(space: Space, raw: u64) -> bool {
    match space {
        Space::Shared | Space::SharedCluster => raw < CLUSTER,
        Space::Local | Space::Const => raw < WINDOW,
        _ => true,
    }
}

const fn start_of(space: Space) -> u64 {
    match space {
        Space::Shared | Space::SharedCluster => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Const => CONST_WINDOW,
        _ => 0,
    }
}

/// The space that a generic address lies in.
const fn space_of(address: u64) -> Space {
    if is_in(address, SHARED_WINDOW, CTA) {
        Space::Shared
    } else if is_in(address, SHARED_WINDOW, CLUSTER) {
        Space::SharedCluster
    } else if is_in(address, LOCAL_WINDOW, WINDOW) {
        Space::Local
    } else if is_in(address, CONST_WINDOW, WINDOW) {
        Space::Const
    } else {
        Space::Global
    }
}

impl<'m> Machine<'m> {
    fn body(&self, function: usize) -> &'m Body<'m> {
        let function = self.module.function(FunctionId::new(function));
        function.body.as_ref().expect("functions have bodies")
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a frame")
    }

    fn enter(&mut self, function: FunctionId, arguments: BTreeMap<(u64, u64), Content>) {
        let registers = vec![UNDEFINED; self.body(function.index()).registers.len()];
        self.frames.push(Frame {
            function: function.index(),
            next: 0,
            registers,
            arguments,
            returned: UNDEFINED,
            results: BTreeMap::new(),
        });
    }

    fn place(&self) -> Place {
        let (last, outer) = self.frames.split_last().expect("a frame");
        let calls = outer.iter().map(|frame| (frame.function, frame.next - 1));
        (calls.collect(), last.function, last.next)
    }

    /// Where a variable lies in its space.
    fn address_of(&self, symbol: SymbolId) -> u64 {
        let number = symbol.index() as u64;
        match self.module.symbol(symbol).space {
            Space::Global => GLOBALS + (number << 12),
            // Each call has its own.
            Space::Local => (self.frames.len() as u64) << 16 | number << 8,
            _ => 0x400 + (number << 8),
        }
    }

    fn value(&self, value: Value) -> Content {
        let frame = self.frames.last().expect("a frame");
        let bits = match value {
            Value::Register(register) => return frame.registers[register.index()],
            Value::Not(register) => {
                let content = frame.registers[register.index()];
                return Content {
                    bits: content.bits & 1 ^ 1,
                    ..content
                };
            }
            Value::Integer(value) => value as u64,
            Value::Symbol(symbol, offset) => self.address_of(symbol).wrapping_add(offset as u64),
            Value::Special(Special::Tid(_)) => self.inputs.seed % 3,
            // `%cluster_ctarank` is the only other one of the generator.
            Value::Special(Special::Ctaid(_) | Special::Uniform) => self.inputs.rank,
            _ => 0,
        };
        Content {
            bits,
            ..Content::default()
        }
    }

    fn resume(&mut self, results: &[Content]) {
        let frame = self.frames.last().expect("a frame");
        let body = self.body(frame.function);
        let instruction = body.instruction(InstructionId::new(frame.next));
        let registers: Vec<_> = body
            .results(instruction)
            .iter()
            .map(|value| value.register())
            .collect();
        for (register, &content) in registers.into_iter().zip(results) {
            let Some(register) = register else { continue };
            let bits = body.registers.bits(register);
            let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            self.frame().registers[register.index()] = Content {
                bits: content.bits & mask,
                ..content
            };
        }
        self.frame().next += 1;
    }

    /// Notes that a value is used for something that matters.
    fn mark_used(&mut self, content: Content) {
        if let Some(cast) = content.cast {
            self.outcome.used_casts.insert(self.casts[cast].clone());
        }
    }

    fn step(&mut self) -> Result<(), Ended> {
        let frame = self.frames.last().expect("a frame");
        let body = self.body(frame.function);
        if frame.next >= body.instructions.len() {
            return self.leave(false);
        }
        let id = InstructionId::new(frame.next);
        let instruction = body.instruction(id);
        let mut runs = true;
        if let Some(guard) = instruction.guard {
            let content = frame.registers[guard.register.index()];
            self.mark_used(content);
            if content.is_undefined {
                return Err(Ended);
            }
            runs = (content.bits & 1 == 1) != guard.negated;
        }
        let block = body.block_of(id);
        let successors = body.successors(block);
        match instruction.op {
            Op::Branch => {
                let target = successors[usize::from(!runs)];
                self.frame().next = body.blocks[target.index()].instructions.start as usize;
                Ok(())
            }
            _ if !runs => {
                self.frame().next += 1;
                Ok(())
            }
            Op::Return => self.leave(false),
            Op::Exit => self.leave(true),
            Op::Call(call) => self.call(body, body.call(call)),
            Op::CallResult(call) => {
                let result = self.frame().results.get(&call.index()).copied();
                self.resume(&[result.unwrap_or(UNDEFINED)]);
                Ok(())
            }
            Op::Access(access) => self.access(access, body, instruction),
            op => {
                let uses: Vec<Content> = body
                    .uses(instruction)
                    .iter()
                    .map(|&value| self.value(value))
                    .collect();
                // Conversions and tests have one result, and are noted once.
                let count = body.results(instruction).len().max(1);
                let results: Vec<Content> = (0..count)
                    .map(|result| self.computed(op, result, &uses))
                    .collect();
                self.resume(&results);
                Ok(())
            }
        }
    }

    fn leave(&mut self, ends_thread: bool) -> Result<(), Ended> {
        let frame = self.frames.pop().expect("a frame");
        if ends_thread {
            self.frames.clear();
        }
        if let Some(caller) = self.frames.last_mut() {
            caller.results.insert(caller.next - 1, frame.returned);
        }
        Ok(())
    }

    fn call(&mut self, body: &Body<'_>, call: &Call) -> Result<(), Ended> {
        let Callee::Direct(symbol) = call.callee else {
            return Err(Ended);
        };
        let callee = self.module.function_of(symbol).ok_or(Ended)?;
        let mut arguments = BTreeMap::new();
        for argument in body.arguments(call) {
            let place = (u64::from(argument.param), u64::from(argument.offset));
            arguments.insert(place, self.value(argument.value));
        }
        self.frame().next += 1;
        self.enter(callee, arguments);
        Ok(())
    }

    fn computed(&mut self, op: Op, result: usize, uses: &[Content]) -> Content {
        let first = uses.first().copied().unwrap_or_default();
        match op {
            Op::ToGeneric(space, _) => {
                let is_inside = is_in_window(space, first.bits);
                let bits = start_of(space).wrapping_add(first.bits);
                self.cast(first, bits, space, is_inside)
            }
            Op::FromGeneric(space, _) => {
                let raw = first.bits.wrapping_sub(start_of(space));
                let is_inside = is_in_window(space, raw);
                self.cast(first, raw, space, is_inside)
            }
            Op::MapShared(space) => {
                let raw = first
                    .bits
                    .wrapping_sub(if space == Space::Generic { SHARED_WINDOW } else { 0 });
                let is_right = raw < CLUSTER;
                let rank = uses.get(1).map_or(0, |rank| rank.bits) & 7;
                let other = if rank == self.inputs.rank {
                    0
                } else {
                    (rank + 1) * CTA
                };
                let bits = first.bits.wrapping_sub(raw).wrapping_add(raw % CTA + other);
                self.cast(first, bits, Space::SharedCluster, is_right)
            }
            Op::IsSpace(space) => {
                let found = space_of(first.bits);
                let is_inside = found == space || space == Space::SharedCluster && found == Space::Shared;
                let is_generic = found != Space::Global || self.is_allocated(first.bits);
                self.note_use(is_generic && !first.is_undefined);
                self.mark_used(first);
                Content {
                    bits: u64::from(is_inside),
                    ..first
                }
            }
            Op::Select => {
                let predicate = uses.get(2).copied().unwrap_or(UNDEFINED);
                if predicate.is_undefined {
                    return UNDEFINED;
                }
                uses[usize::from(predicate.bits & 1 == 0)]
            }
            op => {
                let numbers: Vec<u64> = uses.iter().map(|content| content.bits).collect();
                Content {
                    bits: evaluate_result(op, result, &numbers).unwrap_or(0),
                    is_undefined: uses.iter().any(|content| content.is_undefined),
                    cast: uses.iter().find_map(|content| content.cast),
                }
            }
        }
    }

    /// The result of a conversion between generic addresses and those of a space. One that is in no other window is global.
    fn cast(&mut self, from: Content, bits: u64, space: Space, is_inside: bool) -> Content {
        let is_global = space == Space::Global;
        let is_defined = is_inside && (!is_global || space_of(from.bits) == Space::Global);
        let is_right = is_defined && (!is_global || self.is_allocated(from.bits));
        self.note_use(is_right && !from.is_undefined);
        // The result of an earlier conversion is used where that of this one is.
        let place = self.place();
        self.casts.push(place);
        self.mark_used(from);
        Content {
            bits,
            is_undefined: from.is_undefined || !is_defined,
            cast: Some(self.casts.len() - 1),
        }
    }

    fn note_use(&mut self, is_right: bool) {
        let place = self.place();
        *self.outcome.uses.entry(place).or_default() |= is_right;
    }

    /// True if a number is the address of an object in global memory.
    fn is_allocated(&self, address: u64) -> bool {
        let is_buffer = BUFFERS.iter().any(|&start| is_in(address, start, BUFFER));
        let number = address.wrapping_sub(GLOBALS) >> 12;
        is_buffer || self.is_variable(number, Space::Global) && address & 0xfff < OBJECT
    }

    fn is_variable(&self, number: u64, space: Space) -> bool {
        let count = self.module.symbols.len() as u64;
        number < count && self.module.symbol(SymbolId::new(number as usize)).space == space
    }

    /// True if a generic address is that of an object.
    fn is_object(&self, address: u64) -> bool {
        let space = space_of(address);
        let raw = address.wrapping_sub(start_of(space));
        let is_inside = |raw: u64, space| raw & 0xff < OBJECT && self.is_variable(raw >> 8, space);
        match space {
            Space::Global => self.is_allocated(address),
            Space::Shared | Space::SharedCluster => (raw % CTA)
                .checked_sub(0x400)
                .is_some_and(|raw| is_inside(raw, Space::Shared)),
            Space::Const => raw
                .checked_sub(0x400)
                .is_some_and(|raw| is_inside(raw, Space::Const)),
            _ => {
                (1..=self.frames.len() as u64).contains(&(raw >> 16)) && is_inside(raw & 0xffff, Space::Local)
            }
        }
    }

    /// The generic address that an access goes to, if it is right.
    fn target(&self, access: Access, address: Content) -> Option<u64> {
        let space = access.space;
        let generic = match space {
            Space::Generic => address.bits,
            _ if is_in_window(space, address.bits) => start_of(space).wrapping_add(address.bits),
            _ => return None,
        };
        let found = space_of(generic);
        let is_there = match space {
            Space::Generic => true,
            Space::SharedCluster => matches!(found, Space::Shared | Space::SharedCluster),
            space => found == space,
        };
        let is_update = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let is_allowed = match found {
            Space::Const => access.kind == AccessKind::Load,
            Space::Local => !is_update,
            _ => true,
        };
        let bytes = u64::from(access.bytes());
        let is_whole = (0..bytes).all(|byte| self.is_object(generic.wrapping_add(byte)));
        let is_right =
            !address.is_undefined && is_there && is_allowed && is_whole && generic % bytes.max(1) == 0;
        is_right.then_some(generic)
    }

    fn access(&mut self, access: Access, body: &Body<'_>, instruction: &Instruction) -> Result<(), Ended> {
        let uses = body.uses(instruction);
        let by = self.value(uses[1]);
        match (access.kind, uses[0]) {
            (AccessKind::Load, Value::Param(number, offset)) => {
                let place = (u64::from(number), (offset as u64).wrapping_add(by.bits));
                let argument = self.frame().arguments.get(&place).copied();
                self.resume(&[argument.unwrap_or(UNDEFINED)]);
                return Ok(());
            }
            (AccessKind::Store, Value::ReturnSlot(..)) => {
                self.frame().returned = self.value(uses[2]);
                self.resume(&[]);
                return Ok(());
            }
            _ => {}
        }
        let base = self.value(uses[0]);
        self.mark_used(base);
        let address = Content {
            bits: base.bits.wrapping_add(by.bits),
            ..base
        };
        let target = self.target(access, address);
        self.note_use(target.is_some());
        let Some(target) = target else {
            return Err(Ended);
        };
        let bytes = u64::from(access.bytes());
        let results = match access.kind {
            AccessKind::Store => {
                let stored = self.value(uses[2]);
                self.store(target, bytes, stored);
                vec![]
            }
            _ => {
                let loaded = self.load(target, bytes);
                if access.kind == AccessKind::Atomic {
                    let sum = Content {
                        bits: loaded.bits.wrapping_add(1),
                        ..loaded
                    };
                    self.store(target, bytes, sum);
                }
                vec![loaded]
            }
        };
        self.resume(&results);
        Ok(())
    }

    fn store(&mut self, target: u64, bytes: u64, stored: Content) {
        let place = self.place();
        let is_address =
            is_in(stored.bits, LOCAL_WINDOW, WINDOW) || stored.bits < WINDOW || stored.is_undefined;
        *self.outcome.harmless_stores.entry(place).or_default() |= bytes == 8 && !is_address;
        self.mark_used(stored);
        for byte in 0..bytes {
            let content = Content {
                bits: stored.bits >> (8 * byte) & 0xff,
                ..stored
            };
            self.memory.insert(target + byte, content);
        }
    }

    fn load(&self, target: u64, bytes: u64) -> Content {
        let mut loaded = Content::default();
        for byte in 0..bytes {
            let content = self.memory.get(&(target + byte)).copied();
            let content = content.unwrap_or_else(|| self.initial(target + byte));
            loaded.bits |= content.bits << (8 * byte);
            loaded.is_undefined |= content.is_undefined;
            loaded.cast = loaded.cast.or(content.cast);
        }
        loaded
    }

    /// A byte of memory that nothing has written in this run: of a small number, or of an address.
    fn initial(&self, address: u64) -> Content {
        let word = address & !7;
        let mut random = Random::new(self.inputs.seed ^ word.wrapping_mul(77));
        let bits = match random.below(6) {
            0 => random.pick(&BUFFERS) + random.below(16) as u64 * 8,
            1 => SHARED_WINDOW + 0x400 + (random.below(8) as u64) * 256,
            2 => 0,
            _ => random.below(4) as u64,
        };
        Content {
            bits: bits >> (8 * (address & 7)) & 0xff,
            ..Content::default()
        }
    }
}
