//! Tells the program which commit it is built from, where that is known: in a checkout, and not in a package without git.

use std::path::Path;
use std::process::Command;

/// Digits of a commit that are shown.
const DIGITS: &str = "--short=12";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_own_repository() {
        return;
    }
    if let Some(commit) = git(&["rev-parse", DIGITS, "HEAD"]) {
        println!("cargo::rustc-env=PTXCHECK_COMMIT={commit}");
    }
    // Each commit and each checkout writes a line here.
    for file in ["logs/HEAD", "HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// True if this folder is in a repository of this project, not in somebody else's that has a copy.
fn is_own_repository() -> bool {
    let root = std::fs::canonicalize("../..").ok();
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| std::fs::canonicalize(top).ok());
    root.is_some() && root == top
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
