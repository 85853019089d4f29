//! A graph with the first rounds of one loop peeled.
//!
//! ```text
//! loop h, …          becomes     h₀, … → h₁, … → … → hₙ₋₁, … → h, …
//! ```
//!
//! Edges that enter the loop lead to round 0. Edges back to its header lead from round k to round k + 1, and from the last
//! round to the original loop. So the facts that hold for the graph hold for the code, on every path; and where thread
//! numbers decide when lanes leave, each lane is in its own round. Each round has its own contexts, with the same cells: all
//! of these cells are then in the states.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::graph::{Context, Graph, Node, NodeKind};
use super::peeled_rounds::Rounds;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::InstructionId;

impl<'a> Graph<'a> {
    /// The same graph with `rounds` peeled rounds of the natural loop with this header and the nodes `inside`, in order. All
    /// cells are in the states.
    #[must_use]
    pub(super) fn with_peeled_rounds(&self, inside: &[u32], header: u32, rounds: u32) -> Self {
        let (size, copies) = (inside.len() as u32, self.nodes.len() as u32);
        let place = |node: u32| inside.binary_search(&node).ok().map(|place| place as u32);
        let copy = |round: u32, place: u32| copies + round * size + place;
        let first = copy(0, place(header).unwrap_or(0));
        // The target of an edge of the loop, or of an edge that enters it, from this source.
        let redirected = |round: Option<u32>, target: u32| match (round, place(target)) {
            (_, None) => target,
            (None, Some(at)) => copy(0, at),
            (Some(round), Some(at)) if target == header => match round + 1 < rounds {
                true => copy(round + 1, at),
                false => header,
            },
            (Some(round), Some(at)) => copy(round, at),
        };
        let mut nodes: Vec<Node> = self.nodes.clone();
        let mut contexts = self.contexts.clone();
        let mut entered = self.entered.clone();
        let mut origin: Vec<u32> = (0..copies).collect();
        let mut all: Vec<Vec<u32>> = Vec::with_capacity(nodes.len() + (rounds * size) as usize);
        for node in 0..copies {
            let is_inside = place(node).is_some();
            let lead = |target: u32| {
                if is_inside {
                    target
                } else {
                    redirected(None, target)
                }
            };
            all.push(self.successors(node).map(lead).collect());
        }
        let mut numbers: Vec<u32> = inside
            .iter()
            .map(|&node| self.nodes[node as usize].context)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        for round in 0..rounds {
            let copied = add_context_copies(&mut contexts, &mut entered, &numbers);
            for &node in inside {
                let mut own = self.nodes[node as usize].clone();
                own.context = copied.get(&own.context).copied().unwrap_or(own.context);
                if let NodeKind::Enter(callee) = own.kind {
                    own.kind = NodeKind::Enter(copied.get(&callee).copied().unwrap_or(callee));
                }
                nodes.push(own);
                origin.push(node);
                let targets = self.successors(node);
                all.push(targets.map(|target| redirected(Some(round), target)).collect());
            }
        }
        let mut peeled = Self {
            contexts,
            entered,
            nodes,
            targets: Vec::new(),
            sources: Vec::new(),
            incoming: Groups::default(),
            ends: Vec::new(),
            objects: Arc::clone(&self.objects),
            rounds: Some(Rounds {
                origin,
                first,
                copies,
                inside: inside.to_vec(),
            }),
            ..*self
        };
        peeled.set_edges(&all);
        peeled
    }

    /// Sets the edges. `all`: by node, the targets of its edges.
    fn set_edges(&mut self, all: &[Vec<u32>]) {
        (self.targets, self.sources) = (Vec::new(), Vec::new());
        for (number, targets) in all.iter().enumerate() {
            let start = self.targets.len() as u32;
            self.targets.extend(targets);
            self.sources.extend(targets.iter().map(|_| number as u32));
            self.nodes[number].edges = start..self.targets.len() as u32;
        }
        let edges = self.targets.iter().map(|&target| target as usize).zip(0..);
        self.incoming = Groups::new(self.nodes.len(), edges);
        self.ends = self.find_end_nodes();
    }
}

/// Adds copies of contexts, given by index and in order; returns the copies by the index of their originals.
fn add_context_copies(
    contexts: &mut Vec<Context<'_>>,
    entered: &mut FxHashMap<(u32, InstructionId), u32>,
    numbers: &[u32],
) -> FxHashMap<u32, u32> {
    let mut copies: FxHashMap<u32, u32> = FxHashMap::default();
    // Callers come before their callees.
    for &number in numbers {
        let context = contexts[number as usize];
        let copied = |(caller, call)| (copies.get(&caller).copied().unwrap_or(caller), call);
        let caller = context.caller.map(copied);
        let own = contexts.len() as u32;
        contexts.push(Context { caller, ..context });
        copies.insert(number, own);
        if let Some(caller) = caller
            && context.caller != Some(caller)
        {
            entered.insert(caller, own);
        }
    }
    copies
}
