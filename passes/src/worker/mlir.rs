//! The questions to the worker that has MLIR: a program of its own, which makes LLVM bitcode of kernels.

use std::sync::OnceLock;
use std::time::Duration;

use ptxcheck_frontend_mlir::message::{self, Answer};
use ptxcheck_worker::Lost;

use crate::deadline::Deadline;
use crate::image::InputError;
use crate::rule::ProblemKind;
use crate::settings::{Settings, WorkerCommand};

use super::{time_limit, too_long};

/// The advice for those who lack the program or its libraries.
const INSTEAD: &str = "or give the PTX or LLVM IR that the compiler makes of it";

/// The start of the worker in a run, as the first answer to a thread showed: the reason that it does not start, if it does not. It is
/// started in vain once by each thread at most, however many files there are.
#[derive(Debug, Default)]
pub(crate) struct Start(OnceLock<Option<String>>);

/// Has the worker convert text or bytecode. The time of its input is over at `deadline`.
///
/// # Errors
///
/// The worker is not there, died, or took too long.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &Settings,
    start: &Start,
    deadline: &Deadline,
) -> Result<Answer, InputError> {
    let Some(command) = &settings.mlir_worker else {
        return Err(InputError::new(
            ProblemKind::Unreadable,
            format!(
                "it is MLIR, and `ptxcheck-mlir`, which reads that, is neither beside this program nor named by PTXCHECK_MLIR: \
                 build it with `make build`, which needs Debian's libmlir-22-dev, {INSTEAD}"
            ),
        ));
    };
    let not_started = |error: &str| {
        InputError::new(
            ProblemKind::Unreadable,
            format!(
                "it is MLIR, and `{}`, which reads that, does not start ({error}): it needs Debian's libmlir-22, {INSTEAD}",
                command.program.display()
            ),
        )
    };
    if let Some(Some(error)) = start.0.get() {
        return Err(not_started(error));
    }
    let limit = time_limit(bytes.len(), settings);
    let limit = deadline.left().map_or(limit, |left| left.min(limit));
    let late = || InputError::new(ProblemKind::Limit, too_long(bytes.len(), settings));
    let answer = ask(command, bytes, limit);
    start.0.get_or_init(|| match &answer {
        Err(Lost::NotStarted(error)) => Some(error.to_string()),
        _ => None,
    });
    match answer {
        Ok(Answer::Late) => Err(late()),
        Ok(answer) => Ok(answer),
        Err(Lost::Late) => Err(late()),
        Err(Lost::NotStarted(error)) => Err(not_started(&error.to_string())),
        Err(Lost::Died(after, status)) => Err(InputError::new(
            ProblemKind::Internal,
            format!(
                "MLIR failed on it: the process that reads it ended after {:.1} s ({status})",
                after.as_secs_f64()
            ),
        )),
    }
}

fn ask(command: &WorkerCommand, bytes: &[u8], limit: Duration) -> Result<Answer, Lost> {
    ptxcheck_worker::ask(command, &[], bytes, limit, |answer| {
        let answer = message::decode(answer)?;
        // A worker whose time was over ends itself.
        let goes_on = answer != Answer::Late;
        Some((answer, goes_on))
    })
}
