//! One HTML file with everything in it, for people: causes by severity, kernels by target, code that was not analysed. Nothing is loaded
//! from anywhere, and all of it can be read without its script, which searches and filters.

mod bytes;
mod excerpt;
mod finding;
mod forecast;
mod inventory;
mod lanes;
mod overview;
mod rules;
mod sentence;
mod timeline;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use finding::Findings;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use overview::Facets;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use sentence::code_spans;

use crate::PROGRAM;
use crate::amounts::{duration, plural};
use crate::causes::Cause;
use crate::coverage::Coverage;
use crate::escape::line;
use crate::forecast::Columns;
use crate::format::{Format, Renderer, Run};
use crate::pages::RulePages;
use crate::summary::is_undone;

const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

/// Causes that have a section of their own: a browser searches these in no time.
const SHOWN_CAUSES: usize = 2_000;

/// Suppressed causes that are listed.
const SHOWN_SUPPRESSED: usize = 500;

/// Sentences about code that was not analysed.
const SHOWN_SENTENCES: usize = 200;

/// The head of a page. `more`: further elements.
pub(crate) fn head(title: &str, more: &Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            (more)
            title { (title) " – " (PROGRAM) }
            // An icon of its own, so that none is asked for.
            link rel="icon" href="data:,";
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// The format.
#[derive(Debug)]
pub struct Html;

impl Renderer for Html {
    fn format(&self) -> Format {
        Format::document("html", "html", "One page for a browser, with everything in it")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        let text = render(run.outcome, run.root, run.pages, run.columns(), run.elapsed);
        Ok(vec![text])
    }
}

/// The document. Of an audit, with the forecast for some GPUs; of a run that analysed code, with the code that it did not analyse.
#[must_use]
pub fn render(
    outcome: &Outcome,
    root: &Root,
    pages: &RulePages,
    audited: Option<&Columns>,
    elapsed: Duration,
) -> String {
    let is_check = audited.is_none();
    let causes = in_kinds(&Cause::worst_first(outcome));
    let mut suppressed: Vec<Cause<'_>> = Cause::all(outcome)
        .filter(|cause| cause.group.suppressed.is_some())
        .collect();
    suppressed.sort_by_key(Cause::severity);
    let count = |level| causes.iter().filter(|cause| cause.group.level == level).count() as u64;
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let counts = format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"));
    let unanalysed = unanalysed(outcome, is_check);
    let kernels = inventory::kernels(outcome);
    let forecast = audited.map_or_else(|| html! {}, |columns| forecast::section(outcome, columns));
    let bytes = audited.map_or_else(|| html! {}, |_| bytes::section(outcome));
    let mut findings = Findings::new(outcome, root);
    let shown = &causes[..causes.len().min(SHOWN_CAUSES)];
    let facets: Vec<Facets> = shown
        .iter()
        .map(|cause| Facets::of(cause, findings.file(cause.first)))
        .collect();
    let overview = overview::section(&facets);
    let rules = rules::section(shown, pages);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&counts, &html! {
                meta name="generator" content={ (PROGRAM) " " (env!("CARGO_PKG_VERSION")) };
            }))
            body {
                a.skip href="#findings" { "Skip to the findings" }
                (header(outcome, (errors, warnings), elapsed))
                nav aria-label="Sections" {
                    ul {
                        @if !overview.0.is_empty() { li { a href="#overview" { "Overview" } } }
                        li { a href="#findings" { "Findings" } }
                        @if !forecast.0.is_empty() { li { a href="#forecast" { "What GPUs load" } } }
                        @if !bytes.0.is_empty() { li { a href="#bytes" { "Bytes" } } }
                        @if !kernels.0.is_empty() { li { a href="#kernels" { "Kernels by target" } } }
                        @if !unanalysed.is_empty() { li { a href="#unanalysed" { "Not analysed" } } }
                        @if !suppressed.is_empty() { li { a href="#suppressed" { "Suppressed" } } }
                        @if !rules.0.is_empty() { li { a href="#rules" { "Rules" } } }
                    }
                }
                main {
                    (overview)
                    section #findings aria-labelledby="findings-title" tabindex="-1" {
                        h2 #findings-title { "Findings" }
                        (list(&causes, &facets, &mut findings))
                    }
                    (forecast)
                    (bytes)
                    (kernels)
                    @if !unanalysed.is_empty() { (section_of_unanalysed(&unanalysed)) }
                    @if !suppressed.is_empty() { (section_of_suppressed(&suppressed, &mut findings)) }
                    (rules)
                }
                footer { p { "Made by " (PROGRAM) " " (env!("CARGO_PKG_VERSION")) "." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn header(outcome: &Outcome, (errors, warnings): (u64, u64), elapsed: Duration) -> Markup {
    let undone = outcome.inputs.iter().filter(|input| is_undone(input)).count() as u64;
    let kernels = Coverage::of(outcome).kernels as u64;
    let inputs = plural(outcome.inputs.len() as u64, "input");
    html! {
        header {
            h1 { (PROGRAM) " report" }
            ul.counts {
                li.error { span.mark aria-hidden="true" { "✖" } " " (plural(errors, "error")) }
                li.warning { span.mark aria-hidden="true" { "▲" } " " (plural(warnings, "warning")) }
                @if undone > 0 {
                    li.error { span.mark aria-hidden="true" { "?" } " " (plural(undone, "input")) " could not be analysed" }
                }
            }
            p { (inputs) ", " (plural(kernels, "kernel")) ", in " (duration(elapsed)) }
        }
    }
}

/// Causes with the same rule and words, one after the other: each at the place of the first.
fn in_kinds<'a>(causes: &[Cause<'a>]) -> Vec<Cause<'a>> {
    let mut ranks: HashMap<(&str, &str), usize> = HashMap::new();
    for (rank, cause) in causes.iter().enumerate() {
        let kind = (cause.group.rule.code, cause.group.message.as_str());
        ranks.entry(kind).or_insert(rank);
    }
    let rank = |cause: &Cause<'_>| ranks[&(cause.group.rule.code, cause.group.message.as_str())];
    let mut ordered = causes.to_vec();
    ordered.sort_by_key(|cause| (cause.severity(), rank(cause)));
    ordered
}

/// True if two causes have the same heading.
fn are_alike(one: &Cause<'_>, other: &Cause<'_>) -> bool {
    one.group.rule.code == other.group.rule.code && one.group.message == other.group.message
}

fn list(causes: &[Cause<'_>], facets: &[Facets], findings: &mut Findings<'_>) -> Markup {
    if causes.is_empty() {
        return html! { p { "Nothing was found." } };
    }
    let shown = &causes[..facets.len()];
    let mut by_rule: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for cause in shown {
        by_rule
            .entry(cause.group.rule.code)
            .or_insert((cause.group.rule.name, 0))
            .1 += 1;
    }
    html! {
        form #filters role="search" aria-label="Findings" hidden {
            label { "Search" input #search type="search" autocomplete="off" placeholder="message, file, kernel"; }
            fieldset {
                legend { "Levels" }
                label { input type="checkbox" name="level" value="error" checked; "errors" }
                label { input type="checkbox" name="level" value="warning" checked; "warnings" }
            }
            label { "Rule"
                select #rule {
                    option value="" { "all" }
                    @for (code, (name, count)) in &by_rule {
                        option value=(code) { (line(code)) " " (line(name)) " (" (count) ")" }
                    }
                }
            }
            button #open type="button" { "Open all" }
            button #close type="button" { "Close all" }
            output #shown role="status" { (plural(shown.len() as u64, "finding")) }
        }
        @if let more @ 1.. = causes.len() - shown.len() {
            p.cut { "The " (shown.len()) " most severe of " (causes.len()) " findings are here. "
                (plural(more as u64, "more finding")) " would make the page too large: " code { "--format json" } " has all." }
        }
        ol.findings {
            @for (number, (cause, facets)) in shown.iter().zip(facets).enumerate() {
                (findings.article(cause, facets, number, number > 0 && are_alike(&shown[number - 1], cause)))
            }
        }
    }
}

/// Sentences about code that was not analysed: inputs with the reasons, then code.
fn unanalysed(outcome: &Outcome, is_check: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    for input in &outcome.inputs {
        for problem in &input.problems {
            sentences.push(format!("`{}`: {}", line(&input.name), line(&problem.message)));
        }
    }
    if is_check {
        let coverage = Coverage::of(outcome);
        sentences.extend(coverage.render().lines().map(str::to_owned));
        sentences.extend(coverage.warning());
    }
    let more = sentences.len().saturating_sub(SHOWN_SENTENCES);
    sentences.truncate(SHOWN_SENTENCES);
    if more > 0 {
        sentences.push(format!("and {more} more"));
    }
    sentences
}

fn section_of_unanalysed(sentences: &[String]) -> Markup {
    html! {
        section #unanalysed aria-labelledby="unanalysed-title" {
            h2 #unanalysed-title { "Not analysed" }
            ul { @for sentence in sentences { li { (code_spans(sentence)) } } }
        }
    }
}

fn section_of_suppressed(causes: &[Cause<'_>], findings: &mut Findings<'_>) -> Markup {
    html! {
        section #suppressed aria-labelledby="suppressed-title" {
            h2 #suppressed-title { "Suppressed" }
            table {
                thead { tr { th scope="col" { "rule" } th scope="col" { "place" } th scope="col" { "finding" } th scope="col" { "by" } th scope="col" { "reason" } } }
                tbody {
                    @for cause in causes.iter().take(SHOWN_SUPPRESSED) {
                        tr {
                            td { (line(cause.group.rule.code)) }
                            td { code { (findings.place(cause.first)) } }
                            td { (code_spans(&line(cause.group.message.as_str()))) }
                            @if let Some(suppression) = cause.group.suppressed.as_ref() {
                                td { (suppression.by) }
                                td { (line(&suppression.reason)) }
                            }
                        }
                    }
                }
            }
            @if let more @ 1.. = causes.len().saturating_sub(SHOWN_SUPPRESSED) { p { "and " (more) " more" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ptxcheck_passes::finding::{Suppression, Value};
    use ptxcheck_passes::run::Outcome;
    use ptxcheck_passes::scope::Root;

    use super::render;
    use crate::pages::RulePages;
    use crate::samples;

    fn page(outcome: &Outcome) -> String {
        render(
            outcome,
            &Root::default(),
            &RulePages::default(),
            None,
            Duration::from_millis(7),
        )
    }

    #[test]
    fn a_page_holds_all_of_a_run() {
        let mut finding = samples::finding_at(4);
        finding.data.insert("mask", 0xffff_u64);
        finding.data.insert("lanes", Value::Numbers((16..32).collect()));
        let mut suppressed = samples::finding_at(5);
        suppressed.suppressed = Some(Suppression {
            by: "config",
            reason: "known since <b>".to_owned(),
        });
        let mut outcome = samples::outcome_of([finding, suppressed]);
        outcome.inputs[0].problems.push(samples::syntax_error());
        let page = page(&outcome);
        for wanted in [
            "<title>1 error, 0 warnings – ptxcheck</title>",
            "id=\"findings\"",
            "the member mask is 0",
            "no/such/k.cu:4:13",
            "0x0000ffff",
            "known since &lt;b&gt;",
            "id=\"unanalysed\"",
            "some help",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        for loaded in [" src=", "url(", "@import", "<link rel=\"stylesheet"] {
            assert!(!page.contains(loaded), "{loaded}: something is loaded");
        }
        // The rule's text, and its chip leads there.
        assert!(page.contains("id=\"rule-PTX407\"") && page.contains("href=\"#rule-PTX407\""));
    }

    #[test]
    fn nothing_of_an_input_is_markup() {
        let mut finding = samples::finding_at(4);
        let hostile = "</script><script>alert(1)</script>\"'&`<img src=x onerror=alert(1)>\u{202e}";
        finding.message = hostile.to_owned();
        finding.notes = vec![hostile.to_owned()];
        finding.kernel = Some(hostile.to_owned());
        finding.related[0].message = hostile.to_owned();
        if let Some(source) = &mut finding.source {
            hostile.clone_into(&mut source.at.file);
            source.inlined_at[0].function = Some(hostile.to_owned());
        }
        let mut outcome = samples::outcome_of([finding]);
        outcome.inputs[0].name = hostile.to_owned();
        let page = page(&outcome);
        assert!(
            !page.contains("<script>alert") && !page.contains("<img") && !page.contains('\u{202e}'),
            "{page}"
        );
        assert_eq!(page.matches("</script>").count(), 1);
    }

    #[test]
    fn sixty_thousand_findings_make_a_page_that_can_be_used() {
        let outcome = samples::outcome_of((0..60_000).map(samples::finding_at));
        let page = page(&outcome);
        assert!(page.contains("The 2000 most severe of 60000 findings are here."));
        assert!(page.len() < 16 << 20, "{}", page.len());
    }
}
