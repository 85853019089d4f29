//! Compiles the CUDA sources of the corpus whose committed outputs are stale, and writes these and the table of keys.
//!
//! ```text
//! usage: outputs [--all] [WORD…]
//! ```
//!
//! `--all` compiles those that are up to date, too; with words, of the sources whose paths have one of them in it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptxcheck_tests::outputs::{self, Output, Outputs};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<String, String> {
    let (options, words): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with("--"));
    if let Some(option) = options.iter().find(|option| **option != "--all") {
        return Err(format!(
            "there is no option {option}; usage: outputs [--all] [WORD…]"
        ));
    }
    let mut table = Outputs::read()?;
    let all = outputs::committed()?;
    let mut stale = Vec::new();
    for output in &all {
        let is_meant = words.is_empty() || words.iter().any(|word| output.case.name.contains(word.as_str()));
        if is_meant && (!options.is_empty() || table.content(output).is_err()) {
            stale.push(output);
        }
    }
    for compiler in ["nvcc", "clang"] {
        if stale.iter().any(|output| output.compiler == compiler)
            && let Some(problem) = table.other_version(compiler)
        {
            return Err(problem);
        }
    }
    let made = make(&table, &stale);
    let (made, problems): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    let made: Vec<_> = made.into_iter().flatten().collect();
    let said = format!("{} of {} outputs were compiled", made.len(), all.len());
    table.write(made, &all)?;
    let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    if problems.is_empty() {
        Ok(said)
    } else {
        Err(format!("{}\n{said}", problems.join("\n")))
    }
}

type Made = Result<(String, outputs::Row), String>;

/// Compiles outputs on all cores.
fn make(table: &Outputs, stale: &[&Output]) -> Vec<Made> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(output) = stale.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = table.make(output);
                    if let Ok(mut made) = made.lock() {
                        made.push(one);
                    }
                }
            });
        }
    });
    made.into_inner().unwrap_or_default()
}
