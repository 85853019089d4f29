//! Limits for the sizes of packages and the files in them, and names that no file in a package may have (PTX531).

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::packing::{Tar, ZipMember, bzip2, conda, zip};
use ptxcheck_tests::{report, schema};
use serde_json::Value;

const KERNEL: &[u8] = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

/// The files of the packages: one with a kernel, and some that an audit does not read.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("x/k.ptx", KERNEL.to_vec()),
        ("x/core.a", vec![b'a'; 500]),
        ("x/data.bin", vec![b'b'; 3000]),
        ("x/tests/a.py", vec![b'c'; 10]),
        ("x/tests/b.py", vec![b'd'; 10]),
    ]
}

fn packed_as_zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<ZipMember> = files
        .iter()
        .map(|(name, content)| ZipMember::new(name, content))
        .collect();
    zip(&members)
}

fn packed_as_tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let tar = files
        .iter()
        .fold(Tar::default(), |tar, (name, content)| tar.file(name, content));
    tar.end()
}

/// The document of an audit.
fn audit(name: &str, bytes: &[u8], args: &[&str]) -> Value {
    let folder = folder(&[(name, bytes)]);
    let mut all = vec!["audit", "--format", "json", "-A", "PTX527"];
    all.extend(args);
    all.push(name);
    let output = run_in(&folder, &all);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = schema::audit_problems(&document);
    assert!(problems.is_empty(), "{problems:?}");
    document
}

/// Input and message of each finding.
fn found(document: &Value) -> Vec<[String; 2]> {
    let findings = report::findings(document).iter();
    findings
        .map(|finding| {
            assert_eq!(
                (&finding["code"], &finding["level"]),
                (&"PTX531".into(), &"error".into())
            );
            ["input", "message"].map(|key| finding[key].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
fn files_of_packages_are_held_to_the_policy() {
    let files = files();
    let tar = packed_as_tar(&files);
    let packages = [
        ("x-1.0-py3-none-any.whl", packed_as_zip(&files)),
        ("x.tar", tar.clone()),
        ("x.tar.bz2", bzip2(&tar)),
        ("x.conda", conda(&tar)),
    ];
    for (name, bytes) in &packages {
        let message = |args: &[&str]| -> Vec<String> {
            let found = found(&audit(name, bytes, args));
            assert!(found.iter().all(|[input, _]| input == name), "{found:?}");
            found.into_iter().map(|[_, message]| message).collect()
        };
        assert_eq!(message(&[]), [""; 0], "{name}");
        assert_eq!(
            message(&["--max-file-size", "2999"]),
            ["`x/data.bin` has 3000 bytes, and the policy allows 2999"],
            "{name}"
        );
        assert_eq!(message(&["--max-file-size", "3000"]), [""; 0], "{name}");
        assert_eq!(
            message(&["--max-file-size", "400"]),
            ["2 files in it have more than the 400 bytes that the policy allows"],
            "{name}"
        );
        assert_eq!(
            message(&["--forbid-file", "*.a", "--forbid-file", "**/tests/**"]),
            [
                "it holds `x/core.a`, which matches `*.a`",
                "it holds 2 files that match `**/tests/**`"
            ],
            "{name}"
        );
        // A pattern with a folder is for the whole path.
        assert_eq!(message(&["--forbid-file", "tests/*"]), [""; 0], "{name}");
        let size = bytes.len();
        assert_eq!(
            message(&["--max-package-size", &(size - 1).to_string()]),
            [format!(
                "the package has {size} bytes, and the policy allows {}",
                size - 1
            )],
            "{name}"
        );
        assert_eq!(
            message(&["--max-package-size", &size.to_string()]),
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn a_policy_in_a_file_says_the_same() {
    let files = files();
    let config =
        "[audit]\nmax-package-size = \"100\"\nmax-file-size = \"2K\"\nforbidden-files = [\"*.py\"]\n";
    let folder = folder(&[
        ("ptxcheck.toml", config.as_bytes()),
        ("x.whl", &packed_as_zip(&files)),
        ("k.ptx", &[KERNEL, &[b'\n'; 3000]].concat()),
    ]);
    let output = run_in(
        &folder,
        &["audit", "--format", "json", "-A", "PTX527", "x.whl", "k.ptx"],
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document["policy"]["max_package_bytes"], 100);
    assert_eq!(document["policy"]["max_file_bytes"], 2048);
    assert_eq!(document["policy"]["forbidden_files"][0], "*.py");
    let found = found(&document);
    let inputs: Vec<&str> = found.iter().map(|[input, _]| input.as_str()).collect();
    // A file that is in no package has a size alone.
    assert_eq!(inputs, ["x.whl", "x.whl", "x.whl", "k.ptx"]);
    assert!(found[3][1].starts_with("the file has 3"), "{}", found[3][1]);
    // Options replace the file.
    let args = [
        "audit",
        "-A",
        "PTX527",
        "--max-file-size",
        "1M",
        "--forbid-file",
        "*.so",
        "--max-package-size",
        "1M",
    ];
    let output = run_in(&folder, &[&args[..], &["x.whl", "k.ptx"]].concat());
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn packages_in_packages_have_the_same_limits() {
    let inner = packed_as_zip(&files());
    let outer = packed_as_zip(&[("dist/x.whl", inner.clone())]);
    let limit = (inner.len() - 1).to_string();
    let document = audit(
        "all.zip",
        &outer,
        &["--max-package-size", &limit, "--forbid-file", "*.a"],
    );
    let messages: Vec<String> = found(&document).into_iter().map(|[_, message]| message).collect();
    assert_eq!(
        messages[messages.len() - 2..],
        [
            format!(
                "the package `dist/x.whl` in it has {} bytes, and the policy allows {limit}",
                inner.len()
            ),
            "it holds `dist/x.whl!x/core.a`, which matches `*.a`".to_owned(),
        ]
    );
}

#[test]
fn a_package_without_device_code_is_held_to_the_policy() {
    let package = packed_as_zip(&[("x/core.a", vec![b'a'; 500])]);
    let document = audit("x.whl", &package, &["--forbid-file", "*.a"]);
    assert_eq!(
        found(&document),
        [["x.whl", "it holds `x/core.a`, which matches `*.a`"]]
    );
    assert_eq!(document["inputs"].as_array().unwrap().len(), 1);
}

#[test]
fn shards_say_it_once() {
    let folder = folder(&[("x.whl", &packed_as_zip(&files()))]);
    let limits = ["--forbid-file", "*.py", "-A", "PTX527"];
    for (shard, output) in [("1/2", "shard=1.shard"), ("2/2", "shard=2.shard")] {
        let args = [
            "audit",
            "x.whl",
            "--shard",
            shard,
            "--shard-members",
            "--output",
            output,
        ];
        let _ = run_in(&folder, &[&args[..], &limits].concat());
    }
    let output = run_in(&folder, &["merge", "1.shard", "2.shard", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        found(&document),
        [["x.whl", "it holds 2 files that match `*.py`"]]
    );
}
