//! Lanes and masks in words.

use crate::analysis::lanes::{Lanes, Site, is_full_warp, ranges_of_lanes};
use crate::context::Place;
use crate::launches::Shape;

/// More runs of lanes than this are described as a pattern, if they form one.
const LISTED_RUNS: usize = 4;

/// "lane 3", "lanes 0-15", "lanes 1, 3, 5, …, 31", "all lanes".
pub(crate) fn named(lanes: Lanes) -> String {
    if is_full_warp(lanes) {
        return "all lanes".to_owned();
    }
    let is_first = |lane: &u32| lanes >> lane & 1 == 1 && (*lane == 0 || lanes >> (lane - 1) & 1 == 0);
    if (0..32).filter(is_first).count() <= LISTED_RUNS {
        return format!("{} {}", verb(lanes, "lane", "lanes"), listed(lanes));
    }
    let numbers: Vec<u64> = numbers(lanes);
    if let [first, second, third, .., last] = numbers[..]
        && numbers.windows(2).all(|pair| pair[1] - pair[0] == second - first)
    {
        return format!("lanes {first}, {second}, {third}, …, {last}");
    }
    // One pattern in all groups of four: a run of two or three lanes.
    let (first, last) = (
        lanes.trailing_zeros(),
        3_u32.saturating_sub((lanes & 15).leading_zeros() - 28),
    );
    if lanes.rotate_left(4) == lanes && (lanes & 15).count_ones() == last + 1 - first {
        return format!(
            "lanes {first}-{last}, {}-{}, …, {}-{}",
            first + 4,
            last + 4,
            first + 28,
            last + 28
        );
    }
    format!("lanes {}", listed(lanes))
}

/// "3", "0 and 16", "0, 2-5 and 31".
fn listed(lanes: Lanes) -> String {
    let list = ranges_of_lanes(lanes);
    match list.rsplit_once(", ") {
        Some((before, last)) => format!("{before} and {last}"),
        None => list,
    }
}

/// The form of a word that goes with one lane, or with several.
pub(crate) const fn verb(lanes: Lanes, one: &'static str, more: &'static str) -> &'static str {
    if lanes.count_ones() == 1 { one } else { more }
}

/// "lane 3 does", "lanes 0-15 do".
pub(crate) fn subject(lanes: Lanes, one: &'static str, more: &'static str) -> String {
    format!("{} {}", named(lanes), verb(lanes, one, more))
}

/// A mask as it is written in CUDA: `0x0000ffff`.
pub(crate) fn mask_in_words(mask: Lanes) -> String {
    format!("{mask:#010x}")
}

/// A mask with the lanes that it names: `0x0000ffff (lanes 0-15)`.
pub(crate) fn mask_with_lanes(lanes: Lanes) -> String {
    match lanes {
        0 => mask_in_words(lanes),
        _ if is_full_warp(lanes) => mask_in_words(lanes),
        _ => format!("{} ({})", mask_in_words(lanes), named(lanes)),
    }
}

/// A mask to write: `0x0000ffff` in quotes for code, followed by the lanes.
pub(crate) fn mask_as_code(lanes: Lanes) -> String {
    if is_full_warp(lanes) {
        format!("`{}`", mask_in_words(lanes))
    } else {
        format!("`{}` ({})", mask_in_words(lanes), named(lanes))
    }
}

/// The lanes of a group, if a mask names one group of several: 2, 4, 8 or 16 lanes next to each other.
pub(crate) fn group(mask: Lanes) -> Option<u32> {
    let size = mask.count_ones();
    let first = mask.trailing_zeros();
    let is_group =
        matches!(size, 2 | 4 | 8 | 16) && first.is_multiple_of(size) && mask >> first == (1 << size) - 1;
    is_group.then_some(size)
}

pub(crate) fn numbers(lanes: Lanes) -> Vec<u64> {
    (0..32).filter(|lane| lanes >> lane & 1 == 1).collect()
}

/// The sides of a block, but for the last that are 1.
pub(super) fn sides([x, y, z]: Shape) -> String {
    match (y, z) {
        (1, 1) => format!("{x}"),
        (_, 1) => format!("{x} × {y}"),
        _ => format!("{x} × {y} × {z}"),
    }
}

/// The place of a site.
pub(crate) fn place_of(site: &Site) -> Place {
    Place::Instruction(site.function, site.instruction, site.callers.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_told_in_words() {
        for (lanes, words) in [
            (1 << 3, "lane 3"),
            (0x8000_8000, "lanes 15 and 31"),
            (0xffff, "lanes 0-15"),
            (0xffff_fffd, "lanes 0 and 2-31"),
            (0x0101_0101, "lanes 0, 8, 16 and 24"),
            (0xaaaa_aaaa, "lanes 1, 3, 5, …, 31"),
            (0x1111_1111, "lanes 0, 4, 8, …, 28"),
            (0x3333_3333, "lanes 0-1, 4-5, …, 28-29"),
            (0xeeee_eeee, "lanes 1-3, 5-7, …, 29-31"),
            (0x0001_2345, "lanes 0, 2, 6, 8, 9, 13 and 16"),
            (u32::MAX, "all lanes"),
        ] {
            assert_eq!(named(lanes), words);
        }
        assert_eq!(mask_with_lanes(0xff), "0x000000ff (lanes 0-7)");
        assert_eq!(mask_with_lanes(u32::MAX), "0xffffffff");
    }

    #[test]
    fn a_mask_may_be_that_of_one_group() {
        for (mask, size) in [
            (0xff, Some(8)),
            (0xffff_0000, Some(16)),
            (0xc, Some(2)),
            (0x6, None),
            (0x1, None),
            (u32::MAX, None),
            (0, None),
            (0xff0, None),
        ] {
            assert_eq!(group(mask), size, "{mask:#x}");
        }
    }
}
