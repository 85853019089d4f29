//! The run of a conditional finding: a list of its steps, of which the script draws lanes side by side.

use maud::{Markup, html};
use ptxcheck_passes::finding::Actor;

use super::sentence::code_spans;
use crate::escape::line;
use crate::rounds::{Round, rounds};

/// Steps at the beginning of a run that are listed.
const FIRST_STEPS: usize = 15;

/// Steps at its end: it goes wrong there.
const LAST_STEPS: usize = 25;

/// A step, as it is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Step<'a> {
    pub(super) place: Option<String>,
    pub(super) message: &'a str,
    pub(super) by: Option<&'a Actor>,
}

/// A line of the list.
enum Row<'a> {
    /// A step, and its number.
    Step(usize, &'a Step<'a>),
    /// Steps that come again, or are left out.
    Words(String),
}

/// The threads whose accesses a run of two ends with: block, warp and lane.
type Thread = (Option<u32>, Option<u32>, u32);

/// The steps, folded; empty where there are none. `is_of_two`: the run shows two threads, which its last steps are about; the steps of
/// the others are counted.
pub(super) fn section(steps: &[Step<'_>], is_of_two: bool) -> Markup {
    if steps.is_empty() {
        return html! {};
    }
    let threads = if is_of_two {
        last_threads(steps)
    } else {
        Vec::new()
    };
    let rows = rows(steps, &threads);
    html! {
        details.further.timeline {
            summary { "The run in which it goes wrong, in " (steps.len()) " steps" }
            ol.run {
                @for row in &rows {
                    @match row {
                        Row::Step(number, step) => (item(*number, step, &threads)),
                        Row::Words(words) => li.words { (code_spans(words)) },
                    }
                }
            }
        }
    }
}

/// The two threads of the last two steps; none if these are not about one thread each.
fn last_threads(steps: &[Step<'_>]) -> Vec<Thread> {
    let of_last = steps.iter().rev().take(2).filter_map(|step| step.by);
    let mut threads: Vec<Thread> = of_last
        .filter(|by| by.lanes.count_ones() == 1)
        .map(|by| (by.block, by.warp, by.lanes))
        .collect();
    threads.dedup();
    if threads.len() == 2 { threads } else { Vec::new() }
}

/// The lanes of an actor that are among some threads; all where there are none.
fn lanes_among(by: &Actor, threads: &[Thread]) -> u32 {
    if threads.is_empty() {
        return by.lanes;
    }
    let same_warp = threads
        .iter()
        .filter(|(block, warp, _)| (*block, *warp) == (by.block, by.warp));
    by.lanes & same_warp.fold(0, |all, (.., lane)| all | lane)
}

/// `data-by`: block, warp and lanes, in hexadecimal digits.
fn item(number: usize, step: &Step<'_>, threads: &[Thread]) -> Markup {
    let by = step.by.map(|by| {
        let digits = |number: Option<u32>| number.map(|number| format!("{number:x}")).unwrap_or_default();
        format!(
            "{},{},{:x}",
            digits(by.block),
            digits(by.warp),
            lanes_among(by, threads)
        )
    });
    let act = step.by.map_or("", |by| by.act.as_str());
    let who = step.message.strip_suffix(act).unwrap_or(step.message);
    html! {
        li value=(number) data-by=[by] {
            @if let Some(place) = &step.place { code { (place) } " " }
            b { (line(who)) } (line(act))
        }
    }
}

fn rows<'a>(steps: &'a [Step<'a>], threads: &[Thread]) -> Vec<Row<'a>> {
    let is_shown = |step: &Step<'_>| step.by.is_none_or(|by| lanes_among(by, threads) != 0);
    let mut rows = Vec::new();
    let mut first = 0;
    for part in steps.chunk_by(|one, next| is_shown(one) == is_shown(next)) {
        if is_shown(&part[0]) {
            add_rounds(part, first, &mut rows);
        } else {
            let what = if part.len() == 1 { "step" } else { "steps" };
            rows.push(Row::Words(format!("{} {what} of other threads", part.len())));
        }
        first += part.len();
    }
    if rows.len() > FIRST_STEPS + LAST_STEPS {
        let last = rows.split_off(rows.len() - LAST_STEPS);
        let left_out = rows.len() - FIRST_STEPS;
        rows.truncate(FIRST_STEPS);
        rows.push(Row::Words(format!(
            "{left_out} more lines are left out: `ptxcheck replay` shows all"
        )));
        rows.extend(last);
    }
    rows
}

/// Adds steps, those that come again once. `before`: the number of steps before them.
fn add_rounds<'a>(steps: &'a [Step<'a>], before: usize, rows: &mut Vec<Row<'a>>) {
    for round in rounds(steps, |one, other| one == other) {
        let those = steps[round.at..round.at + round.length].iter();
        let numbered = (before + round.at + 1..).zip(those);
        rows.extend(numbered.map(|(number, step)| Row::Step(number, step)));
        let in_all = Round {
            at: before + round.at,
            ..round
        };
        rows.extend(in_all.again().map(Row::Words));
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::finding::Actor;

    use super::{Step, section};

    #[test]
    fn steps_have_lanes_and_come_once() {
        let by = Actor {
            block: None,
            warp: Some(11),
            lanes: 0xff,
            act: "go <on> here".to_owned(),
        };
        let step = |place: &str| Step {
            place: Some(place.to_owned()),
            message: "in warp 11, lanes 0-7 go <on> here",
            by: Some(&by),
        };
        let text = section(&["a", "b", "a", "b", "c"].map(step), false).into_string();
        assert!(
            text.contains(
                "<li value=\"1\" data-by=\",b,ff\"><code>a</code> <b>in warp 11, lanes 0-7 </b>go &lt;on&gt; here</li>"
            ),
            "{text}"
        );
        assert!(
            text.contains("<li class=\"words\">steps 1 to 2 once more</li><li value=\"5\""),
            "{text}"
        );
        assert!(section(&[], false).into_string().is_empty());
    }

    #[test]
    fn a_long_run_keeps_its_ends() {
        let words: Vec<String> = (0..200).map(|number| format!("step {number}.")).collect();
        let step = |message| Step {
            place: None,
            message,
            by: None,
        };
        let steps: Vec<Step<'_>> = words.iter().map(String::as_str).map(step).collect();
        let text = section(&steps, false).into_string();
        assert_eq!(text.matches("<li").count(), 41);
        assert!(text.contains("160 more lines are left out"), "{text}");
        assert!(text.contains("step 14.") && !text.contains("step 15.") && text.contains("step 175."));
    }

    #[test]
    fn a_run_of_two_threads_counts_the_steps_of_others() {
        let actors = [(0, u32::MAX), (0, 4), (0, 8), (1, 4), (0, 1), (1, 2)].map(|(warp, lanes)| Actor {
            block: None,
            warp: Some(warp),
            lanes,
            act: "go".to_owned(),
        });
        let step = |by| Step {
            place: None,
            message: "they go",
            by: Some(by),
        };
        let steps: Vec<Step<'_>> = actors.iter().map(step).collect();
        let text = section(&steps, true).into_string();
        // Of all lanes, the one that counts.
        assert!(text.contains("value=\"1\" data-by=\",0,1\""), "{text}");
        assert!(
            text.contains(">3 steps of other threads</li><li value=\"5\" data-by=\",0,1\""),
            "{text}"
        );
        assert!(text.contains("data-by=\",1,2\""), "{text}");
        assert_eq!(section(&steps, false).into_string().matches("<li").count(), 6);
    }
}
