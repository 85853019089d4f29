//! Witness: the launch and the values with which something goes wrong.

use crate::analysis::lanes::{FixedLoad, FixedParam, Lanes, Object, Scenario, Site};
use crate::limits::MAX_WITNESS_STEPS;

pub use ptxcheck_machine::{Awaited, Doing, Wrong};
use ptxcheck_machine::{Schedule, Turns};

/// Most blocks that run.
const MAX_BLOCKS: usize = 2;

/// The launch and the values with which something goes wrong, and the lanes for which it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of the grid in x, y and z.
    pub grid: [u32; 3],
    /// The index of the block that goes wrong.
    pub block_index: [u32; 3],
    /// The warp that goes wrong, by its number in the block.
    pub warp: u32,
    /// The lanes of it that the finding is about.
    pub lanes: Lanes,
    /// The threads that the finding is about, by their numbers in the block, if they are of different warps: one that writes, and one that
    /// makes the other access.
    pub pair: Option<(u32, u32)>,
    /// The blocks of these threads, by their numbers in the grid, if blocks run one after the other.
    pub pair_blocks: Option<(u32, u32)>,
    /// The order in which threads run.
    pub order: RunOrder,
    /// The parameters that it depends on, in their order.
    pub params: Vec<FixedParam>,
    /// The loaded values that it depends on.
    pub loads: Vec<WitnessLoad>,
    /// All other memory that threads share, with which the run reaches the place: the failure there does not depend on it.
    pub memory: Memory,
    /// Objects whose elements are large numbers instead.
    pub large: Vec<Object>,
}

/// The order in which the threads of a run do what others see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// Those of one block, together.
    #[default]
    Together,
    /// The same, those first that are furthest in the code.
    FurthestFirst,
    /// Those of all blocks of the grid: block by block, and in each block together.
    Blocks,
    /// Those of all blocks of the grid, one after the other.
    InTurn,
    /// The same, the last one first.
    Backwards,
}

impl RunOrder {
    /// True if one block runs.
    pub(super) const fn is_of_one_block(self) -> bool {
        matches!(self, Self::Together | Self::FurthestFirst)
    }

    /// The schedule of a block.
    pub(super) const fn schedule(self) -> Schedule {
        match self {
            Self::Together | Self::Blocks => Schedule::First,
            Self::FurthestFirst => Schedule::Last,
            Self::InTurn => Schedule::InTurn(Turns::Forwards),
            Self::Backwards => Schedule::InTurn(Turns::Backwards),
        }
    }
}

/// The initial content of all memory that the witness does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Not known.
    #[default]
    Unknown,
    /// Zeros.
    Zero,
    /// Each element, of as many bytes as are loaded, is its own index: permutations, and offsets of rows with one element each.
    Ascending,
    /// The elements, of as many bytes as are loaded, are 1 to 8, and so on again: offsets of rows, counts and strides, that code
    /// computes with and divides by.
    Counting,
}

impl Memory {
    /// The content at an address, for a load of so many bytes.
    pub(super) fn load(self, address: u64, bytes: u8) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Zero => Some(0),
            // Variables begin with 0.
            Self::Ascending if address >= MAX_ARRAYS * OBJECT => Some(0),
            Self::Ascending => Some((address % OBJECT) / u64::from(bytes.max(1))),
            Self::Counting => Some((address % OBJECT) / u64::from(bytes.max(1)) % 8 + 1),
        }
    }
}

/// Arrays of a witness lie so far apart, in bytes.
pub(super) const OBJECT: u64 = 1 << 32;

/// Arrays of a witness are fewer than these.
pub(super) const MAX_ARRAYS: u64 = 0x6000;

/// Each byte of a large number: positive as an integer of any size, and as a floating-point number.
pub(super) const LARGE: u64 = 0x3f3f_3f3f_3f3f_3f3f;

/// The values that a load gives to the lanes of the warp that goes wrong, in the last block if several run; all other threads get `others`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessLoad {
    /// The load, with the calls that lead there.
    pub site: Site,
    /// The value of most lanes.
    pub others: u64,
    /// The lanes with another value, and that value.
    pub differing: (Lanes, u64),
}

impl WitnessLoad {
    /// The value of a lane of the warp that goes wrong.
    #[must_use]
    pub const fn of_lane(&self, lane: u32) -> u64 {
        let (lanes, value) = self.differing;
        if lanes >> (lane % 32) & 1 == 1 {
            value
        } else {
            self.others
        }
    }
}

impl Witness {
    /// Threads of the block.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().copied().map(u64::from).product()
    }

    /// The blocks that run, by their places in the grid, in order.
    pub(super) fn blocks(&self) -> Vec<[u32; 3]> {
        if self.order.is_of_one_block() {
            return vec![self.block_index];
        }
        let [x, y, z] = self.grid;
        let all = (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        let mut all: Vec<[u32; 3]> = all.take(MAX_BLOCKS).collect();
        if self.order == RunOrder::Backwards {
            all.reverse();
        }
        all
    }

    /// The number of the block that runs last, if several do.
    pub(super) fn last_block(&self) -> Option<u32> {
        (!self.order.is_of_one_block()).then(|| self.blocks().len().saturating_sub(1) as u32)
    }

    /// The block, by its number in the grid, in which lanes are given values of their own, if several blocks run.
    #[must_use]
    pub fn block_of_differing_lanes(&self) -> Option<u32> {
        self.last_block().map(|block| self.number_in_grid(block))
    }

    /// The number in the grid of the block that runs with this number.
    pub(super) fn number_in_grid(&self, number: u32) -> u32 {
        match self.order {
            RunOrder::Backwards => (self.blocks().len() as u32).saturating_sub(number + 1),
            RunOrder::Together | RunOrder::FurthestFirst | RunOrder::Blocks | RunOrder::InTurn => number,
        }
    }

    /// The scenario of the lane analysis that has these values, in all warps, or in the one that goes wrong where loaded values
    /// differ by lane.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let loads = self.loads.iter().map(|load| FixedLoad {
            site: load.site.clone(),
            values: std::array::from_fn(|lane| load.of_lane(lane as u32)),
        });
        let is_about_one = self.loads.iter().any(|load| load.differing.0 != 0);
        Scenario {
            block: Some(self.block),
            grid: Some(self.grid),
            block_index: Some(self.block_index),
            warp: is_about_one.then_some(self.warp),
            params: self.params.clone(),
            loads: loads.collect(),
        }
    }
}

/// A run of a witness, up to the place where it goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WitnessRun {
    /// The steps of the warp that goes wrong, or of the warps of two threads: the first ones and the last ones.
    pub steps: Vec<WitnessStep>,
    /// Number of steps that are left out in the middle.
    pub left_out: usize,
    /// Number of the first ones.
    pub first: usize,
}

/// The same act of lanes of a warp, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessStep {
    /// The place.
    pub site: Site,
    /// The act.
    pub doing: Doing,
    /// The warp, where steps of several warps are shown.
    pub warp: Option<u32>,
    /// Its block, by its number in the grid, where several run.
    pub block: Option<u32>,
    /// The lanes.
    pub lanes: Lanes,
    /// Number of times that they do it, one after the other.
    pub times: usize,
}

impl WitnessRun {
    /// Adds a step, or one more time to the last one.
    pub(super) fn add(
        &mut self,
        site: Site,
        doing: Doing,
        (block, warp): (Option<u32>, Option<u32>),
        lanes: Lanes,
    ) {
        let own = (doing, block, warp, lanes);
        match self.steps.last_mut() {
            Some(last) if last.site == site && (last.doing, last.block, last.warp, last.lanes) == own => {
                last.times += 1;
            }
            _ => self.steps.push(WitnessStep {
                site,
                doing,
                warp,
                block,
                lanes,
                times: 1,
            }),
        }
    }

    /// Leaves [`MAX_WITNESS_STEPS`] steps at most: a quarter of them from the beginning, and the last ones.
    pub(super) fn shorten(&mut self) {
        self.first = self.steps.len().min(MAX_WITNESS_STEPS / 4);
        let more = self.steps.len().saturating_sub(MAX_WITNESS_STEPS);
        self.steps.drain(self.first..self.first + more);
        self.left_out += more;
    }
}
