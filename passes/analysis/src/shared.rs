//! What the analyses of a module share: the module, what is asked of it, its functions' own analyses, its calls.
//!
//! Analyses of whole modules (`lanes`, `provenance`, `collectives`) take this, and not the results of each other.

use std::sync::OnceLock;

use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::{Call, Callee, FunctionId, Module};
use rustc_hash::FxHashSet;

use crate::call_graph::{CallGraph, CallSite};
use crate::certainty::Certainty;
use crate::function::Analyses;
use crate::launches::Launches;

/// What is to be found out: analyses leave out what nobody reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Of lanes: what is certain, or also what is possible.
    pub lanes: Certainty,
    /// Of addresses that are used in the wrong space, the same.
    pub spaces: Option<Certainty>,
    /// Of uses of address 0, the same.
    pub nulls: Option<Certainty>,
    /// An address in global memory that is converted to one twice is wrong, too.
    pub global_twice: bool,
    /// The blocks that kernels are launched with.
    pub launches: Launches,
}

impl Asked {
    /// All that is possible.
    #[must_use]
    pub fn all() -> Self {
        Self {
            lanes: Certainty::Potential,
            spaces: Some(Certainty::Potential),
            nulls: Some(Certainty::Potential),
            global_twice: true,
            launches: Launches::default(),
        }
    }
}

impl Default for Asked {
    /// All that is certain.
    fn default() -> Self {
        Self {
            lanes: Certainty::Definite,
            spaces: Some(Certainty::Definite),
            nulls: Some(Certainty::Definite),
            global_twice: false,
            launches: Launches::default(),
        }
    }
}

/// A module under analysis, with what is known of each of its functions.
pub struct Shared<'a> {
    /// The module.
    pub module: &'a Module<'a>,
    /// What is asked for.
    pub asked: Asked,
    /// When analyses give up.
    pub deadline: &'a Deadline,
    functions: Vec<Analyses<'a>>,
    call_graph: OnceLock<CallGraph>,
    call_cycles: OnceLock<Vec<Vec<FunctionId>>>,
    read_dimensions: OnceLock<[Vec<bool>; 2]>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(module: &'a Module<'a>, asked: Asked, deadline: &'a Deadline) -> Self {
        let functions = module.functions.iter();
        Self {
            module,
            asked,
            deadline,
            functions: functions
                .map(|function| Analyses::of(module, function, deadline))
                .collect(),
            call_graph: OnceLock::new(),
            call_cycles: OnceLock::new(),
            read_dimensions: OnceLock::new(),
        }
    }

    /// The analyses of a function.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Analyses<'a> {
        &self.functions[id.index()]
    }

    /// The direct calls.
    pub fn call_graph(&self) -> &CallGraph {
        self.call_graph.get_or_init(|| CallGraph::new(self.module))
    }

    /// The sets of functions that call each other in a cycle, by calls that may be executed.
    pub fn call_cycles(&self) -> &[Vec<FunctionId>] {
        self.call_cycles.get_or_init(|| {
            let graph = self.call_graph();
            let apparent: FxHashSet<FunctionId> = graph.cycles(|_| true).into_iter().flatten().collect();
            if apparent.is_empty() {
                return Vec::new();
            }
            graph.cycles(|site| apparent.contains(&site.caller) && self.may_call(site))
        })
    }

    /// `%tid.y` and `%tid.z`: true for one that a function reads, or what it may call. A call through a pointer may be one of
    /// any function of the module but kernels.
    #[must_use]
    pub(crate) fn read_dimensions(&self, root: FunctionId) -> [bool; 2] {
        let read = self.read_dimensions.get_or_init(|| {
            let own: Vec<[bool; 2]> = self.functions.iter().map(Analyses::read_dimensions).collect();
            [0, 1].map(|dimension| self.readers(own.iter().map(|read| read[dimension]).collect()))
        });
        [read[0][root.index()], read[1][root.index()]]
    }

    /// `found`, by function, with those that may call one of them.
    fn readers(&self, mut found: Vec<bool>) -> Vec<bool> {
        let mut bodies = self.module.bodies();
        if bodies.any(|(id, function, _)| !function.is_kernel() && found[id.index()]) {
            let is_indirect = |call: &Call| matches!(call.callee, Callee::Indirect(_));
            for (id, _, body) in self.module.bodies() {
                found[id.index()] |= body.calls.iter().any(is_indirect);
            }
        }
        self.call_graph().mark_callers(&mut found);
        found
    }

    /// True if a function, or what it may call, reads `%tid.y` or `%tid.z`.
    #[must_use]
    pub(crate) fn reads_other_dimensions(&self, root: FunctionId) -> bool {
        self.read_dimensions(root) != [false; 2]
    }

    /// Whether a call may be executed.
    #[must_use]
    pub fn may_call(&self, site: &CallSite) -> bool {
        self.function(site.caller).is_reached(site.instruction)
    }
}
