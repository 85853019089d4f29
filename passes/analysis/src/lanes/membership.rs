//! Knowledge that code has of the lanes around it: it has asked which lanes are there (`activemask`) or which agree (a
//! ballot, a match).
//!
//! A group of Cooperative Groups that is a part of a warp has two paths to a shuffle: one with the full mask, for whole
//! warps, and one for the lanes that are present. The size of the group decides between them, and may have passed through
//! memory that is not followed. A part of a warp never takes the first path, so nothing about that path is definite.

use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::Flow;
use super::graph::NodeKind;
use super::value::Lanes;
use crate::limits::MAX_MEMBERSHIP_STEPS;
use ptxcheck_ir::{Body, Callee, Collective, FunctionId, InstructionId, MemberMask, Op, Vote};

/// `activemask`, `ballot` and `match` in one solution.
pub(super) struct MembershipQueries<'f, 'a> {
    flow: &'f Flow<'a>,
    /// By node: the lanes that the answer can contain, if lanes query membership there.
    answers: Vec<Option<Lanes>>,
    /// By node: the nearest dominator with a query, if there is one.
    above: Vec<Option<u32>>,
    steps_left: usize,
}

impl<'f, 'a> MembershipQueries<'f, 'a> {
    /// Queries of a solution. `answers`: the lanes that a ballot or a match may answer with, by node.
    #[must_use]
    pub(super) fn new(flow: &'f Flow<'a>, answers: &FxHashMap<u32, Lanes>) -> Self {
        let nodes = flow.graph.nodes.len();
        let mut asked = Self {
            flow,
            answers: vec![None; nodes],
            above: vec![None; nodes],
            steps_left: MAX_MEMBERSHIP_STEPS,
        };
        let mut callees = FxHashMap::default();
        // Dominators come first.
        for &node in &flow.order.nodes {
            let index = node as usize;
            if node != 0 {
                let dominator = flow.order.immediate_dominator(node);
                asked.above[index] = match asked.answers[dominator as usize] {
                    Some(_) => Some(dominator),
                    None => asked.above[dominator as usize],
                };
            }
            let is_answer_read = |_: &Lanes| is_answer_read(flow, node, flow.graph.instruction_of_node(node));
            let answer = answers.get(&node).copied().filter(is_answer_read);
            asked.answers[index] =
                answer.or_else(|| queries_membership(flow, node, &mut callees).then(|| flow.may[index]));
        }
        asked
    }

    /// True if lanes that reach `node` with a mask that names `named` have queried membership on their path, some of those
    /// lanes cannot be in the answer, and these need not have reached this node since: the answer may be what keeps them
    /// away.
    pub(super) fn may_know_members(&mut self, node: u32, named: Lanes) -> bool {
        let mut current = node;
        while let Some(above) = self.above[current as usize] {
            // `activemask` answers with lanes that are there; ballots and matches also with lanes elsewhere.
            let is_short = self.answers[above as usize].is_some_and(|answer| named & !answer != 0);
            if is_short && self.may_end_without_reaching(above, node) || self.spend_step().is_none() {
                return true;
            }
            current = above;
        }
        false
    }

    /// `None` if the budget is spent.
    fn spend_step(&mut self) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        Some(())
    }

    /// True if some lanes that are at `from` may end without reaching `node`.
    fn may_end_without_reaching(&mut self, from: u32, node: u32) -> bool {
        let flow = self.flow;
        let graph = flow.graph;
        let mut is_seen = FxHashSet::default();
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            if self.spend_step().is_none() {
                return true;
            }
            for edge in graph.nodes[at as usize].edges.clone() {
                let target = graph.targets[edge as usize];
                if flow.edges[edge as usize] == 0 || target == node {
                    continue;
                }
                if target == graph.exit {
                    return true;
                }
                if is_seen.insert(target) {
                    work.push(target);
                }
            }
        }
        false
    }
}

/// True if lanes query membership at a node, or in code that is not followed from it.
fn queries_membership(flow: &Flow<'_>, node: u32, callees: &mut FxHashMap<FunctionId, bool>) -> bool {
    let body = flow.graph.context_of_node(node).body;
    let current = &flow.graph.nodes[node as usize];
    if current.kind == NodeKind::Quiet {
        let callee = body.callee(body.instruction(flow.graph.instruction_of_node(node)));
        return match callee {
            Some(Callee::Direct(symbol)) => {
                let callee = flow.module.module.called(symbol);
                callee.is_some_and(|callee| {
                    *callees
                        .entry(callee)
                        .or_insert_with(|| function_queries_membership(flow, callee))
                })
            }
            _ => false,
        };
    }
    let mut instructions = current
        .instructions
        .clone()
        .map(|number| InstructionId::new(number as usize));
    instructions.any(|id| is_membership_query(body, id) && is_answer_read(flow, node, id))
}

/// True if some instruction reads the answer of a query.
fn is_answer_read(flow: &Flow<'_>, node: u32, id: InstructionId) -> bool {
    let context = flow.graph.context_of_node(node);
    let analyses = flow.module.function(context.function);
    let mut answers = context.body.defined(context.body.instruction(id));
    answers.any(|register| analyses.is_read(register))
}

/// True if a function, or one of its callees, queries membership.
fn function_queries_membership(flow: &Flow<'_>, function: FunctionId) -> bool {
    let mut is_listed = FxHashSet::from_iter([function]);
    let mut work = vec![function];
    while let Some(function) = work.pop() {
        if let Some(body) = &flow.module.module.function(function).body
            && (0..body.instructions.len())
                .any(|number| is_membership_query(body, InstructionId::new(number)))
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

/// `activemask`, and the ballot without a mask that was used before it existed.
fn is_membership_query(body: &Body<'_>, id: InstructionId) -> bool {
    matches!(
        body.instruction(id).op,
        Op::ActiveMask | Op::Collective(Collective::Vote(Vote::Ballot), MemberMask::Absent)
    )
}
