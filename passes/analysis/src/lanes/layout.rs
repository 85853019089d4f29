//! Layout of a kernel: all that a solution needs and that no launch and no input changes. It is made once and solved for many
//! scenarios.

use std::cell::Cell;

use super::finding::Root;
use super::flow::Flow;
use super::graph::{self, Graph};
use super::kernel::Kernel;
use super::launch::{Launch, converges, launches_of};
use super::live::Live;
use super::order::Order;
use super::roots::Calls;
use super::scenario::{Fixed, Scenario};
use super::slice::Slices;
use super::value::{Lanes, Pool, WARP};
use super::verdict::{self, Site};
use crate::limits::MAX_SHARED_VECTORS;
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, Value};

/// The kernels of a module, and the functions that no kernel reaches, as the lane analysis looks at them.
pub struct LaneLayouts<'a> {
    module: &'a Shared<'a>,
    roots: Vec<FunctionId>,
    slices: Slices,
}

impl<'a> LaneLayouts<'a> {
    /// Those of a module. Time and memory are linear in the code.
    #[must_use]
    pub fn new(module: &'a Shared<'a>) -> Self {
        let calls = Calls::new(module);
        let roots = calls.roots(module);
        let slices = Slices::new(module, &calls.visited(module, &roots));
        Self {
            module,
            roots,
            slices,
        }
    }

    /// The kernels with collectives or barriers, and the functions with them that no kernel reaches, in the order of the input.
    #[must_use]
    pub fn roots(&self) -> &[FunctionId] {
        &self.roots
    }

    /// The layout of one of [`Self::roots`]; `None` if its code is not whole, or too large.
    #[must_use]
    pub fn of(&self, root: FunctionId) -> Option<LaneLayout<'_>> {
        LaneLayout::new(self.module, &self.slices, root)
    }
}

/// The layout of one kernel, or of a function that no kernel reaches.
pub struct LaneLayout<'k> {
    pub(super) module: &'k Shared<'k>,
    pub(super) function: FunctionId,
    pub(super) is_kernel: bool,
    pub(super) converges: bool,
    pub(super) graph: Graph<'k>,
    pub(super) order: Order,
    live: Live,
    /// The nodes that every lane passes, once.
    pub(super) always: Vec<bool>,
    /// The vectors of earlier solutions: much of the next one has been computed for them.
    pool: Cell<Pool>,
}

impl<'k> LaneLayout<'k> {
    pub(super) fn new(module: &'k Shared<'k>, slices: &'k Slices, function: FunctionId) -> Option<Self> {
        let graph = Graph::new(module, slices, function)?;
        let order = Order::new(&graph);
        Some(Self {
            module,
            function,
            is_kernel: module.module.function(function).is_kernel(),
            converges: converges(module),
            live: Live::new(module, &graph, &order),
            always: always(&graph, &order),
            pool: Cell::default(),
            graph,
            order,
        })
    }

    /// Solves for one launch, which names a warp or stands for all of them; `None` if it is too much work.
    pub(super) fn solve<'s>(&'s self, launch: Launch, fixed: &'s Fixed<'s>) -> Option<Flow<'s>> {
        let pool = Some(self.pool.take()).filter(|pool| pool.size() <= MAX_SHARED_VECTORS);
        Flow::new(self, launch, fixed, pool.unwrap_or_default())
    }

    /// Keeps the vectors of a solution for the next one.
    pub(super) fn keep(&self, pool: Pool) {
        self.pool.set(pool);
    }

    /// The cells that are alive at each node.
    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// The launch under a scenario, as far as it says; `None` if the scenario is one that the kernel excludes.
    fn launch(&self, scenario: &Scenario) -> Option<Launch> {
        let reads_other = self.module.reads_other_dimensions(self.function);
        let bounds = &self.module.module.function(self.function).launch;
        let assumed = match scenario.block {
            Some(_) => Launch::new(bounds, None, reads_other),
            None => launches_of(self.module, self.function, reads_other)[0],
        };
        scenario.launch(bounds, assumed)
    }

    /// The collectives and barriers that something can be wrong with, in the order of the code.
    pub fn judged(&self) -> impl Iterator<Item = Site> + '_ {
        let nodes = self.order.nodes.iter().copied();
        let judged = nodes.filter(|&node| verdict::is_judged(&self.graph, node));
        judged.map(|node| verdict::site(&self.graph, node))
    }

    /// The findings under a scenario. Definite is what goes wrong in each run that has its values and reaches the place; `None`
    /// if the kernel excludes the scenario, or if it is too much work.
    #[must_use]
    pub fn lanes_under(&self, scenario: &Scenario) -> Option<Root> {
        let launch = self.launch(scenario)?;
        let fixed = Fixed::new(&self.graph, scenario);
        Kernel::new(self, &fixed).under(launch, scenario.warp)
    }

    /// Calls `ask` with the lanes and values of a warp under a scenario; `None` if the scenario names no warp, if the kernel
    /// excludes it, or if it is too much work.
    pub fn with_solution<T>(
        &self,
        scenario: &Scenario,
        ask: impl FnOnce(&mut LaneSolution<'_>) -> T,
    ) -> Option<T> {
        let launch = Launch {
            warp: Some(scenario.warp?),
            ..self.launch(scenario)?
        };
        let fixed = Fixed::new(&self.graph, scenario);
        let mut solution = LaneSolution {
            flow: self.solve(launch, &fixed)?,
        };
        let answer = ask(&mut solution);
        self.keep(solution.flow.pool);
        Some(answer)
    }
}

/// The lanes and values of one warp.
pub struct LaneSolution<'s> {
    flow: Flow<'s>,
}

impl LaneSolution<'_> {
    /// The lanes that may come to an instruction, as far as its guard is not concerned: none if there is no such one.
    #[must_use]
    pub fn lanes_at(&self, site: &Site) -> Lanes {
        self.node(site).map_or(0, |node| self.flow.may[node as usize])
    }

    /// The value of an operand before an instruction, in each lane that may come there; `None` where it is not known. Registers
    /// that no collective, barrier or branch depends on are not followed, and so not known.
    pub fn value_at(&mut self, site: &Site, value: Value) -> [Option<u64>; WARP] {
        let Some(node) = self.node(site) else {
            return [None; WARP];
        };
        let here = self.flow.may[node as usize];
        let vector = self.flow.value_before(node, site.instruction, value);
        std::array::from_fn(|lane| vector.at(lane).filter(|_| here >> lane & 1 == 1))
    }

    /// The node of an instruction.
    fn node(&self, site: &Site) -> Option<u32> {
        let graph = self.flow.graph;
        let is_there = |number: &u32| {
            graph.contexts[*number as usize].function == site.function
                && graph.callers(*number) == site.callers
        };
        let context = (0..graph.contexts.len() as u32).find(is_there)?;
        let nodes = graph.nodes.iter().zip(0..);
        let at = site.instruction.index() as u32;
        let mut holding =
            nodes.filter(|(node, _)| node.context == context && node.instructions.contains(&at));
        holding.next().map(|(_, number)| number)
    }
}

/// The nodes that every lane passes: those that dominate the exit, in no loop.
pub(super) fn always(graph: &Graph<'_>, order: &Order) -> Vec<bool> {
    let mut always = vec![false; graph.nodes.len()];
    let mut node = graph.exit;
    if order.rank[node as usize] == graph::NONE {
        return always;
    }
    loop {
        always[node as usize] = order.loop_of[node as usize] == graph::NONE;
        if node == 0 {
            return always;
        }
        node = order.dominator(node);
    }
}
