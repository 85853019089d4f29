//! Where the analysis of lanes begins, and which functions it follows from there.

use crate::context::ModuleContext;
use crate::externs;
use crate::ir::{Callee, FunctionId, Op};
use crate::limits::{MAX_HELPER_INSTRUCTIONS, MAX_INLINE_NODES};

/// Which functions reach what, through direct calls.
pub struct Calls {
    /// A collective or a barrier.
    meets: Vec<bool>,
    /// One, or code of which nothing is known.
    matters: Vec<bool>,
}

impl Calls {
    /// Of a module.
    #[must_use]
    pub fn new(module: &ModuleContext<'_>) -> Self {
        let count = module.module.functions.len();
        let (mut meets, mut matters) = (vec![false; count], vec![false; count]);
        for (id, _, body) in module.module.bodies() {
            let has_barrier = || {
                body.instructions
                    .iter()
                    .any(|instruction| matches!(instruction.op, Op::Barrier(_)))
            };
            meets[id.index()] = !body.collectives.is_empty() || has_barrier();
            matters[id.index()] = meets[id.index()]
                || body.calls.iter().any(|call| match call.callee {
                    Callee::Indirect(_) => true,
                    Callee::Direct(symbol) => module.module.called(symbol).is_none_or(|callee| {
                        module.module.function(callee).body.is_none()
                            && !externs::is_provided(module.module.function_name(callee))
                    }),
                });
        }
        let graph = module.call_graph();
        for reached in [&mut meets, &mut matters] {
            let mut work: Vec<usize> = (0..count).filter(|&function| reached[function]).collect();
            while let Some(function) = work.pop() {
                for site in graph.calls_to(FunctionId::new(function)) {
                    if !std::mem::replace(&mut reached[site.caller.index()], true) {
                        work.push(site.caller.index());
                    }
                }
            }
        }
        Self { meets, matters }
    }

    /// Kernels, and functions that no kernel reaches and nobody calls.
    #[must_use]
    pub fn roots(&self, module: &ModuleContext<'_>) -> Vec<FunctionId> {
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

    /// The functions whose code is followed: what matters, and small helpers for their results.
    #[must_use]
    pub fn visited(&self, module: &ModuleContext<'_>, roots: &[FunctionId]) -> Vec<bool> {
        let mut visited = vec![false; module.module.functions.len()];
        let mut work: Vec<FunctionId> = roots.to_vec();
        for root in roots {
            visited[root.index()] = true;
        }
        while let Some(function) = work.pop() {
            for site in module.call_graph().calls_of(function) {
                let callee = site.callee.index();
                let Some(body) = module.module.functions[callee].body.as_ref() else {
                    continue;
                };
                let is_wanted = self.matters[callee] || body.instructions.len() <= MAX_HELPER_INSTRUCTIONS;
                if is_wanted && !std::mem::replace(&mut visited[callee], true) {
                    work.push(site.callee);
                }
            }
        }
        visited
    }
}

/// By function, whether there is room for a look at it as a root: for all kernels, and for others, as they come, in so
/// many blocks.
#[must_use]
pub fn affordable(
    module: &ModuleContext<'_>,
    roots: &[FunctionId],
    visited: &[bool],
    blocks: usize,
) -> Vec<bool> {
    let mut left = blocks;
    let functions = &module.module.functions;
    let mut affordable = vec![false; functions.len()];
    // What each takes with all that it calls, once it is known. One that calls itself takes nothing for that.
    let mut costs: Vec<Option<usize>> = vec![None; functions.len()];
    let callees = |function: FunctionId| {
        let calls = module.call_graph().calls_of(function).iter();
        calls
            .map(|call| call.callee)
            .filter(|callee| visited[callee.index()])
    };
    for &root in roots {
        let mut work = vec![(root, false)];
        while let Some((function, are_callees_known)) = work.pop() {
            if are_callees_known {
                let own = functions[function.index()]
                    .body
                    .as_ref()
                    .map_or(0, |body| body.blocks.len());
                let called = callees(function).filter_map(|callee| costs[callee.index()]);
                let cost = called.fold(own, usize::saturating_add);
                costs[function.index()] = Some(cost.min(MAX_INLINE_NODES));
            } else if costs[function.index()].is_none() {
                costs[function.index()] = Some(0);
                work.push((function, true));
                work.extend(callees(function).map(|callee| (callee, false)));
            }
        }
        let cost = costs[root.index()].unwrap_or(0);
        let rest = left.checked_sub(cost);
        let is_kernel = module.module.function(root).is_kernel();
        affordable[root.index()] = is_kernel || rest.is_some();
        left = rest.filter(|_| !is_kernel).unwrap_or(left);
    }
    affordable
}

#[cfg(test)]
mod tests {
    use super::{Calls, affordable};
    use crate::testing::with_ptx;

    #[test]
    fn kernels_are_always_looked_at() {
        // All others call the first.
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .func a() { ret; }\n\
            .visible .func b() { bar.sync 0; call.uni a, (); ret; }\n\
            .visible .func c() { bar.sync 0; call.uni a, (); ret; }\n\
            .visible .entry k() { bar.sync 0; call.uni a, (); ret; }\n";
        with_ptx(text, |module| {
            let calls = Calls::new(module);
            let roots = calls.roots(module);
            let visited = calls.visited(module, &roots);
            let names = |blocks| -> Vec<&str> {
                let room = affordable(module, &roots, &visited, blocks);
                roots
                    .iter()
                    .filter(|root| room[root.index()])
                    .map(|root| module.module.function_name(*root))
                    .collect()
            };
            assert_eq!(names(4), ["b", "c", "k"]);
            assert_eq!(names(3), ["b", "k"]);
            assert_eq!(names(1), ["k"]);
        });
    }
}
