//! ## What it does
//!
//! Finds copies that complete at a barrier in shared memory (`mbarrier`) at which the kernel expects no bytes.
//!
//! ## Why is this bad?
//!
//! Beside arrivals, an mbarrier counts bytes. A thread announces by `mbarrier.expect_tx`, or together with its arrival by
//! `mbarrier.arrive.expect_tx`, how many bytes copies will bring in this phase; each copy takes those that it has brought off the number;
//! and the phase completes when no arrival is missing and the number is 0 (PTX ISA, Phase Completion of the mbarrier object). Bytes
//! that are expected after the copy has been started count as well: meanwhile the number is negative.
//!
//! Where nobody announces bytes, the arrivals may complete the phase before a copy has brought anything, and those that wait read
//! what was there before; afterwards the number is off by the bytes that did come, and later phases hang.
//!
//! ## Example
//!
//! ```cuda
//! cuda::ptx::cp_async_bulk(..., tile, source, 4096, &barrier);
//! cuda::ptx::mbarrier_arrive(&barrier);                      // an arrival, and no bytes
//! while (!cuda::ptx::mbarrier_try_wait_parity(&barrier, 0)) {}
//! ```
//!
//! ## Use instead
//!
//! Expect as many bytes as all copies of the phase bring:
//!
//! ```cuda
//! cuda::ptx::cp_async_bulk(..., tile, source, 4096, &barrier);
//! cuda::ptx::mbarrier_arrive_expect_tx(..., &barrier, 4096);
//! while (!cuda::ptx::mbarrier_try_wait_parity(&barrier, 0)) {}
//! ```
//!
//! [mirage#705](https://github.com/mirage-project/mirage/issues/705) is about a kernel that expected other bytes than came.
//!
//! ## Limits
//!
//! A finding is definite: the kernel, with all that it calls, has such copies and a wait at an mbarrier, and neither `expect_tx` nor
//! `complete_tx` in any form. A call of a function that is not there, or through a pointer, makes it silent. A constant number of bytes that no barrier can
//! count (2²⁰ or more) is found as well. Numbers that are not equal are not compared: other threads, other calls and other CTAs of the
//! cluster may expect the rest.

use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, Completion, MbarrierOp};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX706",
    name: "expected-bytes-wrong",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "copies complete at a barrier in shared memory that does not expect their bytes",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

/// The most bytes that an mbarrier counts (PTX ISA, Contents of the mbarrier object).
const MAX_BYTES: u64 = (1 << 20) - 1;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    if module.asynchronous().is_empty() {
        return;
    }
    for kernel in module.asynchronous() {
        // Of a barrier that nothing initialises, PTX705 speaks.
        let initialises = |op| op == AsyncOp::Mbarrier(MbarrierOp::Init);
        // Where nobody waits at it, the bytes make no difference.
        let waits = |op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. }));
        let is_used = kernel.any(initialises) && kernel.any(waits);
        if kernel.is_open || kernel.any(counts_bytes) || !is_used {
            continue;
        }
        let arrives = |op| matches!(op, AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier);
        let Some(first) = text::first(module, kernel, arrives) else {
            continue;
        };
        let message = format!(
            "this {} of {} completes at an mbarrier, and nothing in the kernel makes one expect bytes",
            text::noun(first.operation.op),
            text::kernel(module, kernel)
        );
        let draft = report.definite(text::place(first), message);
        draft.in_general("copies complete at an mbarrier, and nothing makes it expect their bytes");
        draft.help("arrive by `mbarrier.arrive.expect_tx` with the bytes of all copies of the phase");
    }
    for site in module.async_operands() {
        let AsyncOp::Mbarrier(op) = site.operation.op else {
            continue;
        };
        // They have 32 bits.
        let Some(bytes) = site.bytes.map(|bytes| bytes & 0xffff_ffff) else {
            continue;
        };
        if bytes > MAX_BYTES && site.is_reached(module) {
            let message = format!(
                "this {} is about {bytes} bytes, and an mbarrier counts at most {MAX_BYTES}",
                text::noun(AsyncOp::Mbarrier(op))
            );
            let draft = report.definite(site.place(), message);
            draft.kind("too many");
            draft.help("bring what is larger in several phases");
        }
    }
}

const fn counts_bytes(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::Mbarrier(
            MbarrierOp::ExpectTx | MbarrierOp::CompleteTx | MbarrierOp::Arrive { expects: true, .. }
        )
    )
}
