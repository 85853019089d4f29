//! The program under test.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::root;

/// The program: `PTXCHECK_BIN` where that is set, else built in the profile of the running test.
///
/// # Panics
///
/// If it can't be built.
#[must_use]
pub fn path() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| std::env::var_os("PTXCHECK_BIN").map_or_else(build, PathBuf::from))
}

/// The plugin for clang and opt: `PTXCHECK_PLUGIN` where that is set, else built in the profile of the running test.
///
/// # Panics
///
/// If it can't be built.
#[must_use]
pub fn plugin() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let is_there = std::env::var_os("PTXCHECK_PLUGIN").map(PathBuf::from);
        is_there.unwrap_or_else(|| built(&["--lib"], &format!("{DLL_PREFIX}ptxcheck_pass{DLL_SUFFIX}")))
    })
}

/// The program that writes the pages of the documentation's site, built in the profile of the running test.
///
/// # Panics
///
/// If it can't be built.
#[must_use]
pub fn site_pages() -> PathBuf {
    built(
        &["--example", "site_pages"],
        &format!("examples/site_pages{EXE_SUFFIX}"),
    )
}

fn build() -> PathBuf {
    built(&["--bin", "ptxcheck"], &format!("ptxcheck{EXE_SUFFIX}"))
}

/// A test is `<target>/<profile>/deps/<name>-<hash>`; cargo has built the library that it tests, but what another
/// package makes only if somebody asked for it.
fn built(what: &[&str], file: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let profile = test
        .parent()
        .and_then(|deps| deps.parent())
        .expect("tests lie in <target>/<profile>/deps");
    let target = profile.parent().expect("a profile lies in the target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root())
        // With the features that dependencies have in a build of the workspace, which is there already.
        .args(["build", "--quiet", "--workspace"])
        .args(what)
        .arg("--target-dir")
        .arg(target);
    if profile.file_name().is_some_and(|name| name == "release") {
        cargo.arg("--release");
    }
    if cfg!(not(feature = "llvm")) {
        cargo.arg("--no-default-features");
    }
    if cfg!(feature = "llvm19") {
        cargo.args(["--features", "llvm19"]);
    }
    // The programs that it starts lie beside it.
    if cfg!(feature = "ir") {
        cargo.args(["--bin", "ptxcheck-llvm"]);
    }
    if cfg!(feature = "mlir") {
        cargo.args(["--bin", "ptxcheck-mlir", "--features", "mlir"]);
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "`{file}` could not be built");
    profile.join(file)
}

/// The program that reads LLVM IR, beside the program under test.
#[must_use]
pub fn llvm() -> PathBuf {
    path().with_file_name(format!("ptxcheck-llvm{EXE_SUFFIX}"))
}

/// A second program, built with LLVM 19: `PTXCHECK_LLVM_19_BIN`, where that is set.
#[must_use]
pub fn with_llvm_19() -> Option<PathBuf> {
    let program = std::env::var_os("PTXCHECK_LLVM_19_BIN")?;
    (!program.is_empty()).then(|| program.into())
}

/// A command that runs the program in the workspace's folder, without settings from outside.
#[must_use]
pub fn command() -> Command {
    command_of(path())
}

/// The same for another program.
#[must_use]
pub fn command_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for variable in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "CI",
        "PTXCHECK_CACHE",
        "PTXCHECK_LLVM",
        "PTXCHECK_MLIR",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Runs the program in the workspace's folder.
///
/// # Panics
///
/// If it can't be started.
#[must_use]
pub fn run<Arg: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = Arg>) -> Output {
    command().args(args).output().expect("the program starts")
}
