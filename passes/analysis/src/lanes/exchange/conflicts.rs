//! Clashes: accesses of two lanes to the same bytes, one of them a write, that nothing orders.

use rustc_hash::FxHashMap;

use super::found::Object;
use super::shared_accesses::{ByLane, Touch, Touches};
use crate::lanes::value::{Lanes, Pool, WARP, lanes};
use crate::limits::MAX_EXCHANGE_PLACES;

/// Accesses of different lanes to the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    /// The index of the write.
    pub write: usize,
    /// The index of the other access: a read, or another write.
    pub other: usize,
    /// By lane that writes: the lanes that make the other access to what it writes.
    pub lanes: ByLane,
}

/// The bytes that one lane accesses: the object and the offset in it.
type BytePlace = (Object, i64);

/// The clashes among accesses that lanes certainly make, without an ordering in between. `own`: the lanes for which a write
/// hides the writes of others, because they certainly execute it themselves. `may_clash`: true for lanes whose accesses
/// nothing orders.
pub(super) fn find_clashes(
    touches: &Touches,
    pool: &Pool,
    made: &[(usize, Lanes)],
    own: impl Fn(usize, Lanes) -> Lanes,
    may_clash: impl Fn(usize, usize) -> bool,
) -> Vec<Clash> {
    let Some(granule) = made.iter().map(|&(touch, _)| touches.all[touch].bytes).min() else {
        return Vec::new();
    };
    let granule = i64::from(granule.max(1));
    let all = |touch: &Touch, lane: usize| {
        let first = touch.places[lane].div_euclid(granule);
        let last = touch.places[lane]
            .saturating_add(i64::from(touch.bytes) - 1)
            .div_euclid(granule);
        let object = touch.object;
        (first..=last).map(move |place| (object, place))
    };
    let mut left = MAX_EXCHANGE_PLACES;
    let mut writes: FxHashMap<BytePlace, Vec<(u32, u8)>> = FxHashMap::default();
    let mut hidden: FxHashMap<BytePlace, Lanes> = FxHashMap::default();
    for &(number, set) in made {
        let touch = &touches.all[number];
        if !touch.is_store {
            continue;
        }
        let own = own(number, set);
        for lane in lanes(set | own) {
            for place in all(touch, lane) {
                left = left.saturating_sub(1);
                if own >> lane & 1 == 1 {
                    *hidden.entry(place).or_default() |= 1 << lane;
                }
                if set >> lane & 1 == 1 {
                    writes.entry(place).or_default().push((number as u32, lane as u8));
                }
            }
        }
    }
    let mut found: Vec<Clash> = Vec::new();
    let mut by_pair: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    for &(number, set) in made {
        let touch = &touches.all[number];
        for lane in lanes(set) {
            for place in all(touch, lane) {
                let Some(writes) = writes.get(&place) else {
                    continue;
                };
                // If the reading lane may have written the bytes itself, the clash is reported for the writes.
                let own = hidden.get(&place).is_some_and(|lanes| lanes >> lane & 1 == 1);
                if !touch.is_store && own {
                    continue;
                }
                for &(write, writer) in writes {
                    let (write, writer) = (write as usize, usize::from(writer));
                    left = left.saturating_sub(1);
                    if left == 0 {
                        return Vec::new();
                    }
                    // For other memory, any of the written values may be acceptable.
                    let is_left_out = touch.is_store && (write > number || !touch.is_shared);
                    let is_pair = writer != lane
                        && !is_left_out
                        && touches.all[write].overlaps(writer, touch, lane)
                        && may_clash(writer, lane)
                        && (!touch.is_store
                            || stored_values_differ(pool, &touches.all[write], writer, touch, lane));
                    if !is_pair {
                        continue;
                    }
                    let at = *by_pair.entry((write, number)).or_insert_with(|| {
                        found.push(Clash {
                            write,
                            other: number,
                            lanes: [0; WARP],
                        });
                        found.len() - 1
                    });
                    found[at].lanes[writer] |= 1 << lane;
                }
            }
        }
    }
    found
}

/// True if two writes certainly leave different values.
pub(super) fn stored_values_differ(pool: &Pool, one: &Touch, by: usize, other: &Touch, of: usize) -> bool {
    let known = |touch: &Touch, lane: usize| pool.get(touch.stored?).in_lane(lane);
    let is_same_place = one.bytes == other.bytes && one.places[by] == other.places[of];
    match (known(one, by), known(other, of)) {
        (Some(a), Some(b)) if is_same_place && one.bytes <= 8 => {
            let width = ptxcheck_ir::evaluate::ones(one.bytes * 8);
            a & width != b & width
        }
        _ => false,
    }
}
