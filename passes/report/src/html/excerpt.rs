//! A line of source with those around it.

use maud::{Markup, html};
use ptxcheck_passes::finding::LineText;
use ptxcheck_passes::sources::Sources;

use super::sentence::code_spans;
use crate::escape::{cut, line as line_of, snippet};
use crate::places::ShownPlace;

/// Lines before and after.
const AROUND: u32 = 2;

/// Most lines between two places that are shown.
const MOST_BETWEEN: u32 = 12;

/// Characters of the lines around.
const LINE_CHARACTERS: usize = 160;

/// The line of a place, with those around it if the file is available. `carried`: the text of the line, where the finding has it.
pub(super) fn of(
    place: &ShownPlace<'_>,
    carried: Option<&LineText>,
    input: &str,
    sources: &mut Sources,
) -> Option<Markup> {
    let shown = place.show(carried, input, sources)?;
    let (text, span) = snippet(&shown.text, &shown.span);
    let mut line = |number: u32| {
        let text = sources.line(place.file, input, number)?;
        Some((number, snippet(&cut(text, LINE_CHARACTERS), &(0..0)).0))
    };
    let first = place.line.saturating_sub(AROUND).max(1);
    let last = place.line.saturating_add(AROUND);
    let (before, after): (Vec<_>, Vec<_>) = if carried.is_some() {
        (Vec::new(), Vec::new())
    } else {
        (
            (first..place.line).filter_map(&mut line).collect(),
            (place.line.saturating_add(1)..=last)
                .filter_map(&mut line)
                .collect(),
        )
    };
    let row = |(number, text): &(u32, String)| html! { span.line { span.number { (number) } span.text { (text) } } "\n" };
    Some(html! {
        pre.excerpt tabindex="0" aria-label="Source" { code {
            @for around in &before { (row(around)) }
            span.line.hit { span.number { (place.line) } span.text {
                (text[..span.start]) mark { (text[span.clone()]) } (text[span.end..])
            } } "\n"
            @for around in &after { (row(around)) }
        } }
    })
}

/// The lines of two places in one text and those around and between them. The second place has words on its line; an arrow joins the
/// two where `is_joined`. `None` where they are on one line, or in two texts.
pub(super) fn of_two(
    place: &ShownPlace<'_>,
    other: &ShownPlace<'_>,
    words: &str,
    is_joined: bool,
    input: &str,
    sources: &mut Sources,
) -> Option<Markup> {
    if place.file != other.file || place.image != other.image || place.line == other.line {
        return None;
    }
    let [shown, beside] = [place, other].map(|place| place.show(None, input, sources));
    let (shown, beside) = (shown?, beside?);
    let (first, last) = (place.line.min(other.line), place.line.max(other.line));
    let is_cut = last - first > MOST_BETWEEN;
    let mut rows = Vec::new();
    for number in first.saturating_sub(AROUND).max(1)..=last.saturating_add(AROUND) {
        let is_inside = number > first && number < last;
        if is_cut && number > first + AROUND && number < last - AROUND {
            if number == first + AROUND + 1 {
                let count = last - first - 2 * AROUND - 1;
                rows.push(html! { span.line.joined[is_joined] { span.number { "⋮" } span.text.left-out { (count) " lines" } } "\n" });
            }
            continue;
        }
        let (line, is_place) = match number {
            number if number == place.line => (Some(&shown), true),
            number if number == other.line => (Some(&beside), false),
            _ => (None, false),
        };
        rows.push(match line {
            Some(line) => {
                let (text, span) = snippet(&line.text, &line.span);
                let (is_start, is_end) = (is_joined && number == first, is_joined && number == last);
                html! {
                    span.line.hit[is_place].beside[!is_place].start[is_start].end[is_end] {
                        span.number { (number) }
                        span.text { (text[..span.start]) mark { (text[span.clone()]) } (text[span.end..]) }
                    } "\n"
                    @if !is_place {
                        // Below its line: the end of a long one is not seen.
                        span.line.words.joined[is_start] { span.number {} span.text { "↑ " (code_spans(&line_of(words))) } } "\n"
                    }
                }
            }
            None => {
                let Some(text) = sources.line(place.file, input, number) else {
                    continue;
                };
                let text = snippet(&cut(text, LINE_CHARACTERS), &(0..0)).0;
                html! { span.line.joined[is_joined && is_inside] { span.number { (number) } span.text { (text) } } "\n" }
            }
        });
    }
    Some(html! {
        pre.excerpt.two[is_joined] tabindex="0" aria-label="Source" { code { @for row in &rows { (row) } } }
    })
}
