//! Scenarios: the values of inputs that a kernel is run with in a block.

use std::collections::BTreeSet;

use super::blocks::Block;
use super::inputs::{Inputs, Piece};
use super::witness::{Witness, WitnessLoad};
use crate::analysis::lanes::{FixedParam, Site};

/// Values of integer parameters that a scenario leaves open, and contents of memory: what no input decides is run with each of
/// them. Loops have one round, or three.
pub(super) const REST: [(u64, Option<u64>); 4] = [(1, None), (1, Some(0)), (3, None), (3, Some(0))];

/// The lane that is given another value than the others, where loaded values decide.
const OTHER_LANE: u32 = 5;

/// The scenarios to try with a block, the simplest first.
pub(super) fn scenarios(inputs: &Inputs, block: Block) -> Vec<Witness> {
    let witness = |params: Vec<FixedParam>, loads: Vec<WitnessLoad>| Witness {
        block,
        grid: [1; 3],
        block_index: [0; 3],
        warp: 0,
        lanes: 0,
        params,
        loads,
        memory: None,
    };
    let param = |piece: &Piece, value: u64| FixedParam {
        number: piece.number,
        offset: piece.offset,
        bytes: piece.bytes,
        value,
    };
    let load = |site: &Site, others: u64, differing| WitnessLoad {
        site: site.clone(),
        others,
        differing,
    };
    let (params, loads) = (&inputs.params, &inputs.loads);
    if params.is_empty() && loads.is_empty() {
        return vec![witness(Vec::new(), Vec::new())];
    }
    let all = |value: u64| {
        let params = params.iter().map(|piece| param(piece, value)).collect();
        let loads = loads.iter().map(|site| load(site, value, (0, 0))).collect();
        witness(params, loads)
    };
    let threads: u64 = block.iter().copied().map(u64::from).product();
    let values = values(&inputs.constants, threads);
    let mut made = Vec::new();
    for &value in &values {
        made.push(all(value));
        if params.len() + loads.len() == 1 {
            continue;
        }
        // One input with the value, the others with a few rounds of loops.
        for others in [1, 3, threads * 4] {
            for number in 0..params.len() {
                let mut one = all(others);
                one.params[number].value = value;
                made.push(one);
            }
            for number in 0..loads.len() {
                let mut one = all(others);
                one.loads[number].others = value;
                made.push(one);
            }
        }
    }
    // One lane with another value than the rest.
    let differing: Vec<(u64, u64)> = values
        .iter()
        .filter_map(|&value| Some((value, value.checked_sub(1)?)))
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect();
    for site in loads {
        for &(others, other) in &differing {
            let mut one = all(threads * 4);
            for given in &mut one.loads {
                if given.site == *site {
                    *given = load(site, others, (1 << OTHER_LANE, other));
                }
            }
            made.push(one);
        }
    }
    made
}

/// The values that an input is given: a number of elements that ends within the last warp, one of a few more than a block, one
/// element, and the constants of the code with their neighbours.
fn values(constants: &BTreeSet<i64>, threads: u64) -> Vec<u64> {
    let tail = threads.saturating_sub(if threads > 32 { 28 } else { 12 }).max(1);
    let mut values = vec![tail, threads + 4, 1];
    for constant in constants {
        let around = [constant.checked_add(1), Some(*constant), constant.checked_sub(1)];
        let known = around.into_iter().flatten();
        values.extend(known.filter_map(|value| u64::try_from(value).ok()));
    }
    let mut seen = BTreeSet::new();
    values.retain(|value| *value < 1 << 31 && seen.insert(*value));
    values
}
