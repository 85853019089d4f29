//! Instructions that may order the accesses of threads, besides collectives and barriers.

use ptxcheck_ir::{
    Access, AccessKind, AsyncCopy, AsyncGroup, AsyncKinds, AsyncOp, Asynchronous, Body, CopyKind, CopyWay,
    Instruction, InstructionId, Op, Semantics, Space, Value,
};

/// The threads whose accesses are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Among {
    /// The lanes of a warp.
    #[default]
    Lanes,
    /// The threads of different warps of a block.
    Warps,
}

/// The code of some functions, as far as it decides which instructions order accesses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Orderings {
    /// The threads.
    pub among: Among,
    /// A fence orders nothing between threads: none of them has a read that could show it what another thread has released (PTX ISA,
    /// Memory Consistency Model, Release and Acquire Patterns).
    pub ignores_fences: bool,
}

impl Orderings {
    /// The orderings in one function, whatever the functions that it calls read.
    pub(super) fn of_body(body: &Body<'_>, among: Among) -> Self {
        Self {
            among,
            ignores_fences: body.has_async(AsyncKinds::THREAD_FENCE) && !may_read_writes_of_others(body),
        }
    }

    /// True if an instruction that is neither a collective nor a barrier may order accesses: bulk copies and mbarriers
    /// complete in their own ways, an acquire may read the value of a release, and an instruction without a result may have any
    /// effect. `mma.sync` and its kin, `ldmatrix` too, wait for all lanes of the warp.
    pub(super) fn may_order(self, body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Access(access)
                if access.bits == 0 && self.among == Among::Warps && body.rows_at(at).is_some() =>
            {
                false
            }
            Op::Access(access) if access.kind == AccessKind::Other || access.bits == 0 => {
                !affects_only_own_thread(body, at)
            }
            Op::Access(access) => access.is_ordering(),
            Op::Opaque | Op::SetRegisters(_) => match body.results(instruction).len() {
                0 if is_fence(body, at) => !self.ignores_fences,
                0 => !affects_only_own_thread(body, at),
                results => self.among == Among::Lanes && results >= MATRIX_RESULTS,
            },
            _ => false,
        }
    }
}

/// A matrix operation has at least so many results, and arithmetic has fewer.
const MATRIX_RESULTS: usize = 2;

/// True if an instruction may read a value that other threads have written meanwhile, so that a loop may wait for it.
pub(crate) fn may_wait_for_others(body: &Body<'_>, at: InstructionId, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Access(access) => match access.kind {
            AccessKind::Load => access.semantics != Semantics::Weak,
            AccessKind::Store | AccessKind::Reduction => false,
            AccessKind::Other => !affects_only_own_thread(body, at),
            _ => true,
        },
        Op::Opaque | Op::SetRegisters(_) => {
            body.results(instruction).is_empty() && !is_fence(body, at) && !affects_only_own_thread(body, at)
        }
        _ => false,
    }
}

/// True if some instruction of a body may read what other threads have written meanwhile.
pub(super) fn may_read_writes_of_others(body: &Body<'_>) -> bool {
    let mut all = body.iter();
    all.any(|(at, instruction)| may_wait_for_others(body, at, instruction))
}

/// The asynchronous operation that an instruction is a part of.
fn async_operation_at<'b>(body: &'b Body<'_>, at: InstructionId) -> Option<&'b Asynchronous> {
    let all = &body.asynchronous;
    let after = all.partition_point(|one| one.instruction <= at);
    let found = all.get(after.checked_sub(1)?)?;
    let mut parts = [
        found.destination(),
        found.source(),
        found.tensor_map(),
        found.barrier(),
    ]
    .into_iter();
    (found.instruction == at || parts.any(|part| part == Some(at))).then_some(found)
}

fn is_fence(body: &Body<'_>, at: InstructionId) -> bool {
    matches!(
        async_operation_at(body, at).map(|found| found.op),
        Some(AsyncOp::ThreadFence(_))
    )
}

/// True if an instruction is a part of a `cp.async` or waits for those of its own thread, or is a prefetch: other threads learn nothing
/// from it.
fn affects_only_own_thread(body: &Body<'_>, at: InstructionId) -> bool {
    let copies = |copy: AsyncCopy| copy.kind == CopyKind::Element || copy.way == CopyWay::Prefetch;
    async_operation_at(body, at).is_some_and(|found| match found.op {
        AsyncOp::Copy(copy) => copies(copy),
        AsyncOp::Commit(group) | AsyncOp::Wait { group, .. } => group == AsyncGroup::Element,
        _ => false,
    })
}

/// The access of a load or store without ordering semantics that may be to memory that threads share, its address, and the
/// constant offset. A `cp.async` writes its destination: from then on, and at the latest when its thread waits for it. A matrix, which
/// only threads of different warps access without an ordering, is an access of each lane to its row: see [`LaneRows`](crate::lanes::LaneRows).
#[inline]
pub(super) fn unordered_access(
    body: &Body<'_>,
    at: InstructionId,
    instruction: &Instruction,
    among: Among,
) -> Option<(Access, Value, i64)> {
    let Op::Access(access) = instruction.op else {
        return None;
    };
    let access = match access.kind {
        AccessKind::Load | AccessKind::Store if access.bits == 0 => {
            let row = || body.row_access_at(at).map(|(row, _)| row);
            (among == Among::Warps).then(row)??
        }
        AccessKind::Load | AccessKind::Store => access,
        AccessKind::Other => write_of_copy(body, at)?,
        _ => return None,
    };
    let may_be = matches!(access.space, Space::Shared | Space::Global | Space::Generic);
    as_relaxed_access(body, instruction, access).filter(|_| may_be)
}

/// An access, its address, and the constant offset, if it has no ordering semantics and a size.
fn as_relaxed_access(
    body: &Body<'_>,
    instruction: &Instruction,
    access: Access,
) -> Option<(Access, Value, i64)> {
    let has_size = (1..=128).contains(&access.bytes());
    match body.uses(instruction) {
        &[address, Value::Integer(past), ..] if has_size && !access.is_ordering() => {
            Some((access, address, past))
        }
        _ => None,
    }
}

/// The write that an instruction stands for, if it is the destination of a `cp.async`.
fn write_of_copy(body: &Body<'_>, at: InstructionId) -> Option<Access> {
    let found = async_operation_at(body, at)?;
    let is_element = matches!(found.op, AsyncOp::Copy(copy) if copy.kind == CopyKind::Element);
    if !is_element || found.destination() != Some(at) {
        return None;
    }
    let Some(Value::Integer(bytes @ (4 | 8 | 16))) = body.async_value(found, found.values.bytes) else {
        return None;
    };
    Some(Access {
        count: (bytes / 4) as u8,
        ..Access::one(AccessKind::Store, Space::Shared, 32)
    })
}

/// The access of an atomic without ordering semantics that may be to shared memory, its address, and the constant offset.
pub(super) fn relaxed_atomic(body: &Body<'_>, instruction: &Instruction) -> Option<(Access, Value, i64)> {
    let Op::Access(access) = instruction.op else {
        return None;
    };
    let may_be = access.kind.is_atomic() && matches!(access.space, Space::Shared | Space::Generic);
    as_relaxed_access(body, instruction, access).filter(|_| may_be)
}

/// The value that a store of one element writes.
pub(super) fn stored_value(body: &Body<'_>, instruction: &Instruction) -> Option<Value> {
    let is_one = match instruction.op {
        Op::Access(access) => access.kind == AccessKind::Store && access.count == 1 && access.bits != 0,
        _ => false,
    };
    body.stored(instruction).filter(|_| is_one)
}
