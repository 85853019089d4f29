//! Runs of kernels that are written as PTX: who waits for whom, what is known of values, and why runs end.

mod across_blocks;
mod across_warps;
mod corpus;
mod exchanging;
mod following;
mod hanging;
mod hostile;
mod lockstep;
mod meeting;
mod tracing;
mod values;

use ptxcheck_frontend_ptx::{PtxOrigin, lower};
use ptxcheck_ir::{FunctionId, InstructionId, Module, Op};
use ptxcheck_machine::{Given, Kernel, Launch, Outcome, Schedule, Setup, Unobserved};

/// Registers that the kernels use.
const REGISTERS: &str = ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;\n";

/// A module with one kernel `k`, with the parameters `out` (8 bytes, at 0) and `n` (4 bytes, at 8), and code before it.
fn module(before: &str, code: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 out, .param .u32 n)\n{{\n{REGISTERS}{code}\nret;\n}}\n"
    )
}

/// Hands a module, and its first kernel, to a function.
fn with_kernel<T>(text: &str, look: impl FnOnce(&Module<'_>, FunctionId) -> T) -> T {
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).expect("it parses");
    assert!(tree.errors().is_empty(), "{text}");
    let origin = PtxOrigin::new(&tree);
    let module = lower(&tree, &origin);
    let mut kernels = module.bodies().filter(|(_, function, _)| function.is_kernel());
    let kernel = kernels.next().map(|(id, ..)| id).expect("it has a kernel");
    look(&module, kernel)
}

/// The instruction of a function that is the given one of those with an operation.
fn find(module: &Module<'_>, function: FunctionId, which: usize, is_it: fn(&Op) -> bool) -> InstructionId {
    let body = module.function(function).body.as_ref().expect("it has a body");
    let mut found = body.iter().filter(|(_, instruction)| is_it(&instruction.op));
    found
        .nth(which)
        .map(|(id, _)| id)
        .expect("it has the instruction")
}

/// A world in which the parameters have values: memory that nothing is known of, and `n`.
fn world(n: u64) -> Given {
    let mut world = Given::default();
    world.parameter(0, 8, 0x10_0000).parameter(8, 4, n);
    world
}

/// Runs the code of a kernel in a block.
fn run(code: &str, threads: u32, n: u64, schedule: Schedule) -> Outcome {
    with_kernel(&module("", code), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([threads, 1, 1]), schedule);
        kernel
            .run(&setup, &mut world(n), &mut Unobserved)
            .expect("it runs")
    })
}

/// All kinds of schedules.
const SCHEDULES: [Schedule; 6] = [
    Schedule::First,
    Schedule::Last,
    Schedule::Random(7),
    Schedule::Split(7),
    Schedule::Ranked(7),
    Schedule::Holding(0xffff_0000),
];
