//! Code in which a thread may wait for what another thread writes.

use rustc_hash::FxHashSet;

use crate::lanes::flow::Flow;
use ptxcheck_ir::{AccessKind, Body, Callee, FunctionId, Instruction, InstructionId, Op};

/// True if a loop has a load through which other threads may end the loop.
pub(super) fn may_end_by_others(flow: &Flow<'_>, of: u32) -> bool {
    let (graph, order) = (flow.graph, flow.order);
    let inside = order.nodes.iter().filter(|&&node| order.is_in_loop(node, of));
    inside.copied().any(|node| {
        let body = graph.context_of_node(node).body;
        let range = graph.nodes[node as usize].instructions.clone();
        let mut instructions = range.map(|number| body.instruction(InstructionId::new(number as usize)));
        instructions.any(|instruction| may_wait_for_others(body, instruction))
    })
}

/// True if threads may wait for others in a call that is not followed: the callee has a body in this module, and returns.
pub(super) fn may_wait_in_call(flow: &Flow<'_>, node: u32) -> bool {
    let graph = flow.graph;
    let module = flow.module.module;
    let body = graph.context_of_node(node).body;
    let called = |body: &Body<'_>, instruction: &Instruction| match body.callee(instruction) {
        Some(Callee::Direct(symbol)) => module.called(symbol),
        _ => None,
    };
    if graph.successors(node).all(|next| next == graph.exit) {
        return false;
    }
    let mut open: Vec<FunctionId> = called(body, body.instruction(graph.instruction_of_node(node)))
        .into_iter()
        .collect();
    let mut known: FxHashSet<FunctionId> = open.iter().copied().collect();
    while let Some(function) = open.pop() {
        // Functions that the driver provides without code are known to return without waiting.
        let Some(body) = &module.function(function).body else {
            continue;
        };
        for (_, instruction) in body.iter() {
            let callee = called(body, instruction);
            let is_open_call = matches!(instruction.op, Op::Call(_)) && callee.is_none();
            if is_open_call || may_wait_for_others(body, instruction) {
                return true;
            }
            open.extend(callee.filter(|&callee| known.insert(callee)));
        }
    }
    false
}

/// True if an instruction may read a value that other threads have written meanwhile, so that a loop may wait for it.
fn may_wait_for_others(body: &Body<'_>, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Access(access) => match access.kind {
            AccessKind::Load => access.is_volatile(),
            AccessKind::Store | AccessKind::Reduction => false,
            _ => true,
        },
        Op::Opaque => body.results(instruction).is_empty(),
        _ => false,
    }
}
