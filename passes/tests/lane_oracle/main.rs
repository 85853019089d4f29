//! Holds the lane analysis against a machine that runs the lanes.
//!
//! * What the analysis calls definite goes wrong in every run that gets there, under one of the schedules tried.
//! * A kernel in which it finds nothing, and knows all it needs, never goes wrong.
//!
//! `LANE_KERNELS` says how many kernels are tried (`make oracle` tries 100,000), `LANE_SEED` where to begin.

mod generator;
mod machine;

use std::collections::BTreeMap;

use machine::{Inputs, Outcome, Place, Schedule, Ways};
use ptxcheck_passes::analysis::lanes::Root;
use ptxcheck_passes::analysis::lanes::verdict::Spot;
use ptxcheck_passes::context::ModuleContext;
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::settings::{LevelSetting, Selector, Settings};

/// Kernels of a run without `LANE_KERNELS`.
const KERNELS: u64 = 3_000;

const INPUTS: u64 = 6;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[derive(Default)]
struct Count {
    definite: u64,
    clean: u64,
    runs: u64,
}

#[test]
#[allow(clippy::print_stderr)]
fn the_analysis_agrees_with_the_machine() {
    let (first, kernels) = (number("LANE_SEED", 0), number("LANE_KERNELS", KERNELS));
    let mut count = Count::default();
    let mut problems = Vec::new();
    for seed in first..first + kernels {
        if let Err(problem) = try_one(seed, &mut count) {
            problems.push(format!("seed {seed}: {problem}\n{}", generator::kernel(seed)));
            if problems.len() == 3 {
                break;
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // A comparison of nothing would agree, too.
    assert!(
        count.definite > kernels / 20,
        "{} definite findings",
        count.definite
    );
    assert!(count.clean > kernels / 20, "{} clean kernels", count.clean);
    eprintln!(
        "{kernels} kernels, {} runs, {} definite findings, {} clean kernels",
        count.runs, count.definite, count.clean
    );
}

fn place(spot: &Spot) -> Place {
    let calls = spot
        .callers
        .iter()
        .rev()
        .map(|call| (call.caller.index(), call.instruction.index()))
        .collect();
    (calls, spot.function.index(), spot.instruction.index())
}

fn definite_of(root: &Root) -> BTreeMap<Place, String> {
    root.findings
        .iter()
        .filter(|found| found.issue.certainty == Certainty::Definite)
        .map(|found| {
            (
                place(&found.issue.spot),
                format!(
                    "{:?} {:#x} in {:?}",
                    found.issue.problem, found.issue.lanes, found.warps
                ),
            )
        })
        .collect()
}

fn try_one(seed: u64, count: &mut Count) -> Result<(), String> {
    let text = generator::kernel(seed);
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).map_err(|_| "it does not parse")?;
    if !tree.errors.is_empty() {
        return Err("it has syntax errors".to_owned());
    }
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    let settings = Settings {
        levels: vec![LevelSetting {
            selector: Selector::Potential,
            level: Level::Warning,
            forbid: false,
        }],
        ..Settings::default()
    };
    let context = ModuleContext::new(&module, &settings);
    let kernel = module
        .bodies()
        .find(|(_, function, _)| function.is_kernel())
        .map(|(id, ..)| id)
        .ok_or("it has no kernel")?;
    let Some(root) = context.lanes().iter().find(|root| root.function == kernel) else {
        return Ok(());
    };
    let definite = definite_of(root);
    // Without potential findings, most kernels are not looked at lane by lane: that must not lose a definite one.
    let settings = Settings::default();
    let quick = ModuleContext::new(&module, &settings);
    let same = quick
        .lanes()
        .iter()
        .find(|root| root.function == kernel)
        .map_or_else(BTreeMap::new, definite_of);
    if same != definite {
        return Err(format!("{definite:?} with potential findings, {same:?} without"));
    }
    let is_clean = root.findings.is_empty() && !root.has_unknown && !root.is_unknown;
    count.definite += definite.len() as u64;
    count.clean += u64::from(is_clean);
    let ways = Ways::new(module.function(kernel).body.as_ref().ok_or("it has no body")?);
    for number in 0..INPUTS {
        let mut random = generator::Random::new(seed.wrapping_mul(31).wrapping_add(number));
        let ntid = *random.pick(&[32, 64, 96]);
        let mut inputs = Inputs {
            seed: random.next(),
            n: random.below(40) as u64,
            mask: *random.pick(&[0xffff_ffff, 0xffff, 1]),
            ctaid: random.below(3) as u64,
            ntid,
            warp: 0,
        };
        let mut outcomes: Vec<(u64, Vec<Outcome>)> = Vec::new();
        for warp in 0..ntid / 32 {
            inputs.warp = warp;
            let schedules = [
                Schedule::First,
                Schedule::Last,
                Schedule::Random(1),
                Schedule::Random(2),
                Schedule::Random(3),
            ];
            let runs = schedules.map(|schedule| machine::run(&module, &ways, kernel, inputs, schedule));
            count.runs += runs.len() as u64;
            outcomes.push((warp, runs.into()));
        }
        check(&definite, is_clean, &outcomes)?;
    }
    Ok(())
}

/// Holds what happened for one input, in all warps of a block and under all schedules, against what was found.
fn check(
    definite: &BTreeMap<Place, String>,
    is_clean: bool,
    outcomes: &[(u64, Vec<Outcome>)],
) -> Result<(), String> {
    let all = || outcomes.iter().flat_map(|(_, runs)| runs);
    if all().any(|run| run.is_cut) {
        return Ok(());
    }
    if is_clean && let Some(run) = all().find(|run| !run.violated.is_empty()) {
        return Err(format!("nothing was found, but {:?}", run.violated));
    }
    for (place, what) in definite {
        let is_reached = all().any(|run| run.reached.contains_key(place));
        // What goes wrong under one schedule before lanes get there keeps them from it.
        let is_violated = all().any(|run| run.violated.contains_key(place) || run.is_broken);
        if is_reached && !is_violated {
            return Err(format!("{what} at {place:?} is definite, but it went well"));
        }
    }
    Ok(())
}
