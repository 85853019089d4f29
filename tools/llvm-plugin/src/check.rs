//! A module, checked: its bitcode in, diagnostics out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::diagnostics::{Diagnostic, Kind, Verdict, of_document};
use crate::program;
use crate::settings::{Settings, Stage};

/// A module of device code.
#[derive(Debug)]
pub(crate) struct Compiled<'a> {
    pub(crate) bitcode: &'a [u8],
    /// The file that it was compiled from, as the compiler names it.
    pub(crate) source: &'a Path,
    /// It has line information.
    pub(crate) has_lines: bool,
}

/// The diagnostics of a module. A reason that prevents the check is a warning; nothing panics.
pub(crate) fn check(module: &Compiled<'_>) -> Vec<Diagnostic> {
    let checked = catch_unwind(AssertUnwindSafe(|| diagnostics(module)));
    let mut found = match checked {
        Ok(Ok(found)) => found,
        Ok(Err(problem)) => vec![Diagnostic::failure(&format!("not checked: {problem}"))],
        Err(_) => vec![Diagnostic::failure("not checked: the plugin failed")],
    };
    if let Err(problem) = Stage::from_environment() {
        found.insert(0, Diagnostic::failure(&problem));
    }
    found
}

fn diagnostics(module: &Compiled<'_>) -> Result<Vec<Diagnostic>, String> {
    let settings = Settings::from_environment()?;
    let answer = program::run(&settings, module.bitcode, module.source)?;
    let failed = |why: &str| {
        let program = settings.program.to_string_lossy();
        let said = match answer.said.as_str() {
            "" => String::new(),
            said => format!(": {said}"),
        };
        Err(format!("`{program}` failed ({}), {why}{said}", answer.status))
    };
    let verdict = match answer.status.code() {
        Some(0) => Verdict::Clean,
        Some(1) => Verdict::Fails,
        Some(2) => Verdict::Undone,
        _ => return failed("so what it printed does not count"),
    };
    let mut found = match of_document(&answer.document, verdict, module.has_lines) {
        Ok(found) => found,
        Err(why) => return failed(&why),
    };
    let says_why = found.iter().any(|diagnostic| diagnostic.kind == Kind::Failure);
    if verdict == Verdict::Undone && !says_why {
        found.insert(
            0,
            Diagnostic::failure(&format!("not all was checked: {}", answer.said)),
        );
    }
    Ok(found)
}
