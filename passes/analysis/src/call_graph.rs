//! The call graph: direct calls by caller and by callee, and cycles of calls.

pub use ptxcheck_ir::CallSite;
use ptxcheck_ir::{FunctionId, Module};

/// The direct calls of a module. Calls through pointers are not in it.
#[derive(Debug)]
pub struct CallGraph {
    /// The calls, by caller, in the order of the input.
    sites: Vec<CallSite>,
    starts: Vec<u32>,
    /// The calls, by callee.
    incoming: Vec<CallSite>,
    incoming_starts: Vec<u32>,
}

impl CallGraph {
    /// The call graph of `module`; a call of an alias is a call of its target.
    #[must_use]
    pub fn new(module: &Module<'_>) -> Self {
        let count = module.functions.len();
        let mut sites = Vec::new();
        let mut starts = vec![0_u32; count + 1];
        for (caller, _, body) in module.bodies() {
            for reference in body.references.iter().filter(|reference| reference.is_call) {
                let Some(callee) = module.called(reference.symbol) else {
                    continue;
                };
                sites.push(CallSite {
                    caller,
                    instruction: reference.instruction,
                    callee,
                });
            }
            starts[caller.index() + 1] = sites.len() as u32;
        }
        for function in 0..count {
            starts[function + 1] = starts[function + 1].max(starts[function]);
        }
        let mut incoming = sites.clone();
        incoming.sort_by_key(|site| (site.callee, site.caller, site.instruction));
        let incoming_starts = (0..=count)
            .map(|f| incoming.partition_point(|site| site.callee.index() < f) as u32)
            .collect();
        Self {
            sites,
            starts,
            incoming,
            incoming_starts,
        }
    }

    /// The calls that a function makes, in the order of the input.
    #[must_use]
    pub fn calls_of(&self, caller: FunctionId) -> &[CallSite] {
        let index = caller.index();
        &self.sites[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Marks all functions from which calls lead to a marked one, directly or through others. `marked` is by function.
    pub(crate) fn mark_callers(&self, marked: &mut [bool]) {
        self.join_into_callers(marked, |caller, callee| {
            callee && !std::mem::replace(caller, true)
        });
    }

    /// Joins the fact of each function into those of its callers, up to a fixed point. `facts` is by function, with the default
    /// as bottom; `join` returns true if that changed the caller's fact, and must be monotone on a lattice of small height.
    pub(crate) fn join_into_callers<T: Copy + Default + PartialEq>(
        &self,
        facts: &mut [T],
        join: impl Fn(&mut T, T) -> bool,
    ) {
        // Each function is in the list once: its fact is read when it is taken out.
        let mut is_listed: Vec<bool> = facts.iter().map(|fact| *fact != T::default()).collect();
        let mut work: Vec<usize> = (0..facts.len()).filter(|&function| is_listed[function]).collect();
        while let Some(function) = work.pop() {
            is_listed[function] = false;
            let of_callee = facts[function];
            for site in self.calls_to(FunctionId::new(function)) {
                let caller = site.caller.index();
                if join(&mut facts[caller], of_callee) && !std::mem::replace(&mut is_listed[caller], true) {
                    work.push(caller);
                }
            }
        }
    }

    /// Marks all functions that calls lead to from a marked one, directly or through others, by calls for which `follows` is
    /// true. `marked` is by function.
    pub fn mark_callees(&self, marked: &mut [bool], follows: impl Fn(&CallSite) -> bool) {
        let mut work: Vec<usize> = (0..marked.len()).filter(|&function| marked[function]).collect();
        while let Some(function) = work.pop() {
            for site in self.calls_of(FunctionId::new(function)) {
                let callee = site.callee.index();
                if !marked[callee] && follows(site) {
                    marked[callee] = true;
                    work.push(callee);
                }
            }
        }
    }

    /// The calls of a function, in the order of the input.
    #[must_use]
    pub fn calls_to(&self, callee: FunctionId) -> &[CallSite] {
        let index = callee.index();
        &self.incoming[self.incoming_starts[index] as usize..self.incoming_starts[index + 1] as usize]
    }

    /// The sets of functions that call each other in a cycle (Tarjan), each sorted, in the order of their first function; a
    /// function that calls itself is a cycle. Calls for which `counts` is false are left out.
    #[must_use]
    pub fn cycles(&self, counts: impl Fn(&CallSite) -> bool) -> Vec<Vec<FunctionId>> {
        let mut cycles = self.strongly_connected(&counts);
        cycles.retain(|members| {
            members.len() > 1
                || self
                    .calls_of(members[0])
                    .iter()
                    .any(|site| site.callee == members[0] && counts(site))
        });
        for members in &mut cycles {
            members.sort_unstable();
        }
        cycles.sort_unstable();
        cycles
    }
}

impl CallGraph {
    /// The functions that call each other, callees before callers; functions that call themselves are left out.
    #[must_use]
    pub(crate) fn components(&self) -> Vec<Vec<FunctionId>> {
        let mut components = self.strongly_connected(&|_: &CallSite| true);
        components.retain(|members| {
            !self
                .calls_of(members[0])
                .iter()
                .any(|site| site.callee == members[0])
        });
        components
    }

    fn strongly_connected(&self, counts: &impl Fn(&CallSite) -> bool) -> Vec<Vec<FunctionId>> {
        let mut search = Tarjan::new(self.starts.len() - 1);
        for function in 0..self.starts.len() - 1 {
            search.visit(FunctionId::new(function), self, counts);
        }
        search.components
    }
}

/// Tarjan's strongly connected components, with an explicit stack: call chains are hostile input.
struct Tarjan {
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<FunctionId>,
    next: u32,
    components: Vec<Vec<FunctionId>>,
}

const UNSEEN: u32 = u32::MAX;

impl Tarjan {
    fn new(count: usize) -> Self {
        Self {
            index: vec![UNSEEN; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            stack: Vec::new(),
            next: 0,
            components: Vec::new(),
        }
    }

    fn enter(&mut self, function: FunctionId) {
        self.index[function.index()] = self.next;
        self.low[function.index()] = self.next;
        self.next += 1;
        self.stack.push(function);
        self.on_stack[function.index()] = true;
    }

    fn visit(&mut self, root: FunctionId, graph: &CallGraph, counts: &impl Fn(&CallSite) -> bool) {
        if self.index[root.index()] != UNSEEN {
            return;
        }
        self.enter(root);
        let mut path = vec![(root, 0_usize)];
        while let Some((function, made)) = path.last_mut() {
            let function = *function;
            if let Some(site) = graph.calls_of(function).get(*made) {
                *made += 1;
                if !counts(site) {
                    continue;
                }
                let callee = site.callee.index();
                if self.index[callee] == UNSEEN {
                    self.enter(site.callee);
                    path.push((site.callee, 0));
                } else if self.on_stack[callee] {
                    self.low[function.index()] = self.low[function.index()].min(self.index[callee]);
                }
                continue;
            }
            path.pop();
            let low = self.low[function.index()];
            if let Some((caller, _)) = path.last() {
                self.low[caller.index()] = self.low[caller.index()].min(low);
            }
            if low == self.index[function.index()] {
                let start = self
                    .stack
                    .iter()
                    .rposition(|&member| member == function)
                    .unwrap_or(0);
                let members = self.stack.split_off(start);
                for member in &members {
                    self.on_stack[member.index()] = false;
                }
                self.components.push(members);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::with_ptx;

    /// `k` calls `a`; `a` and `b` call each other; `b` calls `c`; nothing calls `d`, which calls `c`.
    const CALLS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.func a();\n\
        .func c() { ret; }\n.func b() { call a; call c; ret; }\n.func a() { call b; ret; }\n\
        .func d() { call c; ret; }\n.visible .entry k() { call a; ret; }\n";

    /// The names of the marked functions, after `mark` on those named `start`.
    fn names_after_marking(start: &str, mark: impl Fn(&super::CallGraph, &mut [bool])) -> String {
        with_ptx(CALLS, |module| {
            let ids = || (0..module.module.functions.len()).map(ptxcheck_ir::FunctionId::new);
            let name = |id| module.module.function_name(id);
            let mut marks: Vec<bool> = ids().map(|id| name(id) == start).collect();
            mark(module.call_graph(), &mut marks);
            let mut names: Vec<&str> = ids().filter(|id| marks[id.index()]).map(name).collect();
            names.sort_unstable();
            names.concat()
        })
    }

    #[test]
    fn callers_are_marked_through_cycles() {
        assert_eq!(
            names_after_marking("c", |graph, marks| graph.mark_callers(marks)),
            "abcdk"
        );
        assert_eq!(
            names_after_marking("b", |graph, marks| graph.mark_callers(marks)),
            "abk"
        );
        assert_eq!(
            names_after_marking("d", |graph, marks| graph.mark_callers(marks)),
            "d"
        );
    }

    #[test]
    fn callees_are_marked_by_the_calls_that_are_followed() {
        assert_eq!(
            names_after_marking("k", |graph, marks| graph.mark_callees(marks, |_| true)),
            "abck"
        );
        assert_eq!(
            names_after_marking("k", |graph, marks| {
                let last = graph.calls_to(ptxcheck_ir::FunctionId::new(1)).to_vec();
                graph.mark_callees(marks, |site| !last.contains(site));
            }),
            "abk"
        );
    }

    #[test]
    fn facts_reach_all_callers() {
        let joined = with_ptx(CALLS, |module| {
            let count = module.module.functions.len();
            let mut facts: Vec<u8> = (0..count).map(|number| 1 << number).collect();
            module
                .call_graph()
                .join_into_callers(&mut facts, |caller, callee| {
                    let before = std::mem::replace(caller, *caller | callee);
                    before != *caller
                });
            facts
        });
        // a, c, b, d, k: by their first declaration.
        assert_eq!(joined, [0b111, 0b10, 0b111, 0b1010, 0b1_0111]);
    }
}
