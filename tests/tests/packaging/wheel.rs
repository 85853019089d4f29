//! The wheel that `make wheel` writes: what it needs, what it installs, and builds that find its CMake package.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxcheck_tests::root;
use tempfile::TempDir;

use super::archive;
use super::project::{CommandOutput, nvcc, on_path};

/// Largest wheel of a release, in bytes: both of its programs have the analyses and rules.
const MAX_BYTES: u64 = 14_000_000;

/// Largest wheel whose programs are optimised less than a release's, in bytes: functions stand in it that optimisation would leave out.
const MAX_BYTES_LESS_OPTIMISED: u64 = 16_500_000;

/// The variable that has cargo optimise the programs of a wheel in another way than a release's.
const OPTIMISATION: &str = "CARGO_PROFILE_DIST_OPT_LEVEL";

/// The programs of the wheel.
const PROGRAMS: [&str; 2] = ["ptxcheck", "ptxcheck-llvm"];

/// All that the programs may ask of a machine.
const LIBRARIES: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// The wheel, or what is missing.
pub(super) fn wheel() -> Result<PathBuf, String> {
    let is_wheel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ptxcheck-") && name.ends_with(".whl")
    };
    let folder = fs::read_dir(root().join("target/wheel")).ok();
    let entries = folder.into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .find(is_wheel)
        .ok_or_else(|| "the wheel is not installed".to_owned())
}

/// A virtual environment with the wheel.
struct Environment {
    folder: TempDir,
}

impl Environment {
    fn new() -> Result<Self, String> {
        let wheel = wheel()?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = folder.path().join("venv");
        run(Command::new(on_path("python3")?).args(["-m", "venv"]).arg(&place))?.must_succeed()?;
        run(Command::new(place.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-index",
                "--disable-pip-version-check",
            ])
            .arg(wheel))?
        .must_succeed()?;
        Ok(Self { folder })
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("venv/bin")
    }

    /// The path of a file of a project.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The licences of what is linked into the program.
    fn licences(&self) -> Result<PathBuf, String> {
        let said = run(Command::new(self.bin().join("python")).args([
            "-c",
            "import importlib.metadata as m; d = m.distribution('ptxcheck'); \
             print(next(d.locate_file(f) for f in d.files if f.name == 'LICENSES-OF-OTHERS'))",
        ]))?;
        Ok(PathBuf::from(said.must_succeed()?.text.trim()))
    }

    fn program(&self) -> Command {
        Command::new(self.bin().join("ptxcheck"))
    }

    /// A command as in the activated environment, with nvcc.
    fn activated(&self, program: &Path) -> Result<Command, String> {
        let old = env::var_os("PATH").unwrap_or_default();
        let path: Vec<PathBuf> = std::iter::once(self.bin())
            .chain(env::split_paths(&old))
            .collect();
        let path: OsString = env::join_paths(path).map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command
            .env("PATH", path)
            .env("CUDACXX", nvcc()?)
            .current_dir(self.folder.path());
        Ok(command)
    }
}

pub(super) fn run(command: &mut Command) -> Result<CommandOutput, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    Ok(CommandOutput::of(&output))
}

/// The program of the wheel checks PTX and LLVM IR, as text and as bitcode, from Python, too, and knows its CMake package.
pub(super) fn program() -> Result<(), String> {
    let environment = Environment::new()?;
    let version = run(environment.program().arg("--version"))?.must_succeed()?;
    version.has(concat!("ptxcheck ", env!("CARGO_PKG_VERSION")))?;
    let cmake = run(environment.program().arg("--cmake-dir"))?.must_succeed()?;
    let package = environment.path("venv/share/cmake/ptxcheck");
    cmake.has(&package.to_string_lossy())?;
    if !environment.path("venv/share/ptxcheck/ptxcheck.mk").is_file() {
        return Err("the wheel has no ptxcheck.mk".to_owned());
    }
    archive::licences(&environment.licences()?)?;
    let demo = root().join("corpus/demo/partial_warp.ptx");
    run(environment.program().arg(demo))?.must_fail()?.has("PTX401")?;
    let text = environment.path("k.ll");
    fs::write(&text, IR).map_err(|error| error.to_string())?;
    // The Python package checks with it.
    let code = "import sys, ptxcheck; print(ptxcheck.find_program(), [f.code for f in ptxcheck.check(sys.argv[1]).findings])";
    let mut python = Command::new(environment.bin().join("python"));
    python.env_remove("PTXCHECK_BIN");
    run(python.args(["-c", code]).arg(&text))?
        .must_succeed()?
        .has("bin/ptxcheck ['PTX407']")?;
    run(environment.program().arg(&text))?
        .must_fail()?
        .has("PTX407")?;
    let bitcode = environment.path("k.bc");
    let clang = root().join(".toolchain/clang/bin/clang-22");
    if !clang.is_file() {
        return Err("clang is not installed".to_owned());
    }
    run(Command::new(clang)
        .args(["-c", "-emit-llvm", "-o"])
        .arg(&bitcode)
        .arg(&text))?
    .must_succeed()?;
    run(environment.program().arg(&bitcode))?
        .must_fail()?
        .has("PTX407")?;
    Ok(())
}

/// A kernel that calls a warp collective with the mask 0.
const IR: &str = "\
target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"
target triple = \"nvptx64-nvidia-cuda\"

define ptx_kernel void @k(ptr %out) {
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  store i32 1, ptr %out
  ret void
}

declare void @llvm.nvvm.bar.warp.sync(i32)
";

/// The wheel is small and has no path of the machine that built it; its tag says which C library the programs need, and that they
/// need no other library.
pub(super) fn tag() -> Result<(), String> {
    let wheel = wheel()?;
    let name = wheel
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let size = fs::metadata(&wheel).map_err(|error| error.to_string())?.len();
    let most = match env::var_os(OPTIMISATION) {
        Some(_) => MAX_BYTES_LESS_OPTIMISED,
        None => MAX_BYTES,
    };
    if size > most {
        return Err(format!("the wheel has {size} bytes, more than {most}"));
    }
    let environment = Environment::new()?;
    let mut needed = None;
    for program in PROGRAMS {
        needed = needed.max(c_library(&environment.bin().join(program))?);
    }
    let tag = name.split("manylinux_2_").nth(1).and_then(leading_number);
    match (needed, tag) {
        (Some(needed), Some(tag)) if needed == tag => Ok(()),
        _ => Err(format!("{name} needs the C library 2.{needed:?}")),
    }
}

/// The `n` of the C library 2.n that a program needs.
fn c_library(program: &Path) -> Result<Option<u32>, String> {
    let bytes = fs::read(program).map_err(|error| error.to_string())?;
    for path in [root().display().to_string(), ".cargo/registry".to_owned()] {
        if bytes.windows(path.len()).any(|window| window == path.as_bytes()) {
            return Err(format!("{} has the path {path} in it", program.display()));
        }
    }
    let said = run(Command::new(on_path("readelf")?)
        .args(["--dynamic", "--version-info", "--wide"])
        .arg(program))?
    .must_succeed()?;
    for line in said.text.lines().filter(|line| line.contains("(NEEDED)")) {
        let library = line.split(['[', ']']).nth(1).unwrap_or_default();
        if !LIBRARIES.contains(&library) {
            return Err(format!("{} needs {library}", program.display()));
        }
    }
    let versions = said.text.split("GLIBC_2.").skip(1);
    Ok(versions.filter_map(leading_number).max())
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// A defect on line 3.
const SOURCE: &str = "\
__global__ void k(int *out) {
  if (out[0])
    __syncwarp(0);
  out[1] = 2;
}
";

const LISTS: &str = "\
cmake_minimum_required(VERSION 3.22)
project(k LANGUAGES CUDA)
find_package(ptxcheck REQUIRED)
add_library(k STATIC k.cu)
ptxcheck_target(k)
install(TARGETS k DESTINATION k)
";

fn project(environment: &Environment) -> Result<PathBuf, String> {
    let folder = environment.path("project");
    let write =
        |name: &str, text: &str| fs::write(folder.join(name), text).map_err(|error| error.to_string());
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    write("k.cu", SOURCE)?;
    write("CMakeLists.txt", LISTS)?;
    write(
        "pyproject.toml",
        "[build-system]\nrequires = [\"scikit-build-core\", \"ptxcheck\"]\n\
         build-backend = \"scikit_build_core.build\"\n\n[project]\nname = \"k\"\nversion = \"1.0\"\n",
    )?;
    Ok(folder)
}

/// CMake finds the package by PATH alone.
pub(super) fn found_by_path() -> Result<(), String> {
    let environment = Environment::new()?;
    let folder = project(&environment)?;
    let cmake = on_path("cmake")?;
    run(environment.activated(&cmake)?.args([
        "-S",
        "project",
        "-B",
        "build",
        "-DCMAKE_CUDA_ARCHITECTURES=90",
    ]))?
    .must_succeed()?;
    let build = || run(environment.activated(&cmake)?.args(["--build", "build"]));
    build()?.must_fail()?.has("PTX407")?.has("k.cu:3:")?;
    fs::write(folder.join("k.cu"), SOURCE.replace("(0)", "()")).map_err(|error| error.to_string())?;
    build()?.must_succeed()?;
    Ok(())
}

/// A build in an environment of its own, which names ptxcheck among what it is built with, finds the package.
pub(super) fn isolated() -> Result<(), String> {
    let environment = Environment::new()?;
    let folder = project(&environment)?;
    let files = root().join(".toolchain/wheel/files");
    if !files.is_dir() {
        return Err("scikit-build-core is not installed".to_owned());
    }
    let wheels = wheel()?;
    let build = || {
        let mut command = environment.activated(&environment.bin().join("python"))?;
        command
            .args([
                "-m",
                "pip",
                "wheel",
                "--no-index",
                "--no-deps",
                "--disable-pip-version-check",
                "-v",
            ])
            .arg("--find-links")
            .arg(&files)
            .arg("--find-links")
            .arg(wheels.parent().unwrap_or(Path::new(".")))
            .args([
                "-C",
                "cmake.define.CMAKE_CUDA_ARCHITECTURES=90",
                "-w",
                "out",
                "./project",
            ]);
        // Nothing of the environment around it.
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        run(&mut command)
    };
    build()?.must_fail()?.has("PTX407")?.has("k.cu:3:")?;
    fs::write(folder.join("k.cu"), SOURCE.replace("(0)", "()")).map_err(|error| error.to_string())?;
    build()?.must_succeed()?;
    Ok(())
}
