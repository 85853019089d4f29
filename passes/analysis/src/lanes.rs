//! Where the lanes of a warp go, and what is wrong with the collectives that they meet at.
//!
//! `roots` says where to begin, `slice` what has to be known, `graph`, `order` and `loops` lay out the code of a kernel with its
//! calls in place, `kernel` looks at the launches of one, `launch` knows the warps, `live` what is read again, `value` and `transfer` what registers hold in each
//! lane, `flow` solves for lanes and values, `placement` says who is where, `shuffle` who is read, `asked` what code may
//! know of that itself, and `verdict` judges.

mod asked;
mod flow;
mod found;
mod graph;
mod kernel;
mod launch;
mod live;
mod loops;
mod order;
mod placement;
mod roots;
mod screen;
mod shuffle;
mod slice;
mod transfer;
mod value;
mod verdict;
mod visible;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certainty::Certainty;
use crate::limits::{MAX_LIBRARY_BLOCKS, MAX_POTENTIAL_CONTEXTS, MAX_REPEATED_BLOCKS, ROOTS_AT_ONCE};
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, InstructionId};
use roots::{Calls, Room};
use slice::Slices;
use value::ALL;

pub use found::{Found, Root};
pub(crate) use launch::launch_of;
pub use launch::{Launch, Source};
pub use value::Lanes;
pub use verdict::{Issue, Problem, Spot};

/// The roots of a module that have collectives or barriers, in the order of the input: all of them, or those that may
/// have a finding of the certainty asked for.
///
/// What the screen leaves out has no definite finding, whether or not it is looked at for the sake of potential ones.
#[must_use]
pub(crate) fn analyse(module: &Shared<'_>, least: Certainty) -> Vec<Root> {
    let calls = Calls::new(module);
    let mut roots = calls.roots(module);
    if roots.is_empty() {
        return Vec::new();
    }
    let suspects = screen::suspects(module, &roots, &calls.holds);
    if least == Certainty::Definite {
        roots.clone_from(&suspects);
    }
    let suspects: FxHashSet<FunctionId> = suspects.into_iter().collect();
    let visited = calls.visited(module, &roots);
    let slices = Slices::new(module, &visited);
    let room = Room {
        new: MAX_LIBRARY_BLOCKS,
        known: MAX_REPEATED_BLOCKS,
    };
    let affordable = calls.affordable(module, &roots, &visited, room);
    let one = |&function: &FunctionId| {
        let nothing = || {
            Root::nothing(
                function,
                Launch::new(&module.module.function(function).launch, None, true),
            )
        };
        if !affordable[function.index()] || module.deadline.is_over() {
            return nothing();
        }
        let root = kernel::look(module, &slices, function, least);
        // What was cut short proves nothing.
        if module.deadline.is_over() {
            nothing()
        } else {
            root
        }
    };
    let mut room = Shown::default();
    let mut all = Vec::with_capacity(roots.len());
    for some in roots.chunks(ROOTS_AT_ONCE) {
        let mut looked_at: Vec<Root> = if some.len() < 4 {
            some.iter().map(one).collect()
        } else {
            some.par_iter().map(one).collect()
        };
        for root in &mut looked_at {
            if !suspects.contains(&root.function) {
                for found in &mut root.findings {
                    found.issue.certainty = Certainty::Potential;
                }
            }
            room.keep(root, all.len());
            all.push(std::mem::replace(root, Root::nothing(root.function, root.launch)));
        }
    }
    room.count(&mut all);
    all
}

/// Potential findings of one kind at one instruction, over all roots and calls that lead there.
#[derive(Default)]
struct Shown {
    /// How many there are, and the last that is kept: its root, and its place among that one's.
    of: FxHashMap<(FunctionId, InstructionId, Problem), (usize, [usize; 2])>,
}

impl Shown {
    /// Keeps of the findings of the root with this number what there is room for.
    fn keep(&mut self, root: &mut Root, number: usize) {
        let mut kept = 0;
        root.findings.retain(|found| {
            let issue = &found.issue;
            let is_kept = issue.certainty == Certainty::Definite || {
                let key = (issue.spot.function, issue.spot.instruction, issue.problem);
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

    /// Has the last one that is kept of each kind say how many more there are.
    fn count(self, roots: &mut [Root]) {
        for (count, [root, place]) in self.of.into_values() {
            if let Some(found) = roots[root].findings.get_mut(place) {
                found.more = count.saturating_sub(MAX_POTENTIAL_CONTEXTS);
            }
        }
    }
}

/// All lanes, as numbers and ranges: "0, 16-31".
#[must_use]
pub fn ranges(set: Lanes) -> String {
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

/// Whether a set is a whole warp.
#[must_use]
pub const fn is_full(set: Lanes) -> bool {
    set == ALL
}

#[cfg(test)]
mod tests;
