//! The time of each step of a check of PTX, in one run.
//!
//! `cargo bench -p ptxcheck-passes --bench check -- [FILES or FOLDERS]`, without arguments the compiler output of the corpus:
//!
//! * a line for each step: tokens (a plain pass over the bytes, for comparison), the tree of all of the text and its lowering (for comparison,
//!   too), reading in one pass, as a check does, each analysis, and rules with what they ask beyond those; milliseconds of processor time on one thread, the best of several rounds, MB/s (10⁶ bytes), and the share
//!   of the whole check;
//! * the whole check on one thread and on all, with definite findings alone and with potential ones; seconds by the clock;
//! * the check beside `ptxlint` over the same files, where a program of this name is on the path: one process of each in turn, on one
//!   thread; seconds of processor time, and the median ratio.
//!
//! `--rules` adds the time of each rule alone, with the analyses that it asks for.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower, read};
use ptxcheck_passes::ir::Module;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::{self, Bytes, Input};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_passes::{ModuleContext, check_module};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 5;

/// The compiler output that the repository has.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/compilers");

/// The argument with which this program does nothing but check the files after it.
const ONLY_CHECK: &str = "--only-check";

fn main() {
    if std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == ONLY_CHECK)
    {
        return only_check(std::env::args().skip(2));
    }
    let (options, mut paths): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .partition(|arg| arg.starts_with("--"));
    if paths.is_empty() {
        paths.push(CORPUS.to_owned());
    }
    let mut files = Vec::new();
    for path in &paths {
        find(Path::new(path), &mut files);
    }
    let texts: Vec<(PathBuf, Vec<u8>)> = files
        .into_iter()
        .filter_map(|file| std::fs::read(&file).ok().map(|text| (file, text)))
        .collect();
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {:.1} MB", texts.len(), bytes as f64 / 1e6);
    // One thread, which is measured: large modules would leave work to others.
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(|| {
            steps(&texts, bytes);
            if options.iter().any(|option| option == "--rules") {
                each_rule(&texts);
            }
        }),
        Err(error) => println!("{error}"),
    }
    whole(&texts, bytes);
    peer(&texts);
}

/// The files with PTX in a folder, sorted; or the file itself.
fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        return files.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten();
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    for path in inside {
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "ptx") {
            find(&path, files);
        }
    }
}

/// Does an analysis of a module whose earlier ones are done.
type Analyse = fn(&ModuleContext<'_>);

const ANALYSES: [(&str, Analyse); 4] = [
    ("graphs", |context| {
        for (id, ..) in context.module.bodies() {
            let analyses = context.function(id);
            black_box((analyses.cfg(), analyses.dominators(), analyses.definitions()));
        }
    }),
    ("calls", |context| {
        black_box(context.call_graph());
    }),
    ("provenance", |context| {
        black_box(context.violations());
    }),
    ("lanes", |context| {
        black_box(context.lanes());
    }),
];

/// Times of the steps over all texts, in their order: tokens, the tree, its lowering, reading in one pass, analyses, all rules with their
/// analyses.
fn round(texts: &[(PathBuf, Vec<u8>)], settings: &Settings) -> Vec<Duration> {
    let mut times = vec![Duration::ZERO; 5 + ANALYSES.len()];
    for (_, text) in texts {
        let mut step = 0;
        let mut last = processor_time();
        let mut done = |times: &mut Vec<Duration>| {
            let now = processor_time();
            times[step] += now.saturating_sub(std::mem::replace(&mut last, now));
            step += 1;
        };
        black_box(tokens(text));
        done(&mut times);
        let Ok(tree) = ptxcheck_ptx_parser::parse(text) else {
            continue;
        };
        done(&mut times);
        let origin = PtxOrigin::new(&tree);
        black_box(lower(&tree, &origin));
        done(&mut times);
        let Ok((tree, code)) = read(text, Deadline::NEVER) else {
            continue;
        };
        let origin = PtxOrigin::new(&tree);
        let module = code.module(&tree, &origin, Deadline::NEVER);
        done(&mut times);
        let context = ModuleContext::new(&module, settings.for_rules());
        for (_, analyse) in ANALYSES {
            analyse(&context);
            done(&mut times);
        }
        drop(context);
        black_box(check_module(&module, settings));
        done(&mut times);
    }
    times
}

fn steps(texts: &[(PathBuf, Vec<u8>)], bytes: usize) {
    let settings = Settings::default();
    let rounds: Vec<Vec<Duration>> = (0..ROUNDS).map(|_| round(texts, &settings)).collect();
    let best = |step: usize| rounds.iter().map(|round| round[step]).min().unwrap_or_default();
    let (read, rules) = (best(3), best(4 + ANALYSES.len()));
    let whole = read + rules;
    let row = |name: &str, time: Duration| {
        println!(
            "{name:<24} {:>9.1} ms {:>9.0} MB/s {:>5.0} %",
            time.as_secs_f64() * 1e3,
            rate(bytes, time),
            100.0 * time.as_secs_f64() / whole.as_secs_f64()
        );
    };
    row("tokens", best(0));
    row("tree", best(1));
    row("lower the tree", best(2));
    row("read in one pass", read);
    let mut analysed = Duration::ZERO;
    for (number, (name, _)) in ANALYSES.iter().enumerate() {
        let time = best(4 + number);
        analysed += time;
        row(name, time);
    }
    row("rules, and what they ask", rules.saturating_sub(analysed));
    row("all", whole);
}

/// The time of each rule alone, the slowest first.
fn each_rule(texts: &[(PathBuf, Vec<u8>)]) {
    let off = LevelSetting {
        selector: Selector::ALL,
        level: Level::Allow,
        change: Change::Set,
    };
    let mut times: Vec<(Duration, &str, &str)> = Vec::new();
    for rule in Settings::default().registry.rules() {
        let only = LevelSetting {
            selector: Selector::rule(rule),
            level: Level::Error,
            change: Change::Set,
        };
        let settings = Settings {
            levels: vec![off, only],
            ..Settings::default()
        };
        let mut time = Duration::ZERO;
        for (_, text) in texts {
            let Ok(tree) = ptxcheck_ptx_parser::parse(text) else {
                continue;
            };
            let origin = PtxOrigin::new(&tree);
            let module: Module<'_> = lower(&tree, &origin);
            let start = processor_time();
            black_box(check_module(&module, &settings));
            time += processor_time().saturating_sub(start);
        }
        times.push((time, rule.code, rule.name));
    }
    times.sort_unstable_by(|one, other| other.cmp(one));
    for (time, code, name) in times.iter().take(15) {
        println!("{:>9.1} ms  {code} {name}", time.as_secs_f64() * 1e3);
    }
}

/// The check as the program does it.
fn whole(texts: &[(PathBuf, Vec<u8>)], bytes: usize) {
    let potential = LevelSetting {
        selector: Selector::POTENTIAL,
        level: Level::Warning,
        change: Change::Set,
    };
    let mut first = None;
    for (name, levels) in [("check", vec![]), ("check, potential too", vec![potential])] {
        for threads in [1, 0] {
            let settings = Settings {
                threads,
                levels: levels.clone(),
                ..Settings::default()
            };
            let time = best_of(|| {
                let inputs = texts.iter().map(|(path, _)| Input {
                    name: path.display().to_string(),
                    bytes: Bytes::File(path.clone()),
                });
                black_box(run::check(inputs.collect(), &settings));
            });
            let against = *first.get_or_insert(time);
            println!(
                "{:<24} {:>9.3} s  {:>9.0} MB/s {:>5.2} times",
                format!("{name}, {}", if threads == 1 { "one thread" } else { "all" }),
                time.as_secs_f64(),
                rate(bytes, time),
                time.as_secs_f64() / against.as_secs_f64()
            );
        }
    }
}

/// The check beside `ptxlint`, over the same files: one process of each in turn, on one thread, user and system time. Several rounds, the
/// median of their ratios.
fn peer(texts: &[(PathBuf, Vec<u8>)]) {
    let files = || texts.iter().map(|(path, _)| path.as_path());
    let Ok(own) = std::env::current_exe() else {
        return println!("the path of this program is not known");
    };
    let mut rounds: Vec<(f64, Duration, Duration)> = Vec::new();
    for _ in 0..ROUNDS {
        let check = time_of_process(&own, [Path::new(ONLY_CHECK)].into_iter().chain(files()));
        let (Some(check), Some(peer)) = (check, time_of_process(Path::new("ptxlint"), files())) else {
            return println!("ptxlint is not on the path");
        };
        rounds.push((peer.as_secs_f64() / check.as_secs_f64(), check, peer));
    }
    rounds.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((ratio, check, peer)) = rounds.get(rounds.len() / 2) {
        println!(
            "{:<24} {:>9.3} s, ptxlint {:.3} s: {ratio:.2} times as fast",
            "check, processor time",
            check.as_secs_f64(),
            peer.as_secs_f64()
        );
    }
}

/// User and system time of a process on one thread; `None` if it can't be started. It may find what it looks for.
fn time_of_process<'p>(program: &Path, arguments: impl Iterator<Item = &'p Path>) -> Option<Duration> {
    // The shell's own `time` needs no program and no unsafe code.
    const TIMED: &str =
        "TIMEFORMAT='%U %S'; { time \"$0\" \"$@\" >/dev/null 2>/dev/null; } 2>&1; [ $? -lt 126 ]";
    let mut command = Command::new("bash");
    command.args(["-c", TIMED]).arg(program).args(arguments);
    let output = command.env("RAYON_NUM_THREADS", "1").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let seconds: Option<f64> = text.split_whitespace().map(|time| time.parse::<f64>().ok()).sum();
    output
        .status
        .success()
        .then_some(Duration::from_secs_f64(seconds?))
}

/// The check alone, in a process of its own.
fn only_check(files: impl Iterator<Item = String>) {
    let settings = Settings {
        threads: 1,
        ..Settings::default()
    };
    let inputs = files.map(|path| Input {
        bytes: Bytes::File(PathBuf::from(&path)),
        name: path,
    });
    black_box(run::check(inputs.collect(), &settings));
}

fn best_of(mut work: impl FnMut()) -> Duration {
    let timed = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(timed).min().unwrap_or_default()
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

/// The number of words, numbers and signs in a text: what any reader of it does at least.
fn tokens(text: &[u8]) -> usize {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'%' | b'$' | b'.');
    let (mut count, mut was_word) = (0, false);
    for &byte in text {
        let word = is_word(byte);
        count += usize::from(word && !was_word || !word && !byte.is_ascii_whitespace());
        was_word = word;
    }
    count
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
