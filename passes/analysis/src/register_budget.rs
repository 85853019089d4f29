//! Registers that `setmaxnreg` moves between the warps of a CTA.
//!
//! ```text
//! pool       entry (`entry`) times the threads of the CTA
//! held       by warp: the least number of registers that its threads own when it ends (`warps`)
//! exceeded   Σ held > pool: not all warps can have executed their `setmaxnreg` before one of them ends, and some `inc` waits for that
//! definite   the same of the warps that wait for others before they end: registers of those that do not may be free again
//! direction  `inc` to fewer registers than the warp owns, or `dec` to more, in each warp that may execute it
//! part       lanes of a warp, or warps of a warpgroup, certainly execute one, and others never do, which certainly do something else that
//!            others see
//! refused    a number that ptxas refuses
//! ignored    ptxas leaves it out, because it does not know the number of registers at the start
//! ```
//!
//! Source: PTX ISA, setmaxnreg. Nothing depends on the order in which warps advance: `inc` waits until the pool has enough. In a block of
//! which only the greatest size is known (`.maxntid`), a finding holds above a number of threads. Debug builds leave `setmaxnreg` out
//! (ptxas, C7505).

mod entry;
mod steps;
mod warps;

use std::cell::LazyCell;

use ptxcheck_ir::{
    AccessKind, Body, FunctionId, Instruction, InstructionId, Op, RegisterChange, Space, Value, WARP,
};

use crate::certain_paths::CertainPaths;
use crate::certainty::Certainty;
use crate::entered_function::has_guarded_end;
use crate::lanes::{Lanes, Launch, ShapeSource, Site, Threshold, launches_of};
use crate::launches::Shape;
use crate::shared::Shared;
use crate::thread_ends::{functions_that_may_end_threads, may_end_in_call};
use crate::threads::Threads;
use crate::value::Source;

pub use entry::EntryBound;
use entry::{MAX_REGISTERS, allocated, entry_bound};
use steps::{Step, Steps, functions_with_steps};
use warps::{Count, CountsBefore, Decisions, SteppedKernel, WarpPath, waits};

/// Warps of a warpgroup (PTX ISA, Asynchronous Warpgroup Level Matrix Instructions).
const WARPGROUP: u32 = 4;

/// The least and the greatest number of registers that `setmaxnreg` may name, and the number that it has to be a multiple of.
const NUMBERS: (std::ops::RangeInclusive<u64>, u64) = (24..=256, 8);

/// A problem of a `setmaxnreg`.
#[derive(Clone, Debug)]
pub struct RegisterProblem {
    /// The kernel.
    pub kernel: FunctionId,
    /// The instruction.
    pub site: Site,
    /// Definite or potential.
    pub certainty: Certainty,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
    /// It is so in every block of more threads, and in no block of this size or smaller.
    pub above: Option<Threshold>,
    /// The problem.
    pub issue: RegisterIssue,
}

/// The kinds of problems.
#[derive(Clone, Debug)]
pub enum RegisterIssue {
    /// The warps of a block own more registers than it has.
    Exceeded {
        /// Registers of each thread when the kernel starts.
        entry: u32,
        /// Threads of the block.
        threads: u32,
        /// The registers that its threads own after all `setmaxnreg`, at least.
        held: u64,
        /// The registers of the block.
        pool: u64,
        /// Other `setmaxnreg` of the kernel, with their numbers.
        others: Vec<(Site, RegisterChange, u64)>,
    },
    /// The direction is wrong for the number of registers that the warp owns.
    Direction {
        /// The direction.
        change: RegisterChange,
        /// The number of registers before: the least, or for [`RegisterChange::Lower`] the greatest.
        from: u64,
        /// The number that the instruction names.
        to: u64,
    },
    /// Lanes of a warp execute it, and others of the warp execute none.
    PartOfWarp {
        /// The warp.
        warp: u32,
        /// Those that execute none.
        missing: Lanes,
    },
    /// A warp executes it, and another one of its warpgroup executes none.
    PartOfWarpgroup {
        /// The warp that executes it.
        warp: u32,
        /// The warp that executes none.
        missing: u32,
    },
    /// The number is out of range, or no multiple of 8.
    Refused {
        /// The number.
        number: u64,
    },
    /// It has no effect.
    Ignored {
        /// The reason.
        bound: EntryBound,
    },
}

/// The problems of all kernels, in the order of the input.
pub(crate) fn find_problems(module: &Shared<'_>) -> Vec<RegisterProblem> {
    let has_step = functions_with_steps(module);
    let mut found = Vec::new();
    if has_step.is_empty() {
        return found;
    }
    let ends = LazyCell::new(|| functions_that_may_end_threads(module));
    for (id, function, body) in module.module.bodies() {
        if !function.is_kernel()
            || function.is_damaged
            || !has_step[id.index()]
            || module.deadline.is_over_at_step()
        {
            continue;
        }
        let steps = Steps::of_kernel(module, id, body, &has_step);
        let kernel = BudgetKernel {
            module,
            id,
            body,
            steps: &steps,
            launches: launches_of(module, id, module.reads_other_dimensions(id)),
            bound: entry_bound(&function.launch, module.module.target.sm),
            ends_in_calls: may_end_in_call(module, body, &ends),
        };
        kernel.find(&mut found);
    }
    found
}

/// A kernel with a `setmaxnreg`.
struct BudgetKernel<'a, 'm> {
    module: &'a Shared<'m>,
    id: FunctionId,
    body: &'a Body<'m>,
    steps: &'a Steps,
    launches: Vec<Launch>,
    bound: EntryBound,
    /// Threads may end in a function.
    ends_in_calls: bool,
}

/// The registers of the warps of a block.
struct BlockRegisters {
    /// By warp: the registers that a thread owns when it ends, at least, and whether it may end without having waited for others.
    held: Vec<(u64, bool)>,
    /// By warp: the counts before the steps.
    before: Vec<CountsBefore>,
    /// By warp: its decisions, as their index.
    roles: Vec<usize>,
}

/// The least numbers of registers of the warps of a block of a size.
#[derive(Clone, Copy)]
struct Demand {
    of_all: u64,
    of_waiting: u64,
    pool: u64,
}

impl<'a, 'm> BudgetKernel<'a, 'm> {
    fn find(&self, found: &mut Vec<RegisterProblem>) {
        if self.find_refused_numbers(found) || self.module.module.target.is_debug {
            return;
        }
        let EntryBound::Known { registers, .. } = self.bound else {
            self.find_ignored(found);
            return;
        };
        if !self.steps.are_complete || self.ends_in_calls {
            return;
        }
        self.find_parts(found);
        let raised = self
            .steps
            .all
            .iter()
            .filter(|step| step.change == RegisterChange::Raise);
        let most_raised = raised.map(|step| step.to).max().flatten();
        let is_bound_reached = most_raised.is_none_or(|most| most > u64::from(registers));
        let entry = match is_bound_reached {
            true if registers < MAX_REGISTERS => Count::exactly(registers.into()),
            _ => Count {
                least: 0,
                most: u64::from(allocated(registers)),
            },
        };
        self.find_in_blocks(registers, entry, found);
    }

    fn problem(&self, step: &Step, certainty: Certainty, issue: RegisterIssue) -> RegisterProblem {
        RegisterProblem {
            kernel: self.id,
            site: step.site.clone(),
            certainty,
            launch: Launch::common_launch(&self.module.module.function(self.id).launch, &self.launches),
            above: None,
            issue,
        }
    }

    /// True if there is one.
    fn find_refused_numbers(&self, found: &mut Vec<RegisterProblem>) -> bool {
        let (range, unit) = NUMBERS;
        let known = found.len();
        for step in &self.steps.all {
            if let Some(number) = step.to.filter(|to| !range.contains(to) || to % unit != 0) {
                found.push(self.problem(step, Certainty::Definite, RegisterIssue::Refused { number }));
            }
        }
        found.len() > known
    }

    fn find_ignored(&self, found: &mut Vec<RegisterProblem>) {
        if let Some(step) = self.steps.all.first() {
            let issue = RegisterIssue::Ignored { bound: self.bound };
            found.push(self.problem(step, Certainty::Potential, issue));
        }
    }

    /// The shape of the block in a launch, and its greatest number of threads; `None` if the roles of its warps are not known.
    fn known_block(launch: &Launch) -> Option<(Option<Shape>, u32)> {
        let most = launch.most.filter(|most| most.is_multiple_of(WARP))?;
        let is_exact = launch.shape.is_some() && launch.source != ShapeSource::Bound;
        match launch.shape.filter(|_| is_exact) {
            None if launch.is_multidimensional || launch.shape.is_some() => None,
            shape => Some((shape, most)),
        }
    }

    fn threads_of_warp(&self, warp: u32, block: Option<Shape>) -> Threads<'a, 'm> {
        let source = Source {
            module: Some(self.module),
            ..Source::within_body(self.body, self.module.function(self.id))
        };
        Threads::of_role(source, warp, block)
    }

    /// The registers of the warps of a block; `None` if they are too much work.
    fn registers_of_block(
        &self,
        entry: Count,
        (block, threads): (Option<Shape>, u32),
    ) -> Option<BlockRegisters> {
        let kernel = SteppedKernel {
            body: self.body,
            analyses: self.module.function(self.id),
            steps: self.steps,
            entry,
        };
        let waits = waits(self.body);
        let mut roles: Vec<Decisions> = Vec::new();
        let mut known: Vec<((u64, bool), CountsBefore)> = Vec::new();
        let mut of_block = BlockRegisters {
            held: Vec::new(),
            before: Vec::new(),
            roles: Vec::new(),
        };
        for warp in 0..threads.div_ceil(WARP) {
            let decisions = kernel.decisions(&self.threads_of_warp(warp, block));
            let role = match roles.iter().position(|role| *role == decisions) {
                Some(role) => role,
                None => {
                    if self.module.deadline.is_over_after(self.body.instructions.len()) {
                        return None;
                    }
                    let path = WarpPath::new(kernel, &decisions);
                    let solution = path.solve()?;
                    let before = path.counts_before(&solution);
                    known.push(((path.held(&solution), path.is_free(&before, &waits)), before));
                    roles.push(decisions);
                    roles.len() - 1
                }
            };
            let (held, before) = &known[role];
            of_block.held.push(*held);
            of_block.before.push(before.clone());
            of_block.roles.push(role);
        }
        Some(of_block)
    }

    /// Problems of the numbers that steps name, in the blocks of all launches.
    fn find_in_blocks(&self, registers: u32, entry: Count, found: &mut Vec<RegisterProblem>) {
        let mut blocks = Vec::new();
        for launch in &self.launches {
            let Some(block) = Self::known_block(launch) else {
                return;
            };
            let Some(of_block) = self.registers_of_block(entry, block) else {
                return;
            };
            blocks.push((block, of_block));
        }
        let counts = |number: usize| {
            let warps = blocks.iter().flat_map(|(_, of_block)| &of_block.before);
            warps.filter_map(move |before| before[number])
        };
        for (number, step) in self.steps.all.iter().enumerate() {
            let Some(to) = step.to else { continue };
            let from = match step.change {
                RegisterChange::Raise => counts(number).map(|count| count.least).min(),
                RegisterChange::Lower => counts(number).map(|count| count.most).max(),
            };
            let is_wrong = |from: &u64| match step.change {
                RegisterChange::Raise => to < *from,
                RegisterChange::Lower => to > *from,
            };
            if let Some(from) = from.filter(is_wrong) {
                let change = step.change;
                let issue = RegisterIssue::Direction { change, from, to };
                found.push(self.problem(step, Certainty::Definite, issue));
                return;
            }
        }
        // With fewer registers at the start than the bound, each warp may own as many as the greatest number that is raised to.
        if entry.least != entry.most {
            return;
        }
        let exceeded: Vec<Option<(RegisterProblem, bool)>> = blocks
            .iter()
            .map(|(block, of_block)| self.exceeded(registers, *block, of_block))
            .collect();
        let is_in_all = exceeded.iter().all(Option::is_some);
        let is_definite = exceeded.iter().flatten().all(|(_, is_definite)| *is_definite);
        if let Some((mut problem, _)) = exceeded.into_iter().flatten().next() {
            if !(is_in_all && is_definite) {
                problem.certainty = Certainty::Potential;
            }
            found.push(problem);
        }
    }

    /// The problem of a block whose warps own more registers than it has, and whether that is certain.
    fn exceeded(
        &self,
        registers: u32,
        (block, most): (Option<Shape>, u32),
        of_block: &BlockRegisters,
    ) -> Option<(RegisterProblem, bool)> {
        let demand = |threads: u32| {
            let warps = of_block.held.iter().take(threads.div_ceil(WARP) as usize);
            let of = |counts: fn(&&(u64, bool)) -> bool| {
                let held = warps.clone().filter(counts).map(|(held, _)| held);
                held.sum::<u64>() * u64::from(WARP)
            };
            Demand {
                of_all: of(|_| true),
                of_waiting: of(|(_, is_free)| !is_free),
                pool: u64::from(allocated(registers)) * u64::from(threads.next_multiple_of(WARP)),
            }
        };
        let whole = demand(most);
        let is_definite = whole.of_waiting > whole.pool;
        let is_exceeded = |threads: u32| {
            let demand = demand(threads);
            let held = if is_definite {
                demand.of_waiting
            } else {
                demand.of_all
            };
            held > demand.pool
        };
        if !is_exceeded(most) {
            return None;
        }
        let step = self.raising_step(of_block, registers)?;
        let numbers = |other: &Step| Some((other.site.clone(), other.change, other.to?));
        let others = self.steps.all.iter().filter(|other| other.site != step.site);
        let issue = RegisterIssue::Exceeded {
            entry: registers,
            threads: most,
            held: whole.of_all,
            pool: whole.pool,
            others: others.filter_map(numbers).collect(),
        };
        let mut problem = self.problem(step, Certainty::Definite, issue);
        if block.is_none() {
            let mut sizes = (1..=most / WARP).map(|warps| warps * WARP).rev();
            let least = sizes.find(|threads| !is_exceeded(*threads)).unwrap_or(0);
            problem.above = (least > 0).then(|| Threshold {
                threads: least,
                is_exceeded: self.has_more_threads(of_block, least),
            });
        }
        Some((problem, is_definite))
    }

    /// The first step that some warp may execute to own more registers than at the start.
    fn raising_step(&self, of_block: &BlockRegisters, registers: u32) -> Option<&'a Step> {
        let is_executed = |number: usize| of_block.before.iter().any(|before| before[number].is_some());
        let mut steps = self.steps.all.iter().enumerate();
        let raises = |step: &Step| {
            step.change == RegisterChange::Raise && step.to.is_some_and(|to| to > u64::from(registers))
        };
        let (_, step) = steps.find(|(number, step)| raises(step) && is_executed(*number))?;
        Some(step)
    }

    /// True if the code shows that blocks have more threads: a barrier counts more, or the first warp beyond takes another way than all
    /// before.
    fn has_more_threads(&self, of_block: &BlockRegisters, threads: u32) -> bool {
        let counts_more = |(_, one): (InstructionId, &Instruction)| match one.op {
            Op::Barrier(barrier) if barrier.counted && !barrier.cluster => {
                let count = self.body.uses(one).get(1);
                matches!(count, Some(&Value::Integer(count)) if count > i64::from(threads))
            }
            _ => false,
        };
        let first = (threads / WARP) as usize;
        let role = of_block.roles.get(first);
        role.is_some_and(|role| !of_block.roles[..first].contains(role)) || self.body.iter().any(counts_more)
    }

    /// Steps that a part of a warp, or of a warpgroup, executes.
    fn find_parts(&self, found: &mut Vec<RegisterProblem>) {
        if has_guarded_end(self.body) {
            return;
        }
        let mut known: Option<Vec<RegisterProblem>> = None;
        for launch in &self.launches {
            let Some((block, most)) = Self::known_block(launch) else {
                return;
            };
            let of_launch = self.parts_in_block(block, most);
            // What all launches have in common.
            known = Some(match known {
                None => of_launch,
                Some(mut known) => {
                    known.retain(|one| of_launch.iter().any(|other| other.site == one.site));
                    known
                }
            });
        }
        found.extend(known.unwrap_or_default());
    }

    /// Instructions whose effect others see.
    fn visible_instructions(&self) -> impl Iterator<Item = InstructionId> {
        let is_visible = |op| match op {
            Op::Barrier(_) | Op::Collective(..) => true,
            Op::Access(access) => {
                access.kind != AccessKind::Load && !matches!(access.space, Space::Local | Space::Param)
            }
            _ => false,
        };
        let instructions = self.body.iter().filter(move |(_, one)| is_visible(one.op));
        instructions.map(|(at, _)| at)
    }

    fn parts_in_block(&self, block: Option<Shape>, most: u32) -> Vec<RegisterProblem> {
        let paths = CertainPaths {
            body: self.body,
            analyses: self.module.function(self.id),
        };
        let visible: Vec<InstructionId> = self.visible_instructions().collect();
        let lanes_of = |warp: u32| {
            let existing = most.saturating_sub(warp * WARP).min(WARP);
            0..existing
        };
        let warps = most.div_ceil(WARP);
        let mut found: Vec<RegisterProblem> = Vec::new();
        // By warp: the lanes that execute no step and something else, and the first step that each lane certainly executes.
        let mut executed: Vec<(Lanes, Vec<Option<usize>>)> = Vec::new();
        for warp in 0..warps {
            let threads = self.threads_of_warp(warp, block);
            let mut absent: Lanes = 0;
            let mut surely = Vec::new();
            for lane in lanes_of(warp) {
                if self.module.deadline.is_over_after(self.body.blocks.len()) {
                    return Vec::new();
                }
                let reached = paths.blocks_possibly_reached(&threads, lane);
                let may_execute = |step: &Step| {
                    reached[self.body.block_of(step.at).index()]
                        && paths.guard_holds(&threads, lane, step.at) != Some(false)
                };
                let acts = || {
                    visible
                        .iter()
                        .any(|at| paths.surely_executes(&threads, lane, *at))
                };
                if !self.steps.all.iter().any(may_execute) && acts() {
                    absent |= 1 << lane;
                }
                let certain = |step: &Step| paths.surely_executes(&threads, lane, step.at);
                surely.push(self.steps.all.iter().position(certain));
            }
            executed.push((absent, surely));
        }
        for (warp, &(missing, ref surely)) in (0..).zip(&executed) {
            let Some(&number) = surely.iter().flatten().min() else {
                continue;
            };
            let step = &self.steps.all[number];
            let issue = if missing != 0 {
                RegisterIssue::PartOfWarp { warp, missing }
            } else {
                let group = warp / WARPGROUP * WARPGROUP;
                // Without a known size, blocks have lower warps, and higher ones perhaps.
                let end = if block.is_some() { group + WARPGROUP } else { warp };
                let without = |other: &u32| {
                    let lanes: Lanes = lanes_of(*other).fold(0, |all, lane| all | 1 << lane);
                    let absent = executed.get(*other as usize).map(|(absent, _)| *absent);
                    absent.is_some_and(|absent| absent == lanes && absent != 0)
                };
                let Some(missing) = (group..end).find(without) else {
                    continue;
                };
                RegisterIssue::PartOfWarpgroup { warp, missing }
            };
            if !found.iter().any(|one| one.site == step.site) {
                found.push(self.problem(step, Certainty::Definite, issue));
            }
        }
        found
    }
}
