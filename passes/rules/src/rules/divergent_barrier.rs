//! ## What it does
//!
//! Finds barriers of the whole block (`__syncthreads` and its kin, `bar.sync` and `barrier.sync` without a thread
//! count) that some threads of the block skip while others wait. A barrier under `threadIdx.x < 100` is right in blocks of up to 100 threads:
//! the finding begins with "in blocks of more than 100 threads", and the test itself shows that blocks are larger.
//!
//! ## Why is this bad?
//!
//! `__syncthreads` is allowed in conditional code only if the condition is the same for all threads of the block, else
//! the kernel hangs or has unintended effects (CUDA C++ Programming Guide, Synchronization Functions; guideline
//! G-1.14).
//!
//! ## Example
//!
//! ```cuda
//! if (threadIdx.x % 2 == 0) { buffer[threadIdx.x] = value; __syncthreads(); }
//! out[threadIdx.x] = buffer[threadIdx.x ^ 1];
//! ```
//!
//! ## Use instead
//!
//! The barrier outside of the branch:
//!
//! ```cuda
//! if (threadIdx.x % 2 == 0) buffer[threadIdx.x] = value;
//! __syncthreads();
//! out[threadIdx.x] = buffer[threadIdx.x ^ 1];
//! ```
//!
//! If only some warps are to meet, a named barrier with a count: `bar.sync 1, 64;`.
//!
//! ## Limits
//!
//! A definite finding needs a lane that provably skips the barrier while others of its warp wait, reaches no other
//! barrier, and does something visible after: threads that end at once are no longer waited for. (The CUDA guide forbids both;
//! NVIDIA's `compute-sanitizer --tool synccheck` reports both where it sees them happen; by the PTX ISA a barrier does not wait for
//! threads that have exited.) In a loop whose number of rounds depends on the lane index, each round is analysed. Conditions that may
//! differ between the lanes are a potential finding, and so are those on the index of the warp. A condition on data
//! that is the same within each warp but differs between warps is not seen. Barriers with a count are not judged: the
//! count says that some threads stay away, and PTX419 is about them.

use crate::analysis::lanes::{Problem, is_full_warp};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::finding::Certainty;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::sanitizer::Sanitizer;

use crate::support::lanes as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX411",
    name: "divergent-barrier",
    guidelines: &["G-1.14"],
    family: Family::Warp,
    summary: "threads of a block skip a barrier that others wait at",
    definite: Level::Error,
    certainties: Certainties::DEFINITE
        .or_conditional(WitnessSearch::Collectives)
        .or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    text::each(module, Problem::SkippedBarrier, |root, found| {
        let issue = &found.issue;
        let message = match (issue.certainty, issue.lanes) {
            (Certainty::Definite | Certainty::Conditional, lanes) => format!(
                "{} the barrier that the other lanes of the warp wait at",
                text::subject(lanes, "skips", "skip")
            ),
            (_, 0) => "some warps of the block may skip this barrier".to_owned(),
            (_, lanes) if is_full_warp(lanes) => {
                "some lanes may skip this barrier while others wait at it".to_owned()
            }
            (_, lanes) => format!("{} may skip the barrier that others wait at", text::named(lanes)),
        };
        let draft = text::begin_finding(module, report, found, message);
        text::assumption(draft, module, root.function, &root.launch);
        draft
            .data("operation", "__syncthreads")
            .seen_by(Sanitizer::Synccheck)
            .help("move the barrier to where all threads of the block reach it");
    });
}
