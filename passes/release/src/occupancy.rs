//! Blocks and warps that fit a multiprocessor, by the registers and the shared memory of a kernel.
//!
//! CUDA Programming Guide, Compute Capabilities; the rules are those of the toolkit's occupancy calculation
//! (`cuda_occupancy.h` of CUDA 13.5), with which the results agree.

use crate::ir::WARP;

/// Most threads of a block.
const MAX_BLOCK: u32 = 1024;

/// Registers are handed out to warps, so many at a time.
const REGISTER_UNIT: u64 = 256;

/// Most registers of a thread.
const MAX_REGISTERS: u32 = 255;

/// Registers of a multiprocessor.
const REGISTERS: u64 = 65_536;

/// Parts of a multiprocessor with registers of their own, on all but 6.0.
const PARTITIONS: u32 = 4;

/// Bytes of shared memory that the driver keeps of each block, from compute capability 8.0 on.
const RESERVED_SHARED: u64 = 1024;

/// Limits of a multiprocessor.
struct Limits {
    /// Compute capability, 75 of 7.5.
    gpu: u32,
    warps: u32,
    blocks: u32,
    /// KiB of shared memory, and most of it for a block.
    shared: (u32, u32),
    /// Most registers of a block.
    block_registers: u64,
    /// Parts with registers of their own.
    partitions: u32,
}

const fn limits(gpu: u32, warps: u32, blocks: u32, shared: (u32, u32)) -> Limits {
    Limits {
        gpu,
        warps,
        blocks,
        shared,
        block_registers: if matches!(gpu, 53 | 62) {
            REGISTERS / 2
        } else {
            REGISTERS
        },
        partitions: if gpu == 60 { PARTITIONS / 2 } else { PARTITIONS },
    }
}

const LIMITS: [Limits; 22] = [
    limits(50, 64, 32, (64, 48)),
    limits(52, 64, 32, (96, 48)),
    limits(53, 64, 32, (64, 48)),
    limits(60, 64, 32, (64, 48)),
    limits(61, 64, 32, (96, 48)),
    limits(62, 64, 32, (64, 48)),
    limits(70, 64, 32, (96, 96)),
    limits(72, 64, 32, (96, 96)),
    limits(75, 32, 16, (64, 64)),
    limits(80, 64, 32, (164, 163)),
    limits(86, 48, 16, (100, 99)),
    limits(87, 48, 16, (164, 163)),
    limits(88, 48, 16, (100, 99)),
    limits(89, 48, 24, (100, 99)),
    limits(90, 64, 32, (228, 227)),
    limits(100, 64, 32, (228, 227)),
    limits(101, 48, 24, (228, 227)),
    limits(103, 64, 32, (228, 227)),
    limits(107, 32, 16, (328, 327)),
    limits(110, 48, 24, (228, 227)),
    limits(120, 48, 24, (100, 99)),
    limits(121, 48, 24, (100, 99)),
];

impl Limits {
    fn of(gpu: u32) -> Option<&'static Self> {
        LIMITS.iter().find(|limits| limits.gpu == gpu)
    }

    /// True if a block of so many warps can be launched. The hardware counts registers as if each of four parts got as many warps,
    /// on 6.0 too, which has two.
    fn takes(&self, registers: u32, warps: u32) -> bool {
        let each_part = u64::from(warps.next_multiple_of(PARTITIONS));
        registers <= MAX_REGISTERS
            && warps <= self.warps.min(MAX_BLOCK / WARP)
            && (registers == 0 || warps <= warps_by_registers(registers, PARTITIONS))
            && each_part * warp_registers(registers) <= self.block_registers
    }

    /// Blocks that have room for their shared memory; `None` for as many as there are.
    fn blocks_by_shared(&self, shared: u32) -> Option<u32> {
        let (unit, reserved) = if self.gpu < 80 {
            (256, 0)
        } else {
            (128, RESERVED_SHARED)
        };
        if u64::from(shared) > u64::from(self.shared.1) * 1024 {
            return Some(0);
        }
        let each = (u64::from(shared) + reserved).next_multiple_of(unit);
        let blocks = (u64::from(self.shared.0) * 1024).checked_div(each)?;
        Some(u32::try_from(blocks).unwrap_or(u32::MAX))
    }
}

/// Registers that a warp takes.
fn warp_registers(registers: u32) -> u64 {
    (u64::from(registers) * u64::from(WARP)).next_multiple_of(REGISTER_UNIT)
}

/// Warps that have room for their registers, in so many parts: those of a warp lie in one.
fn warps_by_registers(registers: u32, partitions: u32) -> u32 {
    let part = REGISTERS / u64::from(partitions);
    let warps = part / warp_registers(registers).max(1);
    u32::try_from(warps)
        .unwrap_or(u32::MAX)
        .saturating_mul(partitions)
}

/// The most threads of a block, a multiple of 32, with which a kernel with so many registers a thread can be launched on a GPU (75
/// for compute capability 7.5). `None` for GPUs that are not known; 0 where no block fits.
///
/// ```
/// use ptxcheck_release::occupancy::largest_block;
///
/// assert_eq!(largest_block(90, 64), Some(1024));
/// assert_eq!(largest_block(90, 168), Some(384));
/// ```
#[must_use]
pub fn largest_block(gpu: u32, registers: u32) -> Option<u32> {
    let limits = Limits::of(gpu)?;
    let fitting = (1..=MAX_BLOCK / WARP)
        .rev()
        .find(|warps| limits.takes(registers, *warps));
    Some(fitting.unwrap_or(0) * WARP)
}

/// The most warps of a kernel that are resident on a multiprocessor of a GPU (75 for compute capability 7.5) at a time, with so
/// many registers a thread, bytes of shared memory a block (static and dynamic, without what the driver keeps) and threads a
/// block. `None` for GPUs that are not known; 0 where a block cannot be launched.
///
/// ```
/// use ptxcheck_release::occupancy::resident_warps;
///
/// assert_eq!(resident_warps(80, 32, 0, 256), Some(64));
/// assert_eq!(resident_warps(80, 128, 0, 256), Some(16));
/// assert_eq!(resident_warps(120, 255, 0, 512), Some(0));
/// ```
#[must_use]
pub fn resident_warps(gpu: u32, registers: u32, shared: u32, threads: u32) -> Option<u32> {
    let limits = Limits::of(gpu)?;
    let warps = threads.div_ceil(WARP);
    if threads == 0 || threads > MAX_BLOCK || !limits.takes(registers, warps) {
        return Some(0);
    }
    let by_registers = if registers == 0 {
        u32::MAX
    } else {
        warps_by_registers(registers, limits.partitions) / warps
    };
    let blocks = (limits.warps / warps)
        .min(limits.blocks)
        .min(by_registers)
        .min(limits.blocks_by_shared(shared).unwrap_or(u32::MAX));
    Some(blocks * warps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the toolkit's occupancy calculation has it: the registers of a thread, then the largest block on 6.2, and on the others.
    #[test]
    fn registers_limit_blocks() {
        for (registers, on_62, others) in [
            (1, 1024, 1024),
            (32, 1024, 1024),
            (33, 768, 1024),
            (64, 512, 1024),
            (65, 384, 896),
            (72, 384, 896),
            (80, 384, 768),
            (88, 256, 640),
            (128, 256, 512),
            (168, 128, 384),
            (255, 128, 256),
        ] {
            assert_eq!(largest_block(62, registers), Some(on_62), "{registers}");
            for gpu in [50, 60, 61, 75, 80, 86, 90, 107, 120] {
                assert_eq!(largest_block(gpu, registers), Some(others), "{gpu} {registers}");
            }
        }
        assert_eq!(largest_block(90, 256), Some(0));
        assert_eq!(largest_block(90, u32::MAX), Some(0));
        assert_eq!(largest_block(91, 32), None);
    }

    #[test]
    fn blocks_share_a_multiprocessor() {
        for (gpu, registers, shared, threads, warps) in [
            (75, 32, 0, 1024, 32),
            (75, 32, 0, 32, 16),
            (75, 128, 0, 256, 16),
            (75, 16, 65_536, 64, 2),
            (80, 32, 0, 1024, 64),
            (80, 32, 0, 32, 32),
            (80, 40, 0, 96, 48),
            (80, 16, 48 * 1024, 128, 12),
            (80, 16, 163 * 1024, 128, 4),
            (80, 16, 163 * 1024 + 1, 128, 0),
            (86, 64, 0, 1024, 32),
            (90, 255, 0, 256, 8),
            (90, 255, 0, 288, 0),
            (90, 16, 227 * 1024, 33, 2),
            (120, 16, 0, 32, 24),
            (120, 0, 0, 1024, 32),
            (61, 16, 48 * 1024, 64, 4),
            (60, 255, 0, 256, 8),
            (60, 88, 0, 64, 22),
            (61, 88, 0, 64, 20),
            (90, 32, u32::MAX, 32, 0),
            (90, 32, 0, 0, 0),
            (90, 32, 0, 1025, 0),
            (90, u32::MAX, 0, 32, 0),
        ] {
            let case = format!("{gpu} {registers} {shared} {threads}");
            assert_eq!(
                resident_warps(gpu, registers, shared, threads),
                Some(warps),
                "{case}"
            );
        }
        assert_eq!(resident_warps(10, 32, 0, 32), None);
    }
}
