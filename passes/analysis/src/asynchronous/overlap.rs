//! Accesses by the thread that has started a copy, to bytes that the copy certainly still reads or writes.

use ptxcheck_ir::{AccessKind, AsyncOp, Asynchronous, Body, FunctionId, InstructionId, Op, Space};

use super::pending::Pending;
use super::round;
use super::size::Sizes;
use super::sum::{AddressSum, overlap};
use super::view::View;
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

/// The ways to an access on which a copy is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// All.
    All,
    /// Those of the rounds of a loop behind the first one, of which there certainly is one.
    LaterRounds,
    /// The same of a loop that may have only one round.
    LaterRoundsIfAny,
    /// Some, which other branches may keep from being taken.
    Some,
}

impl Ways {
    /// True if the copy is certainly under way in some execution that comes to the access.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::All | Self::LaterRounds)
    }
}

/// An access to an end of a copy that is under way.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// The access.
    pub access: InstructionId,
    /// The copy.
    pub copy: Asynchronous,
    /// The thread that does both, where only its number says that it does.
    pub thread: Option<u32>,
    /// The ways to the access on which it is.
    pub ways: Ways,
}

/// Copies and accesses that are compared.
struct Search<'s, 'm> {
    sizes: &'s Sizes,
    id: FunctionId,
    body: &'s Body<'m>,
    end: End,
    found: Vec<UnderWay>,
}

/// The accesses to an end of a copy that is under way, each once, with the copy: those of a kind, and those that other copies make
/// with their other end.
pub fn accesses_under_way(
    module: &Shared<'_>,
    sizes: &Sizes,
    id: FunctionId,
    end: End,
    is_access: impl Fn(AccessKind) -> bool,
) -> Vec<UnderWay> {
    let Some(body) = &module.module.function(id).body else {
        return Vec::new();
    };
    if !body.asynchronous.iter().any(|one| end.of(one).is_some()) {
        return Vec::new();
    }
    let analyses = module.function(id);
    let mut search = Search {
        sizes,
        id,
        body,
        end,
        found: Vec::new(),
    };
    for view in View::all(module, id) {
        if module.deadline.is_over_after(body.instructions.len()) {
            break;
        }
        let Some(pending) = Pending::new(&view) else {
            break;
        };
        search.walk(&view, &pending, Ways::All, &is_access);
        for around in round::loops(&view) {
            if let Some(later) = pending.around(&around.blocks) {
                let ways = if around.is_repeated(&view) {
                    Ways::LaterRounds
                } else {
                    Ways::LaterRoundsIfAny
                };
                search.walk(&view, &later, ways, &is_access);
            }
        }
    }
    search.found.retain(|found| analyses.is_reached(found.access));
    search.found
}

impl Search<'_, '_> {
    fn walk(
        &mut self,
        view: &View<'_, '_>,
        pending: &Pending<'_, '_, '_>,
        ways: Ways,
        is_access: &impl Fn(AccessKind) -> bool,
    ) {
        let (id, body, sizes, end) = (self.id, self.body, self.sizes, self.end);
        let of_copy = |end: End, one: &Asynchronous| end.of(one).zip(sizes.of(id, one));
        pending.walk(|at, instruction, states| {
            if !states.iter().any(|states| states.may_be_under_way()) || view.executes(at) == Some(false) {
                return;
            }
            let accessed = match (body.asynchronous_at(at), instruction.op) {
                (Some(one), _) => of_copy(end.other(), one),
                (None, Op::Access(access))
                    if matches!(access.space, Space::Shared | Space::Generic)
                        && is_access(access.kind)
                        && access.bytes() > 0 =>
                {
                    Some((at, access.bytes().into()))
                }
                _ => None,
            };
            let Some(accessed) = accessed else { return };
            let is_known = |found: &UnderWay| found.access == at && found.ways.is_certain();
            if self.found.iter().any(is_known) {
                return;
            }
            for (copy, states) in pending.copies().iter().zip(states) {
                let operation = &copy.operation;
                // A copy between CTAs that is started again is another one.
                let is_itself = end == End::Source && operation.instruction == at;
                if is_itself || !states.may_be_under_way() {
                    continue;
                }
                let ways = if states.is_under_way() { ways } else { Ways::Some };
                if !ways.is_certain() && self.found.iter().any(|found| found.access == at) {
                    continue;
                }
                let meets = |(held, bytes): (InstructionId, u64)| {
                    let addresses = AddressSum::of(view, held).zip(AddressSum::of(view, accessed.0));
                    addresses.is_some_and(|(from, to)| {
                        overlap(view, (held, &from, bytes), (accessed.0, &to, accessed.1))
                    })
                };
                if of_copy(end, operation).is_some_and(meets) {
                    self.found.retain(|found| found.access != at);
                    self.found.push(UnderWay {
                        access: at,
                        copy: *operation,
                        thread: view.thread(),
                        ways,
                    });
                    if ways.is_certain() {
                        return;
                    }
                }
            }
        });
    }
}
