//! Debug data: items of sections, strings at labels, and clang's comments.

#![allow(clippy::unwrap_used)]

use ptxcheck_ptx_parser::ast::StatementKind;
use ptxcheck_ptx_parser::debug_info::{Frame, Item, Strings, Value, frames, items, string_at_label};
use ptxcheck_ptx_parser::parse;

const SECTIONS: &[u8] = b".section .debug_str {\n$L__info_string0:\n.b8 95 // _\n.b8 90, 0x33\n.b8 0\n$L__info_string1:\n.b8 \
                          97\n.b8 0\n.b8 98\n}\n.section .debug_info {\n.b32 .debug_abbrev\n.b64 $L__func_begin0+8\n.b32 \
                          $L__a-$L__b\n.b16 -1\n}\n";

#[test]
fn strings_are_found_by_label_and_offset() {
    let tree = parse(SECTIONS).unwrap();
    assert!(tree.errors().is_empty());
    assert_eq!(string_at_label(&tree, b"$L__info_string0").unwrap(), b"_Z3");
    assert_eq!(string_at_label(&tree, b"$L__info_string0+1").unwrap(), b"Z3");
    let strings = Strings::new(&tree);
    assert_eq!(strings.at_label(b"$L__info_string1").unwrap(), b"a");
    for absent in [
        &b"$L__info_string2"[..],
        b"$L__info_string1+2",
        b"$L__info_string1+99",
        b"",
        b"5",
    ] {
        assert_eq!(strings.at_label(absent), None);
    }
}

#[test]
fn items_are_labels_and_values() {
    let tree = parse(SECTIONS).unwrap();
    let values: Vec<_> = items(&tree, &tree.sections()[1])
        .map(|item| match item {
            Item::Data { width, mut values } => (width, values.next().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        values,
        [
            (4, Value::Label(b".debug_abbrev", 0)),
            (8, Value::Label(b"$L__func_begin0", 8)),
            (4, Value::Difference(b"$L__a", b"$L__b")),
            (2, Value::Integer(u64::MAX)),
        ]
    );
}

#[test]
fn comments_of_clang_are_frames() {
    let frame = |file: &'static str, line, column| Frame {
        file: file.as_bytes(),
        line,
        column,
    };
    assert_eq!(frames(b"// a.cu:4:3"), [frame("a.cu", 4, 3)]);
    assert_eq!(
        frames(b"// a.cu:1:84 @[ a.cu:2:84 ]"),
        [frame("a.cu", 1, 84), frame("a.cu", 2, 84)]
    );
    assert_eq!(
        frames(b"// C:/my dir/a.cuh:1:2 @[ b.cu:3 @[ c d.cu:5:6 ] ]"),
        [
            frame("C:/my dir/a.cuh", 1, 2),
            frame("b.cu", 3, 0),
            frame("c d.cu", 5, 6)
        ]
    );
    for other in [
        &b"// -- Begin function f"[..],
        b"//",
        b"/* a.cu:1:2 */",
        b"// 1:2:x",
        b"// :1:2",
    ] {
        assert_eq!(frames(other), [], "{}", other.escape_ascii());
    }
}

#[test]
fn comments_belong_to_the_statement_on_their_line() {
    let source = b".entry k() {\n.loc 1 4 3 \t// a.cu:4:3\nret; // one\n/* other */ exit;\n}\n";
    let tree = parse(source).unwrap();
    let comments: Vec<_> = tree
        .statements()
        .iter()
        .filter(|statement| statement.kind() != StatementKind::Function)
        .map(|statement| {
            tree.comment_after(statement.span().end)
                .map(|comment| tree.text(comment))
        })
        .collect();
    assert_eq!(comments, [Some(&b"// a.cu:4:3"[..]), Some(b"// one"), None]);
}
