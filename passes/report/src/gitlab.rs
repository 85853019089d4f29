//! GitLab's code quality report: a list of issues. Suppressed findings are left out.

use std::collections::HashSet;

use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use serde::Serialize;

use crate::causes::Cause;
use crate::escape::{cut, line};
use crate::format::{self, Format, Renderer, Run};
use crate::input_name;
use crate::paths::Paths;
use crate::places::ShownPlace;

/// Characters of a description.
const DESCRIPTION_CHARACTERS: usize = 1_000;

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The format.
#[derive(Debug)]
pub struct GitLab;

impl Renderer for GitLab {
    fn format(&self) -> Format {
        Format::document("gitlab", "json", "GitLab's code quality report")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        format::one(render(run.outcome, run.root))
    }
}

/// The report, with a line end.
///
/// # Errors
///
/// None in practice: it holds nothing that JSON can't say.
pub fn render(outcome: &Outcome, root: &Root) -> serde_json::Result<String> {
    let mut paths = Paths::new(root);
    let mut known = HashSet::new();
    let issues: Vec<Issue> = Cause::worst_first(outcome)
        .iter()
        .map(|cause| issue(outcome, cause, &mut paths))
        .filter(|issue| known.insert(issue.fingerprint.clone()))
        .collect();
    let mut text = serde_json::to_string_pretty(&issues)?;
    text.push('\n');
    Ok(text)
}

fn issue(outcome: &Outcome, cause: &Cause<'_>, paths: &mut Paths) -> Issue {
    let input = input_name(outcome, cause.first);
    let (file, begin) = match ShownPlace::of(outcome, cause.first) {
        Some(place) if place.image.is_none() => (place.file, place.line.max(1)),
        _ => (input, 1),
    };
    let places = match cause.group.findings.len() {
        1 => String::new(),
        places => format!(" (at {places} places)"),
    };
    Issue {
        description: cut(
            &format!(
                "{}{places} [{}]",
                line(cause.group.message.as_str()),
                cause.group.rule.code
            ),
            DESCRIPTION_CHARACTERS,
        ),
        check_name: cause.group.rule.name,
        fingerprint: cause.group.fingerprint.as_str().to_owned(),
        severity: severity(cause),
        location: Location {
            path: line(paths.name(file, input).as_str()).into_owned(),
            lines: Lines { begin },
        },
    }
}

/// `blocker` and `info` are nothing that a checker can know.
fn severity(cause: &Cause<'_>) -> &'static str {
    match (cause.group.level, cause.group.certainty) {
        (Level::Error, Certainty::Definite) => "critical",
        (Level::Error, Certainty::Conditional | Certainty::Potential) => "major",
        (Level::Warning | Level::Allow, _) => "minor",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ptxcheck_passes::finding::Suppression;
    use ptxcheck_passes::rule::Level;
    use ptxcheck_passes::scope::Root;
    use serde_json::{Value, json};

    use super::render;
    use crate::samples;

    #[test]
    fn an_issue_has_what_gitlab_asks_for() {
        let mut warning = samples::finding_at(0);
        warning.level = Level::Warning;
        let mut suppressed = samples::finding_at(7);
        suppressed.suppressed = Some(Suppression {
            by: "config",
            reason: "known".to_owned(),
        });
        let outcome = samples::outcome_of([
            samples::finding_at(4),
            samples::finding_at(4),
            warning,
            suppressed,
        ]);
        let issues: Value = serde_json::from_str(&render(&outcome, &Root::default()).unwrap()).unwrap();
        let fingerprint = &outcome.groups[0].fingerprint;
        assert_eq!(
            issues[0],
            json!({
                "description": "the member mask is 0 (at 2 places) [PTX407]",
                "check_name": "zero-mask",
                "fingerprint": fingerprint,
                "severity": "critical",
                "location": {"path": "no/such/k.cu", "lines": {"begin": 4}},
            })
        );
        assert_eq!(
            (&issues[1]["severity"], &issues[1]["location"]["lines"]["begin"]),
            (&json!("minor"), &json!(1))
        );
        assert_eq!(issues.as_array().unwrap().len(), 2);
    }

    #[test]
    fn fingerprints_are_unique() {
        let outcome = samples::outcome_of((0..500).map(samples::finding_at));
        let issues: Vec<Value> = serde_json::from_str(&render(&outcome, &Root::default()).unwrap()).unwrap();
        let fingerprints: BTreeSet<_> = issues
            .iter()
            .map(|issue| issue["fingerprint"].to_string())
            .collect();
        assert_eq!((issues.len(), fingerprints.len()), (500, 500));
    }
}
