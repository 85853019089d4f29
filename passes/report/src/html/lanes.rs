//! The 32 lanes of a warp: those that a mask names, those that execute the operation, those that the finding is about. In words; the
//! script draws a cell for each.

use maud::{Markup, html};
use ptxcheck_passes::finding::{Finding, Value};
use ptxcheck_passes::ir::WARP;

/// A set of lanes that is not known, or a bit for each.
type Lanes = Option<u32>;

/// A cell for each lane; none for a finding that is about no lanes.
pub(super) fn figure(finding: &Finding) -> Option<Markup> {
    let wrong = lanes(finding.data.get("lanes"))?;
    let named = match finding.data.get("mask") {
        Some(Value::Number(mask)) => u32::try_from(*mask).ok(),
        _ => None,
    };
    let here = lanes(finding.data.get("here"));
    if wrong == u32::MAX && named.is_none_or(|named| named == wrong) && here.is_none_or(|here| here == wrong)
    {
        return None; // All lanes are alike.
    }
    // The script draws the cells of a figure that is seen; the caption has all of it in words.
    Some(html! {
        figure.lanes data-wrong=(wrong) data-named=[named] data-here=[here] {
            figcaption { (caption(named, here, wrong)) }
            p.legend aria-hidden="true" {
                @if named.is_some() && here.is_some() {
                    span { b { "✓" } " named, and may call" } span { b { "–" } " named, and does not call" }
                    span { b { "!" } " may call, and is not named" }
                } @else if named.is_some() {
                    span { b { "✓" } " named" }
                } @else if here.is_some() {
                    span { b { "✓" } " may come here" } span { b { "–" } " goes another way" }
                }
                span { b.outlined { " " } " what the finding is about" }
            }
        }
    })
}

fn lanes(value: Option<&Value>) -> Lanes {
    let Some(Value::Numbers(numbers)) = value else {
        return None;
    };
    let lanes = numbers.iter().filter(|number| **number < u64::from(WARP));
    Some(lanes.fold(0, |set, number| set | 1 << number))
}

fn caption(named: Lanes, here: Lanes, wrong: u32) -> String {
    let mut words = Vec::new();
    if let Some(named) = named {
        words.push(format!("The mask {named:#010x} names {}", ranges(named)));
    }
    if let Some(here) = here {
        words.push(format!("{} may call", ranges(here)));
    }
    if let (Some(named), Some(here)) = (named, here) {
        if named & !here != 0 {
            words.push(format!("{} named and missing", ranges(named & !here)));
        }
        if here & !named != 0 {
            words.push(format!("{} calling without being named", ranges(here & !named)));
        }
    }
    words.push(format!("the finding is about {}", ranges(wrong)));
    words.join("; ") + "."
}

/// `lanes 0-15 and 31`, `no lane`.
fn ranges(lanes: u32) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut lane = 0;
    while lane < WARP {
        let run = (lanes >> lane).trailing_ones();
        match run {
            0 => {}
            1 => parts.push(lane.to_string()),
            run => parts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run.max(1);
    }
    match (lanes.count_ones(), parts.split_last()) {
        (0, _) | (_, None) => "no lane".to_owned(),
        (WARP, _) => "all lanes".to_owned(),
        (1, Some((only, _))) => format!("lane {only}"),
        (_, Some((last, []))) => format!("lanes {last}"),
        (_, Some((last, others))) => format!("lanes {} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::finding::Value;

    use super::{caption, figure, ranges};
    use crate::samples;

    #[test]
    fn lanes_are_told_as_ranges() {
        for (lanes, words) in [
            (0, "no lane"),
            (u32::MAX, "all lanes"),
            (1 << 31, "lane 31"),
            (0xffff, "lanes 0-15"),
            (0x8000_0005, "lanes 0, 2 and 31"),
            (0xffff_0000, "lanes 16-31"),
        ] {
            assert_eq!(ranges(lanes), words);
        }
        assert_eq!(
            caption(Some(0xff), Some(0xf0f), 0xf0),
            "The mask 0x000000ff names lanes 0-7; lanes 0-3 and 8-11 may call; lanes 4-7 named and missing; lanes 8-11 calling \
             without being named; the finding is about lanes 4-7."
        );
    }

    #[test]
    fn a_figure_has_the_lanes_as_numbers() {
        let mut finding = samples::finding();
        finding
            .data
            .insert("lanes", Value::Numbers(vec![0, 31, 32, u64::MAX]));
        finding.data.insert("mask", u64::from(u32::MAX));
        let text = figure(&finding).unwrap().into_string();
        assert!(
            text.contains("data-wrong=\"2147483649\" data-named=\"4294967295\">"),
            "{text}"
        );
        finding.data = ptxcheck_passes::finding::Data::default();
        assert!(figure(&finding).is_none());
    }
}
