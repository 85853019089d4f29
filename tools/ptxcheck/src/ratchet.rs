//! `--ratchet` and `--pin`: figures of a release that may only get better.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use ptxcheck_passes::names::demangle;
use ptxcheck_passes::release::{Comparison, Contents, Moved, Pin, Ratchet};
use ptxcheck_report::escape;
use time::OffsetDateTime;

use crate::exit::Exit;

/// Most figures that are told.
const TOLD: usize = 20;

/// Most that sizes may grow, in per cent, unless something else is said.
const SLACK: f64 = 1.0;

/// The options of a ratchet.
#[derive(Args, Clone, Debug)]
pub struct RatchetArgs {
    /// Fail on figures that are worse than FILE has them: registers, stack, shared memory and code of each kernel, bytes of each
    /// target, and on the GPUs of the forecast what the driver compiles and what does not load
    #[arg(long, value_name = "FILE", conflicts_with = "shard", help_heading = "Policy")]
    pub ratchet: Option<PathBuf>,

    /// Write the figures to the file of `--ratchet`, and why
    #[arg(long, value_name = "REASON", requires = "ratchet", help_heading = "Policy")]
    pub pin: Option<String>,

    /// Most that sizes may grow, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = SLACK, value_parser = parse_slack, requires = "ratchet", help_heading = "Policy")]
    pub ratchet_slack: f64,
}

fn parse_slack(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|slack: &f64| (0.0..=1000.0).contains(slack))
        .ok_or_else(|| "per cent: 0 to 1000".to_owned())
}

/// The outcome of a ratchet.
#[derive(Debug)]
pub struct Settled {
    /// Lines for standard error.
    pub said: String,
    /// The exit code.
    pub exit: Exit,
}

/// Holds a release against the file, or pins its figures there.
pub fn settle(args: &RatchetArgs, contents: &Contents) -> Settled {
    let Some(file) = &args.ratchet else {
        return Settled {
            said: String::new(),
            exit: Exit::Clean,
        };
    };
    let name = escape::line(&file.to_string_lossy()).into_owned();
    let undone = |problem: String| Settled {
        said: format!("error: `{name}`: {problem}\n"),
        exit: Exit::Undone,
    };
    let pinned = match read(file) {
        Ok(pinned) => pinned,
        Err(problem) => return undone(problem),
    };
    let comparison = pinned
        .as_ref()
        .map(|ratchet| ratchet.compare(contents, args.ratchet_slack));
    match (&args.pin, comparison) {
        (Some(reason), _) if reason.trim().is_empty() => undone("the reason of `--pin` is empty".to_owned()),
        (Some(reason), comparison) => {
            let pin = Pin {
                date: OffsetDateTime::now_utc().date().to_string(),
                reason: reason.trim().to_owned(),
            };
            let pins = pinned.map(|ratchet| ratchet.pins).unwrap_or_default();
            match write(file, &Ratchet::of(contents, pins, pin)) {
                Ok(()) => Settled {
                    said: format!(
                        "pinned {} in `{name}`\n{}",
                        count(contents.kernels.len(), "kernel"),
                        comparison.map(|found| told(&found)).unwrap_or_default()
                    ),
                    exit: Exit::Clean,
                },
                Err(problem) => undone(problem),
            }
        }
        (None, None) => undone("there is no such file: `--pin REASON` writes it".to_owned()),
        (None, Some(found)) => Settled {
            exit: if found.worse.is_empty() {
                Exit::Clean
            } else {
                Exit::Findings
            },
            said: told(&found),
        },
    }
}

/// The file, if there is one.
fn read(file: &Path) -> Result<Option<Ratchet>, String> {
    match fs::read_to_string(file) {
        Ok(text) => Ratchet::parse(&text).map(Some).map_err(|bad| bad.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn write(file: &Path, ratchet: &Ratchet) -> Result<(), String> {
    let text = ratchet.to_text().map_err(|error| error.to_string())?;
    fs::write(file, text).map_err(|error| error.to_string())
}

/// The figures that are worse and better, and the number of kernels that are not pinned.
fn told(found: &Comparison) -> String {
    let mut text = String::new();
    for (word, moved) in [("worse", &found.worse), ("better", &found.better)] {
        for one in moved.iter().take(TOLD) {
            let _ = writeln!(text, "{word}: {}", line(one));
        }
        if let more @ 1.. = moved.len().saturating_sub(TOLD) {
            let _ = writeln!(text, "{word}: {more} more");
        }
    }
    if found.fresh > 0 {
        let _ = writeln!(text, "not pinned: {}", count(found.fresh, "kernel"));
    }
    if found.gone > 0 {
        let _ = writeln!(text, "pinned and gone: {}", count(found.gone, "kernel"));
    }
    if !found.better.is_empty() && found.worse.is_empty() {
        text.push_str("`--pin REASON` keeps what is better\n");
    }
    text
}

fn line(moved: &Moved) -> String {
    let Moved {
        kernel,
        about,
        what,
        old,
        new,
    } = moved;
    let kernel = kernel.as_deref().map(|name| {
        let name = demangle(name).unwrap_or_else(|| name.to_owned());
        escape::line(&name).into_owned()
    });
    let about = escape::line(about);
    match (kernel, *what) {
        (Some(kernel), "missing") if new > old => format!("`{kernel}` no longer loads on {about}"),
        (Some(kernel), "missing") => format!("`{kernel}` loads on {about}"),
        (Some(kernel), "registers") => format!("`{kernel}` for {about}: {old} registers before, {new} now"),
        (Some(kernel), what) => format!("`{kernel}` for {about}: {what} of {old} bytes before, {new} now"),
        (None, "compiled") => format!("on {about} the driver compiles {new} bytes of PTX, {old} before"),
        (None, _) => format!("images for {about}: {old} bytes before, {new} now"),
    }
}

fn count(count: usize, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}
