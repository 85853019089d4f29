//! The document as JSON lines: the objects that it lists, each on a line of its own, for programs that read a stream, or join those of
//! several runs.
//!
//! `kind` says what a line is, and the other keys are those of the document: `run` (`schema_version`, `tool`, and of an audit `unread` and
//! the policy) comes first, then each `input`, each package as `loads`, each cell of the `forecast`, the `ratchet` where there is one, each `finding`, and the `summary`.

use std::time::Duration;

use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::release::Comparison;
use ptxcheck_passes::run::Outcome;
use serde::Serialize;

use super::audit::{self, PolicyJson};
use super::{InputJson, SCHEMA_VERSION, Summary, Tool, findings};
use crate::forecast::Columns;
use crate::format::{self, Format, Renderer};
use crate::loads;
use crate::pinned::RatchetJson;
use crate::unread::{self, UnreadJson};

/// One line.
#[derive(Serialize)]
struct Line<T> {
    kind: &'static str,
    #[serde(flatten)]
    content: T,
}

/// The head of a run.
#[derive(Serialize)]
struct Run<'a> {
    schema_version: u32,
    tool: Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Vec<UnreadJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyJson<'a>>,
}

/// The format.
#[derive(Debug)]
pub struct JsonLines;

impl Renderer for JsonLines {
    fn format(&self) -> Format {
        Format::document(
            "jsonl",
            "jsonl",
            "The same as JSON lines: an object a line for each input, cell of the forecast and finding",
        )
    }

    fn render(&self, run: &format::Run<'_>) -> Result<Vec<String>, String> {
        match run.audit {
            None => render(run.outcome, run.elapsed),
            Some(audit) => render_audit(
                run.outcome,
                audit.policy,
                audit.forecast,
                audit.ratchet,
                run.elapsed,
            ),
        }
        .map_err(|error| error.to_string())
    }
}

/// The lines of a check, each with its line end.
///
/// # Errors
///
/// None in practice: the lines hold nothing that JSON can't say.
pub fn render(outcome: &Outcome, elapsed: Duration) -> serde_json::Result<Vec<String>> {
    let mut lines = vec![line("run", Run::OF_CHECK)?];
    for input in &outcome.inputs {
        lines.push(line("input", InputJson::new(input))?);
    }
    conclude(lines, outcome, true, elapsed)
}

/// The lines of an audit, each with its line end.
///
/// # Errors
///
/// As [`render`].
pub fn render_audit(
    outcome: &Outcome,
    policy: &Policy,
    columns: &Columns,
    ratchet: Option<&Comparison>,
    elapsed: Duration,
) -> serde_json::Result<Vec<String>> {
    let run = Run {
        unread: Some(unread::json(outcome)),
        policy: Some(PolicyJson::new(policy)),
        ..Run::OF_CHECK
    };
    let mut lines = vec![line("run", run)?];
    for input in &outcome.inputs {
        lines.push(line("input", audit::AuditedJson::new(input))?);
    }
    for bundle in loads::json(outcome) {
        lines.push(line("loads", bundle)?);
    }
    for cell in audit::forecast(outcome, columns).into_iter().flatten() {
        lines.push(line("forecast", cell)?);
    }
    if let Some(ratchet) = ratchet {
        lines.push(line("ratchet", RatchetJson::new(ratchet))?);
    }
    conclude(lines, outcome, false, elapsed)
}

impl Run<'_> {
    const OF_CHECK: Self = Self {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        unread: None,
        policy: None,
    };
}

/// Adds the findings and the summary.
fn conclude(
    mut lines: Vec<String>,
    outcome: &Outcome,
    is_check: bool,
    elapsed: Duration,
) -> serde_json::Result<Vec<String>> {
    for finding in findings(outcome) {
        lines.push(line("finding", finding)?);
    }
    lines.push(line("summary", Summary::new(outcome, is_check, elapsed))?);
    Ok(lines)
}

fn line(kind: &'static str, content: impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(&Line { kind, content })?;
    text.push('\n');
    Ok(text)
}
