//! The kinds of addresses that are wrong for each use, limited to those that the options report.

use super::cell::{Cell, Kinds};
use crate::certainty::Certainty;
use crate::provenance::judge::{Effect, Use, ViolationKind, violation_of_use};
use crate::provenance::value::{Base, Element, ElementKind};
use crate::shared::Shared;
use ptxcheck_ir::{InstructionId, Space};

/// The violations that the options report.
pub(super) struct Reportable {
    /// For each use, by [`index_of`]: the kinds that are wrong for it.
    wrong: Vec<Kinds>,
    /// Accesses to null addresses, at least this certain; `None` for no such finding.
    pub(super) nulls: Option<Certainty>,
    /// Uses of addresses in a wrong space, outside their object, or undefined.
    pub(super) spaces: bool,
    /// Only definite findings about spaces are reported.
    pub(super) is_definite_only: bool,
}

/// Number of combinations of a use's space and effect.
const USES: usize = 8;

const fn index_of(used: Use) -> usize {
    let (kind, space) = match used {
        Use::Access(space, Effect::Reads) => (0, space),
        Use::Access(space, Effect::Writes) => (1, space),
        Use::Access(space, Effect::Updates) => (2, space),
        Use::ToGeneric(space) => (3, space),
        Use::FromGeneric(space) => (4, space),
        Use::Test(space) => (5, space),
        Use::Map(space) => (6, space),
        Use::Call => (7, Space::Generic),
    };
    kind * Space::ALL.len() + space as usize
}

impl Reportable {
    pub(super) fn new(module: &Shared<'_>) -> Self {
        let options = &module.options;
        let mut wrong = vec![Kinds::NONE; USES * Space::ALL.len()];
        if options.spaces.is_some() {
            // Unless a setting requests it, a double conversion of a global address is not reported.
            let is_shown = |with: Use, wrong: ViolationKind| {
                wrong != ViolationKind::Twice
                    || with.required_space() != Space::Global
                    || options.global_twice
            };
            for with in all_uses() {
                let mut kinds = Kinds::NONE;
                for (kind, is_generic, space) in Kinds::address_kinds() {
                    let element_kind = if is_generic {
                        ElementKind::Generic
                    } else {
                        ElementKind::Raw
                    };
                    let element =
                        Element::of_address(element_kind, space, Base::Unknown, InstructionId::new(0));
                    if violation_of_use(with, &element).is_some_and(|wrong| is_shown(with, wrong)) {
                        kinds = kinds.union(kind);
                    }
                }
                if matches!(with, Use::Access(..)) {
                    kinds = kinds.union(Kinds::UNDEFINED);
                }
                wrong[index_of(with)] = kinds;
            }
        }
        Self {
            wrong,
            nulls: options.nulls,
            spaces: options.spaces.is_some(),
            is_definite_only: options.spaces != Some(Certainty::Potential),
        }
    }

    /// True if a value may be of one of the `wrong` kinds; if only definite findings are reported, and of no other kind.
    pub(super) fn is_wrong(&self, cell: Cell, wrong: Kinds) -> bool {
        cell.kinds.intersects(wrong) && (cell.kinds.intersects(Kinds::ALONE) || !self.is_definite_only)
    }

    pub(super) fn wrong_kinds(&self, used: Use) -> Kinds {
        self.wrong[index_of(used)]
    }

    /// True if a value with these kinds may be null and that is reported. In a register with a definition that gives no
    /// constant, it is not certain.
    pub(super) fn may_be_reported_null(&self, kinds: Kinds) -> bool {
        match self.nulls {
            None => false,
            Some(Certainty::Potential) => kinds.intersects(Kinds::CONSTANT.union(Kinds::INDEX)),
            Some(Certainty::Definite | Certainty::Conditional) => {
                kinds.intersects(Kinds::CONSTANT) && !kinds.intersects(Kinds::MIXED)
            }
        }
    }
}

fn all_uses() -> impl Iterator<Item = Use> {
    Space::ALL.into_iter().flat_map(|space| {
        [
            Use::Access(space, Effect::Reads),
            Use::Access(space, Effect::Writes),
            Use::Access(space, Effect::Updates),
            Use::ToGeneric(space),
            Use::FromGeneric(space),
            Use::Test(space),
            Use::Map(space),
        ]
    })
}
