//! The origin of a value: the thread numbers, memory and object that it is computed from.
//!
//! ```text
//! numbers    the thread and block numbers that distinguish it: of an address, threads with different numbers have different ones
//! data       it contains a value loaded from memory. The numbers in that load's address do not distinguish it: others may load the same
//! rounds     it takes several values in the rounds of a loop: where definitions meet of which one adds to something
//! varies     threads of a block, or of different blocks, may have different values
//! arguments  the arguments of the function that it contains; a caller substitutes their origins
//! ```

use smallvec::SmallVec;

use crate::launches::MAX_BLOCK_THREADS;
use crate::shared::Shared;
use crate::value::{Domain, Result};
use ptxcheck_ir::{
    Access, AccessKind, BinaryOp, Body, Callee, Class, Collective, InstructionId, Op, Shuffle, Space,
    Special, SymbolId, Value,
};

/// A set of up to 16 members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u16);

impl Set {
    pub(super) const NONE: Self = Self(0);

    pub(super) const fn one(number: u8) -> Self {
        Self(1 << number)
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Thread and block numbers.
pub(super) mod number {
    use super::Set;

    /// `%tid.x`, `.y` and `.z`.
    pub(crate) const THREAD: [Set; 3] = [Set::one(0), Set::one(1), Set::one(2)];
    /// A remainder of the thread number, such as the lane.
    pub(crate) const LOW: Set = Set::one(3);
    /// A quotient of the thread number, such as the warp.
    pub(crate) const HIGH: Set = Set::one(4);
    /// `%ctaid.x`, `.y` and `.z`.
    pub(crate) const BLOCK: [Set; 3] = [Set::one(5), Set::one(6), Set::one(7)];
    /// A remainder of the block number.
    pub(crate) const BLOCK_LOW: Set = Set::one(8);

    /// `%tid` in all dimensions.
    pub(crate) const WHOLE_THREAD: Set = THREAD[0].with(THREAD[1]).with(THREAD[2]);
    /// Anything of the number of a thread in its block.
    pub(crate) const OF_THREAD: Set = WHOLE_THREAD.with(LOW).with(HIGH);
    /// `%ctaid` in all dimensions.
    pub(crate) const WHOLE_BLOCK: Set = BLOCK[0].with(BLOCK[1]).with(BLOCK[2]);
    /// Anything of the number of a block.
    pub(crate) const OF_BLOCK: Set = WHOLE_BLOCK.with(BLOCK_LOW);
}

/// Properties of a value.
pub(super) mod property {
    use super::Set;

    /// It contains a value loaded from memory.
    pub(crate) const DATA: Set = Set::one(0);
    /// It takes several values in the rounds of a loop.
    pub(crate) const ROUNDS: Set = Set::one(1);
    /// Something that all threads share has been added.
    pub(crate) const SHIFTED: Set = Set::one(2);
    /// It contains the result of an atomic.
    pub(crate) const RESERVED: Set = Set::one(3);
    /// It contains the result of a warp collective.
    pub(crate) const EXCHANGED: Set = Set::one(4);
    /// It contains a value of shared memory or the stack, of which nothing is known.
    pub(crate) const UNCLEAR: Set = Set::one(5);
    /// Threads of a block may have different values.
    pub(crate) const VARIES_IN_BLOCK: Set = Set::one(6);
    /// Threads of different blocks may have different values.
    pub(crate) const VARIES_IN_GRID: Set = Set::one(7);
    /// It is computed from the size of the grid or its blocks: what is left of a thread number modulo it is one for each thread.
    pub(crate) const SIZE: Set = Set::one(8);
    /// It contains what a strong load has read.
    pub(crate) const STRONG: Set = Set::one(9);
}

/// The object that an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// None: it is a number.
    None,
    /// A variable.
    Variable(SymbolId),
    /// The memory that a piece of a kernel parameter points to: its number and offset.
    Parameter(u16, i32),
    /// A kernel parameter itself, with this number.
    ParameterBlock(u16),
    /// One of several.
    Several,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub numbers: Set,
    pub properties: Set,
    pub target: Target,
    /// The loads from global memory that it is computed from, in order: the first [`MAX_LOADS`] that were found.
    pub loads: Loads,
    /// The arguments that it contains, one bit each.
    pub arguments: u32,
    /// The arguments on which it depends in any way.
    pub dependences: u32,
    /// The integer that it is.
    pub integer: Option<i64>,
}

/// Loads, in order.
pub(super) type Loads = SmallVec<[InstructionId; 4]>;

/// Most loads that are kept.
const MAX_LOADS: usize = 16;

impl Origin {
    /// A number that all threads share.
    pub(super) fn uniform() -> Self {
        Self {
            numbers: Set::NONE,
            properties: Set::NONE,
            target: Target::None,
            loads: Loads::new(),
            arguments: 0,
            dependences: 0,
            integer: None,
        }
    }

    fn of_numbers(numbers: Set) -> Self {
        Self {
            numbers,
            ..Self::uniform()
        }
    }

    fn of_property(properties: Set) -> Self {
        Self {
            properties,
            ..Self::uniform()
        }
    }

    pub(super) const fn is(&self, property: Set) -> bool {
        self.properties.has_any(property)
    }

    /// The groups of threads among which it may differ.
    pub(super) const fn variance(&self) -> Set {
        let own = self
            .properties
            .common(property::VARIES_IN_BLOCK.with(property::VARIES_IN_GRID));
        let own = match self.numbers.has_any(number::OF_THREAD) {
            true => own.with(property::VARIES_IN_BLOCK),
            false => own,
        };
        match self.numbers.has_any(number::OF_BLOCK) {
            true => own.with(property::VARIES_IN_GRID),
            false => own,
        }
    }

    /// The value that contains both.
    fn united(&self, other: &Self) -> Self {
        let target = match (self.target, other.target) {
            (Target::None, one) | (one, Target::None) => one,
            (one, two) if one == two => one,
            _ => Target::Several,
        };
        Self {
            numbers: self.numbers.with(other.numbers),
            properties: self.properties.with(other.properties),
            target,
            loads: united_loads(&self.loads, &other.loads),
            arguments: self.arguments | other.arguments,
            dependences: self.dependences | other.dependences,
            integer: self.integer.filter(|_| self.integer == other.integer),
        }
    }

    /// The origin of a value that depends on this one, but does not contain its numbers or its object.
    fn as_dependence(&self) -> Self {
        Self {
            numbers: Set::NONE,
            properties: self
                .properties
                .without(property::ROUNDS.with(property::SHIFTED))
                .with(self.variance()),
            target: Target::None,
            arguments: 0,
            dependences: self.dependences | self.arguments,
            integer: None,
            loads: self.loads.clone(),
        }
    }

    /// The origin of a value that is read at this address: of the address, only the threads among which it differs count.
    fn as_address(&self) -> Self {
        let dependence = self.as_dependence();
        Self {
            properties: dependence
                .properties
                .common(property::VARIES_IN_BLOCK.with(property::VARIES_IN_GRID)),
            ..dependence
        }
    }

    /// True if data alone distinguish it.
    const fn is_pure_data(&self) -> bool {
        self.is(property::DATA) && self.numbers.is_empty() && self.arguments == 0
    }

    /// One of two definitions.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let of_rounds = property::ROUNDS.with(property::SHIFTED);
        // A thread begins at its own place, and goes on to what it finds in memory.
        match (self.is_pure_data(), other.is_pure_data()) {
            (true, false) if !other.is(property::DATA) => return self.replacing(other, of_rounds),
            (false, true) if !self.is(property::DATA) => return other.replacing(self, of_rounds),
            _ => {}
        }
        let mut joined = self.united(other);
        if joined.is(property::SHIFTED) {
            joined.properties = joined.properties.with(property::ROUNDS);
        }
        joined
    }

    /// These data, or another value that threads begin with.
    fn replacing(&self, begin: &Self, without: Set) -> Self {
        let mut joined = self.united(&Self {
            numbers: Set::NONE,
            properties: begin.properties.without(without).with(begin.variance()),
            arguments: 0,
            dependences: begin.dependences | begin.arguments,
            ..begin.clone()
        });
        joined.integer = None;
        joined
    }

    /// The same, with the origins of a call's arguments in place of the arguments.
    pub(super) fn with_arguments(&self, arguments: &[Option<Self>]) -> Option<Self> {
        let is_in = |set: u32, place: usize| place < 32 && set >> place & 1 == 1;
        let mut all = Self {
            arguments: 0,
            dependences: 0,
            ..self.clone()
        };
        for (place, argument) in arguments.iter().enumerate() {
            if is_in(self.arguments, place) {
                all = all.united(argument.as_ref()?);
            } else if is_in(self.dependences, place) {
                let unknown = Self::of_property(property::UNCLEAR);
                all = all.united(&argument.as_ref().unwrap_or(&unknown).as_dependence());
            }
        }
        let known = 1_u32
            .checked_shl(arguments.len() as u32)
            .map_or(u32::MAX, |end| end - 1);
        (self.arguments & !known == 0).then_some(all)
    }

    /// The quotient of it and a number. That of a block number often undoes a product.
    fn quotient(mut self) -> Self {
        if self.numbers.has_any(number::WHOLE_THREAD) {
            self.numbers = self.numbers.without(number::WHOLE_THREAD).with(number::HIGH);
        }
        self
    }

    /// Its bits under a mask of low bits. As many as a block has threads distinguish these, and 16 bits all threads of most grids.
    fn low_bits(mut self, mask: i64) -> Self {
        if mask >= 0xffff {
            return self;
        }
        if mask + 1 < i64::from(MAX_BLOCK_THREADS) || !self.numbers.has_any(number::WHOLE_THREAD) {
            return self.remainder();
        }
        self.numbers = self.numbers.without(number::OF_BLOCK);
        self
    }

    /// The remainder of it.
    fn remainder(mut self) -> Self {
        if self.numbers.has_any(number::WHOLE_THREAD) {
            self.numbers = number::LOW;
        } else if !self.numbers.has_any(number::OF_THREAD) && self.numbers.has_any(number::WHOLE_BLOCK) {
            self.numbers = number::BLOCK_LOW;
        }
        self
    }
}

fn united_loads(one: &Loads, other: &Loads) -> Loads {
    let mut all = one.clone();
    for &load in other {
        if let Err(place) = all.binary_search(&load) {
            all.insert(place, load);
        }
    }
    all.truncate(MAX_LOADS);
    all
}

/// The origin of the result of a call of a function with these arguments; `None` if it is unknown.
pub(super) type ResultOf<'a> = &'a dyn Fn(SymbolId, &[Option<Origin>]) -> Option<Origin>;

/// Origins of the values of one function.
pub(super) struct Origins<'a, 'm> {
    /// The body.
    pub body: &'a Body<'m>,
    /// Its module.
    pub module: &'a Shared<'m>,
    /// Its arguments are parameters of a kernel.
    pub is_kernel: bool,
    /// The results of calls.
    pub result_of: ResultOf<'a>,
}

impl Origins<'_, '_> {
    fn is_shared_memory(&self, space: Space, address: &Origin) -> bool {
        match (space, address.target) {
            (Space::Shared | Space::SharedCluster | Space::Local, _) => true,
            (_, Target::Variable(symbol)) => {
                let space = self.module.module.symbol(symbol).space;
                matches!(space, Space::Shared | Space::Local)
            }
            _ => false,
        }
    }

    fn of_collective(collective: Collective, operands: &[Origin]) -> Origin {
        let exchanged = Origin::of_property(property::EXCHANGED);
        match (collective, operands) {
            // The sum that lanes pass on differs from lane to lane.
            (Collective::Shuffle(Shuffle::Up | Shuffle::Down), [_, value, ..]) => Origin {
                integer: None,
                ..value.clone()
            },
            (Collective::Shuffle(_) | Collective::Reduce, [_, value, ..]) => {
                let mut value = value.clone().quotient();
                value.numbers = value.numbers.without(number::LOW);
                value.integer = None;
                value.united(&exchanged)
            }
            _ => exchanged,
        }
    }

    fn of_sum(one: &Origin, other: &Origin) -> Origin {
        let mut sum = one.united(other);
        let is_step = |origin: &Origin| {
            origin.numbers.is_empty()
                && origin.arguments == 0
                && !origin.is(property::DATA)
                && matches!(origin.target, Target::None)
                && origin.integer != Some(0)
        };
        if is_step(one) || is_step(other) {
            sum.properties = sum.properties.with(property::SHIFTED);
        }
        sum.integer = None;
        sum
    }

    fn of_binary(op: BinaryOp, one: &Origin, other: &Origin) -> Origin {
        let number = |mut origin: Origin| {
            origin.target = Target::None;
            origin.integer = None;
            origin
        };
        match op.class() {
            Class::Sum => Self::of_sum(one, other),
            Class::Difference => {
                let other_numbers = other.numbers.common(number::OF_THREAD);
                if one.numbers.has_any(number::WHOLE_THREAD) && other_numbers == number::HIGH {
                    return number(one.united(&other.as_dependence()).remainder());
                }
                Self::of_sum(one, other)
            }
            Class::Quotient { .. } | Class::ShiftedRight { .. } => number(one.united(other)).quotient(),
            Class::Remainder { .. } if other.is(property::SIZE) => number(one.united(other)),
            Class::Remainder { .. } => number(one.united(other)).remainder(),
            Class::And => match other.integer.or(one.integer) {
                Some(mask) if mask & 1 == 0 => one.united(other).quotient(),
                Some(mask) if mask > 0 && mask & mask.wrapping_add(1) == 0 => {
                    number(one.united(other)).low_bits(mask)
                }
                _ => one.united(other),
            },
            Class::Or | Class::Xor => one.united(other),
            Class::Other => number(one.united(other)).quotient(),
            Class::Product
            | Class::WideProduct { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::ShiftedLeft => number(one.united(other)),
        }
    }
}

impl Domain for Origins<'_, '_> {
    type Value = Origin;

    fn join(&self, one: &Origin, other: &Origin) -> Option<Origin> {
        Some(one.joined(other))
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn describes_accesses(&self) -> bool {
        true
    }

    fn describes_calls(&self) -> bool {
        true
    }

    fn describe_operand(&self, value: Value) -> Option<Origin> {
        Some(match value {
            Value::Integer(integer) => Origin {
                integer: Some(integer),
                ..Origin::uniform()
            },
            Value::Special(Special::Ntid(_) | Special::Nctaid(_)) => Origin::of_property(property::SIZE),
            Value::Special(special) => match numbers_of_special(special) {
                Some(numbers) => Origin::of_numbers(numbers),
                None => Origin::of_property(property::UNCLEAR.with(property::VARIES_IN_BLOCK)),
            },
            Value::Symbol(symbol, _) => Origin {
                target: Target::Variable(symbol),
                ..Origin::uniform()
            },
            Value::Unknown => Origin::uniform(),
            Value::Param(number, at) if self.is_kernel => Origin {
                target: Target::ParameterBlock(number),
                integer: Some(at.into()),
                ..Origin::uniform()
            },
            Value::Param(..) | Value::ReturnSlot(..) => Origin::of_property(property::UNCLEAR),
            Value::Register(_) | Value::Not(_) => return None,
        })
    }

    fn describe_complement(&self, value: Origin) -> Option<Origin> {
        Some(value)
    }

    fn describe_param(&self, (number, at): (u16, i32), access: Access) -> Option<Origin> {
        if !self.is_kernel {
            let bit = 1_u32.checked_shl(number.into())?;
            return Some(Origin {
                arguments: bit,
                ..Origin::uniform()
            });
        }
        let target = match access.bits {
            64 => Target::Parameter(number, at),
            _ => Target::None,
        };
        Some(Origin {
            target,
            ..Origin::uniform()
        })
    }

    fn describe_access(&self, (at, access): (InstructionId, Access), address: &Origin) -> Option<Origin> {
        if let Target::ParameterBlock(number) = address.target {
            let past = self.body.uses(self.body.instruction(at)).get(1);
            return match (address.integer, past) {
                (Some(from), Some(Value::Integer(past))) => {
                    let offset = i32::try_from(from.checked_add(*past)?).ok()?;
                    self.describe_param((number, offset), access)
                }
                _ => Some(Origin::of_property(property::UNCLEAR)),
            };
        }
        let varies = address.as_address();
        let data = Origin::of_property(property::DATA);
        match access.kind {
            AccessKind::Load if self.is_shared_memory(access.space, address) => {
                let unclear = Origin::of_property(property::UNCLEAR.with(property::VARIES_IN_GRID));
                Some(unclear.united(&data).united(&varies))
            }
            AccessKind::Load if matches!(access.space, Space::Const | Space::Param) => {
                Some(data.united(&varies))
            }
            AccessKind::Load => {
                let data = match access.is_strong() {
                    true => Origin::of_property(property::DATA.with(property::STRONG)),
                    false => data,
                };
                let load = Origin {
                    loads: Loads::from_slice(&[at]),
                    ..data
                };
                Some(load.united(&varies))
            }
            AccessKind::Atomic | AccessKind::ReadModifyWrite => {
                let reserved = property::RESERVED
                    .with(property::DATA)
                    .with(property::VARIES_IN_BLOCK)
                    .with(property::VARIES_IN_GRID);
                Some(Origin::of_property(reserved))
            }
            AccessKind::Store | AccessKind::Reduction | AccessKind::Other => None,
        }
    }

    fn describe_call(&self, call: InstructionId, arguments: &[Option<Origin>]) -> Option<Origin> {
        let Op::Call(number) = self.body.instruction(call).op else {
            return None;
        };
        let call = self.body.call(number);
        let Callee::Direct(symbol) = call.callee else {
            return Some(Origin::of_property(property::UNCLEAR));
        };
        let pieces = self.body.arguments(call).iter().zip(arguments);
        let passed = by_parameter(pieces.map(|(argument, origin)| (argument.param, origin.clone())));
        (self.result_of)(symbol, &passed)
    }

    fn relevant_operands<'u>(&self, _op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        Some(uses)
    }

    fn describe_result(&self, op: Op, _result: Result, operands: &[Origin]) -> Option<Origin> {
        let all = |operands: &[Origin]| {
            let mut all = operands.iter();
            let first = all.next().cloned().unwrap_or_else(Origin::uniform);
            all.fold(first, |all, one| all.united(one))
        };
        Some(match (op, operands) {
            (Op::Binary(op, _), [one, other]) => Self::of_binary(op, one, other),
            (Op::MulAdd(op, _), [one, other, third]) => Self::of_sum(&Self::of_binary(op, one, other), third),
            (Op::Select, [one, other, by]) => one.joined(other).united(&by.as_dependence()),
            (Op::Compare(..) | Op::CompareOther | Op::IsSpace(_), operands) => all(operands).as_dependence(),
            (Op::Collective(collective, _), operands) => Self::of_collective(collective, operands),
            (Op::ActiveMask, _) => Origin::of_property(property::EXCHANGED),
            (Op::StackAlloc, _) => Origin::of_property(property::UNCLEAR),
            (Op::Copy | Op::Convert { .. } | Op::ToGeneric(..) | Op::FromGeneric(..), [one]) => one.clone(),
            (_, operands) => {
                let mut all = all(operands);
                all.integer = None;
                all
            }
        })
    }
}

/// The thread numbers that a special register is; none for one that all threads share, and `None` for any other.
pub(super) const fn numbers_of_special(special: Special) -> Option<Set> {
    Some(match special {
        Special::Tid(0) => number::THREAD[0],
        Special::Tid(1) => number::THREAD[1],
        Special::Tid(_) => number::THREAD[2],
        Special::Ctaid(0) => number::BLOCK[0],
        Special::Ctaid(1) => number::BLOCK[1],
        Special::Ctaid(_) => number::BLOCK[2],
        Special::LaneId
        | Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => number::LOW,
        Special::WarpId => number::HIGH,
        Special::Ntid(_) | Special::Nctaid(_) | Special::NwarpId | Special::Uniform => Set::NONE,
        Special::Other => return None,
    })
}

/// The origins of arguments, by parameter, from those of their pieces: `None` where one is unknown.
pub(super) fn by_parameter(pieces: impl Iterator<Item = (u32, Option<Origin>)>) -> Vec<Option<Origin>> {
    let mut all: Vec<Option<Option<Origin>>> = Vec::new();
    for (param, origin) in pieces {
        let param = param as usize;
        if param >= 32 {
            continue;
        }
        if all.len() <= param {
            all.resize(param + 1, None);
        }
        all[param] = Some(match all[param].take() {
            None => origin,
            Some(known) => known.zip(origin).map(|(known, origin)| known.united(&origin)),
        });
    }
    all.into_iter().map(|origin| origin.flatten()).collect()
}
