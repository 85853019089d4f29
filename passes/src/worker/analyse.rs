//! What runs inside a worker.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Checked;
use crate::context::ModuleContext;
use crate::deadline::Deadline;
use crate::frontend::llvm;
use crate::ir::Module;
use crate::link;
use crate::locate::Locator;
use crate::rule::ProblemKind;
use crate::run::drafts;
use crate::settings::Settings;

/// Reads IR and runs the rules over it. What they say is handed to `answer`, once, and only then is the memory given
/// back: that takes LLVM a sixth to a third of the time. A panic is a failure of this input.
pub(super) fn analyse(bytes: &[u8], settings: &Settings, deadline: &Deadline, answer: impl FnOnce(Checked)) {
    let mut answer = Some(answer);
    let mut say = |checked: Checked| {
        if let Some(answer) = answer.take() {
            answer(checked);
        }
    };
    let work = AssertUnwindSafe(|| -> Result<(), String> {
        let memory = llvm::Memory::default();
        let input = memory.read(bytes)?;
        if input.is_device_code() {
            input.with_module(|module| say(checked(module, settings, deadline)));
        } else {
            say(Checked {
                is_elsewhere: true,
                ..Checked::default()
            });
        }
        Ok(())
    });
    match catch_unwind(work) {
        Ok(Ok(())) => {}
        Ok(Err(message)) => say(Checked::failed(ProblemKind::Unreadable, message)),
        Err(payload) => {
            let said = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            say(Checked::failed(
                ProblemKind::Internal,
                format!("the analysis failed: {said}"),
            ));
        }
    }
}

/// Runs the rules over a module, until the deadline.
#[must_use]
pub fn checked(module: &Module<'_>, settings: &Settings, deadline: &Deadline) -> Checked {
    let bodies = module.bodies().count();
    let kernels: Vec<String> = module
        .bodies()
        .filter(|(_, function, _)| function.is_kernel())
        .map(|(id, ..)| module.function_name(id).to_owned())
        .collect();
    let context = ModuleContext::with_deadline(module, settings, deadline);
    let (drafts, left_out) = drafts(&context);
    let locator = Locator::unplaced(module);
    Checked {
        target: module.target.name.to_owned(),
        isa: module.isa.map(|version| version.to_string()).unwrap_or_default(),
        functions: (bodies - kernels.len()) as u32,
        kernels,
        symbols: link::symbols(module),
        findings: drafts
            .into_iter()
            .filter_map(|draft| locator.finding(draft, settings))
            .collect(),
        is_elsewhere: false,
        left_out,
        is_cut_short: deadline.has_cut(),
        limit: context.limit(),
        failure: None,
    }
}
