//! Clashes: accesses of two lanes to the same bytes, one of them a write, that nothing orders.

use rustc_hash::FxHashMap;

use super::shared_accesses::{ByLane, Touch, Touches, Word};
use crate::lanes::value::{Lanes, Pool, WARP, lanes_in_set};
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
    /// Threads that reach the write, not those that reach the other access, show that both are made.
    pub is_at_write: bool,
}

/// The clashes among accesses that lanes certainly make, without an ordering in between. `made`: the accesses in the order of the
/// code. `own`: the lanes for which a write hides the writes of others from their later reads, because they may execute it themselves.
/// `may_clash`: true for lanes whose accesses nothing orders; `is_pair`: for a write and another access, by
/// their numbers in `made`: [`Clash::is_at_write`], or `None` if neither shows that the other is made.
///
/// No read before a lane's own write is a clash where all lanes write one value, which may be what they read with something added that
/// is there already (`flags |= 1`), or all write to one place in global memory: such a kernel may be for one thread.
pub(super) fn find_clashes(
    touches: &Touches,
    pool: &Pool,
    made: &[(usize, Lanes)],
    own: impl Fn(usize, Lanes) -> Lanes,
    may_clash: impl Fn(usize, usize) -> bool,
    is_pair: impl Fn(usize, usize) -> Option<bool>,
) -> Vec<Clash> {
    let Some(granule) = made.iter().map(|&(touch, _)| touches.all[touch].bytes).min() else {
        return Vec::new();
    };
    let granule = i64::from(granule.max(1));
    let mut left = MAX_EXCHANGE_PLACES;
    let mut writes: FxHashMap<Word, Vec<(u32, u8)>> = FxHashMap::default();
    // For each place, by lane: the number of the first access in `made` after which the lane sees its own write, plus one.
    let mut hidden: FxHashMap<Word, [u32; WARP]> = FxHashMap::default();
    for (order, &(number, set)) in (1..).zip(made) {
        let touch = &touches.all[number];
        if !touch.is_store {
            continue;
        }
        let own = own(number, set);
        let is_one_value = |value| pool.get(value).is_uniform_among(set | own);
        let mut places = lanes_in_set(set | own).map(|lane| touch.places[lane]);
        let first = places.next();
        let is_one_place = places.all(|place| Some(place) == first);
        let hides_all = touch.stored.is_some_and(is_one_value) || !touch.is_shared && is_one_place;
        let begins = if hides_all { 1 } else { order };
        for lane in lanes_in_set(set | own) {
            for place in touch.touched_words(lane, granule) {
                left = left.saturating_sub(1);
                if own >> lane & 1 == 1 {
                    let first = &mut hidden.entry(place).or_insert([0; WARP])[lane];
                    *first = if *first == 0 { begins } else { begins.min(*first) };
                }
                if set >> lane & 1 == 1 {
                    writes.entry(place).or_default().push((order - 1, lane as u8));
                }
            }
        }
    }
    let mut found: Vec<Clash> = Vec::new();
    let mut by_pair: FxHashMap<(usize, usize, bool), usize> = FxHashMap::default();
    for (order, &(number, set)) in (1..).zip(made) {
        let touch = &touches.all[number];
        for lane in lanes_in_set(set) {
            for place in touch.touched_words(lane, granule) {
                let Some(writes) = writes.get(&place) else {
                    continue;
                };
                // If the reading lane may have written the bytes itself, the clash is reported for the writes.
                let own = hidden
                    .get(&place)
                    .is_some_and(|first| (1..=order).contains(&first[lane]));
                if !touch.is_store && own {
                    continue;
                }
                for &(write, writer) in writes {
                    let (by, writer) = (write as usize, usize::from(writer));
                    let write = made[by].0;
                    left = left.saturating_sub(1);
                    if left == 0 {
                        return Vec::new();
                    }
                    // For other memory, any of the written values may be acceptable.
                    let is_left_out = touch.is_store && (write > number || !touch.is_shared);
                    let clashes = writer != lane
                        && !is_left_out
                        && touches.all[write].overlaps(writer, touch, lane)
                        && may_clash(writer, lane)
                        && (!touch.is_store
                            || stored_values_differ(pool, &touches.all[write], writer, touch, lane));
                    if !clashes {
                        continue;
                    }
                    let Some(is_at_write) = is_pair(by, order as usize - 1) else {
                        continue;
                    };
                    let at = *by_pair.entry((write, number, is_at_write)).or_insert_with(|| {
                        found.push(Clash {
                            write,
                            other: number,
                            lanes: [0; WARP],
                            is_at_write,
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
    let known = |touch: &Touch, lane: usize| pool.get(touch.stored?).value_in_lane(lane);
    let is_same_place = one.bytes == other.bytes && one.places[by] == other.places[of];
    match (known(one, by), known(other, of)) {
        (Some(a), Some(b)) if is_same_place && one.bytes <= 8 => {
            let width = ptxcheck_ir::evaluate::ones(one.bytes * 8);
            a & width != b & width
        }
        _ => false,
    }
}
