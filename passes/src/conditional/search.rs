//! Search for scenarios in which something goes wrong.

use std::collections::BTreeSet;

use super::inputs::{InputSearch, Inputs, Piece};
use super::replay::{Replay, ReplayedFailure};
use super::witness::{Witness, WitnessLoad};
use crate::analysis::lanes::{FixedParam, Issue, LaneFinding, LaneLayout, Launch, Problem, Root, Site};
use crate::analysis::{Certainty, ModuleAnalyses};
use crate::ir::FunctionId;
use crate::limits::{MAX_RUNS_ASTRAY, MAX_SCENARIOS};

/// A finding that is definite for its witness.
pub struct Conditional {
    /// The kernel.
    pub function: FunctionId,
    /// Its launch under the witness.
    pub launch: Launch,
    /// The defect, with the lanes of the warp of the witness.
    pub found: LaneFinding,
    /// The launch and the values with which it goes wrong.
    pub witness: Witness,
}

/// Blocks that are tried of kernels that read `%tid.x` alone, the usual ones first.
const ROWS: [[u32; 3]; 3] = [[128, 1, 1], [256, 1, 1], [32, 1, 1]];

/// Blocks that are tried of kernels that read `%tid.y`.
const PLANES: [[u32; 3]; 5] = [[16, 16, 1], [32, 8, 1], [8, 16, 1], [8, 128, 1], [64, 4, 1]];

/// Contents of memory, and values of integer parameters, that the scenarios leave open: what no input decides is run with each of
/// them. Loops have one round, or three.
const REST: [(Option<u64>, u64); 4] = [(None, 1), (Some(0), 1), (None, 3), (Some(0), 3)];

/// The lane that is given another value than the others, where loaded values decide.
const OTHER_LANE: u32 = 5;

/// The conditional findings of a module, by kernel in the order of the input: of the potential ones that the lane analysis has made,
/// those for which a witness was found.
#[must_use]
pub fn find(module: &ModuleAnalyses<'_>) -> Vec<Conditional> {
    let mut found = Vec::new();
    let is_open = |root: &&Root| !root.is_unknown && (root.has_unknown || !open_sites(root).is_empty());
    let roots: Vec<&Root> = module.lanes().iter().filter(is_open).collect();
    if roots.is_empty() {
        return found;
    }
    let layouts = module.lane_layouts();
    for root in roots {
        if module.module.function(root.function).is_kernel()
            && !module.deadline.is_over()
            && let Some(layout) = layouts.of(root.function)
            && let Some(mut search) = KernelSearch::new(module, root, &layout)
        {
            search.run();
            found.append(&mut search.found);
        }
    }
    found
}

/// The results of the lane analysis with the conditional findings in place of the potential ones at their sites.
pub(crate) fn merged(roots: &[Root], conditional: &[Conditional]) -> Vec<Root> {
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

/// The search for scenarios of one kernel.
struct KernelSearch<'s, 'm> {
    module: &'s ModuleAnalyses<'m>,
    root: &'s Root,
    layout: &'s LaneLayout<'s>,
    replay: Replay<'s>,
    inputs: Inputs,
    /// The sites that have no witness yet.
    open: BTreeSet<Site>,
    tries_left: usize,
    /// Runs since the last one that came to an open site.
    astray: usize,
    found: Vec<Conditional>,
}

impl<'s, 'm> KernelSearch<'s, 'm> {
    fn new(module: &'s ModuleAnalyses<'m>, root: &'s Root, layout: &'s LaneLayout<'s>) -> Option<Self> {
        let mut open = open_sites(root);
        if open.is_empty() {
            // Nothing was found as operands are not known: those of any collective.
            open = layout.judged().collect();
        }
        let inputs = |with_branches: bool| {
            let mut search = InputSearch::new(module);
            for site in &open {
                search.add(site);
                if with_branches {
                    search.add_branches(site.function, &site.callers);
                }
            }
            let issues = root.findings.iter().map(|found| &found.issue);
            let splits = issues.filter(|issue| open.contains(&issue.site));
            for (branch, _) in splits.filter_map(|issue| issue.split.as_ref()) {
                search.add(branch);
            }
            search.finish()
        };
        let inputs = inputs(true).or_else(|| inputs(false))?;
        Some(Self {
            module,
            root,
            layout,
            replay: Replay::new(module.module, root.function, module.deadline)?,
            inputs,
            open,
            tries_left: MAX_SCENARIOS,
            astray: 0,
            found: Vec::new(),
        })
    }

    fn run(&mut self) {
        for block in self.blocks() {
            let threads = block.iter().product();
            for witness in scenarios(&self.inputs, block, threads) {
                if self.open.is_empty()
                    || self.tries_left == 0
                    || self.replay.is_spent()
                    || self.astray >= MAX_RUNS_ASTRAY
                    || self.module.deadline.is_over()
                {
                    return;
                }
                self.tries_left -= 1;
                self.try_one(&witness);
            }
        }
    }

    /// The blocks to try: those that are stated or required, or usual ones.
    fn blocks(&self) -> Vec<[u32; 3]> {
        match self.root.launch.shape {
            Some(shape) => vec![shape],
            None if self.root.launch.is_multidimensional => PLANES.to_vec(),
            None => ROWS.to_vec(),
        }
    }

    fn try_one(&mut self, witness: &Witness) {
        if !self.layout.admits(&witness.scenario()) {
            return;
        }
        for (memory, rest) in REST {
            let witness = Witness {
                memory,
                ..self.replay.whole(witness, rest)
            };
            if self.open.is_empty() {
                return;
            }
            let failures = self.replay.failures(&witness, &self.open);
            self.astray = if failures.has_come { 0 } else { self.astray + 1 };
            for failure in failures.found {
                if self.open.contains(&failure.site) {
                    self.add(witness.clone(), failure);
                }
            }
        }
    }

    /// Adds what has gone wrong in a run of a witness, if it does so for the warp that the witness names.
    fn add(&mut self, witness: Witness, failure: ReplayedFailure) {
        let witness = Witness {
            warp: failure.warp,
            lanes: failure.lanes,
            ..witness
        };
        if !self.replay.violates(&witness, &failure) {
            return;
        }
        let witness = self.smallest(witness, &failure);
        let Some(root) = self.layout.lanes_under(&witness.scenario()) else {
            return;
        };
        let found = root.findings.iter().map(|found| &found.issue);
        let is_certain = |issue: &Issue| {
            issue.certainty == Certainty::Definite
                && (&issue.site, issue.problem) == (&failure.site, failure.problem)
        };
        // The machine does not say whether the value of a lane that is not there is used; the analysis does.
        if failure.problem == Problem::AbsentSource && !found.clone().any(is_certain) {
            return;
        }
        let mut same = found.filter(|issue| issue.site == failure.site && issue.problem == failure.problem);
        let known = same.next();
        let (split, other) = known.map_or((None, None), |issue| (issue.split.clone(), issue.other.clone()));
        let mut issue = Issue::new(
            failure.problem,
            Certainty::Conditional,
            failure.site,
            failure.lanes,
        );
        issue.split = split;
        issue.other = other;
        issue.mask = failure.mask;
        issue.kind = failure.kind;
        issue.here = failure.here;
        self.open.remove(&issue.site);
        self.found.push(Conditional {
            function: self.root.function,
            launch: root.launch,
            found: LaneFinding {
                issue,
                warps: vec![witness.warp],
                more: 0,
            },
            witness,
        });
    }

    /// The witness without the values that the failure does not depend on.
    fn smallest(&self, witness: Witness, failure: &ReplayedFailure) -> Witness {
        let witness = self.without_idle(witness, failure, |witness| &mut witness.params);
        self.without_idle(witness, failure, |witness| &mut witness.loads)
    }

    /// The witness without those elements of one of its lists that the failure does not depend on.
    fn without_idle<T>(
        &self,
        mut witness: Witness,
        failure: &ReplayedFailure,
        list: fn(&mut Witness) -> &mut Vec<T>,
    ) -> Witness {
        let mut number = 0;
        while number < list(&mut witness).len() {
            let mut without = witness.clone();
            list(&mut without).remove(number);
            if self.replay.violates(&without, failure) {
                witness = without;
            } else {
                number += 1;
            }
        }
        witness
    }
}

/// The scenarios to try with a block of so many threads, the simplest first.
fn scenarios(inputs: &Inputs, block: [u32; 3], threads: u32) -> Vec<Witness> {
    let witness = |params: Vec<FixedParam>, loads: Vec<WitnessLoad>| Witness {
        block,
        grid: [1; 3],
        block_index: [0; 3],
        warp: 0,
        lanes: 0,
        params,
        loads,
        memory: None,
    };
    let param = |piece: &Piece, value: u64| FixedParam {
        number: piece.number,
        offset: piece.offset,
        bytes: piece.bytes,
        value,
    };
    let load = |site: &Site, others: u64, differing| WitnessLoad {
        site: site.clone(),
        others,
        differing,
    };
    let threads = u64::from(threads);
    // A number of elements that ends within the last warp, one of a few more than a block, one element.
    let tail = threads.saturating_sub(if threads > 32 { 28 } else { 12 }).max(1);
    let mut values = vec![tail, threads + 4, 1];
    for constant in &inputs.constants {
        let around = [constant.checked_add(1), Some(*constant), constant.checked_sub(1)];
        values.extend(
            around
                .into_iter()
                .flatten()
                .filter_map(|value| u64::try_from(value).ok()),
        );
    }
    let mut seen = BTreeSet::new();
    values.retain(|value| *value < 1 << 31 && seen.insert(*value));
    let (params, loads) = (&inputs.params, &inputs.loads);
    let all = |value: u64| {
        let params = params.iter().map(|piece| param(piece, value)).collect();
        let loads = loads.iter().map(|site| load(site, value, (0, 0))).collect();
        witness(params, loads)
    };
    if params.is_empty() && loads.is_empty() {
        return vec![witness(Vec::new(), Vec::new())];
    }
    // One value for all inputs.
    let mut made: Vec<Witness> = values.iter().map(|&value| all(value)).collect();
    // One lane with another value than the rest.
    let differing: Vec<(u64, u64)> = values
        .iter()
        .filter_map(|&value| Some((value, value.checked_sub(1)?)))
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect();
    for site in loads {
        for &(others, other) in &differing {
            let mut one = all(threads * 4);
            for given in &mut one.loads {
                if given.site == *site {
                    *given = load(site, others, (1 << OTHER_LANE, other));
                }
            }
            made.push(one);
        }
    }
    // One input with each value, the others with a multiple of the block.
    if params.len() + loads.len() > 1 {
        for &value in &values {
            for number in 0..params.len() {
                let mut one = all(threads * 4);
                one.params[number].value = value;
                made.push(one);
            }
            for number in 0..loads.len() {
                let mut one = all(threads * 4);
                one.loads[number].others = value;
                made.push(one);
            }
        }
    }
    made
}
