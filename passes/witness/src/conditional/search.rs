//! Search for scenarios in which something goes wrong.

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::blocks::block_groups;
use super::finding::{Conditional, SearchScope, Searched};
use super::general::generalise;
use super::host_launches::{all_but_definite, is_shown_otherwise, shown_kernel_without_launch};
use super::inputs::{InputClass, InputSearch, Inputs, MaskOrigin};
use super::replay::{Replay, ReplayedFailure};
use super::scenarios::{REST, scenarios};
use super::shorten::shortest_witness;
use super::witness::{Memory, Witness};
use crate::analysis::lanes::{Issue, LaneFinding, LaneLayout, Problem, Root, Site};
use crate::analysis::launches::Shape;
use crate::analysis::{Certainty, ModuleAnalyses};
use crate::assumptions::{Assumed, Assumptions};
use crate::ir::InstructionId;
use crate::limits::{
    MAX_IDLE_MEMORY, MAX_RIGHT_GROUPS, MAX_RUNS_ASTRAY, MAX_SCENARIOS, MAX_SCENARIOS_ALIKE,
    MAX_SEARCHED_SITES,
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
pub fn search_module(module: &ModuleAnalyses<'_>, assumptions: &Assumptions, scope: SearchScope) -> Searched {
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
            let mut search = KernelSearch {
                module,
                root,
                layout: &layout,
                replay,
                assumed: assumptions.of_function(module.module, root.function),
                found: Vec::new(),
                is_cut: Cell::new(false),
            };
            search.search_sites(sites);
            generalise(&search.replay, &search.assumed, &mut search.found);
            searched.findings.append(&mut search.found);
            if search.is_cut.get() {
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

/// The search for scenarios of one kernel.
struct KernelSearch<'s, 'm> {
    module: &'s ModuleAnalyses<'m>,
    root: &'s Root,
    layout: &'s LaneLayout<'s>,
    replay: Replay<'s>,
    assumed: Assumed,
    found: Vec<Conditional>,
    /// A limit ended a part of the search.
    is_cut: Cell<bool>,
}

/// The outcome of a search in a group of blocks.
#[derive(Default)]
struct Trial {
    /// The sites that have no witness.
    open: BTreeSet<Site>,
    found: Vec<(Witness, ReplayedFailure)>,
    /// The number of the scenario in which something went wrong first.
    scenario: Option<usize>,
    /// A failure occurs that does not follow from the failure found with other blocks.
    is_worse: bool,
    /// The sites that threads reached.
    reached: BTreeSet<Site>,
    /// Runs since the last one that reached a site of interest.
    astray: usize,
    /// The courses of runs so far, and the number of scenarios since the last new one.
    courses: FxHashSet<u64>,
    alike: usize,
    /// Runs in which the content of memory changed nothing; `None` once it did.
    memory_is_idle: Option<usize>,
    tries_left: usize,
    /// The search ended before all scenarios were tried.
    is_cut: bool,
}

impl Trial {
    /// The first place in the text of the kernel at which something goes wrong.
    fn first_place_that_goes_wrong(&self) -> Option<Place> {
        self.found.iter().map(|(_, failure)| place(&failure.site)).min()
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

impl KernelSearch<'_, '_> {
    /// The inputs that decide a site; where those are too many, those of its own operands and of the branch that splits the warp; where
    /// these are, too, none.
    fn inputs_of(&self, site: &Site) -> Inputs {
        let mut search = InputSearch::new(self.module);
        search.add(site);
        add_splits(self.root, site, &mut search);
        let near = search.clone().finish();
        search.add_controls(site);
        search.finish().limited_to_few(near)
    }

    /// Sites in classes that depend on the same sides of the block, and on not too many inputs.
    fn classes_of_sites(&self, open: BTreeSet<Site>) -> Vec<SiteClass> {
        let mut classes: Vec<SiteClass> = Vec::new();
        if open.len() > MAX_SEARCHED_SITES {
            self.is_cut.set(true);
        }
        for site in open.into_iter().take(MAX_SEARCHED_SITES) {
            if self.module.deadline.is_over() {
                self.is_cut.set(true);
                break;
            }
            let own = self.inputs_of(&site);
            if !InputClass::join(&mut classes, site, &own) {
                self.is_cut.set(true);
            }
        }
        classes
    }

    /// Searches with the blocks that are stated or required, or with those that the compiled host code shows and the usual ones.
    fn search_sites(&mut self, open: BTreeSet<Site>) {
        let stated = self.layout.block_shapes();
        let shown = shown_kernel_without_launch(self.module, self.root.function, &self.root.launch);
        // The sites that are of interest with usual blocks, too, where more are tried with those that are shown.
        let is_more = is_shown_otherwise(self.module, self.root) && !self.root.has_unknown;
        let usual = is_more.then(|| open_sites(self.root));
        for mut class in self.classes_of_sites(open) {
            if let Some(shown) = shown {
                let trial = self.try_group(&class, &shown.shapes, None, None);
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
                self.try_stated(&stated, class)
            } else {
                let reads = self.module.read_dimensions(self.root.function);
                let groups = block_groups(reads, class.inputs.sides, self.root.launch.most);
                self.try_groups(&groups, class)
            };
            self.add_findings(found);
        }
    }

    fn add_findings(&mut self, found: Vec<(Witness, ReplayedFailure)>) {
        for (witness, failure) in found {
            let finding = self.finding(witness, failure);
            self.found.extend(finding);
        }
    }

    /// The findings with blocks that are stated: of each site, with the first with which something goes wrong there.
    fn try_stated(&self, stated: &[Shape], mut class: SiteClass) -> Vec<(Witness, ReplayedFailure)> {
        let mut found = Vec::new();
        for &block in stated {
            let mut trial = self.try_group(&class, &[block], None, None);
            found.append(&mut trial.found);
            class.members = trial.open;
        }
        found
    }

    /// The findings with the blocks of one group, if something goes wrong with those of each: the kernel may be written for any of
    /// them. It is taken to be the one with which it gets furthest.
    fn try_groups(&self, groups: &[Vec<Shape>], mut class: SiteClass) -> Vec<(Witness, ReplayedFailure)> {
        let mut best: Option<Trial> = None;
        let mut right: Vec<BTreeSet<Site>> = Vec::new();
        for group in groups {
            let first = best.as_ref().and_then(Trial::first_place_that_goes_wrong);
            let scenario = best.as_ref().and_then(|best| best.scenario);
            let trial = self.try_group(&class, group, first.as_ref(), scenario);
            if trial.is_cut && trial.found.is_empty() {
                return Vec::new();
            }
            if trial.is_worse {
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
        let wrong: BTreeSet<Site> = found.iter().map(|(_, failure)| failure.site.clone()).collect();
        let is_right = right.iter().any(|reached| wrong.is_subset(reached));
        if is_right { Vec::new() } else { found }
    }

    /// Tries scenarios with the blocks of a group, until each site has a witness, or a failure is found that does not come after `first`.
    /// `earlier`: the number of the scenario in which something went wrong with other blocks.
    fn try_group(
        &self,
        class: &SiteClass,
        group: &[Shape],
        first: Option<&Place>,
        earlier: Option<usize>,
    ) -> Trial {
        self.replay.refill();
        let mut trial = Trial {
            open: class.members.clone(),
            tries_left: MAX_SCENARIOS,
            memory_is_idle: Some(0),
            ..Trial::default()
        };
        for &block in group {
            (trial.astray, trial.alike) = (0, 0);
            trial.courses.clear();
            let scenarios = scenarios(&class.inputs, block, &self.assumed);
            // First the scenario that goes wrong with other blocks.
            let numbers = earlier
                .into_iter()
                .chain((0..scenarios.len()).filter(|&number| Some(number) != earlier));
            let tried = numbers.filter_map(|number| Some((number, scenarios.get(number)?)));
            for (count, (number, witness)) in tried.enumerate() {
                let is_idle = trial.astray >= MAX_RUNS_ASTRAY || trial.alike >= MAX_SCENARIOS_ALIKE;
                let is_decided = count > 0 && trial.open.is_disjoint(&class.decided);
                if trial.open.is_empty() || trial.is_worse || is_idle || is_decided {
                    break;
                }
                if trial.tries_left == 0 || self.replay.is_spent() || self.module.deadline.is_over() {
                    trial.is_cut = true;
                    self.is_cut.set(true);
                    return trial;
                }
                trial.tries_left -= 1;
                let known = trial.courses.len();
                let found = trial.found.len();
                self.try_one(witness, first, &mut trial);
                if found == 0 && trial.found.len() > found {
                    trial.scenario = Some(number);
                }
                trial.alike = if trial.courses.len() > known {
                    0
                } else {
                    trial.alike + 1
                };
            }
        }
        trial
    }

    fn try_one(&self, witness: &Witness, first: Option<&Place>, trial: &mut Trial) {
        if !self.layout.admits_scenario(&witness.scenario()) {
            return;
        }
        let mut tried: Vec<Witness> = Vec::new();
        let (mut is_complete, mut course) = (false, 0);
        for (rest, memory) in REST {
            let mut witness = Witness {
                memory,
                ..self.replay.with_all_parameters(witness, rest)
            };
            self.assumed.move_into_assumptions(&mut witness.params);
            // No unknown value decided a run that reached its end.
            let is_decided = is_complete || trial.memory_is_idle >= Some(MAX_IDLE_MEMORY);
            let is_known = memory != Memory::Unknown && is_decided || tried.contains(&witness);
            if trial.open.is_empty() || is_known || !self.assumed.admits(&witness.params) {
                continue;
            }
            let failures = self.replay.failures(&witness, &trial.open, &trial.courses);
            if memory != Memory::Unknown {
                let is_same = failures.course == course;
                trial.memory_is_idle = trial.memory_is_idle.filter(|_| is_same).map(|count| count + 1);
            }
            if memory == Memory::Unknown {
                (is_complete, course) = (failures.is_complete, failures.course);
            }
            if failures.is_too_long {
                self.is_cut.set(true);
            }
            let is_astray = failures.reached.is_empty() || failures.is_too_long;
            trial.astray = if is_astray { trial.astray + 1 } else { 0 };
            trial.courses.insert(failures.course);
            tried.push(witness.clone());
            if failures.is_excluded {
                // The code is not meant for these values.
                continue;
            }
            trial.reached.extend(failures.reached);
            for failure in failures.found {
                if !trial.open.contains(&failure.site) {
                    continue;
                }
                if first.is_some_and(|first| place(&failure.site) <= *first) {
                    trial.is_worse = true;
                    return;
                }
                let is_another = failure.warp != witness.warp;
                let witness = Witness {
                    warp: failure.warp,
                    lanes: failure.lanes,
                    ..witness.clone()
                };
                // Lanes of the witness's warp are given other values.
                let is_checked = !is_another || witness.loads.iter().all(|load| load.differing.0 == 0);
                let fails = is_checked || self.replay.violates(&witness, &failure);
                if fails && self.is_failure_of_kernel(&witness, &failure) {
                    trial.open.remove(&failure.site);
                    trial.found.push((witness, failure));
                }
            }
        }
    }

    /// True if a run of a witness goes wrong so.
    fn goes_wrong(&self, witness: &Witness, failure: &ReplayedFailure) -> bool {
        self.replay.violates(witness, failure) && self.is_failure_of_kernel(witness, failure)
    }

    /// True if a failure of a run of a witness is one of the kernel.
    fn is_failure_of_kernel(&self, witness: &Witness, failure: &ReplayedFailure) -> bool {
        // The machine does not say whether the value of a lane that is not there is used; the analysis does.
        failure.problem != Problem::AbsentSource || {
            let root = self.layout.findings_under(&witness.scenario());
            let found = root.iter().flat_map(|root| &root.findings);
            let mut issues = found.map(|found| &found.issue);
            issues.any(|issue| {
                issue.certainty == Certainty::Definite
                    && (&issue.site, issue.problem) == (&failure.site, failure.problem)
            })
        }
    }

    /// The finding for the failure in a run of a witness.
    fn finding(&self, witness: Witness, failure: ReplayedFailure) -> Option<Conditional> {
        let witness = shortest_witness(&self.replay, witness, |witness| {
            self.goes_wrong(witness, &failure)
        });
        let Some(run) = self.replay.steps(&witness, &failure) else {
            self.is_cut.set(true);
            return None;
        };
        let root = self.layout.findings_under(&witness.scenario())?;
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
            function: self.root.function,
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
