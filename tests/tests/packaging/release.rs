//! The files that `make release` writes, and the ways to run ptxcheck from a folder of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ptxcheck_tests::root;
use serde_json::Value;
use tempfile::TempDir;

use super::project::on_path;
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

/// `uvx ptxcheck` from the folder as an index, without any other.
pub(super) fn run_by_uvx() -> Result<(), String> {
    let uvx: PathBuf = root().join(".toolchain/uv/bin/uvx");
    if !uvx.is_file() {
        return Err("uv is not installed".to_owned());
    }
    let folder = release()?;
    let cache = tempfile::tempdir().map_err(|error| error.to_string())?;
    let uvx = |arguments: &[&str]| {
        let mut command = Command::new(&uvx);
        command
            .env("UV_CACHE_DIR", cache.path())
            .args(["--offline", "--no-index", "--find-links"])
            .arg(folder.path())
            .arg("ptxcheck")
            .args(arguments)
            .current_dir(root());
        run(&mut command)
    };
    uvx(&["--version"])?
        .must_succeed()?
        .has(concat!("ptxcheck ", env!("CARGO_PKG_VERSION")))?;
    uvx(&["corpus/demo"])?.must_fail()?.has("PTX401")?;
    Ok(())
}
