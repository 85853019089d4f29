//! A run: processes that check ranges of its mutants, and the mutants that they fail on.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::args::Args;

/// Mutants between two words of a process.
const BATCH: u64 = 64;

/// Mutants of one process.
const RANGE: u64 = 1 << 14;

/// Wall time without a word after which a process is ended.
const SILENCE: Duration = Duration::from_secs(30);

/// Longest silence of a process that checks one mutant alone.
const SILENCE_OF_ONE: Duration = Duration::from_secs(15);

/// Failures with one message that are kept.
const KEPT: usize = 3;

/// The results of a campaign.
#[derive(Default)]
pub struct Summary {
    /// Mutants that were checked.
    pub checked: u64,
    /// Processor time of the checks and of making the mutants.
    pub time: Duration,
    /// The slowest mutant, and its index.
    pub slowest: (Duration, u64),
    /// Most memory of a process, in bytes.
    pub largest: u64,
    /// Mutants that ended LLVM while it read them.
    pub deaths_of_llvm: u64,
    /// Failures that `--skip` names.
    pub skipped: u64,
    /// Failures by their message without numbers and names: their number, and the first ones with index and message.
    pub failures: BTreeMap<String, (u64, Vec<(u64, String)>)>,
}

impl Summary {
    fn fail(&mut self, args: &Args, index: u64, message: &str) {
        if args.skip.iter().any(|text| message.contains(text)) {
            self.skipped += 1;
            return;
        }
        // Text in brackets or quotes differs from mutant to mutant.
        let start = message.split(['(', '`']).next().unwrap_or_default();
        let key: String = start
            .chars()
            .filter(|letter| !letter.is_ascii_digit())
            .take(120)
            .collect();
        let (count, kept) = self.failures.entry(key).or_default();
        *count += 1;
        if kept.len() < KEPT {
            kept.push((index, message.to_owned()));
        }
    }
}

/// Checks the mutants that the arguments ask for.
pub fn run(args: &Args) -> Summary {
    let next = AtomicU64::new(args.from);
    let end = args.from.saturating_add(args.count);
    let deadline = Instant::now() + args.time;
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                while Instant::now() < deadline {
                    let from = next.fetch_add(RANGE, Ordering::Relaxed);
                    if from >= end {
                        return;
                    }
                    let to = from.saturating_add(RANGE).min(end);
                    check_range(args, from, to, deadline, &summary);
                }
            });
        }
    });
    summary.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A process at work.
struct Process {
    child: Child,
    words: Receiver<String>,
}

impl Process {
    fn start(args: &Args, from: u64, to: u64, batch: u64, time: Duration) -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(&args.kind)
            .arg("--child")
            .args(["--seed", &args.seed.to_string()])
            .args(["--from", &from.to_string()])
            .args(["--count", &(to - from).to_string()])
            .args(["--batch", &batch.to_string()])
            .args(["--seconds", &time.as_secs_f64().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (tell, words) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, words })
    }

    /// The cause of its death: its status, and the start of its output.
    fn autopsy(mut self, is_late: bool) -> String {
        let _ = self.child.kill();
        let said = self.child.stderr.take();
        let status = self
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        let mut text = Vec::new();
        if let Some(said) = said {
            let _ = said.take(2_000).read_to_end(&mut text);
        }
        let text = String::from_utf8_lossy(&text).replace('\n', " ");
        if is_late {
            return "it does not end".to_owned();
        }
        format!("the process ended ({status}) {text}")
    }
}

/// Has a process check a range of mutants; the mutants of a batch that it dies on are checked one by one.
fn check_range(args: &Args, mut from: u64, to: u64, deadline: Instant, summary: &Mutex<Summary>) {
    let most = if args.kind == "ir" { 1 } else { BATCH };
    let (mut batch, mut end) = (most, to);
    while from < to {
        let time = deadline.saturating_duration_since(Instant::now());
        let Ok(process) = Process::start(args, from, end, batch, time) else {
            return fail(summary, args, from, "no process could be started");
        };
        match follow(args, process, batch, summary) {
            Ending::Done(at) if at < end => return,
            Ending::Done(at) => (from, batch, end) = (at, most, to),
            Ending::Died(at, ..) if at.end - at.start > 1 => (from, batch, end) = (at.start, 1, at.end),
            Ending::Died(at, is_llvm, how) => {
                if at.is_empty() {
                    return fail(summary, args, from, &how);
                }
                if is_llvm {
                    summary
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .deaths_of_llvm += 1;
                } else {
                    fail(summary, args, at.start, &how);
                }
                summary.lock().unwrap_or_else(PoisonError::into_inner).checked += 1;
                from = at.end;
                if from >= end {
                    (batch, end) = (most, to);
                }
            }
        }
    }
}

fn fail(summary: &Mutex<Summary>, args: &Args, index: u64, message: &str) {
    let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
    summary.fail(args, index, message);
}

enum Ending {
    /// It checked all before this one.
    Done(u64),
    /// It died in this batch, of LLVM or not, and of what.
    Died(std::ops::Range<u64>, bool, String),
}

fn follow(args: &Args, process: Process, batch: u64, summary: &Mutex<Summary>) -> Ending {
    let mut at = 0..0;
    let mut is_reading = false;
    // A failure counts once its batch is over: the mutants of a batch that dies are checked again.
    let mut failed: Vec<(u64, String)> = Vec::new();
    let silence = if batch == 1 { SILENCE_OF_ONE } else { SILENCE };
    let is_late = loop {
        let word = match process.words.recv_timeout(silence) {
            Ok(word) => word,
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        };
        let (first, rest) = word.split_once(' ').unwrap_or((&word, ""));
        let mut numbers = rest.split(' ').map_while(|text| text.parse::<u64>().ok());
        let mut next = || numbers.next().unwrap_or_default();
        match first {
            "reading" => is_reading = true,
            "read" => is_reading = false,
            "failed" => {
                let message = rest.split_once(' ').map_or("", |(_, message)| message);
                failed.push((next(), message.to_owned()));
            }
            "at" => at = next()..next(),
            "checked" => {
                let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
                for (index, message) in failed.drain(..) {
                    summary.fail(args, index, &message);
                }
                let from = next();
                at.start = next();
                summary.checked += at.start.saturating_sub(from);
                summary.time += Duration::from_micros(next());
                summary.slowest = summary.slowest.max((Duration::from_micros(next()), next()));
                summary.largest = summary.largest.max(next());
            }
            "done" => {
                drop(process.autopsy(false));
                return Ending::Done(at.start);
            }
            _ => {}
        }
    };
    let how = process.autopsy(is_late);
    Ending::Died(at, is_reading, how)
}
