//! A graph in which the first rounds of one loop are apart.
//!
//! ```text
//! loop h, …          becomes     h₀, … → h₁, … → … → hₙ₋₁, … → h, …
//! ```
//!
//! Edges that enter the loop lead to round 0, those that go back to its header lead from round k to round k + 1, and from the last
//! round to the loop as it was. So what holds for the graph holds for the code, whatever lanes do; and where lanes know by
//! their numbers when they leave, they are each in the round that they are in. Each round has contexts of its own, with the
//! same cells: all of these are in the states then.

use rustc_hash::FxHashMap;

use super::copies::Rounds;
use super::graph::{Context, Graph, Node, NodeKind};
use ptxcheck_common::groups::Groups;

impl<'a> Graph<'a> {
    /// The same graph with `rounds` rounds of the natural loop with the nodes `inside`, in order, and this header apart. All cells are
    /// in the states.
    #[must_use]
    pub(super) fn peeled(mut self, inside: &[u32], header: u32, rounds: u32) -> Self {
        let (size, copies) = (inside.len() as u32, self.nodes.len() as u32);
        let place = |node: u32| inside.binary_search(&node).ok().map(|place| place as u32);
        let copy = |round: u32, place: u32| copies + round * size + place;
        let first = copy(0, place(header).unwrap_or(0));
        // From where an edge of the loop, or one that enters it, leads to.
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
        for round in 0..rounds {
            let contexts = self.copied_contexts(inside);
            for &node in inside {
                let mut copied = self.nodes[node as usize].clone();
                copied.context = contexts.get(&copied.context).copied().unwrap_or(copied.context);
                if let NodeKind::Enter(callee) = copied.kind {
                    copied.kind = NodeKind::Enter(contexts.get(&callee).copied().unwrap_or(callee));
                }
                nodes.push(copied);
                origin.push(node);
                let targets = self.successors(node);
                all.push(targets.map(|target| redirected(Some(round), target)).collect());
            }
        }
        self.nodes = nodes;
        self.connect(&all);
        self.rounds = Some(Rounds {
            origin,
            first,
            copies,
            inside: inside.to_vec(),
        });
        self
    }

    /// Copies of the contexts of these nodes, by their number.
    fn copied_contexts(&mut self, inside: &[u32]) -> FxHashMap<u32, u32> {
        let mut copies: FxHashMap<u32, u32> = FxHashMap::default();
        let mut numbers: Vec<u32> = inside
            .iter()
            .map(|&node| self.nodes[node as usize].context)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        // Callers come before those that they call.
        for number in numbers {
            let context = &self.contexts[number as usize];
            let caller = context.caller;
            let caller = caller.map(|(caller, call)| (copies.get(&caller).copied().unwrap_or(caller), call));
            let copy = Context { caller, ..*context };
            let own = self.contexts.len() as u32;
            self.contexts.push(copy);
            copies.insert(number, own);
            if let Some(caller) = caller
                && self.contexts[number as usize].caller != Some(caller)
            {
                self.entered.insert(caller, own);
            }
        }
        copies
    }

    /// Sets the edges: by node, those that it leads to.
    fn connect(&mut self, all: &[Vec<u32>]) {
        (self.targets, self.sources) = (Vec::new(), Vec::new());
        for (number, targets) in all.iter().enumerate() {
            let start = self.targets.len() as u32;
            self.targets.extend(targets);
            self.sources.extend(targets.iter().map(|_| number as u32));
            self.nodes[number].edges = start..self.targets.len() as u32;
        }
        let edges = self.targets.iter().map(|&target| target as usize).zip(0..);
        self.incoming = Groups::new(self.nodes.len(), edges);
        self.ends = self.find_ends();
    }
}
