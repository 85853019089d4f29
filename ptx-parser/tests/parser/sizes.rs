//! Sizes and alignments of types and declared variables.

#![allow(clippy::unwrap_used)]

use crate::common::{accept, errors};
use ptxcheck_ptx_parser::ast::ScalarType;

#[test]
fn every_type_has_one_name_and_the_size_that_the_name_says() {
    let mut names = std::collections::BTreeSet::new();
    for &scalar in ScalarType::ALL {
        let name = scalar.name();
        assert!(names.insert(name), "{name} twice");
        assert_eq!(ScalarType::named(name.as_bytes()), Some(scalar));
        if let Some(bytes) = scalar.bytes() {
            assert_eq!(Some(bytes * 8), scalar.bits(), "{name}");
            assert!(bytes.is_power_of_two(), "{name}");
        }
        assert_eq!(scalar.bits().is_none(), scalar.is_opaque(), "{name}");
        // `.u16x2` is 16 bits, twice.
        let digits = |text: &str| text.parse::<u32>().ok();
        let (element, count) = name[2..]
            .split_once('x')
            .unwrap_or_else(|| (name[1..].trim_start_matches(char::is_alphabetic), "1"));
        let element = element.trim_start_matches(char::is_alphabetic);
        if let (Some(element), Some(count)) = (digits(element), digits(count)) {
            assert_eq!(scalar.bits(), Some(element * count), "{name}");
        }
    }
    for other in [
        &b""[..],
        b".",
        b"u32",
        b".u33",
        b".U32",
        b".u32 ",
        b".\xff",
        b".other",
    ] {
        assert_eq!(ScalarType::named(other), None, "{}", other.escape_ascii());
    }
    assert_eq!((ScalarType::Other.bits(), ScalarType::Other.name()), (None, ""));
}

#[test]
fn types_smaller_than_bytes_have_bits_only() {
    for (scalar, bits) in [
        (ScalarType::Pred, 1),
        (ScalarType::B1, 1),
        (ScalarType::S4, 4),
        (ScalarType::E2M1, 4),
        (ScalarType::E3M2, 6),
    ] {
        assert_eq!((scalar.bits(), scalar.bytes()), (Some(bits), None), "{scalar:?}");
    }
}

/// Size and alignment of the one variable that `text` declares.
#[track_caller]
fn check(text: &str, bytes: Option<u64>, alignment: Option<u32>) {
    let source = format!("{text};\n");
    let tree = accept(source.as_bytes());
    let [variable] = tree.variables() else {
        panic!("{} variables in {text}", tree.variables().len());
    };
    assert_eq!(
        (variable.bytes(), variable.alignment()),
        (bytes, alignment),
        "for {text}"
    );
}

#[test]
fn scalars_vectors_and_arrays() {
    check(".global .u8 x", Some(1), Some(1));
    check(".global .f16x2 x", Some(4), Some(4));
    check(".global .b128 x", Some(16), Some(16));
    check(".global .v2 .f64 x", Some(16), Some(16));
    check(".shared .v4 .b16 x", Some(8), Some(8));
    check(".local .b32 x[3]", Some(12), Some(4));
    check(".local .v2 .b32 x[3][5]", Some(120), Some(8));
    check(".global .b32 x[0]", Some(0), Some(4));
    check(".reg .b64 %rd<1000>", Some(8), Some(8));
}

#[test]
fn a_written_alignment_counts() {
    check(".global .align 16 .b8 x[12]", Some(12), Some(16));
    check(".global .align 2 .b64 x", Some(8), Some(2));
    check(".global .align 3 .b64 x", Some(8), Some(3));
    check(".global .align 4294967295 .b8 x", Some(1), Some(u32::MAX));
    check(".global .align 8 .texref x", None, Some(8));
}

#[test]
fn no_size_where_none_is_known() {
    check(".extern .shared .align 8 .b32 x[]", None, Some(8));
    check(".extern .global .u16 x[][4]", None, Some(2));
    check(".global .texref x", None, None);
    check(".reg .pred %p<4>", None, None);
    check(".reg .novel x", None, None);
}

#[test]
fn hostile_sizes() {
    check(".global .b8 x[0xFFFFFFFFFFFFFFFF]", Some(u64::MAX), Some(1));
    check(".global .b16 x[0x7FFFFFFFFFFFFFFF]", Some(u64::MAX - 1), Some(2));
    check(".global .b16 x[0x8000000000000000]", None, Some(2));
    check(".global .v8 .b128 x[0x0200000000000000]", None, Some(128));
    check(".global .b8 x[0x8000000000000000][0]", Some(0), Some(1));
    assert_eq!(
        errors(b".global .b8 x[0x8000000000000000][2];"),
        ["1:35: expected an array of fewer than 2^64 elements, found `2`"]
    );
}

#[test]
fn registers_of_a_range() {
    let tree = accept(b".reg .b32 %r<5>, a, %s<0>, %t<4294967294>;");
    let counts: Vec<_> = tree.variables().iter().map(|one| one.registers()).collect();
    assert_eq!(counts, [Some(5), None, Some(0), Some(u32::MAX - 1)]);
}
