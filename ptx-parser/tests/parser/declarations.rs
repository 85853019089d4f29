//! Reading what a module declares: the same as reading all of it, for what stands outside of braces.

#![allow(clippy::unwrap_used)]

use crate::common::{HEADER, kernel};
use ptxcheck_ptx_parser::ast::{Linkage, StatementKind};
use ptxcheck_ptx_parser::{Tree, parse, parse_declarations};

/// The declarations that both ways of reading agree on.
fn declared(tree: &Tree<'_>) -> Vec<String> {
    let mut all: Vec<String> = tree
        .functions()
        .iter()
        .filter(|function| function.kind != ptxcheck_ptx_parser::ast::FunctionKind::Prototype)
        .map(|function| {
            let params = &tree.variables()[function.params.range()];
            let names: Vec<_> = params
                .iter()
                .map(|param| tree.text(param.name).escape_ascii().to_string())
                .collect();
            let directives = &tree.statements()[function.directives.range()];
            let directives: Vec<_> = directives
                .iter()
                .map(|one| tree.text(one.span()).escape_ascii().to_string())
                .collect();
            format!(
                "{:?} {:?} {} {names:?} {directives:?} {} {:?}",
                function.kind,
                function.linkage,
                tree.text(function.name).escape_ascii(),
                function.has_body,
                function.span
            )
        })
        .collect();
    let inside = |start: u32| {
        let covers = |function: &ptxcheck_ptx_parser::ast::Function| {
            (function.span.start..function.span.end).contains(&start)
        };
        tree.functions()
            .iter()
            .any(|function| function.has_body && covers(function))
    };
    for variable in tree
        .variables()
        .iter()
        .filter(|variable| !inside(variable.span.start))
    {
        let mut variable = *variable;
        // Initialisers that are passed over are not looked into.
        variable.has_addresses |= !variable.initializer.is_empty();
        all.push(format!("{variable:?}"));
    }
    for statement in tree
        .statements()
        .iter()
        .filter(|statement| !inside(statement.span().start))
    {
        if statement.kind() != StatementKind::Function {
            all.push(format!("{:?} {:?}", statement.kind(), statement.span()));
        }
    }
    all.extend(tree.files().iter().map(|file| format!("{file:?}")));
    all.extend(tree.sections().iter().map(|section| format!("{section:?}")));
    all.extend(tree.errors().iter().map(|error| format!("{error:?}")));
    all
}

#[track_caller]
fn agree(source: &str) -> usize {
    let (all, some) = (
        parse(source.as_bytes()).unwrap(),
        parse_declarations(source.as_bytes()).unwrap(),
    );
    assert_eq!(declared(&all), declared(&some), "for {source}");
    some.functions().len()
}

#[test]
fn braces_end_where_they_end() {
    for body in [
        "{ .reg .b32 x; { mov.b64 {%r1, %r2}, %rd1; } }",
        "// }\nret; /* } */",
        ".pragma \"}\";",
        ".pragma \"\\\"}\";",
        "mov.u32 %r1, 6/2; // a /* b\n{ }",
        "/* \" */ bra.uni L; // \"\nL: ret;",
        "",
    ] {
        let source = format!(
            "{}.weak .func f()\n{{ ret; }}\n.extern .global .b8 x[];\n",
            kernel(body)
        );
        assert_eq!(agree(&source), 2, "{body}");
    }
}

#[test]
fn initialisers_and_sections_are_passed_over() {
    let source = format!(
        "{HEADER}.global .align 8 .b64 t[3] = {{1, generic(t)+8, 0xFF(t)}}, u[2][2] = {{{{1, 2}}, {{3, 4}}}};\n\
         .visible .const .b32 n = 7;\n.file 1 \"a.cu\", 1, 2\n.section .debug_str {{ L: .b8 95, 90 }}\n{}",
        ".entry k(.param .b64 a) .maxntid 32, 1, 1 { ret; }\n.extern .func g(.param .b32 b);"
    );
    assert_eq!(agree(&source), 2);
    let broken =
        format!("{HEADER}.global .b32 t[2] = {{1, +}};\n.section .x {{ ; }}\n.entry k() {{ ; bad bad }}\n");
    let tree = parse_declarations(broken.as_bytes()).unwrap();
    assert!(tree.errors().is_empty(), "{:?}", tree.errors());
    assert_eq!(
        (
            tree.functions().len(),
            tree.sections().len(),
            tree.variables().len()
        ),
        (1, 1, 1)
    );
}

/// A body that nothing closes is read as always, and so has the same errors.
#[test]
fn errors_outside_of_braces_are_the_same() {
    for text in [
        ".entry k() { ret;",
        ".entry k() { ret;\n.entry l() { ret; }\n",
        ".entry k() { ret; } }\n",
        ".global .b8 x[2] = {1, 2;\n",
        ".section .x { .b8 1\n",
        ".entry k() { /* ret; }\n",
        ".entry k(.param .b32) { ret; }\n.glob .b8 x;\n",
    ] {
        agree(&format!("{HEADER}{text}"));
    }
}

#[test]
fn the_first_location_of_a_body_is_kept() {
    let places = |body: &str| {
        let source = kernel(body);
        let tree = parse_declarations(source.as_bytes()).unwrap();
        let body = tree.functions()[0].body;
        assert_eq!(body.len(), tree.locations().len());
        assert_eq!(tree.functions()[0].linkage, Linkage::Visible);
        tree.locations()
            .iter()
            .map(|one| (one.file, one.line, one.column))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        places(".reg .b32 %r<2>;\n\t.loc\t1 7 3\nret;\n.loc 1 8 3\n"),
        [(1, 7, 3)]
    );
    let inlined = ".loc 1 2 3, function_name $L__s0, inlined_at 1 4 5\nret;";
    assert_eq!(places(inlined), [(1, 2, 3)]);
    assert_eq!(places("// .loc 1 7 3\nret;"), []);
    assert_eq!(places("/*\n.loc 1 7 3\n*/ ret;"), []);
    assert_eq!(places("ret;\n.loc x"), []);
}
