//! Scenarios: the values of inputs that a kernel is run with in a block.

use std::collections::BTreeSet;

use super::inputs::{Inputs, Piece};
use super::witness::{Memory, RunOrder, Witness, WitnessLoad};
use crate::analysis::lanes::{FixedParam, Site};
use crate::analysis::launches::Shape;
use crate::assumptions::Assumed;
use crate::limits::MAX_SCENARIOS;

/// Values of integer parameters that a scenario leaves open, and contents of memory: places that no input decides are run with each of
/// them. Loops have one round, or three.
const REST: [(u64, Memory); 6] = [
    (1, Memory::Unknown),
    (1, Memory::Zero),
    (1, Memory::Counting),
    (3, Memory::Unknown),
    (3, Memory::Zero),
    (3, Memory::Counting),
];

/// The values that a scenario leaves open, and the order of a run with it.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The value of integer parameters.
    pub param: u64,
    pub memory: Memory,
    pub order: RunOrder,
    /// What threads update is large.
    pub is_large: bool,
    pub neighbours: Neighbours,
}

/// The neighbours that threads find for their vertices: all of them the same vertex, or all but one.
#[derive(Clone, Copy)]
pub(super) enum Neighbours {
    /// A vertex of the first warp.
    Near,
    /// A vertex of another warp.
    Far,
    /// The first thread of the block that runs last finds another one.
    NearButOne,
}

impl Neighbours {
    /// The number of the neighbour of most vertices, and the lanes with another one, with its number.
    pub(super) const fn numbers(self) -> (u64, (u32, u64)) {
        match self {
            Self::Near => (NEIGHBOUR, (0, 0)),
            Self::Far => (FAR_NEIGHBOUR, (0, 0)),
            Self::NearButOne => (NEIGHBOUR - 1, (1, NEIGHBOUR)),
        }
    }
}

/// A vertex that threads of the first warp work on.
pub(super) const NEIGHBOUR: u64 = 2;

/// A vertex of the second warp, of kernels with a thread for each vertex.
const FAR_NEIGHBOUR: u64 = 40;

impl Rest {
    /// The content of memory, and the order, of runs that compare accesses to global memory. Memory whose elements are their indices comes
    /// first: a thread's own index is no other thread's there. What threads lower is large, and those with large numbers come first.
    pub(super) const OF_GRID: [Self; 8] = [
        Self::of_grid(3, Memory::Ascending, RunOrder::InTurn, false),
        Self::of_grid(3, Memory::Ascending, RunOrder::Backwards, true),
        Self {
            neighbours: Neighbours::NearButOne,
            ..Self::of_grid(3, Memory::Ascending, RunOrder::Backwards, false)
        },
        Self {
            neighbours: Neighbours::Far,
            ..Self::of_grid(MANY_ELEMENTS, Memory::Ascending, RunOrder::InTurn, false)
        },
        Self::of_grid(MANY_ELEMENTS, Memory::Ascending, RunOrder::InTurn, false),
        Self::of_grid(3, Memory::Ascending, RunOrder::Blocks, false),
        Self::of_grid(3, Memory::Counting, RunOrder::InTurn, false),
        Self::of_grid(3, Memory::Zero, RunOrder::InTurn, false),
    ];

    const fn of_grid(param: u64, memory: Memory, order: RunOrder, is_large: bool) -> Self {
        Self {
            param,
            memory,
            order,
            is_large,
            neighbours: Neighbours::Near,
        }
    }

    /// Those of runs of one block in which no content of memory decides anything, in two orders of its threads.
    pub(super) fn of_protocol() -> Vec<Self> {
        let all = [
            (1, RunOrder::Together),
            (3, RunOrder::Together),
            (1, RunOrder::FurthestFirst),
        ];
        let of = |(param, order)| Self::of_grid(param, Memory::Unknown, order, false);
        all.into_iter().map(of).collect()
    }

    /// Those of runs of one block.
    pub(super) fn of_block() -> Vec<Self> {
        let of = |(param, memory)| Self::of_grid(param, memory, RunOrder::Together, false);
        REST.into_iter().map(of).collect()
    }
}

/// A number of elements that is more than one tile of 256, and more than the threads of two blocks of 128.
pub(super) const MANY_ELEMENTS: u64 = 260;

/// Values tried for each input, regardless of the constants that the code compares it with.
const USUAL_VALUES: usize = 3;

/// The lanes that are given another value than the others, where loaded values decide: one, or the second half of the warp.
const OTHER_LANES: [u32; 2] = [1 << 5, 0xffff_0000];

/// The scenarios to try with a block that are as assumed, the simplest first.
pub(super) fn scenarios(inputs: &Inputs, block: Shape, assumed: &Assumed) -> Vec<Witness> {
    let mut made = unbounded(inputs, block);
    if assumed.is_empty() {
        return made;
    }
    let named = named(inputs, made.first(), assumed);
    let at = made.len().min(BEFORE_NAMED);
    made.splice(at..at, named);
    let mut kept: Vec<Witness> = Vec::new();
    for mut witness in made {
        assumed.move_into_assumptions(&mut witness.params);
        if assumed.admits(&witness.params) && !kept.contains(&witness) {
            kept.push(witness);
        }
        if kept.len() == MAX_SCENARIOS {
            break;
        }
    }
    kept
}

/// Scenarios before those with the values that assumptions name.
const BEFORE_NAMED: usize = 3;

/// A scenario with each value that an assumption names for a parameter.
fn named(inputs: &Inputs, like: Option<&Witness>, assumed: &Assumed) -> Vec<Witness> {
    let Some(like) = like else {
        return Vec::new();
    };
    let mut made = Vec::new();
    for piece in &inputs.params {
        for value in assumed.values_named_by_assumptions(piece.number, piece.offset, piece.bytes) {
            let mut one = like.clone();
            let is_it =
                |param: &&mut FixedParam| (param.number, param.offset) == (piece.number, piece.offset);
            if let Some(param) = one.params.iter_mut().find(is_it) {
                param.value = value;
                made.push(one);
            }
        }
    }
    made
}

/// The scenarios to try where nothing is assumed.
fn unbounded(inputs: &Inputs, block: Shape) -> Vec<Witness> {
    let witness = |params: Vec<FixedParam>, loads: Vec<WitnessLoad>| Witness {
        block,
        grid: [1; 3],
        block_index: [0; 3],
        warp: 0,
        lanes: 0,
        pair: None,
        pair_blocks: None,
        order: RunOrder::Together,
        params,
        loads,
        memory: Memory::Unknown,
        large: Vec::new(),
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
    // One value for most lanes, of all inputs or of one of them, and of the others one with a few rounds of loops.
    let mut alike = Vec::new();
    for &value in &values {
        alike.push(all(value));
        if params.len() + loads.len() == 1 {
            continue;
        }
        for others in [1, 3, threads * 4] {
            for number in 0..params.len() {
                let mut one = all(others);
                one.params[number].value = value;
                alike.push(one);
            }
            for number in 0..loads.len() {
                let mut one = all(others);
                one.loads[number].others = value;
                alike.push(one);
            }
        }
    }
    // Some lanes load another value than the rest; first the values that the code compares with.
    let (usual, compared) = values.split_at(values.len().min(USUAL_VALUES));
    let mut differing = Vec::new();
    for &value in compared.iter().chain(usual) {
        let Some(less) = value.checked_sub(1) else {
            continue;
        };
        let ways = [(value, less), (less, value)];
        for (lanes, (others, other)) in OTHER_LANES.iter().flat_map(|lanes| ways.map(|way| (*lanes, way))) {
            for site in loads {
                let mut one = all(threads * 4);
                for given in one.loads.iter_mut().filter(|given| given.site == *site) {
                    *given = load(site, others, (lanes, other));
                }
                differing.push(one);
            }
        }
    }
    // In turn, as the search ends where several in a row show nothing new.
    let (mut alike, mut differing) = (alike.into_iter(), differing.into_iter());
    let mut made = Vec::new();
    loop {
        let known = made.len();
        made.extend(alike.next());
        made.extend(differing.next());
        if made.len() == known {
            return made;
        }
    }
}

/// The values that an input is given: a number of elements that ends within the last warp, one of a few more than a block, one
/// element, and the constants of the code with their neighbours.
fn values(constants: &BTreeSet<i64>, threads: u64) -> Vec<u64> {
    let tail = threads.saturating_sub(if threads > 32 { 28 } else { 12 }).max(1);
    let mut values = vec![tail, threads + 4, 1];
    debug_assert_eq!(values.len(), USUAL_VALUES);
    for constant in constants {
        let around = [constant.checked_add(1), Some(*constant), constant.checked_sub(1)];
        let known = around.into_iter().flatten();
        values.extend(known.filter_map(|value| u64::try_from(value).ok()));
    }
    let mut seen = BTreeSet::new();
    values.retain(|value| *value < 1 << 31 && seen.insert(*value));
    values
}
