//! LLVM IR, read and analysed in a process of its own.
//!
//! LLVM aborts or crashes on malformed input, runs out of memory on hostile input, and can loop on it. So a run starts
//! the program `ptxcheck-llvm`, hands it one input after the other over a pipe, and gets back the findings. A worker that dies loses the
//! input it was analysing, and nothing else: the next input starts another. Each thread of a run has one, so that a thousand inputs do not
//! start a thousand processes.
//!
//! ```text
//! run ── time, settings, bytes ► worker: read, check_module ── length, Answer ──► run
//!                          the memory given back ─────── ready ────────────► run, before it hands over another
//! ```
//!
//! `message.rs` defines the messages, `process.rs` starts workers and talks to them, `starts.rs` remembers that one does
//! not start, `analyse.rs` is what runs inside. A worker ends when its standard input does. LLVM itself is handed in from
//! outside ([`ReadIr`](crate::settings::ReadIr)), so that programs that only start workers do not link it.

mod analyse;
mod message;
pub mod mlir;
mod process;
mod starts;

use std::time::Duration;

use crate::deadline::{self, Deadline};
use crate::limits::{MAX_WORKER_SECONDS, WORKER_BYTES_PER_SECOND, WORKER_SECONDS};
use crate::rule::ProblemKind;
use crate::settings::{IrReader, Settings};

pub use message::Answer;
pub(crate) use message::{decode_report, encode_report, encode_settings};
pub use process::{PROTOCOL, serve};
pub use ptxcheck_worker::{Protocol, start};
pub use starts::Start;

/// The time that a module of so many bytes may take, without LLVM's giving its memory back: `--timeout`, else a time that grows
/// with the module.
fn time_limit(bytes: usize, settings: &Settings) -> Duration {
    let growing = WORKER_SECONDS + bytes as u64 / WORKER_BYTES_PER_SECOND;
    let usual = Duration::from_secs(growing.min(MAX_WORKER_SECONDS));
    settings.timeout.unwrap_or(usual)
}

/// The time that is left for a module of so many bytes: its limit, and no more than the time to the deadline.
fn time_left(bytes: usize, settings: &Settings, deadline: &Deadline) -> Duration {
    let limit = time_limit(bytes, settings);
    deadline.left().map_or(limit, |left| left.min(limit))
}

/// The message about a module whose time was over.
pub(crate) fn message_about_late_module(bytes: usize, settings: &Settings) -> String {
    let said = deadline::too_long(time_limit(bytes, settings));
    match settings.timeout {
        Some(_) => said,
        None => format!(
            "{said} (`--timeout` sets another limit for LLVM IR than this one, which goes by its size)"
        ),
    }
}

/// Words for the program's not being there.
pub const MISSING: &str =
    "`ptxcheck-llvm`, which reads that, is neither beside this program nor named by PTXCHECK_LLVM";

/// The message about an input that `is` LLVM IR or becomes it, where the program is not there.
pub(crate) fn message_about_missing_worker(is: &str) -> String {
    format!(
        "{is}, and {MISSING}: build it with `make build`, which needs LLVM 22 (Debian's llvm-22-dev), or give the PTX that the \
         compiler makes of it"
    )
}

/// Analyses IR, as the settings say. The time of its input is over at `deadline`.
#[must_use]
pub fn check(bytes: &[u8], settings: &Settings, start: &Start, deadline: &Deadline) -> Answer {
    let limit = time_left(bytes.len(), settings, deadline);
    let mut found = Answer::OtherTarget;
    match &settings.ir_reader {
        IrReader::Missing => {
            found = Answer::Failed(
                ProblemKind::Unreadable,
                message_about_missing_worker("it is LLVM IR"),
            );
        }
        IrReader::Process(command) => found = process::ask(command, bytes, settings, start, limit),
        IrReader::Here(read) => {
            let deadline = Deadline::after(Some(limit));
            analyse::analyse(*read, bytes, settings, &deadline, |answer| found = answer);
        }
    }
    if let Answer::Failed(ProblemKind::Limit, message) = &mut found {
        *message = message_about_late_module(bytes.len(), settings);
    }
    found
}
