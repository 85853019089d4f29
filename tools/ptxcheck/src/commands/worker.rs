//! The process that reads LLVM IR: this program, started by itself with one word. What it needs of the settings comes
//! with each module. Without the feature `llvm` there is none.

use std::ffi::OsString;

use ptxcheck_passes::settings::WorkerCommand;

use crate::exit::Exit;

/// The word. No file is meant by it: a user gives files named so as `./--ptxcheck-worker`.
const WORD: &str = "--ptxcheck-worker";

/// The command that starts this program as a worker; `None` if its path is not known.
pub fn command() -> Option<WorkerCommand> {
    if cfg!(not(feature = "ir")) {
        return None;
    }
    Some(WorkerCommand {
        program: std::env::current_exe().ok()?,
        args: vec![WORD.into()],
    })
}

/// The command that starts the program that reads MLIR: PTXCHECK_MLIR names it, or it lies beside this program. `None` where
/// there is none, or LLVM 22 is not there to read what it writes.
pub fn mlir_command() -> Option<WorkerCommand> {
    if cfg!(not(feature = "llvm")) {
        return None;
    }
    let beside = || {
        let folder = std::env::current_exe().ok()?.parent()?.to_owned();
        let program = folder.join(format!("{MLIR_PROGRAM}{}", std::env::consts::EXE_SUFFIX));
        program.is_file().then_some(program)
    };
    let named = std::env::var_os(MLIR_VARIABLE).filter(|path| !path.is_empty());
    let program = named.map(std::path::PathBuf::from).or_else(beside)?;
    Some(WorkerCommand {
        program,
        args: Vec::new(),
    })
}

const MLIR_PROGRAM: &str = "ptxcheck-mlir";
const MLIR_VARIABLE: &str = "PTXCHECK_MLIR";

/// Is the worker, if these are its arguments.
#[cfg(feature = "ir")]
pub fn run(args: &[OsString]) -> Option<Exit> {
    if args.get(1).is_none_or(|arg| arg != WORD) {
        return None;
    }
    let registry = ptxcheck_passes::Registry::default();
    Some(match ptxcheck_passes::worker::serve(&registry) {
        Ok(()) => Exit::Clean,
        Err(_) => Exit::Undone,
    })
}

/// Nothing starts a worker.
#[cfg(not(feature = "ir"))]
pub const fn run(_: &[OsString]) -> Option<Exit> {
    None
}
