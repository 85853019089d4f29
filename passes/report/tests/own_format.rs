//! A format in a crate of its own is rendered like ours, and ours are rendered through the same trait.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

#[path = "../examples/own_format.rs"]
#[allow(dead_code, reason = "its `main`")]
mod example;

use ptxcheck_passes::{Bytes, Input, Outcome, Settings, check};
use ptxcheck_report::renderers::RENDERERS;

const TEXT: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
	bar.warp.sync 0;
	ret;
}
";

fn outcome() -> Outcome {
    let input = Input {
        name: "k.ptx".to_owned(),
        bytes: Bytes::Memory(TEXT.as_bytes().to_vec()),
    };
    check(vec![input], &Settings::default())
}

#[test]
fn a_format_of_ones_own_is_a_renderer() {
    assert_eq!(
        example::rendered(&outcome(), &example::Counts).unwrap(),
        "PTX407\t1\n"
    );
}

/// A shard has no text without its data; each other format has one.
#[test]
fn each_format_renders_a_run() {
    let outcome = outcome();
    for renderer in RENDERERS {
        let name = renderer.format().name;
        let text = example::rendered(&outcome, renderer);
        assert_eq!(text.is_ok_and(|text| !text.is_empty()), name != "shard", "{name}");
    }
}
