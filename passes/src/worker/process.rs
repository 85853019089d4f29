//! Workers as processes: asking one about IR, and being one.

use std::io;
use std::time::Duration;

use ptxcheck_worker::Lost;

use super::{Answer, analyse, message};
use crate::deadline::{self, Deadline};
use crate::registry::Registry;
use crate::rule::ProblemKind;
use crate::settings::{Settings, WorkerCommand};

/// Has a worker analyse IR, within `limit`. One that dies is a failure of this input.
pub(super) fn ask(command: &WorkerCommand, bytes: &[u8], settings: &Settings, limit: Duration) -> Answer {
    let read = |answer: &[u8]| {
        let answer = message::decode(answer, &settings.registry)?;
        // A worker whose time was over ends itself.
        let goes_on = !matches!(answer, Answer::Failed(ProblemKind::Limit, _));
        Some((answer, goes_on))
    };
    let lost = match ptxcheck_worker::ask(command, &message::task(settings), bytes, limit, read) {
        Ok(answer) => return answer,
        Err(lost) => lost,
    };
    let internal = |message| Answer::Failed(ProblemKind::Internal, message);
    match lost {
        Lost::NotStarted(error) => internal(format!(
            "the process that reads LLVM IR could not be started: {error}"
        )),
        Lost::Late => Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)),
        Lost::Died(after, status) => internal(format!(
            "LLVM failed on it: the process that reads it ended after {:.1} s ({status})",
            after.as_secs_f64()
        )),
    }
}

/// Is a worker that knows these rules: answers requests from standard input on standard output. Limits the memory of the process for good.
///
/// # Errors
///
/// Failures of the pipes.
pub fn serve(registry: &Registry) -> io::Result<()> {
    let late = |limit| message::encode(&Answer::Failed(ProblemKind::Limit, deadline::too_long(limit)));
    ptxcheck_worker::serve(late, |task, bytes, limit, answer| {
        // A task that does not decode gets no answer, which ends the process.
        if let Some(settings) = message::settings(task, registry) {
            let deadline = Deadline::after(Some(limit));
            analyse::analyse(bytes, &settings, &deadline, |found| {
                answer.give(&message::encode(&found));
            });
        }
    })
}
