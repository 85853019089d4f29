//! A container in a crate of its own is read like ours, and hostile ones do no harm.

#[path = "../../examples/own_container.rs"]
#[allow(dead_code, reason = "its `main`")]
mod example;

use ptxcheck_passes::image::{Found, Reader as _};

const TEXT: &[u8] =
    b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.warp.sync 0; ret; }\n";

/// A pack with texts at these offsets, each as long as [`TEXT`], which lies behind its header.
fn pack(offsets: &[u32]) -> Vec<u8> {
    let mut bytes = b"KPAK".to_vec();
    bytes.extend((offsets.len() as u32).to_le_bytes());
    for offset in offsets {
        bytes.extend(offset.to_le_bytes());
        bytes.extend((TEXT.len() as u32).to_le_bytes());
    }
    bytes.extend(TEXT);
    bytes
}

#[test]
fn a_container_of_ones_own_is_a_reader() {
    let outcome = example::check_pack("k.kpak", &pack(&[24, 24]));
    let findings: Vec<(&str, &str)> = outcome
        .findings
        .iter()
        .map(|finding| (&*outcome.inputs[finding.input].name, finding.rule.code))
        .collect();
    assert_eq!(findings, [("k.kpak#0", "PTX407"), ("k.kpak#1", "PTX407")]);
}

#[test]
fn a_text_outside_of_the_pack_is_no_image() {
    for bytes in [&pack(&[25])[..], &pack(&[u32::MAX]), b"KPAK\xff\xff\xff\xff"] {
        let mut found = Found::new(&|| false);
        example::Packs.read(bytes, &mut found);
        assert!(found.images().is_empty());
    }
}
