//! Workers as processes: client and server side.

use std::io;
use std::time::Duration;

use ptxcheck_worker::Protocol;

use super::starts::{Failure, Start};
use super::{Answer, analyse, message};
use crate::deadline::{self, Deadline};
use crate::registry::Registry;
use crate::rule::ProblemKind;
use crate::settings::{ReadIr, Settings, WorkerCommand};

/// The messages of the worker, which are those of this package.
pub const PROTOCOL: Protocol = Protocol {
    program: "ptxcheck-llvm",
    version: env!("CARGO_PKG_VERSION"),
};

/// Has a worker analyse IR, within `limit`. One that dies is a failure of this input.
pub(super) fn ask(
    command: &WorkerCommand,
    bytes: &[u8],
    settings: &Settings,
    start: &Start,
    limit: Duration,
) -> Answer {
    let read = |answer: &[u8]| {
        let answer = message::decode(answer, &settings.registry)?;
        // A worker whose time was over ends itself.
        let goes_on = !matches!(answer, Answer::Failed(ProblemKind::Limit, _));
        Some((answer, goes_on))
    };
    let task = message::encode_settings(settings);
    let answer = start.ask(|| ptxcheck_worker::ask(command, PROTOCOL, &task, bytes, limit, read));
    answer.unwrap_or_else(|failure| match failure {
        Failure::NotStarted(error) => Answer::Failed(
            ProblemKind::Unreadable,
            format!(
                "it is LLVM IR, and `{}`, which reads that, does not start ({error}): it needs LLVM 22 (Debian's libllvm22), or \
                 give the PTX that the compiler makes of it",
                command.program.display()
            ),
        ),
        Failure::Late => Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)),
        Failure::Died(how) => Answer::Failed(ProblemKind::Internal, format!("LLVM failed on it: {how}")),
    })
}

/// Is a worker that knows these rules and reads IR with `read`: answers requests from standard input on standard output. `llvm`
/// names what it reads with, for those who ask: `LLVM 22`. Limits the memory of the process for good.
///
/// # Errors
///
/// Failures of the pipes.
pub fn serve(registry: &Registry, llvm: &str, read: ReadIr) -> io::Result<()> {
    let late = |limit| message::encode(&Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)));
    ptxcheck_worker::serve(PROTOCOL, llvm, late, |task, bytes, limit, answer| {
        // A task that does not decode gets no answer, which ends the process.
        if let Some(settings) = message::settings(task, registry) {
            let deadline = Deadline::after(Some(limit));
            analyse::analyse(read, bytes, &settings, &deadline, |found| {
                answer.give(&message::encode(&found));
            });
        }
    })
}
