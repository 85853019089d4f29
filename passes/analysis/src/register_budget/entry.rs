//! The registers that threads own when a kernel starts.
//!
//! ```text
//! bound     the least of `.maxnreg` and 512 / ⌈warps · min / 4⌉, rounded down to a multiple of 8, for a CTA of so many warps and `min` CTAs
//!           (`.minnctapersm`) in a multiprocessor; 255 at most
//! entry     bound, if some `setmaxnreg` names more; else the greatest number that one names, or bound
//! ```
//!
//! Measured with ptxas 13.5 for sm_90a to sm_121a. Without a bound, ptxas leaves `setmaxnreg` out (C7508).

use ptxcheck_ir::{LaunchBounds, WARP};

/// Registers of a multiprocessor for each lane of a warp, in each of its four parts (CUDA C++ Programming Guide, Compute Capabilities: 65,536).
const REGISTERS_PER_LANE: u32 = 512;

/// Parts of a multiprocessor with registers of their own. A warpgroup has a warp in each.
const PARTS: u32 = 4;

/// Registers are allocated in multiples of this for each thread.
const UNIT: u32 = 8;

/// Most registers that a thread can have.
pub(super) const MAX_REGISTERS: u32 = 255;

/// Fewest registers that a thread has where ptxas bounds them.
const LEAST_REGISTERS: u32 = 24;

/// The bounds from which ptxas knows how many registers threads own when a kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryBound {
    /// At most so many.
    Known {
        /// Registers of a thread.
        registers: u32,
        /// `.maxnreg` says it, not the number of CTAs in a multiprocessor.
        is_of_kernel: bool,
    },
    /// `.maxnreg` is absent, and `.minnctapersm` or the size of the block.
    Absent,
    /// `.minnctapersm` asks for more threads than a multiprocessor of the target has: ptxas ignores it.
    OutOfRange,
}

/// The bounds of a kernel, for a target with this number.
pub(super) fn entry_bound(launch: &LaunchBounds, sm: u32) -> EntryBound {
    let of_kernel = launch
        .max_registers
        .filter(|registers| *registers > 0)
        .map(|registers| registers.clamp(LEAST_REGISTERS, MAX_REGISTERS));
    let threads = launch.required_threads.or(launch.max_threads);
    let threads = threads.and_then(|sides| sides.iter().try_fold(1_u32, |all, side| all.checked_mul(*side)));
    let by_ctas = match (threads, launch.min_ctas.filter(|ctas| *ctas > 0)) {
        (Some(threads @ 1..), Some(ctas)) => {
            if u64::from(threads) * u64::from(ctas) > u64::from(threads_of_multiprocessor(sm)) {
                None
            } else {
                let warps = threads.div_ceil(WARP) * ctas;
                let registers = REGISTERS_PER_LANE / warps.div_ceil(PARTS);
                Some((registers / UNIT * UNIT).min(MAX_REGISTERS))
            }
        }
        _ => None,
    };
    match (of_kernel, by_ctas) {
        (Some(own), by_ctas) => EntryBound::Known {
            registers: by_ctas.map_or(own, |other| own.min(other)),
            is_of_kernel: by_ctas.is_none_or(|other| own < other),
        },
        (None, Some(registers)) => EntryBound::Known {
            registers,
            is_of_kernel: false,
        },
        (None, None) if threads.is_some() && launch.min_ctas.is_some() => EntryBound::OutOfRange,
        (None, None) => EntryBound::Absent,
    }
}

/// The registers that are allocated for a thread that owns so many.
pub(super) const fn allocated(registers: u32) -> u32 {
    registers.next_multiple_of(UNIT)
}

/// Most threads of a multiprocessor (CUDA C++ Programming Guide, Compute Capabilities).
const fn threads_of_multiprocessor(sm: u32) -> u32 {
    match sm {
        110.. => 1_536,
        _ => 2_048,
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryBound, entry_bound};
    use ptxcheck_ir::LaunchBounds;

    /// "Used … registers" of ptxas 13.5, for a kernel that lowers to 96 and raises to 232.
    #[test]
    fn bounds_are_those_of_ptxas() {
        for (threads, ctas, max, expected) in [
            (384, Some(1), None, 168),
            (384, Some(2), None, 80),
            (384, Some(5), None, 32),
            (320, Some(1), None, 168),
            (320, Some(2), None, 96),
            (160, Some(2), None, 168),
            (640, Some(1), None, 96),
            (896, Some(1), None, 72),
            (768, Some(2), None, 40),
            (256, Some(2), None, 128),
            (1_024, Some(2), None, 32),
            (384, None, Some(100), 100),
            (384, Some(1), Some(128), 128),
            (512, Some(1), Some(200), 128),
            (1_024, Some(1), Some(128), 64),
            (384, None, Some(20), 24),
        ] {
            let launch = LaunchBounds {
                max_threads: Some([threads, 1, 1]),
                min_ctas: ctas,
                max_registers: max,
                ..LaunchBounds::default()
            };
            let EntryBound::Known { registers, .. } = entry_bound(&launch, 90) else {
                panic!("{threads} {ctas:?} {max:?}");
            };
            assert_eq!(registers, expected, "{threads} {ctas:?} {max:?}");
        }
        // The bound does not limit anything: ptxas takes what some `setmaxnreg` names.
        for (threads, ctas) in [(128, 1), (128, 2), (256, 1), (192, 1), (64, 4)] {
            let launch = LaunchBounds {
                required_threads: Some([threads, 1, 1]),
                min_ctas: Some(ctas),
                ..LaunchBounds::default()
            };
            let bound = EntryBound::Known {
                registers: 255,
                is_of_kernel: false,
            };
            assert_eq!(entry_bound(&launch, 90), bound, "{threads} {ctas}");
        }
    }

    #[test]
    fn bounds_are_absent_or_ignored() {
        let of = |threads: Option<u32>, min_ctas, sm| {
            let launch = LaunchBounds {
                max_threads: threads.map(|threads| [threads, 1, 1]),
                min_ctas,
                ..LaunchBounds::default()
            };
            entry_bound(&launch, sm)
        };
        assert_eq!(of(None, None, 90), EntryBound::Absent);
        assert_eq!(of(Some(384), None, 90), EntryBound::Absent);
        assert_eq!(of(None, Some(1), 90), EntryBound::Absent);
        assert_eq!(of(Some(512), Some(5), 90), EntryBound::OutOfRange);
        assert_eq!(of(Some(512), Some(4), 120), EntryBound::OutOfRange);
        assert_ne!(of(Some(512), Some(4), 103), EntryBound::OutOfRange);
    }
}
