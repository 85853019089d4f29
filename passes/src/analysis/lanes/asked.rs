//! What code may know of the lanes around it: it has asked which are there (`activemask`) or which agree (a ballot, a match).
//!
//! A group of Cooperative Groups that is a part of a warp has two ways to shuffle: one with the full mask, for whole warps,
//! and one for the lanes that there are. Which of them is taken depends on the size of the group, which may have come
//! through memory that is not followed. A part of a warp never takes the first; nothing is definite about it.

use super::flow::Flow;
use super::graph::Kind;
use super::value::Lanes;
use crate::ir::{Body, Callee, Collective, FunctionId, InstructionId, Op, Vote};

/// Whether lanes that come to `node` with a mask that names `named` have asked on their way, where some of those cannot
/// be among the answer, and need not come here since: the answer may be what keeps them away. `answers`: the lanes that a
/// ballot or a match may answer with.
#[must_use]
pub fn may_know(flow: &Flow<'_>, node: u32, named: Lanes, answers: &dyn Fn(u32) -> Option<Lanes>) -> bool {
    let mut above = node;
    while above != 0 {
        above = flow.order.dominator(above);
        let here = flow.may[above as usize];
        let answered = || answers(above).filter(|_| is_heard(flow, above, flow.graph.instruction(above)));
        let answer = || answered().or_else(|| asks(flow, above).then_some(here));
        // Who asks who is there hears of nobody else; ballots and matches hear of lanes elsewhere too.
        if answer().is_some_and(|answer| named & !answer != 0) && may_avoid(flow, above, node) {
            return true;
        }
    }
    false
}

/// Whether lanes ask at a node who is there, or in code that is not followed from it.
fn asks(flow: &Flow<'_>, node: u32) -> bool {
    let body = flow.graph.context(node).body;
    let spot = &flow.graph.nodes[node as usize];
    if spot.kind == Kind::Quiet {
        let callee = body.callee(body.instruction(flow.graph.instruction(node)));
        return match callee {
            Some(Callee::Direct(symbol)) => {
                let callee = flow.module.module.called(symbol);
                callee.is_some_and(|callee| function_asks(flow, callee))
            }
            _ => false,
        };
    }
    let mut instructions = spot
        .instructions
        .clone()
        .map(|number| InstructionId::new(number as usize));
    instructions.any(|id| is_question(body, id) && is_heard(flow, node, id))
}

/// Whether anything reads what an instruction answers.
fn is_heard(flow: &Flow<'_>, node: u32, id: InstructionId) -> bool {
    let context = flow.graph.context(node);
    let analyses = flow.module.function(context.function);
    let mut answers = context.body.defined(context.body.instruction(id));
    answers.any(|register| analyses.is_read(register))
}

/// Whether a function asks who is there, or one that it calls does.
fn function_asks(flow: &Flow<'_>, function: FunctionId) -> bool {
    let mut is_listed = rustc_hash::FxHashSet::from_iter([function]);
    let mut work = vec![function];
    while let Some(function) = work.pop() {
        if let Some(body) = &flow.module.module.function(function).body
            && (0..body.instructions.len()).any(|number| is_question(body, InstructionId::new(number)))
        {
            return true;
        }
        let callees = flow.module.call_graph().calls_of(function).iter();
        work.extend(
            callees
                .map(|site| site.callee)
                .filter(|callee| is_listed.insert(*callee)),
        );
    }
    false
}

/// `activemask`, and the ballot without a mask that stood for it before.
fn is_question(body: &Body<'_>, id: InstructionId) -> bool {
    matches!(
        body.instruction(id).op,
        Op::ActiveMask | Op::Collective(Collective::Vote(Vote::Ballot), false)
    )
}

/// Whether some lanes that are at `from` may end without coming to `node`.
fn may_avoid(flow: &Flow<'_>, from: u32, node: u32) -> bool {
    let graph = flow.graph;
    let mut is_seen = vec![false; graph.nodes.len()];
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        for edge in graph.nodes[at as usize].edges.clone() {
            let target = graph.targets[edge as usize];
            if flow.edges[edge as usize] == 0 || target == node {
                continue;
            }
            if target == graph.exit {
                return true;
            }
            if !std::mem::replace(&mut is_seen[target as usize], true) {
                work.push(target);
            }
        }
    }
    false
}
