//! The failures about asynchronous copies that are searched for.

use crate::analysis::lanes::Object;
use ptxcheck_machine::{AsyncWrong, Doing};

/// Their kinds.
pub(super) const KINDS: [AsyncWrong; 3] = [
    AsyncWrong::ReadEarly,
    AsyncWrong::SourceOverwritten,
    AsyncWrong::Unfenced,
];

/// What stands for the failures of one kind of a kernel in a search: there is one finding for each.
pub(super) fn object_of(wrong: AsyncWrong) -> Object {
    let number = KINDS.iter().position(|kind| *kind == wrong);
    Object::Part(number.map_or(0, |number| number as u32))
}

/// The action of a thread in such a failure.
pub(super) const fn doing(wrong: AsyncWrong) -> Doing {
    match wrong {
        AsyncWrong::SourceOverwritten => Doing::Writes,
        _ => Doing::Reads,
    }
}
