//! Findings as marks in texts, for editors: a range, a message, and the other places that explain it.

use std::collections::HashSet;

use ptxcheck_passes::finding::{Finding, LineText, Location};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::sources::Sources;

use crate::escape::{line as one_line, name};
use crate::input_name;
use crate::pages::RulePages;
use crate::paths::Paths;
pub use crate::places::Region;
use crate::places::ShownPlace;

/// Most other places of a mark.
const MAX_OTHERS: usize = 32;

/// A finding at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The file: an absolute path where the working directory is known.
    pub file: String,
    /// The marked range.
    pub region: Region,
    /// Its severity.
    pub level: Level,
    /// The code of the rule.
    pub code: String,
    /// The address of the page about the rule.
    pub page: Option<String>,
    /// The message, then a line for each note and each advice.
    pub message: String,
    /// The other places, in the order to read them.
    pub others: Vec<OtherPlace>,
}

/// A place that explains a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPlace {
    /// The file, as [`Mark::file`].
    pub file: String,
    /// The range.
    pub region: Region,
    /// The role of the place.
    pub message: String,
}

/// The marks in the text of the only input of a run. Findings without a place in it are marked at its beginning.
#[must_use]
pub fn in_text(outcome: &Outcome, text: &str, root: &Root, pages: &RulePages) -> Vec<Mark> {
    let lines: Vec<&str> = text.lines().collect();
    let mut maker = Maker::new(outcome, root);
    let mut marks = Vec::new();
    for finding in counted(outcome) {
        let input = input_name(outcome, finding);
        // A container holds other texts: the line that the finding carries distinguishes them.
        let is_of_text = match (&finding.location, &finding.line_text) {
            (Some(location), Some(carried)) => fits(&lines, location.line, carried),
            _ => true,
        };
        let in_text = |location: Option<&Location>| region_in(&lines, location.filter(|_| is_of_text)?);
        let file = maker.file(input, "");
        let mut others = maker.frames(finding, true);
        let related = finding.related.iter().chain(&finding.steps);
        let in_same_text = related.filter_map(|related| {
            Some(OtherPlace {
                file: file.clone(),
                region: in_text(related.location.as_ref())?,
                message: one_line(&related.message).into_owned(),
            })
        });
        let room = MAX_OTHERS.saturating_sub(others.len());
        others.extend(in_same_text.take(room));
        let region = in_text(finding.location.as_ref());
        marks.push(Mark {
            file,
            region: region.unwrap_or(Region::BEGINNING),
            ..of(finding, others, pages)
        });
    }
    distinct(marks)
}

/// The marks in the sources that inputs were compiled from, and in the inputs that are texts without a source.
#[must_use]
pub fn in_sources(outcome: &Outcome, root: &Root, pages: &RulePages) -> Vec<Mark> {
    let mut maker = Maker::new(outcome, root);
    let mut marks = Vec::new();
    for finding in counted(outcome) {
        let Some(place) = ShownPlace::of(outcome, finding).filter(|place| place.image.is_none()) else {
            continue;
        };
        let carried = finding.line_text.as_ref().filter(|_| finding.source.is_none());
        let (file, region) = maker.place(finding, &place, carried);
        let mut others = maker.frames(finding, false);
        for related in finding.related.iter().chain(&finding.steps) {
            if others.len() == MAX_OTHERS {
                break;
            }
            let place = ShownPlace::of_related(outcome, finding, related);
            let Some(place) = place.filter(|place| place.image.is_none()) else {
                continue;
            };
            let (file, region) = maker.place(finding, &place, None);
            others.push(OtherPlace {
                file,
                region,
                message: one_line(&related.message).into_owned(),
            });
        }
        others.extend(maker.in_input(finding));
        marks.push(Mark {
            file,
            region,
            ..of(finding, others, pages)
        });
    }
    distinct(marks)
}

/// The findings that count.
fn counted(outcome: &Outcome) -> impl Iterator<Item = &Finding> {
    let findings = outcome.findings.iter();
    findings.filter(|finding| finding.suppressed.is_none() && finding.level > Level::Allow)
}

/// A mark without its place.
fn of(finding: &Finding, others: Vec<OtherPlace>, pages: &RulePages) -> Mark {
    let mut message = one_line(&finding.message).into_owned();
    if let Some(kernel) = finding.kernel.as_deref() {
        let kernel = readable(kernel);
        if !finding.message.contains(&*kernel) {
            message.push_str(&format!("\nkernel: {}", name(&kernel)));
        }
    }
    let notes = finding.notes.iter().map(|note| ("note", note));
    for (word, text) in notes.chain(finding.help.iter().map(|help| ("help", help))) {
        message.push_str(&format!("\n{word}: {}", one_line(text)));
    }
    if let Some(command) = finding.confirm_command() {
        message.push_str(&format!("\nconfirm: {}", one_line(&command)));
    }
    Mark {
        file: String::new(),
        region: Region::BEGINNING,
        level: finding.level,
        code: finding.rule.code.to_owned(),
        page: pages.of(finding.rule),
        message,
        others,
    }
}

/// Instances of a template have the same mark: it is shown once.
fn distinct(mut marks: Vec<Mark>) -> Vec<Mark> {
    let mut known = HashSet::new();
    marks.retain(|mark| {
        let Region { line, column, .. } = mark.region;
        let message = mark.message.lines().next().unwrap_or_default().to_owned();
        known.insert((mark.file.clone(), line, column, mark.code.clone(), message))
    });
    marks
}

/// Looks places up.
struct Maker<'a> {
    outcome: &'a Outcome,
    paths: Paths,
    sources: Sources,
}

impl<'a> Maker<'a> {
    /// Names of files are absolute: relative to no root.
    fn new(outcome: &'a Outcome, root: &Root) -> Self {
        let paths = Paths::new(&Root {
            root: None,
            working: root.working.clone(),
        });
        Self {
            outcome,
            paths,
            sources: Sources::default(),
        }
    }

    fn file(&mut self, file: &str, input: &str) -> String {
        self.paths.name(file, input).as_str().to_owned()
    }

    fn place(
        &mut self,
        finding: &Finding,
        place: &ShownPlace<'_>,
        carried: Option<&LineText>,
    ) -> (String, Region) {
        let input = input_name(self.outcome, finding);
        let region = place.region(carried, input, &mut self.sources);
        (self.file(place.file, input), region)
    }

    /// The calls around a finding in its source, from the inside out; with the source itself, if that is another text.
    fn frames(&mut self, finding: &Finding, with_source: bool) -> Vec<OtherPlace> {
        let Some(source) = &finding.source else {
            return Vec::new();
        };
        let own = with_source.then_some((&source.at, "compiled from this line"));
        let calls = source.inlined_at.iter().map(|frame| (frame, "called here"));
        let mut places = Vec::new();
        for (frame, message) in own.into_iter().chain(calls).take(MAX_OTHERS) {
            let (file, region) = self.place(finding, &ShownPlace::of_frame(frame), None);
            places.push(OtherPlace {
                file,
                region,
                message: message.to_owned(),
            });
        }
        places
    }

    /// The place in the input of a finding that is marked in its source, where the input is a text.
    fn in_input(&mut self, finding: &Finding) -> Option<OtherPlace> {
        finding.source.as_ref()?;
        let place = ShownPlace::either(self.outcome, finding, None, finding.location.as_ref())?;
        if place.image.is_some() {
            return None;
        }
        let (file, region) = self.place(finding, &place, finding.line_text.as_ref());
        Some(OtherPlace {
            file,
            region,
            message: "the compiled code".to_owned(),
        })
    }
}

/// True if a line of a text is the one that a finding carries.
fn fits(lines: &[&str], line: u32, carried: &LineText) -> bool {
    let text = line_of(lines, line).unwrap_or_default();
    let from = usize::try_from(carried.from)
        .unwrap_or_default()
        .saturating_sub(1);
    text.get(from..)
        .is_some_and(|text| text.starts_with(carried.text.trim_end()))
}

fn line_of<'t>(lines: &[&'t str], line: u32) -> Option<&'t str> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    lines.get(index).copied()
}

/// The range of a place in a text.
fn region_in(lines: &[&str], location: &Location) -> Option<Region> {
    let text = line_of(lines, location.line)?;
    let carried = LineText {
        text: text.to_owned(),
        from: 1,
    };
    let place = ShownPlace::in_file(location);
    Some(place.region(Some(&carried), "", &mut Sources::default()))
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::finding::{LineText, Suppression};
    use ptxcheck_passes::scope::Root;

    use super::{in_sources, in_text};
    use crate::pages::RulePages;
    use crate::samples;

    fn root() -> Root {
        Root {
            root: None,
            working: Some("/no such".into()),
        }
    }

    #[test]
    fn a_text_is_marked_where_the_finding_is_and_leads_to_its_source() {
        let mut finding = samples::finding_at(4);
        finding.location.as_mut().unwrap().line = 2;
        finding.location.as_mut().unwrap().end_line = 2;
        let pages = RulePages::at("https://docs.example").unwrap();
        let text = "// ö\n\tbar.warp.sync 0;\n";
        let marks = in_text(&samples::outcome(finding.clone()), text, &root(), &pages);
        let [mark] = marks.as_slice() else {
            panic!("{marks:?}")
        };
        let region = mark.region;
        assert_eq!((region.line, region.column, region.end_column), (2, 2, 18));
        assert_eq!(
            mark.message,
            "the member mask is 0\nkernel: bad1()\nnote: a note\nhelp: some help"
        );
        assert_eq!(
            (mark.code.as_str(), mark.page.as_deref(), mark.file.as_str()),
            (
                "PTX407",
                Some("https://docs.example/rules/PTX407.html"),
                "/no such/a.ptx"
            )
        );
        let others: Vec<_> = mark
            .others
            .iter()
            .map(|other| (other.file.as_str(), other.region.line, other.message.as_str()))
            .collect();
        assert_eq!(
            others,
            [
                ("/no such/no/such/k.cu", 4, "compiled from this line"),
                ("/no such/no/such/k.cu", 9, "called here"),
            ]
        );
        // A text that the input holds in itself has other lines.
        finding.line_text = Some(LineText {
            text: "another line".to_owned(),
            from: 1,
        });
        let marks = in_text(&samples::outcome(finding), text, &root(), &pages);
        assert_eq!((marks[0].region.line, marks[0].region.column), (1, 1));
    }

    #[test]
    fn a_source_is_marked_once_for_all_instances() {
        let mut suppressed = samples::finding_at(7);
        suppressed.suppressed = Some(Suppression {
            by: "config",
            reason: String::new(),
        });
        let outcome = samples::outcome_of([samples::finding_at(4), samples::finding_at(4), suppressed]);
        let marks = in_sources(&outcome, &root(), &RulePages::default());
        let [mark] = marks.as_slice() else {
            panic!("{marks:?}")
        };
        assert_eq!(
            (mark.file.as_str(), mark.region.line),
            ("/no such/no/such/k.cu", 4)
        );
        let messages: Vec<_> = mark.others.iter().map(|other| other.message.as_str()).collect();
        assert_eq!(messages, ["called here", "lanes leave here", "the compiled code"]);
    }
}
