//! Fat binaries and what holds them, written byte by byte: where images are found, what hostile files do, and the rules
//! that compare images. What compilers write is tried in `image_builds/`.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

mod commands;
mod hostile;
mod loads;
mod places;
mod rules;

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{report, schema};
use serde_json::Value;

/// A module whose kernels all have a definite PTX407 on line 6.
fn bad(sm: u32, kernel: &str) -> String {
    format!(
        ".version 7.8\n.target sm_{sm}\n.address_size 64\n.visible .entry {kernel}()\n{{\n\tbar.warp.sync 0;\n\tret;\n}}\n"
    )
}

/// A module with a kernel that has these parameters.
fn clean(target: &str, kernel: &str, params: &str) -> String {
    format!(
        ".version 7.8\n.target {target}\n.address_size 64\n.visible .entry {kernel}({params})\n{{\n\tret;\n}}\n"
    )
}

fn check(bytes: &[u8], args: &[&str]) -> (i32, Value) {
    let folder = folder(&[("x.bin", bytes)]);
    let mut all = vec!["--format", "json", "--places", "all"];
    all.extend(args);
    all.push("x.bin");
    report::document(&run_in(&folder, &all)).unwrap()
}

fn codes(bytes: &[u8], args: &[&str]) -> Vec<String> {
    let (_, document) = check(bytes, args);
    report::codes(&document).into_iter().map(str::to_owned).collect()
}

fn audit(bytes: &[u8], args: &[&str]) -> (i32, Value) {
    let folder = folder(&[("x.bin", bytes)]);
    let mut all = vec!["audit", "--format", "json", "--places", "all"];
    all.extend(args);
    all.push("x.bin");
    let output = run_in(&folder, &all);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = schema::audit_problems(&document);
    assert!(problems.is_empty(), "{problems:?}");
    (output.status.code().unwrap(), document)
}

fn audited(bytes: &[u8], args: &[&str]) -> Vec<String> {
    let (_, document) = audit(bytes, args);
    report::codes(&document).into_iter().map(str::to_owned).collect()
}
