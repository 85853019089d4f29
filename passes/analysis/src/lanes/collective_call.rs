//! Collectives with their operands.

use super::flow::Flow;
use super::value::{Lanes, Vector};
use ptxcheck_ir::{Collective, MemberMask, Op};

/// A collective with its operands.
pub(super) struct Call {
    pub(super) node: u32,
    pub(super) kind: Collective,
    pub(super) mask: Vector,
    pub(super) source: Option<Vector>,
    pub(super) control: Option<Vector>,
    /// The lanes that it answers with at most, if it does.
    pub(super) answer: Option<Lanes>,
}

impl Call {
    pub(super) fn mask_of_lane(&self, lane: usize) -> Option<Lanes> {
        self.mask.value_in_lane(lane).map(|mask| mask as Lanes)
    }
}

pub(super) fn call_at_node(flow: &mut Flow<'_>, node: u32) -> Option<Call> {
    let body = flow.graph.context_of_node(node).body;
    let instruction = body.instruction(flow.graph.instruction_of_node(node));
    let Op::Collective(kind, MemberMask::Operand) = instruction.op else {
        return None;
    };
    let uses = body.uses(instruction);
    let mut vector = |place: usize| {
        let value = uses.get(place).copied()?;
        let id = flow.operand_of_node(node, value);
        Some(flow.pool.get(id).clone())
    };
    let is_shuffle = matches!(kind, Collective::Shuffle(_));
    Some(Call {
        node,
        kind,
        mask: vector(0)?,
        source: vector(2).filter(|_| is_shuffle),
        control: vector(3).filter(|_| is_shuffle),
        answer: flow.possible_answer_lanes(node),
    })
}
