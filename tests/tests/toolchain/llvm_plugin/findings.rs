//! Findings as diagnostics: places, levels, settings.

use std::fs;

use libtest_mimic::{Completion, Failed};
use ptxcheck_tests::missing;

use super::Test;
use super::compilers::{MESSAGE, Project, Said, WRONG, said, with_line_4};

pub const TESTS: &[(&str, Test)] = &[
    ("an error fails the compilation and writes nothing", errors),
    ("a warning is in the group of pass-failed", warnings),
    ("without line information the kernel is named", without_lines),
    ("the places of a finding are all named", calls),
    ("opt reports warnings before the error that ends it", opt_order),
    ("opt has the pass in its pipelines, too", opt_pipelines),
    ("PTXCHECK_ARGS are options of check", options),
    ("suppressions and configuration hold", suppressions),
    ("the pass stands where PTXCHECK_PASS_AT says", stages),
];

/// Runs clang over [`WRONG`] or the like; `None` where it is not installed.
fn compile(source: &str, args: &[&str], variables: &[(&str, &str)]) -> Result<Option<Said>, Failed> {
    let project = Project::new(source)?;
    compile_in(&project, args, variables)
}

fn compile_in(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> Result<Option<Said>, Failed> {
    let Some(mut clang) = project.device("k.cu", args) else {
        return Ok(None);
    };
    clang.envs(variables.iter().copied());
    said(clang).map(Some)
}

const NO_CLANG: &str = "clang is not installed";
const NO_OPT: &str = "opt-22 is not installed";
const AS_WARNING: (&str, &str) = ("PTXCHECK_ARGS", "--level PTX407=warning");

fn errors() -> Result<Completion, Failed> {
    for level in ["-O0", "-O2"] {
        let project = Project::new(WRONG)?;
        let Some(found) = compile_in(&project, &[level], &[])? else {
            return missing::skip(NO_CLANG);
        };
        let head = format!("k.cu:4:8: error: {MESSAGE}\n");
        let excerpt = "    4 |   x += __shfl_xor_sync(0, x, 8);\n      |        ^\n";
        found.expect(1, &[&head, "\n  = help: ", excerpt, "1 error generated"])?;
        if project.path("out").exists() {
            return Err("an output is written".into());
        }
    }
    Ok(Completion::Completed)
}

fn warnings() -> Result<Completion, Failed> {
    let Some(found) = compile(WRONG, &[], &[AS_WARNING])? else {
        return missing::skip(NO_CLANG);
    };
    let head = format!("k.cu:4:8: warning: {MESSAGE}\n");
    found.expect(0, &[&head, "[-Wpass-failed=ptxcheck]"])?;
    for flag in ["-Wno-pass-failed", "-w"] {
        let found = compile(WRONG, &[flag], &[AS_WARNING])?;
        found.ok_or(NO_CLANG)?.expect_silence()?;
    }
    for flag in ["-Werror", "-Werror=pass-failed"] {
        let found = compile(WRONG, &[flag], &[AS_WARNING])?.ok_or(NO_CLANG)?;
        found.expect(1, &["k.cu:4:8: error: ", "-Wpass-failed=ptxcheck]"])?;
    }
    Ok(Completion::Completed)
}

fn without_lines() -> Result<Completion, Failed> {
    let Some(found) = compile(WRONG, &["-g0"], &[])? else {
        return missing::skip(NO_CLANG);
    };
    found.expect(
        1,
        &["k.cu:1:17: error: ", "-gline-tables-only or -Rpass=ptxcheck"],
    )?;
    let found = compile(WRONG, &["-g0", "-Rpass=ptxcheck"], &[])?.ok_or(NO_CLANG)?;
    found.expect(1, &["k.cu:4:8: error: "])?;
    Ok(Completion::Completed)
}

fn calls() -> Result<Completion, Failed> {
    let source = "\
__device__ int fold(int x) {
  return __shfl_xor_sync(0, x, 8);
}
__global__ void one(int *p) {
  p[threadIdx.x] = fold(p[threadIdx.x]);
}
__global__ void two(int *p) {
  p[threadIdx.x] = fold(p[threadIdx.x + 1]);
}
";
    let Some(found) = compile(source, &["-O0"], &[])? else {
        return missing::skip(NO_CLANG);
    };
    found.expect(
        1,
        &["k.cu:2:10: error: ", "\n  = called at k.cu:5:20\n", "1 error"],
    )?;
    let found = compile(source, &["-O2"], &[])?.ok_or(NO_CLANG)?;
    found.expect(1, &["k.cu:2:10: error: ", "\n  = also in `_Z3onePi`", "1 error"])?;
    Ok(Completion::Completed)
}

/// IR of [`WRONG`] and of a kernel with another defect.
fn project_with_ir() -> Result<Option<Project>, Failed> {
    let more = "
__global__ void half(int *p) {
  int x = p[threadIdx.x];
  if (threadIdx.x < 16)
    x += __shfl_xor_sync(0xffffffff, x, 8);
  p[threadIdx.x] = x;
}
";
    let project = Project::new(&format!("{WRONG}{more}"))?;
    let Some(mut clang) = project.clang() else {
        return Ok(None);
    };
    clang
        .args([
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_90",
            "-gline-tables-only",
            "-O2",
        ])
        .args(["-S", "-emit-llvm", "-o", "k.ll", "k.cu"]);
    said(clang)?.expect_silence()?;
    Ok(Some(project))
}

fn opt_order() -> Result<Completion, Failed> {
    let Some(project) = project_with_ir()? else {
        return missing::skip(NO_CLANG);
    };
    let Some(mut opt) = project.opt(&["-passes=ptxcheck", "k.ll"]) else {
        return missing::skip(NO_OPT);
    };
    opt.env("PTXCHECK_ARGS", "--level PTX401=warning");
    let found = said(opt)?;
    found.expect(
        1,
        &[
            "warning: k.cu:11:10: ",
            "[PTX401 ",
            "error: k.cu:4:8: in function _Z4zeroPi",
        ],
    )?;
    let place = |code: &str| found.text.find(code);
    if place("[PTX401") > place("[PTX407") {
        return Err(format!("the error comes first:\n{}", found.text).into());
    }
    Ok(Completion::Completed)
}

fn opt_pipelines() -> Result<Completion, Failed> {
    let Some(project) = project_with_ir()? else {
        return missing::skip(NO_CLANG);
    };
    for (passes, count) in [
        ("default<O0>", 1),
        ("default<O2>", 1),
        ("ptxcheck,default<O2>", 2),
        ("mem2reg", 0),
    ] {
        let Some(mut opt) = project.opt(&["-passes", passes, "k.ll"]) else {
            return missing::skip(NO_OPT);
        };
        opt.env("PTXCHECK_ARGS", "--fail-on never");
        let found = said(opt)?;
        found.expect(0, &[])?;
        if found.text.matches("k.cu:4:8: ").count() != count {
            return Err(format!("{passes}, not {count}:\n{}", found.text).into());
        }
    }
    Ok(Completion::Completed)
}

fn options() -> Result<Completion, Failed> {
    let Some(found) = compile(WRONG, &[], &[("PTXCHECK_ARGS", "-A zero-mask")])? else {
        return missing::skip(NO_CLANG);
    };
    found.expect_silence()?;
    // Warnings that fail a run fail the compilation.
    let options = "--level PTX407=warning --fail-on 'warning'";
    let found = compile(WRONG, &[], &[("PTXCHECK_ARGS", options)])?.ok_or(NO_CLANG)?;
    found.expect(1, &["k.cu:4:8: error: "])?;
    // The plugin's own options count.
    let options = "--format concise -v --output sarif=found.sarif";
    let project = Project::new(WRONG)?;
    let found = compile_in(&project, &[], &[("PTXCHECK_ARGS", options)])?.ok_or(NO_CLANG)?;
    found.expect(1, &["k.cu:4:8: error: "])?;
    if fs::read_to_string(project.path("found.sarif"))?.contains("PTX407") {
        Ok(Completion::Completed)
    } else {
        Err("the file of --output lacks the finding".into())
    }
}

fn suppressions() -> Result<Completion, Failed> {
    let comment = "  x += __shfl_xor_sync(0, x, 8); // ptxcheck: allow(PTX407) a test";
    let Some(found) = compile(&with_line_4(comment), &[], &[])? else {
        return missing::skip(NO_CLANG);
    };
    found.expect_silence()?;
    // The configuration above the source, wherever the compiler runs.
    let project = Project::new("")?;
    fs::create_dir(project.path("sub"))?;
    fs::write(project.path("sub/k.cu"), WRONG)?;
    fs::write(
        project.path("sub/ptxcheck.toml"),
        "[rules]\nPTX407 = \"warning\"\n",
    )?;
    for (options, code) in [("", 0), ("-D PTX407", 1), ("--config elsewhere.toml", 1)] {
        fs::write(project.path("elsewhere.toml"), "")?;
        let mut clang = project.device("sub/k.cu", &[]).ok_or(NO_CLANG)?;
        clang.env("PTXCHECK_ARGS", options);
        let found = said(clang)?;
        let level = if code == 0 { "warning" } else { "error" };
        found.expect(code, &[&format!("sub/k.cu:4:8: {level}: ")])?;
    }
    Ok(Completion::Completed)
}

fn stages() -> Result<Completion, Failed> {
    for stage in ["start", "end"] {
        let Some(found) = compile(WRONG, &["-O2"], &[("PTXCHECK_PASS_AT", stage)])? else {
            return missing::skip(NO_CLANG);
        };
        found.expect(1, &["k.cu:4:8: error: "])?;
    }
    let found = compile(WRONG, &["-O2"], &[("PTXCHECK_PASS_AT", "middle")])?.ok_or(NO_CLANG)?;
    let warning = "warning: ptxcheck: PTXCHECK_PASS_AT is `start` or `end` [-Wbackend-plugin]";
    found.expect(1, &[warning, "k.cu:4:8: error: "])?;
    Ok(Completion::Completed)
}
