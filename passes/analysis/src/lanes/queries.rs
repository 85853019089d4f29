//! Queries: the lanes of kernels under scenarios.

use super::finding::Root;
use super::flow::Flow;
use super::kernel::LaneKernel;
use super::launch::Launch;
use super::layout::LaneLayout;
use super::roots::Calls;
use super::scenario::{Fixed, Scenario};
use super::slice::Slices;
use super::value::{Lanes, WARP};
use super::verdict::{self, Site};
use crate::launches::Shape;
use crate::shared::Shared;
use ptxcheck_ir::{FunctionId, Value};

/// The kernels of a module, and the functions that no kernel reaches, in the form that the lane analysis uses.
pub struct LaneLayouts<'a> {
    module: &'a Shared<'a>,
    roots: Vec<FunctionId>,
    slices: Slices,
}

impl<'a> LaneLayouts<'a> {
    /// The layouts of a module. Time and memory are linear in the code.
    #[must_use]
    pub fn new(module: &'a Shared<'a>) -> Self {
        let calls = Calls::new(module);
        let roots = calls.roots(module);
        Self::with_roots(module, &calls, roots)
    }

    /// The layouts of some kernels alone, with or without collectives.
    #[must_use]
    pub fn of_kernels(module: &'a Shared<'a>, kernels: Vec<FunctionId>) -> Self {
        Self::with_roots(module, &Calls::new(module), kernels)
    }

    fn with_roots(module: &'a Shared<'a>, calls: &Calls, roots: Vec<FunctionId>) -> Self {
        let slices = Slices::new(module, &calls.visited_functions(module, &roots));
        Self {
            module,
            roots,
            slices,
        }
    }

    /// The kernels with collectives or barriers, and the functions with them that no kernel reaches, in the order of the input, or the
    /// kernels that were given.
    #[must_use]
    pub fn roots(&self) -> &[FunctionId] {
        &self.roots
    }

    /// The layout of one of [`Self::roots`]; `None` if its code is incomplete, or too large.
    #[must_use]
    pub fn layout_of(&self, root: FunctionId) -> Option<LaneLayout<'_>> {
        LaneLayout::new(self.module, &self.slices, root)
    }
}

impl LaneLayout<'_> {
    /// The launch under a scenario, with the facts that the scenario fixes; `None` if the kernel excludes the scenario.
    fn launch_under_scenario(&self, scenario: &Scenario) -> Option<Launch> {
        let reads_other = self.module.reads_other_dimensions(self.function);
        let bounds = &self.module.module.function(self.function).launch;
        let assumed = match scenario.block {
            Some(_) => Launch::new(bounds, None, reads_other),
            None => self.launches()[0],
        };
        scenario.launch_of_kernel(bounds, assumed)
    }

    /// The block shapes that the kernel is launched with, as stated by its directives, the user or available host code; none
    /// if they are not stated.
    #[must_use]
    pub fn block_shapes(&self) -> Vec<Shape> {
        let launches = self.launches();
        launches.iter().filter_map(|launch| launch.shape).collect()
    }

    /// The collectives and barriers that can have a defect, in the order of the code.
    pub fn judged_sites(&self) -> impl Iterator<Item = Site> + '_ {
        let nodes = self.order.nodes.iter().copied();
        let judged = nodes.filter(|&node| verdict::is_judged(&self.graph, node));
        judged.map(|node| verdict::site_of_node(&self.graph, node))
    }

    /// True if the kernel can be launched as the scenario says.
    #[must_use]
    pub fn admits_scenario(&self, scenario: &Scenario) -> bool {
        self.launch_under_scenario(scenario).is_some()
    }

    /// The findings under a scenario. Definite means wrong in each run that has its values and reaches the place; `None` if
    /// the kernel excludes the scenario, or if the budget is spent.
    #[must_use]
    pub fn findings_under(&self, scenario: &Scenario) -> Option<Root> {
        let launch = self.launch_under_scenario(scenario)?;
        let fixed = Fixed::new(&self.graph, scenario);
        LaneKernel::new(self, &fixed).findings_in_launch(launch, scenario.warp)
    }

    /// Calls `ask` with the lanes and values of a warp under a scenario; `None` if the scenario names no warp, if the kernel
    /// excludes it, or if the budget is spent.
    pub fn with_solution<T>(
        &self,
        scenario: &Scenario,
        ask: impl FnOnce(&mut LaneSolution<'_>) -> T,
    ) -> Option<T> {
        let launch = Launch {
            warp: Some(scenario.warp?),
            ..self.launch_under_scenario(scenario)?
        };
        let fixed = Fixed::new(&self.graph, scenario);
        let mut solution = LaneSolution {
            flow: Flow::new(self, launch, &fixed, self.reusable_pool())?,
        };
        let answer = ask(&mut solution);
        self.keep_pool(solution.flow.pool);
        Some(answer)
    }
}

/// The lanes and values of one warp.
pub struct LaneSolution<'s> {
    flow: Flow<'s>,
}

impl LaneSolution<'_> {
    /// The lanes that may reach an instruction, regardless of its guard: none if the instruction does not exist.
    #[must_use]
    pub fn lanes_at(&self, site: &Site) -> Lanes {
        self.node_of_site(site)
            .map_or(0, |node| self.flow.may[node as usize])
    }

    /// The value of an operand before an instruction, in each lane that may reach it; `None` where it is not known.
    /// Registers that no collective, barrier or branch depends on are not followed, and so not known.
    pub fn value_at(&mut self, site: &Site, value: Value) -> [Option<u64>; WARP] {
        let Some(node) = self.node_of_site(site) else {
            return [None; WARP];
        };
        let here = self.flow.may[node as usize];
        let vector = self.flow.value_before(node, site.instruction, value);
        std::array::from_fn(|lane| vector.value_in_lane(lane).filter(|_| here >> lane & 1 == 1))
    }

    /// The node of an instruction.
    fn node_of_site(&self, site: &Site) -> Option<u32> {
        let graph = self.flow.graph;
        let is_there = |number: &u32| {
            graph.contexts[*number as usize].function == site.function
                && graph.calls_leading_to(*number) == site.callers
        };
        let context = (0..graph.contexts.len() as u32).find(is_there)?;
        let nodes = graph.nodes.iter().zip(0..);
        let at = site.instruction.index() as u32;
        let mut holding =
            nodes.filter(|(node, _)| node.context == context && node.instructions.contains(&at));
        holding.next().map(|(_, number)| number)
    }
}
