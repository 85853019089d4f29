//! Facts about the number of threads in a kernel's blocks that its code implies, if the block size is not stated.
//!
//! ```text
//! test k      a branch that thread 0 certainly reaches, at which threads up to k - 1 take one edge and those from k on the other: it
//!             decides nothing in blocks of up to k threads, so the author must have larger blocks in mind
//! test 1      the kernel reads a thread number at all
//! no test     the test before a loop: `for (i = threadIdx.x; i < 100; i += blockDim.x)` is right in every block, and compilers test before
//!             the loop; and several that are a multiple of 16 threads apart, as rounds of a loop that is unrolled are
//! ```

use std::cell::LazyCell;
use std::sync::{Arc, PoisonError};

use ptxcheck_ir::{
    BinaryOp, BlockId, Body, Condition, FunctionId, InstructionId, Logic, Op, Special, Value, WARP,
};

use crate::certain_paths::CertainPaths;
use crate::function::Analyses;
use crate::launches::MAX_BLOCK_THREADS;
use crate::shared::Shared;
use crate::threads::Threads;

/// Steps of loops over the threads of a block are multiples of this.
const LEAST_STEP: u32 = 16;

/// The tests of the thread number against a constant that a kernel makes: in order, each number of threads `k` once. Tests
/// against multiples of 32 are left out: they distinguish warps, and imply nothing more about the block.
pub(crate) fn tested_thread_counts(module: &Shared<'_>, kernel: FunctionId) -> Arc<[u32]> {
    let known = || module.thread_tests.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tests) = known().get(&kernel) {
        return Arc::clone(tests);
    }
    let body = module.module.function(kernel).body.as_ref();
    let tests = body.map_or_else(Vec::new, |body| {
        find_tested_thread_counts(body, module.function(kernel))
    });
    let tests: Arc<[u32]> = tests.into();
    known().insert(kernel, Arc::clone(&tests));
    tests
}

/// True if a kernel divides the thread number by 32: it tells warps apart, and so has several.
pub(crate) fn computes_warp_number(body: &Body<'_>, analyses: &Analyses<'_>) -> bool {
    // Thread 35 is the fourth one of warp 1.
    let (lane, warps) = (3, [0, 1]);
    let threads = LazyCell::new(|| warps.map(|warp| Threads::of_warp(body, analyses, warp)));
    body.instructions.iter().any(|instruction| {
        let Op::Binary(BinaryOp::ShrSigned | BinaryOp::ShrUnsigned, _) = instruction.op else {
            return false;
        };
        let &[number, Value::Integer(5), ..] = body.uses(instruction) else {
            return false;
        };
        let is_number = |(warp, threads): (u32, &Threads<'_, '_>)| {
            threads.value_in_lane(number, lane) == Some(u64::from(warp * WARP + lane))
        };
        warps.into_iter().zip(threads.iter()).all(is_number)
    })
}

/// Comparisons of the thread number with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// For equality: they pick a thread out.
    Single,
    /// For order, too: they part warps from lower ones.
    Any,
}

/// The warps from 1 on that comparisons with constants may pick out, or part from lower ones, as far as the constants show: in order.
pub(crate) fn compared_warps(body: &Body<'_>, compared: Compared) -> Vec<u32> {
    let mut warps = Vec::new();
    for instruction in &body.instructions {
        let Op::Compare(condition, ..) = instruction.op else {
            continue;
        };
        let mut constants = body.uses(instruction).iter().filter_map(|value| match value {
            Value::Integer(value) => u32::try_from(*value).ok(),
            _ => None,
        });
        let Some(thread) = constants.next().filter(|thread| *thread < MAX_BLOCK_THREADS) else {
            continue;
        };
        // Of a comparison for order: the last thread of a warp, or the first one of the next.
        let (last, next) = (thread / WARP, (thread + 1) / WARP);
        match (condition, compared) {
            (Condition::Equal | Condition::NotEqual, _) => warps.push(last),
            (_, Compared::Any) if thread.is_multiple_of(WARP) && last > 0 => warps.extend([last - 1, last]),
            (_, Compared::Any) if next > last => warps.extend([last, next]),
            _ => {}
        }
    }
    warps.retain(|warp| (1..MAX_BLOCK_THREADS / WARP).contains(warp));
    warps.sort_unstable();
    warps.dedup();
    warps
}

fn find_tested_thread_counts(body: &Body<'_>, analyses: &Analyses<'_>) -> Vec<u32> {
    let kernel = TestedKernel {
        body,
        analyses,
        paths: CertainPaths { body, analyses },
    };
    let guards = body
        .instructions
        .iter()
        .enumerate()
        .filter_map(|(at, instruction)| {
            let guard = instruction.guard?;
            Some((InstructionId::new(at), guard.register))
        });
    // With each test, whether its branch alone is conclusive.
    let made: Vec<(u32, bool)> = guards
        .filter_map(|(at, predicate)| {
            let test = kernel.first_thread_with_other_outcome(Value::Register(predicate))?;
            Some((test, kernel.is_reached_without_later_loop(at)))
        })
        .collect();
    let is_of_rounds = |test: u32| {
        let mut apart = made.iter().map(|(other, _)| test.abs_diff(*other));
        apart.any(|apart| apart != 0 && apart.is_multiple_of(LEAST_STEP))
    };
    let telling = made.iter().filter(|(_, tells)| *tells).map(|(test, _)| *test);
    let mut tests: Vec<u32> = telling
        .filter(|test| !test.is_multiple_of(WARP) && !is_of_rounds(*test))
        .collect();
    // In a block of one thread, its number is known.
    let is_number = |value: &Value| matches!(value, Value::Special(Special::Tid(0) | Special::LaneId));
    if body
        .instructions
        .iter()
        .any(|one| body.uses(one).iter().any(is_number))
    {
        tests.push(1);
    }
    tests.sort_unstable();
    tests.dedup();
    tests
}

struct TestedKernel<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    paths: CertainPaths<'a, 'm>,
}

impl TestedKernel<'_, '_> {
    /// The first thread for which a predicate differs from its value for thread 0, if it differs for all later threads, too.
    fn first_thread_with_other_outcome(&self, predicate: Value) -> Option<u32> {
        let constant = self.constant_compared_with(predicate)?;
        let value = |thread: u32| {
            self.threads_of_warp(thread / WARP)
                .value_in_lane(predicate, thread % WARP)
        };
        let first = value(0)?;
        // `<` and `>=` change at the constant, `<=` and `>` after it.
        let beside = [constant, constant.checked_add(1)?].into_iter();
        let mut beside = beside.filter(|k| (1..MAX_BLOCK_THREADS).contains(k));
        beside.find(|&k| {
            value(k - 1) == Some(first)
                && [k, MAX_BLOCK_THREADS - 1]
                    .iter()
                    .all(|&later| value(later) == Some(first ^ 1))
        })
    }

    fn threads_of_warp(&self, warp: u32) -> Threads<'_, '_> {
        Threads::of_warp(self.body, self.analyses, warp)
    }

    /// The constant of the ordering comparison that a predicate is the result of, or the complement of.
    fn constant_compared_with(&self, predicate: Value) -> Option<u32> {
        let (test, _) = self.analyses.source_of_predicate(predicate)?;
        let instruction = self.body.instruction(test);
        let Op::Compare(condition, _, Logic::None) = instruction.op else {
            return None;
        };
        let constant = match *self.body.uses(instruction) {
            [Value::Register(_) | Value::Special(_), Value::Integer(value), ..]
            | [Value::Integer(value), Value::Register(_) | Value::Special(_), ..] => {
                u32::try_from(value).ok()?
            }
            _ => return None,
        };
        let is_order = !matches!(condition, Condition::Equal | Condition::NotEqual);
        (is_order && constant < MAX_BLOCK_THREADS).then_some(constant)
    }

    /// True if thread 0 reaches a test, and no later loop can start from the thread number.
    fn is_reached_without_later_loop(&self, at: InstructionId) -> bool {
        let block = self.body.block_of(at);
        let mut successors = self.body.successors(block).iter();
        self.paths.surely_reaches(&self.threads_of_warp(0), 0, block)
            && !successors.any(|&next| self.guards_loop(block, next))
    }

    /// True if a branch guards a loop: a loop in the code that one of its successors dominates.
    fn guards_loop(&self, branch: BlockId, successor: BlockId) -> bool {
        let dominators = self.analyses.dominators();
        let post = self.analyses.post_dominators();
        if post.dominates(successor, branch) {
            return false;
        }
        let blocks = (0..self.body.blocks.len()).map(BlockId::new);
        blocks
            .filter(|&block| dominators.dominates(successor, block))
            .any(|block| {
                // An edge to a block that dominates its source.
                let mut targets = self.body.successors(block).iter();
                targets.any(|&target| dominators.dominates(target, block))
            })
    }
}
