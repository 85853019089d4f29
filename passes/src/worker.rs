//! LLVM IR, read and analysed in a process of its own.
//!
//! LLVM aborts or crashes on malformed input, runs out of memory on hostile input, and can loop on it. So the program
//! starts itself as a worker, hands it one input after the other over a pipe, and gets back what was found. A worker
//! that dies costs the input it was looking at, and nothing else: the next input starts another. Each thread of a run
//! has one, so that a thousand inputs do not start a thousand processes.
//!
//! ```text
//! run ── length, bytes ──► worker: with_module, rules ── length, Checked ──► run
//!                          the memory given back ─────── ready ────────────► run, before it hands over another
//! ```
//!
//! `codec.rs` writes and reads the messages, `process.rs` starts workers and talks to them, `analyse.rs` is what runs
//! inside. A worker ends when its standard input does.

mod analyse;
mod codec;
mod process;

use std::time::Duration;

use crate::deadline::Deadline;
use crate::finding::Finding;
use crate::limits::MAX_WORKER_SECONDS;
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
    /// The time was over before all of it was analysed.
    pub is_cut_short: bool,
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

/// How long one input may take, without LLVM's giving its memory back.
pub(crate) fn time_limit(settings: &Settings) -> Duration {
    let longest = Duration::from_secs(MAX_WORKER_SECONDS);
    settings.timeout.unwrap_or(longest).min(longest)
}

/// Analyses IR: in a worker, or here where the settings name none.
#[must_use]
pub fn check(bytes: &[u8], settings: &Settings) -> Checked {
    match &settings.worker {
        Some(command) => process::ask(command, bytes),
        None => {
            let mut found = Checked::default();
            let deadline = Deadline::after(Some(time_limit(settings)));
            analyse::analyse(bytes, settings, &deadline, |checked| found = checked);
            found
        }
    }
}
