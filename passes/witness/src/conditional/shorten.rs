//! Witnesses reduced to the values that the failure depends on.

use super::replay::Replay;
use super::witness::Witness;

/// The witness without those of its values without which a run still goes wrong.
pub(super) fn shortest_witness(
    replay: &Replay<'_>,
    witness: Witness,
    is_wrong: impl Fn(&Witness) -> bool,
) -> Witness {
    let witness = without_needless_values(replay, witness, &is_wrong, |witness| &mut witness.params);
    without_needless_values(replay, witness, &is_wrong, |witness| &mut witness.loads)
}

/// The witness without those elements of one of its lists that it does not depend on.
fn without_needless_values<T>(
    replay: &Replay<'_>,
    mut witness: Witness,
    is_wrong: &impl Fn(&Witness) -> bool,
    list: fn(&mut Witness) -> &mut Vec<T>,
) -> Witness {
    let mut number = 0;
    while number < list(&mut witness).len() && replay.may_shorten() {
        let mut without = witness.clone();
        list(&mut without).remove(number);
        if is_wrong(&without) {
            witness = without;
        } else {
            number += 1;
        }
    }
    witness
}
