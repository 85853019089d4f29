//! LLVM IR, read and analysed in a process of its own.
//!
//! LLVM aborts or crashes on malformed input, runs out of memory on hostile input, and can loop on it. So the program
//! starts itself as a worker, hands it one input after the other over a pipe, and gets back what was found. A worker
//! that dies costs the input it was looking at, and nothing else: the next input starts another. Each thread of a run
//! has one, so that a thousand inputs do not start a thousand processes.
//!
//! ```text
//! run ── time, settings, bytes ► worker: read, check_module ── length, Answer ──► run
//!                          the memory given back ─────── ready ────────────► run, before it hands over another
//! ```
//!
//! `message.rs` says what goes over the pipe, `process.rs` starts workers and talks to them, `analyse.rs` is what runs
//! inside. A worker ends when its standard input does.

mod analyse;
mod message;
pub mod mlir;
mod process;

use std::time::Duration;

use crate::deadline::{self, Deadline};
use crate::limits::{MAX_WORKER_SECONDS, WORKER_BYTES_PER_SECOND, WORKER_SECONDS};
use crate::rule::ProblemKind;
use crate::settings::Settings;

pub use message::Answer;
pub use process::serve;

/// The time that a module of so many bytes may take, without LLVM's giving its memory back: `--timeout`, else a time that grows
/// with the module.
fn time_limit(bytes: usize, settings: &Settings) -> Duration {
    let growing = WORKER_SECONDS + bytes as u64 / WORKER_BYTES_PER_SECOND;
    let usual = Duration::from_secs(growing.min(MAX_WORKER_SECONDS));
    settings.timeout.unwrap_or(usual)
}

/// The message about a module whose time was over.
pub(crate) fn too_long(bytes: usize, settings: &Settings) -> String {
    let said = deadline::too_long(time_limit(bytes, settings));
    match settings.timeout {
        Some(_) => said,
        None => format!(
            "{said} (`--timeout` sets another limit for LLVM IR than this one, which goes by its size)"
        ),
    }
}

/// Analyses IR: in a worker, or here where the settings name none. The time of its input is over at `deadline`.
#[must_use]
pub fn check(bytes: &[u8], settings: &Settings, deadline: &Deadline) -> Answer {
    let limit = time_limit(bytes.len(), settings);
    let limit = deadline.left().map_or(limit, |left| left.min(limit));
    let mut found = Answer::OtherTarget;
    match &settings.worker {
        Some(command) => found = process::ask(command, bytes, settings, limit),
        None => {
            let deadline = Deadline::after(Some(limit));
            analyse::analyse(bytes, settings, &deadline, |answer| found = answer);
        }
    }
    if let Answer::Failed(ProblemKind::Limit, message) = &mut found {
        *message = too_long(bytes.len(), settings);
    }
    found
}
