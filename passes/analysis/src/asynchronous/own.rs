//! The own CTA among those of its cluster: how many there are, and addresses that `mapa` makes in it.

use ptxcheck_ir::{
    Body, Callee, Condition, FunctionId, InstructionId, Logic, Op, Register, Special, UnaryOp, Value,
};

use crate::limits::MAX_DECIDED_STEPS;
use crate::shared::Shared;

/// The CTAs of a cluster, where a kernel declares them.
#[must_use]
pub fn cluster_size(module: &Shared<'_>, kernel: FunctionId) -> Option<u32> {
    let cluster = module.module.function(kernel).launch.cluster?;
    cluster
        .iter()
        .try_fold(1_u32, |count, &side| count.checked_mul(side.max(1)))
}

/// The CTA that `mapa` maps an address to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedTo {
    /// The own one.
    Own,
    /// The first one of the cluster, whichever the own one is.
    First,
    /// Another one, or it is not known.
    Other,
}

/// The CTA of a rank, where an instruction uses the address that `mapa` makes with it: the own one if the rank is, or the way to the
/// instruction says so.
#[must_use]
pub fn mapped_to(module: &Shared<'_>, function: FunctionId, rank: Value, user: InstructionId) -> MappedTo {
    let Some(body) = &module.module.function(function).body else {
        return MappedTo::Other;
    };
    match origin(module, function, rank) {
        Some(Origin::Rank) => MappedTo::Own,
        Some(Origin::Number(rank)) => match is_only_in(module, (function, body), rank, user) {
            Some(true) => MappedTo::Own,
            None if rank == 0 => MappedTo::First,
            _ => MappedTo::Other,
        },
        None => MappedTo::Other,
    }
}

/// The origin of a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The register with the own one: no other is passed as it is.
    Rank,
    Number(i64),
}

/// The origin of a value that is only moved.
fn origin(module: &Shared<'_>, function: FunctionId, value: Value) -> Option<Origin> {
    let (mut function, mut value) = (function, value);
    for _ in 0..MAX_DECIDED_STEPS {
        let register = match value {
            Value::Special(Special::Uniform | Special::Ctaid(_) | Special::Other) => {
                return Some(Origin::Rank);
            }
            Value::Integer(number) => return Some(Origin::Number(number)),
            Value::Register(register) => register,
            _ => return None,
        };
        let body = module.module.function(function).body.as_ref()?;
        let analyses = module.function(function);
        let definition = analyses.definitions().only(body, register)?;
        let instruction = body.instruction(definition);
        value = match (instruction.op, body.uses(instruction)) {
            (Op::Copy | Op::Convert { .. }, &[from]) => from,
            (Op::Access(_), _) => {
                let store = body.instruction(analyses.store_for(definition)?);
                *body.uses(store).get(2)?
            }
            (Op::CallResult(call), _) => {
                let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
                    return None;
                };
                function = module.module.called(symbol)?;
                let inner = module.module.function(function).body.as_ref()?;
                let mut returned = inner.iter().filter_map(|(_, one)| inner.returned(one));
                let (Some((0, value)), None) = (returned.next(), returned.next()) else {
                    return None;
                };
                value
            }
            _ => return None,
        };
    }
    None
}

/// True if each way to an instruction passes a branch that only the CTA of this rank takes so, false if one that only others take.
fn is_only_in(
    module: &Shared<'_>,
    (function, body): (FunctionId, &Body<'_>),
    rank: i64,
    at: InstructionId,
) -> Option<bool> {
    let dominators = module.function(function).dominators();
    let of = body.block_of(at);
    let compares = |register| compared(module, (function, body), register, rank);
    let own = body.instruction(at).guard;
    if let Some(guard) = own
        && let Some(is_equal) = compares(guard.register)
    {
        return Some(is_equal != guard.negated);
    }
    let mut above = std::iter::successors(Some(of), |&block| dominators.immediate(block));
    above.find_map(|block| {
        let guard = body.terminator(block)?.guard?;
        let &[taken, other] = body.successors(block) else {
            return None;
        };
        let is_equal = compares(guard.register)? != guard.negated;
        let leads =
            |side| side != block && dominators.dominates(side, of) && !dominators.dominates(side, block);
        match (leads(taken), leads(other)) {
            (true, false) => Some(is_equal),
            (false, true) => Some(!is_equal),
            _ => None,
        }
    })
}

/// True if a predicate says that the own rank is this one, false if it says that it is not; `None` if it says something else.
fn compared(
    module: &Shared<'_>,
    (function, body): (FunctionId, &Body<'_>),
    predicate: Register,
    rank: i64,
) -> Option<bool> {
    let definitions = module.function(function).definitions();
    let mut is_complement = false;
    let mut register = predicate;
    for _ in 0..MAX_DECIDED_STEPS {
        let instruction = body.instruction(definitions.only(body, register)?);
        match (instruction.op, body.uses(instruction)) {
            (Op::Copy, &[Value::Register(from)]) => register = from,
            (Op::Unary(UnaryOp::Not, _), &[Value::Register(from)]) => {
                is_complement = !is_complement;
                register = from;
            }
            (
                Op::Compare(condition @ (Condition::Equal | Condition::NotEqual), _, Logic::None),
                &[own, Value::Integer(with)],
            ) => {
                let is_rank = origin(module, function, own) == Some(Origin::Rank) && with == rank;
                return is_rank.then_some((condition == Condition::Equal) != is_complement);
            }
            _ => return None,
        }
    }
    None
}
