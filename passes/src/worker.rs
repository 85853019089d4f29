//! LLVM IR, read and analysed in a process of its own.
//!
//! LLVM aborts or crashes on malformed input, runs out of memory on hostile input, and can loop on it. So the program
//! starts itself as a worker, hands it one input after the other over a pipe, and gets back what was found. A worker
//! that dies costs the input it was looking at, and nothing else: the next input starts another. Each thread of a run
//! has one, so that a thousand inputs do not start a thousand processes.
//!
//! ```text
//! run ── time, length, bytes ► worker: with_module, rules ── length, Checked ──► run
//!                          the memory given back ─────── ready ────────────► run, before it hands over another
//! ```
//!
//! `codec.rs` writes and reads the messages, `process.rs` starts workers and talks to them, `analyse.rs` is what runs
//! inside. A worker ends when its standard input does.

mod analyse;
mod codec;
mod process;

use std::time::Duration;

use crate::deadline::{self, Deadline};
use crate::finding::Finding;
use crate::limits::{MAX_WORKER_SECONDS, WORKER_BYTES_PER_SECOND, WORKER_SECONDS};
use crate::link::Symbols;
use crate::rule::ProblemKind;
use crate::settings::Settings;

pub use analyse::checked;
pub use process::serve;

/// What an analysis of one module of IR says.
#[derive(Debug, Default)]
pub struct Checked {
    /// `sm_90`; empty if the module does not say.
    pub target: String,
    /// PTX ISA version; empty if the module does not say.
    pub isa: String,
    /// Names of the kernels defined.
    pub kernels: Vec<String>,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// What it shows to a linker.
    pub symbols: Option<Symbols>,
    /// Findings, of input 0 and image 0.
    pub findings: Vec<Finding>,
    /// It is no device code, and was not analysed.
    pub is_elsewhere: bool,
    /// Findings that were more than are told of an input.
    pub left_out: usize,
    /// The time was over before all of it was analysed.
    pub is_cut_short: bool,
    /// What was not looked at, since it exceeds a limit.
    pub limit: Option<String>,
    /// Why nothing, or not all of it, was analysed.
    pub failure: Option<(ProblemKind, String)>,
}

impl Checked {
    pub(crate) fn failed(kind: ProblemKind, message: String) -> Self {
        Self {
            failure: Some((kind, message)),
            ..Self::default()
        }
    }
}

/// How long a module of so many bytes may take, without LLVM's giving its memory back: what `--timeout` says, else a time
/// that grows with the module.
fn time_limit(bytes: usize, settings: &Settings) -> Duration {
    let growing = WORKER_SECONDS + bytes as u64 / WORKER_BYTES_PER_SECOND;
    let usual = Duration::from_secs(growing.min(MAX_WORKER_SECONDS));
    settings.timeout.unwrap_or(usual)
}

/// What is said of a module whose time was over.
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
pub fn check(bytes: &[u8], settings: &Settings, deadline: &Deadline) -> Checked {
    let limit = time_limit(bytes.len(), settings);
    let limit = deadline.left().map_or(limit, |left| left.min(limit));
    let mut found = Checked::default();
    match &settings.worker {
        Some(command) => found = process::ask(command, bytes, limit),
        None => {
            let deadline = Deadline::after(Some(limit));
            analyse::analyse(bytes, settings, &deadline, |checked| found = checked);
        }
    }
    if let Some((ProblemKind::Limit, message)) = &mut found.failure {
        *message = too_long(bytes.len(), settings);
    }
    found
}
