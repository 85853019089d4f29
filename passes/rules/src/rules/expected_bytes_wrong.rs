//! ## What it does
//!
//! Finds copies that complete at a barrier in shared memory (`mbarrier`) at which the kernel expects no bytes, or certainly others than
//! they bring.
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
//! `complete_tx` in any form. A copy in a function counts where no branch on what the kernel passes may keep it from being made. A call of
//! a function that is not there, or through a pointer, makes it silent. A constant number of bytes that no barrier can count (2²⁰ or more)
//! is found as well. Numbers that are not equal are found where all copies of the kernel to one barrier, and all that expect bytes at it,
//! are executed together or not at all, have constant sizes, and are neither tensor copies nor between CTAs; the barrier is at a constant
//! place, or all of them are at one address, the stage of a ring for example: else other threads, other calls and other CTAs of the cluster
//! may expect the rest.

use crate::analysis::asynchronous::{MAX_BYTES, WrongBytes};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::{asynchronous as text, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX706",
    name: "expected-bytes-wrong",
    family: Family::Async,
    summary: "copies complete at a barrier in shared memory that does not expect their bytes",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().wrong_bytes() {
        let (noun, detail) = (text::noun(problem.operation), problem.detail);
        let kernel = text::kernel(module, problem.root);
        match detail {
            WrongBytes::NoneExpected => {
                let message = format!(
                    "this {noun} of {kernel} completes at an mbarrier, and nothing in the kernel makes one expect bytes"
                );
                text::report_problem(problem, message, "", report)
                    .in_general("copies complete at an mbarrier, and nothing makes it expect their bytes")
                    .help("arrive by `mbarrier.arrive.expect_tx` with the bytes of all copies of the phase");
            }
            WrongBytes::Unequal {
                expected,
                brought,
                copy,
                copied,
            } => {
                let message = format!(
                    "{kernel} makes this mbarrier expect {}, and its copies bring {}",
                    wording::bytes(expected),
                    wording::bytes(brought)
                );
                let other = format!("this {} brings {}", text::noun(copy), wording::bytes(copied));
                text::report_problem(problem, message, other, report)
                    .kind("unequal")
                    .note(if brought < expected {
                        "the phase never completes, and those that wait hang"
                    } else {
                        "the phase may complete before all bytes have come"
                    })
                    .help("expect as many bytes as all copies of the phase bring");
            }
            WrongBytes::TooMany(bytes) => {
                let message =
                    format!("this {noun} is about {bytes} bytes, and an mbarrier counts at most {MAX_BYTES}");
                text::of_operand(problem, message, report)
                    .kind("too many")
                    .help("bring what is larger in several phases");
            }
        }
    }
}
