//! Search for launches and values with which threads exchange values through shared memory with nothing in between that orders them: lanes of
//! a warp, or threads of different warps.
//!
//! ```text
//! possible exchanges, possible missing barriers        analysis::lanes, in shared memory
//!   ─► inputs                   what decides whether threads make the accesses, and parameters that their places are computed from
//!   ─► search                   scenarios, as for other findings about lanes
//!   ─► run of the whole kernel  ptxcheck_machine::Exchanges: the pairs that no meeting of lanes, or no barrier of the block, orders
//!   ─► run again                for threads of different warps: a read counts if something depends on its value
//!   ─► ConditionalExchange, ConditionalBarrier
//! ```
//!
//! Pairs at places that are loaded from memory get no witness: with values that no caller passes (all indices alike) they would meet. Nor do
//! pairs of different warps at places that are computed from parameters: strides that belong together keep the places of threads apart,
//! and others do not. A run in which a thread accesses shared memory beyond its variable shows nothing about warps: the kernel is not meant
//! for such blocks.

use std::collections::BTreeSet;

use super::exchange_runs::{Among, Made, Wanted};
use super::inputs::{InputSearch, Piece};
use super::kernel_search::Searched;
use super::pair_search::search;
use super::witness::{Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{Exchange, MissingBarrier, Object, PairKind, PossibleExchange, Site};
use crate::assumptions::Assumptions;
use crate::ir::{Space, WARP};

/// An exchange that is made with its witness.
pub struct ConditionalExchange {
    /// The kernel, the memory and the pairs. Of the first pair, the lanes are those of the witness; of the others, those of
    /// witnesses of their own.
    pub found: Exchange,
    /// The launch and the values with which lanes make the first pair.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// A barrier that is missing with its witness.
pub struct ConditionalBarrier {
    /// The kernel, the memory and the pairs. Of the first pair, the threads are those of the witness; of the others, those of
    /// witnesses of their own.
    pub found: MissingBarrier,
    /// The launch and the values with which threads make the first pair.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// Searches for witnesses of the possible exchanges of lanes in a module, as far as assumptions allow them.
#[must_use]
pub fn search_exchanges(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalExchange> {
    let possible = module.possible_exchanges().iter().map(|one| {
        let pairs = searchable_pairs(module, one)
            .into_iter()
            .map(|number| &one.pairs[number]);
        let wanted = pairs.map(|pair| Wanted {
            object: one.object,
            write: pair.write.clone(),
            other: pair.other.clone(),
            kind: pair.kind,
            above: 0,
            contended: None,
        });
        (one.function, one.launch, wanted.collect())
    });
    search(
        module,
        assumptions,
        Among::Lanes,
        possible.collect(),
        |(function, launch), shown| {
            let pairs = shown.pairs.into_iter().filter_map(Made::into_pair).collect();
            ConditionalExchange {
                found: Exchange {
                    function,
                    object: shown.object,
                    space: Space::Shared,
                    pairs,
                    launch,
                },
                witness: shown.witness,
                run: shown.run,
            }
        },
    )
}

/// Searches for witnesses of the barriers that a module may lack, as far as assumptions allow them.
#[must_use]
pub fn search_barriers(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> Searched<ConditionalBarrier> {
    let possible = module.possible_barriers().iter().map(|one| {
        let of_lanes = |pair: &&crate::analysis::lanes::BlockPair| {
            let mut known = module
                .exchanges()
                .iter()
                .filter(|known| known.function == one.function);
            known.any(|known| {
                let mut pairs = known.pairs.iter();
                pairs.any(|other| (&other.write, &other.other) == (&pair.write, &pair.other))
            })
        };
        let places = |pair: &&crate::analysis::lanes::BlockPair| {
            let params = place_params(module, [&pair.write, &pair.other]);
            params.is_some_and(|params| params.iter().all(BTreeSet::is_empty))
        };
        // What is written back is what others read, in any order.
        let changes = |pair: &&crate::analysis::lanes::BlockPair| {
            let analyses = module.function(pair.write.function);
            pair.kind == PairKind::TwoWrites || !analyses.may_write_back(pair.write.instruction)
        };
        let pairs = one.pairs.iter().filter(places).filter(changes);
        let pairs = pairs.filter(|pair| !of_lanes(pair));
        let wanted = pairs.map(|pair| Wanted {
            object: one.object,
            write: pair.write.clone(),
            other: pair.other.clone(),
            kind: pair.kind,
            above: pair.above.unwrap_or(WARP),
            contended: None,
        });
        (one.function, one.launch, wanted.collect())
    });
    search(
        module,
        assumptions,
        Among::Warps,
        possible.collect(),
        |(function, launch), shown| {
            let pairs = shown
                .pairs
                .into_iter()
                .filter_map(Made::into_block_pair)
                .collect();
            ConditionalBarrier {
                found: MissingBarrier {
                    function,
                    object: shown.object,
                    pairs,
                    launch,
                },
                witness: shown.witness,
                run: shown.run,
            }
        },
    )
}

/// The integer parameters that the places of a pair are computed from: that of the write, and that of the other access; `None` if one of
/// them is loaded from memory.
fn place_params(module: &ModuleAnalyses<'_>, [write, other]: [&Site; 2]) -> Option<[BTreeSet<Piece>; 2]> {
    let of = |site| {
        let mut search = InputSearch::new(module);
        search.add_address(site);
        let inputs = search.finish();
        inputs.loads.is_empty().then_some(inputs.params)
    };
    Some([of(write)?, of(other)?])
}

/// The pairs of a variable that a search may show, by their numbers. In shared memory that is sized at launch, arrays lie one after the
/// other, and parameters say where they begin: where a write counts from one, places that count from parameters may be in different
/// arrays. How many elements an array has the code does not say, so that no value of a parameter is one with which they overlap.
#[must_use]
pub fn searchable_pairs(module: &ModuleAnalyses<'_>, exchange: &PossibleExchange) -> Vec<usize> {
    let params: Vec<_> = exchange
        .pairs
        .iter()
        .map(|pair| place_params(module, [&pair.write, &pair.other]))
        .collect();
    let is_dynamic = match exchange.object {
        Object::Variable(symbol) => module.module.symbol(symbol).is_dynamic_shared(),
        Object::Parameter(_) | Object::Part(_) => false,
    };
    let has_arrays = is_dynamic && params.iter().flatten().any(|[write, _]| !write.is_empty());
    let is_searchable = |&number: &usize| {
        let places = params[number].as_ref();
        places.is_some_and(|places| !has_arrays || places.iter().all(BTreeSet::is_empty))
    };
    (0..params.len()).filter(is_searchable).collect()
}
