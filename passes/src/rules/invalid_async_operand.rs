//! ## What it does
//!
//! Finds operands of asynchronous copies, of barriers in shared memory (`mbarrier`) and of tensor memory that are not allowed: sizes that
//! are no multiple of 16, counts of 0, addresses that are not aligned.
//!
//! ## Why is this bad?
//!
//! These instructions take what the hardware can do and nothing else (PTX ISA, cp.async.bulk, mbarrier.init, tcgen05.alloc):
//!
//! | operand | allowed |
//! | --- | --- |
//! | size of a bulk copy or prefetch | a multiple of 16 bytes |
//! | addresses of a bulk copy | multiples of 16 |
//! | address in shared memory of a tensor copy | a multiple of 128 |
//! | address of an mbarrier | a multiple of 8 |
//! | count of `mbarrier.init` and of arrivals | 1 to 2²⁰ − 1 |
//! | bytes that a `cp.async` reads | at most the bytes that it writes |
//! | columns of tensor memory | 32, 64, 128, 256 or 512 |
//!
//! ptxas refuses a wrong number that is written in the instruction. Inline assembly and the functions of `cuda::ptx` pass numbers in
//! registers, and of those ptxas says nothing: the copy faults, or brings other bytes than were meant.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ alignas(16) float tile[5];
//! cuda::ptx::cp_async_bulk(cuda::ptx::space_shared, cuda::ptx::space_global,
//!                          tile, source, 5 * sizeof(float), &barrier);          // 20 bytes
//! ```
//!
//! ```cuda
//! extern __shared__ char memory[];
//! __shared__ alignas(64) half tile[64 * 64];          // a tensor copy needs 128
//! ```
//!
//! ## Use instead
//!
//! Round the size up, with room for it on both sides, or copy the rest by ordinary loads and stores:
//!
//! ```cuda
//! __shared__ alignas(16) float tile[8];
//! cuda::ptx::cp_async_bulk(cuda::ptx::space_shared, cuda::ptx::space_global,
//!                          tile, source, 32, &barrier);
//! ```
//!
//! Declare what a tensor copy fills `alignas(128)`, and let slices of it begin at multiples of 128 bytes. Generators of kernels got
//! this wrong in [tilelang#2564](https://github.com/tile-ai/tilelang/issues/2564),
//! [tilelang#2525](https://github.com/tile-ai/tilelang/issues/2525) and
//! [tilelang#2584](https://github.com/tile-ai/tilelang/issues/2584).
//!
//! ## Limits
//!
//! Numbers are known that are constants at the instruction, through calls. Where a branch of the function may keep it from the instruction when it is
//! called so, the finding is potential. Of an address, only the bits below the declared
//! alignment of its object are known: a tensor copy into a dynamic array that is declared with 16 is silent, since the launch decides.
//! An address whose low bits are known, but whose place a branch may have tested, is potential. The box and the swizzle of a tensor map
//! are known to the host alone.

use crate::analysis::asynchronous::AsyncOperands;
use crate::analysis::misaligned::{Misaligned, of_asynchronous};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{AsyncOp, Asynchronous, CopyKind, InstructionId, MbarrierOp, Op, Space, TensorMemory};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::{addresses, asynchronous as text, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX707",
    name: "invalid-async-operand",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "a size, count or address of an asynchronous operation is not allowed",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

/// The most arrivals of an mbarrier (PTX ISA, Contents of the mbarrier object).
const MAX_ARRIVALS: u32 = (1 << 20) - 1;

/// The kind of message about an alignment.
const MISALIGNED: &str = "misaligned";

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let mut bodies = module.module.bodies();
    if bodies.all(|(_, _, body)| body.asynchronous.is_empty()) {
        return;
    }
    for site in module.async_operands() {
        if let Some((message, help)) = wrong(site)
            && let Some(draft) = text::operands(module, site, message, report)
        {
            draft.in_general("a size or a count of an asynchronous operation is not allowed");
            draft.help(help);
        }
    }
    for misaligned in of_asynchronous(module, unit) {
        address(module, &misaligned, report);
    }
}

/// The message about a constant that is not allowed, and the way to mend it.
fn wrong(site: &AsyncOperands) -> Option<(String, &'static str)> {
    // Sizes and counts have 32 bits.
    let number = |value: Option<u64>| value.map(|value| value as u32);
    let (bytes, count) = (number(site.bytes), number(site.count));
    let noun = text::noun(site.operation.op);
    match site.operation.op {
        AsyncOp::Copy(copy) if copy.kind == CopyKind::Bulk => {
            let bytes = bytes.filter(|bytes| !bytes.is_multiple_of(16))?;
            let message = format!(
                "the size of this {noun} is {}, and has to be a multiple of 16",
                wording::bytes(bytes.into())
            );
            Some((message, "round the size up, or copy the rest by loads and stores"))
        }
        AsyncOp::Copy(copy) if copy.kind == CopyKind::Element => {
            let (read, written) = (number(site.source_bytes)?, bytes?);
            let message = format!("this {noun} reads {read} bytes to write {written}");
            (read > written).then_some((message, "read at most as many bytes as are written"))
        }
        AsyncOp::Mbarrier(op @ (MbarrierOp::Init | MbarrierOp::Arrive { expects: false, .. })) => {
            let count = count.filter(|count| !(1..=MAX_ARRIVALS).contains(count))?;
            let of = if op == MbarrierOp::Init {
                "expects"
            } else {
                "makes"
            };
            let message = format!("this {noun} {of} {count} arrivals, and 1 to {MAX_ARRIVALS} are allowed");
            Some((message, "give the number of arrivals of a phase"))
        }
        AsyncOp::TensorMemory(TensorMemory::Allocate | TensorMemory::Free) => {
            let columns = count.filter(|count| !(count.is_power_of_two() && (32..=512).contains(count)))?;
            let message =
                format!("this {noun} is about {columns} columns, and 32, 64, 128, 256 or 512 are allowed");
            Some((
                message,
                "round the number of columns up to a power of two, at least 32",
            ))
        }
        _ => None,
    }
}

/// Bytes that an address of an operation has to be a multiple of.
fn unit(one: &Asynchronous, at: InstructionId) -> Option<u32> {
    if one.barrier() == Some(at) {
        return Some(8);
    }
    match one.op {
        AsyncOp::Copy(copy) => match copy.kind {
            CopyKind::Bulk => Some(16),
            CopyKind::Tensor => Some(128),
            CopyKind::Element | CopyKind::Store | CopyKind::Answer => None,
        },
        _ => None,
    }
}

fn address(module: &ModuleContext<'_>, misaligned: &Misaligned, report: &mut Report<'_>) {
    let function = misaligned.function;
    let Some(body) = &module.module.function(function).body else {
        return;
    };
    let space = match body.instruction(misaligned.instruction).op {
        Op::Access(access) => access.space,
        _ => Space::Generic,
    };
    let object = misaligned.symbol.map_or_else(
        || addresses::memory(space).to_owned(),
        |symbol| addresses::named(module, module.module.symbol(symbol).space, symbol),
    );
    let message = format!(
        "this address in {object} is {} past a multiple of {}, and has to be a multiple of {}",
        wording::bytes(misaligned.past.into()),
        misaligned.of,
        misaligned.unit
    );
    let Some(callers) = text::chain(module, function, misaligned.instruction) else {
        return;
    };
    let place = Place::Instruction(function, misaligned.instruction, callers);
    let draft = if misaligned.is_definite {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    draft.kind(MISALIGNED);
    draft.in_general("an address of an asynchronous operation is not aligned");
    draft.help(format!(
        "declare the object `alignas({})`, and use multiples of {0} in it",
        misaligned.unit
    ));
}
