//! `ptxcheck --version --verbose`: what there is to know of a build, for reports of defects.

use std::ffi::OsString;
use std::fmt::Write as _;

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

/// The version, the commit where the build knew it, whether it reads LLVM IR and MLIR, and the features it was built with.
#[must_use]
pub fn long() -> String {
    let mut text = format!("ptxcheck {}\n", env!("CARGO_PKG_VERSION"));
    if let Some(commit) = option_env!("PTXCHECK_COMMIT") {
        let _ = writeln!(text, "commit: {commit}");
    }
    let _ = writeln!(text, "LLVM IR: {}", ir());
    let _ = writeln!(text, "MLIR: {}", mlir());
    let features: Vec<&str> = [
        ("llvm", cfg!(feature = "llvm")),
        ("llvm19", cfg!(feature = "llvm19")),
    ]
    .iter()
    .filter_map(|(name, is_on)| is_on.then_some(*name))
    .collect();
    let features = match features.as_slice() {
        [] => "none".to_owned(),
        features => features.join(", "),
    };
    let _ = writeln!(text, "features: {features}");
    text
}

#[cfg(feature = "ir")]
fn ir() -> String {
    format!("read by LLVM {}", ptxcheck_passes::frontend::llvm::LLVM_VERSION)
}

#[cfg(not(feature = "ir"))]
fn ir() -> String {
    "not read by this build".to_owned()
}

/// The program that reads MLIR.
fn mlir() -> String {
    worker::mlir_command().map_or_else(
        || "not read: `ptxcheck-mlir` is not there".to_owned(),
        |command| format!("read by `{}`", escape::line(&command.program.to_string_lossy())),
    )
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
