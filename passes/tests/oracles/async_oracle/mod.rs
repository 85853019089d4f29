//! Holds the findings about asynchronous copies (PTX701 to PTX706) against a machine that performs them.
//!
//! * A definite finding fails in each run that reaches its place, under any schedule of threads and copies.
//! * Kernels that are made right do not fail.
//! * Of the failures that all runs show, the rules find a part; how large it is, is counted.
//!
//! `ASYNC_KERNELS` says how many kernels are tried, `ASYNC_SEED` where they begin; a seed that fails is tried alone with
//! `ASYNC_SEED=… ASYNC_KERNELS=1`.

mod generator;

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_machine::{
    AsyncWrong, Asynchronous, End, Follow, Kernel, Launch, Read, Schedule, Setup, Site, World,
};
use ptxcheck_passes::context::ModuleContext;
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::Space;
use ptxcheck_passes::settings::Settings;
use rayon::prelude::*;

/// Kernels of a run without `ASYNC_KERNELS`.
const KERNELS: u64 = 1_500;

/// Most kernels that are shown.
const SHOWN: usize = 3;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// The rules, and the failures of the machine that each is about.
const RULES: [(&str, &[AsyncWrong]); 6] = [
    ("PTX701", &[AsyncWrong::Unfenced, AsyncWrong::Unwritten]),
    ("PTX702", &[AsyncWrong::ReadEarly]),
    ("PTX703", &[AsyncWrong::IdleWait]),
    ("PTX704", &[AsyncWrong::SourceOverwritten]),
    ("PTX705", &[AsyncWrong::Uninitialised]),
    ("PTX706", &[AsyncWrong::OtherBytes, AsyncWrong::NeverComplete]),
];

#[derive(Debug, Default)]
struct Count {
    runs: u64,
    /// By rule: definite findings; kernels with such; kernels with a failure that all runs show, and those of them with a finding.
    of: BTreeMap<&'static str, [u64; 4]>,
    clean: u64,
}

impl Count {
    fn and(mut self, other: Self) -> Self {
        for (code, counts) in other.of {
            let mine = self.of.entry(code).or_default();
            for (mine, its) in mine.iter_mut().zip(counts) {
                *mine += its;
            }
        }
        Self {
            runs: self.runs + other.runs,
            clean: self.clean + other.clean,
            of: self.of,
        }
    }
}

#[test]
#[allow(clippy::print_stderr)]
fn findings_about_copies_agree_with_the_machine() {
    let (first, kernels) = (number("ASYNC_SEED", 0), number("ASYNC_KERNELS", KERNELS));
    let (count, problems) = (first..first.saturating_add(kernels))
        .into_par_iter()
        .fold(
            <(Count, Vec<String>)>::default,
            |(mut count, mut problems), seed| {
                if problems.len() < SHOWN
                    && let Err(problem) = try_one(seed, &mut count)
                {
                    problems.push(format!(
                        "seed {seed}: {problem}\n{}",
                        generator::kernel(seed).text
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
    eprintln!(
        "{kernels} kernels, {} runs, {} without a failure",
        count.runs, count.clean
    );
    for (code, [findings, kernels, certain, found]) in &count.of {
        // A comparison of nothing would agree, too.
        assert!(*findings > 0, "no finding of {code}");
        eprintln!(
            "{code}: {findings} findings in {kernels} kernels; {certain} kernels fail in all runs, of which {found} have one"
        );
    }
    assert!(count.clean > kernels / 10, "{} clean kernels", count.clean);
}

/// A run, by lines of the text.
struct Run {
    reached: BTreeSet<u32>,
    failures: BTreeSet<(u32, AsyncWrong)>,
    is_cut: bool,
}

fn try_one(seed: u64, count: &mut Count) -> Result<(), String> {
    let generator::Kernel { text, is_right } = generator::kernel(seed);
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).map_err(|_| "it does not parse")?;
    if !tree.errors().is_empty() {
        return Err("it has syntax errors".to_owned());
    }
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    let settings = Settings::default();
    let context = ModuleContext::new(&module, settings.for_rules());
    let (kernel, _, body) = context.module.bodies().next().ok_or("it has no kernel")?;
    let report = ptxcheck_passes::check_module(&module, &settings);
    let line_of = |site: &Site| {
        let start = body.span_of(site.instruction).start as usize;
        1 + text.as_bytes()[..start]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count() as u32
    };
    let machine = Kernel::new(&module, kernel).map_err(|refused| refused.to_string())?;
    let mut runs = Vec::new();
    for n in [0, 1, 2] {
        for schedule in [
            Schedule::First,
            Schedule::Last,
            Schedule::Random(seed),
            Schedule::Split(seed),
            Schedule::Ranked(seed),
        ] {
            runs.push(run(&machine, n, schedule, &line_of)?);
        }
    }
    count.runs += runs.len() as u64;
    if runs.iter().any(|run| run.is_cut) {
        return Ok(());
    }
    if let Some(run) = runs.iter().find(|run| is_right && !run.failures.is_empty()) {
        return Err(format!("right code fails: {:?}", run.failures));
    }
    count.clean += u64::from(runs.iter().all(|run| run.failures.is_empty()));
    for (code, wrongs) in RULES {
        let counts = count.of.entry(code).or_default();
        let findings = || {
            let all = report.findings.iter();
            all.filter(|found| found.rule.code == code && found.certainty == Certainty::Definite)
        };
        for finding in findings() {
            let Some(line) = finding.location.as_ref().map(|at| at.line) else {
                continue;
            };
            for run in runs.iter().filter(|run| run.reached.contains(&line)) {
                // Bytes are missed where they are waited for, and by a barrier that is none.
                let is_shown = |&(at, wrong): &(u32, AsyncWrong)| match code {
                    "PTX706" => wrongs.contains(&wrong) || wrong == AsyncWrong::Uninitialised,
                    _ => at == line && wrongs.contains(&wrong),
                };
                // Nobody has to come after a wait at a barrier that is none, or for what never comes: the thread that is meant may not
                // get here.
                let mut failures = run.failures.iter();
                let is_disturbed = !matches!(code, "PTX705" | "PTX706")
                    && failures.any(|(_, wrong)| {
                        matches!(wrong, AsyncWrong::Uninitialised | AsyncWrong::NeverComplete)
                    });
                if !is_disturbed && !run.failures.iter().any(is_shown) {
                    return Err(format!(
                        "{code} in line {line} is definite ({}), but a run has only {:?}",
                        finding.message, run.failures
                    ));
                }
            }
        }
        let of_rule = |run: &Run| -> BTreeSet<u32> {
            let failures = run.failures.iter();
            let of_rule = failures.filter(|(_, wrong)| wrongs.contains(wrong));
            of_rule.map(|(line, _)| *line).collect()
        };
        let shown: BTreeSet<u32> = runs.iter().flat_map(of_rule).collect();
        let is_certain = |line: &&u32| {
            let mut there = runs.iter().filter(|run| run.reached.contains(line));
            there.all(|run| of_rule(run).contains(line))
        };
        let is_certain = shown.iter().any(|line| is_certain(&line));
        let has_finding = findings().next().is_some();
        counts[0] += findings().count() as u64;
        counts[1] += u64::from(has_finding);
        counts[2] += u64::from(is_certain);
        counts[3] += u64::from(is_certain && has_finding);
    }
    Ok(())
}

fn run(
    kernel: &Kernel<'_>,
    n: u64,
    schedule: Schedule,
    line_of: &dyn Fn(&Site) -> u32,
) -> Result<Run, String> {
    let launch = Launch::of_block([generator::THREADS, 1, 1]);
    let setup = Setup {
        follow: Follow::All,
        ..Setup::new(launch, schedule)
    };
    let outcome = kernel
        .run(&setup, &mut Numbers(n), &mut ptxcheck_machine::Unobserved)
        .map_err(|refused| refused.to_string())?;
    match outcome.end {
        End::Complete | End::Stopped => {}
        ref end => return Err(format!("the machine stops: {end:?}")),
    }
    let Some(Asynchronous {
        reached,
        failures,
        is_cut,
        ..
    }) = outcome.asynchronous
    else {
        return Err("the run follows no copies".to_owned());
    };
    Ok(Run {
        reached: reached.iter().map(line_of).collect(),
        failures: failures
            .iter()
            .map(|(site, wrong)| (line_of(site), *wrong))
            .collect(),
        is_cut: is_cut || outcome.is_broken,
    })
}

/// Parameters; what memory holds does not matter.
struct Numbers(u64);

impl World for Numbers {
    fn read(&mut self, read: &Read<'_>) -> Option<u64> {
        Some(match (read.space, read.address) {
            (Space::Param, 0) => 0x1000,
            (Space::Param, _) => self.0,
            _ => 3,
        })
    }

    fn unmodelled(
        &mut self,
        _at: &ptxcheck_machine::At<'_>,
        _value: ptxcheck_machine::Unmodelled,
    ) -> Option<u64> {
        Some(0)
    }
}
