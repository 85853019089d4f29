//! Releases that an audit has a client download, and inputs that are not there.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::{Command, Output};

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::packing::{Tar, ZipMember, bzip2, conda, zip};
use ptxcheck_tests::{binary, schema};
use serde_json::Value;
use tempfile::TempDir;

const KERNEL: &str =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.sync 0;\n\tret;\n}\n";

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// An audit of a release, with these variables; the cache is in the folder, and no other client than those there is found.
#[cfg(unix)]
fn audit(folder: &TempDir, release: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(binary::path())
        .current_dir(folder.path())
        .args(["audit", release])
        .env("PTXCHECK_CACHE", folder.path().join("cache"))
        .env("ASKED", folder.path().join("asked"))
        .env("PACKAGES", folder.path())
        .env_remove("PTXCHECK_PIP")
        .env_remove("PTXCHECK_CONDA")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// A client that copies a wheel, and notes that it was asked.
#[cfg(unix)]
const PIP: &str = r#"#!/bin/sh
echo "$@" >> "$ASKED"
for word in "$@"; do [ "$last" = --dest ] && dest=$word; last=$word; done
[ "$last" = x==1.0 ] || { echo "ERROR: No matching distribution found for $last" >&2; exit 1; }
cp "$PACKAGES/wheel" "$dest/x-1.0-py3-none-any.whl"
"#;

#[cfg(unix)]
#[test]
fn a_release_is_downloaded_once_by_the_client() {
    let wheel = zip(&[ZipMember::new("x/k.ptx", KERNEL.as_bytes())]);
    let folder = folder(&[("wheel", &wheel), ("pip", PIP.as_bytes())]);
    let audit = |release: &str, client: &str| audit(&folder, release, &[("PTXCHECK_PIP", client)]);
    for client in ["sh ./pip", "sh ./pip", "false"] {
        let output = audit("pypi:X==1.0", client);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(
            text.starts_with("x-1.0-py3-none-any.whl: compiled by the driver on 9.0"),
            "{text}"
        );
    }
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 1, "{asked}");
    assert!(
        asked.starts_with("download --no-deps --only-binary :all:"),
        "{asked}"
    );
    // The client's own message, and no trace in the cache.
    let output = audit("pypi:x==2.0", "sh ./pip");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("No matching distribution found for x==2.0"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_dir(folder.path().join("cache/pypi")).unwrap().count(), 1);
    for (release, client, problem) in [
        ("pypi:x", "sh ./pip", "names no release"),
        ("pypi:--help==1", "sh ./pip", "names no release"),
        ("pypi:y==1.0", "./absent", "can't be started"),
        ("pypi:y==1.0", "", "PTXCHECK_PIP is empty"),
    ] {
        let output = audit(release, client);
        assert_eq!(output.status.code(), Some(2), "{release}");
        assert!(stderr(&output).contains(problem), "{}", stderr(&output));
    }
}

/// A client that leaves packages of several releases in its cache and one of them unpacked, as conda does, and notes what it was asked.
#[cfg(unix)]
const CONDA: &str = r#"#!/bin/sh
echo "$@" >> "$ASKED"
for last in "$@"; do :; done
case "$last" in
x==1.0 | x=1.0=cuda12_0) ;;
*) echo "PackagesNotFoundError: $last is not available from current channels"; exit 1 ;;
esac
mkdir -p "$CONDA_PKGS_DIRS/x-1.0-cuda12_0/x"
cp "$PACKAGES/package.conda" "$CONDA_PKGS_DIRS/x-1.0-cuda12_0.conda"
cp "$PACKAGES/package.conda" "$CONDA_PKGS_DIRS/x-1.0.1-cuda12_0.conda"
cp "$PACKAGES/package.conda" "$CONDA_PKGS_DIRS/x-1.0-cuda12_0/x/inner.conda"
"#;

/// A client of the older format, which puts the packages of each channel into a folder.
#[cfg(unix)]
const MICROMAMBA: &str = r#"#!/bin/sh
echo "$@" >> "$ASKED"
mkdir -p "$CONDA_PKGS_DIRS/https/channel/linux-64"
cp "$PACKAGES/package.tar.bz2" "$CONDA_PKGS_DIRS/https/channel/linux-64/x-1.0-0.tar.bz2"
"#;

#[cfg(unix)]
fn executable(folder: &TempDir, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_conda_release_is_downloaded_once_by_the_client() {
    let tar = Tar::default().file("lib/k.ptx", KERNEL.as_bytes()).end();
    let folder = folder(&[("package.conda", &conda(&tar)), ("client", CONDA.as_bytes())]);
    let audit = |release: &str, client: &str| audit(&folder, release, &[("PTXCHECK_CONDA", client)]);
    executable(&folder, "client");
    for client in ["./client --channel local", "./client", "false"] {
        let output = audit("conda:x==1.0", client);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(
            text.starts_with("x-1.0-cuda12_0.conda: compiled by the driver on 9.0"),
            "{text}"
        );
    }
    let output = audit("conda:x==1.0=cuda12_0", "./client");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let first = "create --yes --quiet --download-only --no-deps --channel local --prefix ";
    assert!(
        asked[0].starts_with(first) && asked[0].ends_with(" x==1.0"),
        "{asked:?}"
    );
    assert!(asked[1].ends_with(" x=1.0=cuda12_0"), "{asked:?}");
    // What the client unpacked does not stay.
    let kept = |release: &str| {
        let entries = fs::read_dir(folder.path().join("cache/conda").join(release)).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept("x-1.0"), ["x-1.0-cuda12_0.conda"]);
    assert_eq!(kept("x-1.0-cuda12_0"), ["x-1.0-cuda12_0.conda"]);
    let output = audit("conda:x==2.0", "./client");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("did not download x==2.0: PackagesNotFoundError: x==2.0 is not available"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        fs::read_dir(folder.path().join("cache/conda")).unwrap().count(),
        2
    );
    for (release, client, problem) in [
        ("conda:x=1.0", "./client", "names no release"),
        ("conda:x==1.0=a=b", "./client", "names no release"),
        ("conda:y==1.0", "./absent", "PTXCHECK_CONDA names another client"),
        (
            "conda:y==1.0",
            "true",
            "the client downloaded no package of y==1.0",
        ),
    ] {
        let output = audit(release, client);
        assert_eq!(output.status.code(), Some(2), "{release}");
        assert!(stderr(&output).contains(problem), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn the_first_conda_client_that_is_there_is_asked() {
    let tar = Tar::default().file("lib/k.ptx", KERNEL.as_bytes()).end();
    let folder = folder(&[
        ("package.tar.bz2", &bzip2(&tar)),
        ("bin/micromamba", MICROMAMBA.as_bytes()),
        ("none/file", b""),
    ]);
    executable(&folder, "bin/micromamba");
    let path = |name: &str| {
        let own = folder.path().join(name);
        // The stand-in needs these.
        format!("{}:/usr/bin:/bin", own.to_str().unwrap())
    };
    let output = audit(&folder, "conda:x==1.0", &[("PATH", &path("bin"))]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("x-1.0-0.tar.bz2: compiled by the driver on 9.0"));
    let none = folder.path().join("none");
    let output = audit(&folder, "conda:y==1.0", &[("PATH", none.to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("none of `conda`, `mamba`, `micromamba`") && said.contains("install one of them"),
        "{said}"
    );
}

#[test]
fn a_missing_input_of_an_audit_is_said_first() {
    let wheel = zip(&[ZipMember::new("x/k.ptx", KERNEL.as_bytes())]);
    let folder = folder(&[("a.whl", &wheel)]);
    let output = run_in(&folder, &["audit", "a.whl", "missing.whl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("ptxcheck: `missing.whl`: "),
        "{}",
        stderr(&output)
    );
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("missing.whl: cannot read it: "), "{text}");
    assert!(
        lines[1].starts_with("a.whl: compiled by the driver on 9.0"),
        "{text}"
    );

    let output = run_in(&folder, &["audit", "a.whl", "missing.whl", "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stdout(&output);
    let document: Value = serde_json::from_str(&text).unwrap();
    let problems = schema::audit_problems(&document);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(document["unread"][0]["input"], "missing.whl");
    assert_eq!(document["unread"].as_array().unwrap().len(), 1);
    assert!(text.find("\"unread\"") < text.find("\"inputs\""), "{text}");

    let output = run_in(
        &folder,
        &["audit", "a.whl", "missing.whl", "--format", "markdown"],
    );
    assert!(
        stdout(&output).contains("### Not read\n\n* `missing.whl`: "),
        "{}",
        stdout(&output)
    );

    let output = run_in(&folder, &["audit", "a.whl", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (document["unread"].as_array().unwrap().len(), output.status.code()),
        (0, Some(0))
    );
}
