//! Folders with inputs, and the program run in them.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;

use crate::binary;

/// A folder with these files, whose names may have folders in them. It is gone when the value is.
///
/// # Panics
///
/// If it can't be written.
#[must_use]
pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// Runs the program in a folder.
///
/// # Panics
///
/// If it can't be started.
#[must_use]
pub fn run_in(folder: &TempDir, args: &[&str]) -> Output {
    binary::command().current_dir(folder).args(args).output().unwrap()
}

/// Runs the program with these bytes as its standard input.
///
/// # Panics
///
/// If it can't be started, or they can't be written for another reason than that it has ended.
#[must_use]
pub fn run_with_stdin(folder: impl AsRef<Path>, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = binary::command()
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Err(error) = child.stdin.take().unwrap().write_all(stdin) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
    child.wait_with_output().unwrap()
}
