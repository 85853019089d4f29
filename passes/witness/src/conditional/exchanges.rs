//! Search for launches and values with which threads exchange values through shared memory with nothing in between that orders them: lanes of
//! a warp, or threads of different warps.
//!
//! ```text
//! possible exchanges, possible missing barriers        analysis::lanes, in shared memory
//!   ─► inputs                   what decides whether threads make the accesses, and parameters that their places are computed from
//!   ─► search                   scenarios, as for other findings about lanes
//!   ─► run of the whole kernel  ptxcheck_machine::Exchanges: the pairs that no meeting of lanes, or no barrier of the block, orders
//!   ─► run again                for threads of different warps: a read counts if something depends on its value
//!   ─► ConditionalExchange, ConditionalBarrier
//! ```
//!
//! Pairs at places that are loaded from memory get no witness: with values that no caller passes (all indices alike) they would meet. Nor do
//! pairs of different warps at places that are computed from parameters: strides that belong together keep the places of threads apart,
//! and others do not. A run in which a thread accesses shared memory beyond its variable shows nothing about warps: the kernel is not meant
//! for such blocks.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use super::exchange_runs::{Among, Bounds, Made, Observed, Wanted};
use super::grid_inputs::{neighbouring_loads, pointer_pieces};
use super::host_launches::shown_kernel_without_launch;
use super::inputs::{InputClass, InputSearch, Inputs, Piece};
use super::replay::Replay;
use super::scenarios::{MANY_ELEMENTS, Rest, scenarios};
use super::shorten::shortest_witness;
use super::up_to::UpTo;
use super::witness::{Memory, Witness, WitnessLoad, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{
    Exchange, LaneLayout, LaneLayouts, Launch, MissingBarrier, Object, PairKind, PossibleExchange, Site,
};
use crate::analysis::launches::Shape;
use crate::assumptions::{Assumed, Assumptions};
use crate::conditional::blocks::block_groups;
use crate::ir::{FunctionId, Op, Space, WARP};
use crate::limits::{
    MAX_ARRAY_STEPS, MAX_BLOCK_STEPS, MAX_COPY_STEPS, MAX_EXCHANGE_STEPS, MAX_GRID_STEPS,
    MAX_IDLE_EXCHANGE_RUNS, MAX_PROTOCOL_STEPS, MAX_RIGHT_GROUPS, MAX_SEARCHED_SITES,
};
use ptxcheck_machine::{End, Follow, Observer, Outcome, Watched};

/// Numbers of rounds, with their neighbours, with which pipelines of the usual depths reach each slot twice, or not.
const ROUNDS: [i64; 5] = [3, 6, 9, 17, 33];

/// An exchange that is made with its witness.
pub struct ConditionalExchange {
    /// The kernel, the memory and the pairs. Of the first pair, the lanes are those of the witness; of the others, those of
    /// witnesses of their own.
    pub found: Exchange,
    /// The launch and the values with which lanes make the first pair.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// A barrier that is missing with its witness.
pub struct ConditionalBarrier {
    /// The kernel, the memory and the pairs. Of the first pair, the threads are those of the witness; of the others, those of
    /// witnesses of their own.
    pub found: MissingBarrier,
    /// The launch and the values with which threads make the first pair.
    pub witness: Witness,
    /// A run with it.
    pub run: WitnessRun,
}

/// The outcome of a search in a module.
pub struct SearchedExchanges<T = ConditionalExchange> {
    /// The findings, by kernel in the order of the input, one for each variable.
    pub findings: Vec<T>,
    /// The kernels in which the search ended at a limit before it was through, in order.
    pub cut: Vec<FunctionId>,
}

impl<T> Default for SearchedExchanges<T> {
    fn default() -> Self {
        Self {
            findings: Vec::new(),
            cut: Vec::new(),
        }
    }
}

/// Searches for witnesses of the possible exchanges of lanes in a module, as far as assumptions allow them.
#[must_use]
pub fn search_exchanges(module: &ModuleAnalyses<'_>, assumptions: &Assumptions) -> SearchedExchanges {
    let possible = module.possible_exchanges().iter().map(|one| {
        let pairs = searchable_pairs(module, one)
            .into_iter()
            .map(|number| &one.pairs[number]);
        let wanted = pairs.map(|pair| Wanted {
            object: one.object,
            write: pair.write.clone(),
            other: pair.other.clone(),
            kind: pair.kind,
            above: 0,
            contended: None,
        });
        (one.function, one.launch, wanted.collect())
    });
    search(
        module,
        assumptions,
        Among::Lanes,
        possible.collect(),
        |(function, launch), shown| {
            let pairs = shown.pairs.into_iter().filter_map(Made::into_pair).collect();
            ConditionalExchange {
                found: Exchange {
                    function,
                    object: shown.object,
                    space: Space::Shared,
                    pairs,
                    launch,
                },
                witness: shown.witness,
                run: shown.run,
            }
        },
    )
}

/// Searches for witnesses of the barriers that a module may lack, as far as assumptions allow them.
#[must_use]
pub fn search_barriers(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
) -> SearchedExchanges<ConditionalBarrier> {
    let possible = module.possible_barriers().iter().map(|one| {
        let of_lanes = |pair: &&crate::analysis::lanes::BlockPair| {
            let mut known = module
                .exchanges()
                .iter()
                .filter(|known| known.function == one.function);
            known.any(|known| {
                let mut pairs = known.pairs.iter();
                pairs.any(|other| (&other.write, &other.other) == (&pair.write, &pair.other))
            })
        };
        let places = |pair: &&crate::analysis::lanes::BlockPair| {
            let params = place_params(module, [&pair.write, &pair.other]);
            params.is_some_and(|params| params.iter().all(BTreeSet::is_empty))
        };
        // What is written back is what others read, in any order.
        let changes = |pair: &&crate::analysis::lanes::BlockPair| {
            let analyses = module.function(pair.write.function);
            pair.kind == PairKind::TwoWrites || !analyses.may_write_back(pair.write.instruction)
        };
        let pairs = one.pairs.iter().filter(places).filter(changes);
        let pairs = pairs.filter(|pair| !of_lanes(pair));
        let wanted = pairs.map(|pair| Wanted {
            object: one.object,
            write: pair.write.clone(),
            other: pair.other.clone(),
            kind: pair.kind,
            above: pair.above.unwrap_or(WARP),
            contended: None,
        });
        (one.function, one.launch, wanted.collect())
    });
    search(
        module,
        assumptions,
        Among::Warps,
        possible.collect(),
        |(function, launch), shown| {
            let pairs = shown
                .pairs
                .into_iter()
                .filter_map(Made::into_block_pair)
                .collect();
            ConditionalBarrier {
                found: MissingBarrier {
                    function,
                    object: shown.object,
                    pairs,
                    launch,
                },
                witness: shown.witness,
                run: shown.run,
            }
        },
    )
}

/// Searches in all kernels of a module. `possible`: the pairs of a variable of a kernel, by kernel.
pub(super) fn search<T>(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
    among: Among,
    possible: Vec<(FunctionId, Launch, Vec<Wanted>)>,
    finding: impl Fn((FunctionId, Launch), ShownVariable) -> T,
) -> SearchedExchanges<T> {
    let mut searched = SearchedExchanges::default();
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
            let search = ExchangeSearch {
                module,
                function,
                launch,
                layout: &layout,
                bounds: Bounds::new(module.module, &replay, among, &wanted),
                neighbours: match among {
                    Among::Grid => {
                        neighbouring_loads(module, wanted.iter().flat_map(|one| [&one.write, &one.other]))
                    }
                    _ => Vec::new(),
                },
                pointers: match among {
                    Among::Grid => pointer_pieces(module, function),
                    _ => BTreeSet::new(),
                },
                sites: wanted
                    .iter()
                    .flat_map(|one| [one.write.clone(), one.other.clone()])
                    .collect(),
                replay,
                assumed: assumptions.of_function(module.module, function),
                among,
                protocol: OnceCell::new(),
                is_cut: Cell::new(false),
            };
            let found = search.shown_variables(&wanted);
            searched
                .findings
                .extend(found.into_iter().map(|shown| finding((function, launch), shown)));
            if search.is_cut.get() {
                searched.cut.push(function);
            }
        }
    }
    searched
}

/// The search in one kernel.
struct ExchangeSearch<'s, 'm> {
    module: &'s ModuleAnalyses<'m>,
    function: FunctionId,
    launch: Launch,
    layout: &'s LaneLayout<'s>,
    bounds: Bounds,
    /// The accesses of all pairs.
    sites: Vec<Site>,
    /// The loads that places in global memory are computed from, and whose own places are loaded: neighbours of a vertex, for example.
    neighbours: Vec<Site>,
    /// The pieces of parameters that addresses in global memory are computed from.
    pointers: BTreeSet<Piece>,
    replay: Replay<'s>,
    assumed: Assumed,
    among: Among,
    /// The inputs that decide about operations on barriers.
    protocol: OnceCell<Inputs>,
    /// A limit ended a part of the search.
    is_cut: Cell<bool>,
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

/// A pair that a run of a witness has shown.
struct Shown {
    witness: Witness,
    made: Made,
}

/// The outcome of a search in a group of blocks.
#[derive(Default)]
struct Trial {
    /// By the number of the pair.
    found: BTreeMap<usize, Shown>,
    /// The pairs of which lanes made both accesses.
    reached: BTreeSet<usize>,
    /// The number of the scenario that showed something first.
    scenario: Option<usize>,
    /// The search ended before all scenarios were tried.
    is_cut: bool,
}

/// The integer parameters that the places of a pair are computed from: that of the write, and that of the other access; `None` if one of
/// them is loaded from memory.
fn place_params(module: &ModuleAnalyses<'_>, [write, other]: [&Site; 2]) -> Option<[BTreeSet<Piece>; 2]> {
    let of = |site| {
        let mut search = InputSearch::new(module);
        search.add_address(site);
        let inputs = search.finish();
        inputs.loads.is_empty().then_some(inputs.params)
    };
    Some([of(write)?, of(other)?])
}

/// The pairs of a variable that a search may show, by their numbers. In shared memory that is sized at launch, arrays lie one after the
/// other, and parameters say where they begin: where a write counts from one, places that count from parameters may be in different
/// arrays. How many elements an array has the code does not say, so that no value of a parameter is one with which they overlap.
#[must_use]
pub fn searchable_pairs(module: &ModuleAnalyses<'_>, exchange: &PossibleExchange) -> Vec<usize> {
    let params: Vec<_> = exchange
        .pairs
        .iter()
        .map(|pair| place_params(module, [&pair.write, &pair.other]))
        .collect();
    let is_dynamic = match exchange.object {
        Object::Variable(symbol) => module.module.symbol(symbol).is_dynamic_shared(),
        Object::Parameter(_) | Object::Part(_) => false,
    };
    let has_arrays = is_dynamic && params.iter().flatten().any(|[write, _]| !write.is_empty());
    let is_searchable = |&number: &usize| {
        let places = params[number].as_ref();
        places.is_some_and(|places| !has_arrays || places.iter().all(BTreeSet::is_empty))
    };
    (0..params.len()).filter(is_searchable).collect()
}

impl ExchangeSearch<'_, '_> {
    fn shown_variables(&self, wanted: &[Wanted]) -> Vec<ShownVariable> {
        let mut shown = BTreeMap::new();
        for class in self.classes_of_pairs(wanted) {
            shown.append(&mut self.try_class(wanted, &class));
        }
        let mut by_object: Vec<(Object, Vec<(&Wanted, Shown)>)> = Vec::new();
        for (number, one) in shown {
            let one = (&wanted[number], one);
            let object = wanted[number].object;
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
        let body = self.module.module.function(site.function).body.as_ref();
        body.is_some_and(|body| {
            let is_barrier = matches!(body.instruction(site.instruction).op, Op::Barrier(_));
            is_barrier || body.asynchronous_at(site.instruction).is_some()
        })
    }

    /// The inputs that decide about the operations on barriers of the kernel.
    fn inputs_of_protocol(&self) -> &Inputs {
        self.protocol.get_or_init(|| {
            let mut search = InputSearch::new(self.module).with_all_stores();
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

    /// The inputs of a pair.
    fn inputs_of(&self, pair: &Wanted) -> Inputs {
        if matches!(self.among, Among::Protocol | Among::Copies) {
            return self.inputs_of_protocol().clone();
        }
        let search = InputSearch::new(self.module);
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
            && let Some(size) = self.module.module.symbol(symbol).size
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

    /// Pairs in classes that depend on the same sides of the block, and on not too many inputs.
    fn classes_of_pairs(&self, wanted: &[Wanted]) -> Vec<PairClass> {
        let mut classes: Vec<PairClass> = Vec::new();
        if wanted.len() > MAX_SEARCHED_SITES {
            self.is_cut.set(true);
        }
        for (number, pair) in wanted.iter().enumerate().take(MAX_SEARCHED_SITES) {
            let own = self.inputs_of(pair);
            if !InputClass::join(&mut classes, number, &own) {
                self.is_cut.set(true);
            }
        }
        classes
    }

    /// Searches with the blocks that are stated or required, or with those that the compiled host code shows, or with usual ones.
    fn try_class(&self, wanted: &[Wanted], class: &PairClass) -> BTreeMap<usize, Shown> {
        let known = match shown_kernel_without_launch(self.module, self.function, &self.launch) {
            Some(shown) => shown.shapes.clone(),
            None => self.layout.block_shapes(),
        };
        if !known.is_empty() {
            let mut found = BTreeMap::new();
            for block in known {
                let open = class.members.iter().copied();
                let open = open.filter(|number| !found.contains_key(number)).collect();
                found.append(&mut self.try_group(wanted, (class, open), &[block], None).found);
            }
            return found;
        }
        let reads = self.module.read_dimensions(self.function);
        if self.among == Among::Protocol {
            let most = self
                .launch
                .most
                .filter(|most| *most > 0 && reads == [false; 2] && most.is_multiple_of(WARP));
            let Some(most) = most else {
                return BTreeMap::new();
            };
            let mut found = self
                .try_group(wanted, (class, class.members.clone()), &[[most, 1, 1]], None)
                .found;
            found.retain(|_, shown| !self.may_be_meant_for_fewer(&shown.witness));
            return found;
        }
        let groups = block_groups(reads, class.inputs.sides, self.launch.most);
        self.try_groups(wanted, class, &groups)
    }

    /// The pairs that lanes make with the blocks of each group in which they reach both accesses: the kernel may be written for any of
    /// them.
    fn try_groups(
        &self,
        wanted: &[Wanted],
        class: &PairClass,
        groups: &[Vec<Shape>],
    ) -> BTreeMap<usize, Shown> {
        let mut open = class.members.clone();
        let mut found: BTreeMap<usize, Shown> = BTreeMap::new();
        let mut scenario = None;
        for (number, group) in groups.iter().enumerate() {
            if open.is_empty() || found.is_empty() && number >= MAX_RIGHT_GROUPS {
                break;
            }
            let mut trial = self.try_group(wanted, (class, open.clone()), group, scenario);
            scenario = scenario.or(trial.scenario);
            open.retain(|pair| {
                trial.found.contains_key(pair) || !(trial.is_cut || trial.reached.contains(pair))
            });
            // The first witness has the block that is used most.
            trial.found.retain(|pair, _| !found.contains_key(pair));
            found.append(&mut trial.found);
        }
        found.retain(|pair, _| open.contains(pair));
        found
    }

    /// Tries scenarios with the blocks of a group, until each pair has a witness. `earlier`: the number of the scenario that showed
    /// something with other blocks.
    fn try_group(
        &self,
        wanted: &[Wanted],
        (class, mut open): (&PairClass, BTreeSet<usize>),
        group: &[Shape],
        earlier: Option<usize>,
    ) -> Trial {
        self.replay.allow_search(match self.among {
            Among::Lanes => MAX_EXCHANGE_STEPS,
            Among::Warps => MAX_BLOCK_STEPS,
            Among::Array => MAX_ARRAY_STEPS,
            Among::Protocol => MAX_PROTOCOL_STEPS,
            Among::Copies => MAX_COPY_STEPS,
            Among::Grid => MAX_GRID_STEPS,
        });
        let mut trial = Trial::default();
        for &block in group {
            let mut scenarios = scenarios(&class.inputs, block, &self.assumed);
            if matches!(self.among, Among::Protocol | Among::Copies) {
                // The first round with which threads wait for ever.
                scenarios.sort_by_key(|scenario| scenario.params.iter().map(|param| param.value).max());
            }
            let numbers = earlier
                .into_iter()
                .chain((0..scenarios.len()).filter(|&number| Some(number) != earlier));
            let mut idle = 0;
            for (number, scenario) in numbers.filter_map(|number| Some((number, scenarios.get(number)?))) {
                let is_enough = open.is_empty() || self.is_enough(wanted, &open, &trial);
                if is_enough || idle >= self.among.idle_runs() {
                    break;
                }
                if self.replay.is_spent() || self.module.deadline.is_over() {
                    trial.is_cut = true;
                    self.is_cut.set(true);
                    return trial;
                }
                let known = (trial.found.len(), trial.reached.len());
                idle += self.try_one(wanted, scenario, &mut open, &mut trial);
                if (trial.found.len(), trial.reached.len()) != known {
                    idle = 0;
                }
                if trial.found.len() > known.0 {
                    trial.scenario = trial.scenario.or(Some(number));
                }
            }
        }
        trial
    }

    /// True if each variable with open pairs of threads of different warps has a pair that a run has shown: one barrier mends them all.
    fn is_enough(&self, wanted: &[Wanted], open: &BTreeSet<usize>, trial: &Trial) -> bool {
        let is_shown = |object: Object| trial.found.keys().any(|&found| wanted[found].object == object);
        self.among != Among::Lanes && open.iter().all(|&number| is_shown(wanted[number].object))
    }

    /// Runs a scenario; returns the number of runs, or as many as may be idle where no more of the block are worth it.
    fn try_one(
        &self,
        wanted: &[Wanted],
        scenario: &Witness,
        open: &mut BTreeSet<usize>,
        trial: &mut Trial,
    ) -> usize {
        if !self.layout.admits_scenario(&scenario.scenario()) {
            return 1;
        }
        let mut tried: Vec<Witness> = Vec::new();
        let mut is_complete = false;
        for rest in self.values_of_open_inputs() {
            let memory = rest.memory;
            let mut witness = self.with_open_inputs_filled(scenario, rest, wanted, open);
            self.assumed.move_into_assumptions(&mut witness.params);
            // No unknown value decided a run that reached its end.
            let is_known = memory != Memory::Unknown && is_complete || tried.contains(&witness);
            // A run that hangs is enough.
            let is_shown = self.among == Among::Protocol && !trial.found.is_empty();
            if is_shown || open.is_empty() || is_known || !self.assumed.admits(&witness.params) {
                continue;
            }
            let Some((outcome, observed)) = self.run(true, &witness) else {
                continue;
            };
            if memory == Memory::Unknown {
                is_complete = !outcome.is_unknown();
            }
            tried.push(witness.clone());
            match self.among {
                // The kernel is not meant for the block.
                Among::Warps if observed.is_outside => return MAX_IDLE_EXCHANGE_RUNS,
                Among::Grid | Among::Protocol | Among::Copies if observed.is_outside => continue,
                _ => {}
            }
            if outcome.has_shifted_beyond || outcome.breaks_assumption {
                continue;
            }
            let is_accessed = |number: &usize| {
                let wanted = &wanted[*number];
                let is_there = |site| observed.exchanges.is_accessed(site);
                witness.threads() > u64::from(wanted.above)
                    && is_there(&wanted.write)
                    && is_there(&wanted.other)
            };
            trial.reached.extend(open.iter().copied().filter(is_accessed));
            let sought: Vec<(usize, &Wanted)> =
                open.iter().map(|&number| (number, &wanted[number])).collect();
            for (number, made) in self.made_in(&witness, &observed, &sought, None, true) {
                let witness = made.witness(&witness);
                // Values that differ by lane are those of the witness's warp.
                let is_so = self.among != Among::Lanes
                    || witness.warp == 0
                    || witness.loads.iter().all(|load| load.differing.0 == 0)
                    || self.is_shown(&witness, &wanted[number], made.warp());
                if is_so {
                    open.remove(&number);
                    trial.found.insert(number, Shown { witness, made });
                }
            }
        }
        tried.len()
    }

    /// The outcome of a run of a witness, and what it shows; `None` if the machine refuses its launch.
    fn run(&self, is_search: bool, witness: &Witness) -> Option<(Outcome, Observed)> {
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
            _ => return self.replay.observed(is_search, steps, witness, observer),
        };
        self.replay
            .observed_protocol((is_search, steps), follow, witness, observer)
    }

    /// True if a run of a witness with some smaller block ends, and threads wait in it: the kernel may be meant for that.
    fn may_be_meant_for_fewer(&self, witness: &Witness) -> bool {
        (1..witness.block[0] / WARP).any(|warps| {
            let fewer = Witness {
                block: [warps * WARP, 1, 1],
                ..witness.clone()
            };
            let found = self.run(false, &fewer);
            found.is_some_and(|(outcome, _)| outcome.end == End::Complete && outcome.has_waited)
        })
    }

    /// What scenarios leave open, in the order in which it is tried.
    fn values_of_open_inputs(&self) -> Vec<Rest> {
        match self.among {
            Among::Lanes | Among::Warps | Among::Array => Rest::of_block(),
            Among::Protocol | Among::Copies => Rest::of_protocol(),
            Among::Grid => Rest::OF_GRID.to_vec(),
        }
    }

    /// A scenario with all that it leaves open.
    fn with_open_inputs_filled(
        &self,
        scenario: &Witness,
        rest: Rest,
        wanted: &[Wanted],
        open: &BTreeSet<usize>,
    ) -> Witness {
        let mut witness = Witness {
            memory: rest.memory,
            order: rest.order,
            ..self.replay.with_all_parameters(scenario, rest.param)
        };
        let open = || open.iter().map(|&number| &wanted[number]);
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

    /// True if a run of a witness shows a pair, of lanes in this warp.
    fn is_shown(&self, witness: &Witness, wanted: &Wanted, warp: Option<u32>) -> bool {
        let Some((outcome, observed)) = self.run(false, witness) else {
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
        let used = |reads: &[Watched]| self.replay.uses_of_reads(is_search, witness, reads);
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
    fn shown_variable(&self, shown: Vec<(&Wanted, Shown)>) -> Option<ShownVariable> {
        let (wanted, first) = shown.first()?;
        let warp = first.made.warp();
        let witness = shortest_witness(&self.replay, first.witness.clone(), |witness| {
            self.is_shown(witness, wanted, warp)
        });
        let (_, observed) = self.run(false, &witness)?;
        let Some(own) = self.pair_made_in(&witness, &observed, wanted, warp) else {
            self.is_cut.set(true);
            return None;
        };
        let witness = own.witness(&witness);
        let mut observer = UpTo::new(self.among, &witness, &own);
        self.observe(false, &witness, &mut observer)?;
        let run = observer.steps();
        let object = wanted.object;
        let further = shown.into_iter().skip(1).map(|(_, shown)| shown.made);
        Some(ShownVariable {
            object,
            pairs: std::iter::once(own).chain(further).collect(),
            witness,
            run,
        })
    }
}
