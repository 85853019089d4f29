//! The parts that a visitor sees, in their order, and those that it can leave out.

#![allow(clippy::unwrap_used)]

use crate::common::{HEADER, accept, kernel};
use ptxcheck_ptx_parser::ast::{File, Function, Location, Section, Statement, StatementKind, Tree, Variable};
use ptxcheck_ptx_parser::{Guard, Instruction, OperandRef, Visitor, Walk, parse, parse_declarations};

const SAMPLE: &str = ".version 8.5\n.extern .func (.param .b32 r) f(.param .b64 a, .param .b64 b);\n.global .b32 g[2], h;\n\
    .visible .entry k(.param .u64 p)\n.maxntid 32, 1, 1\n{\n.reg .b64 %rd<3>;\n.loc 1 2 3\nL0:\n@!%p1 ld.b32 %r1, [%rd1+4];\n\
    { call (r), f, (a, b); }\nT: .callprototype ()_ (.param .b32 q) .noreturn;\nret;\n}\n.file 1 \"a.cu\"\n\
    .section .debug_str { .b8 0 }\n";

/// Writes down all that it sees, and answers what `answer` says of it.
struct Trace<F> {
    lines: Vec<String>,
    answer: F,
}

impl<F: FnMut(&str) -> Walk> Trace<F> {
    fn of(tree: &Tree<'_>, answer: F) -> Vec<String> {
        let mut trace = Self {
            lines: Vec::new(),
            answer,
        };
        let _ = tree.walk(&mut trace);
        trace.lines
    }

    fn add(&mut self, kind: &str, text: &[u8]) -> Walk {
        let line = format!("{kind} {}", String::from_utf8_lossy(text));
        let walk = (self.answer)(&line);
        self.lines.push(line);
        walk
    }
}

impl<'t, F: FnMut(&str) -> Walk> Visitor<'t> for Trace<F> {
    fn function(&mut self, tree: &'t Tree<'t>, function: &'t Function) -> Walk {
        self.add("function", tree.text(function.name))
    }
    fn end_function(&mut self, tree: &'t Tree<'t>, function: &'t Function) -> Walk {
        self.add("end", tree.text(function.name))
    }
    fn result(&mut self, tree: &'t Tree<'t>, _: &'t Function, variable: &'t Variable) -> Walk {
        self.add("result", tree.text(variable.name))
    }
    fn parameter(&mut self, tree: &'t Tree<'t>, _: &'t Function, variable: &'t Variable) -> Walk {
        self.add("parameter", tree.text(variable.name))
    }
    fn variable(&mut self, tree: &'t Tree<'t>, variable: &'t Variable) -> Walk {
        self.add("variable", tree.text(variable.name))
    }
    fn label(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        self.add("label", tree.name(statement))
    }
    fn instruction(&mut self, _: &'t Tree<'t>, _: &'t Statement, instruction: &Instruction<'t>) -> Walk {
        self.add("instruction", instruction.opcode)
    }
    fn directive(&mut self, _: &'t Tree<'t>, _: &'t Statement, directive: &Instruction<'t>) -> Walk {
        self.add("directive", directive.opcode)
    }
    fn guard(&mut self, _: &'t Tree<'t>, _: &'t Statement, guard: Guard<'t>) -> Walk {
        self.add("guard", guard.name)
    }
    fn operand(&mut self, _: &'t Tree<'t>, _: &'t Statement, operand: OperandRef<'t>) -> Walk {
        self.add("operand", operand.text())
    }
    fn open_block(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        self.add("open", tree.text(statement.span()))
    }
    fn close_block(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        self.add("close", tree.text(statement.span()))
    }
    fn location(&mut self, _: &'t Tree<'t>, location: &'t Location) -> Walk {
        self.add("location", location.line.to_string().as_bytes())
    }
    fn file(&mut self, tree: &'t Tree<'t>, file: &'t File) -> Walk {
        self.add("file", tree.text(file.name))
    }
    fn section(&mut self, tree: &'t Tree<'t>, section: &'t Section) -> Walk {
        self.add("section", tree.text(section.name))
    }
}

const ALL: &[&str] = &[
    "directive .version",
    "operand 8.5",
    "function f",
    "result r",
    "parameter a",
    "parameter b",
    "end f",
    "variable g",
    "variable h",
    "function k",
    "parameter p",
    "directive .maxntid",
    "operand 32",
    "operand 1",
    "operand 1",
    "variable %rd",
    "location 2",
    "label L0",
    "instruction ld.b32",
    "guard %p1",
    "operand %r1",
    "operand [%rd1+4]",
    "operand %rd1",
    "operand +4",
    "open {",
    "instruction call",
    "operand (r)",
    "operand r",
    "operand f",
    "operand (a, b)",
    "operand a",
    "operand b",
    "close }",
    "label T",
    "function _",
    "parameter q",
    "directive .noreturn",
    "end _",
    "instruction ret",
    "end k",
    "file a.cu",
    "section .debug_str",
];

/// [`ALL`] without the lines from `first` to `last`, both included.
fn without(first: &str, last: &str) -> Vec<&'static str> {
    let start = ALL.iter().position(|line| *line == first).unwrap();
    let end = ALL.iter().position(|line| *line == last).unwrap();
    [&ALL[..start], &ALL[end + 1..]].concat()
}

#[test]
fn everything_is_seen_in_source_order() {
    let tree = accept(SAMPLE.as_bytes());
    assert_eq!(Trace::of(&tree, |_| Walk::Into), ALL);
}

#[test]
fn parts_can_be_left_out() {
    let tree = accept(SAMPLE.as_bytes());
    let over = |what: &str| Trace::of(&tree, |line| if line == what { Walk::Over } else { Walk::Into });
    assert_eq!(over("function k"), without("parameter p", "end k"));
    assert_eq!(over("function f"), without("result r", "end f"));
    assert_eq!(over("function _"), without("parameter q", "end _"));
    assert_eq!(over("instruction ld.b32"), without("guard %p1", "operand +4"));
    assert_eq!(over("operand [%rd1+4]"), without("operand %rd1", "operand +4"));
    assert_eq!(over("operand (r)"), without("operand r", "operand r"));
    for nothing in [
        "operand %r1",
        "guard %p1",
        "open {",
        "parameter q",
        "end k",
        "label T",
    ] {
        assert_eq!(over(nothing), ALL, "for {nothing}");
    }
}

#[test]
fn a_walk_ends_wherever_a_method_says() {
    let tree = accept(SAMPLE.as_bytes());
    for count in 1..=ALL.len() {
        let mut left = count;
        let lines = Trace::of(&tree, |_| {
            left -= 1;
            if left == 0 { Walk::Stop } else { Walk::Into }
        });
        assert_eq!(lines, ALL[..count]);
    }
}

#[test]
fn one_function_is_the_same_as_in_the_module() {
    let tree = accept(SAMPLE.as_bytes());
    for function in tree.functions() {
        let mut trace = Trace {
            lines: Vec::new(),
            answer: |_: &str| Walk::Into,
        };
        assert!(tree.walk_function(function, &mut trace).is_continue());
        let name = String::from_utf8_lossy(tree.text(function.name));
        let place = |line: String| ALL.iter().position(|one| *one == line).unwrap();
        let (start, end) = (place(format!("function {name}")), place(format!("end {name}")));
        assert_eq!(trace.lines, ALL[start..=end]);
    }
}

/// Counts statements, operand nodes and guards, variables, and functions that were begun and ended.
#[derive(Default, Debug, PartialEq)]
struct Counts {
    statements: usize,
    nodes: usize,
    variables: usize,
    begun: usize,
    ended: usize,
}

impl<'t> Visitor<'t> for Counts {
    fn statement(&mut self, _: &'t Tree<'t>, _: &'t Statement) -> Walk {
        self.statements += 1;
        Walk::Into
    }
    fn guard(&mut self, _: &'t Tree<'t>, _: &'t Statement, _: Guard<'t>) -> Walk {
        self.nodes += 1;
        Walk::Into
    }
    fn operand(&mut self, _: &'t Tree<'t>, _: &'t Statement, _: OperandRef<'t>) -> Walk {
        self.nodes += 1;
        Walk::Into
    }
    fn variable(&mut self, _: &'t Tree<'t>, _: &'t Variable) -> Walk {
        self.variables += 1;
        Walk::Into
    }
    fn function(&mut self, _: &'t Tree<'t>, _: &'t Function) -> Walk {
        self.begun += 1;
        Walk::Into
    }
    fn end_function(&mut self, _: &'t Tree<'t>, _: &'t Function) -> Walk {
        self.ended += 1;
        Walk::Into
    }
}

/// Every statement and node once; what a function has is at most what the tree has.
#[track_caller]
fn counted(tree: &Tree<'_>) {
    let mut counts = Counts::default();
    assert!(tree.walk(&mut counts).is_continue());
    let expected = Counts {
        statements: tree.statements().len(),
        nodes: tree.operand_nodes().len(),
        variables: tree.variables().len(),
        begun: tree.functions().len(),
        ended: tree.functions().len(),
    };
    assert_eq!(counts, expected, "for {}", tree.source().escape_ascii());
    for function in tree.functions() {
        let mut counts = Counts::default();
        assert!(tree.walk_function(function, &mut counts).is_continue());
        assert_eq!(counts.begun, counts.ended);
    }
}

#[test]
fn damaged_modules_are_walked_whole() {
    for end in 0..SAMPLE.len() {
        counted(&parse(&SAMPLE.as_bytes()[..end]).unwrap());
        counted(&parse_declarations(&SAMPLE.as_bytes()[..end]).unwrap());
        let cut = [&SAMPLE.as_bytes()[..end], &SAMPLE.as_bytes()[end + 1..]].concat();
        counted(&parse(&cut).unwrap());
    }
}

#[test]
fn deep_and_wide_modules() {
    let nested = kernel(&format!("{}{}", "{\n".repeat(2_000), "}\n".repeat(2_000)));
    counted(&parse(nested.as_bytes()).unwrap());
    let operand = format!("mov.b32 a, {}b{};", "{".repeat(31), "}".repeat(31));
    counted(&accept(kernel(&operand).as_bytes()));
    let wide = format!("call f, ({}a);", "a, ".repeat(60_000));
    counted(&accept(kernel(&wide).as_bytes()));
    let functions = format!("{HEADER}{}", ".func f() { ret; }\n".repeat(5_000));
    counted(&accept(functions.as_bytes()));
}

/// Records of one tree given to another are meaningless there, and do no harm.
#[test]
fn records_of_another_tree_do_not_panic() {
    let (large, small) = (accept(SAMPLE.as_bytes()), accept(b".func f();"));
    for statement in large.statements() {
        assert!(small.instruction(statement).operands.next().is_none());
        assert!(small.declared(statement).is_empty());
        let _ = (
            small.function(statement),
            small.location(statement),
            small.name(statement),
        );
        assert!(small.file(statement).is_none() && small.section(statement).is_none());
    }
    for function in large.functions() {
        let _ = (small.params(function), small.results(function));
        let _ = (small.body(function), small.directives(function));
        let _ = small.walk_function(function, &mut Counts::default());
    }
    for variable in large.variables() {
        assert_eq!(small.initializer(variable).next(), None);
    }
}

#[test]
fn text_of_the_tree_leads_back_to_its_place() {
    let tree = accept(SAMPLE.as_bytes());
    let mut found = 0;
    for statement in tree.statements() {
        if let Some(guard) = tree.instruction(statement).guard {
            let span = tree.span_of(guard.name).unwrap();
            assert_eq!(tree.text(span), b"%p1");
            assert!(statement.span().start < span.start && span.end < statement.span().end);
            found += 1;
        }
        if statement.kind() == StatementKind::Label {
            assert_eq!(tree.span_of(tree.name(statement)), Some(statement.name()));
            found += 1;
        }
    }
    assert_eq!(found, 3);
    assert_eq!(tree.span_of(tree.source()).unwrap().len() as usize, SAMPLE.len());
    let other = b"ld.b32".to_vec();
    assert_eq!(tree.span_of(&other), None);
}
