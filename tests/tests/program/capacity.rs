//! `ptxcheck capacity`: the sizes from which on indexes wrap in 32 bits, in what compilers make of `corpus/cuda/narrow_index.cu` and of its
//! counterpart, whose indexes have room.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::path::PathBuf;

use ptxcheck_tests::cases::Case;
use ptxcheck_tests::outputs::{Output, Outputs, committed_of};
use ptxcheck_tests::{binary, root, schema};
use serde_json::Value;

/// The committed outputs of a source in a folder, and their tags: `nvcc-O3`, `clang-G`, `clang-ir-O2`.
fn outputs(source: &str) -> (tempfile::TempDir, Vec<(PathBuf, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let case = Case::read(&root().join(format!("corpus/cuda/{source}.cu"))).unwrap();
    let outputs = Outputs::read().unwrap();
    let written = committed_of(&case).into_iter().map(|output: Output| {
        let content = outputs.content(&output).unwrap();
        let ending = if output.is_ir() { "ll" } else { "ptx" };
        let tag = format!("{}-{}", output.compiler, output.mode);
        let file = folder.path().join(format!("{tag}.{ending}"));
        fs::write(&file, content).unwrap();
        (file, tag)
    });
    let written = written.collect();
    (folder, written)
}

fn document(args: &[&str]) -> Value {
    let output = binary::run(["capacity", "--format", "json"].iter().chain(args));
    assert!(output.status.success(), "{args:?}: {output:?}");
    let document = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema::capacity_problems(&document), [""; 0]);
    document
}

/// The indexes of the kernel that is called so in C++.
fn indexes<'d>(document: &'d Value, kernel: &str) -> Vec<&'d Value> {
    let kernels = document["kernels"].as_array().unwrap().iter();
    let named = kernels.filter(|one| {
        let name = one["kernel_demangled"].as_str().unwrap();
        name.starts_with(&format!("{kernel}("))
    });
    named.flat_map(|one| one["indexes"].as_array().unwrap()).collect()
}

/// The least values at which indexes of a kernel wrap, with the kinds of what decides.
fn least(document: &Value, kernel: &str) -> Vec<(String, u64)> {
    let known = indexes(document, kernel).into_iter().filter_map(|index| {
        let least = index.get("least").filter(|least| !least.is_null())?;
        let kind = least["factor"]["kind"].as_str().unwrap().to_owned();
        Some((kind, least["value"].as_u64().unwrap()))
    });
    known.collect()
}

/// The bounds that public reports state, to the unit.
#[test]
fn sizes_are_those_of_public_reports() {
    let (_folder, files) = outputs("narrow_index");
    let args = [
        "--assume",
        "*gated_rows*:2 = 17408",
        "--assume",
        "*scaled_rows*:2 = 4096",
        "--launch-block",
        "256",
    ];
    for (file, tag) in &files {
        let document = document(&[&args[..], &[file.to_str().unwrap()]].concat());
        let has = |kernel: &str, kind: &str, value: u64| {
            let known = least(&document, kernel);
            assert!(
                known.contains(&(kind.to_owned(), value)),
                "{tag} {kernel}: {known:?}\n{document:#}"
            );
        };
        has("gather_rows", "loaded", 239_674);
        has("gated_rows", "block-index", 61_681);
        has("scaled_rows", "block-index", 1_048_576);
        // In optimised PTX, these two are products in 64 bits: a signed integer that overflows is undefined.
        if is_optimised(tag) {
            assert_eq!(indexes(&document, "masked_rows").len(), 0, "{tag}");
        } else {
            has("masked_rows", "parameter", 209_716);
            has("byte_offsets", "parameter", 536_870_913);
        }
    }
}

fn is_optimised(tag: &str) -> bool {
    tag.ends_with("O3")
}

#[test]
fn indexes_that_several_values_decide_are_formulas() {
    let (_folder, files) = outputs("narrow_index");
    for (file, tag) in &files {
        let document = document(&[file.to_str().unwrap()]);
        let rows = indexes(&document, "scaled_rows");
        assert_eq!(rows.len(), 1, "{tag}: {document:#}");
        assert!(rows[0]["least"].is_null(), "{tag}");
        assert_eq!(
            (rows[0]["limit"].as_u64(), rows[0]["elements"].as_u64()),
            (Some(1 << 32), Some(1 << 32))
        );
        if is_optimised(tag) {
            continue;
        }
        let bytes = indexes(&document, "byte_offsets");
        assert_eq!(
            (bytes[0]["elements"].as_u64(), bytes[0]["element_bytes"].as_u64()),
            (Some(1 << 29), Some(4))
        );
    }
}

#[test]
fn indexes_with_room_are_left_out() {
    let (_folder, files) = outputs("narrow_index_ok");
    for (file, tag) in &files {
        let document = document(&[file.to_str().unwrap()]);
        assert_eq!(
            document["kernels"].as_array().unwrap().len(),
            0,
            "{tag}: {document:#}"
        );
        assert!(document["kernels_read"].as_u64() > Some(30), "{tag}");
    }
}

#[test]
fn enough_elements_are_a_check() {
    let (_folder, files) = outputs("narrow_index");
    let (file, _) = files.iter().find(|(_, tag)| tag == "nvcc-G").unwrap();
    let file = file.to_str().unwrap();
    let code = |args: &[&str]| binary::run(["capacity", file].iter().chain(args)).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--min-elements", "536870912"]), Some(0));
    assert_eq!(code(&["--min-elements", "536870913"]), Some(1));
    assert_eq!(code(&["--min-elements", "many"]), Some(2));
    // A bound of the parameters that decide rules the index out.
    let text = binary::run(["capacity", file, "--assume", "*byte_offsets*:1 <= 1000000"]);
    assert!(!String::from_utf8(text.stdout).unwrap().contains("byte_offsets"));
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.txt");
    fs::write(&file, "nothing").unwrap();
    let output = binary::run(["capacity", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("no device code")
    );
    let missing = folder.path().join("missing.ptx");
    let output = binary::run(["capacity", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("missing.ptx"));
}
