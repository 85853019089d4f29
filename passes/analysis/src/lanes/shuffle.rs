//! Source lane of a shuffle (PTX ISA, `shfl.sync`).
//!
//! ```text
//! clamp = c[4:0]   segment = c[12:8]   max = (l and segment) or (clamp and not segment)   min = l and segment
//! up    j = l - b, read where j ≥ max         idx   j = min or (b and not segment), read where j ≤ max
//! down  j = l + b, read where j ≤ max         bfly  j = l xor b, read where j ≤ max
//! ```
//!
//! Out of range, a lane keeps its own value. The low five bits of `b` count.

use ptxcheck_ir::Shuffle;

/// The lane that `lane` reads.
#[must_use]
pub(super) fn source_lane(mode: Shuffle, lane: usize, b: u64, c: u64) -> usize {
    let lane = lane as i64;
    let (b, clamp, segment) = ((b & 31) as i64, (c & 31) as i64, (c >> 8 & 31) as i64);
    let most = (lane & segment) | (clamp & !segment);
    let least = lane & segment;
    let (from, reads) = match mode {
        Shuffle::Up => (lane - b, lane - b >= most),
        Shuffle::Down => (lane + b, lane + b <= most),
        Shuffle::Butterfly => (lane ^ b, (lane ^ b) <= most),
        Shuffle::Index => {
            let from = least | (b & !segment);
            (from, from <= most)
        }
    };
    if reads {
        (from & 31) as usize
    } else {
        lane as usize
    }
}

#[cfg(test)]
mod tests {
    use super::source_lane;
    use ptxcheck_ir::Shuffle;

    #[test]
    fn shuffles_stay_within_their_segment() {
        // Width 16: c = (32 - 16) << 8 | 31.
        let c = 0x101f;
        assert_eq!(source_lane(Shuffle::Down, 15, 1, c), 15);
        assert_eq!(source_lane(Shuffle::Down, 14, 1, c), 15);
        assert_eq!(source_lane(Shuffle::Index, 20, 3, c), 19);
        assert_eq!(source_lane(Shuffle::Butterfly, 20, 16, c), 4);
        assert_eq!(source_lane(Shuffle::Up, 16, 1, 0x1000), 16);
        assert_eq!(source_lane(Shuffle::Up, 17, 1, 0x1000), 16);
    }

    #[test]
    fn full_width_shuffles_reach_all_lanes() {
        assert_eq!(source_lane(Shuffle::Index, 7, 40, 31), 8);
        assert_eq!(source_lane(Shuffle::Down, 24, 8, 31), 24);
        assert_eq!(source_lane(Shuffle::Down, 8, 8, 31), 16);
        assert_eq!(source_lane(Shuffle::Up, 0, 1, 0), 0);
        assert_eq!(source_lane(Shuffle::Butterfly, 5, 1, 31), 4);
    }
}
