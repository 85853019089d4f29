//! The state spaces of LLVM's address spaces.

use super::raw::Type;
use ptxcheck_ir::Space;

/// NVPTX's address spaces (LLVM, User Guide for NVPTX, Address Spaces).
pub(super) const fn space(number: u32) -> Option<Space> {
    Some(match number {
        0 => Space::Generic,
        1 => Space::Global,
        3 => Space::Shared,
        4 => Space::Const,
        5 => Space::Local,
        6 => Space::Tensor,
        7 => Space::SharedCluster,
        101 => Space::Param,
        _ => return None,
    })
}

/// The space of a pointer's type; generic for a type that is not a pointer, and for a pointer into an unknown space.
pub(super) fn space_of(ty: Type<'_>) -> Space {
    ty.space().and_then(space).unwrap_or(Space::Generic)
}
