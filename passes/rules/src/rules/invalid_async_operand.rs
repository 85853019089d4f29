//! ## What it does
//!
//! Finds operands of asynchronous copies, of barriers in shared memory (`mbarrier`) and of tensor memory that are not allowed: sizes that
//! are not multiples of 16, counts of 0, addresses that are not aligned.
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

use crate::analysis::asynchronous::{InvalidOperand, MAX_ARRIVALS};
use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::{AsyncOp, MbarrierOp};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::{asynchronous as text, wording};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX707",
    name: "invalid-async-operand",
    family: Family::Async,
    summary: "a size, count or address of an asynchronous operation is not allowed",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().invalid_operands() {
        let (message, help) = message_and_fix(problem.operation, problem.detail);
        text::of_operand(problem, message, report)
            .in_general("a size or a count of an asynchronous operation is not allowed")
            .help(help);
    }
    for problem in module.asynchronous().misaligned_addresses() {
        let (misaligned, object) = problem.detail;
        let message = format!(
            "this address in {} is {} past a multiple of {}, and has to be a multiple of {}",
            text::object(module, object),
            wording::bytes(misaligned.past.into()),
            misaligned.of,
            misaligned.unit
        );
        text::report_problem(problem, message, "", report)
            .kind("misaligned")
            .in_general("an address of an asynchronous operation is not aligned")
            .help(format!(
                "declare the object `alignas({})`, and use multiples of {0} in it",
                misaligned.unit
            ));
    }
}

/// The message about an operand that is not allowed, and the fix.
fn message_and_fix(operation: AsyncOp, operand: InvalidOperand) -> (String, &'static str) {
    let noun = text::noun(operation);
    match operand {
        InvalidOperand::Size(bytes) => (
            format!(
                "the size of this {noun} is {}, and has to be a multiple of 16",
                wording::bytes(bytes.into())
            ),
            "round the size up, or copy the rest by loads and stores",
        ),
        InvalidOperand::ReadsMore { read, written } => (
            format!("this {noun} reads {read} bytes to write {written}"),
            "read at most as many bytes as are written",
        ),
        InvalidOperand::Arrivals(count) => {
            let does = match operation {
                AsyncOp::Mbarrier(MbarrierOp::Init) => "expects",
                _ => "makes",
            };
            (
                format!("this {noun} {does} {count} arrivals, and 1 to {MAX_ARRIVALS} are allowed"),
                "give the number of arrivals of a phase",
            )
        }
        InvalidOperand::Columns(columns) => (
            format!("this {noun} is about {columns} columns, and 32, 64, 128, 256 or 512 are allowed"),
            "round the number of columns up to a power of two, at least 32",
        ),
    }
}
