//! A module with its analyses, each computed on first use; the interface for rules.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::names;
use ptxcheck_ir::{FunctionId, Module};
use rayon::prelude::*;

use crate::asynchronous::{AsyncAnalysis, AsyncParts};
use crate::capacity::{self, IndexLimit, StatedValues};
use crate::certainty::Certainty;
use crate::collectives::{self, CollectiveSite};
use crate::constant_objects::{self, ConstantObject};
use crate::contention::{self, Contention};
use crate::lanes::{
    self, CountProblem, Exchange, LaneLayouts, Launch, MissingBarrier, PossibleExchange, Root, Scenario,
    launches_of,
};
use crate::misaligned::{self, Misaligned};
use crate::out_of_bounds::{self, ComputedAccess, OutOfBoundsAccess};
use crate::provenance::{self, Violation};
use crate::register_budget::{self, RegisterProblem};

use crate::shared::{AnalysisOptions, Shared};

/// A module under analysis, with the analyses that have been requested.
pub struct ModuleAnalyses<'a> {
    shared: Shared<'a>,
    collectives: OnceLock<Vec<CollectiveSite>>,
    violations: OnceLock<Vec<Violation>>,
    lanes: OnceLock<Vec<Root>>,
    /// The results about lanes have been requested.
    has_shown_lanes: AtomicBool,
    outside: OnceLock<Vec<OutOfBoundsAccess>>,
    misaligned: OnceLock<Vec<Misaligned>>,
    exchanges: OnceLock<Vec<Exchange>>,
    possible_exchanges: OnceLock<Vec<PossibleExchange>>,
    missing_barriers: OnceLock<Vec<MissingBarrier>>,
    possible_barriers: OnceLock<Vec<MissingBarrier>>,
    contention: OnceLock<Contention>,
    async_parts: AsyncParts,
    constant_objects: OnceLock<Vec<ConstantObject>>,
}

impl<'a> Deref for ModuleAnalyses<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}

impl<'a> ModuleAnalyses<'a> {
    /// A context in which nothing has been analysed yet, without a deadline.
    #[must_use]
    pub fn new(module: &'a Module<'a>, options: AnalysisOptions) -> Self {
        Self::with_deadline(module, options, Deadline::NEVER)
    }

    /// A context in which nothing has been analysed yet, with a time at which analyses give up.
    #[must_use]
    pub fn with_deadline(module: &'a Module<'a>, options: AnalysisOptions, deadline: &'a Deadline) -> Self {
        Self {
            shared: Shared::new(module, options, deadline),
            collectives: OnceLock::new(),
            violations: OnceLock::new(),
            lanes: OnceLock::new(),
            has_shown_lanes: AtomicBool::new(false),
            outside: OnceLock::new(),
            misaligned: OnceLock::new(),
            exchanges: OnceLock::new(),
            possible_exchanges: OnceLock::new(),
            missing_barriers: OnceLock::new(),
            possible_barriers: OnceLock::new(),
            contention: OnceLock::new(),
            async_parts: AsyncParts::default(),
            constant_objects: OnceLock::new(),
        }
    }

    /// The results of the lane analysis, by kernel: findings about the collectives and barriers that lanes meet at.
    pub fn lanes(&self) -> &[Root] {
        self.has_shown_lanes.store(true, Ordering::Relaxed);
        self.compute_lanes()
    }

    fn compute_lanes(&self) -> &[Root] {
        self.lanes
            .get_or_init(|| lanes::analyse(self, self.options.lanes))
    }

    /// Computes the analyses of a whole module in advance, that of lanes in parallel with the others: none of them uses
    /// another.
    pub fn compute_in_advance(&self) {
        let bodies: Vec<_> = self.module.bodies().collect();
        // The search for witnesses starts with functions with collectives, one after the other.
        bodies.into_par_iter().for_each(|(id, _, body)| {
            if !body.collectives.is_empty() {
                self.function(id).definitions();
            }
        });
        let others = || {
            self.violations();
            self.collectives();
            self.out_of_bounds();
            self.misaligned();
        };
        rayon::join(|| self.compute_lanes(), others);
    }

    /// The layouts of the kernels for the lane analysis, to be solved for many scenarios.
    #[must_use]
    pub fn lane_layouts(&self) -> LaneLayouts<'_> {
        LaneLayouts::new(self)
    }

    /// The findings about the lanes of a kernel under a scenario: definite means wrong in each run that has its values and
    /// reaches the place. `None` if the kernel has no collectives and barriers, or excludes the scenario, or is too large.
    /// For many scenarios of a kernel, [`Self::lane_layouts`] is better.
    #[must_use]
    pub fn findings_under(&self, kernel: FunctionId, scenario: &Scenario) -> Option<Root> {
        let layouts = self.lane_layouts();
        layouts
            .roots()
            .contains(&kernel)
            .then(|| layouts.layout_of(kernel))??
            .findings_under(scenario)
    }

    /// A sentence on the kernels that the lane analysis, if it was requested, has left out because they exceed a limit.
    #[must_use]
    pub fn limit_notice(&self) -> Option<String> {
        if !self.has_shown_lanes.load(Ordering::Relaxed) {
            return None;
        }
        let limited = |root: &&Root| root.is_limited;
        let mut roots = self.lanes.get()?.iter().filter(limited);
        let first = names::in_message(self.module.function_name(roots.next()?.function));
        let others = roots.count();
        Some(match others {
            0 => format!("it is too much work to follow all lanes of `{first}`"),
            _ => format!("it is too much work to follow all lanes of `{first}` and {others} more kernels"),
        })
    }

    /// The warp collectives, in the contexts that decide their operands.
    pub fn collectives(&self) -> &[CollectiveSite] {
        self.collectives.get_or_init(|| collectives::find_sites(self))
    }

    /// The accesses that threads make outside of objects, where the thread number decides the address; in the order of the
    /// input.
    pub fn out_of_bounds(&self) -> &[OutOfBoundsAccess] {
        self.outside
            .get_or_init(|| out_of_bounds::find_accesses_out_of_bounds(self))
    }

    /// The accesses of kernels to arrays of certain size in shared memory at computed addresses, in the order of the input. They are computed at each
    /// call.
    #[must_use]
    pub fn computed_accesses(&self) -> Vec<ComputedAccess> {
        out_of_bounds::find_computed_accesses(self)
    }

    /// The known or assumed launches of a kernel, as one.
    #[must_use]
    pub fn common_launch(&self, kernel: FunctionId) -> Launch {
        let bounds = &self.shared.module.function(kernel).launch;
        Launch::common_launch(bounds, &launches_of(self, kernel, false))
    }

    /// The accesses at addresses whose known low bits violate the alignment of the access; in the order of the input.
    pub fn misaligned(&self) -> &[Misaligned] {
        self.misaligned
            .get_or_init(|| misaligned::find_misaligned_accesses(self))
    }

    /// The indexes that wrap in 32 bits before they are widened for an address, in the order of the input. They are computed at each call.
    #[must_use]
    pub fn index_limits(&self, stated: StatedValues<'_>) -> Vec<IndexLimit> {
        capacity::find_index_limits(self, stated)
    }

    /// The problems of barriers that count threads, in the order of the input; potential ones if the options ask for potential findings about
    /// lanes. They are computed at each call.
    #[must_use]
    pub fn count_problems(&self) -> Vec<CountProblem> {
        lanes::find_count_problems(self)
    }

    /// The problems of `setmaxnreg`, in the order of the input. They are computed at each call.
    #[must_use]
    pub fn register_problems(&self) -> Vec<RegisterProblem> {
        register_budget::find_problems(self)
    }

    /// The exchanges of lanes through memory that nothing orders, in the order of the input.
    pub fn exchanges(&self) -> &[Exchange] {
        self.exchanges.get_or_init(|| lanes::find_exchanges(self))
    }

    /// The possible exchanges of lanes through shared memory, in the order of the input, in variables without a definite
    /// one; none if the options exclude potential findings about accesses.
    pub fn possible_exchanges(&self) -> &[PossibleExchange] {
        self.possible_exchanges
            .get_or_init(|| match self.options.accesses {
                Certainty::Potential => lanes::find_possible_exchanges(self, self.exchanges()),
                Certainty::Definite | Certainty::Conditional => Vec::new(),
            })
    }

    /// The accesses of threads of different warps to the same bytes of shared memory that no block barrier orders, in the order
    /// of the input.
    pub fn missing_barriers(&self) -> &[MissingBarrier] {
        self.missing_barriers
            .get_or_init(|| lanes::find_missing_barriers(self))
    }

    /// The accesses of threads of different warps to one variable in shared memory that no block barrier orders, and that may be to
    /// the same bytes; none if the options exclude potential findings about accesses.
    pub fn possible_barriers(&self) -> &[MissingBarrier] {
        self.possible_barriers
            .get_or_init(|| match self.options.accesses {
                Certainty::Potential => lanes::find_possible_missing_barriers(self, self.missing_barriers()),
                Certainty::Definite | Certainty::Conditional => Vec::new(),
            })
    }

    /// The accesses to one place in global memory by several threads that nothing orders: stores that may be lost, and plain accesses
    /// beside atomics; none if the options exclude potential findings about accesses.
    pub fn contention(&self) -> &Contention {
        self.contention.get_or_init(|| match self.options.accesses {
            Certainty::Potential => contention::find_contention(self),
            Certainty::Definite | Certainty::Conditional => Contention::default(),
        })
    }

    /// The questions about asynchronous copies, barriers in memory, products of tensor cores and tensor memory.
    #[must_use]
    pub const fn asynchronous(&self) -> AsyncAnalysis<'_, 'a> {
        AsyncAnalysis::new(&self.shared, &self.async_parts)
    }

    /// The variables that keep the content of their initialiser in each run.
    pub fn constant_objects(&self) -> &[ConstantObject] {
        self.constant_objects
            .get_or_init(|| constant_objects::find_constant_objects(self.module))
    }

    /// The uses of addresses that are wrong for them, in the order of the input.
    pub fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| provenance::find_violations(self))
    }
}
