//! ## What it does
//!
//! Finds code whose stack size no compiler can compute: device functions that call each other in a cycle, and stack
//! allocations (`alloca`) whose size is not a constant.
//!
//! ## Why is this bad?
//!
//! Each thread has a stack of fixed size (`cudaLimitStackSize`, 1 KiB by default). ptxas adds up what a kernel needs
//! and the driver reserves it, unless recursion or a dynamic allocation hides it; then the default holds, and running
//! over it corrupts memory or ends the kernel. In a relocatable build nothing says so before the link.
//!
//! ## Example
//!
//! ```cuda
//! __device__ int depth(const Node *n) { return n ? 1 + max(depth(n->left), depth(n->right)) : 0; }
//! ```
//!
//! ## Use instead
//!
//! A loop with a stack of known size, or `cudaDeviceSetLimit(cudaLimitStackSize, …)` with a proven bound.
//!
//! ## Limits
//!
//! A definite finding states that no compiler knows how much stack this code needs. It does not say that the stack is too
//! small, hence a warning: how deep the recursion goes is not computed, and a shallow one, for which the stack is
//! enough, is right and reported like a deep one. Calls through pointers are not followed. What a constant decides against, as in the last step of a recursive template, is not
//! counted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::analysis::call_graph::CallSite;
use crate::analysis::constants::{Arguments, Constants};
use crate::checks::Check;
use crate::context::{FunctionContext, ModuleContext, Place, Report};
use crate::ir::{FunctionId, InstructionId, Op, Rare};
use crate::names;
use crate::rule::{Certainties, Family, Level, Rule};

/// Number of further calls of a cycle that a finding shows.
const NAMED: usize = 8;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX602",
    name: "unbounded-stack",
    family: Family::Device,
    summary: "recursion or a stack allocation of unknown size hides how much stack a kernel needs",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for cycle in module.call_cycles() {
        if !cycle
            .iter()
            .any(|&member| module.module.function(member).is_kernel())
        {
            report_recursion(module, cycle, report);
        }
    }
    for (id, function, body) in module.module.bodies() {
        report_allocations(
            &FunctionContext {
                module,
                id,
                function,
                body,
            },
            report,
        );
    }
}

/// The note about a claim that a finding does not make.
const OPEN: &str = "it is certain that no compiler can reserve enough, but not that the stack is too small";

fn report_recursion(module: &ModuleContext<'_>, cycle: &[FunctionId], report: &mut Report<'_>) {
    let members: BTreeSet<_> = cycle.iter().copied().collect();
    let mut calls: Vec<_> = cycle
        .iter()
        .flat_map(|&member| module.call_graph().calls_of(member))
        .filter(|site| members.contains(&site.callee) && module.may_call(site))
        .collect();
    calls.sort_by_key(|site| module.module.span_of(site.caller, site.instruction).start);
    let Some(first) = calls.first() else {
        return;
    };
    let name = module.module.function_name(first.callee);
    let shown = names::in_message(name);
    let message = if cycle.len() == 1 {
        format!("`{shown}` calls itself: how much stack it needs is not known")
    } else {
        format!(
            "`{shown}` is in a cycle of {} functions that call each other: how much stack they need is not known",
            cycle.len()
        )
    };
    let finding = report.definite(Place::of_call(**first), message);
    finding
        .note(OPEN)
        .data("symbol", name)
        .help("use a loop with a stack of known size, or set `cudaLimitStackSize` to a proven bound");
    let back = shortest_cycle(**first, &calls);
    for site in back.iter().take(NAMED) {
        finding.related(Place::of_call(*site), "part of the cycle");
    }
    if back.len() > NAMED {
        finding.note(format!("{} further calls close the cycle", back.len() - NAMED));
    }
}

/// The fewest of the calls that lead from what `first` calls back to where it is called from.
fn shortest_cycle(first: CallSite, calls: &[&CallSite]) -> Vec<CallSite> {
    let mut of: BTreeMap<FunctionId, Vec<CallSite>> = BTreeMap::new();
    for site in calls {
        of.entry(site.caller).or_default().push(**site);
    }
    // By function, the call through which it was first reached.
    let mut by: BTreeMap<FunctionId, CallSite> = BTreeMap::new();
    let mut open = VecDeque::from([first.callee]);
    while let Some(function) = open.pop_front() {
        for &site in of.get(&function).into_iter().flatten() {
            if site.callee != first.callee && !by.contains_key(&site.callee) {
                by.insert(site.callee, site);
                open.push_back(site.callee);
            }
        }
    }
    let mut back: Vec<CallSite> = std::iter::successors(by.get(&first.caller), |site| by.get(&site.caller))
        .copied()
        .collect();
    back.reverse();
    back
}

fn report_allocations(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    let body = function.body;
    if !body.has(Rare::STACK_ALLOC) {
        return;
    }
    let allocations: Vec<InstructionId> = (0..body.instructions.len())
        .map(InstructionId::new)
        .filter(|&id| matches!(body.instruction(id).op, Op::StackAlloc))
        .filter(|&id| function.analyses().is_reached(id))
        .collect();
    if allocations.is_empty() {
        return;
    }
    let sizes = allocations
        .iter()
        .filter_map(|&id| body.uses(body.instruction(id)).first().copied());
    let (analyses, none) = (function.analyses(), Arguments::default());
    let constants = Constants::new(body, analyses, sizes, &none);
    let known = constants.visit_before(allocations.iter().copied(), |id, value_of| {
        let size = body
            .uses(body.instruction(id))
            .first()
            .and_then(|&size| value_of(size).known_value());
        (id, size)
    });
    for (id, _) in known.into_iter().filter(|(_, size)| size.is_none()) {
        report
            .definite(
                Place::of_instruction(function.id, id),
                "the size of this stack allocation is not known before it runs",
            )
            .kind("allocation")
            .note(OPEN)
            .help("allocate the largest size that can occur, or use memory that the kernel is given")
            .data("symbol", function.name());
    }
}
