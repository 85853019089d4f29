//! Two releases of a library that nvcc builds: what `diff` tells of them, and what a ratchet lets pass.

use serde_json::Value;

use ptxcheck_tests::{binary, schema};

use super::build::{Build, same};

/// The old release. The second kernel is in a namespace of its own for each build.
const OLD: &str = "\
__global__ void kept(int *p) { *p = 1; }
__global__ void grown(int *p) { *p = p[1]; }
__global__ void dropped(int *p) { *p = 3; }
__global__ void old_name(int *p, int n) { for (int i = 0; i < n; i++) p[i] += i * 7; }
__global__ void wide(int *p, int n) { p[n] = 4; }
__global__ __launch_bounds__(128) void bounded(int *p) { *p = 5; }
";

/// The new one.
const NEW: &str = "\
__global__ void kept(int *p) { *p = 1; }
__global__ void grown(int *p) {
  int all[40];
#pragma unroll
  for (int i = 0; i < 40; i++) all[i] = p[i] * p[i + 1];
  for (int i = 0; i < 40; i++) p[i] = all[39 - i] + all[(i * 7) % 40];
}
__global__ void added(int *p) { *p = 6; }
__global__ void new_name(int *p, int n) { for (int i = 0; i < n; i++) p[i] += i * 7; }
__global__ void wide(int *p, long n) { p[n] = 4; }
__global__ __launch_bounds__(256) void bounded(int *p) { *p = 5; }
";

const FLAGS: &str = "-shared -Xcompiler -fPIC -gencode arch=compute_80,code=sm_80";

impl Build {
    /// Builds `name.so` of a source.
    fn release(&self, name: &str, source: &str, more: &str) -> Result<(), String> {
        // The name of a source is part of what it is compiled to.
        self.write("k.cu", source)?;
        self.nvcc(&format!("{FLAGS} {more} k.cu -o {name}.so"))
    }

    /// Exit code and standard error of the program.
    fn told(&self, args: &str) -> Result<(i32, String), String> {
        let output = binary::command()
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.code().unwrap_or(-1), said))
    }
}

/// The kinds of change of a kernel.
fn kinds(document: &Value, kernel: &str) -> Vec<String> {
    let kernels = document["kernels"].as_array().map_or(&[][..], Vec::as_slice);
    let found = kernels.iter().find(|one| {
        one["demangled"]
            .as_str()
            .is_some_and(|name| name.starts_with(&format!("{kernel}(")))
    });
    let changes = found
        .and_then(|one| one["changes"].as_array())
        .map_or(&[][..], Vec::as_slice);
    changes
        .iter()
        .filter_map(|change| change["kind"].as_str().map(str::to_owned))
        .collect()
}

/// Kernels that were added, removed, renamed or changed.
pub(super) fn differences(build: &Build) -> Result<(), String> {
    build.release("old", OLD, "")?;
    build.release("new", NEW, "-gencode arch=compute_90,code=sm_90")?;
    let (code, document) = build.document("diff --format json --gpu 8.0,9.0 old.so new.so")?;
    let problems = schema::diff_problems(&document);
    same("the schema", problems, Vec::new())?;
    same("no kind is denied", code, 0)?;
    for (kernel, wanted) in [
        ("kept", &["forecast"][..]),
        ("added", &["added"]),
        ("dropped", &["removed"]),
        ("new_name", &["renamed", "forecast"]),
        ("old_name", &[]),
        ("bounded", &["bounds", "forecast"]),
    ] {
        same(
            kernel,
            kinds(&document, kernel),
            wanted.iter().map(|kind| (*kind).to_owned()).collect(),
        )?;
    }
    // Another type of a parameter is another name in C++.
    let wide = kinds(&document, "wide");
    same(
        "wide",
        ["renamed", "signature"]
            .iter()
            .all(|kind| wide.iter().any(|one| one == kind)),
        true,
    )?;
    let grown = kinds(&document, "grown");
    same("grown", grown.contains(&"size".to_owned()), true)?;
    let targets = document["targets"].as_array().map_or(0, Vec::len);
    same("targets", targets, 2)?;
    for (denied, wanted) in [
        ("removed", 1),
        ("target-added", 1),
        ("target-removed", 0),
        ("stub", 0),
        ("signature", 1),
        ("all", 1),
    ] {
        let (code, _) = build.told(&format!("diff old.so new.so --deny {denied}"))?;
        same(denied, code, wanted)?;
    }
    let (code, said) = build.told("diff old.so missing.so")?;
    same(
        "a file that is not there",
        (code, said.contains("missing.so")),
        (2, true),
    )
}

/// A release against itself, and built again.
pub(super) fn no_differences(build: &Build) -> Result<(), String> {
    build.release("one", OLD, "")?;
    build.release("two", OLD, "")?;
    let (code, document) = build.document("diff --format json --gpu all --deny all one.so two.so")?;
    same("kernels", document["kernels"].as_array().map_or(1, Vec::len), 0)?;
    same("exit code", code, 0)
}

/// A ratchet fails on what is worse, tells what is better, and is pinned anew.
pub(super) fn ratchet(build: &Build) -> Result<(), String> {
    build.release("old", OLD, "")?;
    build.release("new", NEW, "")?;
    let (code, said) = build.told("audit -q old.so --ratchet r.json")?;
    same("no file", (code, said.contains("--pin")), (2, true))?;
    let (code, _) = build.told("audit -q old.so --ratchet r.json --pin first --gpu 8.0,9.0")?;
    same("pinned", code, 0)?;
    let (code, said) = build.told("audit -q old.so --ratchet r.json --gpu 8.0,9.0")?;
    same("nothing changed", (code, said.as_str()), (0, ""))?;
    let (code, said) = build.told("audit -q new.so --ratchet r.json")?;
    same("worse", (code, said.contains("worse: `grown(int*)`")), (1, true))?;
    let (code, _) = build.told("audit -q new.so --ratchet r.json --pin second --gpu 8.0")?;
    same("pinned anew", code, 0)?;
    let (code, said) = build.told("audit -q old.so --ratchet r.json")?;
    same(
        "better",
        (
            code,
            said.contains("better: `grown(int*)`"),
            said.contains("worse"),
        ),
        (0, true, false),
    )?;
    let text = std::fs::read_to_string(build.path("r.json")).map_err(|error| error.to_string())?;
    same(
        "reasons are kept",
        text.contains("first") && text.contains("second"),
        true,
    )?;
    build.write("r.json", "{\"version\": 7}")?;
    let (code, said) = build.told("audit -q old.so --ratchet r.json")?;
    same("another version", (code, said.contains("version 7")), (2, true))
}
