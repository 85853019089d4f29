//! The cause of findings in a helper whose callers differ.
//!
//! A helper such as `shift(mask, value, source)` is inlined into its callers, and each finding in it names its line. If the callers pass it
//! the same values, that line has to be fixed. If their masks, objects or sizes differ, some calls may be right and others wrong: then the
//! call is the cause, and each such call is a cause of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::exceptions::ReportAt;
use crate::finding::{Data, Finding, Frame, Value};
use crate::settings::Settings;

/// Most helpers that lie between a line and the call that is the cause.
const MAX_HELPERS: usize = 8;

/// The keys of a payload that describe the values passed by the caller, and not the threads that reach the place.
const GIVEN: [&str; 10] = [
    "bytes",
    "expected_space",
    "limit",
    "mask",
    "memory",
    "param",
    "size",
    "symbol",
    "values",
    "width",
];

/// A line: its file and number.
type Line = (String, u32);

/// Moves findings from the line of a helper to its calls, if the calls pass different values.
pub(super) fn move_to_calls(findings: &mut [Finding], settings: &Settings) {
    if settings.headers.report_at == ReportAt::Header {
        return;
    }
    for _ in 0..MAX_HELPERS {
        let differing = differing(findings);
        if differing.is_empty() {
            return;
        }
        for finding in findings.iter_mut() {
            let Some((line, _)) = place(finding) else { continue };
            if differing.contains(&(finding.rule.code, line))
                && let Some(source) = &mut finding.source
            {
                let call = source.inlined_at.remove(0);
                source.inside.push(std::mem::replace(&mut source.at, call));
            }
        }
    }
}

/// The lines of helpers, by rule, that two calls reach with different values.
fn differing(findings: &[Finding]) -> BTreeSet<(&'static str, Line)> {
    let mut calls: BTreeMap<(&'static str, Line), BTreeMap<Line, BTreeSet<String>>> = BTreeMap::new();
    for finding in findings {
        if let Some((at, call)) = place(finding) {
            let by_call = calls.entry((finding.rule.code, at)).or_default();
            by_call.entry(call).or_default().insert(given(&finding.data));
        }
    }
    calls.retain(|_, by_call| {
        let mut values = by_call.values();
        let first = values.next();
        values.any(|other| Some(other) != first)
    });
    calls.into_keys().collect()
}

/// The line of a finding in a helper, and that of its call. `None` if the finding is not in a helper, or if another place has to be fixed.
fn place(finding: &Finding) -> Option<(Line, Line)> {
    let line = |frame: &Frame| (frame.file.clone(), frame.line);
    if finding.related.iter().any(|related| related.is_cause) {
        return None;
    }
    let source = finding.source.as_ref()?;
    Some((line(&source.at), line(source.inlined_at.first()?)))
}

/// The values that a caller passed, as a text.
fn given(data: &Data) -> String {
    let wanted = data.iter().filter(|(key, _)| GIVEN.contains(key));
    let mut text = String::new();
    for (key, value) in wanted {
        text.push_str(key);
        match value {
            Value::Text(value) => text.push_str(value),
            Value::Number(value) => text.push_str(&value.to_string()),
            Value::Numbers(values) => values.iter().for_each(|value| text.push_str(&value.to_string())),
            Value::Texts(values) => values.iter().for_each(|value| text.push_str(value)),
        }
        text.push('\n');
    }
    text
}
