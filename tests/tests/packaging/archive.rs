//! The archive that `make archive` writes: in the layout that the metadata for cargo binstall describe, with the licences of its contents;
//! and the message if parts of the program are missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use ptxcheck_tests::root;
use serde_json::Value;

use super::project::on_path;
use super::wheel::{run, wheel};

/// Names in the list of licences, one of each origin: a crate, the standard library, Debian's archives.
const LINKED: [&str; 7] = [
    "clap ",
    "zstd-sys ",
    "standard library of rustc",
    "libLLVMCore.a",
    "libz.a",
    "libzstd.a",
    "libstdc++.a",
];

/// Files of the archive beside the program, licences included.
const BESIDE: [&str; 4] = [
    "share/cmake/ptxcheck/ptxcheck-config.cmake",
    "share/ptxcheck/ptxcheck.mk",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// A template of cargo binstall with its variables replaced, for the package and program of this name.
fn expand(template: &str, name: &str, target: &str) -> String {
    let mut text = template.to_owned();
    for (variable, value) in [
        ("name", name),
        ("bin", name),
        ("version", env!("CARGO_PKG_VERSION")),
        ("target", target),
        ("binary-ext", ""),
    ] {
        text = text.replace(&format!("{{ {variable} }}"), value);
    }
    text
}

/// The target as cargo names it.
fn host() -> Result<String, String> {
    let said = run(Command::new("rustc").arg("-vV"))?.must_succeed()?;
    let mut lines = said.text.lines();
    lines
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| "rustc names no host".to_owned())
}

/// The entries of a package's manifest for cargo binstall.
fn metadata(name: &str) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let packages = document["packages"].as_array();
    let program = packages
        .into_iter()
        .flatten()
        .find(|package| package["name"] == name)
        .ok_or_else(|| format!("cargo knows no package {name}"))?;
    Ok(program["metadata"]["binstall"].clone())
}

/// Unpacked, the programs are where cargo binstall looks, with all that belongs to them.
pub(super) fn layout() -> Result<(), String> {
    wheel()?;
    let made = run(Command::new(on_path("make")?)
        .args(["--no-print-directory", "archive"])
        .current_dir(root()))?
    .must_succeed()?;
    let archive = made.text.lines().find(|line| line.ends_with(".tar.gz"));
    let archive = root().join(archive.ok_or("make prints no archive")?);
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let target = host()?;
    let place = |package: &str| {
        let binstall = metadata(package)?;
        let text = |key: &str| {
            binstall[key]
                .as_str()
                .map(|template| expand(template, package, &target))
        };
        let url = text("pkg-url").ok_or("there is no pkg-url")?;
        if text("pkg-fmt").as_deref() != Some("tgz") || url.rsplit('/').next() != Some(&name) {
            return Err(format!("cargo binstall looks for {url}, and there is {name}"));
        }
        text("bin-dir").ok_or_else(|| "there is no bin-dir".to_owned())
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    run(Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(folder.path()))?
    .must_succeed()?;
    let program = folder.path().join(place("ptxcheck")?);
    let reader = folder.path().join(place("ptxcheck-llvm")?);
    run(Command::new(&program)
        .args(["--version", "--verbose"])
        .env_remove("PTXCHECK_LLVM"))?
    .must_succeed()?
    .has(concat!("ptxcheck ", env!("CARGO_PKG_VERSION")))?
    .has(&format!("LLVM IR: read by LLVM 22, by `{}`", reader.display()))?;
    let unpacked = program.parent().and_then(Path::parent).unwrap_or(folder.path());
    for file in BESIDE {
        if !unpacked.join(file).is_file() {
            return Err(format!("the archive has no {file}"));
        }
    }
    let cmake = unpacked.join("share/cmake/ptxcheck");
    run(Command::new(&program).arg("--cmake-dir"))?
        .must_succeed()?
        .has(&cmake.to_string_lossy())?;
    licences(&unpacked.join("LICENSES-OF-OTHERS"))
}

/// The list of licences names all that is linked, and no folder of the machine that built it.
pub(super) fn licences(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    for part in LINKED {
        if !text
            .lines()
            .any(|line| line.starts_with(part) || line.starts_with(&format!("the {part}")))
        {
            return Err(format!("{} does not name {part}", file.display()));
        }
    }
    if text.contains(&root().display().to_string()) {
        return Err(format!("{} has the path of the repository in it", file.display()));
    }
    Ok(())
}

/// A compiler that knows no archives, no compiler, and an LLVM without archives: the build stops at once and says all that is missing.
pub(super) fn missing_parts() -> Result<(), String> {
    on_path("llvm-config-22")?;
    wheel()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = |name: &str, text: &str| {
        let place = folder.path().join(name);
        fs::write(&place, format!("#!/bin/sh\n{text}\n")).map_err(|error| error.to_string())?;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&place, mode).map_err(|error| error.to_string())?;
        Ok::<_, String>(place)
    };
    let build = |variable: &str, value: &Path| {
        let mut command = Command::new(root().join("tools/python/wheel.sh"));
        run(command.arg(folder.path().join("out")).env(variable, value))?.must_fail()
    };
    let archives = "there is no libz.a (zlib1g-dev of Debian), libzstd.a (libzstd-dev of Debian), libstdc++.a (g++ of Debian)";
    let compiler = script("c++", "echo \"${1#-print-file-name=}\"")?;
    build("CXX", &compiler)?.has("skipped: ")?.has(archives)?;
    build("CXX", &folder.path().join("none"))?.has(archives)?;
    let config = script("llvm-config", "[ \"$1\" = --version ] && echo 22.1.0")?;
    build("LLVM_CONFIG", &config)?.has("there is no archive of LLVM 22 (llvm-22-dev of Debian)")?;
    Ok(())
}
