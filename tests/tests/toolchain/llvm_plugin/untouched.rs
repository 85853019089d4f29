//! The plugin leaves compilations of host code as they are, and the output of those of device code.

use std::fs;
use std::process::Command;

use libtest_mimic::{Completion, Failed};
use ptxcheck_tests::{binary, missing};

use super::Test;
use super::compilers::{Project, WRONG, said, with_line_4};

pub const TESTS: &[(&str, Test)] = &[
    ("objects of host code are byte for byte the same", host),
    ("output of device code is byte for byte the same", device),
    ("a right kernel is silent", right),
];

const NO_CLANG: &str = "clang is not installed";

/// The output of a compilation, with the plugin and without; both are silent. `None` where the compiler is not installed.
fn outputs(
    project: &Project,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<Option<[Vec<u8>; 2]>, Failed> {
    let plugin = format!("-fpass-plugin={}", binary::plugin().display());
    let mut all = Vec::new();
    for plugin in [None, Some(&plugin)] {
        let Some(mut clang) = project.clang() else {
            return Ok(None);
        };
        clang.args(plugin).args(args).args(["-o", "out"]);
        clang.envs(variables.iter().copied());
        said(clang)?.expect_silence()?;
        let output = project.path("out");
        all.push(fs::read(&output)?);
        fs::remove_file(output)?;
    }
    Ok(all.try_into().ok())
}

fn hold(outputs: Option<[Vec<u8>; 2]>, what: &str) -> Result<Completion, Failed> {
    match outputs {
        None => missing::skip(NO_CLANG),
        Some([without, with]) if without == with && !without.is_empty() => Ok(Completion::Completed),
        Some(_) => Err(format!("{what}: the output differs").into()),
    }
}

fn host() -> Result<Completion, Failed> {
    let source =
        format!("{WRONG}\nint twice(int x) {{ return 2 * x; }}\nint main() {{ return twice(21); }}\n");
    let project = Project::new(&source)?;
    fs::write(
        project.path("h.cpp"),
        "#include <vector>\nint f(std::vector<int> v) { return v.at(3); }\n",
    )?;
    // A program that leaves a mark.
    let mark = project.path("mark");
    let program = project.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display()))?;
    Command::new("chmod").arg("+x").arg(&program).status()?;
    let variables = [("PTXCHECK", &*program.display().to_string())];
    for level in ["-O0", "-O2"] {
        for args in [
            &["-g", "h.cpp"][..],
            &["-g", "-flto", "h.cpp"],
            &["-g", "--cuda-host-only", "-x", "cuda", "k.cu"],
        ] {
            let args = [&["-c", level], args].concat();
            let outputs = outputs(&project, &args, &variables)?;
            let ended = hold(outputs, &args.join(" "))?;
            if !matches!(ended, Completion::Completed) {
                return Ok(ended);
            }
        }
    }
    if mark.exists() {
        return Err("the program was run for host code".into());
    }
    Ok(Completion::Completed)
}

/// Text, IR and bitcode, also where there is something to report.
fn device() -> Result<Completion, Failed> {
    let variables = [("PTXCHECK_ARGS", "--fail-on never")];
    let args = [
        "--cuda-device-only",
        "--cuda-gpu-arch=sm_90",
        "-g",
        "-Wno-pass-failed",
        "k.cu",
    ];
    for form in [&["-S"][..], &["-S", "-emit-llvm"], &["-c", "-emit-llvm"]] {
        for level in ["-O0", "-O2"] {
            let project = Project::new(WRONG)?;
            let args = [&args, form, &[level]].concat();
            let ended = hold(outputs(&project, &args, &variables)?, &args.join(" "))?;
            if !matches!(ended, Completion::Completed) {
                return Ok(ended);
            }
        }
    }
    Ok(Completion::Completed)
}

fn right() -> Result<Completion, Failed> {
    let source = with_line_4("  x += __shfl_xor_sync(0xffffffff, x, 8);");
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-g0"]] {
        let project = Project::new(&source)?;
        let Some(clang) = project.device("k.cu", flags) else {
            return missing::skip(NO_CLANG);
        };
        said(clang)?.expect_silence()?;
    }
    Ok(Completion::Completed)
}
