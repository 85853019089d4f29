//! The client of the MLIR worker: a separate program, which converts kernels to LLVM bitcode.

use std::borrow::Cow;
use std::time::Duration;

use ptxcheck_frontend_mlir::bytecode;
use ptxcheck_frontend_mlir::message::{self, Answer, Converted};
use ptxcheck_worker::{Lost, Protocol};

use crate::deadline::Deadline;
use crate::image::InputError;
use crate::rule::ProblemKind;
use crate::settings::{Settings, WorkerCommand};

use super::starts::{Failure, Start};
use super::{message_about_late_module, time_left};

/// The messages of the worker.
pub const PROTOCOL: Protocol = Protocol {
    program: message::PROGRAM,
    version: message::VERSION,
};

/// The message if the program is missing.
pub const MISSING: &str =
    "`ptxcheck-mlir`, which reads that, is neither beside this program nor named by PTXCHECK_MLIR";

/// The advice if the program or its libraries are missing.
const INSTEAD: &str = "or give the PTX or LLVM IR that the compiler makes of it";

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
                "it is MLIR, and {MISSING}: build it with `make build`, which needs Debian's libmlir-22-dev, {INSTEAD}"
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
    let limit = time_left(bytes.len(), settings, deadline);
    match start.ask(|| ask(command, bytes, limit)) {
        Ok(Answer::Late) | Err(Failure::Late) => Err(late(bytes, settings)),
        Ok(answer) => Ok(answer),
        Err(Failure::NotStarted(error)) => Err(not_started(&error)),
        Err(Failure::Died(how)) => Err(InputError::new(
            ProblemKind::Internal,
            format!("MLIR failed on it: {how}"),
        )),
    }
}

/// The code for GPUs in bytecode, and the text that MLIR prints of it, in which the places of the code are: `None` where MLIR does not
/// read its own text.
///
/// # Errors
///
/// Another version of MLIR wrote it, MLIR cannot read it, or [`convert`] fails.
pub(crate) fn convert_bytecode(
    bytes: &[u8],
    settings: &Settings,
    start: &Start,
    deadline: &Deadline,
) -> Result<(Vec<Converted>, Option<Vec<u8>>), InputError> {
    let refused = |message| InputError::new(ProblemKind::Unreadable, message);
    let Some(writer) = bytecode::writer(bytes) else {
        return Err(refused("it is MLIR bytecode whose header is broken".to_owned()));
    };
    if writer.major != Some(bytecode::MLIR_VERSION) {
        return Err(refused(format!(
            "it is MLIR bytecode that `{}` wrote, and only that of MLIR {} can be read: give it as text, which the `mlir-opt` of \
             that version prints",
            crate::shown::name(writer.name.as_bytes()),
            bytecode::MLIR_VERSION
        )));
    }
    match convert(bytes, settings, start, deadline)? {
        Answer::Read { modules, text } => Ok((modules, text)),
        Answer::Malformed(said) => Err(refused(format!("MLIR cannot read it: {}", said.message))),
        Answer::Late => Err(late(bytes, settings)),
    }
}

/// The text of MLIR: that which MLIR prints of bytecode, with the places that it carries; text is what it is.
///
/// # Errors
///
/// The worker of the settings is not there or fails, or MLIR cannot read the bytecode, or not the text that it prints of it.
pub fn text<'b>(
    bytes: &'b [u8],
    settings: &Settings,
    deadline: &Deadline,
) -> Result<Cow<'b, [u8]>, InputError> {
    if !bytecode::is_bytecode(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let (_, text) = convert_bytecode(bytes, settings, &Start::default(), deadline)?;
    text.map(Cow::Owned).ok_or_else(|| {
        let message = "it is MLIR bytecode, and MLIR cannot read the text that it prints of it";
        InputError::new(ProblemKind::Unreadable, message)
    })
}

/// The error of an input whose time was over.
fn late(bytes: &[u8], settings: &Settings) -> InputError {
    InputError::new(
        ProblemKind::Limit,
        message_about_late_module(bytes.len(), settings),
    )
}

fn ask(command: &WorkerCommand, bytes: &[u8], limit: Duration) -> Result<Answer, Lost> {
    ptxcheck_worker::ask(command, PROTOCOL, &[], bytes, limit, |answer| {
        let answer = message::decode(answer)?;
        // A worker whose time was over ends itself.
        let goes_on = answer != Answer::Late;
        Some((answer, goes_on))
    })
}
