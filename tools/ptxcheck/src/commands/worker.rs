//! The process that reads LLVM IR: this program, started by itself with a word in front of its own arguments, from
//! which it comes to the same settings. Without the feature `llvm` there is none.

use std::ffi::OsString;

use ptxcheck_passes::settings::WorkerCommand;

use crate::args::CheckArgs;
use crate::exit::Exit;

/// The word. No file is meant by it: a user gives files named so as `./--ptxcheck-worker`.
const WORD: &str = "--ptxcheck-worker";

/// Takes the word from the arguments; whether it was there.
pub fn strip(args: &mut Vec<OsString>) -> bool {
    let is_worker = cfg!(feature = "ir") && args.get(1).is_some_and(|arg| arg == WORD);
    if is_worker {
        args.remove(1);
    }
    is_worker
}

/// How this program starts itself; `None` where it can't say where it is.
pub fn command() -> Option<WorkerCommand> {
    if cfg!(not(feature = "ir")) {
        return None;
    }
    let mut args = vec![WORD.into()];
    args.extend(std::env::args_os().skip(1));
    Some(WorkerCommand {
        program: std::env::current_exe().ok()?,
        args,
    })
}

/// The same for an audit, which asks what the IR declares: no rule runs.
pub fn silent() -> Option<WorkerCommand> {
    let args = [WORD, "check", "--allow", "all", "-"].map(OsString::from);
    Some(WorkerCommand {
        args: args.to_vec(),
        ..command()?
    })
}

/// Is the worker.
#[cfg(feature = "ir")]
pub fn run(args: &CheckArgs) -> Exit {
    let Ok(settings) = super::check::settings(args) else {
        return Exit::Undone;
    };
    match ptxcheck_passes::worker::serve(&settings) {
        Ok(()) => Exit::Clean,
        Err(_) => Exit::Undone,
    }
}

/// Not reached: nothing starts a worker.
#[cfg(not(feature = "ir"))]
pub const fn run(_: &CheckArgs) -> Exit {
    Exit::Undone
}
