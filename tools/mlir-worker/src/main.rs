//! `ptxcheck-mlir`: the process that reads MLIR for `ptxcheck`, which starts it, hands it texts and bytecode over a pipe, and gets
//! LLVM bitcode back. It only converts: what is wrong with the code is found in the bitcode, by `ptxcheck`.
//!
//! | file | does |
//! | --- | --- |
//! | `convert.rs` | is the way of a text or of bytecode to bitcode |
//! | `target.rs`, `launches.rs` | read what MLIR keeps beside the code: targets, and the sizes of launches |
//! | `mlir.rs`, `mlir/ffi.rs` | wrap MLIR's C interface in safe handles, and have all `unsafe` code |

mod convert;
mod launches;
mod mlir;
mod target;

use std::process::ExitCode;

use ptxcheck_frontend_mlir::bytecode::MLIR_VERSION;
use ptxcheck_frontend_mlir::message::{self, Answer};
use ptxcheck_worker::Protocol;

fn main() -> ExitCode {
    mlir::register_passes();
    let late = |_| message::encode(&Answer::Late);
    let protocol = Protocol {
        program: message::PROGRAM,
        version: message::VERSION,
    };
    let reads = format!("MLIR {MLIR_VERSION}");
    let served = ptxcheck_worker::serve(protocol, &reads, late, |_, bytes, _, answer| {
        let context = mlir::Context::new();
        answer.give(&message::encode(&convert::convert(&context, bytes)));
    });
    if served.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
