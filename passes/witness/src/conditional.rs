//! Conditional findings: failures for a named launch and named values that a run confirms.
//!
//! ```text
//! potential findings about lanes        analysis::lanes
//!   ─► inputs      parameters and loaded values that the branch or the mask depends on, and the constants they are compared with
//!   ─► search      scenarios: blocks, and values of the inputs (kernel_search); under each, what is definite
//!   ─► replay      a machine runs the scenario under several schedules: what does not go wrong there is left out
//!   ─► Conditional
//! ```
//!
//! The kernel itself rules scenarios out: where its guards end the threads, or the bounds of its launch exclude the block, nothing is
//! definite. Values that no scenario fixes (loads through pointers, floating-point numbers, results of atomics) are arbitrary: a
//! finding that depends on it is not definite under the scenario, and so stays potential.

mod blocks;
mod contention;
mod copy_failure;
mod copy_failures;
mod exchange_runs;
mod exchanges;
mod finding;
mod general;
mod grid_inputs;
mod hang;
mod hangs;
mod host_launches;
mod inputs;
mod kernel_search;
mod leaving;
mod pair_search;
mod replay;
mod scenarios;
mod search;
mod shorten;
mod up_to;
mod witness;

pub use contention::{ConditionalContention, search_beside_atomics, search_lost_updates};
pub use copy_failures::{ConditionalCopyFailure, search_copy_failures};
pub use exchange_runs::{ContendedPair, LeavingAccess};
pub use exchanges::{
    ConditionalBarrier, ConditionalExchange, search_barriers, search_exchanges, searchable_pairs,
};
pub use finding::{Conditional, General, SearchScope};
pub use hang::FoundHang;
pub use hangs::{ConditionalHang, search_hangs};
pub use kernel_search::Searched;
pub use leaving::{ConditionalLeaving, search_leaving};
pub use ptxcheck_machine::{AsyncFailure, AsyncWrong, Stuck};
pub use search::{find, find_assuming, merge_conditional_findings, search_module};
pub use witness::{Awaited, Doing, Memory, RunOrder, Witness, WitnessLoad, WitnessRun, WitnessStep, Wrong};
