//! Workflow commands for GitHub's runners, which make annotations of them, and the table of a job's summary.

mod summary;

use ptxcheck_passes::names::readable;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::sources::Sources;

use crate::amounts::plural;
use crate::causes::Cause;
use crate::escape::{cut, name};
use crate::format::{Format, Renderer, Run};
use crate::input_name;
use crate::paths::Paths;
use crate::places::ShownPlace;

pub use summary::{SUMMARY_BYTES, summary};

/// Annotations of a level that GitHub shows of a step; it drops the others.
const ANNOTATIONS: usize = 10;

/// Calls that an annotation names.
const SHOWN_CALLS: usize = 8;

/// Characters of an annotation's text.
const MESSAGE_CHARACTERS: usize = 2_000;

/// The format.
#[derive(Debug)]
pub struct GitHub;

impl Renderer for GitHub {
    fn format(&self) -> Format {
        Format {
            has_summary: true,
            has_job_summary: true,
            ..Format::document(
                "github",
                "txt",
                "Annotations of GitHub's workflows, and a table for the job's summary",
            )
        }
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        Ok(render(run.outcome, run.root))
    }
}

/// A command a line: the worst ten errors and ten warnings, then how many more there are.
#[must_use]
pub fn render(outcome: &Outcome, root: &Root) -> Vec<String> {
    let causes = Cause::worst_first(outcome);
    let mut paths = Paths::new(root);
    let mut sources = Sources::default();
    let mut lines = Vec::new();
    for level in [Level::Error, Level::Warning] {
        let of_level = causes.iter().filter(|cause| cause.group.level == level);
        for cause in of_level.take(ANNOTATIONS) {
            lines.push(annotation(outcome, cause, &mut paths, &mut sources));
        }
    }
    if let more @ 1.. = causes.len() - lines.len() {
        lines.push(format!(
            "::notice title={}::{} not shown as annotations: GitHub takes {ANNOTATIONS} errors and {ANNOTATIONS} warnings of a step\n",
            crate::PROGRAM,
            match more {
                1 => "1 more finding is".to_owned(),
                more => format!("{} are", plural(more as u64, "more finding")),
            }
        ));
    }
    lines
}

fn annotation(outcome: &Outcome, cause: &Cause<'_>, paths: &mut Paths, sources: &mut Sources) -> String {
    let first = cause.first;
    let input = input_name(outcome, first);
    let mut properties = Vec::new();
    match ShownPlace::of(outcome, first) {
        Some(place) if place.image.is_none() => {
            let carried = first.line_text.as_ref().filter(|_| first.source.is_none());
            let region = place.region(carried, input, sources);
            properties.push(("file", paths.name(place.file, input).as_str().to_owned()));
            properties.push(("line", region.line.to_string()));
            properties.push(("endLine", region.end_line.to_string()));
            // Columns of other lines than the first are none that GitHub takes.
            if place.column.is_some() && region.end_line == region.line {
                properties.push(("col", region.column.to_string()));
                properties.push(("endColumn", region.end_column.to_string()));
            }
        }
        _ => properties.push(("file", paths.name(input, input).as_str().to_owned())),
    }
    let rule = cause.group.rule;
    properties.push(("title", format!("{} {}", rule.code, rule.name)));
    let named: Vec<String> = properties
        .iter()
        .map(|(key, value)| format!("{key}={}", property(value)))
        .collect();
    format!(
        "::{} {}::{}\n",
        cause.group.level.as_str(),
        named.join(","),
        data(&text(outcome, cause, paths))
    )
}

/// The message, and what else one has to know, a line each.
fn text(outcome: &Outcome, cause: &Cause<'_>, paths: &mut Paths) -> String {
    let first = cause.first;
    let input = input_name(outcome, first);
    let mut lines = vec![cause.group.message.as_str().to_owned()];
    if cause.group.findings.len() > 1 {
        lines.push(format!("at {} places", cause.group.findings.len()));
    }
    if let Some(kernel) = &first.kernel {
        lines.push(format!("kernel: {}", name(&readable(kernel))));
    } else if let Some(function) = &first.function {
        lines.push(format!("function: {}", name(&readable(function))));
    }
    for related in &first.related {
        lines.push(match ShownPlace::of_related(outcome, first, related) {
            Some(place) => {
                let file = paths.name(place.file, input);
                format!("{}: {}", related.message, place.position_in(file.as_str()))
            }
            None => related.message.clone(),
        });
    }
    let calls = first.source.iter().flat_map(|source| &source.inlined_at);
    for call in calls.take(SHOWN_CALLS) {
        let file = paths.name(&call.file, input);
        let position = ShownPlace::of_frame(call).position_in(file.as_str());
        lines.push(format!("called at {position}"));
    }
    lines.extend(first.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(first.help.iter().map(|help| format!("help: {help}")));
    let lines: Vec<_> = lines.iter().map(|line| crate::escape::line(line)).collect();
    cut(&lines.join("\n"), MESSAGE_CHARACTERS)
}

/// The text of a command. A line end would begin another command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::rule::Level;
    use ptxcheck_passes::scope::Root;

    use super::render;
    use crate::samples;

    fn root() -> Root {
        Root {
            root: Some("/no/such/root".into()),
            working: Some("/no/such/root".into()),
        }
    }

    #[test]
    fn an_annotation_stands_on_its_line() {
        let outcome = samples::outcome_of([samples::finding_at(4), samples::finding_at(4)]);
        assert_eq!(
            render(&outcome, &root()).concat(),
            "::error file=no/such/k.cu,line=4,endLine=4,col=13,endColumn=14,title=PTX407 zero-mask::the member mask is 0%0Aat 2 \
             places%0Akernel: bad1()%0Alanes leave here: k.cu:7%0Acalled at no/such/k.cu:9%0Anote: a note%0Ahelp: some help\n"
        );
    }

    #[test]
    fn the_worst_ten_of_each_level_are_shown() {
        let outcome = samples::outcome_of((1..40).map(|line| {
            let mut finding = samples::finding_at(line);
            if line < 25 {
                finding.level = Level::Warning;
            }
            finding
        }));
        let lines = render(&outcome, &root());
        assert_eq!(lines.len(), 21);
        assert!(lines[9].starts_with("::error ") && lines[10].starts_with("::warning "));
        assert!(lines[20].starts_with("::notice title=ptxcheck::19 more findings are not shown"));
    }

    #[test]
    fn no_name_of_an_input_makes_a_command() {
        let mut finding = samples::finding_at(4);
        let hostile = "x\n::set-env name=a::b\r,file=y:z%";
        if let Some(source) = &mut finding.source {
            hostile.clone_into(&mut source.at.file);
        }
        finding.kernel = Some(hostile.to_owned());
        finding.notes = vec![hostile.to_owned()];
        let text = render(&samples::outcome_of([finding]), &root()).concat();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.starts_with("::error file=x%0A%3A%3Aset-env name=a%3A%3Ab%0D%2Cfile=y%3Az%25,line=4,"),
            "{text}"
        );
    }
}
