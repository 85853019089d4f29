//! What is known of the accesses of a function before its callers are: stores that depend on what they overwrite, plain accesses and
//! atomics, calls.

use rustc_hash::FxHashMap;

use super::execution::{Execution, Guards};
use super::origin::{Loads, Origin, Origins, ResultOf, Target, origins_by_parameter, property};
use super::shape_numbers::{Shapes, shape_evaluator};
use super::summary::origin_evaluator;
use crate::function::Analyses;
use crate::shared::Shared;
use crate::value::{Evaluator, Linear, Source};
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    Access, AccessKind, Body, Call, Callee, FunctionId, Instruction, InstructionId, Op, Semantics, Space,
    Value,
};

/// A plain store.
pub(super) struct Store {
    /// The instruction.
    pub at: InstructionId,
    /// The origin of its address.
    pub address: Origin,
    /// The origin of the value.
    pub value: Option<Origin>,
    /// The load of what is overwritten, on which the value or the decision to write depends.
    pub read: Option<InstructionId>,
    /// The value depends on that load, and not only the decision.
    pub is_computed: bool,
    /// A load of the same memory that the address is computed from.
    pub chased: Option<InstructionId>,
    /// The threads that execute it.
    pub execution: Execution,
}

/// A call of a function with a body.
pub(super) struct Entry {
    /// The instruction.
    pub at: InstructionId,
    /// The function.
    pub callee: FunctionId,
    /// The origins of the arguments, by parameter.
    pub arguments: Vec<Option<Origin>>,
    /// The threads that execute it.
    pub execution: Execution,
}

/// A kind of access to memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TouchKind {
    Load,
    Store,
    Atomic,
}

/// A plain access, or an atomic.
pub(super) struct Touch {
    /// The instruction: a call for an atomic in the function that is called.
    pub at: InstructionId,
    pub kind: TouchKind,
    /// The origin of its address.
    pub address: Origin,
    /// The number of its address, if it is known how it is computed.
    pub place: Option<u64>,
    /// The field of a record in an array of records.
    pub field: Option<Field>,
    /// The threads that execute it.
    pub execution: Execution,
}

/// Bytes at a distance from the start of each record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// A number that divides the size of a record.
    stride: u64,
    /// The distance of the first byte from a multiple of the stride.
    offset: i64,
    /// The number of bytes.
    bytes: u32,
}

impl Field {
    /// True if two fields of records in one array have no byte in common.
    pub(super) const fn is_apart_from(self, other: Self) -> bool {
        let stride = gcd(self.stride, other.stride) as i64;
        if stride == 0 {
            return false;
        }
        let distance = self.offset.wrapping_sub(other.offset).rem_euclid(stride);
        distance >= other.bytes as i64 && distance + self.bytes as i64 <= stride
    }
}

const fn gcd(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The facts about a function.
#[derive(Default)]
pub(super) struct Facts {
    /// The stores, in order.
    pub stores: Vec<Store>,
    /// The calls, in order.
    pub calls: Vec<Entry>,
    /// The plain accesses and the atomics, in order; none if there is no atomic.
    pub touches: Vec<Touch>,
    /// By instruction: the threads of the block wait for each other there.
    pub block_waits: Vec<bool>,
    /// By instruction: the threads of the block, or lanes of the warp, wait for each other there.
    pub warp_waits: Vec<bool>,
    /// Threads wait in a loop for what another thread writes.
    pub waits_for_others: bool,
    /// The arguments at which it makes an atomic.
    atomic_arguments: u32,
}

/// The facts about functions, by function.
pub(super) type AllFacts = FxHashMap<FunctionId, Facts>;

/// The facts about a function with a body, after those about its callees.
pub(super) fn facts_of(
    module: &Shared<'_>,
    (function, body): (FunctionId, &Body<'_>),
    known: &AllFacts,
    result_of: ResultOf<'_>,
) -> Facts {
    let analyses = module.function(function);
    let mut collector = Collector {
        module,
        body,
        analyses,
        known,
        origins: origin_evaluator(module, function, body, result_of),
        shapes: shape_evaluator(module, function, body),
        sums: Evaluator::new(
            Source {
                module: Some(module),
                ..Source::within_body(body, analyses)
            },
            Linear::of_unknowns(),
        ),
        guards: Guards::new(body, analyses),
    };
    let mut facts = Facts::default();
    for (at, instruction) in body.iter() {
        let waits = collector.threads_waiting_at(instruction);
        facts.block_waits.push(waits == Some(Wait::Block));
        facts.warp_waits.push(waits.is_some());
        if !analyses.may_be_reached(at) {
            continue;
        }
        facts.stores.extend(collector.plain_store_at(at, instruction));
        facts.calls.extend(collector.entry_of_call(at, instruction));
        facts.waits_for_others |= collector.waits_for_others(at, instruction);
    }
    collector.add_accesses_if_atomics(&mut facts);
    facts
}

/// The threads that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Block,
    Warp,
}

struct Collector<'a, 'm> {
    module: &'a Shared<'m>,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    known: &'a AllFacts,
    origins: Evaluator<'a, 'm, Origins<'a, 'm>>,
    shapes: Evaluator<'a, 'm, Shapes<'a, 'm>>,
    sums: Evaluator<'a, 'm, Linear<'a>>,
    guards: Guards<'a, 'm>,
}

impl<'a> Collector<'a, '_> {
    /// A plain store that may be to global memory.
    fn plain_store_at(&mut self, at: InstructionId, instruction: &Instruction) -> Option<Store> {
        let (address, value) = plain_store(self.body, instruction)?;
        let address = self.origins.description_at_read(address, at)?;
        if !is_in_known_object(&address) {
            return None;
        }
        let execution = self.guards.execution_of(at, &mut self.origins);
        let value = value.and_then(|value| self.origins.description_at_read(value, at));
        let place = self.place_number(at);
        let reads_place = |collector: &mut Self, load: &InstructionId| {
            place.is_some() && collector.place_number(*load) == place
        };
        let of_value = value.iter().flat_map(|value| value.loads.clone());
        let computed_from = of_value.into_iter().find(|load| reads_place(self, load));
        let mut conditions = Vec::new();
        for &register in &execution.predicates {
            let condition = self.origins.description_of(Value::Register(register));
            conditions.extend(condition.into_iter().flat_map(|condition| condition.loads));
        }
        let read = computed_from.or_else(|| conditions.into_iter().find(|load| reads_place(self, load)));
        let loads = address.loads.clone();
        let mut loads = loads.into_iter();
        let chased = loads.find(|&load| {
            let from = self.body.uses(self.body.instruction(load)).first();
            let origin = from.and_then(|&from| self.origins.description_at_read(from, load));
            origin.is_some_and(|origin| is_same_object(&origin, &address))
        });
        Some(Store {
            at,
            address,
            value,
            read,
            is_computed: computed_from.is_some(),
            chased,
            execution,
        })
    }

    /// A call of a function with a body.
    fn entry_of_call(&mut self, at: InstructionId, instruction: &Instruction) -> Option<Entry> {
        let callee = self.callee_with_body(instruction)?;
        let pieces = self.body.arguments(self.call_made_by(instruction)?).iter();
        let arguments = origins_by_parameter(pieces.map(|argument| {
            let origin = self.origins.description_at_read(argument.value, at);
            (argument.param, origin)
        }));
        Some(Entry {
            at,
            callee,
            arguments,
            execution: self.guards.execution_of(at, &mut self.origins),
        })
    }

    fn call_made_by(&self, instruction: &Instruction) -> Option<&'a Call> {
        let Op::Call(number) = instruction.op else {
            return None;
        };
        Some(self.body.call(number))
    }

    /// The function with a body that an instruction calls.
    fn callee_with_body(&self, instruction: &Instruction) -> Option<FunctionId> {
        let Callee::Direct(symbol) = self.call_made_by(instruction)?.callee else {
            return None;
        };
        let callee = self.module.module.called(symbol)?;
        self.module.module.function(callee).body.as_ref()?;
        Some(callee)
    }

    /// The threads that wait for each other at an instruction.
    fn threads_waiting_at(&self, instruction: &Instruction) -> Option<Wait> {
        match instruction.op {
            Op::Barrier(barrier) => barrier.waits.then_some(Wait::Block),
            Op::Collective(..) => Some(Wait::Warp),
            Op::Call(_) => {
                let facts = self.known.get(&self.callee_with_body(instruction)?)?;
                if facts.block_waits.contains(&true) {
                    return Some(Wait::Block);
                }
                facts.warp_waits.contains(&true).then_some(Wait::Warp)
            }
            _ => None,
        }
    }

    /// True for a strong load in a loop, and for a call of a function with one.
    fn waits_for_others(&self, at: InstructionId, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Access(access) => {
                access.kind == AccessKind::Load && access.is_strong() && Paths::new(self.body).lead(at, at)
            }
            Op::Call(_) => {
                let callee = self
                    .callee_with_body(instruction)
                    .and_then(|callee| self.known.get(&callee));
                callee.is_some_and(|facts| facts.waits_for_others)
            }
            _ => false,
        }
    }

    /// Adds the plain accesses and the atomics, if there are atomics.
    fn add_accesses_if_atomics(&mut self, facts: &mut Facts) {
        let mut atomics: Vec<(InstructionId, Value)> = Vec::new();
        for (at, instruction) in self.body.iter() {
            match (instruction.op, self.body.uses(instruction)) {
                (Op::Access(access), &[address, ..]) if may_be_global_atomic(access) => {
                    atomics.push((at, address));
                }
                (Op::Call(_), _) => {
                    let callee = self
                        .callee_with_body(instruction)
                        .and_then(|callee| self.known.get(&callee));
                    let places = callee.map_or(0, |facts| facts.atomic_arguments);
                    let arguments = self
                        .call_made_by(instruction)
                        .map(|call| self.body.arguments(call));
                    let passed = arguments.into_iter().flatten();
                    let of_atomics =
                        passed.filter(|argument| argument.param < 32 && places >> argument.param & 1 == 1);
                    atomics.extend(of_atomics.map(|argument| (at, argument.value)));
                }
                _ => {}
            }
        }
        let mut operands: Vec<(Option<u64>, Loads)> = Vec::new();
        for (at, address) in atomics {
            if !self.analyses.may_be_reached(at) {
                continue;
            }
            let Some(origin) = self.origins.description_at_read(address, at) else {
                continue;
            };
            if origin.numbers.is_empty() && !origin.has_property(property::DATA) {
                facts.atomic_arguments |= origin.arguments;
            }
            let place = match self.body.instruction(at).op {
                Op::Call(_) => self
                    .shapes
                    .description_at_read(address, at)
                    .map(|number| place_number_at_offset(number, 0)),
                _ => self.place_number(at),
            };
            operands.push((place, self.loads_of_operands(at)));
            facts
                .touches
                .extend(self.touch_of_access((at, TouchKind::Atomic), origin, place));
        }
        if facts.touches.is_empty() {
            return;
        }
        for (at, instruction) in self.body.iter() {
            let (Op::Access(access), &[address, ..]) = (instruction.op, self.body.uses(instruction)) else {
                continue;
            };
            let kind = match access.kind {
                AccessKind::Load => TouchKind::Load,
                AccessKind::Store => TouchKind::Store,
                _ => continue,
            };
            let may_be = matches!(access.space, Space::Global | Space::Generic);
            if access.is_strong() || !may_be || !self.analyses.may_be_reached(at) {
                continue;
            }
            let Some(origin) = self.origins.description_at_read(address, at) else {
                continue;
            };
            let place = self.place_number(at);
            let is_operand =
                |(of, loads): &(Option<u64>, Loads)| place.is_some() && *of == place && loads.contains(&at);
            if kind == TouchKind::Store || !operands.iter().any(is_operand) {
                facts
                    .touches
                    .extend(self.touch_of_access((at, kind), origin, place));
            }
        }
    }

    fn touch_of_access(
        &mut self,
        (at, kind): (InstructionId, TouchKind),
        address: Origin,
        place: Option<u64>,
    ) -> Option<Touch> {
        is_in_known_object(&address).then(|| Touch {
            at,
            kind,
            address,
            place,
            field: self.field_of_access(at),
            execution: self.guards.execution_of(at, &mut self.origins),
        })
    }

    /// The field that an access goes to: its address is the sum of a base, multiples of numbers, and a constant.
    fn field_of_access(&mut self, at: InstructionId) -> Option<Field> {
        let instruction = self.body.instruction(at);
        let (Op::Access(access), &[address, Value::Integer(past), ..]) =
            (instruction.op, self.body.uses(instruction))
        else {
            return None;
        };
        let sum = self.sums.description_at_read(address, at)?;
        let terms = self.sums.domain().terms_of(sum.parts);
        let factors = terms.iter().map(|(_, factor)| factor.unsigned_abs());
        let bases = factors.clone().filter(|factor| *factor == 1).count();
        let stride = factors.filter(|factor| *factor != 1).fold(0, gcd);
        (bases == 1).then_some(Field {
            stride,
            offset: (sum.by.uniform_number()? as i64).wrapping_add(past),
            bytes: access.bytes(),
        })
    }

    /// The loads that the operands of an atomic, or what a call passes, are computed from.
    fn loads_of_operands(&mut self, at: InstructionId) -> Loads {
        let instruction = self.body.instruction(at);
        let values: Vec<Value> = match self.call_made_by(instruction) {
            Some(call) => self
                .body
                .arguments(call)
                .iter()
                .map(|argument| argument.value)
                .collect(),
            None => self.body.uses(instruction).iter().skip(2).copied().collect(),
        };
        let origins = values
            .into_iter()
            .filter_map(|value| self.origins.description_at_read(value, at));
        origins.flat_map(|origin| origin.loads).collect()
    }

    /// The number of the address of an access, with its offset.
    fn place_number(&mut self, at: InstructionId) -> Option<u64> {
        let &[address, Value::Integer(past), ..] = self.body.uses(self.body.instruction(at)) else {
            return None;
        };
        Some(place_number_at_offset(
            self.shapes.description_at_read(address, at)?,
            past,
        ))
    }
}

/// The number of the place at an offset from an address with this number.
const fn place_number_at_offset(address: u64, past: i64) -> u64 {
    address.wrapping_add((past as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// True for an atomic that may be on global memory.
const fn may_be_global_atomic(access: Access) -> bool {
    access.kind.is_atomic() && matches!(access.space, Space::Global | Space::Generic)
}

/// The address and the value of a plain store that may be to global memory.
fn plain_store(body: &Body<'_>, instruction: &Instruction) -> Option<(Value, Option<Value>)> {
    let Op::Access(access) = instruction.op else {
        return None;
    };
    let is_plain = access.kind == AccessKind::Store
        && access.semantics == Semantics::Weak
        && matches!(access.space, Space::Global | Space::Generic);
    let address = *body.uses(instruction).first().filter(|_| is_plain)?;
    Some((address, body.stored(instruction)))
}

/// True for an address in an object, or in one that the caller knows.
const fn is_in_known_object(address: &Origin) -> bool {
    match address.target {
        Target::Several | Target::ParameterBlock(_) => false,
        Target::Variable(_) | Target::Parameter(..) => true,
        Target::None => address.arguments != 0,
    }
}

fn is_same_object(one: &Origin, other: &Origin) -> bool {
    one.target == other.target && (one.target != Target::None || one.arguments & other.arguments != 0)
}
