//! `audit` and `extract` as programs: tables, policies, documents, files.

use std::fs;

use ptxcheck_tests::fatbin::{Elf, Entry, Packing, container};
use ptxcheck_tests::{binary, schema};

use super::{audit, clean, folder, run_in};

#[test]
fn images_are_extracted() {
    let text = clean("sm_90", "k", "");
    let cubin = Elf::cubin(80, &[("k", &[])]).bytes();
    let fat = container(&[
        Entry::ptx(90, &text).packed(Packing::Zstd),
        Entry::cubin(80, cubin.clone()),
        Entry::ptx(90, &text).packed(Packing::Lz4),
    ]);
    let folder = folder(&[
        ("x.so", &Elf::host(3).section(".nv_fatbin", fat).bytes()),
        ("none.so", &Elf::host(3).bytes()),
    ]);
    let output = run_in(&folder, &["extract", "x.so", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "00000.sm_90.ptx\n00001.sm_80.cubin\n00002.sm_90.ptx\n"
    );
    assert_eq!(
        fs::read(folder.path().join("out/00000.sm_90.ptx")).unwrap(),
        text.as_bytes()
    );
    assert_eq!(
        fs::read(folder.path().join("out/00001.sm_80.cubin")).unwrap(),
        cubin
    );
    let output = run_in(&folder, &["extract", "x.so", "-o", "ptx", "--kind", "ptx"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("ptx")).unwrap().count(), 2);
    assert_eq!(
        run_in(&folder, &["extract", "none.so", "-o", "out"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn the_policy_comes_from_the_nearest_file() {
    let fat = container(&[Entry::ptx(90, &clean("sm_90", "k", ""))]);
    let folder = folder(&[
        ("x.fatbin", &fat),
        ("ptxcheck.toml", b"[audit]\nrequire-sm = [\"90\"]\n"),
    ]);
    fs::create_dir(folder.path().join("deeper")).unwrap();
    let run = |args: &[&str]| {
        let mut command = binary::command();
        command
            .current_dir(folder.path().join("deeper"))
            .arg("audit")
            .args(args)
            .arg("../x.fatbin");
        command.output().unwrap()
    };
    assert_eq!(run(&[]).status.code(), Some(1));
    fs::write(folder.path().join("other.toml"), "").unwrap();
    assert_eq!(run(&["--config", "../other.toml"]).status.code(), Some(0));
    fs::write(
        folder.path().join("ptxcheck.toml"),
        "[audit]\nrequire-ms = [\"90\"]\n",
    )
    .unwrap();
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("ptxcheck.toml:2:1: ") && said.contains("did you mean `require-sm`?"),
        "{said}"
    );
}

#[test]
fn audits_print_tables() {
    let fat = container(&[
        Entry::ptx(75, &clean("sm_75", "_Z1kv", "")),
        Entry::ptx(90, &clean("sm_90", "_Z1lv", "")),
    ]);
    let folder = folder(&[("x.fatbin", &fat)]);
    let text = String::from_utf8(run_in(&folder, &["audit", "x.fatbin"]).stdout).unwrap();
    for part in [
        "2 images",
        "ptx   sm_75",
        "2 of 2 kernels are not in the images of all targets",
        "k()",
        "PTX502",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let (_, document) = audit(&fat, &[]);
    let kernels = document["inputs"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 2);
    assert_eq!(
        (&kernels[0]["demangled"], &kernels[0]["ptx"][0]),
        (&"k()".into(), &"sm_75".into())
    );
}

/// The two documents share what they share.
#[test]
fn the_schemas_agree() {
    let (check, audit) = (schema::read("check-v2"), schema::read("audit-v2"));
    for name in [
        "image",
        "error",
        "finding",
        "location",
        "source",
        "frame",
        "related",
        "suppression",
        "summary",
    ] {
        assert_eq!(check["$defs"][name], audit["$defs"][name], "{name}");
    }
}
