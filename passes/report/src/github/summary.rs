//! The table of a job's summary, in GitHub's Markdown.

use std::fmt::Write as _;

use ptxcheck_passes::names::readable;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;

use crate::amounts::plural;
use crate::causes::Cause;
use crate::coverage::Coverage;
use crate::escape::{cut, name};
use crate::input_name;
use crate::paths::Paths;
use crate::places::ShownPlace;
use crate::summary::is_undone;

/// Bytes that GitHub takes for the summary of a step: 1 MiB.
pub const SUMMARY_BYTES: usize = 1 << 20;

/// Bytes that the sentences below the table may take.
const KEPT_FOR_THE_END: usize = 2_000;

/// Characters of a cell.
const CELL_CHARACTERS: usize = 500;

/// Sentences about code that was not analysed.
const SENTENCES: usize = 20;

/// The table, in no more than `room` bytes; empty where not even its head would fit. `is_check`: the run analysed code, and the table lists
/// code that it did not analyse.
#[must_use]
pub fn summary(outcome: &Outcome, root: &Root, is_check: bool, room: usize) -> String {
    let causes = Cause::worst_first(outcome);
    let count = |level| causes.iter().filter(|cause| cause.group.level == level).count() as u64;
    let mut text = format!(
        "### {}: {}, {}\n\n",
        crate::PROGRAM,
        plural(count(Level::Error), "error"),
        plural(count(Level::Warning), "warning")
    );
    let undone = outcome.inputs.iter().filter(|input| is_undone(input)).count();
    if undone > 0 {
        let _ = write!(
            text,
            "{} could not be analysed.\n\n",
            plural(undone as u64, "input")
        );
    }
    let coverage = if is_check {
        Coverage::of(outcome).render()
    } else {
        String::new()
    };
    for sentence in coverage.lines().take(SENTENCES) {
        let _ = write!(text, "{}.\n\n", cell(sentence));
    }
    let head = "| level | rule | place | finding | kernel |\n| --- | --- | --- | --- | --- |\n";
    if !causes.is_empty() {
        text.push_str(head);
    }
    let Some(room) = room
        .checked_sub(KEPT_FOR_THE_END)
        .filter(|room| *room > text.len())
    else {
        return String::new();
    };
    let mut paths = Paths::new(root);
    for (number, cause) in causes.iter().enumerate() {
        let row = row(outcome, cause, &mut paths);
        if text.len() + row.len() > room {
            let more = plural((causes.len() - number) as u64, "more finding");
            let _ = write!(text, "\n{more} would not fit here.\n");
            break;
        }
        text.push_str(&row);
    }
    text.push('\n');
    text
}

fn row(outcome: &Outcome, cause: &Cause<'_>, paths: &mut Paths) -> String {
    let first = cause.first;
    let input = input_name(outcome, first);
    let place = match ShownPlace::of(outcome, first) {
        Some(place) => {
            let file = paths.name(place.file, input);
            format!("{}:{}", place.text_in(file.as_str()), place.line)
        }
        None => paths.name(input, input).as_str().to_owned(),
    };
    let place = match cause.group.findings.len() {
        1 => place,
        places => format!("{place}, and {} more", places - 1),
    };
    let function = first.kernel.as_deref().or(first.function.as_deref());
    let kernel = function.map_or(String::new(), |kernel| name(&readable(kernel)).into_owned());
    let rule = format!("{} {}", cause.group.rule.code, cause.group.rule.name);
    let cells = [
        cause.group.level.as_str(),
        &rule,
        &place,
        cause.group.message.as_str(),
        &kernel,
    ];
    format!("| {} |\n", cells.map(cell).join(" | "))
}

/// Text in a cell of a table, or in a paragraph: nothing in it is Markdown or HTML.
fn cell(text: &str) -> String {
    let text = cut(&crate::escape::line(text), CELL_CHARACTERS);
    let mut cell = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if character.is_ascii_punctuation() && !"-/,()=+".contains(character) {
            let _ = write!(cell, "&#{};", u32::from(character));
        } else {
            cell.push(character);
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::scope::Root;

    use super::{SUMMARY_BYTES, cell, summary};
    use crate::samples;

    #[test]
    fn a_finding_is_a_row() {
        let outcome = samples::outcome_of([samples::finding_at(4), samples::finding_at(4)]);
        let text = summary(&outcome, &Root::default(), true, SUMMARY_BYTES);
        assert!(text.starts_with("### ptxcheck: "), "{text}");
        assert!(
            text.contains("| error | PTX407 zero-mask | no/such/k&#46;cu&#58;4, and 1 more | the member mask is 0 | bad1() |\n"),
            "{text}"
        );
    }

    #[test]
    fn names_of_inputs_are_no_markdown() {
        assert_eq!(
            cell("a|b\n<img>`*_[x](y)@z"),
            "a&#124;b&#92;u&#123;a&#125;&#60;img&#62;&#96;&#42;&#95;&#91;x&#93;(y)&#64;z"
        );
        assert!(cell(&"x".repeat(9_000)).chars().count() <= 500);
    }

    #[test]
    fn the_table_fits_into_what_github_takes() {
        let outcome = samples::outcome_of((0..20_000).map(samples::finding_at));
        let text = summary(&outcome, &Root::default(), true, SUMMARY_BYTES);
        assert!(
            text.len() <= SUMMARY_BYTES && text.len() > SUMMARY_BYTES / 2,
            "{}",
            text.len()
        );
        assert!(text.contains("more findings would not fit here"));
        assert_eq!(summary(&outcome, &Root::default(), true, 100), "");
    }
}
