//! Mutants for ptxcheck: PTX, images, packages, LLVM IR and MLIR that nobody would write, and the properties that must hold for each.
//!
//! ```text
//! campaign ── a range of indices ──► child: mutant, check, mutant, check, … ── failures, deaths ──► campaign
//! ```
//!
//! `numbers.rs` makes a mutant the same in every run, `kind.rs` says of what there are mutants, `ptx.rs`, `image.rs`,
//! `package.rs`, `ir.rs` and `mlir.rs` make and check them, `campaign.rs` and `child.rs` run them, `minimise.rs` cuts one down.

mod args;
mod campaign;
mod child;
#[path = "../../../tests/src/fatbin.rs"]
mod fatbin;
mod image;
#[cfg(feature = "ir")]
mod ir;
mod kind;
mod measure;
mod minimise;
#[cfg(feature = "ir")]
mod mlir;
mod numbers;
mod package;
#[path = "../../../tests/src/packing.rs"]
mod packing;
mod panics;
mod ptx;
mod verdict;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use args::{Args, Mode};
use child::MutantRange;
use kind::Kind;

/// The stack of the thread that checks: that of a thread of a run, and of a process that reads IR.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };

fn main() -> ExitCode {
    match Args::read(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(code) => code,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{problem}");
            ExitCode::from(2)
        }
    }
}

/// The folder of the repository.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// The folder of failing mutants and of what is made for the runs.
fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("fuzz-runs")
}

fn run(args: &Args) -> Result<ExitCode, String> {
    let root = root();
    let kind = Kind::new(&args.kind, &root)?;
    match args.mode {
        Mode::Run => report(args, &kind, &root),
        Mode::Child => {
            let range = MutantRange {
                seed: args.seed,
                from: args.from,
                to: args.from.saturating_add(args.count),
                batch: args.batch,
                time: args.time,
            };
            in_one_thread(|| child::run(&kind, &range))?;
            Ok(ExitCode::SUCCESS)
        }
        Mode::Show(index) => print(&kind.mutant(args.seed, index)),
        Mode::Minimise(index) => {
            panics::keep_places();
            let bytes = kind.mutant(args.seed, index);
            match in_one_thread(|| minimise::minimised(&kind, index, &bytes))? {
                Some((least, said)) => {
                    let _ = writeln!(std::io::stderr(), "{said}");
                    print(&least)
                }
                None => Err(format!("mutant {index} of seed {} does not fail", args.seed)),
            }
        }
    }
}

/// Runs `work` where the library finds one thread, this one's processor time being that of the work.
fn in_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(STACK_BYTES)
        .build();
    Ok(pool.map_err(|error| error.to_string())?.install(work))
}

fn print(bytes: &[u8]) -> Result<ExitCode, String> {
    std::io::stdout()
        .write_all(bytes)
        .map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn report(args: &Args, kind: &Kind, root: &Path) -> Result<ExitCode, String> {
    let mut out = std::io::stdout();
    let mut say = |line: String| {
        let _ = writeln!(out, "{line}");
    };
    say(format!("mutants of {}, seed {}", args.kind, args.seed));
    let started = Instant::now();
    let summary = campaign::run(args);
    let folder = target(root);
    for (number, (count, kept)) in summary.failures.values().enumerate() {
        for (place, (index, message)) in kept.iter().enumerate() {
            let bytes = kind.mutant(args.seed, *index);
            let name = format!("{}-{}-{index}.{}", args.kind, args.seed, kind.ending(&bytes));
            let file = folder.join(name);
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            std::fs::write(&file, bytes).map_err(|error| error.to_string())?;
            if place == 0 {
                say(format!("{number}: {count} times: {message}"));
            }
            say(format!("    {}", file.display()));
        }
    }
    let per_mutant = summary.time / u32::try_from(summary.checked.max(1)).unwrap_or(u32::MAX);
    say(format!(
        "{} mutants of {} in {:.0} s, {} µs of processor time each; at most {:.2} s (mutant {}) and {} MiB; \
         {} failed in {} ways, {} skipped, {} ended LLVM",
        summary.checked,
        args.kind,
        started.elapsed().as_secs_f64(),
        per_mutant.as_micros(),
        summary.slowest.0.as_secs_f64(),
        summary.slowest.1,
        summary.largest >> 20,
        summary.failures.values().map(|(count, _)| count).sum::<u64>(),
        summary.failures.len(),
        summary.skipped,
        summary.deaths_of_llvm,
    ));
    if summary.checked == 0 && args.time > Duration::ZERO {
        return Err("nothing was checked".to_owned());
    }
    Ok(if summary.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
