//! The search in one kernel for launches and values with which something goes wrong: what is sought is put into classes that the same inputs
//! decide, and each class is run with blocks, with scenarios of the inputs, and with what these leave open.
//!
//! Its clients are the search for failures of collectives and barriers (`search.rs`) and that for pairs of accesses (`pair_search.rs`). They say
//! which inputs decide, what a run shows, when a run more would show nothing new, and what the blocks of several groups prove together.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::inputs::{InputClass, Inputs};
use super::replay::Replay;
use super::scenarios::{Rest, scenarios};
use super::witness::{Memory, Witness};
use crate::analysis::ModuleAnalyses;
use crate::analysis::lanes::{LaneLayout, Launch};
use crate::analysis::launches::Shape;
use crate::assumptions::Assumed;
use crate::ir::FunctionId;
use crate::limits::MAX_SEARCHED_SITES;

/// The outcome of a search in a module.
pub struct Searched<T> {
    /// The findings, by kernel in the order of the input.
    pub findings: Vec<T>,
    /// The kernels in which the search ended at a limit before it was through, in order.
    pub cut: Vec<FunctionId>,
}

impl<T> Default for Searched<T> {
    fn default() -> Self {
        Self {
            findings: Vec::new(),
            cut: Vec::new(),
        }
    }
}

/// A kernel that is searched.
pub(super) struct SearchedKernel<'s, 'm> {
    pub(super) module: &'s ModuleAnalyses<'m>,
    pub(super) function: FunctionId,
    pub(super) launch: Launch,
    pub(super) layout: &'s LaneLayout<'s>,
    pub(super) replay: Replay<'s>,
    pub(super) assumed: Assumed,
    /// A limit ended a part of the search.
    pub(super) is_cut: Cell<bool>,
}

impl SearchedKernel<'_, '_> {
    /// A scenario with what it leaves open.
    pub(super) fn with_open_inputs(&self, scenario: &Witness, rest: Rest) -> Witness {
        Witness {
            memory: rest.memory,
            order: rest.order,
            ..self.replay.with_all_parameters(scenario, rest.param)
        }
    }
}

/// Something that is sought, as the run of a witness has shown it.
pub(super) struct Shown<S, F> {
    pub(super) sought: S,
    pub(super) witness: Witness,
    pub(super) found: F,
}

/// The outcome of a search with the blocks of a group.
pub(super) struct Trial<S: Search + ?Sized> {
    /// Sites or pairs without a witness.
    pub(super) open: BTreeSet<S::Sought>,
    pub(super) found: Vec<Shown<S::Sought, S::Found>>,
    /// Sites or pairs that threads reached.
    pub(super) reached: BTreeSet<S::Sought>,
    /// The number of the scenario that showed something first.
    pub(super) scenario: Option<usize>,
    /// The search ended before all scenarios were tried.
    pub(super) is_cut: bool,
    /// Number of runs with a block since the last one that showed something new.
    pub(super) idle: usize,
    pub(super) tally: S::Tally,
}

impl<S: Search + ?Sized> Trial<S> {
    /// Keeps what a run has shown.
    pub(super) fn add(&mut self, sought: S::Sought, witness: Witness, found: S::Found) {
        self.open.remove(&sought);
        self.found.push(Shown {
            sought,
            witness,
            found,
        });
    }
}

/// The outcome of a run of a scenario.
#[derive(Clone, Copy)]
pub(super) enum Ran {
    /// The machine refuses its launch.
    Refused,
    /// It reached its end, and no unknown value decided it.
    Whole,
    /// It did not reach its end, or an unknown value decided it.
    Partial,
    /// No more of the scenario is run, which counts as so many runs that show nothing new.
    Last(usize),
}

impl Ran {
    pub(super) const fn new(is_whole: bool) -> Self {
        if is_whole { Self::Whole } else { Self::Partial }
    }
}

/// A search in one kernel.
pub(super) trait Search {
    /// The object of the search: a site or a pair of accesses.
    type Sought: Clone + Ord;
    /// The result of a run for it.
    type Found;
    /// What is counted while the scenarios of a group of blocks are tried.
    type Tally;

    fn kernel(&self) -> &SearchedKernel<'_, '_>;

    /// Most instructions of all runs with the blocks of a group.
    fn steps(&self) -> u64;

    /// The inputs that decide.
    fn inputs_of(&self, sought: &Self::Sought) -> Inputs;

    /// What scenarios leave open, in the order in which it is tried.
    fn values_of_open_inputs(&self) -> Vec<Rest> {
        Rest::of_block()
    }

    /// A scenario with all that it leaves open.
    fn with_open_inputs_filled(&self, scenario: &Witness, rest: Rest, _trial: &Trial<Self>) -> Witness {
        self.kernel().with_open_inputs(scenario, rest)
    }

    /// Orders the scenarios of a block, which come the simplest first.
    fn sort(&self, _scenarios: &mut [Witness]) {}

    /// Called before the scenarios of a block.
    fn begin_block(&self, _tally: &mut Self::Tally) {}

    /// Called before a scenario.
    fn begin_scenario(&self, _tally: &mut Self::Tally) {}

    /// Most scenarios that are tried with the blocks of a group.
    fn most_scenarios(&self) -> usize {
        usize::MAX
    }

    /// A number that grows when a run shows something new.
    fn news(&self, trial: &Trial<Self>) -> usize {
        trial.found.len() + trial.reached.len()
    }

    /// What a scenario with so many runs that shows nothing new counts as in [`Trial::idle`].
    fn idle_after(&self, runs: usize) -> usize {
        runs
    }

    /// True if no further scenario of a block is worth its run; `count`: those that were tried.
    fn is_enough(&self, class: &InputClass<Self::Sought>, count: usize, trial: &Trial<Self>) -> bool;

    /// True if the content of memory has changed nothing for long.
    fn is_memory_idle(&self, _tally: &Self::Tally) -> bool {
        false
    }

    /// Runs a witness, and keeps what it shows.
    fn run(&self, witness: &Witness, trial: &mut Trial<Self>) -> Ran;

    /// What is sought, in classes that depend on the same sides of the block, and on not too many inputs.
    fn classes(&self, sought: Vec<Self::Sought>) -> Vec<InputClass<Self::Sought>> {
        let kernel = self.kernel();
        let mut classes = Vec::new();
        if sought.len() > MAX_SEARCHED_SITES {
            kernel.is_cut.set(true);
        }
        for one in sought.into_iter().take(MAX_SEARCHED_SITES) {
            let is_over = kernel.module.deadline.is_over();
            if is_over || !InputClass::join(&mut classes, one.clone(), &self.inputs_of(&one)) {
                kernel.is_cut.set(true);
            }
            if is_over {
                break;
            }
        }
        classes
    }

    /// Tries one block after the other: of all that is sought, with the first that shows it.
    fn try_each(
        &self,
        class: &InputClass<Self::Sought>,
        blocks: &[Shape],
        tally: impl Fn() -> Self::Tally,
    ) -> Vec<Shown<Self::Sought, Self::Found>> {
        let mut found = Vec::new();
        let mut open = class.members.clone();
        for &block in blocks {
            let mut trial = self.try_group(class, open, &[block], None, tally());
            found.append(&mut trial.found);
            open = trial.open;
        }
        found
    }

    /// Tries scenarios with the blocks of a group until there is enough. `earlier`: the number of the scenario that showed something first
    /// with other blocks, which is tried first.
    fn try_group(
        &self,
        class: &InputClass<Self::Sought>,
        open: BTreeSet<Self::Sought>,
        group: &[Shape],
        earlier: Option<usize>,
        tally: Self::Tally,
    ) -> Trial<Self> {
        let kernel = self.kernel();
        kernel.replay.allow_search(self.steps());
        let mut trial = Trial {
            open,
            found: Vec::new(),
            reached: BTreeSet::new(),
            scenario: None,
            is_cut: false,
            idle: 0,
            tally,
        };
        let mut left = self.most_scenarios();
        for &block in group {
            trial.idle = 0;
            self.begin_block(&mut trial.tally);
            let mut scenarios = scenarios(&class.inputs, block, &kernel.assumed);
            self.sort(&mut scenarios);
            let others = (0..scenarios.len()).filter(|&number| Some(number) != earlier);
            let numbers = earlier.into_iter().chain(others);
            let tried = numbers.filter_map(|number| Some((number, scenarios.get(number)?)));
            for (count, (number, scenario)) in tried.enumerate() {
                if trial.open.is_empty() || self.is_enough(class, count, &trial) {
                    break;
                }
                let is_spent = kernel.replay.is_spent() || kernel.module.deadline.is_over();
                if is_spent || left == 0 {
                    trial.is_cut = true;
                    kernel.is_cut.set(true);
                    return trial;
                }
                left -= 1;
                let (found, news) = (trial.found.len(), self.news(&trial));
                self.begin_scenario(&mut trial.tally);
                let runs = self.try_scenario(scenario, &mut trial);
                let is_idle = self.news(&trial) == news;
                trial.idle = if is_idle {
                    trial.idle + self.idle_after(runs)
                } else {
                    0
                };
                if trial.found.len() > found {
                    trial.scenario = trial.scenario.or(Some(number));
                }
            }
        }
        trial
    }

    /// Runs a scenario; returns the number of runs, or as many as may show nothing new where no more of the block are worth it.
    fn try_scenario(&self, scenario: &Witness, trial: &mut Trial<Self>) -> usize {
        let kernel = self.kernel();
        if !kernel.layout.admits_scenario(&scenario.scenario()) {
            return 1;
        }
        let mut tried: Vec<Witness> = Vec::new();
        let mut is_complete = false;
        for rest in self.values_of_open_inputs() {
            let mut witness = self.with_open_inputs_filled(scenario, rest, trial);
            kernel.assumed.move_into_assumptions(&mut witness.params);
            // No unknown value decided a run that reached its end.
            let is_decided = is_complete || self.is_memory_idle(&trial.tally);
            let is_known = rest.memory != Memory::Unknown && is_decided || tried.contains(&witness);
            if trial.open.is_empty() || is_known || !kernel.assumed.admits(&witness.params) {
                continue;
            }
            let ran = self.run(&witness, trial);
            match ran {
                Ran::Last(runs) => return runs,
                Ran::Refused => {}
                Ran::Whole | Ran::Partial => {
                    if rest.memory == Memory::Unknown {
                        is_complete = matches!(ran, Ran::Whole);
                    }
                    tried.push(witness);
                }
            }
        }
        tried.len()
    }
}
