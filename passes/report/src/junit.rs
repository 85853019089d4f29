//! JUnit's XML: a test case for each input.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use ptxcheck_passes::finding::Finding;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::{InputReport, Outcome, Status};
use ptxcheck_passes::scope::Root;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::amounts::plural;
use crate::causes::Cause;
use crate::escape::line;
use crate::format::{self, Format, Renderer, Run};
use crate::paths::Paths;
use crate::places::ShownPlace;
use crate::summary::is_undone;
use crate::{PROGRAM, input_name};

/// Lines of one test case; a count stands for the rest.
const SHOWN_LINES: usize = 1_000;

/// The format.
#[derive(Debug)]
pub struct JUnit;

impl Renderer for JUnit {
    fn format(&self) -> Format {
        Format::document("junit", "xml", "JUnit's XML, a test case for each input")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        format::one(render(run.outcome, run.root, run.fails, run.elapsed))
    }
}

/// The document, with a line end. A cause is reported in the case of each input that has one of its places: as a failure if `fails` holds
/// for its level, else as output of the case.
///
/// # Errors
///
/// None in practice: it is written to memory.
pub fn render(
    outcome: &Outcome,
    root: &Root,
    fails: impl Fn(Level) -> bool,
    elapsed: Duration,
) -> io::Result<String> {
    let cases = cases(outcome, root, fails);
    let count = |is: fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count().to_string();
    let tests = cases.len().to_string();
    let failures = count(|case| case.undone.is_empty() && !case.failures.is_empty());
    let errors = count(|case| !case.undone.is_empty());
    let skipped = count(|case| case.is_skipped);
    let time = format!("{:.3}", elapsed.as_secs_f64());
    let attributes = [
        ("name", PROGRAM),
        ("tests", &*tests),
        ("failures", &*failures),
        ("errors", &*errors),
        ("time", &*time),
    ];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attributes(attributes)
        .write_inner_content(|writer| {
            writer
                .create_element("testsuite")
                .with_attributes(attributes.into_iter().chain([("skipped", &*skipped)]))
                .write_inner_content(|writer| cases.iter().try_for_each(|case| case.write(writer)))?;
            Ok(())
        })?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

/// The test case of an input.
#[derive(Default)]
struct Case {
    name: String,
    is_skipped: bool,
    /// Sentences about what could not be analysed.
    undone: Vec<String>,
    failures: Vec<String>,
    others: Vec<String>,
}

impl Case {
    fn new(input: &InputReport, paths: &mut Paths) -> Self {
        let mut undone: Vec<String> = input
            .problems
            .iter()
            .map(|problem| xml(&problem.message))
            .collect();
        if undone.is_empty() && is_undone(input) {
            undone.push("it could not be analysed".to_owned());
        }
        Self {
            name: xml(paths.name(&input.name, &input.name).as_str()),
            is_skipped: input.status == Status::Skipped && undone.is_empty(),
            undone,
            ..Self::default()
        }
    }

    /// One `error` or `failure` at most: there are readers that take no more.
    fn write(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let case = writer
            .create_element("testcase")
            .with_attributes([("classname", PROGRAM), ("name", &*self.name)]);
        if self.undone.is_empty() && self.failures.is_empty() && self.others.is_empty() && !self.is_skipped {
            case.write_empty()?;
            return Ok(());
        }
        case.write_inner_content(|writer| {
            if self.is_skipped {
                writer
                    .create_element("skipped")
                    .with_attribute(("message", "it holds no device code"))
                    .write_empty()?;
            }
            let (element, kind, message, lines) = if self.undone.is_empty() {
                let message = plural(self.failures.len() as u64, "finding");
                ("failure", "finding", message, &self.failures)
            } else {
                let message = "not all of it could be analysed".to_owned();
                ("error", "problem", message, &self.undone)
            };
            if !lines.is_empty() {
                writer
                    .create_element(element)
                    .with_attributes([("type", kind), ("message", &*message)])
                    .write_text_content(BytesText::new(&shown(lines)))?;
            }
            let mut rest = Vec::new();
            if !self.undone.is_empty() {
                rest.extend_from_slice(&self.failures);
            }
            rest.extend_from_slice(&self.others);
            if !rest.is_empty() {
                writer
                    .create_element("system-out")
                    .write_text_content(BytesText::new(&shown(&rest)))?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn cases(outcome: &Outcome, root: &Root, fails: impl Fn(Level) -> bool) -> Vec<Case> {
    let mut paths = Paths::new(root);
    let mut cases: Vec<Case> = outcome
        .inputs
        .iter()
        .map(|input| Case::new(input, &mut paths))
        .collect();
    // Of the configuration, which is not an input.
    let mut others = Case {
        name: "configuration".to_owned(),
        ..Case::default()
    };
    for cause in Cause::worst_first(outcome) {
        let mut by_input: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
        for finding in cause.findings() {
            by_input.entry(finding.input).or_default().push(finding);
        }
        for (input, findings) in by_input {
            let told = told(outcome, &cause, &findings, &mut paths);
            let case = cases.get_mut(input).unwrap_or(&mut others);
            if fails(cause.group.level) {
                case.failures.push(told);
            } else {
                case.others.push(told);
            }
        }
    }
    if !(others.failures.is_empty() && others.others.is_empty()) {
        cases.push(others);
    }
    cases
}

/// A line about a cause, at its first place in an input.
fn told(outcome: &Outcome, cause: &Cause<'_>, findings: &[&Finding], paths: &mut Paths) -> String {
    let first = findings.first().copied().unwrap_or(cause.first);
    let input = input_name(outcome, first);
    let place = match ShownPlace::of(outcome, first) {
        Some(place) => place.position_in(paths.name(place.file, input).as_str()),
        None => paths.name(input, input).as_str().to_owned(),
    };
    let places = match findings.len() {
        1 => String::new(),
        places => format!(" (at {places} places)"),
    };
    let level = cause.group.level.as_str();
    xml(&format!(
        "{place}: {level}: {}{places} [{}]",
        cause.group.message.as_str(),
        cause.group.rule.code
    ))
}

fn shown(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines.iter().take(SHOWN_LINES) {
        let _ = writeln!(text, "{line}");
    }
    if let more @ 1.. = lines.len().saturating_sub(SHOWN_LINES) {
        let _ = writeln!(text, "and {more} more");
    }
    text
}

/// A line in which each character is one that XML 1.0 takes.
fn xml(text: &str) -> String {
    let is_none = |character: char| matches!(character, '\u{fffe}' | '\u{ffff}');
    line(text).replace(is_none, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ptxcheck_passes::rule::Level;
    use ptxcheck_passes::run::{Outcome, Status};
    use ptxcheck_passes::scope::Root;

    use super::render;
    use crate::samples;

    fn document(outcome: &Outcome) -> String {
        let fails = |level| level == Level::Error;
        render(outcome, &Root::default(), fails, Duration::from_millis(1_500)).unwrap()
    }

    #[test]
    fn an_input_is_a_case() {
        let mut warning = samples::finding_at(9);
        warning.level = Level::Warning;
        let outcome = samples::outcome_of([samples::finding_at(4), samples::finding_at(4), warning]);
        assert_eq!(
            document(&outcome),
            "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"ptxcheck\" tests=\"1\" failures=\"1\" errors=\"0\" time=\"1.500\">
  <testsuite name=\"ptxcheck\" tests=\"1\" failures=\"1\" errors=\"0\" time=\"1.500\" skipped=\"0\">
    <testcase classname=\"ptxcheck\" name=\"a.ptx\">
      <failure type=\"finding\" message=\"1 finding\">no/such/k.cu:4:13: error: the member mask is 0 (at 2 places) [PTX407]
</failure>
      <system-out>no/such/k.cu:9:13: warning: the member mask is 0 [PTX407]
</system-out>
    </testcase>
  </testsuite>
</testsuites>
"
        );
    }

    #[test]
    fn an_input_that_could_not_be_analysed_is_an_error() {
        let mut outcome = samples::outcome(samples::finding());
        outcome.inputs[0].problems.push(samples::syntax_error());
        let text = document(&outcome);
        assert!(
            text.contains("errors=\"1\"") && text.contains("failures=\"0\""),
            "{text}"
        );
        assert!(
            text.contains("<error type=\"problem\"") && text.contains("<system-out>"),
            "{text}"
        );
        let mut outcome = samples::outcome_of([]);
        outcome.inputs[0].status = Status::Skipped;
        let text = document(&outcome);
        assert!(
            text.contains("<skipped message=") && text.contains("skipped=\"1\""),
            "{text}"
        );
    }

    #[test]
    fn hostile_names_make_no_elements() {
        let mut outcome = samples::outcome_of([]);
        outcome.inputs[0].name = "a\"<b>&\0\u{ffff}]]>.ptx".to_owned();
        let text = document(&outcome);
        let name = "name=\"a&quot;&lt;b&gt;&amp;\\u{0}\u{fffd}]]&gt;.ptx\"/>";
        assert!(text.contains(name), "{text}");
    }
}
