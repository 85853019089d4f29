//! `ptxcheck-llvm`: the process that reads LLVM IR for `ptxcheck`, which starts it, hands it modules over a pipe, and gets back
//! what the rules found. What it needs of the settings comes with each module.
//!
//! It is a program of its own so that `ptxcheck` does not link LLVM, which takes longer to load than most files take to check.

use std::process::ExitCode;

use ptxcheck_frontend_llvm::{LLVM_VERSION, read_device_code};
use ptxcheck_passes::{Registry, worker};

fn main() -> ExitCode {
    let llvm = format!("LLVM {LLVM_VERSION}");
    if worker::serve(&Registry::default(), &llvm, read_device_code).is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
