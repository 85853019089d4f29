//! Code in which a thread may wait for what another thread writes.

use rustc_hash::FxHashSet;

use super::orderings::{Among, Orderings, may_read_writes_of_others, may_wait_for_others};
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use ptxcheck_ir::{AsyncKinds, Body, Callee, FunctionId, Instruction, InstructionId, Op};

/// The instructions that order the accesses of threads in a solution. A fence does not where no thread reads, in this code or in a
/// callee, what could show it that another thread has passed a fence, too.
pub(super) fn orderings_among(flow: &Flow<'_>, among: Among) -> Orderings {
    let graph = flow.graph;
    let bodies = || graph.contexts.iter().map(|context| context.body);
    let may_wait_elsewhere = |node: u32| match graph.nodes[node as usize].kind {
        NodeKind::Unknown => true,
        NodeKind::Quiet => may_wait_in_call(flow, node),
        _ => false,
    };
    let ignores_fences = bodies().any(|body| body.has_async(AsyncKinds::THREAD_FENCE))
        && !bodies().any(may_read_writes_of_others)
        && !flow.order.nodes.iter().copied().any(may_wait_elsewhere);
    Orderings {
        among,
        ignores_fences,
    }
}

/// True if a loop has a load through which other threads may end the loop.
pub(super) fn may_be_ended_by_other_threads(flow: &Flow<'_>, of: u32) -> bool {
    let (graph, order) = (flow.graph, flow.order);
    let inside = order.nodes.iter().filter(|&&node| order.is_in_loop(node, of));
    inside.copied().any(|node| {
        let body = graph.context_of_node(node).body;
        let range = graph.nodes[node as usize].instructions.clone();
        let mut instructions = range.map(|number| InstructionId::new(number as usize));
        instructions.any(|at| may_wait_for_others(body, at, body.instruction(at)))
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
        for (at, instruction) in body.iter() {
            let callee = called(body, instruction);
            let is_open_call = matches!(instruction.op, Op::Call(_)) && callee.is_none();
            if is_open_call || may_wait_for_others(body, at, instruction) {
                return true;
            }
            open.extend(callee.filter(|&callee| known.insert(callee)));
        }
    }
    false
}
