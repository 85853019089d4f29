//! SARIF 2.1.0, for code scanning and other readers. A result is a cause, the most severe first, cut at the number that GitHub accepts.

mod document;
mod limits;
mod result;
mod rules;

use std::collections::{BTreeMap, HashMap, HashSet};

use document::{
    ArtifactLocation, DescriptorReference, Driver, Invocation, Log, Notification, ROOT, Run, SarifResult,
    Text, Tool,
};
use limits::{MAX_NOTIFICATIONS, MAX_PACKED_BYTES, MAX_RESULTS, MAX_RULES, SHOWN_RESULTS};
use miniz_oxide::deflate::compress_to_vec;
use ptxcheck_passes::rule::Rule;
use ptxcheck_passes::rules::find;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use result::{Results, said};

use crate::PROGRAM;
use crate::causes::Cause;
use crate::coverage::Coverage;
use crate::format::{self, Format, Renderer};
use crate::pages::RulePages;
use crate::paths::{Paths, uri};
use crate::summary::is_undone;

/// The compression level of gzip where none is given.
const GZIP_LEVEL: u8 = 6;

/// The format.
#[derive(Debug)]
pub struct Sarif;

impl Renderer for Sarif {
    fn format(&self) -> Format {
        Format::document("sarif", "sarif", "SARIF 2.1.0, for code scanning")
    }

    fn render(&self, run: &format::Run<'_>) -> Result<Vec<String>, String> {
        let options = Options {
            rules: run.rules,
            pages: run.pages,
            root: run.root,
            // Those of an audit are on because it is one, and about images.
            has_potential: run.wanted.potential || !run.is_check(),
            has_suppressed: run.wanted.suppressed,
            has_baseline: run.has_baseline,
            is_check: run.is_check(),
        };
        format::one(render(run.outcome, &options))
    }
}

/// The contents of a document.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The order of the rules, those of a program's own among them. Rules that no result and no notification names are not described.
    pub rules: &'a [&'static Rule],
    /// The pages about rules.
    pub pages: &'a RulePages,
    /// The folder that paths are relative to.
    pub root: &'a Root,
    /// Potential findings, too.
    pub has_potential: bool,
    /// Suppressed results, too, with the reasons.
    pub has_suppressed: bool,
    /// The findings were compared with a baseline: each is new, or unchanged.
    pub has_baseline: bool,
    /// The run analysed code: the document lists code that it did not analyse.
    pub is_check: bool,
}

/// The document, with a line end.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(outcome: &Outcome, options: &Options<'_>) -> serde_json::Result<String> {
    let mut causes: Vec<Cause<'_>> = Cause::all(outcome)
        .filter(|cause| options.has_potential || cause.group.certainty.is_certain())
        .filter(|cause| options.has_suppressed || cause.group.suppressed.is_none())
        .collect();
    causes.sort_by_key(Cause::severity);
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let mut rules: Vec<&'static Rule> = Vec::new();
    let found: HashSet<&str> = causes.iter().map(|cause| cause.group.rule.code).collect();
    let of_causes = causes.iter().map(|cause| cause.group.rule);
    let known = options.rules.iter().copied();
    // Notifications name rules, too.
    let problems = outcome.inputs.iter().flat_map(|input| &input.problems);
    let of_problems = problems
        .take(MAX_NOTIFICATIONS)
        .filter_map(|problem| find(problem.kind.code()));
    for rule in known
        .filter(|rule| found.contains(rule.code))
        .chain(of_causes)
        .chain(of_problems)
    {
        if rules.len() < MAX_RULES && !indices.contains_key(rule.code) {
            indices.insert(rule.code, rules.len());
            rules.push(rule);
        }
    }
    let mut writer = Results::new(outcome, Paths::new(options.root), options.has_baseline);
    let results: Vec<SarifResult> = causes
        .iter()
        .filter_map(|cause| Some((cause, *indices.get(cause.group.rule.code)?)))
        .take(MAX_RESULTS)
        .map(|(cause, index)| writer.result(cause, index))
        .collect();
    let mut count = results.len();
    loop {
        let run = Run {
            tool: Tool {
                driver: driver(&rules, options.pages),
            },
            invocations: [Invocation {
                execution_successful: !outcome.inputs.iter().any(is_undone),
                tool_execution_notifications: notifications(
                    outcome,
                    options,
                    &mut writer,
                    &indices,
                    (count, causes.len()),
                ),
            }],
            original_uri_base_ids: base(options.root),
            column_kind: "utf16CodeUnits",
            results: &results[..count],
        };
        let mut text = serde_json::to_string(&Log::new(run))?;
        text.push('\n');
        if count == 0 || fits(&text) {
            return Ok(text);
        }
        count = count * 3 / 4;
    }
}

/// True if a document is small enough for GitHub, compressed.
fn fits(text: &str) -> bool {
    text.len() <= MAX_PACKED_BYTES || compress_to_vec(text.as_bytes(), GZIP_LEVEL).len() <= MAX_PACKED_BYTES
}

fn driver(rules: &[&'static Rule], pages: &RulePages) -> Driver {
    Driver {
        name: PROGRAM,
        semantic_version: env!("CARGO_PKG_VERSION"),
        version: env!("CARGO_PKG_VERSION"),
        information_uri: pages.site().map(str::to_owned),
        rules: rules.iter().map(|rule| rules::descriptor(rule, pages)).collect(),
    }
}

/// The folder that paths are relative to, with the `/` that the standard wants at its end.
fn base(root: &Root) -> BTreeMap<&'static str, ArtifactLocation> {
    let paths = Paths::new(root);
    let base = paths.root().map(|root| ArtifactLocation {
        uri: uri(&format!("{}/", root.trim_end_matches('/'))),
        uri_base_id: None,
    });
    base.map(|base| (ROOT, base)).into_iter().collect()
}

/// Notifications about the run besides its results: inputs that could not be analysed, code that was not, and omitted results. `indices`:
/// those of the rules. `told`: the number of reported results, and of all.
fn notifications(
    outcome: &Outcome,
    options: &Options<'_>,
    writer: &mut Results<'_>,
    indices: &HashMap<&str, usize>,
    told: (usize, usize),
) -> Vec<Notification> {
    let mut all = Vec::new();
    let problems = outcome
        .inputs
        .iter()
        .flat_map(|input| input.problems.iter().map(move |problem| (input, problem)));
    let count = problems.clone().count();
    for (input, problem) in problems.take(MAX_NOTIFICATIONS) {
        let mut notification = notification("error", &problem.message);
        let code = problem.kind.code();
        notification.descriptor = Some(DescriptorReference {
            id: code,
            index: indices.get(code).copied(),
        });
        notification.locations = vec![writer.input(&input.name, problem.line)];
        all.push(notification);
    }
    if let more @ 1.. = count.saturating_sub(MAX_NOTIFICATIONS) {
        all.push(notification(
            "error",
            &format!("{more} more parts of inputs could not be analysed"),
        ));
    }
    if options.is_check {
        let coverage = Coverage::of(outcome);
        let sentences = coverage.render();
        let sentences = sentences.lines().map(str::to_owned).chain(coverage.warning());
        all.extend(sentences.map(|sentence| notification("warning", &sentence)));
    }
    let expired = outcome.decisions.expired.iter().take(MAX_NOTIFICATIONS);
    all.extend(expired.map(|sentence| notification("note", sentence)));
    let (told, there) = told;
    if told < there {
        all.push(notification(
            "warning",
            &format!(
                "{} of {there} causes of findings are left out, the least severe: GitHub takes no more than {MAX_RESULTS} results, and \
                 10 MB packed",
                there - told
            ),
        ));
    }
    if told > SHOWN_RESULTS {
        all.push(notification(
            "note",
            &format!("GitHub shows the {SHOWN_RESULTS} most severe of the {told} results"),
        ));
    }
    all
}

fn notification(level: &'static str, sentence: &str) -> Notification {
    Notification {
        level,
        message: Text::from(said(sentence)),
        descriptor: None,
        locations: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use ptxcheck_passes::finding::{Certainty, Suppression};
    use ptxcheck_passes::rule::Level;
    use ptxcheck_passes::rules;
    use ptxcheck_passes::run::Outcome;
    use ptxcheck_passes::scope::Root;
    use serde_json::{Value, json};

    use super::{Options, fits, render};
    use crate::pages::RulePages;
    use crate::samples;

    static NO_PAGES: LazyLock<RulePages> = LazyLock::new(RulePages::default);

    fn options(root: &Root) -> Options<'_> {
        Options {
            rules: rules::ALL,
            pages: &NO_PAGES,
            root,
            has_potential: false,
            has_suppressed: true,
            has_baseline: false,
            is_check: true,
        }
    }

    fn run(outcome: &Outcome, options: &Options<'_>) -> Value {
        let document: Value = serde_json::from_str(&render(outcome, options).unwrap()).unwrap();
        document["runs"][0].clone()
    }

    fn root() -> Root {
        Root {
            root: Some("/no such/root".into()),
            working: Some("/no such/root".into()),
        }
    }

    #[test]
    fn a_result_says_where_and_how_it_is_come_to() {
        let run = run(
            &samples::outcome_of([samples::finding_at(4), samples::finding_at(4)]),
            &options(&root()),
        );
        assert_eq!(
            run["originalUriBaseIds"]["%SRCROOT%"]["uri"],
            "file:///no%20such/root/"
        );
        let result = &run["results"][0];
        let rule =
            &run["tool"]["driver"]["rules"][usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(
            place["artifactLocation"],
            json!({"uri": "no/such/k.cu", "uriBaseId": "%SRCROOT%"})
        );
        assert_eq!(
            place["region"],
            json!({"startLine": 4, "startColumn": 13, "endLine": 4, "endColumn": 14})
        );
        assert_eq!(result["locations"][0]["logicalLocations"][0]["name"], "bad1()");
        // The place that explains it, and the other one of its cause.
        assert_eq!(result["relatedLocations"].as_array().unwrap().len(), 2);
        assert_eq!(
            result["relatedLocations"][1]["message"]["text"],
            "also here, in `bad1()`"
        );
        let steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
            .as_array()
            .unwrap();
        let lines: Vec<_> = steps
            .iter()
            .map(|step| {
                step["location"]["physicalLocation"]["region"]["startLine"]
                    .as_u64()
                    .unwrap()
            })
            .collect();
        assert_eq!(lines, [9, 4, 110]);
        assert_eq!(result["suppressions"], json!([]));
        assert_eq!(result.get("baselineState"), None);
        assert_eq!(result["partialFingerprints"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn what_does_not_count_has_a_reason_and_comes_last() {
        let suppressed = |by, line| {
            let mut finding = samples::finding_at(line);
            finding.suppressed = Some(Suppression {
                by,
                reason: "known [here](http://x)".to_owned(),
            });
            finding
        };
        let outcome = samples::outcome_of([
            suppressed("comment", 1),
            suppressed("baseline", 2),
            samples::finding_at(3),
        ]);
        let root = root();
        let all = Options {
            has_baseline: true,
            ..options(&root)
        };
        let run = self::run(&outcome, &all);
        let told: Vec<_> = run["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| {
                (
                    result["suppressions"][0]["kind"].clone(),
                    result["baselineState"].clone(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (Value::Null, json!("new")),
                (json!("inSource"), json!("new")),
                (json!("external"), json!("unchanged"))
            ]
        );
        let reason = &run["results"][1]["suppressions"][0]["justification"];
        assert_eq!(reason, "known [here] (http://x)");
        let some = Options {
            has_suppressed: false,
            ..all
        };
        assert_eq!(self::run(&outcome, &some)["results"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn potential_findings_are_asked_for() {
        let mut finding = samples::finding();
        finding.certainty = Certainty::Potential;
        let outcome = samples::outcome_of([finding]);
        let root = root();
        assert_eq!(run(&outcome, &options(&root))["results"], json!([]));
        let all = Options {
            has_potential: true,
            ..options(&root)
        };
        assert_eq!(
            run(&outcome, &all)["results"][0]["properties"]["certainty"],
            "potential"
        );
    }

    #[test]
    fn inputs_that_could_not_be_analysed_are_notifications() {
        let mut outcome = samples::outcome(samples::finding());
        outcome.inputs[0].problems.push(samples::syntax_error());
        let run = run(&outcome, &options(&root()));
        let invocation = &run["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let notification = &invocation["toolExecutionNotifications"][0];
        assert_eq!(
            (&notification["level"], &notification["descriptor"]["id"]),
            (&json!("error"), &json!("PTX902"))
        );
        let index = usize::try_from(notification["descriptor"]["index"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "PTX902");
        let region = &notification["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["startLine"], 2);
    }

    #[test]
    fn thirty_thousand_findings_are_cut_at_what_github_takes() {
        let outcome = samples::outcome_of((0..30_000).map(|line| {
            let mut finding = samples::finding_at(line);
            if line < 20_000 {
                finding.level = Level::Warning;
            }
            finding
        }));
        assert_eq!(outcome.groups.len(), 30_000);
        let root = root();
        let text = render(&outcome, &options(&root)).unwrap();
        assert!(fits(&text));
        let document: Value = serde_json::from_str(&text).unwrap();
        let run = &document["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), 25_000);
        let errors = results
            .iter()
            .take_while(|result| result["level"] == "error")
            .count();
        assert_eq!(errors, 10_000);
        let notifications = run["invocations"][0]["toolExecutionNotifications"].to_string();
        assert!(
            notifications.contains("5000 of 30000 causes of findings are left out"),
            "{notifications}"
        );
        assert!(
            notifications.contains("shows the 5000 most severe of the 25000"),
            "{notifications}"
        );
    }

    #[test]
    fn a_document_that_does_not_compress_is_cut() {
        // Names that repeat nothing.
        let mut state = 1_u64;
        let outcome = samples::outcome_of((1..9_000).map(|line| {
            let mut finding = samples::finding_at(line);
            let mut word = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                format!("{:016x}", state ^ state >> 33)
            };
            finding.notes = vec![(0..150).map(|_| word()).collect()];
            finding
        }));
        let root = root();
        let text = render(&outcome, &options(&root)).unwrap();
        assert!(fits(&text));
        let document: Value = serde_json::from_str(&text).unwrap();
        let results = document["runs"][0]["results"].as_array().unwrap().len();
        assert!((1_000..9_000).contains(&results), "{results}");
        assert!(text.contains("causes of findings are left out"));
    }
}
