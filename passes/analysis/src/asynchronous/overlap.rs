//! Accesses by the thread that has started a copy, to bytes that the copy certainly still reads or writes.

use ptxcheck_ir::{AccessKind, AsyncOp, Asynchronous, Body, FunctionId, InstructionId, Op, Space};

use super::pending::Pending;
use super::size::Sizes;
use crate::shared::Shared;

/// An end of a copy in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The bytes that it reads.
    Source,
    /// The bytes that it writes.
    Destination,
}

impl End {
    const fn other(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }

    /// The access of a copy to this end, if that is in shared memory.
    fn of(self, one: &Asynchronous) -> Option<InstructionId> {
        let AsyncOp::Copy(copy) = one.op else {
            return None;
        };
        match self {
            Self::Source if copy.reads_shared() => one.source(),
            Self::Destination if copy.writes_shared() => one.destination(),
            _ => None,
        }
    }
}

/// The accesses to an end of a copy that is under way, each once, with the copy: those of a kind, and those that other copies make
/// with their other end.
pub fn accesses_under_way(
    module: &Shared<'_>,
    sizes: &Sizes,
    (id, body): (FunctionId, &Body<'_>),
    pending: &Pending<'_>,
    end: End,
    is_access: impl Fn(AccessKind) -> bool,
) -> Vec<(InstructionId, Asynchronous)> {
    let analyses = module.function(id);
    let of_copy = |end: End, one: &Asynchronous| end.of(one).zip(sizes.of(id, one));
    let mut found = Vec::new();
    pending.walk(|at, instruction, states| {
        if !states.iter().any(|states| states.is_under_way()) {
            return;
        }
        let accessed = match (body.asynchronous_at(at), instruction.op) {
            (Some(one), _) => of_copy(end.other(), one),
            (None, Op::Access(access))
                if access.space == Space::Shared && is_access(access.kind) && access.bytes() > 0 =>
            {
                Some((at, access.bytes().into()))
            }
            _ => None,
        };
        let Some(accessed) = accessed else { return };
        for (copy, states) in pending.copies().iter().zip(states) {
            let operation = &copy.operation;
            // A copy between CTAs that is started again is another one.
            let is_itself = end == End::Source && operation.instruction == at;
            if is_itself || !states.is_under_way() {
                continue;
            }
            let held = of_copy(end, operation);
            if held.is_some_and(|held| sizes.overlap(body, analyses, held, accessed)) {
                found.push((at, *operation));
                return;
            }
        }
    });
    found.retain(|(at, _)| analyses.is_reached(*at));
    found
}
