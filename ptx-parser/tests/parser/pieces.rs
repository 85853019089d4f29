//! A module that is read in pieces has the tree of one that is read from beginning to end.

#![allow(clippy::unwrap_used)]

use crate::common::HEADER;
use ptxcheck_ptx_parser::{Piece, Tree, parse, parse_in_pieces};

/// Reads the pieces from the last to the first, and counts them.
fn in_pieces(source: &[u8], count: usize) -> (Tree<'_>, usize) {
    let mut found = 1;
    let tree = parse_in_pieces(source, count, |pieces| {
        found = pieces.len();
        pieces.iter_mut().rev().for_each(Piece::read);
    });
    (tree.unwrap(), found)
}

/// The number of pieces, for a source whose trees agree however many were asked for.
#[track_caller]
fn agree(source: &str) -> usize {
    let whole = format!("{:?}", parse(source.as_bytes()).unwrap());
    let mut most = 0;
    for count in [1, 2, 3, 7, 50] {
        let (tree, found) = in_pieces(source.as_bytes(), count);
        assert_eq!(format!("{tree:?}"), whole, "{count} pieces of {source}");
        assert!(found <= count.max(1), "{found} of {count}");
        most = most.max(found);
    }
    most
}

fn function(number: usize) -> String {
    format!(
        ".visible .entry k{number}(.param .b64 p)\n.maxntid 32, 1, 1\n{{\n.reg .b32 %r<9>;\n.loc 1 {number} 2, function_name $L, inlined_at 1 2 3\n\
         {{\n.local .b8 a[4], b[8];\n@!%p1 bra L;\nL: add.s32 %r1, %r2, {{1, %r3}};\n}}\n\
         P: .callprototype (.param .b32 r) _ (.param .b32 a) .noreturn;\nret;\n}}\n\
         // The next.\n.file {number} \"a.cu\"\n.section .x{number} {{ .b8 1 }}\n.global .b32 g{number}[2] = {{1, generic(g{number})}};\n"
    )
}

#[test]
fn pieces_make_the_same_tree() {
    let functions: String = (0..40).map(function).collect();
    // Functions that other things than functions follow are not cut off.
    assert_eq!(agree(&format!("{HEADER}{functions}")), 1);
    let functions = functions
        .replace(".file", "// .file")
        .replace(".section", "// .section");
    assert!(agree(&format!("{HEADER}{functions}")) > 30);
    assert!(agree(&format!("\u{feff}{HEADER}{functions}\0\0\0")) > 30);
    let with_more = format!(
        "{HEADER}{functions}.file 7 \"b\"\n.section .y {{ }}\n.entry last() {{ oops oops }}\n.func f() {{"
    );
    assert!(agree(&with_more) > 30);
}

/// Text that looks like the end of a function and is none.
#[test]
fn wrong_cuts_are_noticed() {
    for middle in [
        "/*\n}\n.visible */",
        ".pragma \"\n}\n.visible\";",
        "{\n}\n.visible .entry l() { ret; }",
        "bad bad\n}\n.visible .entry l() { ret; }",
        "// \"\n}\n.visible .entry l() { ret; /*",
        "\n}\n}\n.visible .entry l() { ret; ",
        "@@DWARF \"\n}\n.visible .entry l() { ret; ",
    ] {
        let text =
            format!("{HEADER}.entry k() {{ ret;\n{middle}\nret;\n}}\n.visible .entry m() {{\n ret; }}\n");
        agree(&text);
        agree(&format!("{text}\n}}\n.func f() {{ ret; }}\n}}\n.func g();\n"));
    }
}

#[test]
fn a_text_of_braces_is_cut_quickly() {
    agree("\n}/*".repeat(20_000).as_str());
    agree("\n}".repeat(20_000).as_str());
}
