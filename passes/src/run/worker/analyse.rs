//! The analysis of one module inside a worker.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Answer;
use crate::deadline::Deadline;
use crate::driver;
use crate::inventory::Facts;
use crate::ir::Extent;
use crate::rule::ProblemKind;
use crate::run::problem::panic;
use crate::settings::{ReadIr, Settings};

/// Reads IR and runs the rules over it. What they say is handed to `answer`, once, and only then is the memory given
/// back: that takes LLVM a sixth to a third of the time. A panic is a failure of this input.
pub(super) fn analyse(
    read: ReadIr,
    bytes: &[u8],
    settings: &Settings,
    deadline: &Deadline,
    answer: impl FnOnce(Answer),
) {
    let mut answer = Some(answer);
    let mut say = |found: Answer| {
        if let Some(answer) = answer.take() {
            answer(found);
        }
    };
    let extent = if settings.images_only {
        Extent::Declarations
    } else {
        Extent::Whole
    };
    let work = AssertUnwindSafe(|| {
        read(bytes, extent, &mut |module| match module {
            Some(module) => {
                let facts = driver::with_declarations(module, Facts::of(module));
                let report = driver::check_until(module, facts, settings, deadline);
                say(Answer::Checked(Box::new(report)));
            }
            None => say(Answer::OtherTarget),
        })
    });
    match catch_unwind(work) {
        Ok(Ok(())) => {}
        Ok(Err(refused)) => say(Answer::Failed(ProblemKind::Unreadable, refused)),
        Err(payload) => {
            let error = panic(payload.as_ref());
            say(Answer::Failed(error.kind, error.message));
        }
    }
}
