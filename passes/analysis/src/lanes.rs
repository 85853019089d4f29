//! Control flow of the 32 lanes of each warp, and defects of the collectives and barriers that they execute.
//! `LANES.md`, beside the crate's manifest, explains the analysis.
//!
//! * `roots` chooses the entry points, `slice` the variables that matter.
//! * `graph`, `order` and `loops` lay out a kernel's code with callees inlined; `objects` finds the objects that functions
//!   access in the frames of their callers.
//! * `layout` holds all data that does not depend on the launch, and `scenario` the values that are fixed for a solution;
//!   `queries` answers questions about it.
//! * `explore` enumerates the launches of a kernel and the rounds of its loops, `kernel` analyses them, and `launch` describes
//!   their warps.
//! * `value`, with the `meaning` of values, and `transfer` are the lattice and its transfer functions. `rounding` treats two
//!   operations as one, and `readonly_memory` finds memory that the kernel does not write.
//! * `flow` solves for lanes and values; `live` finds the cells that are read again.
//! * `placement` computes the lanes that arrive, `shuffle` the lane that is read, `membership` the knowledge that code may have
//!   of other lanes.
//! * `verdict` judges, and `screen` leaves out kernels without a definite finding.
//! * `barrier_counts` follows all warps of a block through barriers that count threads.
//! * `lane_counted_loops` finds loops that each lane leaves after its own number of rounds, `peeled` copies their first rounds
//!   (`peeled_rounds`), `undecided` finds the places where that may give more precise results, and `rounds` analyses the
//!   copies.

mod barrier_counts;
mod collective_call;
mod exchange;
mod explore;
mod finding;
mod flow;
mod graph;
mod kernel;
mod lane_counted_loops;
mod launch;
mod layout;
mod live;
mod loops;
mod meaning;
mod membership;
mod numbers;
mod objects;
mod order;
mod peeled;
mod peeled_rounds;
mod placement;
mod queries;
mod readonly_memory;
mod roots;
mod rounding;
mod rounds;
mod rows;
mod scenario;
mod screen;
mod shuffle;
mod slice;
mod thresholds;
mod transfer;
mod undecided;
mod uniform;
mod uses;
mod value;
mod verdict;
mod visible;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certainty::Certainty;
use crate::limits::{MAX_LIBRARY_BLOCKS, MAX_POTENTIAL_CONTEXTS, MAX_REPEATED_BLOCKS, ROOTS_AT_ONCE};
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, InstructionId};
use roots::{Budget, Calls};
use slice::Slices;
use value::ALL;

pub(crate) use barrier_counts::find_count_problems;
pub use barrier_counts::{CountIssue, CountProblem};
pub use exchange::{
    BlockPair, Exchange, MissingBarrier, Object, Pair, PairKind, PossibleExchange, PossiblePair,
};
pub(crate) use exchange::{
    find_exchanges, find_missing_barriers, find_possible_exchanges, find_possible_missing_barriers,
};
pub use finding::{LaneFinding, Root, Threshold};
pub(crate) use graph::is_full_barrier;
pub(crate) use launch::launches_of;
pub use launch::{Launch, ShapeSource};
pub use layout::LaneLayout;
pub use queries::{LaneLayouts, LaneSolution};
pub(crate) use rows::LaneRows;
pub use scenario::{FixedLoad, FixedParam, Scenario};
pub use value::Lanes;
pub use verdict::{Issue, Problem, Site};

/// The roots of a module that have collectives or barriers, in the order of the input: all of them, or those that may
/// have a finding of the certainty asked for.
///
/// Kernels that the screen leaves out have no definite finding, even if they are solved for their potential findings.
#[must_use]
pub(crate) fn analyse(module: &Shared<'_>, least: Certainty) -> Vec<Root> {
    let calls = Calls::new(module);
    let roots = calls.roots(module);
    if roots.is_empty() {
        return Vec::new();
    }
    let suspects = screen::suspect_roots(module, &roots, &calls);
    analyse_suspects(module, &calls, roots, suspects, least)
}

/// The same, given the roots that may have a definite finding.
fn analyse_suspects(
    module: &Shared<'_>,
    calls: &Calls,
    mut roots: Vec<FunctionId>,
    suspects: Vec<FunctionId>,
    least: Certainty,
) -> Vec<Root> {
    if least == Certainty::Definite {
        roots.clone_from(&suspects);
    }
    let suspects: FxHashSet<FunctionId> = suspects.into_iter().collect();
    let visited = calls.visited_functions(module, &roots);
    let slices = Slices::new(module, &visited);
    let budget = Budget {
        novel: MAX_LIBRARY_BLOCKS,
        repeated: MAX_REPEATED_BLOCKS,
    };
    // Roots that may have a definite finding come first: they are analysed in every case.
    let is_suspect = |root: &FunctionId| suspects.contains(root);
    let (mut in_order, others): (Vec<FunctionId>, Vec<FunctionId>) =
        roots.iter().copied().partition(is_suspect);
    in_order.extend(others);
    let affordable = calls.affordable_roots(module, &in_order, &visited, budget);
    let one = |&function: &FunctionId| {
        let nothing = || {
            Root::unknown(
                function,
                Launch::new(&module.module.function(function).launch, None, true),
            )
        };
        if !affordable[function.index()] || module.deadline.is_over() {
            return nothing();
        }
        let root = rounds::analyse(module, &slices, function, least);
        // A solution that the deadline interrupted proves nothing.
        if module.deadline.is_over() {
            nothing()
        } else {
            root
        }
    };
    let mut shown = ShownFindings::default();
    let mut all = Vec::with_capacity(roots.len());
    for some in roots.chunks(ROOTS_AT_ONCE) {
        let mut looked_at: Vec<Root> = if some.len() < 4 {
            some.iter().map(one).collect()
        } else {
            some.par_iter().map(one).collect()
        };
        for root in &mut looked_at {
            if !suspects.contains(&root.function) {
                for found in root.findings.iter_mut().filter(|found| found.above.is_none()) {
                    found.issue.certainty = Certainty::Potential;
                }
            }
            shown.keep_findings(root, all.len());
            all.push(std::mem::replace(root, Root::unknown(root.function, root.launch)));
        }
    }
    shown.add_left_out_counts(&mut all);
    all
}

/// Potential findings of one kind at one instruction, over all roots and calls that lead there.
#[derive(Default)]
struct ShownFindings {
    /// By instruction and problem: the number of potential findings, and the last finding that is kept (its root, and its
    /// index among the findings of that root).
    of: FxHashMap<(FunctionId, InstructionId, Problem), (usize, [usize; 2])>,
}

impl ShownFindings {
    /// Keeps as many findings of the root with this index as the limit allows.
    fn keep_findings(&mut self, root: &mut Root, number: usize) {
        let mut kept = 0;
        root.findings.retain(|found| {
            let issue = &found.issue;
            let is_kept = issue.certainty == Certainty::Definite || {
                let key = (issue.site.function, issue.site.instruction, issue.problem);
                let (count, last) = self.of.entry(key).or_default();
                *count += 1;
                if *count <= MAX_POTENTIAL_CONTEXTS {
                    *last = [number, kept];
                }
                *count <= MAX_POTENTIAL_CONTEXTS
            };
            kept += usize::from(is_kept);
            is_kept
        });
    }

    /// Adds to the last finding that is kept of each kind the number of those left out.
    fn add_left_out_counts(self, roots: &mut [Root]) {
        for (count, [root, place]) in self.of.into_values() {
            if let Some(found) = roots[root].findings.get_mut(place) {
                found.more = count.saturating_sub(MAX_POTENTIAL_CONTEXTS);
            }
        }
    }
}

/// All lanes, as numbers and ranges: "0, 16-31".
#[must_use]
pub fn ranges_of_lanes(set: Lanes) -> String {
    let mut text = String::new();
    let mut lane = 0;
    while lane < 32 {
        if set >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let length = (!(set >> lane)).trailing_zeros().min(32 - lane);
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&lane.to_string());
        if length > 1 {
            text.push_str(if length == 2 { ", " } else { "-" });
            text.push_str(&(lane + length - 1).to_string());
        }
        lane += length;
    }
    text
}

/// True if a set holds all lanes of a warp.
#[must_use]
pub const fn is_full_warp(set: Lanes) -> bool {
    set == ALL
}

#[cfg(test)]
mod object_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod tests;
