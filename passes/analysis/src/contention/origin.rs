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
pub(super) struct SmallSet(u16);

impl SmallSet {
    pub(super) const NONE: Self = Self(0);

    pub(super) const fn single(number: u8) -> Self {
        Self(1 << number)
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Thread and block numbers.
pub(super) mod number {
    use super::SmallSet;

    /// `%tid.x`, `.y` and `.z`.
    pub(crate) const THREAD: [SmallSet; 3] = [SmallSet::single(0), SmallSet::single(1), SmallSet::single(2)];
    /// A remainder of the thread number, such as the lane.
    pub(crate) const LOW: SmallSet = SmallSet::single(3);
    /// A quotient of the thread number, such as the warp.
    pub(crate) const HIGH: SmallSet = SmallSet::single(4);
    /// `%ctaid.x`, `.y` and `.z`.
    pub(crate) const BLOCK: [SmallSet; 3] = [SmallSet::single(5), SmallSet::single(6), SmallSet::single(7)];
    /// A remainder of the block number.
    pub(crate) const BLOCK_LOW: SmallSet = SmallSet::single(8);

    /// `%tid` in all dimensions.
    pub(crate) const WHOLE_THREAD: SmallSet = THREAD[0].union(THREAD[1]).union(THREAD[2]);
    /// Anything of the number of a thread in its block.
    pub(crate) const OF_THREAD: SmallSet = WHOLE_THREAD.union(LOW).union(HIGH);
    /// `%ctaid` in all dimensions.
    pub(crate) const WHOLE_BLOCK: SmallSet = BLOCK[0].union(BLOCK[1]).union(BLOCK[2]);
    /// Anything of the number of a block.
    pub(crate) const OF_BLOCK: SmallSet = WHOLE_BLOCK.union(BLOCK_LOW);
}

/// Properties of a value.
pub(super) mod property {
    use super::SmallSet;

    /// It contains a value loaded from memory.
    pub(crate) const DATA: SmallSet = SmallSet::single(0);
    /// It takes several values in the rounds of a loop.
    pub(crate) const ROUNDS: SmallSet = SmallSet::single(1);
    /// Something that all threads share has been added.
    pub(crate) const SHIFTED: SmallSet = SmallSet::single(2);
    /// It contains the result of an atomic.
    pub(crate) const RESERVED: SmallSet = SmallSet::single(3);
    /// It contains the result of a warp collective.
    pub(crate) const EXCHANGED: SmallSet = SmallSet::single(4);
    /// It contains a value of shared memory or the stack, of which nothing is known.
    pub(crate) const UNCLEAR: SmallSet = SmallSet::single(5);
    /// Threads of a block may have different values.
    pub(crate) const VARIES_IN_BLOCK: SmallSet = SmallSet::single(6);
    /// Threads of different blocks may have different values.
    pub(crate) const VARIES_IN_GRID: SmallSet = SmallSet::single(7);
    /// It is computed from the size of the grid or its blocks: what is left of a thread number modulo it is one for each thread.
    pub(crate) const SIZE: SmallSet = SmallSet::single(8);
    /// It contains what a strong load has read.
    pub(crate) const STRONG: SmallSet = SmallSet::single(9);
}

/// The object that an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// The value is a number, and no address.
    None,
    /// A variable.
    Variable(SymbolId),
    /// The memory that a piece of a kernel parameter points to: its number and offset.
    Parameter(u16, i32),
    /// A kernel parameter itself, with this number.
    ParameterBlock(u16),
    /// The value points into one of several objects.
    Several,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub numbers: SmallSet,
    pub properties: SmallSet,
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
            numbers: SmallSet::NONE,
            properties: SmallSet::NONE,
            target: Target::None,
            loads: Loads::new(),
            arguments: 0,
            dependences: 0,
            integer: None,
        }
    }

    fn of_numbers(numbers: SmallSet) -> Self {
        Self {
            numbers,
            ..Self::uniform()
        }
    }

    fn of_property(properties: SmallSet) -> Self {
        Self {
            properties,
            ..Self::uniform()
        }
    }

    pub(super) const fn has_property(&self, property: SmallSet) -> bool {
        self.properties.intersects(property)
    }

    /// The groups of threads among which it may differ.
    pub(super) const fn variance(&self) -> SmallSet {
        let own = self
            .properties
            .intersection(property::VARIES_IN_BLOCK.union(property::VARIES_IN_GRID));
        let own = match self.numbers.intersects(number::OF_THREAD) {
            true => own.union(property::VARIES_IN_BLOCK),
            false => own,
        };
        match self.numbers.intersects(number::OF_BLOCK) {
            true => own.union(property::VARIES_IN_GRID),
            false => own,
        }
    }

    /// The value that contains both.
    fn union(&self, other: &Self) -> Self {
        let target = match (self.target, other.target) {
            (Target::None, one) | (one, Target::None) => one,
            (one, two) if one == two => one,
            _ => Target::Several,
        };
        Self {
            numbers: self.numbers.union(other.numbers),
            properties: self.properties.union(other.properties),
            target,
            loads: union_of_loads(&self.loads, &other.loads),
            arguments: self.arguments | other.arguments,
            dependences: self.dependences | other.dependences,
            integer: self.integer.filter(|_| self.integer == other.integer),
        }
    }

    /// The origin of a value that depends on this one, but does not contain its numbers or its object.
    fn as_dependence(&self) -> Self {
        Self {
            numbers: SmallSet::NONE,
            properties: self
                .properties
                .difference(property::ROUNDS.union(property::SHIFTED))
                .union(self.variance()),
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
                .intersection(property::VARIES_IN_BLOCK.union(property::VARIES_IN_GRID)),
            ..dependence
        }
    }

    /// True if data alone distinguish it.
    const fn depends_on_data_alone(&self) -> bool {
        self.has_property(property::DATA) && self.numbers.is_empty() && self.arguments == 0
    }

    /// The origin of a register with two definitions: the value is one or the other.
    pub(super) fn join(&self, other: &Self) -> Self {
        let of_rounds = property::ROUNDS.union(property::SHIFTED);
        // A thread begins at its own place, and goes on to what it finds in memory.
        match (self.depends_on_data_alone(), other.depends_on_data_alone()) {
            (true, false) if !other.has_property(property::DATA) => {
                return self.replacing_initial_value(other, of_rounds);
            }
            (false, true) if !self.has_property(property::DATA) => {
                return other.replacing_initial_value(self, of_rounds);
            }
            _ => {}
        }
        let mut joined = self.union(other);
        if joined.has_property(property::SHIFTED) {
            joined.properties = joined.properties.union(property::ROUNDS);
        }
        joined
    }

    /// These data, or another value that threads begin with.
    fn replacing_initial_value(&self, begin: &Self, without: SmallSet) -> Self {
        let mut joined = self.union(&Self {
            numbers: SmallSet::NONE,
            properties: begin.properties.difference(without).union(begin.variance()),
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
                all = all.union(argument.as_ref()?);
            } else if is_in(self.dependences, place) {
                let unknown = Self::of_property(property::UNCLEAR);
                all = all.union(&argument.as_ref().unwrap_or(&unknown).as_dependence());
            }
        }
        let known = 1_u32
            .checked_shl(arguments.len() as u32)
            .map_or(u32::MAX, |end| end - 1);
        (self.arguments & !known == 0).then_some(all)
    }

    /// The quotient of the value and a number. A division of a block number often undoes a product.
    fn quotient(mut self) -> Self {
        if self.numbers.intersects(number::WHOLE_THREAD) {
            self.numbers = self.numbers.difference(number::WHOLE_THREAD).union(number::HIGH);
        }
        self
    }

    /// Its bits under a mask of low bits. As many as a block has threads distinguish these, and 16 bits all threads of most grids.
    fn low_bits(mut self, mask: i64) -> Self {
        if mask >= 0xffff {
            return self;
        }
        if mask + 1 < i64::from(MAX_BLOCK_THREADS) || !self.numbers.intersects(number::WHOLE_THREAD) {
            return self.remainder();
        }
        self.numbers = self.numbers.difference(number::OF_BLOCK);
        self
    }

    /// The remainder of the value.
    fn remainder(mut self) -> Self {
        if self.numbers.intersects(number::WHOLE_THREAD) {
            self.numbers = number::LOW;
        } else if !self.numbers.intersects(number::OF_THREAD) && self.numbers.intersects(number::WHOLE_BLOCK)
        {
            self.numbers = number::BLOCK_LOW;
        }
        self
    }
}

fn union_of_loads(one: &Loads, other: &Loads) -> Loads {
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
    /// The module of the function.
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

    fn origin_of_collective(collective: Collective, operands: &[Origin]) -> Origin {
        let exchanged = Origin::of_property(property::EXCHANGED);
        match (collective, operands) {
            // The sum that lanes pass on differs from lane to lane.
            (Collective::Shuffle(Shuffle::Up | Shuffle::Down), [_, value, ..]) => Origin {
                integer: None,
                ..value.clone()
            },
            (Collective::Shuffle(_) | Collective::Reduce, [_, value, ..]) => {
                let mut value = value.clone().quotient();
                value.numbers = value.numbers.difference(number::LOW);
                value.integer = None;
                value.union(&exchanged)
            }
            _ => exchanged,
        }
    }

    fn origin_of_sum(one: &Origin, other: &Origin) -> Origin {
        let mut sum = one.union(other);
        let is_step = |origin: &Origin| {
            origin.numbers.is_empty()
                && origin.arguments == 0
                && !origin.has_property(property::DATA)
                && matches!(origin.target, Target::None)
                && origin.integer != Some(0)
        };
        if is_step(one) || is_step(other) {
            sum.properties = sum.properties.union(property::SHIFTED);
        }
        sum.integer = None;
        sum
    }

    fn origin_of_binary(op: BinaryOp, one: &Origin, other: &Origin) -> Origin {
        let number = |mut origin: Origin| {
            origin.target = Target::None;
            origin.integer = None;
            origin
        };
        match op.class() {
            Class::Sum => Self::origin_of_sum(one, other),
            Class::Difference => {
                let other_numbers = other.numbers.intersection(number::OF_THREAD);
                if one.numbers.intersects(number::WHOLE_THREAD) && other_numbers == number::HIGH {
                    return number(one.union(&other.as_dependence()).remainder());
                }
                Self::origin_of_sum(one, other)
            }
            Class::Quotient { .. } | Class::ShiftedRight { .. } => number(one.union(other)).quotient(),
            Class::Remainder { .. } if other.has_property(property::SIZE) => number(one.union(other)),
            Class::Remainder { .. } => number(one.union(other)).remainder(),
            Class::And => match other.integer.or(one.integer) {
                Some(mask) if mask & 1 == 0 => one.union(other).quotient(),
                Some(mask) if mask > 0 && mask & mask.wrapping_add(1) == 0 => {
                    number(one.union(other)).low_bits(mask)
                }
                _ => one.union(other),
            },
            Class::Or | Class::Xor => one.union(other),
            Class::Other => number(one.union(other)).quotient(),
            Class::Product
            | Class::WideProduct { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::ShiftedLeft => number(one.union(other)),
        }
    }
}

impl Domain for Origins<'_, '_> {
    type Value = Origin;

    fn join(&self, one: &Origin, other: &Origin) -> Option<Origin> {
        Some(one.join(other))
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
                None => Origin::of_property(property::UNCLEAR.union(property::VARIES_IN_BLOCK)),
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
                let unclear = Origin::of_property(property::UNCLEAR.union(property::VARIES_IN_GRID));
                Some(unclear.union(&data).union(&varies))
            }
            AccessKind::Load if matches!(access.space, Space::Const | Space::Param) => {
                Some(data.union(&varies))
            }
            AccessKind::Load => {
                let data = match access.is_strong() {
                    true => Origin::of_property(property::DATA.union(property::STRONG)),
                    false => data,
                };
                let load = Origin {
                    loads: Loads::from_slice(&[at]),
                    ..data
                };
                Some(load.union(&varies))
            }
            AccessKind::Atomic | AccessKind::ReadModifyWrite => {
                let reserved = property::RESERVED
                    .union(property::DATA)
                    .union(property::VARIES_IN_BLOCK)
                    .union(property::VARIES_IN_GRID);
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
        let passed = origins_by_parameter(pieces.map(|(argument, origin)| (argument.param, origin.clone())));
        (self.result_of)(symbol, &passed)
    }

    fn relevant_operands<'u>(&self, _op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        Some(uses)
    }

    fn describe_result(&self, op: Op, _result: Result, operands: &[Origin]) -> Option<Origin> {
        let all = |operands: &[Origin]| {
            let mut all = operands.iter();
            let first = all.next().cloned().unwrap_or_else(Origin::uniform);
            all.fold(first, |all, one| all.union(one))
        };
        Some(match (op, operands) {
            (Op::Binary(op, _), [one, other]) => Self::origin_of_binary(op, one, other),
            (Op::Select, [one, other, by]) => one.join(other).union(&by.as_dependence()),
            (Op::Compare(..) | Op::CompareOther | Op::IsSpace(_), operands) => all(operands).as_dependence(),
            (Op::Collective(collective, _), operands) => Self::origin_of_collective(collective, operands),
            (Op::ActiveMask, _) => Origin::of_property(property::EXCHANGED),
            (Op::StackAlloc, _) => Origin::of_property(property::UNCLEAR),
            (op, [one]) if op.change().is_some() => one.clone(),
            (_, operands) => {
                let mut all = all(operands);
                all.integer = None;
                all
            }
        })
    }
}

/// The thread numbers that a special register is; none for one that all threads share, and `None` for any other.
pub(super) const fn numbers_of_special(special: Special) -> Option<SmallSet> {
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
        Special::Ntid(_) | Special::Nctaid(_) | Special::NwarpId | Special::Uniform => SmallSet::NONE,
        Special::Other => return None,
    })
}

/// The origins of arguments, by parameter, from those of their pieces: `None` where one is unknown.
pub(super) fn origins_by_parameter(
    pieces: impl Iterator<Item = (u32, Option<Origin>)>,
) -> Vec<Option<Origin>> {
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
            Some(known) => known.zip(origin).map(|(known, origin)| known.union(&origin)),
        });
    }
    all.into_iter().map(|origin| origin.flatten()).collect()
}
