//! Accesses, by the thread that has started a copy, to bytes that the copy certainly still reads or writes.

use ptxcheck_ir::{
    AccessKind, AsyncOp, Asynchronous, Body, Completion, FunctionId, InstructionId, Op, Space,
};

use super::own_cta::cluster_size;
use super::pending::Pending;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::round;
use super::size::{Sizes, Written};
use super::sum::{ALL_BYTES, Stretch, surely_overlap};
use super::view::View;
use crate::place::Place;
use crate::shared::Shared;

/// An end of a copy in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The bytes that it reads.
    Source,
    /// The bytes that it writes.
    Destination,
}

impl End {
    const fn other_end(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }

    /// True for a copy that has this end in shared memory.
    const fn is_shared_memory_end_of(self, op: AsyncOp) -> bool {
        match op {
            AsyncOp::Copy(copy) => match self {
                Self::Source => copy.reads_shared(),
                Self::Destination => copy.writes_shared(),
            },
            _ => false,
        }
    }

    /// The access of a copy to this end, if that is in shared memory.
    pub(super) fn access_of_end(self, one: &Asynchronous) -> Option<InstructionId> {
        let access = match self {
            Self::Source => one.source(),
            Self::Destination => one.destination(),
        };
        access.filter(|_| self.is_shared_memory_end_of(one.op))
    }
}

/// The paths to an access on which a copy is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// The copy is in flight on all paths.
    All,
    /// Those of the rounds of a loop after the first one. There certainly is a second round.
    LaterRounds,
    /// The same for a loop that may have only one round.
    LaterRoundsIfAny,
    /// Some, which other branches may exclude.
    Some,
    /// All, in the CTAs that a copy writes into, if its mask of CTAs is not known.
    SomeCtas,
}

impl Ways {
    /// True if the copy is certainly in flight in some execution that reaches the access.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::All | Self::LaterRounds)
    }
}

/// The execution in which a copy is in flight at an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyInFlight {
    /// The thread that executes both, if only its number shows that it does.
    pub thread: Option<u32>,
    /// It is the one that `elect.sync` picks.
    pub is_elected: bool,
    /// Another thread has started the copy, before a barrier of the block that both have passed.
    pub is_of_other_thread: bool,
    /// The paths to the access on which it is in flight.
    pub ways: Ways,
}

/// True for accesses that write.
pub(super) const fn is_write(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Load | AccessKind::Other)
}

/// An access to an end of an in-flight copy.
#[derive(Clone, Copy)]
pub(super) struct Overlap {
    pub(super) function: FunctionId,
    pub(super) access: InstructionId,
    pub(super) copy: Asynchronous,
    pub(super) under_way: CopyInFlight,
}

impl AsyncAnalysis<'_, '_> {
    /// The reads of bytes that a copy writes, before any wait for it; the copy is the other place of each.
    #[must_use]
    pub fn early_reads(self) -> Vec<AsyncProblem<CopyInFlight>> {
        let reads = |kind| matches!(kind, AccessKind::Load | AccessKind::Atomic);
        let mut found = self.accesses_during_copies(End::Destination, reads);
        let writes = |op| End::Destination.is_shared_memory_end_of(op);
        for kernel in self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(writes))
        {
            self.add_unwaited_reads(kernel, &mut found);
        }
        self.problems_of_overlaps(&found)
    }

    /// The writes of bytes that a copy may still be reading; the copy is the other place of each.
    #[must_use]
    pub fn overwritten_sources(self) -> Vec<AsyncProblem<CopyInFlight>> {
        let mut found = self.accesses_during_copies(End::Source, is_write);
        let reads_by_groups = |op| {
            let waits_by_groups =
                matches!(op, AsyncOp::Copy(copy) if matches!(copy.completion, Completion::Group(_)));
            End::Source.is_shared_memory_end_of(op) && waits_by_groups
        };
        for kernel in self
            .kernels_without_unknown_code()
            .filter(|kernel| kernel.has_operation(reads_by_groups))
        {
            self.add_writes_behind_barriers(kernel, &mut found);
        }
        self.problems_of_overlaps(&found)
    }

    /// The accesses to an end of an in-flight copy, by functions.
    fn accesses_during_copies(self, end: End, is_access: fn(AccessKind) -> bool) -> Vec<Overlap> {
        let (module, mut kernels) = (self.module, self.kernels().iter());
        let mut found = Vec::new();
        if kernels.any(|kernel| kernel.has_operation(|op| end.is_shared_memory_end_of(op))) {
            for (id, function, body) in module.module.bodies() {
                let has_any = body
                    .asynchronous
                    .iter()
                    .any(|one| end.access_of_end(one).is_some());
                if has_any && !function.is_damaged && !module.deadline.is_over_at_step() {
                    let search = OverlapSearch {
                        sizes: self.sizes(),
                        id,
                        body,
                        end,
                        is_access,
                        cluster: cluster_size(module, id),
                        found: Vec::new(),
                    };
                    found.extend(search.find_overlaps(module));
                }
            }
        }
        found
    }

    /// The ordinary writes to shared memory of a function, and those of copies, with their bytes.
    pub(super) fn shared_writes(self, id: FunctionId, body: &Body<'_>) -> Vec<(InstructionId, u64)> {
        let ordinary = ordinary_accesses(body, is_write);
        let of_copies = body.asynchronous.iter().filter_map(|one| {
            let destination = End::Destination.access_of_end(one)?;
            let is_whole = self.sizes().byte_mask(id, one) == ALL_BYTES && one.values.mask.is_none();
            Some((
                destination,
                self.sizes().certain_bytes(id, one).filter(|_| is_whole)?,
            ))
        });
        ordinary.chain(of_copies).collect()
    }

    fn problems_of_overlaps(self, found: &[Overlap]) -> Vec<AsyncProblem<CopyInFlight>> {
        let problem = |one: &Overlap| {
            let chain = self.call_chain_to(one.function, one.access)?;
            Some(AsyncProblem {
                place: Place::Instruction(one.function, one.access, chain),
                operation: one.copy.op,
                root: one.function,
                is_definite: one.under_way.ways.is_certain(),
                other: Some(Place::of_instruction(one.function, one.copy.instruction)),
                detail: one.under_way,
            })
        };
        found.iter().filter_map(problem).collect()
    }
}

/// Copies and accesses that are compared.
struct OverlapSearch<'s, 'm> {
    sizes: &'s Sizes,
    id: FunctionId,
    body: &'s Body<'m>,
    end: End,
    is_access: fn(AccessKind) -> bool,
    /// CTAs of a cluster.
    cluster: Option<u32>,
    found: Vec<Overlap>,
}

impl OverlapSearch<'_, '_> {
    /// The accesses that overlap the source or destination of an in-flight copy, each once, with the copy: accesses of a
    /// kind, and those that other copies make with their other end.
    fn find_overlaps(mut self, module: &Shared<'_>) -> Vec<Overlap> {
        for view in View::distinct_threads(module, self.id) {
            if module.deadline.is_over_after(self.body.instructions.len()) {
                break;
            }
            let before = self.found.clone();
            if self.visit_view(&view).is_none() {
                break;
            }
            // If it depends on the picked lane, paths do not count that only a lane would take which is picked once and not
            // picked once.
            let is_known = |found: &Overlap| {
                let mut known = before.iter();
                found.under_way.ways.is_certain() || known.any(|known| known.access == found.access)
            };
            if self.found.iter().all(is_known) {
                continue;
            }
            if let Some(passed) = view.with_other_elected() {
                let mut other = OverlapSearch {
                    found: before.clone(),
                    ..self
                };
                if other.visit_view(&passed).is_none() {
                    break;
                }
                self.found.retain(|found| {
                    is_known(found) || other.found.iter().any(|other| other.access == found.access)
                });
            }
        }
        self.found
            .retain(|found| module.function(self.id).is_reached(found.access));
        self.found
    }

    /// Adds the accesses of a thread; `None` if its copies cannot be followed.
    fn visit_view(&mut self, view: &View<'_, '_>) -> Option<()> {
        let pending = Pending::new(view)?;
        self.visit_pending(view, &pending, Ways::All);
        for around in round::loops_of_view(view) {
            if let Some(later) = pending.in_later_loop_rounds(&around.blocks) {
                let ways = if around.has_certain_second_round(view) {
                    Ways::LaterRounds
                } else {
                    Ways::LaterRoundsIfAny
                };
                self.visit_pending(view, &later, ways);
            }
        }
        Some(())
    }

    fn visit_pending(&mut self, view: &View<'_, '_>, pending: &Pending<'_, '_, '_>, ways: Ways) {
        let Self {
            id,
            body,
            sizes,
            end,
            is_access,
            cluster,
            ..
        } = *self;
        // A copy that writes into other CTAs is not known to write here.
        let of_copy = |end: End, one: &Asynchronous| {
            let written = match end {
                End::Source => Written::Own,
                End::Destination => sizes.written_ctas(id, one, cluster),
            };
            let bytes = (sizes.certain_bytes(id, one)?, sizes.byte_mask(id, one));
            (written != Written::Some).then_some((end.access_of_end(one)?, bytes, written == Written::Own))
        };
        pending.visit_reached(|at, instruction, states| {
            if !states.iter().any(|states| states.may_be_in_flight()) || view.executes(at) == Some(false) {
                return;
            }
            let accessed = match (body.asynchronous_at(at), instruction.op) {
                (Some(one), _) => of_copy(end.other_end(), one),
                (None, Op::Access(access))
                    if matches!(access.space, Space::Shared | Space::Generic)
                        && is_access(access.kind)
                        && access.bytes() > 0 =>
                {
                    Some((at, (access.bytes().into(), ALL_BYTES), true))
                }
                _ => None,
            };
            let Some(accessed) = accessed else { return };
            let is_known = |found: &Overlap| found.access == at && found.under_way.ways.is_certain();
            if self.found.iter().any(is_known) {
                return;
            }
            for (operation, states) in pending.copies().iter().zip(states) {
                // A copy between CTAs that is started again is another copy.
                let is_itself = end == End::Source && operation.instruction == at;
                if is_itself || !states.may_be_in_flight() {
                    continue;
                }
                let held = of_copy(end, operation);
                let is_here = accessed.2 && held.is_some_and(|(.., is_here)| is_here);
                let ways = match (states.is_in_flight(), is_here) {
                    (true, true) => ways,
                    (true, false) => Ways::SomeCtas,
                    (false, _) => Ways::Some,
                };
                if !ways.is_certain() && self.found.iter().any(|found| found.access == at) {
                    continue;
                }
                let meets = |(held, bytes, _)| {
                    let held = Stretch::of_access(view, held, bytes);
                    let both = held.zip(Stretch::of_access(view, accessed.0, accessed.1));
                    both.is_some_and(|(held, accessed)| surely_overlap(view, &held, &accessed))
                };
                if held.is_some_and(meets) {
                    self.found.retain(|found| found.access != at);
                    self.found.push(Overlap {
                        function: id,
                        access: at,
                        copy: *operation,
                        under_way: CopyInFlight {
                            thread: view.thread_number(),
                            is_elected: view.is_elected(),
                            is_of_other_thread: false,
                            ways,
                        },
                    });
                    if ways.is_certain() {
                        return;
                    }
                }
            }
        });
    }
}

/// The ordinary accesses of these kinds to memory that may be shared, with their bytes.
pub(super) fn ordinary_accesses(
    body: &Body<'_>,
    is_of_kind: impl Fn(AccessKind) -> bool,
) -> impl Iterator<Item = (InstructionId, u64)> {
    body.iter()
        .filter_map(move |(at, instruction)| match instruction.op {
            Op::Access(access)
                if matches!(access.space, Space::Shared | Space::Generic)
                    && is_of_kind(access.kind)
                    && access.bytes() > 0
                    && body.asynchronous_at(at).is_none() =>
            {
                Some((at, access.bytes().into()))
            }
            _ => None,
        })
}
