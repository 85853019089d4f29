//! Search for scenarios in which something goes wrong.

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::blocks::block_groups;
use super::finding::{Conditional, SearchScope};
use super::general::generalise;
use super::host_launches::{all_but_definite, is_shown_otherwise, shown_kernel_without_launch};
use super::inputs::{InputClass, InputSearch, Inputs, MaskOrigin};
use super::kernel_search::{Ran, Search, Searched, SearchedKernel, Shown, Trial};
use super::replay::{Replay, ReplayedFailure};
use super::shorten::shortest_witness;
use super::witness::{Memory, Witness};
use crate::analysis::lanes::{Issue, LaneFinding, LaneLayout, Problem, Root, Site};
use crate::analysis::launches::Shape;
use crate::analysis::{Certainty, ModuleAnalyses};
use crate::assumptions::Assumptions;
use crate::ir::InstructionId;
use crate::limits::{
    MAX_IDLE_MEMORY, MAX_RIGHT_GROUPS, MAX_RUNS_ASTRAY, MAX_RUNS_STUCK, MAX_SCENARIOS, MAX_SCENARIOS_ALIKE,
    MAX_SEARCH_STEPS, MORE_RUNS_STUCK,
};

/// The conditional findings of a module, by kernel in the order of the input: of the potential ones that the lane analysis has made,
/// those for which a witness was found.
#[must_use]
pub fn find(module: &ModuleAnalyses<'_>) -> Vec<Conditional> {
    find_assuming(module, &Assumptions::default())
}

/// The same, with witnesses that are as assumed.
#[must_use]
pub fn find_assuming(module: &ModuleAnalyses<'_>, assumptions: &Assumptions) -> Vec<Conditional> {
    search_module(module, assumptions, SearchScope::All).findings
}

/// The same for these collectives, with the kernels in which the search ended at a limit.
#[must_use]
pub fn search_module(
    module: &ModuleAnalyses<'_>,
    assumptions: &Assumptions,
    scope: SearchScope,
) -> Searched<Conditional> {
    let mut searched = Searched::default();
    let is_open = |root: &&Root| {
        let may_be_wrong = || match scope {
            SearchScope::None | SearchScope::Unknown => false,
            SearchScope::All => !open_sites(root).is_empty() || is_shown_otherwise(module, root),
        };
        scope != SearchScope::None && !root.is_unknown && (root.has_unknown || may_be_wrong())
    };
    let roots: Vec<&Root> = module.lanes().iter().filter(is_open).collect();
    if roots.is_empty() {
        return searched;
    }
    let layouts = module.lane_layouts();
    for root in roots {
        if module.module.function(root.function).is_kernel()
            && !module.deadline.is_over()
            && let Some(layout) = layouts.layout_of(root.function)
        {
            let sites = sites_to_try(module, root, &layout, scope);
            let Some(replay) = Replay::new(module, root.function).filter(|_| !sites.is_empty()) else {
                continue;
            };
            let mut search = LaneSearch {
                kernel: SearchedKernel {
                    module,
                    function: root.function,
                    launch: root.launch,
                    layout: &layout,
                    replay,
                    assumed: assumptions.of_function(module.module, root.function),
                    is_cut: Cell::new(false),
                },
                root,
                found: Vec::new(),
            };
            search.search_sites(sites);
            let LaneSearch {
                kernel, mut found, ..
            } = search;
            generalise(&kernel.replay, &kernel.assumed, &mut found);
            searched.findings.append(&mut found);
            if kernel.is_cut.get() {
                searched.cut.push(root.function);
            }
        }
    }
    searched
}

/// The results of the lane analysis with the conditional findings in place of the potential ones at their sites.
#[must_use]
pub fn merge_conditional_findings(roots: &[Root], conditional: &[Conditional]) -> Vec<Root> {
    let merged = roots.iter().map(|root| {
        let own: Vec<&Conditional> = conditional
            .iter()
            .filter(|one| one.function == root.function)
            .collect();
        let is_kept = |found: &&LaneFinding| {
            found.issue.certainty != Certainty::Potential
                || !own.iter().any(|one| one.found.issue.site == found.issue.site)
        };
        let kept = root.findings.iter().filter(is_kept).cloned();
        let found = own.iter().map(|one| one.found.clone());
        Root {
            findings: kept.chain(found).collect(),
            ..*root
        }
    });
    merged.collect()
}

/// The sites with potential findings and no definite one.
fn open_sites(root: &Root) -> BTreeSet<Site> {
    let of = |certainty| {
        let issues = root.findings.iter().map(|found| &found.issue);
        let such =
            issues.filter(move |issue| issue.certainty == certainty && issue.problem != Problem::Stale);
        such.map(|issue| &issue.site)
    };
    let definite: BTreeSet<&Site> = of(Certainty::Definite).collect();
    let potential = of(Certainty::Potential).filter(|site| !definite.contains(site));
    potential.cloned().collect()
}

/// The sites that a witness is searched for: none whose mask somebody else has chosen.
fn sites_to_try(
    module: &ModuleAnalyses<'_>,
    root: &Root,
    layout: &LaneLayout<'_>,
    scope: SearchScope,
) -> BTreeSet<Site> {
    let open = open_sites(root);
    // Nothing was found as operands are not known: those of any collective about which nothing is certain.
    let is_any = scope == SearchScope::Unknown || is_shown_otherwise(module, root) || open.is_empty();
    let mut sites = if is_any {
        all_but_definite(root, layout)
    } else {
        open.clone()
    };
    if scope == SearchScope::Unknown {
        // With a constant mask, the failure is a potential finding, or a known one.
        let is_computed = |site: &Site| InputSearch::mask_origin(module, site) == Some(MaskOrigin::Computed);
        sites.retain(|site| !open.contains(site) && is_computed(site));
    } else {
        sites.retain(|site| InputSearch::mask_origin(module, site) != Some(MaskOrigin::Given));
    }
    sites
}

/// Adds what decides the branches at which lanes part that are missing at a site.
fn add_splits(root: &Root, site: &Site, search: &mut InputSearch<'_>) {
    let issues = root.findings.iter().map(|found| &found.issue);
    let asked = issues.filter(|issue| issue.site == *site);
    for (branch, _) in asked.filter_map(|issue| issue.split.as_ref()) {
        search.add(branch);
    }
}

/// The search for failures of collectives and barriers of one kernel.
struct LaneSearch<'s, 'm> {
    kernel: SearchedKernel<'s, 'm>,
    root: &'s Root,
    found: Vec<Conditional>,
}

/// What is counted while scenarios are tried.
struct Tally {
    /// The place that a failure has to come after.
    first: Option<Place>,
    /// A failure occurs that does not come after that one: it does not follow from the failure found with other blocks.
    is_worse: bool,
    /// Runs since the last one that reached a site of interest.
    astray: usize,
    /// The branch that the last runs ended at, as its way is not known, with their number.
    stuck: Option<(Site, usize)>,
    /// The courses of runs so far.
    courses: FxHashSet<u64>,
    /// The course of the current scenario's run with unknown memory.
    course: u64,
    /// Runs in which the content of memory changed nothing; `None` once it did.
    memory_is_idle: Option<usize>,
}

impl Tally {
    fn new(first: Option<Place>) -> Self {
        Self {
            first,
            is_worse: false,
            astray: 0,
            stuck: None,
            courses: FxHashSet::default(),
            course: 0,
            memory_is_idle: Some(0),
        }
    }
}

impl Tally {
    /// The same with other blocks, after runs that ended at one branch.
    fn after(first: Option<Place>, stuck: Option<(Site, usize)>) -> Self {
        Self {
            stuck: stuck.map(|(site, runs)| (site, runs.min(MAX_RUNS_STUCK - MORE_RUNS_STUCK))),
            ..Self::new(first)
        }
    }

    fn is_stuck(&self) -> bool {
        self.stuck
            .as_ref()
            .is_some_and(|(_, runs)| *runs >= MAX_RUNS_STUCK)
    }

    /// Notes a run that ended at this branch, if it did.
    fn note_end(&mut self, branch: Option<Site>) {
        self.stuck = branch.map(|branch| match self.stuck.take() {
            Some((known, runs)) if known == branch => (known, runs + 1),
            _ => (branch, 1),
        });
    }
}

impl Trial<LaneSearch<'_, '_>> {
    /// The first place in the text of the kernel at which something goes wrong.
    fn first_place_that_goes_wrong(&self) -> Option<Place> {
        self.found.iter().map(|shown| place(&shown.sought)).min()
    }
}

/// Instructions from the kernel's own to the innermost: the order of the text.
type Place = Vec<InstructionId>;

fn place(site: &Site) -> Place {
    let calls = site.callers.iter().rev().map(|call| call.instruction);
    calls.chain([site.instruction]).collect()
}

/// Sites that are searched for together.
type SiteClass = InputClass<Site>;

/// A failure at a site, in the run of a witness.
type Failed = Shown<Site, ReplayedFailure>;

impl Search for LaneSearch<'_, '_> {
    type Sought = Site;
    type Found = ReplayedFailure;
    type Tally = Tally;

    fn kernel(&self) -> &SearchedKernel<'_, '_> {
        &self.kernel
    }

    fn steps(&self) -> u64 {
        MAX_SEARCH_STEPS
    }

    /// Those of the site; where these are too many, those of its own operands and of the branch that splits the warp; where these are, too,
    /// none.
    fn inputs_of(&self, site: &Site) -> Inputs {
        let mut search = InputSearch::new(self.kernel.module);
        search.add(site);
        add_splits(self.root, site, &mut search);
        let near = search.clone().finish();
        search.add_controls(site);
        search.finish().limited_to_few(near)
    }

    fn begin_block(&self, tally: &mut Tally) {
        tally.astray = 0;
        tally.courses.clear();
    }

    fn begin_scenario(&self, tally: &mut Tally) {
        tally.course = 0;
    }

    fn most_scenarios(&self) -> usize {
        MAX_SCENARIOS
    }

    fn news(&self, trial: &Trial<Self>) -> usize {
        trial.tally.courses.len()
    }

    fn idle_after(&self, _runs: usize) -> usize {
        1
    }

    fn is_enough(&self, class: &SiteClass, count: usize, trial: &Trial<Self>) -> bool {
        let is_astray = trial.tally.astray >= MAX_RUNS_ASTRAY || trial.tally.is_stuck();
        let is_idle = is_astray || trial.idle >= MAX_SCENARIOS_ALIKE;
        trial.tally.is_worse || is_idle || count > 0 && trial.open.is_disjoint(&class.decided)
    }

    fn is_memory_idle(&self, tally: &Tally) -> bool {
        tally.memory_is_idle >= Some(MAX_IDLE_MEMORY)
    }

    fn run(&self, witness: &Witness, trial: &mut Trial<Self>) -> Ran {
        let replay = &self.kernel.replay;
        let tally = &mut trial.tally;
        let failures = replay.failures(witness, &trial.open, &tally.courses);
        if witness.memory == Memory::Unknown {
            tally.course = failures.course;
        } else {
            let is_same = failures.course == tally.course;
            tally.memory_is_idle = tally.memory_is_idle.filter(|_| is_same).map(|count| count + 1);
        }
        if failures.is_too_long {
            self.kernel.is_cut.set(true);
        }
        let is_astray = failures.reached.is_empty() || failures.is_too_long;
        tally.astray = if is_astray { tally.astray + 1 } else { 0 };
        tally.note_end(failures.unknown_branch.filter(|_| is_astray));
        tally.courses.insert(failures.course);
        if failures.is_excluded {
            // The code is not meant for these values.
            return Ran::new(failures.is_complete);
        }
        trial.reached.extend(failures.reached);
        for failure in failures.found {
            if !trial.open.contains(&failure.site) {
                continue;
            }
            let first = trial.tally.first.as_ref();
            if first.is_some_and(|first| place(&failure.site) <= *first) {
                trial.tally.is_worse = true;
                return Ran::Last(0);
            }
            let is_another = failure.warp != witness.warp;
            let witness = Witness {
                warp: failure.warp,
                lanes: failure.lanes,
                ..witness.clone()
            };
            // Lanes of the witness's warp are given other values.
            let is_checked = !is_another || witness.loads.iter().all(|load| load.differing.0 == 0);
            let fails = is_checked || replay.violates(&witness, &failure);
            if fails && self.is_failure_of_kernel(&witness, &failure) {
                trial.add(failure.site.clone(), witness, failure);
            }
        }
        if trial.tally.is_stuck() {
            return Ran::Last(1);
        }
        Ran::new(failures.is_complete)
    }
}

impl LaneSearch<'_, '_> {
    /// Searches with the blocks that are stated or required, or with those that the compiled host code shows and the usual ones.
    fn search_sites(&mut self, open: BTreeSet<Site>) {
        let (module, launch) = (self.kernel.module, self.kernel.launch);
        let stated = self.kernel.layout.block_shapes();
        let shown = shown_kernel_without_launch(module, self.kernel.function, &launch);
        // The sites that are of interest with usual blocks, too, where more are tried with those that are shown.
        let is_more = is_shown_otherwise(module, self.root) && !self.root.has_unknown;
        let usual = is_more.then(|| open_sites(self.root));
        for mut class in self.classes(open.into_iter().collect()) {
            if let Some(shown) = shown {
                let sites = class.members.clone();
                let trial = self.try_group(&class, sites, &shown.shapes, None, Tally::new(None));
                // The kernel may be written for these blocks.
                class
                    .members
                    .retain(|site| trial.open.contains(site) && !trial.reached.contains(site));
                if let Some(usual) = &usual {
                    class.members.retain(|site| usual.contains(site));
                }
                self.add_findings(trial.found);
            }
            let found = if !stated.is_empty() {
                self.try_each(&class, &stated, || Tally::new(None))
            } else {
                let reads = module.read_dimensions(self.kernel.function);
                let groups = block_groups(reads, class.inputs.sides, launch.most);
                self.try_groups(&groups, class)
            };
            self.add_findings(found);
        }
    }

    fn add_findings(&mut self, found: Vec<Failed>) {
        for shown in found {
            let finding = self.finding(shown);
            self.found.extend(finding);
        }
    }

    /// The findings with the blocks of one group, if something goes wrong with those of each: the kernel may be written for any of
    /// them. It is taken to be the one with which it gets furthest.
    fn try_groups(&self, groups: &[Vec<Shape>], mut class: SiteClass) -> Vec<Failed> {
        let mut best: Option<Trial<Self>> = None;
        let mut right: Vec<BTreeSet<Site>> = Vec::new();
        let mut stuck = None;
        for group in groups {
            let first = best.as_ref().and_then(Trial::first_place_that_goes_wrong);
            let scenario = best.as_ref().and_then(|best| best.scenario);
            let (sites, tally) = (class.members.clone(), Tally::after(first.clone(), stuck.take()));
            let mut trial = self.try_group(&class, sites, group, scenario, tally);
            stuck = trial.tally.stuck.take();
            if trial.is_cut && trial.found.is_empty() {
                return Vec::new();
            }
            if trial.tally.is_worse {
                continue;
            }
            if trial.found.is_empty() {
                if best.is_none() {
                    // Every site that the kernel reached is right with these blocks.
                    class.members.retain(|site| !trial.reached.contains(site));
                }
                if class.members.is_subset(&trial.reached) {
                    return Vec::new();
                }
                right.push(trial.reached);
                if best.is_none() && right.len() >= MAX_RIGHT_GROUPS {
                    return Vec::new();
                }
            } else if trial.first_place_that_goes_wrong() > first {
                best = Some(trial);
            }
        }
        let found = best.map_or_else(Vec::new, |best| best.found);
        let wrong: BTreeSet<Site> = found.iter().map(|shown| shown.sought.clone()).collect();
        let is_right = right.iter().any(|reached| wrong.is_subset(reached));
        if is_right { Vec::new() } else { found }
    }

    /// True if a run of a witness goes wrong so.
    fn goes_wrong(&self, witness: &Witness, failure: &ReplayedFailure) -> bool {
        self.kernel.replay.violates(witness, failure) && self.is_failure_of_kernel(witness, failure)
    }

    /// True if a failure of a run of a witness is one of the kernel.
    fn is_failure_of_kernel(&self, witness: &Witness, failure: &ReplayedFailure) -> bool {
        // The machine does not say whether the value of a lane that is not there is used; the analysis does.
        failure.problem != Problem::AbsentSource || {
            let root = self.kernel.layout.findings_under(&witness.scenario());
            let found = root.iter().flat_map(|root| &root.findings);
            let mut issues = found.map(|found| &found.issue);
            issues.any(|issue| {
                issue.certainty == Certainty::Definite
                    && (&issue.site, issue.problem) == (&failure.site, failure.problem)
            })
        }
    }

    /// The finding for the failure in a run of a witness.
    fn finding(&self, shown: Failed) -> Option<Conditional> {
        let (kernel, failure) = (&self.kernel, shown.found);
        let witness = shortest_witness(&kernel.replay, shown.witness, |witness| {
            self.goes_wrong(witness, &failure)
        });
        let Some(run) = kernel.replay.steps(&witness, &failure) else {
            kernel.is_cut.set(true);
            return None;
        };
        let root = kernel.layout.findings_under(&witness.scenario())?;
        let mut found = root.findings.iter().map(|found| &found.issue);
        let known = found.find(|issue| issue.site == failure.site && issue.problem == failure.problem);
        let (split, other) = known.map_or((None, None), |issue| (issue.split.clone(), issue.other.clone()));
        // The run names the lanes that read, and the analysis those that they read from.
        let (lanes, here) = match known {
            Some(issue) if failure.problem == Problem::AbsentSource => (issue.lanes, issue.here),
            _ => (failure.lanes, failure.here),
        };
        let mut issue = Issue::new(failure.problem, Certainty::Conditional, failure.site, lanes);
        issue.split = split;
        issue.other = other;
        issue.mask = failure.mask;
        issue.kind = failure.kind;
        issue.here = here;
        Some(Conditional {
            function: kernel.function,
            launch: root.launch,
            found: LaneFinding {
                issue,
                warps: vec![witness.warp],
                are_others_right: false,
                more: 0,
                round: None,
                above: None,
            },
            general: None,
            witness,
            run,
        })
    }
}
