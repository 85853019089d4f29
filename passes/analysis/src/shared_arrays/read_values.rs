//! The reads that a value is certainly computed from.
//!
//! Compilers read ahead of a test, and right programs read what they then leave out: an operand of a selection, of a bitwise conjunction, of
//! a collective or of a matrix operation is not used, nor is what only some definitions of a variable are computed from.

use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{Access, BinaryOp, InstructionId, Op, Register, Value};
use smallvec::SmallVec;

use crate::value::{Domain, Result};

/// The reads that a value is computed from, in order, each with whether it is more than a copy.
pub(super) type Reads = SmallVec<[(InstructionId, bool); 4]>;

/// The domain of these sets.
pub(super) struct ReadValues {
    /// The reads that matter.
    reads: Vec<InstructionId>,
}

impl ReadValues {
    /// Sets of these reads.
    pub(super) const fn of(reads: Vec<InstructionId>) -> Self {
        Self { reads }
    }
}

fn union(one: &Reads, other: &Reads) -> Reads {
    let mut all = one.clone();
    for &entry in other {
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
    all.sort_unstable();
    all
}

impl Domain for ReadValues {
    type Value = Reads;

    /// What both are computed from.
    fn join(&self, one: &Reads, other: &Reads) -> Option<Reads> {
        let is_in = |read: InstructionId, all: &Reads| all.iter().any(|&(other, _)| other == read);
        let mut both = union(one, other);
        both.retain(|(read, _)| is_in(*read, one) && is_in(*read, other));
        Some(both)
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn describes_accesses(&self) -> bool {
        true
    }

    fn describes_calls(&self) -> bool {
        true
    }

    fn describe_operand(&self, _: Value) -> Option<Reads> {
        Some(Reads::new())
    }

    fn describe_complement(&self, value: Reads) -> Option<Reads> {
        Some(value)
    }

    fn describe_param(&self, _: (u16, i32), _: Access) -> Option<Reads> {
        Some(Reads::new())
    }

    fn opaque_description(&self, _: Register) -> Option<Reads> {
        Some(Reads::new())
    }

    fn describe_access(&self, (at, _): (InstructionId, Access), _: &Reads) -> Option<Reads> {
        let is_one = self.reads.contains(&at);
        Some(is_one.then_some((at, false)).into_iter().collect())
    }

    fn describe_call(&self, _: InstructionId, _: &[Option<Reads>]) -> Option<Reads> {
        Some(Reads::new())
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        let is_followed = match op {
            // Floating point numbers are computed from three operands at most, elements of matrices from more.
            Op::Opaque => uses.len() <= 3,
            Op::Binary(BinaryOp::And, _) | Op::Lop3(_) | Op::Compare(..) | Op::Select => false,
            op => is_interpreted(op),
        };
        Some(if is_followed { uses } else { &[] })
    }

    fn describe_result(&self, op: Op, _: Result, operands: &[Reads]) -> Option<Reads> {
        let all = operands.iter().fold(Reads::new(), |all, one| union(&all, one));
        let is_copy = op.is_move() || matches!(op, Op::Pack(_) | Op::Unpack(_));
        if is_copy {
            return Some(all);
        }
        let computed = all.iter().map(|&(read, _)| (read, true)).collect();
        Some(union(&Reads::new(), &computed))
    }
}
