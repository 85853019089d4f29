//! Blocks that are tried of a kernel whose block nobody states.
//!
//! A kernel that reads the width of its block is meant for several widths: one with which it goes wrong is a witness. One that does
//! not read it is written for one width, which is not known: it may be any of those that are tried, so that it has to go wrong with
//! each of them. Blocks that differ in sides that the kernel reads make a group; the groups are tried one by one.

use crate::analysis::launches::{MAX_BLOCK_THREADS, Shape};

/// Blocks of kernels that read `%tid.x` alone, the usual ones first.
const ROWS: &[Shape] = &[[128, 1, 1], [256, 1, 1], [512, 1, 1], [32, 1, 1], [64, 1, 1]];

/// Blocks of kernels that read `%tid.y`, but not `%tid.z`.
const PLANES: &[Shape] = &[
    [16, 16, 1],
    [32, 8, 1],
    [8, 16, 1],
    [64, 4, 1],
    [16, 2, 1],
    [8, 4, 1],
    [4, 8, 1],
    [2, 16, 1],
    [1, 32, 1],
    [128, 2, 1],
];

/// Blocks of kernels that read `%tid.z`, but not `%tid.y`.
const LAYERS: &[Shape] = &[
    [16, 1, 16],
    [32, 1, 8],
    [8, 1, 16],
    [64, 1, 4],
    [16, 1, 2],
    [8, 1, 4],
    [4, 1, 8],
    [2, 1, 16],
    [1, 1, 32],
    [128, 1, 2],
];

/// Blocks of kernels that read `%tid.y` and `%tid.z`.
const CUBES: &[Shape] = &[
    [8, 8, 4],
    [16, 4, 4],
    [32, 2, 4],
    [16, 16, 2],
    [4, 4, 4],
    [8, 2, 2],
    [4, 4, 2],
    [8, 4, 2],
    [2, 4, 4],
    [1, 8, 4],
    [64, 2, 2],
];

/// Most blocks of a group.
const MAX_GROUP: usize = 2;

/// The blocks to try of a kernel that reads `%tid.y` and `%tid.z` so, in groups. `sides`: the sides of the block that what may go
/// wrong depends on.
/// `most`: the threads that a block of the kernel has at most.
pub(super) fn block_groups(reads: [bool; 2], sides: [bool; 3], most: Option<u32>) -> Vec<Vec<Shape>> {
    let blocks = match reads {
        [false, false] => ROWS,
        [true, false] => PLANES,
        [false, true] => LAYERS,
        [true, true] => CUBES,
    };
    // With one side that is read, the number of rows and layers is free, too.
    let is_free = [sides[0], sides != [false; 3], sides != [false; 3]];
    // A bound is mostly the number of threads that a kernel is launched with.
    let row = most.filter(|most| {
        *most > 0 && most.is_multiple_of(32) && reads == [false; 2] && *most <= MAX_BLOCK_THREADS
    });
    let row = row.map(|most| [most, 1, 1]);
    let is_bound = |block: &&Shape| most == Some(block.iter().product());
    let bound = blocks.iter().filter(is_bound).copied();
    let others = blocks.iter().filter(|block| !is_bound(block)).copied();
    let mut groups: Vec<Vec<Shape>> = Vec::new();
    for block in row.into_iter().chain(bound).chain(others) {
        if groups.iter().flatten().any(|known| *known == block) {
            continue;
        }
        let is_near = |other: &Shape| (0..3).all(|side| is_free[side] || block[side] == other[side]);
        match groups.iter_mut().find(|group| is_near(&group[0])) {
            Some(group) if group.len() < MAX_GROUP => group.push(block),
            Some(_) => {}
            None => groups.push(vec![block]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::block_groups;

    #[test]
    fn sides_that_are_read_are_tried_in_one_group() {
        assert_eq!(block_groups([false; 2], [true, false, false], None).len(), 1);
        assert_eq!(block_groups([false; 2], [false; 3], None).len(), 5);
        let by_width = block_groups([true, false], [false, true, false], None);
        assert_eq!(by_width[0], [[16, 16, 1], [16, 2, 1]]);
        assert_eq!(by_width[1], [[32, 8, 1]]);
        assert_eq!(block_groups([true, false], [true, false, false], None).len(), 1);
        assert_eq!(block_groups([true, false], [false; 3], None).len(), 10);
    }

    #[test]
    fn the_bound_of_a_kernel_is_tried_first() {
        assert_eq!(block_groups([false; 2], [false; 3], Some(512))[0], [[512, 1, 1]]);
        assert_eq!(
            block_groups([false; 2], [false; 3], Some(32))[..2],
            [[[32, 1, 1]], [[128, 1, 1]]]
        );
        assert_eq!(
            block_groups([true, false], [false; 3], Some(128))[0],
            [[8, 16, 1]]
        );
        for odd in [0, 100, 2_048] {
            assert_eq!(block_groups([false; 2], [false; 3], Some(odd))[0], [[128, 1, 1]]);
        }
    }

    #[test]
    fn blocks_are_whole_warps() {
        for reads in [[false, false], [true, false], [false, true], [true, true]] {
            for block in block_groups(reads, [false; 3], None).concat() {
                let threads: u32 = block.iter().product();
                assert!(threads.is_multiple_of(32) && threads <= 1_024, "{block:?}");
            }
        }
    }
}
