//! The constants among the operands of asynchronous operations, in the calling contexts that decide them.

use ptxcheck_ir::{AsyncValues, Asynchronous, Body, FunctionId, Value};

use super::frames::is_requested_through;
use crate::call_graph::CallSite;
use crate::constants::{Arguments, Constants};
use crate::contexts::{Budget, constant_contexts, solve_constants};
use crate::limits::{MAX_CALL_CHAINS, MAX_CONTEXT_INSTRUCTIONS};
use crate::shared::Shared;

/// An operation with its constants, in a context.
#[derive(Debug)]
pub(super) struct AsyncOperands {
    /// The function that holds it.
    pub(super) function: FunctionId,
    /// The operation.
    pub(super) operation: Asynchronous,
    /// The calls that lead to it, innermost first; empty where the function itself decides the operands.
    pub(super) callers: Vec<CallSite>,
    pub(super) known: KnownOperands,
}

/// The operands of an operation, where they are constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownOperands {
    /// Bytes that a copy writes, or that are expected at or arrive at a barrier.
    pub(super) bytes: Option<u64>,
    /// Bytes that a `cp.async` reads.
    pub(super) source_bytes: Option<u64>,
    /// Arrivals, groups, or columns.
    pub(super) count: Option<u64>,
    /// The CTAs that a copy writes into.
    pub(super) mask: Option<u64>,
    /// The bytes of each 16 that it writes.
    pub(super) byte_mask: Option<u64>,
}

impl AsyncOperands {
    /// `None` if it is not executed in this context. False if the callers decide its operands, and a branch on anything but
    /// the thread number may skip it.
    pub(super) fn is_surely_requested(&self, module: &Shared<'_>) -> Option<bool> {
        let at = self.operation.instruction;
        let may_be = module.function(self.function).is_reached(at)
            && self.callers.iter().all(|call| module.may_call(call));
        match &self.callers[..] {
            _ if !may_be => None,
            [] => Some(true),
            callers => is_requested_through(module, callers, (self.function, at)),
        }
    }

    fn has_known_operand(&self) -> bool {
        self.known != KnownOperands::default()
    }
}

/// The operations of a module with constant operands, by function and in the order of the input.
pub(super) fn find_constant_operands(module: &Shared<'_>) -> Vec<AsyncOperands> {
    let mut found = Vec::new();
    let mut budget = Budget {
        chains: 0,
        instructions: MAX_CONTEXT_INSTRUCTIONS,
        deadline: module.deadline,
    };
    for (function, known, body) in module.module.bodies() {
        let is_over = || module.deadline.is_over_after(body.instructions.len());
        if body.asynchronous.is_empty() || known.is_damaged || is_over() {
            continue;
        }
        budget.chains = MAX_CALL_CHAINS;
        add_operands_of_function(module, function, body, &mut budget, &mut found);
    }
    found
}

fn add_operands_of_function(
    module: &Shared<'_>,
    function: FunctionId,
    body: &Body<'_>,
    budget: &mut Budget<'_>,
    found: &mut Vec<AsyncOperands>,
) {
    let seeds = || {
        let all = body.asynchronous.iter().map(|one| (one, operand_indices(one)));
        all.flat_map(|(one, numbers)| numbers.map(|number| body.async_value(one, number)))
            .flatten()
    };
    let alone = Arguments::default();
    let constants = solve_constants(module, function, body, seeds(), &alone);
    let own = operands_in_context(function, body, &constants, &[]);
    let is_decided = |one: &AsyncOperands| {
        let mut own = own.iter().filter(|own| own.has_known_operand());
        own.any(|own| own.operation == one.operation)
    };
    let mut others = Vec::new();
    if !constants.params.is_empty() {
        for context in constant_contexts(module, function, &constants.params, 0, budget) {
            if !budget.spend_cost(body) {
                break;
            }
            let constants = solve_constants(module, function, body, seeds(), &context.arguments);
            let all = operands_in_context(function, body, &constants, &context.callers);
            others.extend(
                all.into_iter()
                    .filter(|one| one.has_known_operand() && !is_decided(one)),
            );
        }
    }
    found.extend(own.into_iter().filter(AsyncOperands::has_known_operand));
    found.extend(others);
}

fn operand_indices(one: &Asynchronous) -> [Option<u8>; 5] {
    let AsyncValues {
        bytes,
        source_bytes,
        count,
        mask,
        byte_mask,
        ..
    } = one.values;
    [bytes, source_bytes, count, mask, byte_mask]
}

fn operands_in_context(
    function: FunctionId,
    body: &Body<'_>,
    constants: &Constants<'_>,
    callers: &[CallSite],
) -> Vec<AsyncOperands> {
    let ids = body.asynchronous.iter().map(|one| one.instruction);
    let mut operations = body.asynchronous.iter();
    constants
        .visit_before(ids, |_, value_of| {
            let operation = operations.next();
            operation.map(|operation| {
                let [bytes, source_bytes, count, mask, byte_mask] =
                    operand_indices(operation).map(|number| {
                        let value: Value = body.async_value(operation, number)?;
                        value_of(value).known_value()
                    });
                AsyncOperands {
                    function,
                    operation: *operation,
                    callers: callers.to_vec(),
                    known: KnownOperands {
                        bytes,
                        source_bytes,
                        count,
                        mask,
                        byte_mask,
                    },
                }
            })
        })
        .into_iter()
        .flatten()
        .collect()
}
