//! The own CTA among those of its cluster: the size of the cluster, and addresses that `mapa` computes in it.

use ptxcheck_ir::{Callee, Condition, FunctionId, InstructionId, Logic, Op, Register, Special, Value};

use crate::call_graph::CallSite;
use crate::limits::MAX_DECIDED_STEPS;
use crate::shared::Shared;

/// The CTAs of a cluster, where a kernel declares them.
pub(super) fn cluster_size(module: &Shared<'_>, kernel: FunctionId) -> Option<u32> {
    let cluster = module.module.function(kernel).launch.cluster?;
    cluster
        .iter()
        .try_fold(1_u32, |count, &side| count.checked_mul(side.max(1)))
}

/// The CTA that `mapa` maps an address to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappedTo {
    /// The own one.
    Own,
    /// The first one of the cluster, for any rank of the own one.
    First,
    /// Another one, or unknown.
    Other,
}

/// An instruction of a function, and the calls that lead to it, innermost first.
#[derive(Clone, Copy)]
struct CalledInstruction<'c> {
    function: FunctionId,
    at: InstructionId,
    callers: &'c [CallSite],
}

impl<'c> CalledInstruction<'c> {
    /// The call that leads there.
    fn calling_instruction(self) -> Option<Self> {
        let (call, callers) = self.callers.split_first()?;
        Some(Self {
            function: call.caller,
            at: call.instruction,
            callers,
        })
    }
}

/// The CTA of a rank, for the address that `mapa` computes with it and that an instruction uses; calls, innermost first,
/// lead to the instruction. It is the own CTA if the rank is the own rank, or if the path to the instruction implies it.
pub(super) fn cta_of_mapped_rank(
    module: &Shared<'_>,
    rank: Value,
    (function, at): (FunctionId, InstructionId),
    callers: &[CallSite],
) -> MappedTo {
    let spot = CalledInstruction {
        function,
        at,
        callers,
    };
    let Some(rank) = origin_of(module, spot, rank) else {
        return MappedTo::Other;
    };
    if rank == Origin::Rank {
        return MappedTo::Own;
    }
    let mut spots = std::iter::successors(Some(spot), |spot| spot.calling_instruction());
    match spots.find_map(|spot| is_reached_only_by_cta(module, spot, rank)) {
        Some(true) => MappedTo::Own,
        None if rank == Origin::Number(0) => MappedTo::First,
        _ => MappedTo::Other,
    }
}

/// The origin of a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The register with the own rank: no other register is passed unchanged.
    Rank,
    Number(i64),
    /// A parameter of the kernel.
    Param(u16, i32),
}

/// The origin of a value that is only moved.
fn origin_of(module: &Shared<'_>, spot: CalledInstruction<'_>, value: Value) -> Option<Origin> {
    let (mut spot, mut value) = (spot, value);
    for _ in 0..MAX_DECIDED_STEPS {
        let register = match value {
            Value::Special(Special::Uniform | Special::Ctaid(_) | Special::Other) => {
                return Some(Origin::Rank);
            }
            Value::Integer(number) => return Some(Origin::Number(number)),
            Value::Register(register) => register,
            _ => return None,
        };
        let body = module.module.function(spot.function).body.as_ref()?;
        let analyses = module.function(spot.function);
        let definition = analyses.definitions().only_writer(body, register)?;
        let instruction = body.instruction(definition);
        value = match (
            instruction.op,
            body.loaded_param(instruction),
            spot.calling_instruction(),
        ) {
            (_, Some((number, offset)), None) => return Some(Origin::Param(number, offset)),
            (_, Some((number, offset)), Some(outer)) => {
                spot = outer;
                let caller = module.module.function(outer.function).body.as_ref()?;
                caller.passed(outer.at, (number, u32::try_from(offset).ok()?))?
            }
            (Op::CallResult(call), ..) => {
                let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
                    return None;
                };
                spot = CalledInstruction {
                    function: module.module.called(symbol)?,
                    ..spot
                };
                let inner = module.module.function(spot.function).body.as_ref()?;
                let mut returned = inner.iter().filter_map(|(_, one)| inner.returned(one));
                let (Some((0, value)), None) = (returned.next(), returned.next()) else {
                    return None;
                };
                value
            }
            _ => analyses.form_of_result(definition).moved_number()?,
        };
    }
    None
}

/// True if each path to an instruction passes a branch edge that only the CTA of this rank takes, false if one that only
/// others take.
fn is_reached_only_by_cta(module: &Shared<'_>, spot: CalledInstruction<'_>, rank: Origin) -> Option<bool> {
    let body = module.module.function(spot.function).body.as_ref()?;
    let dominators = module.function(spot.function).dominators();
    let of = body.block_of(spot.at);
    if let Some(guard) = body.instruction(spot.at).guard
        && let Some(is_equal) = rank_implied_by(module, spot, guard.register, rank)
    {
        return Some(is_equal != guard.negated);
    }
    let mut above = std::iter::successors(Some(of), |&block| dominators.immediate_dominator(block));
    above.find_map(|block| {
        let guard = body.terminator(block)?.guard?;
        let &[taken, other] = body.successors(block) else {
            return None;
        };
        let is_equal = rank_implied_by(module, spot, guard.register, rank)? != guard.negated;
        let leads =
            |side| side != block && dominators.dominates(side, of) && !dominators.dominates(side, block);
        match (leads(taken), leads(other)) {
            (true, false) => Some(is_equal),
            (false, true) => Some(!is_equal),
            _ => None,
        }
    })
}

/// True if a predicate implies that the own rank is this one, false if it implies that it is not; `None` otherwise.
fn rank_implied_by(
    module: &Shared<'_>,
    spot: CalledInstruction<'_>,
    predicate: Register,
    rank: Origin,
) -> Option<bool> {
    let body = module.module.function(spot.function).body.as_ref()?;
    let analyses = module.function(spot.function);
    let (test, is_opposite) = analyses.source_of_predicate(Value::Register(predicate))?;
    let instruction = body.instruction(test);
    let (Op::Compare(condition @ (Condition::Equal | Condition::NotEqual), _, Logic::None), &[a, b]) =
        (instruction.op, body.uses(instruction))
    else {
        return None;
    };
    let sides = (origin_of(module, spot, a)?, origin_of(module, spot, b)?);
    let is_rank = sides == (Origin::Rank, rank) || sides == (rank, Origin::Rank);
    is_rank.then_some((condition == Condition::Equal) != is_opposite)
}
