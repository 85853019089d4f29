//! Use × address → violation: the uses that are wrong for an address.
//!
//! Global memory's window begins at 0 and covers the whole range: there a raw address and a generic one are the same
//! number. `.shared` means `.shared::cta`, whose window lies in that of `.shared::cluster` (PTX ISA, State Spaces,
//! and Generic Addressing).

use super::value::{Base, Element, ElementKind, Trust};
use ptxcheck_ir::{Access, AccessKind, Op, Space, Value};

/// The effect of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Reads, or nothing that matters here.
    Reads,
    /// Stores.
    Writes,
    /// Atomics and reductions: on global and shared memory only (PTX ISA, atom).
    Updates,
}

impl Effect {
    pub(super) const fn of_kind(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Store => Self::Writes,
            AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite => Self::Updates,
            AccessKind::Load | AccessKind::Other => Self::Reads,
        }
    }
}

/// A use of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Use {
    /// A memory access in this space.
    Access(Space, Effect),
    /// `cvta.X`.
    ToGeneric(Space),
    /// `cvta.to.X`.
    FromGeneric(Space),
    /// `isspacep.X`.
    Test(Space),
    /// `mapa`, of a generic address or of one in the window of shared memory.
    Map(Space),
    /// A call to the function at the address.
    Call,
}

impl Use {
    /// True if the use only computes another address from the address.
    pub(super) const fn is_cast(self) -> bool {
        matches!(self, Self::ToGeneric(_) | Self::FromGeneric(_))
    }

    /// The space that the use requires.
    #[must_use]
    pub const fn required_space(self) -> Space {
        match self {
            Self::Access(space, _)
            | Self::ToGeneric(space)
            | Self::FromGeneric(space)
            | Self::Test(space)
            | Self::Map(space) => space,
            Self::Call => Space::Generic,
        }
    }
}

/// The kinds of violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// PTX201: the address points into another space.
    Access,
    /// PTX202: the pointer is cast to a space it does not point into.
    Cast,
    /// PTX203: the address was never converted to generic.
    RawAsGeneric,
    /// PTX204: a generic address where one inside the window is required.
    GenericAsRaw,
    /// PTX205: converted twice.
    Twice,
    /// PTX206: the address of a local object is stored where other threads see it.
    Escape,
    /// PTX207: constant memory is written.
    ConstantStore,
    /// PTX208: an address in another CTA's shared memory is used as one of this CTA's own.
    ClusterAsCta,
    /// PTX209: the space of an address that is not generic is tested.
    TestOfRaw,
    /// PTX209: the test that guards it says that it points elsewhere.
    AgainstTest,
    /// PTX210: nothing writes the register that the address comes from.
    Undefined,
    /// PTX211: past the end, or before the start.
    OutOfBounds,
    /// PTX211: not a multiple of the access's size.
    Misaligned,
    /// PTX106: address 0, or a little more.
    Null,
    /// PTX106: an index without a base address.
    Baseless,
}

/// True if an address in `space` is allowed where one in `wanted` is required.
#[must_use]
pub(super) fn allows_space(wanted: Space, space: Space) -> bool {
    wanted == space || wanted == Space::SharedCluster && space == Space::Shared
}

/// True if a conversion between `wanted` and generic is right for `space`. The window of `.shared` lies in that of
/// `.shared::cluster`, and `cvta` counts from the start of both: libcu++ converts the result of `mapa` only in this way
/// (`cuda::ptx`, distributed shared memory).
fn is_conversion_allowed(wanted: Space, space: Space) -> bool {
    allows_space(wanted, space) || wanted == Space::Shared && space == Space::SharedCluster
}

/// The violation of using `element` in this way, if it is one.
#[must_use]
pub(super) fn violation_of_use(used: Use, element: &Element) -> Option<ViolationKind> {
    let space = element.space;
    let wrong = match element.kind {
        ElementKind::Formal | ElementKind::Number | ElementKind::Composed => return None,
        ElementKind::Undefined => return matches!(used, Use::Access(..)).then_some(ViolationKind::Undefined),
        ElementKind::Raw => violation_of_raw_address(used, space)?,
        ElementKind::Generic => violation_of_generic_address(used, space)?,
    };
    let is_against_test = is_in_other_space(wrong, used, element) && matches!(element.base, Base::Test(_));
    Some(if is_against_test {
        ViolationKind::AgainstTest
    } else {
        wrong
    })
}

/// True if the violation is that the address points into another space, not that it is raw or generic.
#[must_use]
pub(super) fn is_in_other_space(wrong: ViolationKind, used: Use, element: &Element) -> bool {
    match wrong {
        ViolationKind::Access | ViolationKind::Cast => true,
        ViolationKind::GenericAsRaw => !allows_space(used.required_space(), element.space),
        _ => false,
    }
}

fn violation_of_raw_address(used: Use, space: Space) -> Option<ViolationKind> {
    let is_read_only = matches!(space, Space::Const | Space::Param);
    match used {
        Use::Access(Space::Generic, _) => (space != Space::Global).then_some(ViolationKind::RawAsGeneric),
        Use::Access(wanted, effect) if allows_space(wanted, space) => {
            (effect != Effect::Reads && is_read_only).then_some(ViolationKind::ConstantStore)
        }
        Use::Access(Space::Shared, _) if space == Space::SharedCluster => Some(ViolationKind::ClusterAsCta),
        Use::Access(..) => Some(ViolationKind::Access),
        Use::ToGeneric(wanted) => (!is_conversion_allowed(wanted, space)).then_some(ViolationKind::Cast),
        Use::FromGeneric(wanted) if is_conversion_allowed(wanted, space) => Some(ViolationKind::Twice),
        Use::FromGeneric(_) if space == Space::Global => Some(ViolationKind::Cast),
        Use::FromGeneric(_) => Some(ViolationKind::RawAsGeneric),
        Use::Test(_) => (space != Space::Global).then_some(ViolationKind::TestOfRaw),
        Use::Map(Space::Generic) if space != Space::Global => Some(ViolationKind::RawAsGeneric),
        Use::Map(Space::Generic) => Some(ViolationKind::Access),
        Use::Map(_) => (!allows_space(Space::SharedCluster, space)).then_some(ViolationKind::Access),
        Use::Call => None,
    }
}

fn violation_of_generic_address(used: Use, space: Space) -> Option<ViolationKind> {
    let is_read_only = matches!(space, Space::Const | Space::Param);
    match used {
        Use::Access(Space::Generic | Space::Global, effect) if effect != Effect::Reads && is_read_only => {
            Some(ViolationKind::ConstantStore)
        }
        Use::Access(Space::Generic, Effect::Updates) if space == Space::Local => Some(ViolationKind::Access),
        Use::Access(Space::Generic, _) | Use::Test(_) => None,
        Use::Access(Space::Global, _) => (space != Space::Global).then_some(ViolationKind::Access),
        Use::Access(..) => Some(ViolationKind::GenericAsRaw),
        Use::ToGeneric(_) => Some(ViolationKind::Twice),
        Use::FromGeneric(wanted) if is_conversion_allowed(wanted, space) => None,
        Use::FromGeneric(_) => Some(ViolationKind::Cast),
        Use::Map(Space::Generic) => {
            (!allows_space(Space::SharedCluster, space)).then_some(ViolationKind::Access)
        }
        Use::Map(_) => Some(ViolationKind::GenericAsRaw),
        Use::Call => None,
    }
}

/// True if a wrong use of `element` is wrong on every execution.
///
/// Only the host knows the space of a kernel's parameter; but no host can pass a pointer to shared or local memory. An
/// address that a test has found in the shared memory of the cluster may be in that of the CTA.
#[must_use]
pub(super) fn is_certain(used: Use, wrong: ViolationKind, element: &Element) -> bool {
    match element.trust {
        Trust::Certain => wrong != ViolationKind::ClusterAsCta || !matches!(element.base, Base::Test(_)),
        Trust::Assumed => {
            matches!(wrong, ViolationKind::Cast | ViolationKind::AgainstTest)
                && matches!(
                    used,
                    Use::FromGeneric(Space::Shared | Space::SharedCluster | Space::Local)
                )
        }
        Trust::Weak => false,
    }
}

/// The use of an address that an instruction makes.
pub(super) fn use_of(op: Op) -> Option<Use> {
    Some(match op {
        Op::Access(Access {
            space: Space::Tensor, ..
        }) => return None,
        Op::Access(access) => Use::Access(access.space, Effect::of_kind(access.kind)),
        Op::ToGeneric(space, _) => Use::ToGeneric(space),
        Op::FromGeneric(space, _) => Use::FromGeneric(space),
        Op::IsSpace(space) => Use::Test(space),
        Op::MapShared(space) => Use::Map(space),
        _ => return None,
    })
}

/// Bytes past its base that an instruction accesses, if it faults at address 0. A prefetch does not, and a copy of no
/// bytes reads nothing.
pub(super) fn faulting_offset(op: Op, uses: &[Value]) -> Option<i64> {
    match (op, uses) {
        (Op::Access(access), &[_, Value::Integer(by), ..]) if faults_at_null(&access) => Some(by),
        _ => None,
    }
}

pub(super) fn faults_at_null(access: &Access) -> bool {
    matches!(access.space, Space::Generic | Space::Global) && access.kind != AccessKind::Other
}
