//! ## What it does
//!
//! Finds copies that complete at a barrier in shared memory (`mbarrier`) at which the kernel expects no bytes, or certainly others than they
//! bring.
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
//! `complete_tx` in any form. A copy in a function counts where no branch on what the kernel passes may keep it from being made. A call of a function that is not there, or through a pointer, makes it silent. A constant number of bytes that no barrier can
//! count (2²⁰ or more) is found as well. Numbers that are not equal are found where all copies of the kernel to one barrier, and all that expect
//! bytes at it, are executed together or not at all, have constant sizes, and are neither tensor copies nor between CTAs: else other
//! threads, other calls and other CTAs of the cluster may expect the rest.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, constant_place, leads};
use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, Completion, CopyKind, CopyWay, MbarrierOp, Op, SymbolId};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::{asynchronous as text, wording};

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
    can_be_potential: true,
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
        if kernel.is_open || !is_used {
            continue;
        }
        if kernel.any(counts_bytes) {
            unequal(module, kernel, report);
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
        let draft = report.definite(first.place(), message);
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
        if bytes <= MAX_BYTES {
            continue;
        }
        let message = format!(
            "this {} is about {bytes} bytes, and an mbarrier counts at most {MAX_BYTES}",
            text::noun(AsyncOp::Mbarrier(op))
        );
        if let Some(draft) = text::operands(module, site, message, report) {
            draft.kind("too many");
            draft.help("bring what is larger in several phases");
        }
    }
}

/// An operation that counts bytes at a barrier whose place is known.
struct Counted<'k> {
    site: &'k AsyncSite,
    barrier: (SymbolId, i64),
    is_copy: bool,
    bytes: u64,
}

/// Barriers whose copies bring other bytes than are expected.
fn unequal(module: &ModuleContext<'_>, kernel: &AsyncKernel, report: &mut Report<'_>) {
    let Some(all) = counted(module, kernel) else {
        return;
    };
    let mut told: Vec<(SymbolId, i64)> = Vec::new();
    for first in &all {
        let barrier = first.barrier;
        if told.contains(&barrier) {
            continue;
        }
        told.push(barrier);
        let own: Vec<&Counted<'_>> = all.iter().filter(|one| one.barrier == barrier).collect();
        let sum = |of_copies: bool| -> u64 {
            let of_kind = own.iter().filter(|one| one.is_copy == of_copies);
            of_kind.map(|one| one.bytes).sum()
        };
        let (brought, expected) = (sum(true), sum(false));
        let mut expects = own.iter().filter(|one| !one.is_copy);
        let (Some(expect), Some(copy)) = (expects.next(), own.iter().find(|one| one.is_copy)) else {
            continue;
        };
        if brought == expected
            || !are_together(module, &own)
            || !is_waited_for(module, kernel, barrier, &own)
            || !text::is_reached(module, expect.site)
        {
            continue;
        }
        let message = format!(
            "{} makes this mbarrier expect {}, and its copies bring {}",
            text::kernel(module, kernel),
            wording::bytes(expected),
            wording::bytes(brought)
        );
        let draft = report.definite(expect.site.place(), message);
        draft.kind("unequal");
        draft.related(
            copy.site.place(),
            format!(
                "this {} brings {}",
                text::noun(copy.site.operation.op),
                wording::bytes(copy.bytes)
            ),
        );
        draft.note(if brought < expected {
            "the phase never completes, and those that wait hang"
        } else {
            "the phase may complete before all bytes have come"
        });
        draft.help("expect as many bytes as all copies of the phase bring");
    }
}

/// All that counts bytes at mbarriers in a kernel; `None` if the place or the bytes of some are not known, or other CTAs may have a part.
fn counted<'k>(module: &ModuleContext<'_>, kernel: &'k AsyncKernel) -> Option<Vec<Counted<'k>>> {
    let mut all = Vec::new();
    for site in &kernel.operations {
        let one = &site.operation;
        let (is_copy, bytes) = match one.op {
            AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier => {
                if copy.kind != CopyKind::Bulk || copy.multicast || copy.way != CopyWay::GlobalToShared {
                    return None;
                }
                (true, module.async_sizes().known(site.function, one)?)
            }
            AsyncOp::Mbarrier(MbarrierOp::CompleteTx) => return None,
            AsyncOp::Mbarrier(MbarrierOp::ExpectTx | MbarrierOp::Arrive { expects: true, .. }) => {
                let mut operands = module.async_operands().iter();
                let own = operands.find(|known| {
                    known.callers.is_empty()
                        && known.function == site.function
                        && known.operation.instruction == one.instruction
                });
                (false, own?.bytes? & 0xffff_ffff)
            }
            _ => continue,
        };
        let barrier = constant_place(module, site.function, one.barrier()?)?;
        // The begin of dynamic shared memory has several names.
        if module.module.symbol(barrier.0).is_dynamic_shared() {
            return None;
        }
        all.push(Counted {
            site,
            barrier,
            is_copy,
            bytes,
        });
    }
    let bodies = || {
        let functions = kernel.functions.iter();
        functions.filter_map(|&id| module.module.function(id).body.as_ref())
    };
    let has_peers = bodies()
        .flat_map(|body| &body.instructions)
        .any(|instruction| matches!(instruction.op, Op::MapShared(_)));
    (!has_peers).then_some(all)
}

/// True if each thread that executes one of these executes all of them, as often.
fn are_together(module: &ModuleContext<'_>, all: &[&Counted<'_>]) -> bool {
    let Some(first) = all.first() else { return false };
    let id = first.site.function;
    let Some(body) = &module.module.function(id).body else {
        return false;
    };
    let analyses = module.function(id);
    let at = |one: &Counted<'_>| one.site.operation.instruction;
    let is_plain = |one: &&Counted<'_>| one.site.function == id && body.instruction(at(one)).guard.is_none();
    let mut pairs = all.iter().zip(all.iter().skip(1));
    all.iter().all(is_plain)
        && pairs.all(|(a, b)| {
            let (a, b) = (at(a), at(b));
            let (of_a, of_b) = (body.block_of(a), body.block_of(b));
            of_a == of_b
                || (analyses.is_before(a, b)
                    && analyses.post_dominators().dominates(of_b, of_a)
                    && !leads(body, a, a, b)
                    && !leads(body, b, b, a))
        })
}

/// True if a wait at the barrier follows.
fn is_waited_for(
    module: &ModuleContext<'_>,
    kernel: &AsyncKernel,
    barrier: (SymbolId, i64),
    own: &[&Counted<'_>],
) -> bool {
    let Some(last) = own.last() else { return false };
    let (id, at) = (last.site.function, last.site.operation.instruction);
    let Some(body) = &module.module.function(id).body else {
        return false;
    };
    kernel.operations.iter().any(|site| {
        let one = &site.operation;
        let is_wait = matches!(one.op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. }));
        is_wait
            && site.function == id
            && one.barrier().and_then(|at| constant_place(module, id, at)) == Some(barrier)
            && leads(body, at, one.instruction, at)
    })
}

const fn counts_bytes(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::Mbarrier(
            MbarrierOp::ExpectTx | MbarrierOp::CompleteTx | MbarrierOp::Arrive { expects: true, .. }
        )
    )
}
