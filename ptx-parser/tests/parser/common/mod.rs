//! Helpers of the parser's tests.

#![allow(dead_code, clippy::unwrap_used)]

use ptxcheck_ptx_parser::ast::{Statement, StatementKind};
use ptxcheck_ptx_parser::printer::{print, same};
use ptxcheck_ptx_parser::{Operands, Tree, parse};

pub const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// A module whose one kernel has this body.
pub fn kernel(body: &str) -> String {
    format!("{HEADER}.visible .entry k()\n{{\n{body}\n}}\n")
}

/// Parses what has no error, and checks that printing keeps it.
pub fn accept(source: &[u8]) -> Tree<'_> {
    let tree = parse(source).unwrap();
    let messages: Vec<_> = tree.errors().iter().map(|error| error.message(source)).collect();
    assert!(messages.is_empty(), "{messages:?} in\n{}", source.escape_ascii());
    let printed = print(&tree);
    let again = parse(&printed).unwrap();
    let shown = String::from_utf8_lossy(&printed);
    assert!(
        again.errors().is_empty(),
        "printed text has errors {:?}:\n{shown}",
        again.errors()
    );
    assert!(
        same(&tree, &again),
        "printing changes\n{}\ninto\n{shown}",
        source.escape_ascii()
    );
    assert_eq!(
        shown,
        String::from_utf8_lossy(&print(&again)),
        "printing twice differs"
    );
    tree
}

/// The errors as `line:column: message`.
pub fn errors(source: &[u8]) -> Vec<String> {
    let tree = parse(source).unwrap();
    let lines = ptxcheck_ptx_parser::LineIndex::new(source);
    tree.errors()
        .iter()
        .map(|error| {
            let place = lines.position(error.span.start);
            assert_eq!(place, error.position(source));
            format!("{}:{}: {}", place.line, place.column, error.message(source))
        })
        .collect()
}

/// One line for every statement: `kind name operands`.
pub fn outline(tree: &Tree<'_>) -> Vec<String> {
    tree.statements()
        .iter()
        .map(|statement| line(tree, statement))
        .collect()
}

/// The statements of the first function's body, in outline.
pub fn body(tree: &Tree<'_>) -> Vec<String> {
    let function = &tree.functions()[0];
    tree.statements()[function.body.range()]
        .iter()
        .map(|statement| line(tree, statement))
        .collect()
}

fn line(tree: &Tree<'_>, statement: &Statement) -> String {
    let instruction = tree.instruction(statement);
    let name = String::from_utf8_lossy(instruction.opcode).into_owned();
    match statement.kind() {
        StatementKind::Instruction | StatementKind::Directive => {
            let guard = instruction.guard.map_or(String::new(), |guard| {
                format!(
                    "@{}{} ",
                    if guard.negated { "!" } else { "" },
                    String::from_utf8_lossy(guard.name)
                )
            });
            format!("{guard}{name}{}", operands(instruction.operands))
        }
        StatementKind::Label => format!("{name}:"),
        StatementKind::BlockOpen => "{".to_owned(),
        StatementKind::BlockClose => "}".to_owned(),
        StatementKind::Declaration => {
            let names: Vec<_> = tree
                .declared(statement)
                .iter()
                .map(|variable| String::from_utf8_lossy(tree.text(variable.name)))
                .collect();
            format!("declare {}", names.join(" "))
        }
        StatementKind::Function | StatementKind::Prototype => {
            let function = tree.function(statement).unwrap();
            format!(
                "{:?} {}",
                function.kind,
                String::from_utf8_lossy(tree.text(function.name))
            )
        }
        StatementKind::Location => {
            let location = tree.location(statement).unwrap();
            format!("loc {} {} {}", location.file, location.line, location.column)
        }
        StatementKind::File => format!("file {}", tree.file(statement).unwrap().number),
        StatementKind::Section => {
            format!(
                "section {}",
                String::from_utf8_lossy(tree.text(tree.section(statement).unwrap().name))
            )
        }
        other => panic!("no outline of {other:?}"),
    }
}

/// ` Kind(text)` for leaves, ` Kind[children]` for others.
fn operands(operands: Operands<'_>) -> String {
    operands
        .map(|operand| {
            if operand.children().next().is_some() {
                format!(
                    " {:?}[{}]",
                    operand.kind(),
                    self::operands(operand.children()).trim_start()
                )
            } else {
                format!(
                    " {:?}({})",
                    operand.kind(),
                    String::from_utf8_lossy(operand.text())
                )
            }
        })
        .collect()
}
