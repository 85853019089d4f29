//! Markdown for the summary of a job or a comment: the findings, the figures of a ratchet, and the forecast of an audit.

use crate::format::{Format, Renderer, Run};
use crate::{audit, forecast, github, pinned};

/// The format.
#[derive(Debug)]
pub struct Markdown;

impl Renderer for Markdown {
    fn format(&self) -> Format {
        Format::document(
            "markdown",
            "md",
            "Markdown for the summary of a job or a comment: the findings, and the forecast of an audit",
        )
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        Ok(vec![render(run, github::SUMMARY_BYTES)])
    }
}

/// The document, within so many bytes.
#[must_use]
pub fn render(run: &Run<'_>, room: usize) -> String {
    let forecast = run
        .columns()
        .map(|columns| audit::loads_markdown(run.outcome) + &forecast::markdown(run.outcome, columns))
        .filter(|text| text.len() < room / 2)
        .unwrap_or_default();
    let ratchet = run.audit.and_then(|audit| audit.ratchet);
    let ratchet = ratchet
        .map(pinned::markdown)
        .filter(|text| text.len() < room / 4)
        .unwrap_or_default();
    let room = room - forecast.len() - ratchet.len();
    let findings = github::summary(run.outcome, run.root, run.is_check(), room);
    findings + &ratchet + &forecast
}
