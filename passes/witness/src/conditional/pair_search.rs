//! Search in one kernel for launches and values with which threads make pairs of accesses: of lanes, of warps, of blocks, and of threads alone,
//! with the arrays, the barriers and the copies that they use.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;

use super::blocks::block_groups;
use super::exchange_runs::{Among, Bounds, Made, Observed, Wanted};
use super::grid_inputs::{neighbouring_loads, pointer_pieces};
use super::host_launches::shown_kernel_without_launch;
use super::inputs::{InputClass, InputSearch, Inputs, Piece};
use super::kernel_search::{Ran, Search, Searched, SearchedKernel, Shown, Trial};
use super::replay::Replay;
use super::scenarios::{MANY_ELEMENTS, Rest};
use super::shorten::shortest_witness;
use super::up_to::UpTo;
use super::witness::{Memory, Witness, WitnessLoad, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{LaneLayouts, Launch, Object, Site};
use crate::analysis::launches::Shape;
use crate::assumptions::Assumptions;
use crate::ir::{FunctionId, Op, WARP};
use crate::limits::{
    MAX_ARRAY_STEPS, MAX_BLOCK_STEPS, MAX_COPY_STEPS, MAX_EXCHANGE_STEPS, MAX_GRID_STEPS,
    MAX_IDLE_EXCHANGE_RUNS, MAX_PROTOCOL_STEPS, MAX_RIGHT_GROUPS,
};
use ptxcheck_machine::{End, Follow, Observer, Outcome, Watched};

/// Numbers of rounds, with their neighbours, with which pipelines of the usual depths reach each slot twice, or not.
const ROUNDS: [i64; 5] = [3, 6, 9, 17, 33];

/// Searches in all kernels of a module. `possible`: the pairs of a variable of a kernel, by kernel.
pub(super) fn search<T>(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
    among: Among,
    possible: Vec<(FunctionId, Launch, Vec<Wanted>)>,
    finding: impl Fn((FunctionId, Launch), ShownVariable) -> T,
) -> Searched<T> {
    let mut searched = Searched::default();
    let possible: Vec<_> = possible
        .into_iter()
        .filter(|(function, _, wanted)| module.module.function(*function).is_kernel() && !wanted.is_empty())
        .collect();
    if possible.is_empty() {
        return searched;
    }
    let of_kernels = || possible.chunk_by(|one, other| one.0 == other.0);
    let kernels = of_kernels().map(|of_kernel| of_kernel[0].0).collect();
    let layouts = LaneLayouts::of_kernels(module, kernels);
    for of_kernel in of_kernels() {
        let (function, launch, _) = of_kernel[0];
        if !module.deadline.is_over()
            && let Some(layout) = layouts.layout_of(function)
            && let Some(replay) = Replay::of_whole(module, function)
        {
            let wanted: Vec<Wanted> = of_kernel
                .iter()
                .flat_map(|(.., wanted)| wanted)
                .cloned()
                .collect();
            let sites = || wanted.iter().flat_map(|one| [&one.write, &one.other]);
            let is_of_grid = among == Among::Grid;
            let search = PairSearch {
                bounds: Bounds::new(module.module, &replay, among, &wanted),
                neighbours: if is_of_grid {
                    neighbouring_loads(module, sites())
                } else {
                    Vec::new()
                },
                pointers: if is_of_grid {
                    pointer_pieces(module, function)
                } else {
                    BTreeSet::new()
                },
                sites: sites().cloned().collect(),
                kernel: SearchedKernel {
                    module,
                    function,
                    launch,
                    layout: &layout,
                    replay,
                    assumed: assumptions.of_function(module.module, function),
                    is_cut: Cell::new(false),
                },
                among,
                protocol: OnceCell::new(),
                wanted,
            };
            let found = search.shown_variables().into_iter();
            searched
                .findings
                .extend(found.map(|shown| finding((function, launch), shown)));
            if search.kernel.is_cut.get() {
                searched.cut.push(function);
            }
        }
    }
    searched
}

/// The search in one kernel.
struct PairSearch<'s, 'm> {
    kernel: SearchedKernel<'s, 'm>,
    /// The pairs that are searched for.
    wanted: Vec<Wanted>,
    bounds: Bounds,
    /// The accesses of all pairs.
    sites: Vec<Site>,
    /// The loads that places in global memory are computed from, and whose own places are loaded: neighbours of a vertex, for example.
    neighbours: Vec<Site>,
    /// The pieces of parameters that addresses in global memory are computed from.
    pointers: BTreeSet<Piece>,
    among: Among,
    /// The inputs that decide about operations on barriers.
    protocol: OnceCell<Inputs>,
}

/// Pairs that are searched for together: their numbers.
type PairClass = InputClass<usize>;

/// The pairs in a variable, with the witness of the first one.
pub(super) struct ShownVariable {
    pub(super) object: Object,
    pub(super) pairs: Vec<Made>,
    pub(super) witness: Witness,
    pub(super) run: WitnessRun,
}

/// A pair that a run of a witness has shown, by its number.
type ShownPair = Shown<usize, Made>;

impl Search for PairSearch<'_, '_> {
    type Sought = usize;
    type Found = Made;
    type Tally = ();

    fn kernel(&self) -> &SearchedKernel<'_, '_> {
        &self.kernel
    }

    fn steps(&self) -> u64 {
        match self.among {
            Among::Lanes => MAX_EXCHANGE_STEPS,
            Among::Warps => MAX_BLOCK_STEPS,
            Among::Array => MAX_ARRAY_STEPS,
            Among::Protocol => MAX_PROTOCOL_STEPS,
            Among::Copies => MAX_COPY_STEPS,
            Among::Grid => MAX_GRID_STEPS,
        }
    }

    fn inputs_of(&self, &number: &usize) -> Inputs {
        let pair = &self.wanted[number];
        if matches!(self.among, Among::Protocol | Among::Copies) {
            return self.inputs_of_protocol().clone();
        }
        let search = InputSearch::new(self.kernel.module);
        let mut places = match self.among {
            Among::Grid => search.with_all_stores(),
            _ => search,
        };
        for site in [&pair.write, &pair.other] {
            places.add_address(site);
        }
        let mut search = places.clone();
        let places = places.finish();
        for site in [&pair.write, &pair.other] {
            search.add(site);
            search.add_controls(site);
        }
        let mut inputs = search.finish();
        let mut places = places;
        if self.among == Among::Grid {
            for inputs in [&mut inputs, &mut places] {
                inputs.loads.clear();
                inputs.params.retain(|piece| !self.pointers.contains(piece));
            }
        }
        let mut inputs = inputs.limited_to_few(places);
        if self.among == Among::Array
            && let Object::Variable(symbol) = pair.object
            && let Some(size) = self.kernel.module.module.symbol(symbol).size
        {
            // One element more than the array has, of the usual sizes.
            let elements = [1, 4, 8].map(|bytes| size / bytes);
            inputs.constants.extend(elements.map(u64::cast_signed));
        }
        if self.among != Among::Lanes && inputs.len() > 0 {
            // Loops over tiles have a second round, whatever the size of a tile is.
            inputs.constants.insert(MANY_ELEMENTS.cast_signed());
        }
        inputs
    }

    fn values_of_open_inputs(&self) -> Vec<Rest> {
        match self.among {
            Among::Lanes | Among::Warps | Among::Array => Rest::of_block(),
            Among::Protocol | Among::Copies => Rest::of_protocol(),
            Among::Grid => Rest::OF_GRID.to_vec(),
        }
    }

    fn with_open_inputs_filled(&self, scenario: &Witness, rest: Rest, trial: &Trial<Self>) -> Witness {
        let mut witness = self.kernel.with_open_inputs(scenario, rest);
        let open = || trial.open.iter().map(|&number| &self.wanted[number]);
        if rest.is_large {
            for pair in open() {
                if !witness.large.contains(&pair.object) {
                    witness.large.push(pair.object);
                }
            }
        }
        if !rest.order.is_of_one_block() {
            let reads = open()
                .find_map(|pair| Some(pair.contended?.blocks))
                .unwrap_or_default();
            if let Some(side) = reads.iter().position(|reads| *reads) {
                witness.grid[side] = 2;
            }
        }
        if rest.memory == Memory::Ascending {
            let (others, differing) = rest.neighbours.numbers();
            let loads = self.neighbours.iter().map(|site| WitnessLoad {
                site: site.clone(),
                others,
                differing,
            });
            witness.loads = loads.collect();
        }
        witness
    }

    fn sort(&self, scenarios: &mut [Witness]) {
        if matches!(self.among, Among::Protocol | Among::Copies) {
            // The first round with which threads wait for ever.
            scenarios.sort_by_key(|scenario| scenario.params.iter().map(|param| param.value).max());
        }
    }

    /// Of threads of different warps, one pair in each variable is enough: one barrier mends them all.
    fn is_enough(&self, _class: &PairClass, _count: usize, trial: &Trial<Self>) -> bool {
        let is_shown = |object: Object| {
            let mut found = trial.found.iter();
            found.any(|shown| self.wanted[shown.sought].object == object)
        };
        let is_all = || {
            let mut open = trial.open.iter();
            open.all(|&number| is_shown(self.wanted[number].object))
        };
        trial.idle >= self.among.idle_runs() || self.among != Among::Lanes && is_all()
    }

    fn run(&self, witness: &Witness, trial: &mut Trial<Self>) -> Ran {
        let Some((outcome, observed)) = self.observed(true, witness) else {
            return Ran::Refused;
        };
        let ran = Ran::new(!outcome.is_unknown());
        match self.among {
            // The kernel is not meant for the block.
            Among::Warps if observed.is_outside => return Ran::Last(MAX_IDLE_EXCHANGE_RUNS),
            Among::Grid | Among::Protocol | Among::Copies if observed.is_outside => return ran,
            _ => {}
        }
        if outcome.has_shifted_beyond || outcome.breaks_assumption {
            return ran;
        }
        let is_accessed = |number: &usize| {
            let wanted = &self.wanted[*number];
            witness.threads() > u64::from(wanted.above)
                && observed.exchanges.is_accessed(&wanted.write)
                && observed.exchanges.is_accessed(&wanted.other)
        };
        let accessed = trial.open.iter().copied().filter(is_accessed);
        trial.reached.extend(accessed);
        let sought: Vec<(usize, &Wanted)> = trial
            .open
            .iter()
            .map(|&number| (number, &self.wanted[number]))
            .collect();
        for (number, made) in self.made_in(witness, &observed, &sought, None, true) {
            let witness = made.witness(witness);
            // Values that differ by lane are those of the witness's warp.
            let is_so = self.among != Among::Lanes
                || witness.warp == 0
                || witness.loads.iter().all(|load| load.differing.0 == 0)
                || self.is_shown(&witness, &self.wanted[number], made.warp());
            if is_so {
                trial.add(number, witness, made);
            }
        }
        // A run that hangs is enough.
        match self.among {
            Among::Protocol if !trial.found.is_empty() => Ran::Last(0),
            _ => ran,
        }
    }
}

impl PairSearch<'_, '_> {
    fn shown_variables(&self) -> Vec<ShownVariable> {
        let classes = self.classes((0..self.wanted.len()).collect());
        let mut shown: Vec<ShownPair> = classes.iter().flat_map(|class| self.try_class(class)).collect();
        shown.sort_by_key(|shown| shown.sought);
        let mut by_object: Vec<(Object, Vec<ShownPair>)> = Vec::new();
        for one in shown {
            let object = self.wanted[one.sought].object;
            match by_object.iter_mut().find(|(known, _)| *known == object) {
                Some((_, shown)) => shown.push(one),
                None => by_object.push((object, vec![one])),
            }
        }
        let found = by_object
            .into_iter()
            .filter_map(|(_, shown)| self.shown_variable(shown));
        found.collect()
    }

    /// True for an asynchronous operation or a barrier.
    fn is_operation(&self, site: &Site) -> bool {
        let body = self.kernel.module.module.function(site.function).body.as_ref();
        body.is_some_and(|body| {
            let is_barrier = matches!(body.instruction(site.instruction).op, Op::Barrier(_));
            is_barrier || body.asynchronous_at(site.instruction).is_some()
        })
    }

    /// The inputs that decide about the operations on barriers of the kernel.
    fn inputs_of_protocol(&self) -> &Inputs {
        self.protocol.get_or_init(|| {
            let mut search = InputSearch::new(self.kernel.module).with_all_stores();
            for site in self.sites.iter().filter(|site| self.is_operation(site)) {
                search.add(site);
                search.add_controls(site);
            }
            let mut inputs = search.finish();
            inputs.loads.clear();
            let mut inputs = inputs.limited_to_few(Inputs::default());
            inputs.constants.extend(ROUNDS);
            inputs
        })
    }

    /// Searches with the blocks that are stated or required, or with those that the compiled host code shows, or with usual ones.
    fn try_class(&self, class: &PairClass) -> Vec<ShownPair> {
        let (kernel, launch) = (&self.kernel, &self.kernel.launch);
        let known = match shown_kernel_without_launch(kernel.module, kernel.function, launch) {
            Some(shown) => shown.shapes.clone(),
            None => kernel.layout.block_shapes(),
        };
        if !known.is_empty() {
            return self.try_each(class, &known, || ());
        }
        let reads = kernel.module.read_dimensions(kernel.function);
        if self.among == Among::Protocol {
            let most = launch.most;
            let most = most.filter(|most| *most > 0 && reads == [false; 2] && most.is_multiple_of(WARP));
            let blocks = most.map(|most| [most, 1, 1]);
            let mut found = self.try_each(class, blocks.as_slice(), || ());
            found.retain(|shown| !self.may_be_meant_for_fewer(&shown.witness));
            return found;
        }
        let groups = block_groups(reads, class.inputs.sides, launch.most);
        self.try_groups(class, &groups)
    }

    /// The pairs that lanes make with the blocks of each group in which they reach both accesses: the kernel may be written for any of
    /// them.
    fn try_groups(&self, class: &PairClass, groups: &[Vec<Shape>]) -> Vec<ShownPair> {
        let mut open = class.members.clone();
        let mut found: Vec<ShownPair> = Vec::new();
        let mut scenario = None;
        for (number, group) in groups.iter().enumerate() {
            if open.is_empty() || found.is_empty() && number >= MAX_RIGHT_GROUPS {
                break;
            }
            let mut trial = self.try_group(class, open.clone(), group, scenario, ());
            scenario = scenario.or(trial.scenario);
            let has = |found: &[ShownPair], pair| found.iter().any(|shown| shown.sought == pair);
            open.retain(|pair| has(&trial.found, *pair) || !(trial.is_cut || trial.reached.contains(pair)));
            // The first witness has the block that is used most.
            trial.found.retain(|shown| !has(&found, shown.sought));
            found.append(&mut trial.found);
        }
        found.retain(|shown| open.contains(&shown.sought));
        found
    }

    /// The outcome of a run of a witness, and what it shows; `None` if the machine refuses its launch.
    fn observed(&self, is_search: bool, witness: &Witness) -> Option<(Outcome, Observed)> {
        let exchanges = self.among.exchanges(&self.sites);
        let mut observed = self.bounds.with_bounds_observed(exchanges);
        let outcome = self.observe(is_search, witness, &mut observed)?;
        let mut observed = observed.finish();
        observed.hang.clone_from(&outcome.hang);
        if let Some(asynchronous) = &outcome.asynchronous {
            observed.failures.clone_from(&asynchronous.firsts);
        }
        Some((outcome, observed))
    }

    fn observe(&self, is_search: bool, witness: &Witness, observer: &mut dyn Observer) -> Option<Outcome> {
        let steps = self.among.thread_steps();
        let follow = match self.among {
            Among::Protocol => Follow::Barriers,
            Among::Copies => Follow::All,
            _ => return self.kernel.replay.observed(is_search, steps, witness, observer),
        };
        self.kernel
            .replay
            .observed_protocol((is_search, steps), follow, witness, observer)
    }

    /// True if a run of a witness with some smaller block ends, and threads wait in it: the kernel may be meant for that.
    fn may_be_meant_for_fewer(&self, witness: &Witness) -> bool {
        (1..witness.block[0] / WARP).any(|warps| {
            let fewer = Witness {
                block: [warps * WARP, 1, 1],
                ..witness.clone()
            };
            let found = self.observed(false, &fewer);
            found.is_some_and(|(outcome, _)| outcome.end == End::Complete && outcome.has_waited)
        })
    }

    /// True if a run of a witness shows a pair, of lanes in this warp.
    fn is_shown(&self, witness: &Witness, wanted: &Wanted, warp: Option<u32>) -> bool {
        let Some((outcome, observed)) = self.observed(false, witness) else {
            return false;
        };
        let is_meant = match self.among {
            Among::Lanes | Among::Array => true,
            Among::Warps | Among::Grid | Among::Protocol | Among::Copies => !observed.is_outside,
        };
        is_meant
            && !outcome.breaks_assumption
            && self.pair_made_in(witness, &observed, wanted, warp).is_some()
    }

    /// The wanted pairs that a run shows, of lanes in some warp or in this one, with their numbers.
    fn made_in(
        &self,
        witness: &Witness,
        observed: &Observed,
        wanted: &[(usize, &Wanted)],
        warp: Option<u32>,
        is_search: bool,
    ) -> Vec<(usize, Made)> {
        if self.among == Among::Array {
            return observed.leaving(wanted);
        }
        if self.among == Among::Copies {
            return observed.failing(wanted);
        }
        if self.among == Among::Protocol {
            return observed.hanging(&self.bounds, wanted);
        }
        let used = |reads: &[Watched]| self.kernel.replay.uses_of_reads(is_search, witness, reads);
        self.among.made(witness, &observed.exchanges, wanted, warp, &used)
    }

    /// A pair that a run of a witness shows.
    fn pair_made_in(
        &self,
        witness: &Witness,
        observed: &Observed,
        wanted: &Wanted,
        warp: Option<u32>,
    ) -> Option<Made> {
        let mut made = self.made_in(witness, observed, &[(0, wanted)], warp, false);
        made.pop().map(|(_, made)| made)
    }

    /// The pairs in a variable, with the witness of the first one.
    fn shown_variable(&self, shown: Vec<ShownPair>) -> Option<ShownVariable> {
        let first = shown.first()?;
        let wanted = &self.wanted[first.sought];
        let warp = first.found.warp();
        let witness = shortest_witness(&self.kernel.replay, first.witness.clone(), |witness| {
            self.is_shown(witness, wanted, warp)
        });
        let (_, observed) = self.observed(false, &witness)?;
        let Some(own) = self.pair_made_in(&witness, &observed, wanted, warp) else {
            self.kernel.is_cut.set(true);
            return None;
        };
        let witness = own.witness(&witness);
        let mut observer = UpTo::new(self.among, &witness, &own);
        self.observe(false, &witness, &mut observer)?;
        let run = observer.steps();
        let object = wanted.object;
        let further = shown.into_iter().skip(1).map(|shown| shown.found);
        Some(ShownVariable {
            object,
            pairs: std::iter::once(own).chain(further).collect(),
            witness,
            run,
        })
    }
}
