//! `ptxcheck --version --verbose`: what there is to know of a build, for reports of defects.

use std::ffi::OsString;
use std::fmt::Write as _;

use ptxcheck_passes::settings::{IrReader, WorkerCommand};
use ptxcheck_passes::worker::{PROTOCOL, Protocol, mlir, start};
use ptxcheck_report::escape;

use crate::commands::worker;

/// True if the arguments ask for the version in more words, and for nothing else.
pub fn is_asked_for(args: &[OsString]) -> bool {
    let (mut version, mut verbose) = (false, false);
    for arg in args.iter().skip(1) {
        match arg.to_str() {
            Some("-V" | "--version") => version = true,
            Some("-v" | "--verbose") => verbose = true,
            Some("-Vv" | "-vV") => (version, verbose) = (true, true),
            _ => return false,
        }
    }
    version && verbose
}

/// The version, the commit where the build knew it, and what reads LLVM IR and MLIR.
#[must_use]
pub fn long() -> String {
    let mut text = format!("ptxcheck {}\n", env!("CARGO_PKG_VERSION"));
    if let Some(commit) = option_env!("PTXCHECK_COMMIT") {
        let _ = writeln!(text, "commit: {commit}");
    }
    let llvm = match worker::ir_reader() {
        IrReader::Process(command) => Some(command),
        _ => None,
    };
    let _ = writeln!(text, "LLVM IR: {}", reader(llvm, PROTOCOL));
    let _ = writeln!(text, "MLIR: {}", reader(worker::mlir_command(), mlir::PROTOCOL));
    text
}

/// What the program of this command reads with, which is started for that.
fn reader(command: Option<WorkerCommand>, protocol: Protocol) -> String {
    let Some(command) = command else {
        return format!("not read: `{}` is not there", protocol.program);
    };
    let program = escape::line(&command.program.to_string_lossy()).into_owned();
    match start(&command, protocol) {
        Ok(library) => format!("read by {library}, by `{program}`"),
        Err(error) => format!(
            "not read: `{program}` does not start ({})",
            escape::line(&error.to_string())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::is_asked_for;

    fn asks(args: &[&str]) -> bool {
        let args: Vec<std::ffi::OsString> = std::iter::once(&"ptxcheck")
            .chain(args)
            .map(std::ffi::OsString::from)
            .collect();
        is_asked_for(&args)
    }

    #[test]
    fn both_options_are_wanted_and_no_other() {
        for args in [
            &["-V", "-v"][..],
            &["--version", "--verbose"],
            &["-v", "-V"],
            &["-Vv"],
        ] {
            assert!(asks(args), "{args:?}");
        }
        for args in [
            &["-V"][..],
            &["-v"],
            &["-V", "-v", "a.ptx"],
            &["check", "-V", "-v"],
            &[],
        ] {
            assert!(!asks(args), "{args:?}");
        }
    }
}
