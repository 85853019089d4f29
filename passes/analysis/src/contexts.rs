//! The chains of calls that decide operands: constants that callers pass, directly or from their own arguments.

use super::call_graph::CallSite;
use super::constants::{Arguments, Constants};
use crate::limits::MAX_CALL_DEPTH;
use crate::shared::Shared;
use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::{Body, FunctionId, Op, ParamPiece, Value};

/// A chain of calls, innermost first, and its arguments.
pub(crate) struct Context {
    pub(crate) callers: Vec<CallSite>,
    pub(crate) arguments: Arguments,
}

/// The remaining budget for contexts: chains of calls of one function, instructions of the whole module.
pub(crate) struct Budget<'a> {
    pub(crate) chains: usize,
    pub(crate) instructions: usize,
    pub(crate) deadline: &'a Deadline,
}

impl Budget<'_> {
    /// Takes the cost of solving `body` once more; false if that exceeds the budget.
    pub(crate) fn spend_cost(&mut self, body: &Body<'_>) -> bool {
        let left = self.instructions.checked_sub(body.instructions.len());
        self.instructions = left.unwrap_or(0);
        left.is_some() && self.chains > 0 && !self.deadline.is_over_after(body.instructions.len())
    }
}

/// The constants of a body that some values depend on, given the arguments of a caller.
pub(crate) fn solve_constants<'a>(
    module: &'a Shared<'_>,
    function: FunctionId,
    body: &'a Body<'a>,
    seeds: impl Iterator<Item = Value>,
    arguments: &'a Arguments,
) -> Constants<'a> {
    let analyses = module.function(function);
    Constants::new(body, analyses, seeds, arguments)
}

/// The chains of calls of `function` that pass a constant in one of `params`. If a caller passes on a parameter of its own,
/// its callers are followed, at most [`MAX_CALL_DEPTH`] calls deep and within the budget.
pub(crate) fn constant_contexts(
    module: &Shared<'_>,
    function: FunctionId,
    params: &[ParamPiece],
    depth: usize,
    budget: &mut Budget<'_>,
) -> Vec<Context> {
    let mut found = Vec::new();
    let calls = module.call_graph().calls_to(function);
    for of_one_caller in calls.chunk_by(|a, b| a.caller == b.caller) {
        let caller = of_one_caller[0].caller;
        let Some(body) = module.module.function(caller).body.as_ref() else {
            continue;
        };
        if !budget.spend_cost(body) {
            break;
        }
        let seeds = || {
            of_one_caller
                .iter()
                .flat_map(|site| values_passed_by(body, *site, params).map(|(_, value)| value))
        };
        let alone = Arguments::default();
        let constants = solve_constants(module, caller, body, seeds(), &alone);
        let decided = constant_arguments(body, of_one_caller, params, &constants);
        for (site, arguments) in of_one_caller.iter().zip(&decided) {
            push_context(&mut found, budget, *site, &[], arguments.clone());
        }
        if depth == MAX_CALL_DEPTH || constants.params.is_empty() {
            continue;
        }
        for outer in constant_contexts(module, caller, &constants.params, depth + 1, budget) {
            if !budget.spend_cost(body) {
                break;
            }
            let constants = solve_constants(module, caller, body, seeds(), &outer.arguments);
            let all = constant_arguments(body, of_one_caller, params, &constants);
            for ((site, mut arguments), decided) in of_one_caller.iter().zip(all).zip(&decided) {
                // Arguments that the caller alone decides are in the context without its callers.
                arguments.retain(|piece, _| !decided.contains_key(piece));
                push_context(&mut found, budget, *site, &outer.callers, arguments);
            }
        }
    }
    found
}

fn push_context(
    found: &mut Vec<Context>,
    budget: &mut Budget<'_>,
    site: CallSite,
    outer: &[CallSite],
    arguments: Arguments,
) {
    if !arguments.is_empty() && budget.chains > 0 {
        budget.chains -= 1;
        found.push(Context {
            callers: std::iter::once(site).chain(outer.iter().copied()).collect(),
            arguments,
        });
    }
}

/// The values that a call passes in `params`.
fn values_passed_by<'a>(
    body: &'a Body<'_>,
    site: CallSite,
    params: &'a [ParamPiece],
) -> impl Iterator<Item = (ParamPiece, Value)> + 'a {
    let arguments = match body.instruction(site.instruction).op {
        Op::Call(call) => body.arguments(body.call(call)),
        _ => &[],
    };
    arguments.iter().filter_map(|argument| {
        let piece = (u16::try_from(argument.param).ok()?, argument.offset);
        params.contains(&piece).then_some((piece, argument.value))
    })
}

/// For each of the calls of one caller: the constants that it passes in `params`.
fn constant_arguments(
    body: &Body<'_>,
    calls: &[CallSite],
    params: &[ParamPiece],
    constants: &Constants<'_>,
) -> Vec<Arguments> {
    let mut sites = calls.iter();
    constants.visit_before(calls.iter().map(|site| site.instruction), |_, value_of| {
        sites
            .next()
            .into_iter()
            .flat_map(|site| values_passed_by(body, *site, params))
            .map(|(piece, value)| (piece, value_of(value)))
            .filter(|(_, value)| value.known_value().is_some())
            .collect()
    })
}
