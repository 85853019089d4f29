//! Entry points of the lane analysis, and the functions that it follows from there.

use crate::limits::{MAX_HELPER_INSTRUCTIONS, MAX_INLINE_NODES};
use crate::shared::Shared;
use ptxcheck_common::externs;
use ptxcheck_ir::{Body, Callee, FunctionId, Rare};

/// Functions that reach a collective, a barrier or unknown code through direct calls.
pub(super) struct Calls {
    /// Has a collective or a barrier itself.
    pub holds: Vec<bool>,
    /// It has a collective or a barrier, itself or in a callee.
    pub meets: Vec<bool>,
    /// It has one of these, or calls unknown code.
    matters: Vec<bool>,
}

impl Calls {
    /// Marks the functions of a module.
    #[must_use]
    pub(super) fn new(module: &Shared<'_>) -> Self {
        let count = module.module.functions.len();
        let (mut meets, mut matters) = (vec![false; count], vec![false; count]);
        for (id, _, body) in module.module.bodies() {
            meets[id.index()] = !body.collectives.is_empty() || body.has(Rare::BARRIER);
            matters[id.index()] = meets[id.index()]
                || body.calls.iter().any(|call| match call.callee {
                    Callee::Indirect(_) => true,
                    Callee::Direct(symbol) => module.module.called(symbol).is_none_or(|callee| {
                        module.module.function(callee).body.is_none()
                            && !externs::is_provided(module.module.function_name(callee))
                    }),
                });
        }
        let holds = meets.clone();
        let graph = module.call_graph();
        graph.mark_callers(&mut meets);
        graph.mark_callers(&mut matters);
        Self {
            holds,
            meets,
            matters,
        }
    }

    /// Kernels, and functions that no kernel reaches and that are never called.
    #[must_use]
    pub(super) fn roots(&self, module: &Shared<'_>) -> Vec<FunctionId> {
        let graph = module.call_graph();
        module
            .module
            .bodies()
            .filter(|(id, function, _)| {
                self.meets[id.index()]
                    && (function.is_kernel() || graph.calls_to(*id).is_empty())
                    && !function.is_damaged
            })
            .map(|(id, ..)| id)
            .collect()
    }

    /// The functions whose code is followed: those with collectives, barriers or unknown calls, and small helpers for their
    /// results.
    #[must_use]
    pub(super) fn visited_functions(&self, module: &Shared<'_>, roots: &[FunctionId]) -> Vec<bool> {
        let mut visited = vec![false; module.module.functions.len()];
        for root in roots {
            visited[root.index()] = true;
        }
        module.call_graph().mark_callees(&mut visited, |site| {
            let callee = site.callee.index();
            let body = module.module.functions[callee].body.as_ref();
            let is_helper = |body: &Body<'_>| body.instructions.len() <= MAX_HELPER_INSTRUCTIONS;
            body.is_some_and(|body| self.matters[callee] || is_helper(body))
        });
        visited
    }
}

/// Number of blocks that may still be analysed in functions that no kernel reaches, callees included.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// For functions through which a function with collectives is analysed for the first time.
    pub novel: usize,
    /// For the others: their callees have all been analysed.
    pub repeated: usize,
}

impl Calls {
    /// By function: whether the budget allows an analysis as a root. It does for all kernels. Other functions are taken in
    /// order; first those through which some function with collectives or barriers is analysed for the first time.
    #[must_use]
    pub(super) fn affordable_roots(
        &self,
        module: &Shared<'_>,
        roots: &[FunctionId],
        visited: &[bool],
        budget: Budget,
    ) -> Vec<bool> {
        let functions = &module.module.functions;
        let mut affordable = vec![false; functions.len()];
        let mut costs = Costs {
            module,
            visited,
            known: vec![None; functions.len()],
        };
        let mut is_known = vec![false; functions.len()];
        let mut take = |root: FunctionId, left: &mut usize| {
            let rest = left.checked_sub(costs.size_with_callees(root));
            affordable[root.index()] = rest.is_some();
            *left = rest.unwrap_or(*left);
            rest.is_some()
        };
        let Budget {
            mut novel,
            mut repeated,
        } = budget;
        let mut others = Vec::new();
        for &root in roots {
            if module.module.function(root).is_kernel() {
                continue;
            }
            let mut brings_something = false;
            let mut work = vec![root];
            while let Some(function) = work.pop() {
                if !std::mem::replace(&mut is_known[function.index()], true) {
                    brings_something |= self.holds[function.index()];
                    work.extend(visited_callees(module, visited, function));
                }
            }
            if !brings_something || !take(root, &mut novel) {
                others.push(root);
            }
        }
        for root in others {
            take(root, &mut repeated);
        }
        for root in roots {
            affordable[root.index()] |= module.module.function(*root).is_kernel();
        }
        affordable
    }
}

/// The functions that a function calls and that are analysed with it.
fn visited_callees<'a>(
    module: &'a Shared<'_>,
    visited: &'a [bool],
    function: FunctionId,
) -> impl Iterator<Item = FunctionId> + 'a {
    let calls = module.call_graph().calls_of(function).iter();
    calls
        .map(|call| call.callee)
        .filter(|callee| visited[callee.index()])
}

/// Blocks of functions, with all their callees once for each call.
struct Costs<'a> {
    module: &'a Shared<'a>,
    visited: &'a [bool],
    /// Cached results. A recursive call adds nothing.
    known: Vec<Option<usize>>,
}

impl Costs<'_> {
    fn size_with_callees(&mut self, root: FunctionId) -> usize {
        let (module, visited) = (self.module, self.visited);
        let mut work = vec![(root, false)];
        while let Some((function, are_callees_known)) = work.pop() {
            if are_callees_known {
                let body = module.module.function(function).body.as_ref();
                let own = body.map_or(0, |body| body.blocks.len());
                let called = visited_callees(module, visited, function)
                    .filter_map(|callee| self.known[callee.index()]);
                let cost = called.fold(own, usize::saturating_add);
                self.known[function.index()] = Some(cost.min(MAX_INLINE_NODES));
            } else if self.known[function.index()].is_none() {
                self.known[function.index()] = Some(0);
                work.push((function, true));
                work.extend(visited_callees(module, visited, function).map(|callee| (callee, false)));
            }
        }
        self.known[root.index()].unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Calls};
    use crate::testing::with_ptx;

    /// The roots that the budget allows.
    fn names_of_affordable_roots(text: &str, novel: usize, repeated: usize) -> Vec<String> {
        with_ptx(text, |module| {
            let calls = Calls::new(module);
            let roots = calls.roots(module);
            let visited = calls.visited_functions(module, &roots);
            let room = calls.affordable_roots(module, &roots, &visited, Budget { novel, repeated });
            let found = roots.iter().filter(|root| room[root.index()]);
            found
                .map(|root| module.module.function_name(*root).to_owned())
                .collect()
        })
    }

    #[test]
    fn functions_with_unseen_code_are_analysed_first() {
        // Two functions are the same except for their callees.
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .func a() { bar.sync 0; ret; }\n\
            .visible .func b() { call.uni a, (); ret; }\n\
            .visible .func c() { call.uni a, (); ret; }\n\
            .visible .func d() { bar.sync 0; ret; }\n";
        assert_eq!(names_of_affordable_roots(text, 3, 0), ["b", "d"]);
        assert_eq!(names_of_affordable_roots(text, 3, 2), ["b", "c", "d"]);
    }

    #[test]
    fn kernels_are_always_analysed() {
        // All others call the first.
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .func a() { ret; }\n\
            .visible .func b() { bar.sync 0; call.uni a, (); ret; }\n\
            .visible .func c() { bar.sync 0; call.uni a, (); ret; }\n\
            .visible .entry k() { bar.sync 0; call.uni a, (); ret; }\n";
        assert_eq!(names_of_affordable_roots(text, 4, 0), ["b", "c", "k"]);
        assert_eq!(names_of_affordable_roots(text, 3, 0), ["b", "k"]);
        assert_eq!(names_of_affordable_roots(text, 1, 0), ["k"]);
    }
}
