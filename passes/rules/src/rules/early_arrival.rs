//! ## What it does
//!
//! Finds one lane that arrives at an mbarrier for its warp, where nothing makes the stores of the other lanes come before, and another role
//! reads them.
//!
//! ## Why is this bad?
//!
//! An arrival releases what its own thread has done (PTX ISA, mbarrier.arrive). What the other lanes of the warp have stored is released
//! with it only if the lane that arrives has met them: at `__syncwarp()`. Lanes of a warp may run apart, and `elect.sync` picks a lane and
//! orders no memory: the role that waits at the mbarrier may read what is not there yet.
//!
//! ## Example
//!
//! ```cuda
//! tile[threadIdx.x] = value;
//! if (threadIdx.x % 32 == 0) arrive(&full);   // 31 lanes may still be on their way
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! tile[threadIdx.x] = value;
//! __syncwarp();
//! if (threadIdx.x % 32 == 0) arrive(&full);
//! ```
//!
//! A defect of this kind: [TIRx-kernels#202](https://github.com/mlc-ai/TIRx-kernels/pull/202).
//!
//! ## Limits
//!
//! A finding is definite: the mbarrier is at a constant place and counts as many arrivals as may come, none of them in a loop, a wait for its
//! first phase is on each path to the read, and all other waits on the way are known and do not come after the store; the
//! bytes of the store, by a lane next to the one that arrives, and those of the read certainly overlap. Where the lane is picked by
//! `elect.sync`, which lanes reach together, the finding is potential.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::sanitizer::Sanitizer;
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX714",
    name: "early-arrival",
    family: Family::Async,
    summary: "a lane arrives at an mbarrier for its warp before the other lanes have certainly stored",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().early_arrivals() {
        let detail = problem.detail;
        let message = format!(
            "this arrival is one for the warp, and may come before what its other lanes store, as thread {} does",
            detail.storing
        );
        let draft = text::report_problem(problem, message, "that store, which another role reads", report);
        if let Some(arriving) = detail.arriving {
            draft.note(format!("thread {arriving} of the block arrives"));
        }
        draft
            .seen_by(Sanitizer::Racecheck)
            .in_general(
                "a lane arrives at an mbarrier for its warp before the other lanes have certainly stored",
            )
            .help("put `__syncwarp()` between the stores and the arrival");
    }
}
