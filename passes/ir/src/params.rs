//! The layout of kernel parameters in their space.

use crate::{IsaVersion, Parameter, Target};

/// The parameter space of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Byte offset of each parameter.
    pub offsets: Vec<u64>,
    /// Bytes in all. No padding follows the last parameter.
    pub size: u64,
}

/// Lays parameters out as ptxas does: each at the next multiple of its alignment, in the order of declaration.
#[must_use]
pub fn layout(params: &[Parameter<'_>]) -> Layout {
    let mut size = 0_u64;
    let offsets = params
        .iter()
        .map(|param| {
            let offset = size
                .checked_next_multiple_of(u64::from(param.align.max(1)))
                .unwrap_or(u64::MAX);
            size = offset.saturating_add(param.size);
            offset
        })
        .collect();
    Layout { offsets, size }
}

/// Most bytes of parameters from PTX ISA 8.1 and sm_70 on (PTX ISA, Kernel Function Parameters).
pub const LIMIT: u64 = 32_764;

/// Most bytes before.
pub const OLD_LIMIT: u64 = 4_096;

/// Bytes of parameters that ptxas accepts where [`OLD_LIMIT`] holds.
pub const OLD_ASSEMBLER_LIMIT: u64 = 4_352;

/// The limit for a module; [`LIMIT`] where the module does not say what it is for.
#[must_use]
pub fn limit(isa: Option<IsaVersion>, target: Target<'_>) -> u64 {
    let old_isa = isa.is_some_and(|isa| isa < IsaVersion { major: 8, minor: 1 });
    let old_target = (1..70).contains(&target.sm);
    if old_isa || old_target { OLD_LIMIT } else { LIMIT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ptx_parser::Span;

    fn size(params: &[(u64, u32)]) -> u64 {
        let params: Vec<_> = params
            .iter()
            .map(|&(size, align)| Parameter {
                name: "",
                size,
                align,
                points_to: None,
                span: Span::default(),
            })
            .collect();
        layout(&params).size
    }

    /// The sizes that ptxas 13.5 accepts, to the byte.
    #[test]
    fn sizes_match_those_of_the_assembler() {
        assert_eq!(size(&[(1, 1), (32_748, 16)]), LIMIT);
        assert_eq!(size(&[(1, 1), (32_752, 16)]), 32_768);
        assert_eq!(size(&[(32_764, 1)]), LIMIT);
        assert_eq!(size(&[(32_752, 1), (8, 8)]), 32_760);
        assert_eq!(size(&vec![(8, 8); 4_095]), 32_760);
        let mut pairs = vec![(1, 1), (8, 8)];
        pairs = pairs.repeat(2_047);
        assert_eq!(size(&pairs), 32_752);
        assert_eq!(size(&[(8, 8), (0, 1), (8, 8)]), 16);
    }

    #[test]
    fn hostile_sizes_do_not_wrap() {
        assert_eq!(size(&[(u64::MAX, 1), (u64::MAX, 1 << 31)]), u64::MAX);
    }

    #[test]
    fn the_limit_depends_on_version_and_target() {
        let isa = |major, minor| Some(IsaVersion { major, minor });
        let target = |sm| Target {
            name: "",
            sm,
            is_debug: false,
        };
        assert_eq!(limit(isa(8, 1), target(70)), LIMIT);
        assert_eq!(limit(isa(8, 0), target(75)), OLD_LIMIT);
        assert_eq!(limit(isa(9, 2), target(61)), OLD_LIMIT);
        assert_eq!(limit(None, target(0)), LIMIT);
    }
}
