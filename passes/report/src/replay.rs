//! The runs of conditional findings, step by step.

use std::fmt::Write as _;

use ptxcheck_passes::Outcome;
use ptxcheck_passes::finding::{Finding, Related};
use ptxcheck_passes::sources::Sources;

use crate::causes::Cause;
use crate::escape;
use crate::input_name;
use crate::paths::Paths;
use crate::places::ShownPlace;
use crate::rounds::rounds;
use crate::styles::{self, BOLD, QUIET};
use crate::view::View;

/// The runs of the conditional findings whose fingerprints begin so, or of all, with colours. Empty where there is none.
///
/// ```text
/// warning[PTX401] extra-lane-in-mask 2f6c1f6f0f3ad2c1: the mask 0xffffffff of `__shfl_down_sync` names lanes 4-31, which …
///   when: blocks of 128 threads, parameter 1 = 100: warp 3 of the first block
///    1  tail.cu:4:7  lanes 4-31 jump from here
///       if (i < n)
///    2  tail.cu:4:7  lanes 0-3 go on here
///    3  tail.cu:5:12 lanes 0-3 come here and wait, with the mask 0xffffffff
///       sum += __shfl_down_sync(0xffffffff, sum, d);
/// ```
#[must_use]
pub fn render(outcome: &Outcome, fingerprints: &[String], view: &View) -> String {
    let mut writer = Writer {
        outcome,
        view,
        paths: Paths::new(&view.root),
        sources: Sources::default(),
        text: String::new(),
    };
    for cause in Cause::all(outcome) {
        let is_wanted = |finding: &Finding| {
            let known = [&cause.group.fingerprint, &finding.fingerprint];
            let mut wanted = fingerprints.iter();
            fingerprints.is_empty()
                || wanted.any(|wanted| known.iter().any(|known| known.starts_with(wanted.as_str())))
        };
        for finding in cause.findings().filter(|finding| is_wanted(finding)) {
            if !finding.steps.is_empty() {
                writer.run(&cause, finding);
            }
        }
    }
    writer.text
}

struct Writer<'a> {
    outcome: &'a Outcome,
    view: &'a View,
    paths: Paths,
    sources: Sources,
    text: String,
}

/// A step, as it is shown.
struct Step<'a> {
    /// `k.cu:9:3`
    place: String,
    /// The line of the source.
    line: Option<String>,
    message: &'a str,
}

impl Step<'_> {
    fn is_like(&self, other: &Self) -> bool {
        self.place == other.place && self.message == other.message
    }
}

impl Writer<'_> {
    fn run(&mut self, cause: &Cause<'_>, finding: &Finding) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let style = styles::level(cause.group.level);
        let title = format!(
            "{style}{}[{}]{style:#} {BOLD}{} {}{BOLD:#}: {}",
            cause.group.level.as_str(),
            self.view.pages.link(finding.rule.code, finding.rule),
            finding.rule.name,
            finding.fingerprint,
            escape::line(&finding.message)
        );
        let _ = writeln!(self.text, "{}", self.view.wrap(&title, 2));
        let is_said = |note: &&String| note.starts_with("when: ") || note.starts_with("in general: ");
        for note in finding.notes.iter().filter(is_said) {
            let line = format!("  {}", escape::line(note));
            let _ = writeln!(self.text, "{}", self.view.wrap(&line, 4));
        }
        let steps: Vec<Step<'_>> = finding
            .steps
            .iter()
            .map(|step| self.step(finding, step))
            .collect();
        self.steps(&steps);
    }

    fn step<'s>(&mut self, finding: &Finding, step: &'s Related) -> Step<'s> {
        let input = input_name(self.outcome, finding);
        let Some(place) = ShownPlace::of_related(self.outcome, finding, step) else {
            return Step {
                place: self.paths.shown(input, input),
                line: None,
                message: &step.message,
            };
        };
        let shown = place.show(None, input, &mut self.sources);
        let line = shown.map(|shown| escape::snippet(shown.text.trim(), &(0..0)).0);
        Step {
            place: place.position_in(&self.paths.shown(place.file, input)),
            line: line.filter(|line| !line.is_empty()),
            message: &step.message,
        }
    }

    /// A line for each step, rounds that come again once. The last step, with which the run goes wrong, has always one.
    fn steps(&mut self, steps: &[Step<'_>]) {
        let widths = steps.iter().map(|step| step.place.chars().count());
        let width = widths.max().unwrap_or(0);
        let mut shown = "";
        for round in rounds(steps, Step::is_like) {
            let first = round.at + 1;
            for (number, step) in (first..).zip(&steps[round.at..round.at + round.length]) {
                let line = format!(
                    "{number:4}  {:width$}  {}",
                    escape::line(&step.place),
                    escape::line(step.message)
                );
                let _ = writeln!(self.text, "{}", self.view.wrap(&line, width + 8));
                if let Some(line) = step.line.as_deref().filter(|_| step.place != shown) {
                    let _ = writeln!(self.text, "      {QUIET}{line}{QUIET:#}");
                }
                shown = &step.place;
            }
            if let Some(again) = round.again() {
                let _ = writeln!(self.text, "      {QUIET}{again}{QUIET:#}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::finding::Related;

    use super::render;
    use crate::samples;
    use crate::view::View;

    /// The lines of a run whose steps have these words, all at one place.
    fn lines(words: &str) -> Vec<String> {
        let mut finding = samples::finding();
        let step = |word: &str| Related::new(word.to_owned(), finding.location.clone(), None);
        finding.steps = words.split(' ').map(step).collect();
        let text = render(&samples::outcome_of([finding]), &[], &View::default());
        let text = anstream::adapter::strip_str(&text).to_string();
        text.lines()
            .skip(1)
            .map(|line| line.trim().replace("a.ptx:31:2  ", ""))
            .collect()
    }

    #[test]
    fn rounds_that_come_again_are_shown_once() {
        assert_eq!(lines("a b"), ["1  a", "2  b"]);
        assert_eq!(
            lines("a b c b c b c d"),
            ["1  a", "2  b", "3  c", "steps 2 to 3 2 times more", "8  d"]
        );
        assert_eq!(lines("a a b"), ["1  a", "step 1 once more", "3  b"]);
        assert_eq!(lines("a a a"), ["1  a", "step 1 once more", "3  a"]);
        assert_eq!(lines("a b a b"), ["1  a", "2  b", "3  a", "4  b"]);
    }
}
