//! The format `json`: the document of a check, or of an audit.

use crate::format::{self, Format, Renderer, Run};
use crate::json;

/// The format.
#[derive(Debug)]
pub struct Json;

impl Renderer for Json {
    fn format(&self) -> Format {
        Format::document("json", "json", "One document for programs")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        format::one(match run.audit {
            None => json::render(run.outcome, run.elapsed),
            Some(audit) => json::audit::render(
                run.outcome,
                audit.policy,
                audit.forecast,
                audit.ratchet,
                run.elapsed,
            ),
        })
    }
}
