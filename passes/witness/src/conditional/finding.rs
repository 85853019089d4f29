//! Conditional finding: a failure, and the launch and values with which it occurs.

use super::witness::{Witness, WitnessRun};
use crate::analysis::lanes::{LaneFinding, Launch};
use crate::ir::FunctionId;

/// A finding that is definite for its witness.
pub struct Conditional {
    /// The kernel.
    pub function: FunctionId,
    /// Its launch under the witness.
    pub launch: Launch,
    /// The defect, with the lanes of the warp of the witness.
    pub found: LaneFinding,
    /// The launch and the values with which it goes wrong.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
    /// Other values of its one parameter with which the same goes wrong.
    pub general: Option<General>,
}

/// Values of a parameter; each of them leads to the same failure at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct General {
    /// The least one.
    pub least: u64,
    /// The greatest one.
    pub most: u64,
    /// No multiple of this is one of them; 1 if all others between them are.
    pub no_multiple_of: u64,
    /// Values from 0 to this were run.
    pub tried: u64,
}

/// The collectives for which witnesses are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SearchScope {
    /// None.
    None,
    /// Those whose mask is computed, where there is no potential finding: for settings that ask for potential findings.
    Unknown,
    /// All that may be wrong.
    All,
}
