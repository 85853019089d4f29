//! Malformed text: the exact errors, and the part of the module that is left.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use crate::common::{HEADER, accept, body, errors, kernel};
use ptxcheck_ptx_parser::limits::{MAX_ERRORS, MAX_OPERANDS};
use ptxcheck_ptx_parser::printer::{print, same};
use ptxcheck_ptx_parser::{Cause, LineIndex, Position, parse, parse_declarations};

/// A module with a bit of everything.
const SAMPLE: &str = "//\n.version 8.5\n.target sm_90, debug\n.address_size 64\n\n.extern .func (.param .b32 r) vprintf(.param .b64 a, \
    .param .b64 b)\n;\n.global .align 8 .b64 t[3] = {1, generic(t)+8, 0xFF(t)};\n.visible .entry k(.param .u64 .ptr .align \
    1 p, .param .align 4 .b8 q[12])\n.maxntid 32, 1, 1\n{\n.reg .pred %p<3>;\n.loc 1 2 3, function_name $L__s0, inlined_at 1 4 \
    5\n$L__BB0_1: /* x */\n@!%p1 ld.param.v2.b32 {%r1, _}, [q+4]; // a.cu:1:2\n{ .reg .b32 x; mov.b32 x, (4*2)+-1; }\n\
    call.uni (r), vprintf, (a, b);\nproto: .callprototype ()_ ();\nL: .branchtargets $L__BB0_1, L;\nshfl.sync.up.b32 \
    %r1|%p1, %r2, 1, 0, -1;\n.pragma \"nounroll\";\ntex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {%f1, %f2}];\nbra \
    $L__BB0_1;\n}\n.file 1 \"a.cu\", 1, 2\n.section .debug_str { $L__s0: .b8 95, 90 .b8 0 }\n@@DWARF .byte 1\n";

/// The errors of a kernel's body.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(errors(kernel(text).as_bytes()), expected, "for {text}");
}

/// Parses, and checks that it is quick.
#[track_caller]
fn quickly(source: &[u8]) -> ptxcheck_ptx_parser::Tree<'_> {
    let start = Instant::now();
    let tree = parse(source).unwrap();
    drop(parse_declarations(source).unwrap());
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "took {:?}",
        start.elapsed()
    );
    tree
}

#[test]
fn one_bad_statement_hides_no_other() {
    let source = kernel(
        "mov.u32 %r1, 1;\nmov.u32 %r2 %r3;\nmov.u32 %r4, 4;\n{ mov.b64 {%r5 %r6}, %rd1; }\nmov.u32 %r7, 7;",
    );
    assert_eq!(
        errors(source.as_bytes()),
        [
            "7:13: expected `,` or `;` after the operand, found `%r3`",
            "9:16: expected `,` or `}` in the vector, found `%r6`",
        ]
    );
    let tree = parse(source.as_bytes()).unwrap();
    assert_eq!(
        body(&tree),
        [
            "mov.u32 Name(%r1) Integer(1)",
            "mov.u32 Name(%r4) Integer(4)",
            "{",
            "}",
            "mov.u32 Name(%r7) Integer(7)",
        ]
    );
}

#[test]
fn missing_semicolons_cost_one_statement() {
    let source = kernel("mov.u32 %r1, 1\nmov.u32 %r2, 2;\nret");
    assert_eq!(
        errors(source.as_bytes()),
        [
            "7:1: expected `,` or `;` after the operand, found `mov.u32`",
            "9:1: expected an operand, found `}`",
        ]
    );
    let tree = parse(source.as_bytes()).unwrap();
    assert_eq!(body(&tree), ["mov.u32 Name(%r2) Integer(2)"]);
    assert!(tree.functions()[0].has_body);
}

#[test]
fn statements() {
    check("mov.u32 %r1, ;", &["6:14: expected an operand, found `;`"]);
    check("mov.u32 %r1, 09;", &["6:14: expected a number, found `09`"]);
    check(
        "mov.f32 %f1, 0f3F80;",
        &["6:14: expected 8 hexadecimal digits after `0f`, found `0f3F80`"],
    );
    check(
        "mov.f64 %f1, 0d3F80;",
        &["6:14: expected 16 hexadecimal digits after `0d`, found `0d3F80`"],
    );
    check(
        "ld.b32 %r1, [%r2;",
        &["6:17: expected `+`, `,` or `]` in the address, found `;`"],
    );
    check("ld.b32 %r1, [];", &["6:14: expected an operand, found `]`"]);
    check(
        "mov.u32 %r1, (1+2;",
        &["6:18: expected `,` or `)` in the list, found `;`"],
    );
    check(
        "call f, (a, b;",
        &["6:14: expected `,` or `)` in the list, found `;`"],
    );
    check("@ bra;", &["6:6: expected an opcode after the guard, found `;`"]);
    check("@1 bra L;", &["6:2: expected a predicate after `@`, found `1`"]);
    check(
        "123;",
        &["6:1: expected a label, an instruction, a directive, `{` or `}`, found `123`"],
    );
    check(
        ".pragma \"x;\nret;",
        &["6:9: expected a `\"` that ends the string on its line, found `\\\"`"],
    );
    check(
        ".maxntid 1 1;",
        &["6:12: expected `,` or the end of the line after the operand, found `1`"],
    );
    check(".loc x 2 3", &["6:6: expected the number of a file, found `x`"]);
    check(
        ".loc 1 99999999999 3",
        &["6:8: expected a line number in 32 bits, found `99999999999`"],
    );
    check(
        ".reg .b32 ;",
        &["6:11: expected the name of the variable, found `;`"],
    );
    check(".reg %r;", &["6:6: expected a type, found `%r`"]);
    check(
        ".reg .b32 %r<3;",
        &["6:15: expected `>` behind the number of registers, found `;`"],
    );
    check(
        "p: .callprototype (.param .b32 _ _ ();",
        &["6:34: expected `,` or `)` after the parameter, found `_`"],
    );
}

#[test]
fn numbers_that_do_not_fit() {
    check(
        ".reg .b32 %r<18446744073709551616>;",
        &["6:14: expected fewer than 4,294,967,295 registers, found `18446744073709551616`"],
    );
    check(
        ".reg .b32 %r<4294967295>;",
        &["6:14: expected fewer than 4,294,967,295 registers, found `4294967295`"],
    );
    for (dimensions, message) in [
        (
            "[18446744073709551616]",
            "1:15: expected a size in 64 bits, found `18446744073709551616`",
        ),
        ("[-1]", "1:15: expected a size in 64 bits, found `-`"),
        (
            "[4294967296][4294967296]",
            "1:27: expected an array of fewer than 2^64 elements, found `4294967296`",
        ),
        (
            "[2][]",
            "1:18: expected a size: only the first dimension may be empty, found `]`",
        ),
    ] {
        assert_eq!(
            errors(format!(".global .b8 x{dimensions};").as_bytes()),
            [message]
        );
    }
    assert_eq!(
        errors(b".global .u64 x = generic(y)+18446744073709551615;"),
        ["1:28: expected a constant offset in 64 bits, found `+`"]
    );
    assert_eq!(
        errors(b".global .align 4294967296 .b8 x;"),
        ["1:16: expected an alignment in bytes, found `4294967296`"]
    );
}

#[test]
fn module_level() {
    assert_eq!(
        errors(b"hello world\n.version 8.5\n"),
        ["1:1: expected a directive, found `hello`"]
    );
    assert_eq!(
        parse(b"hello world\n.version 8.5\n").unwrap().version(),
        Some((8, 5))
    );
    assert_eq!(
        errors(b"}\n.target sm_90\n"),
        ["1:1: expected a directive, found `}`"]
    );
    assert_eq!(
        errors(b".visible .version 8.5"),
        ["1:10: expected a variable or function after its linkage, found `.version`"]
    );
    assert_eq!(
        errors(b".entry k( { ret; }\n.entry l() { ret; }"),
        ["1:11: expected a parameter, found `{`"]
    );
    assert_eq!(
        errors(b".global .b8 x[2] = {1, 2 3};\n.global .u32 y;"),
        ["1:26: expected `,` or `}` in the initialiser, found `3`"]
    );
    assert_eq!(
        errors(b".global .b8 x[2] = {1, };"),
        ["1:24: expected an element of the initialiser, found `}`"]
    );
    assert_eq!(
        errors(b".section .debug_info { .b7 1 }\n.file 1 \"a\"\n"),
        ["1:24: expected `.b8`, `.b16`, `.b32` or `.b64`, found `.b7`"]
    );
}

#[test]
fn functions_that_do_not_end() {
    let source = ".entry a() {\n{ ret;\n.visible .entry b() {\nret;\n}\n";
    assert_eq!(
        errors(source.as_bytes()),
        ["3:1: expected `}` before the next function, found `.visible`"]
    );
    let tree = parse(source.as_bytes()).unwrap();
    assert_eq!(tree.functions().len(), 2);
    assert_eq!(body(&tree), ["{", "ret", "}"]);
    assert_eq!(tree.functions()[0].span.end, tree.functions()[1].span.start);

    let source = ".entry a() {\nret;\n";
    assert_eq!(
        errors(source.as_bytes()),
        ["3:1: expected `}` that closes the function, found the end of the module"]
    );
    assert_eq!(body(&parse(source.as_bytes()).unwrap()), ["ret"]);
}

#[test]
fn headers_that_are_wrong_keep_their_bodies() {
    let source = ".entry k(.param .u64 a .param .u64 b)\n{\nret;\n}\n.entry l() { exit; }";
    assert_eq!(
        errors(source.as_bytes()),
        ["1:24: expected `,` or `)` after the parameter, found `.param`"]
    );
    let tree = parse(source.as_bytes()).unwrap();
    assert_eq!(body(&tree), ["ret"]);
    assert_eq!(tree.functions().len(), 2);
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(
        errors(b".version 8.5\n\0.target sm_90\n"),
        ["2:1: expected text without NUL bytes, found `\\x00`"]
    );
    assert_eq!(
        errors(b"// a\0b\n.version 8.5\n"),
        ["1:5: expected text without NUL bytes, found `\\x00`"]
    );
    accept(b".version 8.5\n\0\0");
    accept(b"\0\0");
    check(
        "mov.u32 %r1, \u{e9};",
        &["6:14: expected an operand, found `\\xc3`"],
    );
    assert_eq!(
        errors(b".global .u32 caf\xe9;"),
        ["1:17: expected `,` or `;` after the declaration, found `\\xe9`"]
    );
    accept(b"// caf\xe9\n/* \xff */ .pragma \"\xe9\";\n");
}

#[test]
fn comments_and_strings_that_do_not_end() {
    assert_eq!(
        errors(b".version 8.5\n/* .target sm_90\n"),
        ["2:1: expected `*/` that ends the comment, found `/`"]
    );
    assert_eq!(
        errors(b"/*/ .target sm_90\n"),
        ["1:1: expected `*/` that ends the comment, found `/`"]
    );
    assert_eq!(
        errors(b".file 1 \"abc\n.version 8.5\n"),
        ["1:9: expected a `\"` that ends the string on its line, found `\\\"`"]
    );
    assert_eq!(
        parse(b".file 1 \"abc\n.version 8.5\n").unwrap().version(),
        Some((8, 5))
    );
}

#[test]
fn limits() {
    let limit = |source: &str, message: &str| {
        let tree = quickly(source.as_bytes());
        assert_eq!(tree.errors()[0].cause, Cause::Limit, "{:?}", tree.errors());
        assert_eq!(tree.errors()[0].message(source.as_bytes()), message);
        tree.errors().len()
    };
    let scopes = kernel(&format!("{}{}", "{".repeat(100_000), "}".repeat(100_000)));
    assert_eq!(
        limit(&scopes, "the scopes are nested more than 1,024 levels deep"),
        1
    );
    let parentheses = kernel(&format!("mov.u32 %r1, {}1{};", "(".repeat(100), ")".repeat(100)));
    assert_eq!(
        limit(&parentheses, "the operand is nested more than 32 levels deep"),
        1
    );
    let signs = kernel(&format!("mov.u32 %r1, {}1;", "~".repeat(100_000)));
    assert_eq!(limit(&signs, "the operand is nested more than 32 levels deep"), 1);
    let brackets = kernel(&format!("ld.b32 %r1, {}a;", "[".repeat(100_000)));
    assert_eq!(
        limit(&brackets, "the operand is nested more than 32 levels deep"),
        1
    );
    let operands = kernel(&format!("frob %r1{};\nret;", ", %r2".repeat(100_000)));
    assert_eq!(limit(&operands, "the instruction has more than 255 operands"), 1);
    assert_eq!(body(&parse(operands.as_bytes()).unwrap()), ["ret"]);
    let vector = kernel(&format!("mov.b32 {{%r1{}}}, %r2;", ", %r2".repeat(100_000)));
    assert_eq!(limit(&vector, "the operand has more than 65,535 parts"), 1);
    let opcode = kernel(&format!("a{};", ".b".repeat(40_000)));
    assert_eq!(limit(&opcode, "the opcode is longer than 65,535 bytes"), 1);
    let initialiser = format!(".global .b8 x[1] = {};", "{".repeat(100_000));
    assert_eq!(
        limit(&initialiser, "the initialiser is nested more than 32 levels deep"),
        1
    );
    accept(kernel(&format!("frob %r1{};", ", %r2".repeat(MAX_OPERANDS - 1))).as_bytes());
}

#[test]
fn errors_are_counted_but_not_all_kept() {
    let source = kernel(&"mov.u32 %r1 %r2;\n".repeat(1_000));
    let tree = quickly(source.as_bytes());
    assert_eq!((tree.errors().len(), tree.errors_left_out()), (MAX_ERRORS, 900));
}

#[test]
fn large_and_hostile_sources_are_read_in_linear_time() {
    // A quadratic reader would take minutes.
    const SIZE: usize = 2_500_000;
    for piece in [
        "{",
        "}",
        "(",
        "[",
        "/*",
        "*/",
        "/",
        "\"",
        ";",
        ":",
        ".",
        ".a",
        "@",
        "@p",
        "a:",
        "0",
        "-",
        "x ",
        ",",
        "\n",
        "{x",
        "x{",
        ".entry ",
        "\\\"",
        "\\\";",
        ".entry k(){\\\"}",
        "\n.loc",
        "/*\n.loc 1 2 3*/",
    ] {
        let bare = piece.repeat(SIZE / piece.len());
        drop(quickly(bare.as_bytes()));
        for prefix in ["mov.u32 %r1, ", "call ", "x[", "{"] {
            drop(quickly(kernel(&format!("{prefix}{bare}")).as_bytes()));
        }
        drop(quickly(format!(".global .b8 x = {{{bare}").as_bytes()));
        drop(quickly(format!(".section .x {{{bare}").as_bytes()));
        drop(quickly(format!(".func {bare}").as_bytes()));
    }
    let line = kernel(&format!("mov.u32 %r1, {};", "1+".repeat(SIZE / 2) + "1"));
    assert!(quickly(line.as_bytes()).errors().is_empty());
}

#[test]
fn every_prefix_of_a_module_can_be_parsed() {
    let whole = accept(SAMPLE.as_bytes());
    for end in 0..SAMPLE.len() {
        let tree = parse(&SAMPLE.as_bytes()[..end]).unwrap();
        assert!(tree.statements().len() <= whole.statements().len() + 3);
        consistent(&tree);
    }
}

#[test]
fn mutated_modules_can_be_parsed() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    for _ in 0..20_000 {
        let mut source = SAMPLE.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(source.len());
            match random(4) {
                0 => source[at] = random(256) as u8,
                1 => source[at] = b"{}()[];,.:@/*\"+-0a\n<=|"[random(22)],
                2 => drop(source.drain(at..(at + random(20)).min(SAMPLE.len() / 2).max(at))),
                _ => {
                    let piece: Vec<u8> = source[at..(at + random(30)).min(source.len())].to_vec();
                    let to = random(source.len());
                    source.splice(to..to, piece);
                }
            }
        }
        let tree = parse(&source).unwrap();
        consistent(&tree);
        let printed = print(&tree);
        if tree.errors().is_empty() {
            let again = parse(&printed).unwrap();
            assert!(
                same(&tree, &again),
                "printing changes\n{}\ninto\n{}",
                source.escape_ascii(),
                printed.escape_ascii()
            );
        }
    }
}

/// Checks the invariants of every tree, for any source.
fn consistent(tree: &ptxcheck_ptx_parser::Tree<'_>) {
    use ptxcheck_ptx_parser::ast::StatementKind;
    let text = String::from_utf8_lossy(tree.source());
    let mut start = 0;
    for (index, statement) in tree.statements().iter().enumerate() {
        assert!(statement.span().start >= start, "out of order in\n{text}");
        assert!(statement.span().end as usize <= tree.source().len());
        start = statement.span().start;
        let count = tree.operands(statement).count();
        assert_eq!(count, statement.operand_count());
        match statement.kind() {
            StatementKind::BlockOpen | StatementKind::BlockClose => {
                assert_eq!(
                    tree.statements()[statement.index()].index(),
                    index,
                    "unpaired in\n{text}"
                );
            }
            StatementKind::Function | StatementKind::Prototype => {
                let function = tree.function(statement).unwrap();
                let (directives, body) = (function.directives.range(), function.body.range());
                assert_eq!(directives.start, index + 1);
                assert_eq!(directives.end, body.start);
                assert!(body.end <= tree.statements().len() && body.start <= body.end);
                assert!(function.params.range().end <= tree.variables().len());
                assert_eq!(function.span, statement.span());
            }
            _ => {}
        }
    }
    let places: Vec<_> = tree.errors().iter().map(|error| error.span.start).collect();
    assert!(places.is_sorted(), "{places:?} in\n{text}");
}

#[test]
fn the_header_alone_is_a_module() {
    accept(HEADER.as_bytes());
    accept(b".version 9.0\n.target sm_90\n.address_size 64\n\n\n\n");
}

#[test]
fn located_errors_say_where_and_what() {
    let source = kernel("mov.u32 %r2 %r3;");
    let tree = parse(source.as_bytes()).unwrap();
    let error = tree.errors()[0].located(source.as_bytes());
    assert_eq!(error.cause(), Cause::Malformed);
    assert_eq!((error.position().line, error.position().column), (6, 13));
    assert_eq!(
        error.message(),
        "expected `,` or `;` after the operand, found `%r3`"
    );
    let error: Box<dyn std::error::Error> = Box::new(error);
    assert_eq!(
        error.to_string(),
        "6:13: expected `,` or `;` after the operand, found `%r3`"
    );
}

#[test]
fn positions_agree_with_the_index_of_lines() {
    let source = b"a\r\nbc\n\n.d";
    let lines = LineIndex::new(source);
    for offset in 0..=source.len() as u32 {
        assert_eq!(Position::of(source, offset), lines.position(offset), "{offset}");
    }
    let end = Position { line: 4, column: 3 };
    assert_eq!(Position::of(source, u32::MAX), end);
    assert_eq!(lines.position(u32::MAX).line, 4);
    assert_eq!(Position::of(b"", 7), Position { line: 1, column: 1 });
    assert_eq!(LineIndex::new(b"").position(u32::MAX).column, u32::MAX);
    for line in [0, 5, u32::MAX] {
        assert_eq!(lines.line(source, line), b"");
    }
    assert_eq!(lines.line(b"", 2), b"");
}
