//! Findings as rustc prints errors: message, place, source line, what else one has to know.

use std::collections::HashSet;
use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Element, Group, Level as Title, Origin, Renderer, Snippet};
use ptxcheck_passes::finding::{Finding, Frame, Source};
use ptxcheck_passes::inventory::{ImageKind, Role};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::sources::Sources;

use super::causes::Cause;
use super::format::{self, Format, Run};
use super::paths::Paths;
use super::places::{ShownPlace, SourceLine};
use super::view::View;
use super::{audit, escape, further, input_name, packed_image};

/// The name of the line with a command.
const CONFIRM: &str = "confirm";

/// The format.
#[derive(Debug)]
pub struct Full;

impl format::Renderer for Full {
    fn format(&self) -> Format {
        Format {
            alias: Some("text"),
            ..Format::text("full", "With the source, notes and help")
        }
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        let tables = run.audit.and_then(|audit| {
            let shown = audit.tables?;
            Some(audit::render(run.outcome, audit.forecast, shown))
        });
        Ok(tables.into_iter().chain(render(run.outcome, run.view)).collect())
    }
}

/// Everything found, a text for each cause, with colours.
#[must_use]
pub fn render(outcome: &Outcome, view: &View) -> Vec<String> {
    let mut writer = Writer {
        outcome,
        sources: Sources::default(),
        paths: Paths::new(&view.root),
        confirmed: HashSet::new(),
    };
    let renderer = Renderer::styled();
    let renderer = match view.line_width() {
        Some(width) => renderer.term_width(width),
        None => renderer,
    };
    Cause::shown(outcome)
        .map(|cause| {
            let text = renderer.render(&[writer.group(&cause)]);
            let code = format!("[{}]", cause.group.rule.code);
            let linked = format!("[{}]", view.pages.link(cause.group.rule.code, cause.group.rule));
            let text = text.replacen(&code, &linked, 1);
            format!("{}\n\n", wrapped(&text, view))
        })
        .collect()
}

/// A text with the words of its title and its footers wrapped. Lines of code are cut by their renderer.
fn wrapped(text: &str, view: &View) -> String {
    if view.width.is_none() {
        return text.to_owned();
    }
    let mut lines = Vec::new();
    // The column at which the words of a footer begin.
    let mut footer = None;
    for (number, line) in text.lines().enumerate() {
        let plain = anstream::adapter::strip_str(line).to_string();
        let words = plain.trim_start();
        let blanks = plain.len() - words.len();
        let indent = match words.strip_prefix("= ").and_then(|words| words.find(": ")) {
            _ if number == 0 => Some(4),
            // To be copied.
            _ if words.starts_with("= confirm: ") => None,
            Some(colon) => {
                footer = Some(blanks + colon + "= : ".len());
                footer
            }
            None if footer == Some(blanks) => footer.map(|column| column + 2),
            None => None,
        };
        lines.push(match indent {
            Some(indent) => view.wrap(line, indent),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

/// Makes the parts of the texts of a run.
struct Writer<'a> {
    outcome: &'a Outcome,
    sources: Sources,
    paths: Paths,
    /// The tool and kernel of each command that was written: one run of it shows all their findings.
    confirmed: HashSet<(&'static str, String)>,
}

impl Writer<'_> {
    fn group(&mut self, cause: &Cause<'_>) -> Group<'static> {
        let outcome = self.outcome;
        let (found, finding) = (cause.group, cause.first);
        let input = input_name(outcome, finding);
        let level = match found.level {
            Level::Error => Title::ERROR,
            Level::Warning | Level::Allow => Title::WARNING,
        };
        let rule = finding.rule;
        let head = format!("{}[{}] {}", found.level.as_str(), rule.code, rule.name);
        let mut group = level
            .with_name(head)
            .primary_title(escape::line(&found.message).into_owned())
            .elements(self.places(finding, input));
        if finding.message != found.message {
            group = group.element(footer("here", &finding.message));
        }
        if let Some(source) = &finding.source {
            group = group.elements(self.chain(source, input));
        }
        group = group.elements(function(finding).map(|(name, text)| footer(name, text)));
        group = group.elements(image(outcome, finding).map(|text| footer("image", text)));
        group = group.elements(finding.notes.iter().map(|note| footer("note", note)));
        group = group.elements(finding.help.iter().map(|help| footer("help", help)));
        group = group.elements(self.confirm(finding).map(|command| footer(CONFIRM, command)));
        let is_recompiled =
            packed_image(outcome, finding).is_some_and(|(_, image)| image.role == Role::Recompiled);
        if finding.source.is_some()
            && !is_recompiled
            && let Some(place) = ShownPlace::either(outcome, finding, None, finding.location.as_ref())
        {
            let file = self.paths.shown(place.file, input);
            let position = format!("{}:{}", place.text_in(&file), place.line);
            group = group.element(footer(language(outcome, finding), position));
        }
        if found.findings.len() > 1 {
            group = group.element(Title::NOTE.with_name("places").message(further::list(
                outcome,
                cause,
                &mut self.paths,
            )));
        }
        group
    }

    /// The command that shows a finding in a run, if none before has the same tool and kernel.
    fn confirm(&mut self, finding: &Finding) -> Option<String> {
        let command = finding.confirm_command()?;
        let tool = finding.sanitizer?.as_str();
        let kernel = finding.kernel.clone()?;
        self.confirmed.insert((tool, kernel)).then_some(command)
    }

    /// The place of the finding and the related ones, each with its line if that is available.
    fn places(&mut self, finding: &Finding, input: &str) -> Vec<Element<'static>> {
        let Some(place) = ShownPlace::of(self.outcome, finding) else {
            let input = self.paths.shown(input, input);
            return vec![Origin::path(escape::line(&input).into_owned()).into()];
        };
        let carried = finding.line_text.as_ref();
        let shown = place.show(
            carried.filter(|_| finding.source.is_none()),
            input,
            &mut self.sources,
        );
        let needs_input_line = shown.is_none();
        let mut elements = vec![self.spot(&place, shown, input, AnnotationKind::Primary, None)];
        if needs_input_line && let Some((place, shown)) = self.input_line(finding, input) {
            elements.push(self.spot(&place, Some(shown), input, AnnotationKind::Primary, None));
        }
        for related in &finding.related {
            let place = ShownPlace::of_related(self.outcome, finding, related);
            let shown = place
                .as_ref()
                .and_then(|place| place.show(None, input, &mut self.sources));
            elements.push(match (place, shown) {
                (Some(place), Some(shown)) => self.spot(
                    &place,
                    Some(shown),
                    input,
                    AnnotationKind::Context,
                    Some(&related.message),
                ),
                (Some(place), None) => {
                    let file = self.paths.shown(place.file, input);
                    footer(
                        "note",
                        format!("{}: {}", related.message, place.position_in(&file)),
                    )
                }
                (None, _) => footer("note", &related.message),
            });
        }
        elements
    }

    /// The line of the input, for a finding whose source is not available.
    fn input_line<'f>(&mut self, finding: &'f Finding, input: &str) -> Option<(ShownPlace<'f>, SourceLine)> {
        finding.source.as_ref()?;
        let place = ShownPlace::either(self.outcome, finding, None, finding.location.as_ref())?;
        let shown = place.show(Some(finding.line_text.as_ref()?), input, &mut self.sources)?;
        Some((place, shown))
    }

    /// A place with its line, or the place alone.
    fn spot(
        &mut self,
        place: &ShownPlace<'_>,
        shown: Option<SourceLine>,
        input: &str,
        kind: AnnotationKind,
        label: Option<&str>,
    ) -> Element<'static> {
        let file = self.paths.shown(place.file, input);
        let file = escape::line(&place.text_in(&file)).into_owned();
        let Some(shown) = shown else {
            let origin = Origin::path(file).line(place.line as usize);
            return match place.column {
                Some(column) => origin.char_column(column as usize).into(),
                None => origin.into(),
            };
        };
        let (text, span) = escape::snippet(&shown.text, &shown.span);
        let label = label.map(|label| escape::line(label).into_owned());
        Snippet::source(text)
            .line_start(place.line as usize)
            .path(file)
            .annotation(kind.span(span).label(label))
            .into()
    }

    /// The frames inside the shown one, and those around it.
    fn chain(&mut self, source: &Source, input: &str) -> Vec<Element<'static>> {
        let mut line = |name, frame: &Frame| {
            let file = self.paths.shown(&frame.file, input);
            let position = ShownPlace::of_frame(frame).position_in(&file);
            let function = frame.function.as_deref().map(readable);
            let text = match function {
                Some(function) => format!("{position}, in {}", escape::name(&function)),
                None => position,
            };
            footer(name, text)
        };
        let mut frames: Vec<_> = source.inside.iter().map(|frame| line("inside", frame)).collect();
        frames.extend(source.inlined_at.iter().map(|frame| line("called at", frame)));
        frames
    }
}

/// The word for the language of the input's text that a finding is about.
fn language(outcome: &Outcome, finding: &Finding) -> &'static str {
    let image = outcome
        .inputs
        .get(finding.input)
        .zip(finding.image)
        .and_then(|(input, number)| input.images.get(number as usize));
    match image.map(|image| image.kind) {
        Some(ImageKind::LlvmIr) => "llvm",
        Some(ImageKind::Mlir) => "mlir",
        _ => "ptx",
    }
}

/// A line `= name: text` below the snippet.
fn footer(name: &'static str, text: impl AsRef<str>) -> Element<'static> {
    let level = if name == "help" { Title::HELP } else { Title::NOTE };
    level
        .with_name(name)
        .message(escape::line(text.as_ref()).into_owned())
        .into()
}

/// The image that the finding is about, where the input is more than that image.
fn image(outcome: &Outcome, finding: &Finding) -> Option<String> {
    let (number, image) = packed_image(outcome, finding)?;
    let mut text = format!("{number}, {}", image.describe());
    if image.role == Role::Recompiled {
        text.push_str(", compiled again for the check");
    }
    if let Some(section) = &image.section {
        let _ = write!(text, " in {section}");
    }
    if let Some(member) = &image.member {
        let _ = write!(text, " of {member}");
    }
    Some(text)
}

/// The function that the finding lies in, and the kernel that reaches it.
fn function(finding: &Finding) -> Option<(&'static str, String)> {
    let shown = |name: &str| escape::name(&readable(name)).into_owned();
    match (finding.function.as_deref(), finding.kernel.as_deref()) {
        (Some(function), Some(kernel)) if function != kernel => Some((
            "function",
            format!("{}, reached from kernel {}", shown(function), shown(kernel)),
        )),
        (_, Some(kernel)) => Some(("kernel", shown(kernel))),
        (Some(function), None) => Some(("function", shown(function))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::finding::Certainty;
    use ptxcheck_passes::sanitizer::Sanitizer;

    use super::render;
    use crate::samples;
    use crate::view::View;

    fn plain(outcome: &ptxcheck_passes::run::Outcome) -> String {
        anstream::adapter::strip_str(&render(outcome, &View::default()).concat()).to_string()
    }

    #[test]
    fn shows_the_line_of_the_input() {
        let outcome = samples::outcome(samples::finding());
        assert_eq!(
            plain(&outcome),
            "\
error[PTX407] zero-mask: the member mask is 0
  --> a.ptx:31:2
   |
31 |     bar.warp.sync 0;
   |     ^^^^^^^^^^^^^^^^
   |
   = note: lanes leave here: k.cu:7
   = kernel: bad1()
   = note: a note
   = help: some help

"
        );
    }

    #[test]
    fn one_command_confirms_all_findings_of_a_tool_in_a_kernel() {
        let found = |line, sanitizer| {
            let mut finding = samples::finding_at(line);
            finding.certainty = Certainty::Potential;
            finding.sanitizer = sanitizer;
            finding
        };
        let (race, sync) = (Some(Sanitizer::Racecheck), Some(Sanitizer::Synccheck));
        let all = [(1, race), (2, race), (3, sync), (4, None)];
        let text = plain(&samples::outcome_of(
            all.map(|(line, sanitizer)| found(line, sanitizer)),
        ));
        let lines = text.lines().map(str::trim_start);
        let commands: Vec<_> = lines.filter(|line| line.starts_with("= confirm")).collect();
        assert_eq!(
            commands,
            [
                "= confirm: compute-sanitizer --tool racecheck --kernel-name kne=_Z4bad1v PROGRAM",
                "= confirm: compute-sanitizer --tool synccheck --kernel-name kne=_Z4bad1v PROGRAM",
            ]
        );
    }

    #[test]
    fn a_source_that_is_not_at_hand_is_named() {
        let mut finding = samples::finding();
        finding.source = Some(samples::source());
        finding.related.clear();
        assert_eq!(
            plain(&samples::outcome(finding)),
            "\
error[PTX407] zero-mask: the member mask is 0
  --> no/such/k.cu:4:13
   |
  ::: a.ptx:31:2
   |
31 |     bar.warp.sync 0;
   |     ^^^^^^^^^^^^^^^^
   |
   = inside: cuda/include/sm_30_intrinsics.hpp:110:3
   = called at: no/such/k.cu:9, in outer(int)
   = kernel: bad1()
   = note: a note
   = help: some help
   = ptx: a.ptx:31

"
        );
    }

    #[test]
    fn further_places_have_a_line_each_and_the_rest_a_number() {
        let mut outcome = samples::outcome(samples::finding());
        for number in 1..=20_u32 {
            let mut other = samples::finding();
            if let Some(location) = &mut other.location {
                location.line += number;
            }
            other.kernel = Some("_Z5otherv".to_owned());
            outcome.findings.push(other);
            outcome.groups[0].findings.push(number as usize);
        }
        let text = plain(&outcome);
        assert!(text.contains("= places: 20 more places\n"), "{text}");
        assert!(text.contains("a.ptx:32:2, kernel `other()`\n"), "{text}");
        assert!(text.contains("a.ptx:47:2"), "{text}");
        assert!(!text.contains("a.ptx:48:2"), "{text}");
        assert!(text.contains("and 4 more (`--format json` has all)"), "{text}");
    }

    #[test]
    fn nothing_from_an_input_reaches_the_terminal_as_it_is() {
        let mut finding = samples::finding();
        let hostile = "x\x1b[2J\n\u{202e}\u{9b}y";
        hostile.clone_into(&mut finding.message);
        finding.notes = vec![hostile.to_owned()];
        finding.kernel = Some(hostile.to_owned());
        finding.related[0].message = hostile.to_owned();
        if let Some(text) = &mut finding.line_text {
            text.text = "\tbar.warp\x1b[2J 0;\u{202e}".to_owned();
        }
        if let Some(location) = &mut finding.location {
            location.file = hostile.to_owned();
        }
        let text = plain(&samples::outcome(finding));
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{9b}']), "{text:?}");
        assert!(text.contains("x\\u{1b}[2J\\u{a}\\u{202e}\\u{9b}y"), "{text}");
        assert_eq!(text.lines().count(), 11, "{text}");
    }
}
