//! The command line.

use std::time::Duration;

/// The arguments.
pub struct Args {
    /// `ptx`, `image`, `package`, `ir` or `mlir`.
    pub kind: String,
    /// The seed of the run.
    pub seed: u64,
    /// Index of the first mutant.
    pub from: u64,
    /// Number of mutants.
    pub count: u64,
    /// Longest that a run takes.
    pub time: Duration,
    /// Processes at a time.
    pub jobs: usize,
    /// Mutants between two words of a process.
    pub batch: u64,
    /// Failures whose message has one of these texts do not count.
    pub skip: Vec<String>,
    /// The use of the mutants.
    pub mode: Mode,
}

/// The use of the mutants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All are checked, by processes.
    Run,
    /// All are checked, by this process.
    Child,
    /// One is printed.
    Show(u64),
    /// One is checked, and cut down as long as it fails in the same way.
    Minimise(u64),
}

/// The usage text.
pub const USAGE: &str = "\
usage: ptxcheck-fuzz ptx|image|package|ir|mlir [--count N] [--seconds T] [--seed S] [--jobs J] [--from I] [--skip TEXT]…
       ptxcheck-fuzz ptx|image|package|ir|mlir --show I --seed S
       ptxcheck-fuzz ptx|image|package|ir|mlir --minimise I --seed S

Makes mutants and has the library check them. Mutant I of seed S is always the same one.
  --count N      how many (default: as many as fit in the time)
  --seconds T    stop after so long (default: 60, or none where --count is given)
  --seed S       default: the clock, which is printed
  --jobs J       processes at a time (default: one a core)
  --from I       the first mutant (default: 0)
  --skip TEXT    failures that say so do not count
  --show I       print one mutant
  --minimise I   print the smallest mutant that fails as mutant I does
Failing mutants are written to target/fuzz. Exit code 1: a mutant failed.";

impl Args {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let kind = words.next().ok_or(USAGE)?;
        if !["ptx", "image", "package", "ir", "mlir"].contains(&kind.as_str()) {
            return Err(USAGE.to_owned());
        }
        let clock = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |time| time.as_secs());
        let mut args = Self {
            kind,
            seed: clock,
            from: 0,
            count: u64::MAX,
            time: Duration::ZERO,
            jobs: std::thread::available_parallelism().map_or(1, Into::into),
            batch: 1,
            skip: Vec::new(),
            mode: Mode::Run,
        };
        let mut time = None;
        while let Some(word) = words.next() {
            if word == "--child" {
                args.mode = Mode::Child;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| format!("`{value}` is no number"))
            };
            match word.as_str() {
                "--seed" => args.seed = number()?,
                "--from" => args.from = number()?,
                "--count" => args.count = number()?,
                "--batch" => args.batch = number()?.max(1),
                "--jobs" => args.jobs = number()?.max(1) as usize,
                "--show" => args.mode = Mode::Show(number()?),
                "--minimise" => args.mode = Mode::Minimise(number()?),
                "--skip" => args.skip.push(value),
                "--seconds" => {
                    let seconds = value.parse::<f64>().ok();
                    let read = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    time = Some(read.ok_or_else(|| format!("`{value}` is no time"))?);
                }
                _ => return Err(format!("`{word}` is unknown\n{USAGE}")),
            }
        }
        let without = if args.count == u64::MAX { 60 } else { 1 << 24 };
        args.time = time.unwrap_or(Duration::from_secs(without));
        Ok(args)
    }
}
