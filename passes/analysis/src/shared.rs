//! The input that the analyses of a module share: the module, the options, the analyses of its functions, the call graph.
//!
//! Analyses of whole modules (`lanes`, `provenance`, `collectives`) take this, and not the results of each other.

use std::sync::{Arc, Mutex, OnceLock};

use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::limits::PARALLEL_STATEMENTS;
use ptxcheck_ir::{Body, Call, Callee, Function, FunctionId, InstructionId, Module, SymbolId, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::call_graph::{CallGraph, CallSite};
use crate::certainty::Certainty;
use crate::frame_alias::{self, FunctionFacts, OwnParams};
use crate::function::Analyses;
use crate::launches::{DynamicShared, Launches, Shape, StatedShared};
use crate::param_objects::{ParamObjects, ParamUse};

/// Options of the analyses: they skip work that is only needed for findings that are not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Findings about lanes: only definite ones, or also potential ones.
    pub lanes: Certainty,
    /// Findings about accesses of several threads that nothing orders: only definite ones, or also potential ones.
    pub accesses: Certainty,
    /// Findings about addresses in a wrong space: none, only definite ones, or also potential ones.
    pub spaces: Option<Certainty>,
    /// Findings about uses of address 0: none, only definite ones, or also potential ones.
    pub nulls: Option<Certainty>,
    /// Report the second of two conversions of an address in global memory, too.
    pub global_twice: bool,
    /// The blocks that kernels are launched with.
    pub launches: Launches,
}

impl AnalysisOptions {
    /// Potential findings of all kinds.
    #[must_use]
    pub fn potential() -> Self {
        Self {
            lanes: Certainty::Potential,
            accesses: Certainty::Potential,
            spaces: Some(Certainty::Potential),
            nulls: Some(Certainty::Potential),
            global_twice: true,
            launches: Launches::default(),
        }
    }
}

impl Default for AnalysisOptions {
    /// Definite findings of all kinds.
    fn default() -> Self {
        Self {
            lanes: Certainty::Definite,
            accesses: Certainty::Definite,
            spaces: Some(Certainty::Definite),
            nulls: Some(Certainty::Definite),
            global_twice: false,
            launches: Launches::default(),
        }
    }
}

/// A module under analysis, with the analyses of each of its functions.
pub struct Shared<'a> {
    /// The module.
    pub module: &'a Module<'a>,
    /// The options.
    pub options: AnalysisOptions,
    /// The time at which analyses give up.
    pub deadline: &'a Deadline,
    functions: Vec<Analyses<'a>>,
    objects: Arc<ParamObjects<'a>>,
    is_for_several_threads: OnceLock<bool>,
    has_passed: OnceLock<bool>,
    own_params: OnceLock<OwnParams>,
    call_graph: OnceLock<CallGraph>,
    call_cycles: OnceLock<Vec<Vec<FunctionId>>>,
    read_dimensions: OnceLock<[Vec<bool>; 2]>,
    referred_kernels: OnceLock<FxHashSet<SymbolId>>,
    /// The results of `block_size::tested_thread_counts`, by kernel.
    pub(crate) thread_tests: Mutex<FxHashMap<FunctionId, Arc<[u32]>>>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(module: &'a Module<'a>, options: AnalysisOptions, deadline: &'a Deadline) -> Self {
        let functions = module.functions.iter();
        let objects = Arc::new(ParamObjects::new(module, deadline));
        Self {
            module,
            options,
            deadline,
            functions: functions
                .map(|function| Analyses::new(module, function, deadline, Arc::clone(&objects)))
                .collect(),
            objects,
            is_for_several_threads: OnceLock::new(),
            has_passed: OnceLock::new(),
            own_params: OnceLock::new(),
            call_graph: OnceLock::new(),
            call_cycles: OnceLock::new(),
            read_dimensions: OnceLock::new(),
            referred_kernels: OnceLock::new(),
            thread_tests: Mutex::default(),
        }
    }

    /// True if the functions of the module are to be analysed on several threads: it is large, and there are threads.
    pub fn is_for_several_threads(&self) -> bool {
        *self.is_for_several_threads.get_or_init(|| {
            let sizes = self.module.bodies().map(|(_, _, body)| body.instructions.len());
            rayon::current_num_threads() > 1 && sizes.sum::<usize>() >= PARALLEL_STATEMENTS
        })
    }

    /// The results for all bodies, in the order of the input, made on several threads where that pays. `of` may use a lazy value only if one
    /// thread computes it: a thread that waits for others may begin another body, and deadlock on the same lock.
    pub(crate) fn map_bodies<T: Send>(
        &self,
        of: impl Fn(FunctionId, &'a Function<'a>, &'a Body<'a>) -> T + Sync,
    ) -> Vec<T> {
        let bodies = self.module.bodies();
        let of = |(id, function, body)| of(id, function, body);
        if self.is_for_several_threads() {
            let bodies: Vec<_> = bodies.collect();
            return bodies.into_par_iter().map(of).collect();
        }
        bodies.map(of).collect()
    }

    /// By function: true where `holds` is true of its body.
    pub(crate) fn marked_functions(
        &self,
        holds: impl Fn(FunctionId, &'a Function<'a>, &'a Body<'a>) -> bool + Sync,
    ) -> Vec<bool> {
        let mut marked = vec![false; self.module.functions.len()];
        for (id, holds) in self.map_bodies(|id, function, body| (id, holds(id, function, body))) {
            marked[id.index()] = holds;
        }
        marked
    }

    /// The analyses of a function.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Analyses<'a> {
        &self.functions[id.index()]
    }

    /// The blocks with which available host code launches a kernel, if all its launches are known: none if device code can
    /// launch it, too.
    pub(crate) fn launched_shapes(&self, kernel: FunctionId) -> &[Shape] {
        let shapes = self
            .options
            .launches
            .launched_blocks(self.module.function_name(kernel));
        if shapes.is_empty() || self.may_be_launched_by_device(kernel) {
            &[]
        } else {
            shapes
        }
    }

    /// The most dynamic shared memory that a kernel is launched with, if that is known.
    #[must_use]
    pub(crate) fn dynamic_shared(&self, kernel: FunctionId) -> Option<DynamicShared> {
        let launches = &self.options.launches;
        if launches.shown.is_empty() && launches.shared == StatedShared::default() {
            return None;
        }
        let name = self.module.function_name(kernel);
        launches.dynamic_shared(name, !self.may_be_launched_by_device(kernel))
    }

    /// True if device code refers to a kernel, and may launch it.
    fn may_be_launched_by_device(&self, kernel: FunctionId) -> bool {
        let referred = self.referred_kernels.get_or_init(|| {
            let kernels = self
                .module
                .functions
                .iter()
                .filter(|function| function.is_kernel());
            let kernels: FxHashSet<SymbolId> = kernels.map(|function| function.symbol).collect();
            let bodies = self.module.bodies();
            let used = bodies.flat_map(|(_, _, body)| body.references.iter().map(|used| used.symbol));
            let symbols = self.module.symbols.iter();
            let initial = symbols
                .flat_map(|symbol| self.module.initializer(symbol))
                .copied();
            used.chain(initial)
                .filter(|symbol| kernels.contains(symbol))
                .collect()
        });
        referred.contains(&self.module.function(kernel).symbol)
    }

    /// The uses that a function makes of the objects whose addresses its callers pass; `None` if no function is passed a
    /// followed address in `.local` memory.
    pub(crate) fn param_use(&self, function: FunctionId) -> Option<&ParamUse> {
        let has_passed = || {
            let calls = |body: &Body<'_>| !body.calls.is_empty();
            let mut bodies = self.module.bodies();
            bodies.any(|(id, _, body)| calls(body) && !self.function(id).slots().passed.is_empty())
        };
        // The host passes no such address to a kernel.
        let may_be_passed = self.module.has_local_memory && !self.module.function(function).is_kernel();
        let has_passed = may_be_passed && *self.has_passed.get_or_init(has_passed);
        has_passed.then(|| self.objects.param_use_of(function))?
    }

    /// True if an instruction of a function that accesses an address may access the thread's own memory: its frame, or that of a caller.
    #[must_use]
    pub(crate) fn may_be_in_own_frame(
        &self,
        function: FunctionId,
        id: InstructionId,
        address: Value,
    ) -> bool {
        let known = |id: FunctionId| FunctionFacts {
            definitions: self.function(id).definitions(),
            slots: self.function(id).slots(),
            param_use: self.param_use(id),
        };
        let passed = || self.own_params.get_or_init(|| OwnParams::new(self.module, known));
        if let Some(((number, _), ..)) = self
            .param_use(function)
            .and_then(|used| used.access_through_param(id))
        {
            return passed().contains(function, number);
        }
        frame_alias::may_be_in_own_frame(self.module, function, &known(function), address, passed)
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

    /// `%tid.y` and `%tid.z`: true for one that a function, or one that it may call, reads. A call through a pointer may
    /// reach any function of the module except kernels.
    #[must_use]
    pub fn read_dimensions(&self, root: FunctionId) -> [bool; 2] {
        let read = self.read_dimensions.get_or_init(|| {
            let own: Vec<[bool; 2]> = self.functions.iter().map(Analyses::read_dimensions).collect();
            [0, 1]
                .map(|dimension| self.mark_possible_callers(own.iter().map(|read| read[dimension]).collect()))
        });
        [read[0][root.index()], read[1][root.index()]]
    }

    /// The marks of functions, with the marks of their possible callers added.
    fn mark_possible_callers(&self, mut marked: Vec<bool>) -> Vec<bool> {
        let mut bodies = self.module.bodies();
        if bodies.any(|(id, function, _)| !function.is_kernel() && marked[id.index()]) {
            let is_indirect = |call: &Call| matches!(call.callee, Callee::Indirect(_));
            for (id, _, body) in self.module.bodies() {
                marked[id.index()] |= body.calls.iter().any(is_indirect);
            }
        }
        self.call_graph().mark_callers(&mut marked);
        marked
    }

    /// True if a function, or one that it may call, reads `%tid.y` or `%tid.z`.
    #[must_use]
    pub(crate) fn reads_other_dimensions(&self, root: FunctionId) -> bool {
        self.read_dimensions(root) != [false; 2]
    }

    /// True if a call may be executed.
    #[must_use]
    pub fn may_call(&self, site: &CallSite) -> bool {
        self.function(site.caller).is_reached(site.instruction)
    }
}
