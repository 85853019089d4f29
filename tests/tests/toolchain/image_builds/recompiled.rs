//! `--compile-commands`: PTX of objects that hold none, made by running their compile commands again.

use std::fs;
use std::process::Output;

use ptxcheck_tests::{binary, report};
use serde_json::{Value, json};

use super::build::{Build, codes, same};

/// A defect on line 2, and on line 5 one that only architectures before 9.0 have.
const SOURCE: &str = "\
#include \"twice.h\"
__global__ void bad(int *p) { if (p[0]) __syncwarp(MASK); p[1] = TWICE(p[2]); }
__global__ void old(int *p) {
#if __CUDA_ARCH__ < 900
  if (p[0]) __syncwarp(MASK);
#endif
  p[1] = 2;
}
";

/// The words of a call that has macros, folders and blanks.
const COMMON: &str = "-DMASK=0 -Iinclude -MD -MT k.o -MF k.d -x cu -c";

fn prepare(build: &Build) -> Result<(), String> {
    for folder in ["include", "CMakeFiles/app.dir/a b"] {
        fs::create_dir_all(build.path(folder)).map_err(|error| error.to_string())?;
    }
    build.write("include/twice.h", "#define TWICE(x) (2 * (x))\n")?;
    build.write("k.cu", SOURCE)
}

/// Compiles `k.cu` to an object, and notes how in `cc.json` if that is wanted.
fn object(build: &Build, compiler: &str, args: &str, name: &str, is_noted: bool) -> Result<String, String> {
    let object = format!("CMakeFiles/app.dir/a b/{name}.o");
    let plain = format!("{name}.o");
    let args = format!("{args} {COMMON} k.cu -o {plain}");
    let (program, args) = if compiler == "nvcc" {
        build.nvcc(&args)?;
        (build.toolchain.join("nvcc/cuda/bin/nvcc"), args)
    } else {
        build.clang(&args)?;
        (
            build.toolchain.join("clang/bin/clang-22"),
            build.clang_flags(&args),
        )
    };
    fs::rename(build.path(&plain), build.path(&object)).map_err(|error| error.to_string())?;
    let mut words = vec!["ccache".to_owned(), program.display().to_string()];
    words.extend(args.split_whitespace().map(str::to_owned));
    words.pop();
    words.push(format!("./{object}"));
    let entry = json!({ "directory": build.folder.path(), "file": "k.cu", "arguments": words });
    let entries = if is_noted { json!([entry]) } else { json!([]) };
    build.write("cc.json", &entries.to_string())?;
    Ok(object)
}

fn run(build: &Build, args: &[&str]) -> Result<Output, String> {
    let mut command = binary::command();
    command.current_dir(build.folder.path()).args(args);
    command.output().map_err(|error| error.to_string())
}

/// The exit code, and code and source line of each finding.
fn lines(build: &Build, args: &[&str]) -> Result<(i32, Vec<(String, i64)>), String> {
    let (code, document) = report::document(&run(
        build,
        &[&["--format", "json", "-A", "PTX507"], args].concat(),
    )?)?;
    let line = |finding: &Value| finding["source"]["line"].as_i64().unwrap_or(-1);
    let found = codes(&document).into_iter().map(str::to_owned);
    let lines = report::findings(&document).iter().map(line);
    Ok((code, found.zip(lines).collect()))
}

fn found(wanted: &[i64]) -> Vec<(String, i64)> {
    wanted.iter().map(|line| ("PTX407".to_owned(), *line)).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names of the files below the folder of a build.
fn files(build: &Build) -> Result<usize, String> {
    let folder = fs::read_dir(build.folder.path()).map_err(|error| error.to_string())?;
    Ok(folder.count())
}

pub(super) fn each_architecture(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let targets =
        "-lineinfo -gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_90,code=[compute_90]";
    let object = object(build, "nvcc", targets, "both", true)?;
    let before = fs::read(build.path(&object)).map_err(|error| error.to_string())?;
    let count = files(build)?;
    // Machine code keeps the text of its PTX without the lines of the source.
    same("without", lines(build, &[&object])?, (1, found(&[-1, 2])))?;
    let output = run(build, &["-q", &object])?;
    same("nothing is to be said", said(&output), String::new())?;
    // The finding that both architectures have is one.
    let with = ["--compile-commands", "cc.json", object.as_str()];
    same("with", lines(build, &with)?, (1, found(&[2, 5])))?;
    let after = fs::read(build.path(&object)).map_err(|error| error.to_string())?;
    same("the object", after == before, true)?;
    same("files", files(build)?, count)?;
    let text = run(build, &[&["-q"][..], &with].concat())?;
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let is_told = text.contains("PTX for sm_80, compiled again for the check") && text.contains("k.cu:5:");
    same(&text, is_told, true)
}

pub(super) fn without_ptx(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let with = ["--compile-commands", "cc.json"];
    for (name, args, closed) in [
        ("real", "-gencode arch=compute_80,code=sm_80", ""),
        ("lto", "-gencode arch=compute_80,code=lto_80 -dc", " of LTO-IR"),
        ("debug", "-G -gencode arch=compute_80,code=sm_80", "-"),
    ] {
        let object = object(build, "nvcc", args, name, true)?;
        let output = run(build, &["-q", &object])?;
        // Of `-G`, machine code keeps the PTX.
        if closed != "-" {
            let told = said(&output);
            let is_warned =
                told.starts_with("ptxcheck: warning: ") && told.contains(closed) && told.lines().count() == 1;
            same(&told, is_warned, true)?;
        }
        let all = [&with[..], &[object.as_str()]].concat();
        same(name, lines(build, &all)?, (1, found(&[2, 5])))?;
        same(
            name,
            said(&run(build, &[&["-q"][..], &all].concat())?),
            String::new(),
        )?;
    }
    let real = "-gencode arch=compute_80,code=[sm_80,sm_86]";
    let object = object(build, "nvcc", real, "real", false)?;
    same(
        "no entry, no option",
        run(build, &["-q", &object])?.status.code(),
        Some(0),
    )?;
    let output = run(build, &[&["-q"][..], &with, &[&object]].concat())?;
    same("no entry", output.status.code(), Some(2))?;
    for part in [
        "a b/real.o` (target `app`): kernels `bad(int*)` and `old(int*)` for compute_80 were not analysed: `cc.json` has no entry",
        "-gencode arch=compute_80,code=compute_80",
    ] {
        same(&said(&output), said(&output).contains(part), true)?;
    }
    fs::remove_file(build.path("include/twice.h")).map_err(|error| error.to_string())?;
    let entry = json!([{
        "directory": build.folder.path(), "file": "k.cu", "output": object,
        "command": format!("'{}' {real} {COMMON} k.cu", build.toolchain.join("nvcc/cuda/bin/nvcc").display()),
    }]);
    build.write("cc.json", &entry.to_string())?;
    let output = run(build, &[&["-q"][..], &with, &[&object]].concat())?;
    same("a call that fails", output.status.code(), Some(2))?;
    same(&said(&output), said(&output).contains("twice.h"), true)?;
    let output = run(build, &["--compile-commands", "k.cu", &object])?;
    same(
        "no list",
        (
            output.status.code(),
            said(&output).contains("is no list of compile commands"),
        ),
        (Some(2), true),
    )
}

/// Archives and libraries have no entry; what they hold of an object that has one was analysed there.
pub(super) fn beside_objects(build: &Build) -> Result<(), String> {
    prepare(build)?;
    let flags = "-gencode arch=compute_80,code=sm_80 -Xcompiler -fPIC";
    let object = object(build, "nvcc", flags, "real", true)?;
    fs::copy(build.path(&object), build.path("real.o")).map_err(|error| error.to_string())?;
    build.tool(std::path::Path::new("ar"), "rcs libreal.a real.o")?;
    build.nvcc("-shared real.o -o libreal.so")?;
    fs::remove_file(build.path("real.o")).map_err(|error| error.to_string())?;
    let with = ["-q", "--require-analysed", "--compile-commands", "cc.json"];
    let run = |inputs: &[&str]| run(build, &[&with[..], inputs].concat());
    let output = run(&[&object, "libreal.a", "libreal.so"])?;
    same(
        "beside",
        (output.status.code(), said(&output)),
        (Some(1), String::new()),
    )?;
    let output = run(&["libreal.a"])?;
    same("alone", output.status.code(), Some(2))?;
    same(
        &said(&output),
        said(&output).contains("`libreal.a`: kernels"),
        true,
    )?;
    // Other code under the same name.
    build.write("k.cu", &SOURCE.replace("p[1] = 2", "p[1] = 3"))?;
    build.nvcc("-gencode arch=compute_80,code=sm_80 -DMASK=0 -Iinclude -c k.cu -o real.o")?;
    fs::remove_file(build.path("libreal.a")).map_err(|error| error.to_string())?;
    build.tool(std::path::Path::new("ar"), "rcs libreal.a real.o")?;
    let output = run(&[&object, "libreal.a"])?;
    same(&said(&output), output.status.code(), Some(2))
}

pub(super) fn require_analysed(build: &Build) -> Result<(), String> {
    prepare(build)?;
    for (name, targets, is_complete) in [
        (
            "a",
            "-gencode arch=compute_80,code=[sm_80,sm_86,compute_80]",
            true,
        ),
        ("b", "-arch=sm_90", true),
        (
            "c",
            "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=compute_90",
            false,
        ),
        (
            "d",
            "-gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90",
            false,
        ),
        (
            "e",
            "-gencode arch=compute_90,code=lto_90 -gencode arch=compute_90,code=compute_90 -dc",
            true,
        ),
    ] {
        let object = object(build, "nvcc", targets, name, true)?;
        let output = run(
            build,
            &["-q", "--fail-on", "never", "--require-analysed", &object],
        )?;
        let code = if is_complete { 0 } else { 2 };
        same(
            &format!("{name}: {}", said(&output)),
            output.status.code(),
            Some(code),
        )?;
        let output = run(
            build,
            &[
                "-q",
                "--fail-on",
                "never",
                "--require-analysed",
                "--compile-commands",
                "cc.json",
                &object,
            ],
        )?;
        same(
            &format!("{name}: {}", said(&output)),
            output.status.code(),
            Some(0),
        )?;
    }
    Ok(())
}

pub(super) fn of_clang(build: &Build) -> Result<(), String> {
    prepare(build)?;
    for (name, args, without) in [
        ("real", "-O2 --no-cuda-include-ptx=all", 0),
        ("embedded", "-O2 --cuda-include-ptx=all", 1),
        ("strict", "-O2 --cuda-include-ptx=all -Werror -g", 1),
    ] {
        let object = object(build, "clang", args, name, true)?;
        let (code, _) = lines(build, &[&object])?;
        same(name, code, without)?;
        let all = ["--compile-commands", "cc.json", object.as_str()];
        same(name, lines(build, &all)?, (1, found(&[2])))?;
    }
    Ok(())
}
