//! The example of an audit finds what a file lacks.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

#[path = "../../examples/audit.rs"]
#[allow(dead_code, reason = "its `main`")]
mod example;

use ptxcheck_passes::{Bytes, Input, check};

fn codes(text: &str) -> (Vec<&'static str>, Vec<String>) {
    let input = Input {
        name: "k.ptx".to_owned(),
        bytes: Bytes::Memory(text.into()),
    };
    let outcome = check(vec![input], &example::settings().unwrap());
    let codes = outcome.findings.iter().map(|finding| finding.rule.code);
    (codes.collect(), example::lines(&outcome))
}

#[test]
fn ptx_alone_has_no_machine_code() {
    let (codes, lines) = codes(".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n");
    assert_eq!(codes, ["PTX501"], "{lines:?}");
    assert!(lines[0].starts_with("k.ptx: PTX"), "{lines:?}");
    assert!(lines[1].ends_with("[PTX501]"), "{lines:?}");
}

#[test]
fn ptx_of_a_newer_toolkit_is_not_for_the_driver() {
    let (codes, lines) = codes(".version 9.1\n.target sm_90\n.visible .entry k() { ret; }\n");
    assert_eq!(codes.len(), 2, "{lines:?}");
}
