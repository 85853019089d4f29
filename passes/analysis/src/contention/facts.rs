//! What is known of the accesses of a function before its caller is: stores that depend on what they overwrite, and the calls.

use super::execution::{Execution, Guards};
use super::origin::{Origin, ResultOf, Target, by_parameter};
use super::shape::{Shapes, shapes_of};
use super::summary::origins_of;
use crate::shared::Shared;
use crate::value::Evaluator;
use ptxcheck_ir::{
    AccessKind, Body, Callee, FunctionId, Instruction, InstructionId, Op, Semantics, Space, Value,
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

/// The facts about a function.
pub(super) struct Facts {
    /// The stores, in order.
    pub stores: Vec<Store>,
    /// The calls, in order.
    pub calls: Vec<Entry>,
}

/// The facts about a function with a body.
pub(super) fn facts_of(
    module: &Shared<'_>,
    function: FunctionId,
    body: &Body<'_>,
    result_of: ResultOf<'_>,
) -> Facts {
    let analyses = module.function(function);
    let mut origins = origins_of(module, function, body, result_of);
    let mut shapes = shapes_of(module, function, body);
    let mut guards = Guards::new(body, analyses);
    let mut facts = Facts {
        stores: Vec::new(),
        calls: Vec::new(),
    };
    for (at, instruction) in body.iter() {
        if let Some((address, value)) = plain_store(body, instruction)
            && analyses.may_be_reached(at)
            && let Some(address_origin) = origins.description_at_read(address, at)
            && may_be_global(&address_origin)
        {
            let execution = guards.execution_of(at, &mut origins);
            let value = value.and_then(|value| origins.description_at_read(value, at));
            let place = place_number(body, &mut shapes, at);
            let mut reads_place =
                |load: &InstructionId| place.is_some() && place_number(body, &mut shapes, *load) == place;
            let of_value = value.iter().flat_map(|value| value.loads.iter().copied());
            let computed_from = of_value.into_iter().find(&mut reads_place);
            let mut conditions = Vec::new();
            for &register in &execution.predicates {
                let condition = origins.description_of(Value::Register(register));
                conditions.extend(condition.into_iter().flat_map(|condition| condition.loads));
            }
            let read = computed_from.or_else(|| conditions.into_iter().find(reads_place));
            let chased = address_origin.loads.iter().copied().find(|&load| {
                let address = body.uses(body.instruction(load)).first();
                let origin = address.and_then(|&address| origins.description_at_read(address, load));
                origin.is_some_and(|origin| is_same_object(&origin, &address_origin))
            });
            facts.stores.push(Store {
                at,
                address: address_origin,
                value,
                read,
                is_computed: computed_from.is_some(),
                chased,
                execution,
            });
        }
        let Op::Call(number) = instruction.op else {
            continue;
        };
        let call = body.call(number);
        let Callee::Direct(symbol) = call.callee else {
            continue;
        };
        let callee = module.module.called(symbol);
        if let Some(callee) = callee.filter(|&callee| module.module.function(callee).body.is_some())
            && analyses.may_be_reached(at)
        {
            let pieces = body.arguments(call).iter();
            let arguments = by_parameter(
                pieces.map(|argument| (argument.param, origins.description_at_read(argument.value, at))),
            );
            facts.calls.push(Entry {
                at,
                callee,
                arguments,
                execution: guards.execution_of(at, &mut origins),
            });
        }
    }
    facts
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
const fn may_be_global(address: &Origin) -> bool {
    match address.target {
        Target::Several | Target::ParameterBlock(_) => false,
        Target::Variable(_) | Target::Parameter(..) => true,
        Target::None => address.arguments != 0,
    }
}

fn is_same_object(one: &Origin, other: &Origin) -> bool {
    one.target == other.target && (one.target != Target::None || one.arguments & other.arguments != 0)
}

/// The number of the address of an access, with its offset.
fn place_number(
    body: &Body<'_>,
    shapes: &mut Evaluator<'_, '_, Shapes<'_, '_>>,
    at: InstructionId,
) -> Option<(u64, i64)> {
    let &[address, Value::Integer(past), ..] = body.uses(body.instruction(at)) else {
        return None;
    };
    Some((shapes.description_at_read(address, at)?, past))
}
