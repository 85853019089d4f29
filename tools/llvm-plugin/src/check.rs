//! A module, checked: its bitcode in, diagnostics out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::diagnostics::{Diagnostic, of_document};
use crate::program;
use crate::settings::{Settings, Stage};

/// Exit codes of `ptxcheck` with which it has printed a document: nothing fails, something does, not all could be done.
const CLEAN: i32 = 0;
const FAILED: i32 = 1;
const UNDONE: i32 = 2;

/// A module of device code.
#[derive(Debug)]
pub(crate) struct Compiled<'a> {
    pub(crate) bitcode: &'a [u8],
    /// The file that it was compiled from, as the compiler names it.
    pub(crate) source: &'a Path,
    /// It has line information.
    pub(crate) has_lines: bool,
}

/// The diagnostics of a module. What prevents the check is a warning; nothing panics.
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
    match answer.status.code() {
        Some(code @ (CLEAN | FAILED | UNDONE)) => {
            of_document(&answer.document, code != CLEAN, module.has_lines).or_else(|why| failed(&why))
        }
        _ => failed("so what it printed does not count"),
    }
}
