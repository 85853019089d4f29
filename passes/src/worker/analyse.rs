//! What runs inside a worker.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Checked;
use crate::context::ModuleContext;
use crate::frontend::llvm;
use crate::ir::Module;
use crate::link;
use crate::locate::Locator;
use crate::rule::ProblemKind;
use crate::rules;
use crate::run::apply;
use crate::settings::Settings;

/// Reads IR and runs the rules over it. What they say is handed to `answer`, once, and only then is the memory given
/// back: that takes LLVM a sixth to a third of the time. A panic is a failure of this input.
pub(super) fn analyse(bytes: &[u8], settings: &Settings, answer: impl FnOnce(Checked)) {
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
            input.with_module(|module| say(checked(module, settings)));
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

/// Runs the rules over a module.
#[must_use]
pub fn checked(module: &Module<'_>, settings: &Settings) -> Checked {
    let bodies = module.bodies().count();
    let kernels: Vec<String> = module
        .bodies()
        .filter(|(_, function, _)| function.is_kernel())
        .map(|(id, ..)| module.function_name(id).to_owned())
        .collect();
    let context = ModuleContext::new(module, settings);
    let mut drafts = Vec::new();
    for rule in rules::ALL.iter().filter(|rule| settings.wants(rule)) {
        apply(rule, &context, &mut drafts);
    }
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
        failure: None,
    }
}
