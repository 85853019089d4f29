//! The growth of time and memory with the size of an input, shape by shape.
//!
//! `cargo bench -p ptxcheck-passes --bench scaling` prints a line for each shape and level:
//!
//! * the sizes, seven of them, each twice the one before: two decades;
//! * seconds of processor time and MiB of memory at their peak, for the largest;
//! * the exponents with which both grow: slopes of straight lines through the logarithms, by least squares;
//! * what the run says of the largest: its findings, and whether a budget has ended the work.
//!
//! Words are names of shapes, all without any; `--quick` makes sizes an eighth; `--print SHAPE SIZE` writes the text of one.
//!
//! Each size is measured in a process of its own, on one thread. What it takes before it begins (its start, the making of
//! the text) counts in memory, so that small sizes are left out of that exponent, and not in time. Nothing is rendered.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod shapes;

use std::process::Command;
use std::time::Duration;

use ptxcheck_passes::rule::{Level, ProblemKind};
use ptxcheck_passes::run::{self, Bytes, Input};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use rustix::time::{ClockId, clock_gettime};
use shapes::{SHAPES, Shape};

/// Sizes of one shape: 64 is nearly two decades, 128 a little more.
const SIZES: u32 = 8;

/// Most that an exponent should be.
const GOAL: f64 = 1.1;

/// Longest that one size may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Sizes that take less are noise.
const LEAST_SECONDS: f64 = 0.004;

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench" && arg != "--test")
        .collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--print", name, size] => match (find(name), size.parse()) {
            (Some(shape), Ok(size)) => print!("{}", (shape.text)(size)),
            _ => println!("--print SHAPE SIZE"),
        },
        ["--measure", name, size, level] => match (find(name), size.parse()) {
            (Some(shape), Ok(size)) => println!("{}", measure(shape, size, level).line()),
            _ => println!("--measure SHAPE SIZE LEVEL"),
        },
        words => table(words),
    }
}

fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

fn table(words: &[&str]) {
    let is_quick = words.contains(&"--quick");
    let names: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with("--"))
        .collect();
    println!(
        "{:<22} {:>9} {:>17} {:>8} {:>6} {:>7} {:>6} {:>9}",
        "shape", "level", "sizes", "seconds", "grow", "MiB", "grow", "findings"
    );
    for shape in SHAPES
        .iter()
        .filter(|shape| names.is_empty() || names.contains(&shape.name))
    {
        for level in ["definite", "potential"] {
            row(
                shape,
                if is_quick {
                    shape.largest / 8
                } else {
                    shape.largest
                },
                level,
            );
        }
    }
}

fn row(shape: &Shape, largest: usize, level: &str) {
    let mut times = Vec::new();
    let mut memory = Vec::new();
    let mut last = Taken::default();
    let sizes: Vec<usize> = (0..SIZES).rev().map(|less| largest >> less).collect();
    for &size in &sizes {
        let Some(taken) = in_process(shape, size, level) else {
            println!(
                "{:<22} {level:>9} {size:>17}  it ended without a result",
                shape.name
            );
            return;
        };
        if taken.seconds >= LEAST_SECONDS {
            times.push((size as f64, taken.seconds));
        }
        if let Some(bytes) = taken.peak {
            memory.push((size as f64, bytes));
        }
        last = taken;
    }
    // Small sizes are the program itself.
    let least = memory.first().map_or(0.0, |(_, bytes)| *bytes);
    memory.retain(|(_, bytes)| *bytes >= 2.0 * least);
    let (time, space) = (slope(&times), slope(&memory));
    let told = |slope: Option<f64>| slope.map_or("-".to_owned(), |slope| format!("{slope:.2}"));
    let mut notes = Vec::new();
    if last.is_cut {
        notes.push("a limit ended the work");
    }
    if time.is_some_and(|slope| slope > GOAL) {
        notes.push("TIME");
    }
    if space.is_some_and(|slope| slope > GOAL) {
        notes.push("MEMORY");
    }
    println!(
        "{:<22} {level:>9} {:>17} {:>8.2} {:>6} {:>7} {:>6} {:>9}  {}",
        shape.name,
        format!("{}..{largest}", sizes.first().unwrap_or(&0)),
        last.seconds,
        told(time),
        last.peak
            .map_or("-".to_owned(), |bytes| format!("{:.0}", bytes / 1_048_576.0)),
        told(space),
        last.findings,
        notes.join(", ")
    );
}

/// Time and memory for one size.
#[derive(Default)]
struct Taken {
    /// Of processor time.
    seconds: f64,
    /// Its peak memory, in bytes, if the system reports it.
    peak: Option<f64>,
    findings: usize,
    /// The time was over, or some limit was met.
    is_cut: bool,
}

impl Taken {
    fn line(&self) -> String {
        let peak = self.peak.unwrap_or(0.0);
        format!("{} {peak} {} {}", self.seconds, self.findings, self.is_cut)
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        Some(Self {
            seconds: words.next()?.parse().ok()?,
            peak: words.next()?.parse().ok().filter(|bytes| *bytes > 0.0),
            findings: words.next()?.parse().ok()?,
            is_cut: words.next()?.parse().ok()?,
        })
    }
}

fn in_process(shape: &Shape, size: usize, level: &str) -> Option<Taken> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program)
        .args(["--measure", shape.name, &size.to_string(), level])
        .output()
        .ok()?;
    Taken::read(std::str::from_utf8(&output.stdout).ok()?)
}

fn measure(shape: &Shape, size: usize, level: &str) -> Taken {
    let mut settings = Settings {
        threads: 1,
        timeout: Some(LIMIT),
        ..Settings::default()
    };
    if level == "potential" {
        settings.levels.push(LevelSetting {
            selector: Selector::POTENTIAL,
            level: Level::Warning,
            change: Change::Raise,
        });
    }
    let input = Input {
        name: "a.ptx".to_owned(),
        bytes: Bytes::Memory((shape.text)(size).into_bytes()),
    };
    let start = processor_time();
    let outcome = run::check(vec![input], &settings);
    let seconds = processor_time().saturating_sub(start).as_secs_f64();
    let problems = outcome.inputs.iter().flat_map(|input| &input.problems);
    let mut images = outcome.inputs.iter().flat_map(|input| &input.images);
    let mut is_cut = images.any(|image| image.limit.is_some());
    for problem in problems {
        is_cut |= problem.kind == ProblemKind::Limit;
        if problem.kind != ProblemKind::Limit {
            eprintln!("{}: {}", shape.name, problem.message);
        }
    }
    Taken {
        seconds,
        peak: peak(),
        findings: outcome.findings.len(),
        is_cut,
    }
}

/// The processor time of the process, in all its threads.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Peak memory of the process, in bytes, as Linux reports it.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// The exponent with which values grow with sizes; none of less than three.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let rise: f64 = logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let run: f64 = logs.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    Some(rise / run)
}
