//! `ptxcheck launch`: a compiler launcher.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Output;

use ptxcheck_tests::binary;

use super::build::{Build, same};

const GOOD: &str = "__global__ void good(int *p) { p[1] = p[2]; }\n";

/// A defect on line 2.
const BAD: &str = "// A defect:\n__global__ void bad(int *p) { if (p[0]) __syncwarp(0); p[1] = p[2]; }\n";

/// Runs the launcher in the folder, with these variables.
fn launch(build: &Build, variables: &[(&str, &str)], words: &[impl AsRef<OsStr>]) -> Result<Output, String> {
    let own = build.toolchain.join("nvcc/cuda/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path)));
    let mut command = binary::command();
    command
        .current_dir(build.folder.path())
        .env("PATH", path.map_err(|error| error.to_string())?)
        .env_remove("PTXCHECK_ARGS")
        .envs(variables.iter().copied())
        .arg("launch")
        .args(words);
    command.output().map_err(|error| error.to_string())
}

/// The words of a call of nvcc, after those of `before`.
fn nvcc(build: &Build, before: &[&str], args: &str) -> Vec<String> {
    let program = build.toolchain.join("nvcc/cuda/bin/nvcc");
    let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
    words.push(program.display().to_string());
    words.extend(args.split_whitespace().map(str::to_owned));
    words
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The exit code, and whether a finding on the second line of the source is reported.
fn told(output: &Output) -> (Option<i32>, bool) {
    let text = said(output);
    (
        output.status.code(),
        text.contains("error[PTX407]") && text.contains("bad.cu:2:"),
    )
}

fn prepare(build: &Build) -> Result<(), String> {
    for folder in ["src", "b/CMakeFiles/app.dir", "CMakeFiles/cmTC_1a2b3.dir"] {
        fs::create_dir_all(build.path(folder)).map_err(|error| error.to_string())?;
    }
    build.write("src/good.cu", GOOD)?;
    build.write("src/bad.cu", BAD)
}

pub(super) fn of_nvcc(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let run = |args: &str| launch(build, &[], &nvcc(build, &[], args));
    let output = run("-lineinfo -c src/good.cu -o good.o")?;
    same(
        "clean",
        (output.status.code(), said(&output)),
        (Some(0), String::new()),
    )?;
    same("its object", build.path("good.o").is_file(), true)?;
    for (args, object) in [
        (
            "-lineinfo -arch=sm_90 -c src/bad.cu -o b/CMakeFiles/app.dir/bad.cu.o",
            "b/CMakeFiles/app.dir/bad.cu.o",
        ),
        (
            "-gencode arch=compute_80,code=sm_80 -MD -MT x -MF x.d -c src/bad.cu",
            "bad.o",
        ),
        (
            "-gencode arch=compute_80,code=lto_80 -dc src/bad.cu -o lto.o",
            "lto.o",
        ),
    ] {
        let output = run(args)?;
        same(&said(&output), told(&output), (Some(1), true))?;
        same("standard output", output.stdout.len(), 0)?;
        same("its object", build.path(object).is_file(), true)?;
    }
    // Commands that make no object, and those that CMake tries.
    for args in [
        "-lineinfo -c src/bad.cu -o CMakeFiles/cmTC_1a2b3.dir/src.cu.o",
        "-ptx src/bad.cu -o bad.ptx",
        "--version",
    ] {
        let output = run(args)?;
        same(
            args,
            (output.status.code(), said(&output)),
            (Some(0), String::new()),
        )?;
    }
    let output = run("-E src/bad.cu")?;
    same(
        "its output",
        String::from_utf8_lossy(&output.stdout).contains("__syncwarp(0)"),
        true,
    )?;
    let output = run("-c src/none.cu -o none.o")?;
    let direct = std::process::Command::new(build.toolchain.join("nvcc/cuda/bin/nvcc"))
        .current_dir(build.folder.path())
        .args(["-c", "src/none.cu", "-o", "none.o"])
        .output()
        .map_err(|error| error.to_string())?;
    same(
        "a failure",
        (output.status.code(), said(&output)),
        (direct.status.code(), said(&direct)),
    )?;
    let output = launch(build, &[], &["no-such-compiler".to_owned(), "-c".to_owned()])?;
    same("no compiler", output.status.code(), Some(2))
}

/// Calls of which the words themselves do not say all: files of options, several sources, words that are not text.
pub(super) fn unusual(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let run = |args: &str| launch(build, &[], &nvcc(build, &[], args));
    build.write("call.rsp", "-lineinfo -c \"src/bad.cu\"\n--options-file more.rsp")?;
    build.write("more.rsp", "-o \"b/a bad.o\"")?;
    let output = run("-arch=sm_90 --options-file call.rsp")?;
    same(&said(&output), told(&output), (Some(1), true))?;
    same("its object", build.path("b/a bad.o").is_file(), true)?;
    // Machine code alone: the compiler is run again with the options of the file.
    let output = run("-gencode arch=compute_90,code=sm_90 -optf=call.rsp")?;
    same(&said(&output), told(&output), (Some(1), true))?;
    let output = run("-gencode arch=compute_90,code=sm_90 -odir b -c src/bad.cu src/good.cu")?;
    same(&said(&output), told(&output), (Some(1), true))?;
    same("one of them", said(&output).contains("not analysed"), false)?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let mut words: Vec<OsString> = nvcc(build, &[], "-c src/bad.cu -o bad.o")
            .into_iter()
            .map(OsString::from)
            .collect();
        words.push(OsStr::from_bytes(b"-DNAME=\xff").to_owned());
        let output = launch(build, &[], &words)?;
        let warning =
            "ptxcheck: warning: `bad.o` was not checked: an argument of the compiler's is not UTF-8\n";
        same(
            "not UTF-8",
            (output.status.code(), said(&output).as_str()),
            (Some(0), warning),
        )?;
    }
    // Programs that are called like a compiler, and make no object.
    build.write("nvcc-none", "#!/bin/sh\n")?;
    let words = ["sh", "nvcc-none", "-c", "src/bad.cu", "-o", "none.o"].map(str::to_owned);
    let output = launch(build, &[], &words)?;
    same(
        &said(&output),
        (
            output.status.code(),
            said(&output)
                .starts_with("ptxcheck: warning: `none.o`, as the compiler's call has it, was not checked"),
        ),
        (Some(0), true),
    )
}

pub(super) fn settings(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let args = "-lineinfo -c src/bad.cu -o bad.o";
    let run = |before: &[&str], variable: &str| {
        launch(build, &[("PTXCHECK_ARGS", variable)], &nvcc(build, before, args))
    };
    let output = run(&[], "--fail-on never --format concise")?;
    same(
        "fail on",
        (output.status.code(), said(&output).lines().count()),
        (Some(0), 1),
    )?;
    for (variable, part) in [
        ("--no-such-option", "PTXCHECK_ARGS"),
        ("bad.o", "for options of `check` alone"),
        ("'open", "can't be split into words"),
    ] {
        let output = run(&[], variable)?;
        same(
            &said(&output),
            (output.status.code(), said(&output).contains(part)),
            (Some(2), true),
        )?;
    }
    build.write("ccache", "#!/bin/sh\nexec \"$@\"\n")?;
    let output = run(&["sh", "ccache"], "")?;
    same("behind ccache", told(&output), (Some(1), true))?;
    // The configuration beside the sources counts, wherever the build is.
    build.write(
        "src/ptxcheck.toml",
        "[[allow]]\nrule = \"PTX407\"\npath = \"bad.cu\"\nreason = \"a test\"\n",
    )?;
    let output = run(&[], "")?;
    same(
        "allowed",
        (output.status.code(), said(&output)),
        (Some(0), String::new()),
    )
}

pub(super) fn of_clang(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let clang = build.toolchain.join("clang/bin/clang-22").display().to_string();
    let flags = build.clang_flags("-O2 -x cuda -c src/bad.cu -o bad.o");
    let mut words = vec![clang];
    words.extend(flags.split_whitespace().map(str::to_owned));
    let output = launch(build, &[], &words)?;
    same(&said(&output), told(&output), (Some(1), true))
}
