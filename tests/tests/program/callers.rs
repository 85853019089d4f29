//! Findings in a helper that is inlined into several callers: one cause where they give it the same, several where they differ.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::folder::{folder, run_in};
use serde_json::Value;

/// Kernels of a block of 32 threads that call `meet(mask)`, line 5 of `helper.cuh`, each at a line of `k.cu` with a mask.
fn module(calls: &[(&str, u32, u32)]) -> String {
    let kernels: String = calls
        .iter()
        .map(|(kernel, line, mask)| {
            format!(
                ".visible .entry {kernel}()\n.reqntid 32\n{{\n\t.loc 1 {line} 3\n\
                 \t.loc 2 5 2, function_name $L, inlined_at 1 {line} 3\n\tbar.warp.sync {mask};\n\tret;\n}}\n"
            )
        })
        .collect();
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{kernels}.file 1 \"/no/such/k.cu\"\n.file 2 \"/no/such/helper.cuh\"\n\
         .section .debug_str\n{{\n$L:\n.b8 109\n.b8 0\n}}\n"
    )
}

/// For each cause: file and line that it is shown at, and the number of its places.
fn causes(calls: &[(&str, u32, u32)], more: &[&str]) -> Vec<(String, u64, usize)> {
    let folder = folder(&[("k.ptx", module(calls).as_bytes())]);
    let output = run_in(&folder, &[&["--format", "json", "k.ptx"], more].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| {
            assert_eq!(finding["code"], "PTX403", "{finding}");
            let source = &finding["source"];
            let file = source["file"].as_str().unwrap().to_owned();
            let places = finding["places"].as_array().unwrap().len();
            (file, source["line"].as_u64().unwrap(), 1 + places)
        })
        .collect()
}

#[test]
fn callers_that_give_the_same_have_one_cause() {
    let header = "/no/such/helper.cuh".to_owned();
    let same = [("a", 20, 0xffff), ("b", 30, 0xffff)];
    assert_eq!(causes(&same, &[]), [(header.clone(), 5, 2)]);
    // One call in two instances.
    let instances = [("a", 20, 0xffff), ("b", 20, 0xff)];
    assert_eq!(causes(&instances, &[]), [(header, 5, 2)]);
}

#[test]
fn callers_that_differ_are_causes_of_their_own() {
    let at = |line, places| ("/no/such/k.cu".to_owned(), line, places);
    let differing = [("a", 20, 0xffff), ("b", 30, 0xff), ("c", 30, 0xff)];
    assert_eq!(causes(&differing, &[]), [at(20, 1), at(30, 2)]);
    // A call that is right has no finding, and says nothing.
    let one = [("a", 20, 0xffff), ("b", 30, 0xffff_ffff)];
    assert_eq!(causes(&one, &[]), [("/no/such/helper.cuh".to_owned(), 5, 1)]);
}
