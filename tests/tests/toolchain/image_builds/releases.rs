//! Two releases of a library that nvcc builds: what `diff` reports, and what a ratchet lets pass.

use serde_json::Value;

use ptxcheck_tests::{binary, schema};

use super::build::{Build, messages, same};

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

    /// Standard output of the program.
    fn output(&self, args: &str) -> Result<String, String> {
        let output = binary::command()
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .output()
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
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

/// A ratchet fails on worse figures, reports better ones, and is pinned anew.
pub(super) fn ratchet(build: &Build) -> Result<(), String> {
    build.release("old", OLD, "")?;
    std::fs::rename(build.path("old.so"), build.path("k.so")).map_err(|error| error.to_string())?;
    let (code, said) = build.told("audit -q k.so --ratchet r.json")?;
    same("no file", (code, said.contains("--pin")), (2, true))?;
    let (code, _) = build.told("audit -q k.so --ratchet r.json --pin first --gpu 8.0,9.0")?;
    same("pinned", code, 0)?;
    let (code, said) = build.told("audit -q k.so --ratchet r.json --gpu 8.0,9.0")?;
    same("nothing changed", (code, said.as_str()), (0, ""))?;
    build.release("k", NEW, "-gencode arch=compute_75,code=sm_75")?;
    let (code, document) = build.document("audit --format json k.so --ratchet r.json")?;
    same("the schema", schema::audit_problems(&document), Vec::new())?;
    same("worse", code, 1)?;
    let found = messages(&document, "PTX526");
    for part in [
        "kernel `grown(int*)` for sm_80 takes",
        "`dropped(int*)` is pinned",
    ] {
        same(part, found.iter().any(|message| message.contains(part)), true)?;
    }
    // A new target takes room that nothing is pinned for.
    same(
        "a target",
        found.iter().any(|message| message.contains("sm_75")),
        false,
    )?;
    let worse = document["ratchet"]["worse"].as_array().map_or(0, Vec::len);
    same("in the document", worse, found.len())?;
    for format in ["sarif", "markdown"] {
        let output = build.output(&format!("audit k.so --ratchet r.json --format {format}"))?;
        same(
            format,
            output.contains("grown(int*)") && output.contains("PTX526"),
            true,
        )?;
    }
    let (code, said) = build.told("audit -q k.so --ratchet r.json --pin second --gpu 8.0")?;
    same(
        "pinned anew",
        (code, said.contains("worse: `grown(int*)`")),
        (0, true),
    )?;
    let text = std::fs::read_to_string(build.path("r.json")).map_err(|error| error.to_string())?;
    same(
        "reasons and GPUs are kept",
        ["first", "second", "\"9.0\""].map(|part| text.contains(part)),
        [true; 3],
    )?;
    build.release("k", OLD, "-gencode arch=compute_75,code=sm_75")?;
    let (code, document) = build.document("audit --format json k.so --ratchet r.json")?;
    let better = document["ratchet"]["better"].to_string();
    same("better", better.contains("grown") && code == 1, true)?;
    build.write("r.json", "{\"version\": 7}")?;
    let (code, said) = build.told("audit -q k.so --ratchet r.json")?;
    same("another version", (code, said.contains("version 7")), (2, true))
}

/// Figures belong to the kernels of a file, and pinned GPUs are compared without being named again.
pub(super) fn ratchet_of_files(build: &Build) -> Result<(), String> {
    let library = |release: &str, name: &str, code: &str, targets: &str| {
        build.write("k.cu", code)?;
        build.nvcc(&format!(
            "-shared -Xcompiler -fPIC {targets} k.cu -o {release}/{name}.so"
        ))
    };
    let folder = |name: &str| std::fs::create_dir(build.path(name)).map_err(|error| error.to_string());
    let kernel = |size: u32| {
        NEW.replace("40", &size.to_string())
            .replace("39", &(size - 1).to_string())
    };
    let (code_of_90, ptx_of_80) = (
        "-gencode arch=compute_90,code=sm_90",
        "-gencode arch=compute_80,code=compute_80",
    );
    let both = format!("{code_of_90} {ptx_of_80}");
    folder("one")?;
    folder("two")?;
    library("one", "small", &kernel(8), &both)?;
    library("one", "large", &kernel(60), &both)?;
    let (code, _) = build.told("audit -q one --ratchet r.json --pin one --gpu 9.0,12.0")?;
    same("pinned", code, 0)?;
    library("two", "small", &kernel(30), &both)?;
    library("two", "large", &kernel(60), &both)?;
    let (code, document) = build.document("audit --format json two --ratchet r.json --ratchet-slack 1000")?;
    let found = messages(&document, "PTX526");
    same("the smaller one grew", (code, found.len()), (1, 1))?;
    same(
        "its registers",
        found[0].contains("grown(int*)` for sm_90 takes"),
        true,
    )?;
    // Without PTX nothing loads on the GPU that was pinned.
    library("two", "small", &kernel(8), code_of_90)?;
    let (_, document) = build.document("audit --format json two --ratchet r.json")?;
    let found = messages(&document, "PTX526");
    same(
        "a pinned GPU",
        found
            .iter()
            .filter(|message| message.contains("no longer loads on 12.0"))
            .count(),
        NEW.matches("__global__").count(),
    )?;
    std::fs::remove_file(build.path("two/small.so")).map_err(|error| error.to_string())?;
    let (_, document) = build.document("audit --format json two --ratchet r.json")?;
    let found = messages(&document, "PTX526");
    same(
        "a file that is gone",
        found
            .iter()
            .filter(|message| message.contains("`small.so` no longer has it"))
            .count(),
        NEW.matches("__global__").count(),
    )
}
