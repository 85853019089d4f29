//! Search for launches and values with which lanes exchange values through memory with nothing in between that orders them.
//!
//! ```text
//! possible exchanges            analysis::lanes, in shared memory
//!   ─► inputs                   what decides whether lanes make the accesses, and parameters that their places are computed from
//!   ─► search                   scenarios, as for other findings about lanes
//!   ─► run of the whole kernel  ptxcheck_machine::Exchanges: the pairs that no meeting of lanes orders
//!   ─► ConditionalExchange
//! ```
//!
//! Pairs at places that are loaded from memory get no witness: with values that no caller passes (all indices alike) they would meet.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::host_launches::shown;
use super::inputs::{InputClass, InputSearch, Inputs, Piece};
use super::replay::{Replay, add_moment, machine_site};
use super::scenarios::{REST, scenarios};
use super::shorten::smallest;
use super::witness::{Memory, Witness, WitnessRun};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{
    Exchange, LaneLayout, LaneLayouts, Launch, Object, Pair, PairKind, PossibleExchange, PossiblePair,
};
use crate::analysis::launches::Shape;
use crate::assumptions::{Assumed, Assumptions};
use crate::conditional::blocks::groups;
use crate::ir::{FunctionId, Space};
use crate::limits::{MAX_EXCHANGE_STEPS, MAX_IDLE_EXCHANGE_RUNS, MAX_RIGHT_GROUPS, MAX_SEARCHED_SITES};
use ptxcheck_machine::{self as machine, At, Doing, Event, Exchanges, Observer, Trace, View};

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

/// The outcome of the search in a module.
#[derive(Default)]
pub struct SearchedExchanges {
    /// The exchanges, by kernel in the order of the input, one for each variable.
    pub findings: Vec<ConditionalExchange>,
    /// The kernels in which the search ended at a limit before it was through, in order.
    pub cut: Vec<FunctionId>,
}

/// Searches for witnesses of the possible exchanges of a module, as far as assumptions allow them.
#[must_use]
pub fn search_exchanges(module: &ModuleAnalyses<'_>, assumptions: &Assumptions) -> SearchedExchanges {
    let mut searched = SearchedExchanges::default();
    let possible = module.possible_exchanges();
    if possible.is_empty() {
        return searched;
    }
    let of_kernels = || possible.chunk_by(|one, other| one.function == other.function);
    let kernels = of_kernels().map(|of_kernel| of_kernel[0].function).collect();
    let layouts = LaneLayouts::of_kernels(module, kernels);
    for of_kernel in of_kernels() {
        let function = of_kernel[0].function;
        if module.module.function(function).is_kernel()
            && !module.deadline.is_over()
            && let Some(layout) = layouts.layout_of(function)
            && let Some(replay) = Replay::of_whole(module, function)
        {
            let search = ExchangeSearch {
                module,
                function,
                launch: of_kernel[0].launch,
                layout: &layout,
                replay,
                assumed: assumptions.of_function(module.module, function),
                is_cut: Cell::new(false),
            };
            searched.findings.extend(search.run(of_kernel));
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
    replay: Replay<'s>,
    assumed: Assumed,
    /// A limit ended a part of the search.
    is_cut: Cell<bool>,
}

/// A possible pair, in a variable.
type Wanted<'p> = (Object, &'p PossiblePair);

/// Pairs that are searched for together: their numbers.
type PairClass = InputClass<usize>;

/// A pair that a run of a witness has shown.
struct Shown {
    witness: Witness,
    pair: Pair,
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
fn place_params(module: &ModuleAnalyses<'_>, pair: &PossiblePair) -> Option<[BTreeSet<Piece>; 2]> {
    let of = |site| {
        let mut search = InputSearch::new(module);
        search.add_address(site);
        let inputs = search.finish();
        inputs.loads.is_empty().then_some(inputs.params)
    };
    Some([of(&pair.write)?, of(&pair.other)?])
}

/// The pairs of a variable that a search may show, by their numbers. In shared memory that is sized at launch, arrays lie one after the
/// other, and parameters say where they begin: where a write counts from one, places that count from parameters may be in different
/// arrays. How many elements an array has the code does not say, so that no value of a parameter is one with which they overlap.
pub(crate) fn searchable(module: &ModuleAnalyses<'_>, exchange: &PossibleExchange) -> Vec<usize> {
    let params: Vec<_> = exchange
        .pairs
        .iter()
        .map(|pair| place_params(module, pair))
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
    fn run(&self, possible: &[PossibleExchange]) -> Vec<ConditionalExchange> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        for one in possible {
            let pairs = searchable(self.module, one)
                .into_iter()
                .map(|number| &one.pairs[number]);
            wanted.extend(pairs.map(|pair| (one.object, pair)));
        }
        let mut shown = BTreeMap::new();
        for class in self.classes(&wanted) {
            shown.append(&mut self.try_class(&wanted, &class));
        }
        let mut by_object: Vec<(Object, Vec<Shown>)> = Vec::new();
        for (number, one) in shown {
            let object = wanted[number].0;
            match by_object.iter_mut().find(|(known, _)| *known == object) {
                Some((_, shown)) => shown.push(one),
                None => by_object.push((object, vec![one])),
            }
        }
        let found = by_object
            .into_iter()
            .filter_map(|(object, shown)| self.finding(object, shown));
        found.collect()
    }

    /// The inputs of a pair.
    fn inputs_of(&self, pair: &PossiblePair) -> Inputs {
        let mut places = InputSearch::new(self.module);
        for site in [&pair.write, &pair.other] {
            places.add_address(site);
        }
        let mut search = places.clone();
        let places = places.finish();
        for site in [&pair.write, &pair.other] {
            search.add(site);
            search.add_controls(site);
        }
        search.finish().few(places)
    }

    /// Pairs in classes that depend on the same sides of the block, and on not too many inputs.
    fn classes(&self, wanted: &[Wanted<'_>]) -> Vec<PairClass> {
        let mut classes: Vec<PairClass> = Vec::new();
        if wanted.len() > MAX_SEARCHED_SITES {
            self.is_cut.set(true);
        }
        for (number, (_, pair)) in wanted.iter().enumerate().take(MAX_SEARCHED_SITES) {
            let own = self.inputs_of(pair);
            if !InputClass::join(&mut classes, number, &own) {
                self.is_cut.set(true);
            }
        }
        classes
    }

    /// Searches with the blocks that are stated or required, or with those that the compiled host code shows, or with usual ones.
    fn try_class(&self, wanted: &[Wanted<'_>], class: &PairClass) -> BTreeMap<usize, Shown> {
        let known = match shown(self.module, self.function, &self.launch) {
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
        let groups = groups(reads, class.inputs.sides, self.launch.most);
        self.try_groups(wanted, class, &groups)
    }

    /// The pairs that lanes make with the blocks of each group in which they reach both accesses: the kernel may be written for any of
    /// them.
    fn try_groups(
        &self,
        wanted: &[Wanted<'_>],
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
        wanted: &[Wanted<'_>],
        (class, mut open): (&PairClass, BTreeSet<usize>),
        group: &[Shape],
        earlier: Option<usize>,
    ) -> Trial {
        self.replay.allow_search(MAX_EXCHANGE_STEPS);
        let mut trial = Trial::default();
        for &block in group {
            let scenarios = scenarios(&class.inputs, block, &self.assumed);
            let numbers = earlier
                .into_iter()
                .chain((0..scenarios.len()).filter(|&number| Some(number) != earlier));
            let mut idle = 0;
            for (number, scenario) in numbers.filter_map(|number| Some((number, scenarios.get(number)?))) {
                if open.is_empty() || idle >= MAX_IDLE_EXCHANGE_RUNS {
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

    /// Runs a scenario; returns the number of runs.
    fn try_one(
        &self,
        wanted: &[Wanted<'_>],
        scenario: &Witness,
        open: &mut BTreeSet<usize>,
        trial: &mut Trial,
    ) -> usize {
        if !self.layout.admits(&scenario.scenario()) {
            return 1;
        }
        let mut tried: Vec<Witness> = Vec::new();
        let mut is_complete = false;
        for (rest, memory) in REST {
            let mut witness = Witness {
                memory,
                ..self.replay.whole(scenario, rest)
            };
            self.assumed.bound(&mut witness.params);
            // No unknown value decided a run that reached its end.
            let is_known = memory != Memory::Unknown && is_complete || tried.contains(&witness);
            if open.is_empty() || is_known || !self.assumed.admits(&witness.params) {
                continue;
            }
            let Some((outcome, exchanges)) = self.replay.exchanges(&witness) else {
                continue;
            };
            if memory == Memory::Unknown {
                is_complete = !outcome.is_unknown();
            }
            tried.push(witness.clone());
            if outcome.has_shifted_beyond || outcome.breaks_assumption {
                continue;
            }
            let is_accessed = |number: &usize| {
                let pair = wanted[*number].1;
                [&pair.write, &pair.other].map(|site| exchanges.is_accessed(&machine_site(site))) == [true; 2]
            };
            trial.reached.extend(open.iter().copied().filter(is_accessed));
            open.retain(|&number| {
                let Some((warp, pair)) = of_warp(&exchanges, wanted[number].1, None) else {
                    return true;
                };
                let lanes = pair.others;
                let witness = Witness {
                    warp,
                    lanes,
                    ..witness.clone()
                };
                // Values that differ by lane are those of the witness's warp.
                let is_so = warp == 0
                    || witness.loads.iter().all(|load| load.differing.0 == 0)
                    || self.is_shown(&witness, wanted[number].1);
                if is_so {
                    trial.found.insert(number, Shown { witness, pair });
                }
                !is_so
            });
        }
        tried.len()
    }

    /// True if a run of a witness shows a pair in its warp.
    fn is_shown(&self, witness: &Witness, wanted: &PossiblePair) -> bool {
        let mut exchanges = Exchanges::without_atomics();
        let outcome = self.replay.observed(witness, &mut exchanges);
        outcome.is_some_and(|outcome| !outcome.breaks_assumption)
            && of_warp(&exchanges, wanted, Some(witness.warp)).is_some()
    }

    /// The finding of the pairs in a variable, with the witness of the first one.
    fn finding(&self, object: Object, shown: Vec<Shown>) -> Option<ConditionalExchange> {
        let first = shown.first()?;
        let wanted = PossiblePair {
            write: first.pair.write.clone(),
            other: first.pair.other.clone(),
            kind: first.pair.kind,
            is_likely: true,
        };
        let witness = smallest(&self.replay, first.witness.clone(), |witness| {
            self.is_shown(witness, &wanted)
        });
        let mut observer = UpTo::new(&wanted, witness.warp);
        self.replay.observed(&witness, &mut observer)?;
        let own = of_warp(&observer.exchanges, &wanted, Some(witness.warp));
        let Some((_, own)) = own else {
            self.is_cut.set(true);
            return None;
        };
        let run = observer.steps(&own);
        let further = shown.into_iter().skip(1).map(|shown| shown.pair);
        Some(ConditionalExchange {
            found: Exchange {
                function: self.function,
                object,
                space: Space::Shared,
                pairs: std::iter::once(own).chain(further).collect(),
                launch: self.launch,
            },
            witness,
            run,
        })
    }
}

/// A wanted pair that a run shows, in some warp or in this one, and the warp.
fn of_warp(exchanges: &Exchanges, wanted: &PossiblePair, warp: Option<u32>) -> Option<(u32, Pair)> {
    let sites = [machine_site(&wanted.write), machine_site(&wanted.other)];
    let is_store = wanted.kind == PairKind::TwoWrites;
    let mut found = exchanges.found().iter();
    let found = found.find_map(|exchange| {
        if warp.is_some_and(|warp| warp != exchange.warp) {
            return None;
        }
        let is_first_write = match exchange.kind {
            machine::ExchangeKind::TwoWrites => exchange.first == sites[0],
            machine::ExchangeKind::ReadAfterWrite => true,
            machine::ExchangeKind::WriteAfterRead => false,
        };
        let both = if is_first_write {
            [&exchange.first, &exchange.second]
        } else {
            [&exchange.second, &exchange.first]
        };
        let is_it =
            (exchange.kind == machine::ExchangeKind::TwoWrites) == is_store && both == [&sites[0], &sites[1]];
        is_it.then_some((exchange, is_first_write))
    });
    let (exchange, is_first_write) = found?;
    let (first, second) = exchange.example;
    let (writers, others, example) = if is_first_write {
        (exchange.first_lanes, exchange.second_lanes, (first, second))
    } else {
        (exchange.second_lanes, exchange.first_lanes, (second, first))
    };
    // No lane makes both, so that none has one first.
    let kind = match wanted.kind {
        PairKind::WriteAfterRead if writers & others == 0 => PairKind::ReadAfterWrite,
        kind => kind,
    };
    let pair = Pair {
        write: wanted.write.clone(),
        other: wanted.other.clone(),
        kind,
        writers,
        others,
        example,
        is_volatile: exchange.is_volatile,
        is_between_rounds: false,
        is_across_warps: false,
    };
    Some((exchange.warp, pair))
}

/// A run up to a pair.
struct UpTo<'p> {
    wanted: &'p PossiblePair,
    warp: u32,
    trace: Trace,
    exchanges: Exchanges,
    is_there: bool,
    pairs: usize,
}

impl<'p> UpTo<'p> {
    fn new(wanted: &'p PossiblePair, warp: u32) -> Self {
        Self {
            wanted,
            warp,
            trace: Trace::of_warp(warp),
            exchanges: Exchanges::without_atomics(),
            is_there: false,
            pairs: 0,
        }
    }

    /// The steps of the warp up to the pair, and its two accesses, the one that the code has first first.
    fn steps(&self, pair: &Pair) -> WitnessRun {
        let mut run = WitnessRun {
            left_out: self.trace.left_out(),
            ..WitnessRun::default()
        };
        for moment in self.trace.moments() {
            add_moment(&mut run, moment);
        }
        let write = (&pair.write, Doing::Writes, pair.writers);
        let is_store = pair.kind == PairKind::TwoWrites;
        let doing = if is_store { Doing::Writes } else { Doing::Reads };
        let other = (&pair.other, doing, pair.others);
        let both = match pair.kind {
            PairKind::ReadAfterWrite | PairKind::TwoWrites => [write, other],
            PairKind::WriteAfterRead => [other, write],
        };
        for (site, doing, lanes) in both {
            run.add(site.clone(), doing, lanes);
        }
        run.shorten();
        run
    }
}

impl Observer for UpTo<'_> {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
        self.exchanges.on(at, event, view);
        if self.is_there {
            return;
        }
        let pairs = self.exchanges.found().len();
        if pairs > self.pairs {
            self.pairs = pairs;
            self.is_there = of_warp(&self.exchanges, self.wanted, Some(self.warp)).is_some();
        }
        self.trace.on(at, event, view);
    }
}
