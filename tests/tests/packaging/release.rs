//! The files that `make release` writes, and the ways to run ptxcheck from a folder of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ptxcheck_tests::root;
use serde_json::Value;
use tempfile::TempDir;

use super::jobs::Python;
use super::project::{CommandOutput, on_path};
use super::wheel::{run, wheel};

/// Parts of the bill of materials, one of each origin: a crate with a checksum, and an archive of Debian's.
const PARTS: [&str; 2] = ["clap", "libLLVMCore.a"];

/// A folder with the files of a release.
fn release() -> Result<TempDir, String> {
    wheel()?;
    let make = on_path("make")?;
    run(Command::new(make)
        // Of the wheel that is there.
        .args(["--no-print-directory", "--old-file=wheel", "archive"])
        .current_dir(root()))?
    .must_succeed()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    run(Command::new(root().join("tools/python/release.sh")).arg(folder.path()))?.must_succeed()?;
    Ok(folder)
}

/// Checksums are right, the bill of materials has all that is linked, and the text is that of the changelog.
pub(super) fn files() -> Result<(), String> {
    let folder = release()?;
    let check = ["--check", "--strict", "SHA256SUMS"];
    let sums = run(Command::new(on_path("sha256sum")?)
        .args(check)
        .current_dir(folder.path()))?
    .must_succeed()?;
    for end in [".whl: OK", ".tar.gz: OK", ".cdx.json: OK", "RELEASE.md: OK"] {
        sums.has(end)?;
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).map_err(|error| error.to_string());
    let version = env!("CARGO_PKG_VERSION");
    let bill: Value = serde_json::from_str(&read(&format!("ptxcheck-{version}.cdx.json"))?)
        .map_err(|error| error.to_string())?;
    let components = bill["components"].as_array().ok_or("it lists nothing")?;
    for part in PARTS {
        let component = components.iter().find(|component| component["name"] == part);
        let component = component.ok_or_else(|| format!("the bill of materials has no {part}"))?;
        let is_archive = part.ends_with(".a");
        let checksum = component["hashes"][0]["content"].as_str();
        if is_archive != checksum.is_none() {
            return Err(format!("a checksum is wrong: {component}"));
        }
    }
    let said = read("RELEASE.md")?;
    for wanted in [&*format!("# ptxcheck {version}\n"), "### Inputs", "## Files"] {
        if !said.contains(wanted) {
            return Err(format!("the text has no `{wanted}`:\n{said}"));
        }
    }
    let text = fs::read_to_string(folder.path().join(format!("ptxcheck-{version}.cdx.json")));
    if text.is_ok_and(|text| text.contains(&*root().to_string_lossy())) {
        return Err("the bill of materials names a folder of this machine".to_owned());
    }
    Ok(())
}

/// Most seconds until the first finding, from nothing but Python.
const FIRST_FINDING: Duration = Duration::from_mins(1);

/// Runs a way to a finding, prints its time, and fails if it takes too long.
#[expect(clippy::print_stdout, reason = "the time is what the test measures")]
pub(super) fn first_finding(
    way: &str,
    check: impl FnOnce() -> Result<CommandOutput, String>,
) -> Result<(), String> {
    let start = Instant::now();
    check()?.must_fail()?.has("PTX401")?;
    let taken = start.elapsed();
    println!("the first finding by {way}: {:.1} s", taken.as_secs_f64());
    if taken > FIRST_FINDING {
        return Err(format!("{way} took {} s", taken.as_secs()));
    }
    Ok(())
}

/// pip, uvx and pipx check a folder with the release as their only index, where PATH has Python alone: no cargo, no LLVM, no compiler.
pub(super) fn first_findings() -> Result<(), String> {
    let (uvx, pipx) = (
        root().join(".toolchain/uv/bin/uvx"),
        root().join(".toolchain/pipx"),
    );
    for (there, name) in [(uvx.is_file(), "uv"), (pipx.join("packages").is_dir(), "pipx")] {
        if !there {
            return Err(format!("{name} is not installed"));
        }
    }
    let release = release()?;
    let release = release.path();
    let demo = root().join("corpus/demo");
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = home.path().join("path");
    fs::create_dir_all(&path).map_err(|error| error.to_string())?;
    let system = run(Command::new(on_path("python3")?)
        .args(["-c", "import os, sys; print(os.path.realpath(sys.executable))"]))?
    .must_succeed()?;
    symlink(system.text.trim(), path.join("python3")).map_err(|error| error.to_string())?;
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", home.path()).env("PATH", &path);
        command
    };
    first_finding("pip install", || {
        let fresh = Python::new(home.path().join("venv"))?;
        run(command(&fresh.bin().join("python"))
            .args(["-m", "pip", "install", "--quiet", "--no-index", "--find-links"])
            .arg(release)
            .arg("ptxcheck"))?
        .must_succeed()?;
        let mut program = command(&fresh.bin().join("ptxcheck"));
        run(program.arg(&demo))
    })?;
    let offline = ["--offline", "--no-index", "--find-links"];
    first_finding("uvx", || {
        let mut uvx = command(&uvx);
        run(uvx.args(offline).arg(release).arg("ptxcheck").arg(&demo))
    })?;
    let files = pipx.join("files");
    first_finding("pipx run", || {
        let mut command = command(&path.join("python3"));
        command
            .args(["-m", "pipx", "run", "ptxcheck"])
            .arg(&demo)
            .env("PYTHONPATH", pipx.join("packages"))
            .env("PIP_NO_INDEX", "1")
            .env(
                "PIP_FIND_LINKS",
                format!("{} {}", release.display(), files.display()),
            );
        run(&mut command)
    })
}

/// The wheel's metadata name the licence, the authors, and the addresses that the crate's manifest names, no others.
pub(super) fn metadata() -> Result<(), String> {
    let said = run(Command::new(on_path("python3")?)
        .args([
            "-c",
            "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); \
            print(next(z.read(n).decode() for n in z.namelist() if n.endswith('.dist-info/METADATA')))",
        ])
        .arg(wheel()?))?
    .must_succeed()?;
    said.has("License-Expression: Apache-2.0 OR MIT")?
        .has("Author: The ptxcheck developers")?
        .has("Requires-Python: >=3.10")?;
    let listed = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--locked",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_slice(&listed.stdout).map_err(|error| error.to_string())?;
    let packages = document["packages"].as_array().ok_or("cargo lists no packages")?;
    let program = packages.iter().find(|package| package["name"] == "ptxcheck");
    let program = program.ok_or("cargo knows no package ptxcheck")?;
    let named: Vec<&str> = ["repository", "homepage", "documentation"]
        .iter()
        .filter_map(|key| program[key].as_str())
        .collect();
    let urls = said.text.lines().filter(|line| line.starts_with("Project-URL: "));
    for url in urls {
        let address = url.rsplit(' ').next().unwrap_or_default();
        if !named.contains(&address) {
            return Err(format!("Cargo.toml does not name {address}"));
        }
    }
    for address in named {
        said.has(address)?;
    }
    Ok(())
}
