//! The own CTA among those of its cluster: the size of the cluster, and addresses that `mapa` computes in it.

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    BinaryOp, Body, Callee, Condition, FunctionId, InstructionId, Logic, Op, Register, Special, Value,
};

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
    /// The one of this rank, for any rank of the own one, as far as is known.
    Rank(i64),
    /// Another one, whatever the own rank is.
    Another,
    /// Unknown.
    Unknown,
}

/// An instruction of a function, and the calls that lead to it, innermost first.
#[derive(Clone, Copy)]
pub(super) struct CalledInstruction<'c> {
    pub(super) function: FunctionId,
    pub(super) at: InstructionId,
    pub(super) callers: &'c [CallSite],
}

impl<'c> CalledInstruction<'c> {
    /// The instruction, the call that leads there, and so on.
    pub(super) fn with_calls(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |spot| spot.calling_instruction())
    }

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

/// The CTA of a rank, for the address that `mapa` computes with it at `map`, and that an instruction uses. It is the own CTA if the rank is
/// the own rank, or if the path to one of the two implies it.
pub(super) fn cta_of_mapped_rank(
    module: &Shared<'_>,
    rank: Value,
    map: CalledInstruction<'_>,
    used: CalledInstruction<'_>,
) -> MappedTo {
    let Some(origin) = origin_of(module, map, rank) else {
        return match is_beside_own_rank(module, map, rank) {
            true => MappedTo::Another,
            false => MappedTo::Unknown,
        };
    };
    if origin == Origin::Rank {
        return MappedTo::Own;
    }
    let mut spots = used.with_calls().chain(map.with_calls());
    match (
        spots.find_map(|spot| is_reached_only_by_cta(module, spot, origin)),
        origin,
    ) {
        (Some(true), _) => MappedTo::Own,
        (Some(false), _) => MappedTo::Another,
        (None, Origin::Number(rank)) => MappedTo::Rank(rank),
        (None, _) => MappedTo::Unknown,
    }
}

/// True if a rank is computed from the own one so that it differs from it: `rank ^ 1`, and `(rank + 1) % n` for any `n` but 1.
fn is_beside_own_rank(module: &Shared<'_>, spot: CalledInstruction<'_>, rank: Value) -> bool {
    let operation = |value: Value| {
        let body = module.module.function(spot.function).body.as_ref()?;
        let analyses = module.function(spot.function);
        let value = analyses.trace_value(value, Form::moved_number);
        let instruction = body.instruction(analyses.only_writer(value)?);
        match (instruction.op, body.uses(instruction)) {
            (Op::Binary(op, _), &[a, Value::Integer(b)]) => Some((op, a, b)),
            (
                Op::Binary(op @ (BinaryOp::Add | BinaryOp::And | BinaryOp::Xor), _),
                &[Value::Integer(b), a],
            ) => Some((op, a, b)),
            _ => None,
        }
    };
    let is_own = |value: Value| origin_of(module, spot, value) == Some(Origin::Rank);
    let Some((op, a, by)) = operation(rank) else {
        return false;
    };
    let count = match op {
        BinaryOp::Xor => return by != 0 && is_own(a),
        BinaryOp::And if by > 0 && by & (by + 1) == 0 => by + 1,
        BinaryOp::RemUnsigned | BinaryOp::RemSigned if by > 0 => by,
        _ => return false,
    };
    operation(a).is_some_and(|(op, a, by)| {
        matches!(op, BinaryOp::Add | BinaryOp::Sub) && by % count != 0 && is_own(a)
    })
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

/// The function of a call, and the only value that it returns.
pub(super) fn returned_value(
    module: &Shared<'_>,
    body: &Body<'_>,
    call: InstructionId,
) -> Option<(FunctionId, Value)> {
    let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
        return None;
    };
    let callee = module.module.called(symbol)?;
    let inner = module.module.function(callee).body.as_ref()?;
    let mut returned = inner.iter().filter_map(|(_, one)| inner.returned(one));
    match (returned.next(), returned.next()) {
        (Some((0, value)), None) => Some((callee, value)),
        _ => None,
    }
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
                let (function, value) = returned_value(module, body, call)?;
                spot = CalledInstruction { function, ..spot };
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
    let analyses = module.function(spot.function);
    let dominators = analyses.dominators();
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
        // Where several edges lead to a side, the others may come from either one.
        let leads = |side| analyses.cfg().predecessors(side) == [block] && dominators.dominates(side, of);
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
