//! Search for launches and values of parameters with which a thread leaves an array in shared memory, or accesses it not aligned: a client of
//! the search for exchanges.
//!
//! ```text
//! accesses at computed places in arrays of known size     analysis::out_of_bounds
//!   ─► runs of one block           the first access of each instruction that is not inside, or not aligned as the array is
//!   ─► ConditionalLeaving
//! ```
//!
//! The place, or a condition on the way there, has to depend on a parameter, and neither on anything that is loaded: with other contents of memory any index
//! would leave the array.

use super::exchange_runs::{Among, LeavingAccess, Made, Wanted};
use super::inputs::InputSearch;
use super::kernel_search::Searched;
use super::pair_search::search;
use super::witness::{Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{Launch, Object, PairKind, Site};
use crate::assumptions::Assumptions;
use crate::ir::{FunctionId, SymbolId};

/// An access that leaves an array, with its witness.
pub struct ConditionalLeaving {
    /// The kernel.
    pub kernel: FunctionId,
    /// The array.
    pub array: SymbolId,
    /// The accesses: the first is that of the witness, the others have witnesses of their own.
    pub accesses: Vec<LeavingAccess>,
    /// The launch and the values with which a thread makes the first one.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// True if a parameter decides where a thread accesses memory, or whether, and no loaded value decides it.
fn depends_on_parameters(module: &ModuleAnalyses<'_>, site: &Site) -> bool {
    let mut search = InputSearch::new(module);
    search.add_address(site);
    search.add(site);
    search.add_controls(site);
    let inputs = search.finish();
    !inputs.params.is_empty() && inputs.loads.is_empty()
}

/// Searches for witnesses of accesses of a module that leave arrays in shared memory.
#[must_use]
pub fn search_leaving(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalLeaving> {
    let mut possible: Vec<(FunctionId, Launch, Vec<Wanted>)> = Vec::new();
    for access in module.computed_accesses() {
        let site = Site::of_kernel(access.function, access.instruction);
        if !depends_on_parameters(module, &site) {
            continue;
        }
        let wanted = Wanted {
            object: Object::Variable(access.symbol),
            write: site.clone(),
            other: site,
            kind: PairKind::TwoWrites,
            above: 0,
            contended: None,
        };
        match possible.last_mut() {
            Some((kernel, _, all)) if *kernel == access.function => all.push(wanted),
            _ => possible.push((access.function, access.launch, vec![wanted])),
        }
    }
    let found = search(
        module,
        assumptions,
        Among::Array,
        possible,
        |(kernel, _), shown| {
            let accesses = shown.pairs.into_iter().filter_map(Made::into_leaving);
            (kernel, shown.object, accesses.collect(), shown.witness, shown.run)
        },
    );
    let findings = found.findings.into_iter();
    let findings = findings.filter_map(|(kernel, object, accesses, witness, run)| match object {
        Object::Variable(array) => Some(ConditionalLeaving {
            kernel,
            array,
            accesses,
            witness,
            run,
        }),
        Object::Parameter(_) | Object::Part(_) => None,
    });
    Searched {
        findings: findings.collect(),
        cut: found.cut,
    }
}
