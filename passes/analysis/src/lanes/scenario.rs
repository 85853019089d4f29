//! Scenario: the values of a launch and of its input that are fixed while a kernel is analysed.
//!
//! Values that the scenario does not fix are analysed as usual. A finding that is definite under a scenario holds in each
//! run that has its values.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::graph::Graph;
use super::launch::Launch;
use super::value::WARP;
use crate::launches::Shape;
use ptxcheck_ir::Site;
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{InstructionId, LaunchBounds, Special};

/// Values that are fixed. The default fixes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// Threads of a block in x, y and z (`%ntid`).
    pub block: Option<Shape>,
    /// Blocks of the grid in x, y and z (`%nctaid`).
    pub grid: Option<[u32; 3]>,
    /// The index of the block in the grid (`%ctaid`).
    pub block_index: Option<[u32; 3]>,
    /// The analysed warp, by its index in the block; all of them if `None`.
    pub warp: Option<u32>,
    /// Pieces of the kernel's parameters.
    pub params: Vec<FixedParam>,
    /// Values that loads give, in each execution.
    pub loads: Vec<FixedLoad>,
}

/// A piece of a parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FixedParam {
    /// The parameter, from 0.
    pub number: u16,
    /// Bytes before the piece in the parameter.
    pub offset: u32,
    /// Bytes of the piece, 1 to 8.
    pub bytes: u8,
    /// The bytes, little-endian: the first is the lowest.
    pub value: u64,
}

/// The values that a load of one register gives to the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedLoad {
    /// The load, with the calls that lead there.
    pub site: Site,
    /// The value of each lane, extended to the width of the register.
    pub values: [u64; WARP],
}

impl Scenario {
    /// The content of a piece of a parameter: `bytes` bytes, 1 to 8, from `offset` on; `None` if some of it is not fixed.
    #[must_use]
    pub fn param_content(&self, number: u16, offset: u32, bytes: u8) -> Option<u64> {
        let byte = |at: u32| {
            let piece = self.params.iter().find(|piece| {
                let end = piece.offset.checked_add(u32::from(piece.bytes.min(8)));
                piece.number == number && piece.offset <= at && end.is_some_and(|end| at < end)
            })?;
            Some(piece.value >> (8 * (at - piece.offset)) & 0xff)
        };
        (0..u32::from(bytes.min(8))).try_fold(0, |value, number| {
            Some(value | byte(offset.checked_add(number)?)? << (8 * number))
        })
    }

    /// The launch of a kernel with these bounds; `None` if the kernel excludes the block (`.reqntid`, `.maxntid`), or if
    /// there is no such warp. `assumed`: the launch without the fixed block.
    pub(super) fn launch_of_kernel(&self, bounds: &LaunchBounds, assumed: Launch) -> Option<Launch> {
        let launch = match self.block {
            None => assumed,
            Some(block) => Launch::new(bounds, Some(block), assumed.is_multidimensional),
        };
        let is_held = self.block.is_none_or(|block| launch.shape == Some(block));
        let has_warp = self.warp.is_none_or(|warp| warp < launch.warp_count());
        (is_held && has_warp).then_some(launch)
    }
}

/// A scenario, with its loads found in the graph of a kernel.
#[derive(Default)]
pub(super) struct Fixed<'s> {
    scenario: Cow<'s, Scenario>,
    /// By the index of the context and the load.
    loads: FxHashMap<(u32, InstructionId), [u64; WARP]>,
}

impl<'s> Fixed<'s> {
    /// The values of a scenario in a graph. Loads that are not in the graph are left out.
    pub(super) fn new(graph: &Graph<'_>, scenario: &'s Scenario) -> Self {
        let mut loads = FxHashMap::default();
        if !scenario.loads.is_empty() {
            for (number, context) in (0..).zip(&graph.contexts) {
                let callers = graph.calls_leading_to(number);
                let here = scenario
                    .loads
                    .iter()
                    .filter(|load| load.site.function == context.function && load.site.callers == callers);
                loads.extend(here.map(|load| ((number, load.site.instruction), load.values)));
            }
        }
        Self {
            scenario: Cow::Borrowed(scenario),
            loads,
        }
    }

    /// The value of a special register that the shape of a block does not decide.
    pub(super) fn special_register(&self, special: Special) -> Option<u64> {
        let (sides, dimension) = match special {
            Special::Ctaid(dimension) => (self.scenario.block_index?, dimension),
            Special::Nctaid(dimension) => (self.scenario.grid?, dimension),
            _ => return None,
        };
        sides.get(usize::from(dimension)).copied().map(u64::from)
    }

    /// The content of a piece of a kernel's parameter.
    pub(super) fn param_content(&self, number: u16, offset: u64, bits: u8) -> Option<u64> {
        if self.scenario.params.is_empty() {
            return None;
        }
        let bytes = Some(bits.div_ceil(8)).filter(|bytes| (1..=8).contains(bytes))?;
        let value = self
            .scenario
            .param_content(number, u32::try_from(offset).ok()?, bytes)?;
        Some(value & ones(bits))
    }

    /// The values that a load gives to the lanes.
    pub(super) fn loaded_values(&self, context: u32, load: InstructionId) -> Option<[u64; WARP]> {
        if self.loads.is_empty() {
            return None;
        }
        self.loads.get(&(context, load)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{FixedParam, Scenario};

    #[test]
    fn param_content_is_assembled_from_pieces() {
        let piece = |offset, bytes, value| FixedParam {
            number: 1,
            offset,
            bytes,
            value,
        };
        let scenario = Scenario {
            params: vec![piece(0, 4, 0x1122_3344), piece(4, 2, 0x5566)],
            ..Scenario::default()
        };
        assert_eq!(scenario.param_content(1, 0, 4), Some(0x1122_3344));
        assert_eq!(scenario.param_content(1, 1, 2), Some(0x2233));
        assert_eq!(scenario.param_content(1, 0, 6), Some(0x5566_1122_3344));
        assert_eq!(scenario.param_content(1, 0, 8), None);
        assert_eq!(scenario.param_content(0, 0, 4), None);
        assert_eq!(scenario.param_content(1, u32::MAX, 8), None);
    }
}
