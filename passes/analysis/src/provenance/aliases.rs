//! Registers that hold the same value: the outcome of a space test of one holds for the others.
//!
//! ```text
//! same(r) = same(a)   if r := a is its only definition, unguarded, and dominated by the only one of a
//!         = same(a)   if r := slot is its only definition, slot := a the only store to that slot, it dominates the
//!                     load, and nothing else can write the slot; and the only definition of a dominates the store
//!         = r         else
//! ```
//!
//! It holds where the definition of r dominates its reader. Then both copies are from the same moment: a path from a later
//! definition to the reader that avoids the copy would imply such a path from the entry, too.

use crate::function::Analyses;
use crate::limits::MAX_PREDICATE_STEPS;
use ptxcheck_ir::{Body, InstructionId, Op, Register, Value};

/// The representative of all registers that hold the same value, found through at most [`MAX_PREDICATE_STEPS`] copies.
#[must_use]
pub(super) fn representative_of(body: &Body<'_>, analyses: &Analyses<'_>, register: Register) -> Register {
    let mut current = register;
    for _ in 0..MAX_PREDICATE_STEPS {
        let &[definition] = analyses.definitions().writers_of(current) else {
            break;
        };
        let Some(Value::Register(from)) = source_of_copy(body, analyses, definition) else {
            break;
        };
        let reader = analyses.store_read_by(definition).unwrap_or(definition);
        match analyses.definitions().writers_of(from) {
            &[earlier] if analyses.is_on_every_path_to(earlier, reader) => current = from,
            _ => break,
        }
    }
    current
}

/// The source of a copy, be it a move or a store to a stack slot and the load from it.
#[must_use]
pub(super) fn source_of_copy(body: &Body<'_>, analyses: &Analyses<'_>, id: InstructionId) -> Option<Value> {
    let instruction = body.instruction(id);
    if instruction.guard.is_some() {
        return None;
    }
    match (instruction.op, body.uses(instruction)) {
        (Op::Copy, &[from]) => Some(from),
        (Op::Access(_), _) => analyses.stored_value_read_by(id),
        _ => None,
    }
}
