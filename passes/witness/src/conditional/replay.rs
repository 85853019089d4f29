//! Replay: a machine runs a witness, under several schedules.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hash};
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::witness::{LARGE, Memory, OBJECT, Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{FixedParam, Lanes, Object, Problem, Site};
use crate::ir::{Collective, FunctionId, Module, Op, Space, SymbolId};
use crate::limits::{
    MAX_CHECK_STEPS, MAX_KERNEL_STEPS, MAX_LONG_RUN_STEPS, MAX_LONG_RUNS, MAX_LONG_THREAD_STEPS,
    MAX_SEARCH_STEPS, MAX_THREAD_STEPS, MAX_USE_THREAD_STEPS,
};
use ptxcheck_common::externs;
use ptxcheck_ir::limits::MAX_INITIAL_BYTES;
use ptxcheck_machine::{
    At, Doing, End, Event, Failure, Follow, Given, Group, Kernel, Launch, Moment, Observer, Outcome, Outside,
    Read, Schedule, Setup, Standing, Stop, Trace, Unknown, Unmodelled, Unobserved, View, WARP, Watched,
    World, Wrong,
};

/// A world with the values of a witness.
pub(super) struct WitnessWorld<'m> {
    module: &'m Module<'m>,
    given: Given,
    /// The content of constant objects, which no witness changes.
    constants: Rc<Constants>,
    /// The content of all other memory that threads share, when the kernel begins.
    memory: Memory,
    /// The addresses of large numbers.
    large: Vec<(u64, u64)>,
}

/// The contents of constant objects: their spaces and addresses, with all their bytes.
#[derive(Default)]
struct Constants(Vec<(Space, u64, Vec<u8>)>);

impl Constants {
    fn new(module: &ModuleAnalyses<'_>, kernel: &Kernel<'_>) -> Self {
        let objects = module.constant_objects().iter().map(|object| {
            let symbol = module.module.symbol(object.symbol);
            let mut bytes = object.bytes.clone();
            // Zeros stand after what the initialiser says.
            let size = symbol.size.and_then(|size| usize::try_from(size).ok());
            if bytes.len() < MAX_INITIAL_BYTES {
                bytes.resize(size.map_or(bytes.len(), |size| size.min(MAX_INITIAL_BYTES)), 0);
            }
            (symbol.space, kernel.address_of(object.symbol), bytes)
        });
        Self(objects.collect())
    }

    /// The value that a read finds in an object, if the address lies in one.
    fn read(&self, read: &Read<'_>) -> Option<u64> {
        self.0.iter().find_map(|(space, start, bytes)| {
            let first = usize::try_from(read.address.checked_sub(*start)?).ok()?;
            let found = bytes.get(first..first.checked_add(read.bytes.into())?)?;
            let word = found
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            (*space == read.space).then_some(word)
        })
    }
}

impl World for WitnessWorld<'_> {
    fn read(&mut self, read: &Read<'_>) -> Option<u64> {
        if let Some(constant) = self.constants.read(read) {
            return Some(constant);
        }
        let is_shared = matches!(read.space, Space::Global | Space::Const) && read.is_initial;
        let known = self.given.read(read);
        let is_large = |(start, end): &(u64, u64)| *start <= read.address && read.address < *end;
        known.or_else(|| {
            if is_shared && self.large.iter().any(is_large) {
                return Some(LARGE);
            }
            self.memory.load(read.address, read.bytes).filter(|_| is_shared)
        })
    }

    fn unmodelled(&mut self, at: &At<'_>, value: Unmodelled) -> Option<u64> {
        self.given.unmodelled(at, value)
    }

    fn outside(&mut self, _at: &At<'_>, callee: SymbolId) -> Outside {
        let name = self.module.symbol(callee).name;
        match name {
            "vprintf" => Outside::Returns,
            "__assertfail" => Outside::Ends,
            _ if externs::is_provided(name) => Outside::Returns,
            _ => Outside::Unknown,
        }
    }
}

/// A kernel that witnesses are run with.
pub(super) struct Replay<'m> {
    module: &'m ModuleAnalyses<'m>,
    kernel: Kernel<'m>,
    /// Instructions that may still be run to find failures.
    steps_left: Cell<u64>,
    /// Those that may still be run for the kernel in all.
    total_left: Cell<u64>,
    /// Those that may still be run with witnesses, to make them small and to show their runs.
    checks_left: Cell<u64>,
    /// Runs that may still go on beyond the usual limit.
    long_runs_left: Cell<u32>,
    /// By 8-byte piece of a parameter that the kernel loads: an address of its own.
    pointers: FxHashMap<(u16, u32), u64>,
    /// The other pieces.
    scalars: FxHashMap<(u16, u32), u8>,
    constants: Rc<Constants>,
}

impl<'m> Replay<'m> {
    /// For what decides where lanes meet, and nothing else; `None` if the machine refuses the kernel.
    pub(super) fn new(module: &'m ModuleAnalyses<'m>, function: FunctionId) -> Option<Self> {
        let kernel = Kernel::new(module.module, function).ok()?.sliced();
        Self::of(module, function, kernel)
    }

    /// For all that the kernel does, accesses to memory among it; `None` if the machine refuses it.
    pub(super) fn of_whole(module: &'m ModuleAnalyses<'m>, function: FunctionId) -> Option<Self> {
        let kernel = Kernel::new(module.module, function).ok()?;
        Self::of(module, function, kernel)
    }

    fn of(module: &'m ModuleAnalyses<'m>, function: FunctionId, kernel: Kernel<'m>) -> Option<Self> {
        let body = module.module.function(function).body.as_ref()?;
        let (mut pointers, mut scalars) = (FxHashMap::default(), FxHashMap::default());
        for instruction in &body.instructions {
            let Some((number, first, bytes)) = body.loaded_param_pieces(instruction) else {
                continue;
            };
            for piece in 0..i32::from(instruction.results) {
                let offset = piece
                    .checked_mul(bytes.into())
                    .and_then(|offset| first.checked_add(offset));
                let Some(offset) = offset.and_then(|offset| u32::try_from(offset).ok()) else {
                    break;
                };
                if bytes == 8 {
                    let next = (pointers.len() as u64 + 1) * OBJECT;
                    pointers.entry((number, offset)).or_insert(next);
                } else {
                    scalars.insert((number, offset), bytes);
                }
            }
        }
        Some(Self {
            module,
            constants: Rc::new(Constants::new(module, &kernel)),
            kernel,
            steps_left: Cell::new(MAX_SEARCH_STEPS),
            total_left: Cell::new(MAX_KERNEL_STEPS),
            checks_left: Cell::new(MAX_CHECK_STEPS),
            long_runs_left: Cell::new(MAX_LONG_RUNS),
            pointers,
            scalars,
        })
    }

    /// A witness with a value for each integer parameter that the kernel loads: `rest` for those that it leaves open.
    pub(super) fn with_all_parameters(&self, witness: &Witness, rest: u64) -> Witness {
        let mut whole = witness.clone();
        for (&(number, offset), &bytes) in &self.scalars {
            let is_there = |param: &FixedParam| (param.number, param.offset) == (number, offset);
            if !whole.params.iter().any(is_there) {
                whole.params.push(FixedParam {
                    number,
                    offset,
                    bytes,
                    value: rest,
                });
            }
        }
        whole.params.sort_unstable();
        whole
    }

    /// Sets the instructions that may be run to find something.
    pub(super) fn allow_search(&self, steps: u64) {
        self.steps_left.set(steps);
    }

    /// The outcome of a run of the search for exchanges, or of the same run for who checks a witness; `None` if the machine refuses the
    /// launch.
    pub(super) fn observed(
        &self,
        is_search: bool,
        thread_steps: u64,
        witness: &Witness,
        observer: &mut dyn Observer,
    ) -> Option<Outcome> {
        let limits = (self.budget(is_search), thread_steps);
        let schedule = witness.order.schedule();
        self.run(limits, witness, schedule, Stop::WhenBroken, observer)
    }

    /// The same, up to where threads wait for ever at barriers with a count or for phases of barriers in memory, which the run follows.
    pub(super) fn observed_protocol(
        &self,
        (is_search, thread_steps): (bool, u64),
        follow: Follow,
        witness: &Witness,
        observer: &mut dyn Observer,
    ) -> Option<Outcome> {
        let setup = |setup| Setup {
            stop: Stop::AtHang,
            follow,
            ..setup
        };
        let limits = (self.budget(is_search), thread_steps);
        let blocks = witness.blocks();
        self.run_with(limits, (witness, &blocks), observer, setup)
    }

    /// The instructions that may still be run to find something, or with witnesses.
    const fn budget(&self, is_search: bool) -> &Cell<u64> {
        if is_search {
            &self.steps_left
        } else {
            &self.checks_left
        }
    }

    /// Of these reads in the same run, those whose values something depends on, a bit for each.
    pub(super) fn uses_of_reads(&self, is_search: bool, witness: &Witness, reads: &[Watched]) -> u32 {
        let setup = |setup| Setup {
            watched: reads,
            ..setup
        };
        let limits = (self.budget(is_search), MAX_USE_THREAD_STEPS);
        let blocks = witness.blocks();
        let outcome = self.run_with(limits, (witness, &blocks), &mut Unobserved, setup);
        outcome.map_or(0, |outcome| outcome.used)
    }

    /// The kernel.
    pub(super) const fn kernel(&self) -> &Kernel<'m> {
        &self.kernel
    }

    /// Sets the instructions that may be run with witnesses.
    pub(super) fn allow_checks(&self, steps: u64) {
        self.checks_left.set(steps);
    }

    /// The number of those that may still be run.
    pub(super) const fn checks_left(&self) -> u64 {
        self.checks_left.get()
    }

    /// True if instructions may still be run to make witnesses small.
    pub(super) const fn may_shorten(&self) -> bool {
        self.checks_left.get() >= MAX_CHECK_STEPS / 2
    }

    /// True if no more instructions may be run.
    pub(super) const fn is_spent(&self) -> bool {
        self.steps_left.get() == 0 || self.total_left.get() == 0
    }

    fn world(&self, witness: &Witness) -> WitnessWorld<'m> {
        let mut given = Given::default();
        let mut set = |number: u16, offset: u32, bytes: u8, value: u64| {
            if let Some(base) = self.kernel.parameter_offset(number) {
                given.parameter(base.saturating_add(u64::from(offset)), bytes, value);
            }
        };
        for (&(number, offset), &address) in &self.pointers {
            set(number, offset, 8, address);
        }
        for param in &witness.params {
            set(param.number, param.offset, param.bytes, param.value);
        }
        for load in &witness.loads {
            let at = &load.site;
            given.load(at.clone(), None, load.others);
            for lane in (0..WARP as u32).filter(|lane| load.differing.0 >> lane & 1 == 1) {
                let thread = witness.warp as usize * WARP + lane as usize;
                match witness.last_block() {
                    Some(block) => given.load_in_block(at.clone(), (block, thread), load.of_lane(lane)),
                    None => given.load(at.clone(), Some(thread), load.of_lane(lane)),
                };
            }
        }
        WitnessWorld {
            module: self.module.module,
            given,
            constants: Rc::clone(&self.constants),
            memory: witness.memory,
            large: witness
                .large
                .iter()
                .flat_map(|&object| self.addresses_of(object))
                .collect(),
        }
    }

    /// The first address of an object in global memory, and the one after its last: of each piece of a parameter.
    fn addresses_of(&self, object: Object) -> Vec<(u64, u64)> {
        match object {
            Object::Variable(symbol) => {
                let start = self.kernel.address_of(symbol);
                let size = self.module.module.symbol(symbol).size.unwrap_or(0);
                vec![(start, start.saturating_add(size))]
            }
            Object::Parameter(number) => {
                let pieces = self.pointers.iter().filter(|((param, _), _)| *param == number);
                pieces.map(|(_, &start)| (start, start + OBJECT)).collect()
            }
            Object::Part(_) => Vec::new(),
        }
    }

    /// The arrays that pointers among the parameters point to.
    pub(super) fn array_count(&self) -> u64 {
        self.pointers.len() as u64
    }

    /// Runs a witness under one schedule, with the remaining budget of instructions, and a limit per thread, on average; `None` if the
    /// machine refuses its launch.
    fn run(
        &self,
        limits: (&Cell<u64>, u64),
        witness: &Witness,
        schedule: Schedule,
        stop: Stop<'_>,
        observer: &mut dyn Observer,
    ) -> Option<Outcome> {
        let setup = |setup| Setup {
            schedule,
            stop,
            ..setup
        };
        self.run_with(limits, (witness, &witness.blocks()), observer, setup)
    }

    /// The same with a setup that is changed; that of a run of the search for exchanges else.
    fn run_with<'a>(
        &'a self,
        (left_over, thread_steps): (&Cell<u64>, u64),
        (witness, blocks): (&Witness, &'a [[u32; 3]]),
        observer: &mut dyn Observer,
        changed: impl FnOnce(Setup<'a>) -> Setup<'a>,
    ) -> Option<Outcome> {
        let (&first, further) = blocks.split_first()?;
        let launch = Launch {
            grid: witness.grid,
            ctaid: first,
            ..Launch::of_block(witness.block)
        };
        let left = left_over.get();
        let steps = launch
            .threads()
            .map_or(0, |threads| (threads * blocks.len()) as u64 * thread_steps);
        let setup = changed(Setup {
            further,
            steps: steps.min(left),
            deadline: self.module.deadline,
            counts_later_rounds: true,
            stop: Stop::WhenBroken,
            ..Setup::new(launch, witness.order.schedule())
        });
        let outcome = self.kernel.run(&setup, &mut self.world(witness), observer).ok()?;
        left_over.set(left.saturating_sub(outcome.steps));
        self.total_left
            .set(self.total_left.get().saturating_sub(outcome.steps));
        Some(outcome)
    }

    /// The failures of runs of a witness, before lanes had waited in vain: once for each site, way to go wrong and warp. `sites`: the
    /// places of interest. `courses`: those of earlier runs, after which another schedule would show nothing new.
    pub(super) fn failures(
        &self,
        witness: &Witness,
        sites: &BTreeSet<Site>,
        courses: &FxHashSet<u64>,
    ) -> Failures {
        let mut failures = Failures {
            is_complete: true,
            ..Failures::default()
        };
        for schedule in [Schedule::First, Schedule::Last] {
            let comes = |outcome: &Option<Outcome>| {
                let reached = outcome.as_ref().map(|outcome| &outcome.reached);
                let is_there = |site| reached.is_some_and(|reached| reached.contains(site));
                sites.iter().any(is_there)
            };
            let before = self.steps_left.get();
            let (mut outcome, mut course) = self.search_run(witness, schedule, MAX_THREAD_STEPS);
            // Not where the search is at its end.
            let is_cut =
                |outcome: &Outcome| outcome.end == End::Unknown(Unknown::Steps) && outcome.steps <= before;
            if outcome.as_ref().is_some_and(is_cut) && comes(&outcome) && self.may_extend_run() {
                (outcome, course) = self.search_run(witness, schedule, MAX_LONG_THREAD_STEPS);
            }
            if schedule == Schedule::First {
                failures.course = course;
            }
            let Some(outcome) = outcome else {
                failures.is_complete = false;
                continue;
            };
            failures.is_complete &= !outcome.is_unknown();
            failures.is_too_long |= outcome.end == End::Unknown(Unknown::Steps);
            failures.unknown_branch = match &outcome.end {
                End::Unknown(Unknown::Branch(branch)) => Some(branch.clone()),
                _ => None,
            };
            failures.is_excluded |= outcome.has_shifted_beyond || outcome.breaks_assumption;
            let reached = sites.iter().filter(|site| outcome.reached.contains(*site));
            failures.reached.extend(reached.cloned());
            for failure in self.replayed_failures(&outcome) {
                if !failures.found.iter().any(|known| known.is_same(&failure)) {
                    failures.found.push(failure);
                }
            }
            // Another run would end at the same place, or go as an earlier one did.
            if failures.reached.is_empty() || courses.contains(&course) {
                break;
            }
        }
        failures
    }

    /// A run of the search, up to where lanes have waited in vain, and its course.
    fn search_run(&self, witness: &Witness, schedule: Schedule, thread_steps: u64) -> (Option<Outcome>, u64) {
        let mut course = Course::default();
        let limits = (&self.steps_left, thread_steps);
        let outcome = self.run(limits, witness, schedule, Stop::WhenBroken, &mut course);
        (outcome, course.finish())
    }

    /// Allows a run more instructions, if that has not been done too often.
    fn may_extend_run(&self) -> bool {
        let left = self.long_runs_left.get();
        self.long_runs_left.set(left.saturating_sub(1));
        if left > 0 {
            self.steps_left.set(MAX_SEARCH_STEPS + MAX_LONG_RUN_STEPS);
        }
        left > 0
    }

    fn replayed_failures(&self, outcome: &Outcome) -> Vec<ReplayedFailure> {
        let failures = outcome.failures.iter();
        let failures = failures.filter(|failure| !failure.is_after_break);
        let is_shown = |failure: &&Failure| {
            failure.wrong != Wrong::Unaligned
                || outcome.end == End::Complete && self.is_ahead(outcome, failure)
        };
        let failures = failures.filter(is_shown);
        failures
            .filter_map(|failure| self.replayed_failure(failure))
            .collect()
    }

    /// True if lanes of the warp wait at a later barrier, which those that wait here reach as well, and in the end some have passed
    /// more barriers than others. Lanes at different barriers that pass as many of them meet on devices from sm_70 on; and compilers
    /// make several barriers of one.
    fn is_ahead(&self, outcome: &Outcome, failure: &Failure) -> bool {
        if !outcome.uneven_warps.contains(&failure.warp) {
            return false;
        }
        let here = &failure.site;
        let Some(body) = self.module.module.function(here.function).body.as_ref() else {
            return false;
        };
        let post = self.module.function(here.function).post_dominators();
        let is_later = |there: &Site| {
            let (from, to) = (body.block_of(here.instruction), body.block_of(there.instruction));
            let is_behind = if from == to {
                there.instruction > here.instruction
            } else {
                post.dominates(to, from)
            };
            (there.function, &there.callers) == (here.function, &here.callers) && is_behind
        };
        let mut groups = failure.lanes_then.iter();
        groups.any(|group| {
            let is_waiting = group.warp == failure.warp && group.standing == Standing::AtBarrier;
            is_waiting && group.site.as_ref().is_some_and(is_later)
        })
    }

    fn replayed_failure(&self, failure: &Failure) -> Option<ReplayedFailure> {
        let body = self.module.module.function(failure.site.function).body.as_ref()?;
        let kind = match body.instruction(failure.site.instruction).op {
            Op::Collective(kind, _) => Some(kind),
            _ => None,
        };
        let of_warp = failure
            .lanes_then
            .iter()
            .filter(|group| group.warp == failure.warp);
        // Lanes that are waited for at a collective, and wait elsewhere themselves: at a barrier, or with the same mask at a
        // collective of another kind.
        let waits_elsewhere = |group: &&Group| match group.standing {
            Standing::AtBarrier => true,
            Standing::Waiting(mask) => {
                Some(mask) == failure.mask && group.site.as_ref() != Some(&failure.site)
            }
            _ => false,
        };
        let elsewhere = of_warp
            .clone()
            .filter(waits_elsewhere)
            .fold(0, |all, group| all | group.lanes & failure.mask.unwrap_or(0));
        let problem = match (failure.wrong, kind) {
            (Wrong::Missing, Some(_)) => Problem::Missing,
            (Wrong::Deadlock, Some(_)) if elsewhere != 0 => Problem::Missing,
            (Wrong::Deadlock, Some(_)) => Problem::DifferentMasks,
            (Wrong::Missing | Wrong::Deadlock | Wrong::Unaligned, None) => Problem::SkippedBarrier,
            (Wrong::NotNamed, _) if failure.mask == Some(0) => Problem::ZeroMask,
            (Wrong::NotNamed, _) => Problem::NotNamed,
            (Wrong::AbsentSource, _) => Problem::AbsentSource,
            _ => return None,
        };
        let alive = of_warp.filter(|group| group.standing != Standing::Ended);
        let is_there = |group: &&Group| group.site.as_ref() == Some(&failure.site);
        // Lanes that the mask of a collective does not name wait there in vain, and not because they skip the barrier.
        let is_unnamed =
            |group: &Group| matches!(group.standing, Standing::Waiting(mask) if mask & group.lanes == 0);
        let mut others = alive.clone().filter(|group| !is_there(group)).peekable();
        if problem == Problem::SkippedBarrier && others.peek().is_some() && others.all(is_unnamed) {
            return None;
        }
        let lanes = |groups: &mut dyn Iterator<Item = &Group>| groups.fold(0, |all, group| all | group.lanes);
        Some(ReplayedFailure {
            problem,
            kind,
            lanes: match (failure.wrong, problem) {
                (Wrong::Deadlock, Problem::Missing) => elsewhere,
                // Those that wait elsewhere.
                (Wrong::Deadlock | Wrong::Unaligned, Problem::SkippedBarrier) => {
                    lanes(&mut alive.clone().filter(|group| !is_there(group)))
                }
                _ => failure.lanes,
            },
            here: lanes(&mut alive.clone().filter(is_there)),
            mask: failure.mask,
            warp: failure.warp,
            site: failure.site.clone(),
        })
    }

    /// True if a failure shows in a run of the witness under one of several schedules: lanes run on their own, so that each of them
    /// may be that of a device.
    pub(super) fn violates(&self, witness: &Witness, failure: &ReplayedFailure) -> bool {
        let mut schedules = schedules(failure).into_iter();
        schedules.any(|schedule| self.violates_under(schedule, witness, failure, &mut Unobserved))
    }

    /// The places that go wrong in runs of a witness, and how, in any warp; `wanted`: those that are asked for.
    pub(super) fn wrong_places(&self, witness: &Witness, wanted: &[(Site, Problem)]) -> Vec<(Site, Problem)> {
        let run = |schedule| {
            let limits = (&self.checks_left, MAX_LONG_THREAD_STEPS);
            self.run(limits, witness, schedule, Stop::WhenBroken, &mut Unobserved)
        };
        let mut places = Vec::new();
        for schedule in [Schedule::First, Schedule::Last] {
            if wanted.iter().all(|place| places.contains(place)) {
                break;
            }
            let failures = run(schedule).map_or_else(Vec::new, |outcome| self.replayed_failures(&outcome));
            places.extend(
                failures
                    .into_iter()
                    .map(|failure| (failure.site, failure.problem)),
            );
        }
        places
    }

    fn violates_under(
        &self,
        schedule: Schedule,
        witness: &Witness,
        failure: &ReplayedFailure,
        observer: &mut dyn Observer,
    ) -> bool {
        let stop = match failure.problem {
            // That lanes part there shows at the end.
            Problem::SkippedBarrier => Stop::WhenBroken,
            _ => Stop::AtFailure(&failure.site, failure.warp),
        };
        let limits = (&self.checks_left, MAX_LONG_THREAD_STEPS);
        let outcome = self.run(limits, witness, schedule, stop, observer);
        let outcome = outcome.filter(|outcome| !outcome.breaks_assumption);
        let failures = outcome.map_or_else(Vec::new, |outcome| self.replayed_failures(&outcome));
        failures.iter().any(|other| other.is_same(failure))
    }

    /// The steps of a run of the witness, up to the failure: those of its warp, and the number of those between that are left out.
    /// `None` where no more instructions may be run.
    pub(super) fn steps(&self, witness: &Witness, failure: &ReplayedFailure) -> Option<WitnessRun> {
        let mut run = WitnessRun::default();
        for schedule in schedules(failure) {
            let mut trace = Trace::of_warp(witness.warp);
            if !self.violates_under(schedule, witness, failure, &mut trace) {
                continue;
            }
            run.left_out = trace.left_out();
            for moment in trace.moments() {
                add_moment(&mut run, moment, false, None);
                let is_failure = matches!(moment.doing, Doing::Fails(_));
                if is_failure && moment.site == failure.site {
                    run.left_out = 0;
                    break;
                }
            }
            run.shorten();
            return Some(run);
        }
        None
    }
}

/// The schedules that a failure may show under.
const fn schedules(failure: &ReplayedFailure) -> [Schedule; 4] {
    [
        Schedule::First,
        Schedule::Last,
        Schedule::Holding(failure.lanes),
        Schedule::Random(1),
    ]
}

impl ReplayedFailure {
    /// True if the same goes wrong in the same warp.
    fn is_same(&self, other: &Self) -> bool {
        (&self.site, self.problem, self.warp) == (&other.site, other.problem, other.warp)
    }
}

/// The outcome of runs of a witness.
#[derive(Default)]
pub(super) struct Failures {
    pub found: Vec<ReplayedFailure>,
    /// The places of interest that threads reached.
    pub reached: BTreeSet<Site>,
    /// Each run reached the end of the kernel.
    pub is_complete: bool,
    /// A run took too many instructions.
    pub is_too_long: bool,
    /// The branch that the last run ended at, as its way is not known.
    pub unknown_branch: Option<Site>,
    /// See [`Course::finish`].
    pub course: u64,
    /// The code is not meant for the values: see [`Outcome::has_shifted_beyond`] and [`Outcome::breaks_assumption`].
    pub is_excluded: bool,
}

/// The course of a run: the ways that branches went, and the lanes that met.
#[derive(Default)]
struct Course(FxHashSet<u64>);

impl Course {
    /// A number that is the same for runs of the same course.
    fn finish(self) -> u64 {
        self.0.into_iter().fold(0, u64::wrapping_add)
    }

    fn add(&mut self, at: &At<'_>, event: impl Hash) {
        self.0
            .insert(FxBuildHasher.hash_one((at.function, at.instruction, event)));
    }
}

impl Observer for Course {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, _view: &View<'_>) {
        match *event {
            Event::Branch(to) => self.add(at, to),
            Event::Arrived(_, mask) => self.add(at, (mask, at.thread % WARP)),
            Event::Met(threads) | Event::Passed(threads) | Event::PassedCounted(_, threads, _) => {
                self.add(at, threads);
            }
            _ => {}
        }
    }
}

/// A failure of a run, in the terms of the lane analysis.
#[derive(Clone, Debug)]
pub(super) struct ReplayedFailure {
    pub problem: Problem,
    /// The collective; `None` for a barrier.
    pub kind: Option<Collective>,
    pub site: Site,
    /// The lanes that it concerns.
    pub lanes: Lanes,
    /// The lanes that are there.
    pub here: Lanes,
    pub mask: Option<Lanes>,
    pub warp: u32,
}

/// Adds a moment of a trace to a run. `is_of_block`: of several warps, which steps name. `block`: the number of the block in the grid, where
/// several run.
pub(super) fn add_moment(run: &mut WitnessRun, moment: &Moment, is_of_block: bool, block: Option<u32>) {
    for &(warp, lanes) in &moment.lanes {
        let warp = is_of_block.then_some(warp);
        run.add(moment.site.clone(), moment.doing, (block, warp), lanes);
    }
}
