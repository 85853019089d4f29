//! The path of one warp through a kernel, and the registers that its threads own on the way.
//!
//! ```text
//! decided    a branch that all lanes of the warp take the same known way
//! count      the least and the greatest number of registers that a thread may own before an instruction
//! held       the least number that it may own when it ends
//! free       it may end without having waited for others since its last `setmaxnreg`
//! ```

use ptxcheck_ir::paths::{Paths, taken};
use ptxcheck_ir::{AsyncOp, BlockId, Body, Instruction, InstructionId, MbarrierOp, Op, Value};

use super::steps::{Step, Steps};
use crate::dataflow::{self, Cursor, Solution};
use crate::function::Analyses;
use crate::threads::Threads;

/// The least and the greatest number of registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub least: u64,
    pub most: u64,
}

impl Count {
    pub(super) const fn exactly(number: u64) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    fn join(&mut self, other: Self) -> bool {
        let joined = Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        };
        std::mem::replace(self, joined) != joined
    }
}

/// The known outcomes of the guards that matter in a warp.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Decisions {
    /// By block: the guard of the branch at its end holds.
    branches: Vec<Option<bool>>,
    /// By step: the guard of its instruction holds; true without one.
    steps: Vec<Option<bool>>,
}

/// A kernel with its steps.
#[derive(Clone, Copy)]
pub(super) struct SteppedKernel<'k, 'm> {
    pub body: &'k Body<'m>,
    pub analyses: &'k Analyses<'m>,
    pub steps: &'k Steps,
    /// The registers at the start.
    pub entry: Count,
}

impl SteppedKernel<'_, '_> {
    pub(super) fn decisions(&self, threads: &Threads<'_, '_>) -> Decisions {
        let holds = |instruction: &Instruction| {
            let Some(guard) = instruction.guard else {
                return Some(true);
            };
            let outcomes = threads.value_in_each_lane(Value::Register(guard.register))?;
            let first = outcomes[0] & 1;
            let is_same = outcomes.iter().all(|outcome| outcome & 1 == first);
            is_same.then_some((first == 1) != guard.negated)
        };
        let branch = |block: usize| {
            let last = self.body.terminator(BlockId::new(block))?;
            (last.op == Op::Branch && last.guard.is_some()).then(|| holds(last))?
        };
        let steps = self.steps.all.iter();
        Decisions {
            branches: (0..self.body.blocks.len()).map(branch).collect(),
            steps: steps.map(|step| holds(self.body.instruction(step.at))).collect(),
        }
    }
}

/// The path of a warp.
pub(super) struct WarpPath<'k, 'm> {
    kernel: SteppedKernel<'k, 'm>,
    decisions: &'k Decisions,
}

impl dataflow::Analysis for WarpPath<'_, '_> {
    type State = Count;

    fn entry(&self) -> Count {
        self.kernel.entry
    }

    fn join(&self, into: &mut Count, from: &Count) -> bool {
        into.join(*from)
    }

    fn apply(&self, state: &mut Count, id: InstructionId, _: &Instruction) {
        for step in self.kernel.steps.of_instruction(id) {
            self.apply_step(state, step);
        }
    }

    fn refine_on_edge(&self, _: &mut Count, block: BlockId, number: usize) -> bool {
        match self.decisions.branches[block.index()] {
            Some(takes_first) if self.kernel.body.successors(block).len() == 2 => {
                number == usize::from(!takes_first)
            }
            _ => true,
        }
    }
}

/// The steps that a warp may execute, each with the count before it.
pub(super) type CountsBefore = Vec<Option<Count>>;

impl<'k, 'm> WarpPath<'k, 'm> {
    pub(super) const fn new(kernel: SteppedKernel<'k, 'm>, decisions: &'k Decisions) -> Self {
        Self { kernel, decisions }
    }

    fn outcome_of(&self, step: &Step) -> Option<bool> {
        let first = self.kernel.steps.all.partition_point(|other| other.at < step.at);
        self.decisions.steps.get(first).copied().flatten()
    }

    fn apply_step(&self, state: &mut Count, step: &Step) {
        let set = step.to.map_or(
            Count {
                least: 0,
                most: u64::MAX,
            },
            Count::exactly,
        );
        match self.outcome_of(step) {
            Some(true) => *state = set,
            Some(false) => {}
            None => {
                state.join(set);
            }
        }
    }

    /// The counts on the way; `None` if that is too much work.
    pub(super) fn solve(&self) -> Option<Solution<Count>> {
        dataflow::solve(self.kernel.body, self.kernel.analyses.cfg(), self)
    }

    /// The least number of registers at an end; without an end, at any place.
    pub(super) fn held(&self, solution: &Solution<Count>) -> u64 {
        let mut cursor = Cursor::new(self.kernel.body, self, solution);
        let mut at_ends = None;
        for end in ends(self.kernel.body) {
            if let Some(count) = cursor.state_before(end) {
                at_ends = Some(count.least.min(at_ends.unwrap_or(u64::MAX)));
            }
        }
        at_ends.unwrap_or_else(|| {
            let blocks = (0..self.kernel.body.blocks.len()).map(BlockId::new);
            let starts = blocks.filter_map(|block| solution.state_at_entry(block));
            starts.map(|count| count.least).min().unwrap_or(0)
        })
    }

    /// For each step: the count before it, if the warp may execute it.
    pub(super) fn counts_before(&self, solution: &Solution<Count>) -> CountsBefore {
        let mut cursor = Cursor::new(self.kernel.body, self, solution);
        let steps = &self.kernel.steps.all;
        steps
            .iter()
            .map(|step| {
                if self.outcome_of(step) == Some(false) {
                    return None;
                }
                let mut count = *cursor.state_before(step.at)?;
                let of_call = self.kernel.steps.of_instruction(step.at).iter();
                for earlier in of_call.take_while(|earlier| earlier.site != step.site) {
                    self.apply_step(&mut count, earlier);
                }
                Some(count)
            })
            .collect()
    }

    /// True if it may end without having waited for others since its last step, or since its start if it has none.
    pub(super) fn is_free(&self, before: &CountsBefore, waits: &[bool]) -> bool {
        let body = self.kernel.body;
        let next = |block: BlockId| taken(body, block, self.decisions.branches[block.index()]);
        let paths = Paths::new(body).along(&next).without_marked(waits);
        let executed = || {
            let steps = self.kernel.steps.all.iter().zip(before);
            steps.filter_map(|(step, count)| count.map(|_| step.at))
        };
        ends(body).any(|end| {
            paths.lead_from(&[BlockId::new(0)], end) || executed().any(|step| paths.lead(step, end))
        })
    }
}

/// The instructions at which threads end.
fn ends<'b>(body: &'b Body<'_>) -> impl Iterator<Item = InstructionId> + 'b {
    let ends =
        |(at, one): (InstructionId, &Instruction)| matches!(one.op, Op::Return | Op::Exit).then_some(at);
    body.iter().filter_map(ends)
}

/// By instruction: true for one at which a thread waits for others, or for copies that they may have started.
pub(super) fn waits(body: &Body<'_>) -> Vec<bool> {
    let mut marked: Vec<bool> = body
        .instructions
        .iter()
        .map(|one| matches!(one.op, Op::Barrier(barrier) if barrier.waits) && one.guard.is_none())
        .collect();
    for one in &body.asynchronous {
        if matches!(
            one.op,
            AsyncOp::Mbarrier(MbarrierOp::Wait { .. }) | AsyncOp::ClusterWait
        ) && body.instruction(one.instruction).guard.is_none()
        {
            marked[one.instruction.index()] = true;
        }
    }
    marked
}
