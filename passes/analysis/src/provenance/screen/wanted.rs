//! What is wrong for each use of an address, as far as it is reported.

use super::cell::{Cell, Kinds};
use crate::certainty::Certainty;
use crate::provenance::judge::{Effect, Use, Wrong, judge};
use crate::provenance::value::{Base, Element, Form};
use crate::shared::Shared;
use ptxcheck_ir::{InstructionId, Space};

/// What of the findings about addresses can be reported.
pub(super) struct Wanted {
    /// By place of a use: the kinds that are wrong for it.
    wrong: Vec<Kinds>,
    /// Null addresses are, and those that may be, too.
    pub(super) nulls: Option<Certainty>,
    /// Anything else is.
    pub(super) spaces: bool,
    /// And of that, only what is certain.
    pub(super) is_certain: bool,
}

/// Uses with a space and what they do there.
const USES: usize = 8;

const fn place(used: Use) -> usize {
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

impl Wanted {
    pub(super) fn of(module: &Shared<'_>) -> Self {
        let asked = &module.asked;
        let mut wrong = vec![Kinds::NONE; USES * Space::ALL.len()];
        if asked.spaces.is_some() {
            // Unless a setting asks for it, what is done twice to a global address is not reported.
            let is_shown = |with: Use, wrong: Wrong| {
                wrong != Wrong::Twice || with.space() != Space::Global || asked.global_twice
            };
            for with in uses() {
                let mut kinds = Kinds::NONE;
                for (kind, is_generic, space) in Kinds::addresses() {
                    let form = if is_generic { Form::Generic } else { Form::Raw };
                    let element = Element::address(form, space, Base::Unknown, InstructionId::new(0));
                    if judge(with, &element).is_some_and(|wrong| is_shown(with, wrong)) {
                        kinds = kinds.with(kind);
                    }
                }
                if matches!(with, Use::Access(..)) {
                    kinds = kinds.with(Kinds::UNDEFINED);
                }
                wrong[place(with)] = kinds;
            }
        }
        Self {
            wrong,
            nulls: asked.nulls,
            spaces: asked.spaces.is_some(),
            is_certain: asked.spaces != Some(Certainty::Potential),
        }
    }

    /// Whether a value may be of one of the kinds that are wrong for a use, and of those alone if that has to be certain.
    pub(super) fn is_wrong(&self, cell: Cell, wrong: Kinds) -> bool {
        cell.kinds.has(wrong) && (cell.kinds.has(Kinds::ALONE) || !self.is_certain)
    }

    pub(super) fn wrong(&self, used: Use) -> Kinds {
        self.wrong[place(used)]
    }

    /// Whether a value with these kinds may be null where that is reported. In a register that something else is moved
    /// into, too, it is not certain.
    pub(super) fn is_null(&self, kinds: Kinds) -> bool {
        match self.nulls {
            None => false,
            Some(Certainty::Potential) => kinds.has(Kinds::CONSTANT.with(Kinds::INDEX)),
            Some(Certainty::Definite) => kinds.has(Kinds::CONSTANT) && !kinds.has(Kinds::MIXED),
        }
    }
}

fn uses() -> impl Iterator<Item = Use> {
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
