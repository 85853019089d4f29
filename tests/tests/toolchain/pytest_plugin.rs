//! The plugin for pytest in `tools/python`, with what Triton and Numba compile without a GPU. Where they are not installed, the
//! tests are counted as ignored.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::{binary, missing, root};

pub fn trials() -> Vec<Trial> {
    let trials = [
        ("Triton", "test_triton.py", &["--ptxcheck"][..]),
        ("Numba", "test_numba.py", &["--ptxcheck"]),
        ("both, by two processes", ".", &["--ptxcheck", "--numprocesses=2"]),
        (
            "what Triton's cache gains",
            "test_triton.py",
            &["--ptxcheck-dir", "cache"],
        ),
    ];
    let trials = trials.map(|(name, file, options)| {
        Trial::ignorable_test(format!("pytest: {name}"), move || try_tests(file, options))
    });
    let mut trials: Vec<Trial> = trials.into();
    trials.push(Trial::ignorable_test("pytest: a process that dies", dying));
    trials
}

/// Tests that put a kernel into a folder, and that end their process.
const DYING: &str = "\
import os, pathlib

def test_kernel():
    text = '.version 9.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k() { bar.warp.sync 0; ret; }\\n'
    pathlib.Path('kernels/k.ptx').write_text(text)

def test_that_dies():
    os._exit(3)
";

/// A process of pytest-xdist dies: the run ends, and its summary has what the process has found.
fn dying() -> Result<Completion, Failed> {
    let installed = root().join(".toolchain/python-ir");
    let Ok(python) = fs::read_to_string(installed.join("python")) else {
        return missing::skip("Triton and Numba are not installed");
    };
    let packages = installed.join("packages");
    if !packages.join("xdist").exists() {
        return missing::skip("pytest-xdist is not installed");
    }
    let work = tempfile::tempdir()?;
    fs::create_dir(work.path().join("kernels"))?;
    fs::write(work.path().join("test_dying.py"), DYING)?;
    let paths = std::env::join_paths([root().join("tools/python/src"), packages])?;
    let output = Command::new(python.trim())
        .args(["-m", "pytest", "-p", "ptxcheck.pytest_plugin", "--numprocesses=1"])
        .args([
            "--ptxcheck-dir",
            "kernels",
            "--ptxcheck-option=--level=PTX407=warning",
        ])
        .current_dir(work.path())
        .env("PYTHONPATH", paths)
        .env("PTXCHECK_BIN", binary::path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    for wanted in [
        "crashed while running 'test_dying.py::test_that_dies'",
        "(kernel k) [PTX407]",
        "1 module of device code checked: 0 errors, 1 warning",
    ] {
        if !said.contains(wanted) {
            return Err(format!("`{wanted}` is not in\n{said}").into());
        }
    }
    Ok(Completion::Completed)
}

/// The line of a test's source that the finding is about.
fn marked(folder: &Path, file: &str) -> Result<String, Failed> {
    let path = folder.join(file);
    let text = fs::read_to_string(&path)?;
    let line = text.lines().position(|line| line.contains("# PTX407"));
    let line = line.ok_or("a line is marked")? + 1;
    Ok(format!("{}:{line}:", path.display()))
}

fn try_tests(file: &str, options: &[&str]) -> Result<Completion, Failed> {
    let installed = root().join(".toolchain/python-ir");
    let Ok(python) = fs::read_to_string(installed.join("python")) else {
        return missing::skip("Triton and Numba are not installed");
    };
    let packages = installed.join("packages");
    if !packages.join("pytest").exists() {
        return missing::skip("pytest is not installed");
    }
    let cuda = root().join(".toolchain/nvcc/cuda");
    if !cuda.exists() {
        return missing::skip("Numba wants libraries that come with nvcc");
    }
    let package = root().join("tools/python");
    let folder = package.join("tests/plugin");
    let work = tempfile::tempdir()?;
    let tested = |options: &[&str]| {
        let paths = std::env::join_paths([&package.join("src"), &packages]).expect("paths without a colon");
        Command::new(python.trim())
            .args([
                "-m",
                "pytest",
                "-p",
                "ptxcheck.pytest_plugin",
                "-p",
                "no:cacheprovider",
                "--rootdir",
            ])
            .arg(&folder)
            .args(options)
            .arg(folder.join(file))
            .current_dir(work.path())
            .env("PYTHONPATH", paths)
            .env("PTXCHECK_TEST_PACKAGES", &packages)
            .env("PTXCHECK_BIN", binary::path())
            .env("CUDA_HOME", &cuda)
            .env("LD_LIBRARY_PATH", cuda.join("lib"))
            .env("TRITON_CACHE_DIR", work.path().join("cache"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
    };
    fs::create_dir(work.path().join("cache"))?;
    let output = tested(options)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let context = || format!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let wrong: Vec<&str> = match file {
        "." => vec!["test_triton.py", "test_numba.py"],
        file => vec![file],
    };
    for file in &wrong {
        let place = marked(&folder, file)?;
        if !said.contains(&place) {
            return Err(format!("no finding at {place}\n{}", context()).into());
        }
    }
    // Names are as their authors know them.
    let is_numba = wrong.contains(&"test_numba.py");
    if said.contains("[abi:") || is_numba && !said.contains("(kernel test_numba::wrong(Array<int, 1, ") {
        return Err(format!("a name of Numba's is not readable\n{}", context()).into());
    }
    let failed = said.lines().filter(|line| line.starts_with("FAILED ")).count();
    if failed != wrong.len() || output.status.code() != Some(1) {
        return Err(format!("{failed} tests failed\n{}", context()).into());
    }
    // Allowed by an option, none does; and without the plugin's options nothing is checked.
    let allowed: Vec<&str> = options
        .iter()
        .copied()
        .chain(["--ptxcheck-option=-APTX407"])
        .collect();
    for options in [&allowed[..], &[]] {
        let output = tested(options)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(format!("tests fail with {options:?}\n{said}").into());
        }
    }
    Ok(Completion::Completed)
}
