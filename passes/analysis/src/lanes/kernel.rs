//! The findings about one kernel, over all warps and all block layouts that it is analysed for.
//!
//! A launch is first analysed for all its warps at once, and then warp by warp if the index of the warp decides which path
//! lanes take. Of several launches (`explore`):
//!
//! ```text
//! definite(k)    what is definite in each in which lanes may reach the place at all, with the lanes that are concerned in each of them
//! potential(k)   with stated shapes: the rest of ⋃ definite(k, s) ∪ potential(k, s)
//!                else: the findings for an unknown layout
//! ```

use std::cell::Cell;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::explore::{CommonFindings, InLaunch, Launches, Place};
use super::finding::{LaneFinding, Root, sort_key};
use super::flow::Flow;
use super::launch::Launch;
use super::layout::LaneLayout;
use super::scenario::Fixed;
use super::value::Lanes;
use super::verdict::{self, Issue, Problem, Reach, Verdict};
use crate::certainty::Certainty;
use crate::threads::Threads;
use ptxcheck_ir::Op;

/// A kernel, with the values that a scenario fixes.
pub(super) struct LaneKernel<'k> {
    pub(super) layout: &'k LaneLayout<'k>,
    fixed: &'k Fixed<'k>,
    /// The solution for all warps of a launch, kept because it is used twice.
    kept: Cell<Option<(Launch, Solved)>>,
}

/// A verdict, and whether some branch would be decided if the index of the warp were known.
pub(super) type Solved = (Verdict, bool);

/// The result of analysing one launch.
struct Judged {
    root: Root,
    /// The collectives and barriers that lanes may reach.
    reached: FxHashSet<u32>,
}

/// A node and the kind of its defect.
type Defect = (u32, Problem);

impl Place for Defect {
    fn node(&self) -> u32 {
        self.0
    }
}

impl Judged {
    /// Takes the definite findings out.
    fn into_definite_findings(self) -> InLaunch<Defect, Vec<LaneFinding>> {
        let Self { root, reached } = self;
        let definite = root.findings.into_iter().filter(LaneFinding::is_definite);
        InLaunch {
            found: findings_by_defect(definite),
            reached,
        }
    }
}

/// Findings by their defect, in order.
fn findings_by_defect(findings: impl Iterator<Item = LaneFinding>) -> BTreeMap<Defect, Vec<LaneFinding>> {
    let mut all: BTreeMap<Defect, Vec<LaneFinding>> = BTreeMap::new();
    for found in findings {
        all.entry(found.node_and_problem()).or_default().push(found);
    }
    all
}

impl<'k> LaneKernel<'k> {
    /// A kernel under a scenario.
    pub(super) const fn new(layout: &'k LaneLayout<'k>, fixed: &'k Fixed<'k>) -> Self {
        Self {
            layout,
            fixed,
            kept: Cell::new(None),
        }
    }

    /// The findings about the kernel in all its launches.
    pub(super) fn analyse(&self, least: Certainty) -> Root {
        let unknown = || Root::unknown(self.layout.function, self.layout.common_launch());
        let Some(launches) = Launches::new(self.layout) else {
            return unknown();
        };
        let root = self.findings_in_launches(&launches, least);
        root.unwrap_or_else(|| match *launches.stated_launches() {
            [launch] => self.findings_without_solution(launch),
            _ => unknown(),
        })
    }

    /// The result for a kernel in which nothing is wrong.
    pub(super) fn root_without_findings(&self) -> Root {
        self.empty_root(self.layout.common_launch(), false)
    }

    /// Keeps a solution for all warps of a launch, with all potential findings, for its next use.
    pub(super) fn keep_solution(&self, launch: Launch, solved: Solved) {
        self.kept.set(Some((launch, solved)));
    }

    /// The findings of one launch, in one of its warps or in all of them.
    pub(super) fn findings_in_launch(&self, launch: Launch, warp: Option<u32>) -> Option<Root> {
        let Some(warp) = warp else {
            return self.findings_in_launches(
                &Launches::of_one_launch(self.layout, launch),
                Certainty::Potential,
            );
        };
        let (verdict, _) = self.solve(launch, Some(warp), Certainty::Potential)?;
        Some(self.merge_runs(launch, vec![(Some(warp), verdict)], None).root)
    }

    /// One solution. `None`: the budget is spent.
    pub(super) fn solve(&self, launch: Launch, warp: Option<u32>, least: Certainty) -> Option<Solved> {
        if warp.is_none()
            && least == Certainty::Potential
            && let Some((of, solved)) = self.kept.take()
        {
            if of == launch {
                return Some(solved);
            }
            self.keep_solution(of, solved);
        }
        let launch = Launch { warp, ..launch };
        let mut flow = Flow::new(self.layout, launch, self.fixed, self.layout.reusable_pool())?;
        let entry = if self.layout.is_kernel {
            launch.analysed_lanes()
        } else {
            0
        };
        let verdict = verdict::judge(&mut flow, entry, self.layout.converges, least);
        self.layout.keep_pool(flow.pool);
        Some((verdict, flow.wants_warp))
    }

    /// The findings of several launches: those that are definite in each launch; in addition, the findings that are definite
    /// or potential in some launch, or, for layouts, the potential findings of an unknown layout. `None`: the budget is
    /// spent.
    fn findings_in_launches(&self, launches: &Launches, least: Certainty) -> Option<Root> {
        let &Launches {
            shown, are_layouts, ..
        } = launches;
        if !are_layouts && let [launch] = launches.each[..] {
            return self.judge_launch(launch, least).map(|judged| judged.root);
        }
        let least_in_each = if are_layouts { Certainty::Definite } else { least };
        let mut definite = CommonFindings::new();
        let mut others: BTreeMap<Defect, Vec<LaneFinding>> = BTreeMap::new();
        // It is not known which threads share a warp.
        let mut has_unknown = are_layouts;
        let mut is_limited = false;
        for &launch in &launches.each {
            let judged = self.judge_launch(launch, least_in_each)?;
            is_limited |= judged.root.is_limited;
            has_unknown |= judged.root.has_unknown;
            if least_in_each != Certainty::Definite {
                for (defect, found) in findings_by_defect(judged.root.findings.iter().cloned()) {
                    others.entry(defect).or_insert(found);
                }
            }
            definite.add_launch(judged.into_definite_findings());
            if least_in_each == Certainty::Definite && definite.is_complete(self.judged_nodes()) {
                break;
            }
        }
        if are_layouts && least != Certainty::Definite {
            let any = self.judge_launch(shown, least)?.root;
            is_limited = any.is_limited;
            others = findings_by_defect(any.findings.into_iter());
        }
        others.retain(|defect, _| !definite.found.contains_key(defect));
        let others = others.into_values().flatten().map(|mut found| {
            found.issue.certainty = Certainty::Potential;
            found
        });
        let mut findings: Vec<LaneFinding> = definite.found.into_values().flatten().chain(others).collect();
        findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        Some(Root {
            findings,
            has_unknown,
            ..self.empty_root(shown, is_limited)
        })
    }

    /// The result for a kernel without findings, in which not all is known.
    fn empty_root(&self, launch: Launch, is_limited: bool) -> Root {
        Root {
            is_unknown: false,
            is_limited,
            ..Root::unknown(self.layout.function, launch)
        }
    }

    /// One launch. `None`: the budget is spent.
    fn judge_launch(&self, launch: Launch, least: Certainty) -> Option<Judged> {
        // Every launch has a warp 0, and need not have another warp: a definite finding of the kernel is also definite in
        // warp 0, or warp 0 does not reach it.
        let mut first = None;
        if least == Certainty::Definite && launch.shape.is_none() {
            let (verdict, _) = self.solve(launch, Some(0), least)?;
            let mut issues = verdict.issues.iter();
            let is_clear = issues.all(|issue| issue.certainty == Certainty::Potential);
            let reached = reached_nodes(std::iter::once(&verdict));
            if is_clear && self.are_all_judged(&reached) {
                let root = self.empty_root(launch, verdict.is_limited);
                return Some(Judged { root, reached });
            }
            first = Some(verdict);
        }
        let (runs, rest) = if launch.ends_in_part_of_a_warp() {
            let each = (0..launch.warp_count()).map(|warp| {
                let (verdict, _) = self.solve(launch, Some(warp), Certainty::Potential)?;
                Some((Some(warp), verdict))
            });
            (each.collect::<Option<Vec<_>>>()?, None)
        } else {
            self.judge_warps(launch, first, least)?
        };
        Some(self.merge_runs(launch, runs, rest))
    }

    /// All warps at once, or each warp separately where they may differ. The second result is the verdict for all warps at
    /// once, if not each of them was analysed. `first`: the definite findings of warp 0, if it was analysed.
    fn judge_warps(
        &self,
        launch: Launch,
        mut first: Option<Verdict>,
        least: Certainty,
    ) -> Option<(Vec<Run>, Option<Verdict>)> {
        let (verdict, wants_warp) = self.solve(launch, None, Certainty::Potential)?;
        // A finding about all warps at once holds for each of them: if nothing may be wrong, no warp needs its own analysis.
        let is = |certainty| verdict.issues.iter().any(|issue| issue.certainty == certainty);
        let by_warp = verdict.reach.iter().filter(|(_, reach)| reach.by_warp);
        let mut may_differ = wants_warp && !verdict.issues.is_empty()
            || verdict.has_asked && is(Certainty::Definite)
            || by_warp.clone().next().is_some();
        if !may_differ && is(Certainty::Definite) && launch.shape.is_none() {
            // A finding that is definite for all warps at once may be undecided in a single warp: there, lanes that
            // certainly skip a barrier may be waited for by the lanes that reach it. It is also possible that no existing
            // warp reaches the place.
            if first.is_none() {
                first = Some(self.solve(launch, Some(0), Certainty::Definite)?.0);
            }
            let settled: FxHashSet<(u32, Problem)> = first.iter().flat_map(definite_defects).collect();
            may_differ = definite_defects(&verdict).any(|found| !settled.contains(&found));
        }
        if launch.is_multidimensional && !may_differ {
            // The first thread of warp 0 has number 0, for all block sizes.
            let settled: FxHashSet<(u32, Problem)> = definite_defects(&verdict).collect();
            may_differ = first
                .iter()
                .flat_map(definite_defects)
                .any(|found| !settled.contains(&found));
        }
        if !may_differ {
            return Some((vec![(None, verdict)], None));
        }
        let issues = verdict.issues.iter().map(|issue| issue.node);
        let mut open: Vec<u32> = issues.chain(by_warp.map(|(node, _)| *node)).collect();
        open.sort_unstable();
        open.dedup();
        // Definite for all warps at once, and so in each warp that reaches the place.
        let lasting: FxHashSet<(u32, Problem)> = definite_defects(&verdict)
            .filter(|(_, problem)| holds_in_each_warp(*problem) && !verdict.has_asked)
            .collect();
        let mut runs = Vec::new();
        for warp in 0..launch.warp_count() {
            let found = match first.take_if(|_| warp == 0 && least == Certainty::Definite) {
                Some(first) => first,
                None => self.solve(launch, Some(warp), least)?.0,
            };
            // A node that a warp without a definite finding reaches stays potential, unless another warp that always exists
            // settles it.
            let (reach, definite_at) = reach_by_node(&found);
            let passing = definite_defects(&found).filter(|found| !lasting.contains(found));
            let passing: FxHashSet<u32> = passing.map(|(node, _)| node).collect();
            open.retain(|node| {
                let reach = reach.get(node).copied().unwrap_or_default();
                let is_definite = definite_at.contains(node);
                let is_sure = reach.surely || !passing.contains(node);
                let is_settled = launch.is_warp_certain(warp) && is_definite && is_sure;
                !reach.maybe || is_definite && !is_settled
            });
            runs.push((Some(warp), found));
            if warp + 1 < launch.warp_count() && open.is_empty() && launch.shape.is_none() {
                return Some((runs, Some(verdict)));
            }
        }
        Some((runs, None))
    }

    fn merge_runs(&self, launch: Launch, mut runs: Vec<Run>, rest: Option<Verdict>) -> Judged {
        let verdicts = || runs.iter().map(|(_, verdict)| verdict).chain(&rest);
        let reached = reached_nodes(verdicts());
        // For an irreducible loop, it is not known in which rounds lanes meet.
        let has_unknown = self
            .judged_nodes()
            .any(|node| self.layout.order.is_in_or_before_irreducible_loop(node))
            || verdicts().any(|verdict| verdict.reach.iter().any(|(_, reach)| reach.is_unknown));
        let is_limited = verdicts().any(|verdict| verdict.is_limited);
        let mut findings = merge_findings(&launch, &mut runs, rest.as_ref());
        let mut known: FxHashSet<(u32, Problem)> = findings
            .iter()
            .map(|found| (found.issue.node, found.issue.problem))
            .collect();
        for mut issue in rest.into_iter().flat_map(|rest| rest.issues) {
            if known.insert((issue.node, issue.problem)) {
                issue.certainty = Certainty::Potential;
                findings.push(LaneFinding {
                    issue,
                    warps: Vec::new(),
                    are_others_right: false,
                    more: 0,
                    round: None,
                    above: None,
                });
            }
        }
        findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        let root = Root {
            findings,
            has_unknown,
            ..self.empty_root(launch, is_limited)
        };
        Judged { root, reached }
    }

    /// The result for a kernel that is too large to solve: findings about lanes that a constant mask does not name, at
    /// places that all lanes of a warp reach.
    fn findings_without_solution(&self, launch: Launch) -> Root {
        let mut findings = Vec::new();
        let lanes = Launch {
            warp: Some(0),
            ..launch
        }
        .analysed_lanes();
        let nodes = self
            .judged_nodes()
            .filter(|&node| self.layout.always[node as usize] && self.layout.is_kernel);
        for node in nodes {
            let context = self.layout.graph.context_of_node(node);
            let instruction = context
                .body
                .instruction(self.layout.graph.instruction_of_node(node));
            let (Op::Collective(kind, _), Some(&mask)) =
                (instruction.op, context.body.uses(instruction).first())
            else {
                continue;
            };
            let definitions = self.layout.module.function(context.function).definitions();
            let threads = Threads::of_warp_in_registers(context.body, definitions, 0);
            let mask = threads
                .uniform_value(mask)
                .map(|mask| mask as Lanes)
                .filter(|_| instruction.guard.is_none());
            let Some(mask) = mask.filter(|mask| *mask != 0 && lanes & !mask != 0) else {
                continue;
            };
            let issue = Issue {
                problem: Problem::NotNamed,
                certainty: Certainty::Definite,
                site: verdict::site_of_node(&self.layout.graph, node),
                lanes: lanes & !mask,
                mask: Some(mask),
                kind: Some(kind),
                here: lanes,
                split: None,
                other: None,
                node,
            };
            findings.push(LaneFinding {
                issue,
                warps: Vec::new(),
                are_others_right: false,
                more: 0,
                round: None,
                above: None,
            });
        }
        findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        Root {
            findings,
            is_limited: true,
            ..Root::unknown(self.layout.function, launch)
        }
    }

    /// The collectives and barriers that can have a defect.
    fn judged_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = self.layout.order.nodes.iter().copied();
        nodes.filter(|&node| verdict::is_judged(&self.layout.graph, node))
    }

    fn are_all_judged(&self, reached: &FxHashSet<u32>) -> bool {
        self.judged_nodes().all(|node| reached.contains(&node))
    }
}

/// True if a definite finding about all warps at once is definite in each warp that reaches the place: this holds for masks
/// passed by lanes that they do not name, and for source lanes. The missing lane may be a different one in each warp.
const fn holds_in_each_warp(problem: Problem) -> bool {
    matches!(
        problem,
        Problem::NotNamed | Problem::ZeroMask | Problem::AbsentSource
    )
}

/// The analysed warp, `None` for all at once, and its verdict.
type Run = (Option<u32>, Verdict);

/// The collectives and barriers that lanes may reach in one of several solutions.
fn reached_nodes<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> FxHashSet<u32> {
    let reach = verdicts.flat_map(|verdict| &verdict.reach);
    reach
        .filter(|(_, reach)| reach.maybe)
        .map(|(node, _)| *node)
        .collect()
}

/// The reach of each node in a verdict, and the nodes with a definite finding.
fn reach_by_node(verdict: &Verdict) -> (FxHashMap<u32, Reach>, FxHashSet<u32>) {
    let is_definite = |issue: &&Issue| issue.certainty == Certainty::Definite;
    let definite = verdict.issues.iter().filter(is_definite);
    (
        verdict.reach.iter().copied().collect(),
        definite.map(|issue| issue.node).collect(),
    )
}

/// The definite findings of one solution: nodes and problems.
pub(super) fn definite_defects(verdict: &Verdict) -> impl Iterator<Item = (u32, Problem)> + '_ {
    let issues = verdict.issues.iter();
    issues
        .filter(|issue| issue.certainty == Certainty::Definite)
        .map(|issue| (issue.node, issue.problem))
}

/// One finding for each node and problem, over the analysed warps. `rest`: the verdict for all warps at once, if some were
/// not analysed separately.
fn merge_findings(
    launch: &Launch,
    runs: &mut [(Option<u32>, Verdict)],
    rest: Option<&Verdict>,
) -> Vec<LaneFinding> {
    let mut by_node: BTreeMap<(u32, Problem), Vec<(usize, Issue)>> = BTreeMap::new();
    let mut reach: BTreeMap<u32, Vec<Reach>> = BTreeMap::new();
    let count = runs.len();
    for (number, (_, verdict)) in runs.iter_mut().enumerate() {
        for (node, found) in &verdict.reach {
            reach
                .entry(*node)
                .or_insert_with(|| vec![Reach::default(); count])[number] = *found;
        }
        for issue in verdict.issues.drain(..) {
            by_node
                .entry((issue.node, issue.problem))
                .or_default()
                .push((number, issue));
        }
    }
    let mut found = Vec::new();
    for ((node, problem), issues) in by_node {
        let nothing = vec![Reach::default(); count];
        let reach = reach.get(&node).unwrap_or(&nothing);
        let is_definite_in = |number: usize| {
            issues
                .iter()
                .any(|(run, issue)| *run == number && issue.certainty == Certainty::Definite)
        };
        let reached: Vec<usize> = (0..count).filter(|&number| reach[number].maybe).collect();
        let is_definite = if count == 1 {
            is_definite_in(0)
        } else {
            reached.iter().all(|&number| is_definite_in(number))
                // The mask may be meant for the full warps: the last warp of a block may lack lanes that it names.
                || problem != Problem::BeyondBlock && reached.iter().any(|&number| {
                    let exists = runs[number].0.is_some_and(|warp| launch.is_warp_certain(warp));
                    exists && reach[number].surely && is_definite_in(number)
                })
        };
        let mut warps: Vec<u32> = issues
            .iter()
            .filter(|(_, issue)| !is_definite || issue.certainty == Certainty::Definite)
            .filter_map(|(number, _)| runs[*number].0)
            .collect();
        warps.dedup();
        let is_alike = |rest: &Verdict| {
            let mut alike = rest
                .issues
                .iter()
                .filter(|issue| (issue.node, issue.problem) == (node, problem));
            alike.any(|issue| issue.certainty == Certainty::Definite || !is_definite)
        };
        if warps.len() == reached.len() && rest.is_none_or(is_alike) {
            warps.clear();
        }
        let is_shown = |issue: &Issue| !is_definite || issue.certainty == Certainty::Definite;
        // From the first warp that has it; several groups of lanes of that warp give several findings.
        let first = issues
            .iter()
            .find(|(_, issue)| is_shown(issue))
            .map(|(number, _)| *number);
        for (number, mut issue) in issues {
            if Some(number) == first && is_shown(&issue) {
                if !is_definite {
                    issue.certainty = Certainty::Potential;
                }
                found.push(LaneFinding {
                    issue,
                    are_others_right: rest.is_none() && !warps.is_empty(),
                    warps: warps.clone(),
                    more: 0,
                    round: None,
                    above: None,
                });
            }
        }
    }
    // Most kernels have at most one.
    found.shrink_to_fit();
    found
}
