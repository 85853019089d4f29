//! Findings that hold in every block of more than n threads, and in no block of at most n threads.
//!
//! The block size of most kernels is not stated, and a multiple of 32 threads is assumed. A kernel that is launched with 16
//! threads is right with masks of 16 lanes; a kernel that tests `threadIdx.x < 100` around a barrier is wrong only in blocks
//! of more than 100 threads:
//!
//! ```text
//! n < 32     a definite finding of the assumed launch that is none in a block of n threads, in which nothing definite is found at all;
//!            n is the number of lanes of a low mask, or of a test of the thread number (`block_size`)
//! n > 32     n is such a test: the warp that it splits has a definite finding that is none in a block of n threads
//! ```
//!
//! Both are checked with blocks of n and of n + 1 threads.

use rustc_hash::FxHashSet;

use super::finding::{LaneFinding, Root, Threshold, sort_key};
use super::kernel::{LaneKernel, definite_defects};
use super::launch::{Launch, ShapeSource};
use super::value::{Lanes, WARP};
use super::verdict::Problem;
use crate::block_size;
use crate::certainty::Certainty;
use crate::limits::MAX_THRESHOLDS;

impl LaneKernel<'_> {
    /// Gives the definite findings about a kernel their thresholds, and adds those of warps beyond the first.
    pub(super) fn add_thresholds(&self, root: &mut Root) {
        let is_assumed = |launch: &Launch| launch.shape.is_none() && launch.source == ShapeSource::Assumed;
        let [launch] = self.layout.launches()[..] else {
            return;
        };
        if !is_assumed(&launch) || launch.is_multidimensional || !self.layout.is_kernel || root.is_unknown {
            return;
        }
        let tests = block_size::tested_thread_counts(self.layout.module, self.layout.function);
        self.add_thresholds_below_a_warp(launch, &tests, root);
        self.add_thresholds_beyond_a_warp(launch, &tests, root);
    }

    fn add_thresholds_below_a_warp(&self, launch: Launch, tests: &[u32], root: &mut Root) {
        let is_definite = |found: &&LaneFinding| found.issue.certainty == Certainty::Definite;
        let masks = root
            .findings
            .iter()
            .filter(is_definite)
            .filter_map(lowest_lanes_in_mask);
        let mut sizes: Vec<u32> = masks.collect();
        let has_barrier = root
            .findings
            .iter()
            .filter(is_definite)
            .any(|found| found.issue.problem == Problem::SkippedBarrier);
        if has_barrier {
            sizes.extend(tests.iter().copied().filter(|test| *test < WARP as u32));
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        for size in sizes.into_iter().take(MAX_THRESHOLDS) {
            let (Some(at), Some(beyond)) = (
                self.definite_defects_in_block(launch, size),
                self.definite_defects_in_block(launch, size + 1),
            ) else {
                return;
            };
            if !at.is_empty() {
                continue;
            }
            for found in root
                .findings
                .iter_mut()
                .filter(|found| found.issue.certainty == Certainty::Definite)
            {
                if beyond.contains(&(found.issue.node, found.issue.problem)) {
                    found.above = Threshold::of_threads(size, tests);
                }
            }
            return;
        }
    }

    fn add_thresholds_beyond_a_warp(&self, launch: Launch, tests: &[u32], root: &mut Root) {
        let most = launch.most.unwrap_or(u32::MAX);
        let beyond = tests
            .iter()
            .copied()
            .filter(|test| (WARP as u32..most).contains(test));
        for test in beyond.take(MAX_THRESHOLDS) {
            let warp = test / WARP as u32;
            let Some((verdict, _)) = self.solve(launch, Some(warp), Certainty::Definite) else {
                return;
            };
            let known: FxHashSet<(u32, Problem)> = definite_defects_of_root(root).collect();
            let issues = verdict.issues.into_iter().filter(|issue| {
                issue.certainty == Certainty::Definite && !known.contains(&(issue.node, issue.problem))
            });
            let issues: Vec<_> = issues.collect();
            if issues.is_empty() {
                continue;
            }
            let (Some(at), Some(past)) = (
                self.definite_defects_in_block(launch, test),
                self.definite_defects_in_block(launch, test + 1),
            ) else {
                return;
            };
            for issue in issues {
                let key = (issue.node, issue.problem);
                if at.contains(&key) || !past.contains(&key) {
                    continue;
                }
                root.findings
                    .retain(|found| (found.issue.node, found.issue.problem) != key);
                root.findings.push(LaneFinding {
                    issue,
                    warps: vec![warp],
                    are_others_right: false,
                    more: 0,
                    round: None,
                    above: Threshold::of_threads(test, tests),
                });
            }
        }
        root.findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    }

    /// The definite findings in some warp of a block of so many threads: nodes and problems. `None` if the budget is spent.
    fn definite_defects_in_block(&self, launch: Launch, threads: u32) -> Option<FxHashSet<(u32, Problem)>> {
        let launch = Launch {
            shape: Some([threads, 1, 1]),
            most: Some(threads),
            ..launch
        };
        let mut all = FxHashSet::default();
        for warp in 0..launch.warp_count() {
            let (verdict, _) = self.solve(launch, Some(warp), Certainty::Definite)?;
            all.extend(definite_defects(&verdict));
        }
        Some(all)
    }
}

/// The definite findings about a kernel: nodes and problems.
fn definite_defects_of_root(root: &Root) -> impl Iterator<Item = (u32, Problem)> + '_ {
    let findings = root
        .findings
        .iter()
        .filter(|found| found.issue.certainty == Certainty::Definite);
    findings.map(|found| (found.issue.node, found.issue.problem))
}

/// The number of lanes of a mask that names only the lowest lanes of a warp, in a finding about lanes that it does not name.
fn lowest_lanes_in_mask(found: &LaneFinding) -> Option<u32> {
    let mask: Lanes = found
        .issue
        .mask
        .filter(|_| found.issue.problem == Problem::NotNamed)?;
    let is_low = mask != 0 && mask != Lanes::MAX && mask & mask.wrapping_add(1) == 0;
    is_low.then(|| mask.count_ones())
}
