//! ## What it does
//!
//! Counts the arguments that device code passes to `printf`, which compilers put into a buffer on the stack, and reports
//! more than 32.
//!
//! ## Why is this bad?
//!
//! The device prints at most 32 arguments besides the format; the rest is dropped, and what stands for it in the output is
//! wrong (CUDA C++ Programming Guide, Formatted Output). No compiler says so.
//!
//! ## Example
//!
//! ```cuda
//! printf("%d %d … %d", a[0], a[1], …, a[32]);   // 33 arguments
//! ```
//!
//! ## Use instead
//!
//! Two calls.
//!
//! ## Limits
//!
//! Counted are the values that the straight code before the call stores into the buffer, after any call before it. Where a compiler stores
//! elsewhere, or several at a time, fewer are seen, and nothing is reported.

use std::collections::BTreeSet;

use crate::checks::Check;
use crate::context::{FunctionContext, Place, Report};
use crate::ir::{AccessKind, BlockId, Call, Callee, Op, Value};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX604",
    name: "printf-arguments",
    family: Family::Device,
    summary: "`printf` has more arguments than device code prints",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Function(check);

/// Most arguments besides the format that are printed (CUDA C++ Programming Guide, Formatted Output, Limitations).
const MAX_ARGUMENTS: usize = 32;

/// The function that compilers call for `printf`, with format and address of the buffer.
const PRINT: &str = "vprintf";

/// Most blocks in a row that are looked through for what is stored.
const MAX_BLOCKS: usize = 64;

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    let module = function.module.module;
    for call in &function.body.calls {
        let Callee::Direct(symbol) = call.callee else {
            continue;
        };
        let symbol = module.symbol(symbol);
        if symbol.name != PRINT || !symbol.is_undefined() || !function.analyses().is_reached(call.instruction)
        {
            continue;
        }
        let count = stored_argument_count(function, call);
        if count > MAX_ARGUMENTS {
            report
                .definite(
                    Place::of_instruction(function.id, call.instruction),
                    format!(
                        "`printf` has {count} arguments, of which the device prints the first {MAX_ARGUMENTS}"
                    ),
                )
                .help("print in two calls")
                .data("arguments", count as u64);
        }
    }
}

/// Number of values that the block stores into the buffer that a call passes, since the call before it.
fn stored_argument_count(function: &FunctionContext<'_>, call: &Call) -> usize {
    let body = function.body;
    let buffer = body
        .arguments(call)
        .iter()
        .find(|argument| argument.passes((1, 0)))
        .and_then(|argument| function.analyses().variable_and_distance(argument.value));
    let Some((buffer, start)) = buffer else { return 0 };
    let mut stored: BTreeSet<i64> = BTreeSet::new();
    let code = straight_path_to(function, body.block_of(call.instruction));
    let code = code.into_iter().flat_map(|block| body.block(block));
    for (_, instruction) in code.take_while(|(id, _)| *id != call.instruction) {
        match instruction.op {
            Op::Call(_) => stored.clear(),
            Op::Access(access) if access.kind == AccessKind::Store => {
                let [base, Value::Integer(offset), ..] = *body.uses(instruction) else {
                    continue;
                };
                let Some((_, at)) = function
                    .analyses()
                    .variable_and_distance(base)
                    .filter(|(object, _)| *object == buffer)
                else {
                    continue;
                };
                let bytes = i64::from(access.bits / 8);
                let first = at.wrapping_add(offset);
                stored.extend(
                    (0..i64::from(access.count))
                        .map(|number| first.wrapping_add(number * bytes))
                        .filter(|at| *at >= start),
                );
            }
            _ => {}
        }
    }
    stored.len()
}

/// The blocks that certainly run one after the other to this one, which is the last.
fn straight_path_to(function: &FunctionContext<'_>, block: BlockId) -> Vec<BlockId> {
    let mut way = vec![block];
    let mut current = block;
    // The entry is also reached from the caller.
    while way.len() < MAX_BLOCKS
        && current.index() > 0
        && let &[before] = function.analyses().cfg().predecessors(current)
        && function.body.successors(before).len() == 1
        && !way.contains(&before)
    {
        way.push(before);
        current = before;
    }
    way.reverse();
    way
}
