//! Holds the machine's verdict about protocols between warps, and PTX421, against the construction of kernels.
//!
//! * A kernel that is right by construction ends under any schedule and with any number of rounds, and has no finding.
//! * A kernel with one seeded defect hangs under any schedule once the defect shows, and ends before that. How many have a finding, is counted.
//!
//! `PROTOCOL_KERNELS` says how many kernels are tried, `PROTOCOL_SEED` where they begin; a seed that fails is tried alone with
//! `PROTOCOL_SEED=… PROTOCOL_KERNELS=1`.

mod generator;

use std::collections::BTreeMap;

use generator::{DEFECTS, Defect};
use ptxcheck_machine::{End, Follow, Given, Kernel, Launch, Outcome, Schedule, Setup, Stop, Unobserved};
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::Module;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use rayon::prelude::*;

/// Kernels of a run without `PROTOCOL_KERNELS`.
const KERNELS: u64 = 600;

/// Most kernels that are shown.
const SHOWN: usize = 3;

/// Numbers of rounds.
const ROUNDS: [u32; 5] = [0, 1, 2, 5, 9];

#[derive(Debug, Default)]
struct Count {
    runs: u64,
    right: u64,
    /// By defect: kernels, and those with a finding.
    of: BTreeMap<Defect, [u64; 2]>,
}

impl Count {
    fn and(mut self, other: Self) -> Self {
        for (defect, counts) in other.of {
            let mine = self.of.entry(defect).or_default();
            for (mine, its) in mine.iter_mut().zip(counts) {
                *mine += its;
            }
        }
        Self {
            runs: self.runs + other.runs,
            right: self.right + other.right,
            of: self.of,
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
#[allow(clippy::print_stderr)]
fn protocols_end_or_hang_as_they_are_made() {
    let (first, kernels) = (number("PROTOCOL_SEED", 0), number("PROTOCOL_KERNELS", KERNELS));
    let (count, problems) = (first..first.saturating_add(kernels))
        .into_par_iter()
        .fold(
            <(Count, Vec<String>)>::default,
            |(mut count, mut problems), seed| {
                if problems.len() < SHOWN
                    && let Err(problem) = try_one(seed, &mut count)
                {
                    let kernel = generator::kernel(seed);
                    problems.push(format!(
                        "seed {seed} ({:?}): {problem}\n{}",
                        kernel.defect, kernel.text
                    ));
                }
                (count, problems)
            },
        )
        .reduce(Default::default, |(a, mut problems), (b, more)| {
            problems.extend(more);
            (a.and(b), problems)
        });
    let problems: Vec<String> = problems.into_iter().take(SHOWN).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    if kernels == 1 {
        return;
    }
    eprintln!("{kernels} kernels, {} runs, {} right", count.runs, count.right);
    assert!(count.right > kernels / 4);
    for defect in DEFECTS {
        let [all, found] = count.of.get(&defect).copied().unwrap_or_default();
        eprintln!("{defect:?}: {found} of {all} have a finding");
        assert!(all > 0 && found * 10 >= all * 9, "{defect:?}: {found} of {all}");
    }
}

/// Settings that ask for PTX421.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.levels.push(LevelSetting {
        selector: Selector::CONDITIONAL,
        level: Level::Warning,
        change: Change::Raise,
    });
    settings
}

fn try_one(seed: u64, count: &mut Count) -> Result<(), String> {
    let made = generator::kernel(seed);
    let tree = ptxcheck_ptx_parser::parse(made.text.as_bytes()).map_err(|_| "it does not parse")?;
    if let Some(error) = tree.errors().first() {
        return Err(format!("it has syntax errors: {error:?}"));
    }
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    for rounds in ROUNDS {
        let hangs = made.defect.is_some() && rounds >= made.rounds;
        for schedule in [
            Schedule::First,
            Schedule::Last,
            Schedule::Random(seed),
            Schedule::Split(seed),
            Schedule::Ranked(seed),
        ] {
            count.runs += 1;
            let outcome = run(&module, made.threads, rounds, schedule)?;
            let is_right = match (&outcome.hang, &outcome.open, &outcome.end) {
                (Some(_), ..) => hangs,
                (None, None, End::Complete) => !hangs,
                _ => false,
            };
            if !is_right {
                return Err(format!(
                    "with {rounds} rounds under {schedule:?}: {:?}, open {:?}, {:?}",
                    outcome.end, outcome.open, outcome.hang
                ));
            }
        }
    }
    let report = ptxcheck_passes::check_module(&module, &settings());
    let mut findings = report.findings.iter().filter(|found| found.rule.code == "PTX421");
    let finding = findings.next();
    if let Some(found) =
        finding.filter(|found| made.defect.is_none() || found.certainty != Certainty::Conditional)
    {
        return Err(format!("it has a finding: {}", found.message));
    }
    match made.defect {
        Some(defect) => {
            let counts = count.of.entry(defect).or_default();
            counts[0] += 1;
            counts[1] += u64::from(finding.is_some());
        }
        None => count.right += 1,
    }
    Ok(())
}

fn run(module: &Module<'_>, threads: u32, rounds: u32, schedule: Schedule) -> Result<Outcome, String> {
    let (kernel, ..) = module.bodies().next().ok_or("it has no kernel")?;
    let kernel = Kernel::new(module, kernel).map_err(|refused| refused.to_string())?;
    let setup = Setup {
        follow: Follow::Barriers,
        stop: Stop::AtHang,
        ..Setup::new(Launch::of_block([threads, 1, 1]), schedule)
    };
    let mut world = Given::default();
    world.parameter(0, 8, 0x10_0000).parameter(8, 4, rounds.into());
    kernel
        .run(&setup, &mut world, &mut Unobserved)
        .map_err(|refused| refused.to_string())
}
