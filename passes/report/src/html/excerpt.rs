//! A line of source with those around it.

use maud::{Markup, html};
use ptxcheck_passes::finding::LineText;
use ptxcheck_passes::sources::Sources;

use crate::escape::{cut, snippet};
use crate::places::ShownPlace;

/// Lines before and after.
const AROUND: u32 = 2;

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
