//! A tree back to text, in one canonical format, and whether two trees say the same.
//!
//! Parsing the printed text gives the same tree ([`same`]), comments included; printing that gives the same bytes. A comment inside a
//! statement moves after it.

pub use crate::comparison::same;

use std::io::Write as _;

use crate::ast::{
    Function, FunctionKind, Linkage, NONE, OperandKind, StateSpace, Statement, StatementKind, Tree, Variable,
};
use crate::debug_info::item;
use crate::lexer::{NAME, class, token_len, trivia};
use crate::operand::{OperandRef, Operands};
use crate::span::Span;

/// The canonical text of a tree without errors: a statement a line, indented with tabs, one blank between words. Text that the parser
/// dropped because of errors is not printed.
///
/// ```
/// use ptxcheck_ptx_parser::parse;
/// use ptxcheck_ptx_parser::printer::{print, same};
///
/// let tree = parse(b".entry k( ) { @%p  bra L ; /* end */ L: ret; }")?;
/// let printed = print(&tree);
/// assert_eq!(printed, b".entry k()\n{\n\t@%p bra L; /* end */\nL:\n\tret;\n}\n");
/// assert!(same(&tree, &parse(&printed)?));
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[must_use]
pub fn print(tree: &Tree<'_>) -> Vec<u8> {
    let mut printer = Printer {
        tree,
        out: Vec::with_capacity(tree.source.len()),
        depth: 0,
        comment: 0,
        at: 0,
        after_brace: false,
    };
    let mut index = 0;
    // The end of the current function's body, as a statement's number. Functions do not nest.
    let mut body_end = None;
    loop {
        if let Some((_, end)) = body_end.take_if(|(statement, _)| *statement == index) {
            printer.comments_before(end);
            printer.at = end;
            printer.depth = 0;
            printer.line(b"}");
            printer.after_brace = false;
        }
        let Some(statement) = tree.statements.get(index) else {
            break;
        };
        printer.comments_before(statement.start);
        index += 1;
        match tree.function(statement) {
            Some(function) => {
                printer.function(statement, function);
                index = function.body.start as usize;
                if function.has_body {
                    body_end = Some((function.body.end as usize, function.span.end));
                    printer.depth = 1;
                }
            }
            None => printer.statement(statement),
        }
    }
    printer.comments_before(u32::MAX);
    printer.end_line();
    printer.out
}

struct Printer<'t> {
    tree: &'t Tree<'t>,
    out: Vec<u8>,
    depth: usize,
    /// The next comment.
    comment: usize,
    /// The end, in the source, of the statement printed last.
    at: u32,
    /// The line just printed is the brace of a body: comments go below it, wherever the source has the brace.
    after_brace: bool,
}

impl Printer<'_> {
    /// Ends the line that is open, if one is.
    fn end_line(&mut self) {
        if self.out.last().is_some_and(|&last| last != b'\n') {
            self.out.push(b'\n');
        }
    }

    /// Begins a line.
    fn indent(&mut self) {
        self.end_line();
        let depth = self.depth;
        self.out.extend(std::iter::repeat_n(b'\t', depth));
    }

    fn line(&mut self, text: &[u8]) {
        self.indent();
        self.out.extend_from_slice(text);
    }

    /// The comments that begin before `offset` and are not printed yet: after the statement if they were on its line, else on lines of
    /// their own.
    fn comments_before(&mut self, offset: u32) {
        while let Some(&comment) = self
            .tree
            .comments
            .get(self.comment)
            .filter(|comment| comment.start < offset)
        {
            let between = Span::new(self.at, comment.start).of(self.tree.source);
            let is_trailing = !self.out.is_empty() && !self.after_brace && !between.contains(&b'\n');
            self.after_brace = false;
            if is_trailing && self.out.last() != Some(&b'\n') {
                self.out.push(b' ');
            } else {
                self.indent();
            }
            let text = self.tree.text(comment);
            self.out.extend_from_slice(text);
            if text.starts_with(b"//") {
                self.out.push(b'\n');
            }
            self.comment += 1;
            self.at = self.at.max(comment.end);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.after_brace = false;
        match statement.kind() {
            StatementKind::BlockClose => self.depth = self.depth.saturating_sub(1).max(1),
            StatementKind::Label => {
                let name = self.tree.name(statement);
                self.end_line();
                self.out.extend_from_slice(name);
                self.out.push(b':');
                self.at = statement.end;
                return;
            }
            _ => {}
        }
        self.indent();
        match statement.kind() {
            StatementKind::Instruction => self.instruction(statement),
            StatementKind::Directive => self.directive(statement),
            StatementKind::Declaration => self.declaration(self.tree.declared(statement)),
            StatementKind::BlockOpen => {
                self.out.push(b'{');
                self.depth += 1;
            }
            StatementKind::BlockClose => self.out.push(b'}'),
            StatementKind::Location => self.location(statement),
            StatementKind::File => self.file(statement),
            StatementKind::Section => self.section(statement),
            StatementKind::Function | StatementKind::Prototype | StatementKind::Label => {}
        }
        self.at = statement.end;
    }

    fn instruction(&mut self, statement: &Statement) {
        let instruction = self.tree.instruction(statement);
        if let Some(guard) = instruction.guard {
            self.out
                .extend_from_slice(if guard.negated { b"@!" } else { b"@" });
            self.out.extend_from_slice(guard.name);
            self.out.push(b' ');
        }
        self.out.extend(condensed(instruction.opcode));
        self.operands(b" ", instruction.operands);
        self.out.push(b';');
    }

    fn directive(&mut self, statement: &Statement) {
        let text = self.tree.text(statement.span());
        if text.starts_with(b"@@") {
            self.out.extend_from_slice(text);
            return;
        }
        let directive = self.tree.instruction(statement);
        self.out.extend_from_slice(directive.opcode);
        self.operands(b" ", directive.operands);
        if text.ends_with(b";") {
            self.out.push(b';');
        }
    }

    /// `before`, then the operands with commas; nothing if there is no operand.
    fn operands(&mut self, before: &[u8], operands: Operands<'_>) {
        for (number, operand) in operands.enumerate() {
            self.out
                .extend_from_slice(if number == 0 { before } else { b", " });
            self.operand(operand);
        }
    }

    fn operand(&mut self, operand: OperandRef<'_>) {
        let mut children = operand.children();
        match operand.kind() {
            OperandKind::Vector => {
                self.out.push(b'{');
                self.operands(b"", children);
                self.out.push(b'}');
            }
            OperandKind::List => {
                self.out.push(b'(');
                self.operands(b"", children);
                self.out.push(b')');
            }
            OperandKind::Address => {
                self.out.push(b'[');
                for (number, child) in children.enumerate() {
                    if number > 0 && child.kind() != OperandKind::Offset {
                        self.out.extend_from_slice(b", ");
                    }
                    self.operand(child);
                }
                self.out.push(b']');
                self.out.extend_from_slice(qualifier(operand.text()));
            }
            OperandKind::Sum => children.for_each(|child| self.operand(child)),
            OperandKind::Index => {
                if let Some(name) = children.next() {
                    self.operand(name);
                }
                self.out.push(b'[');
                self.operands(b"", children);
                self.out.push(b']');
            }
            OperandKind::Pair => {
                for (number, child) in children.enumerate() {
                    self.out.extend_from_slice(if number == 0 { b"" } else { b"|" });
                    self.operand(child);
                }
            }
            OperandKind::Name
            | OperandKind::Sink
            | OperandKind::Integer
            | OperandKind::Float
            | OperandKind::Expression
            | OperandKind::String
            | OperandKind::Offset
            | OperandKind::Not
            | OperandKind::Minus => self.out.extend(condensed(operand.text())),
        }
    }

    fn declaration(&mut self, variables: &[Variable]) {
        for (number, variable) in variables.iter().enumerate() {
            if number == 0 {
                self.linkage(variable.linkage);
                self.variable_type(variable);
            } else {
                self.out.push(b',');
            }
            self.declarator(variable);
        }
        self.out.push(b';');
    }

    fn linkage(&mut self, linkage: Linkage) {
        self.out.extend_from_slice(match linkage {
            Linkage::Local => b"",
            Linkage::Extern => b".extern ",
            Linkage::Visible => b".visible ",
            Linkage::Weak => b".weak ",
            Linkage::Common => b".common ",
        });
    }

    fn variable_type(&mut self, variable: &Variable) {
        self.out.extend_from_slice(space(variable.space));
        if let Some(bank) = variable.bank {
            self.format(format_args!("[{bank}]"));
        }
        if !variable.attribute.is_empty() {
            self.out.push(b' ');
            self.condensed(variable.attribute);
        }
        if variable.align > 0 {
            self.format(format_args!(" .align {}", variable.align));
        }
        if variable.vector > 1 {
            self.format(format_args!(" .v{}", variable.vector));
        }
        self.out.push(b' ');
        self.condensed(variable.scalar_name);
        if variable.is_pointer {
            self.out.extend_from_slice(b" .ptr");
            if let Some(pointer_space) = variable.pointer_space {
                self.out.push(b' ');
                self.out.extend_from_slice(space(pointer_space));
            }
            if variable.pointer_align > 0 {
                self.format(format_args!(" .align {}", variable.pointer_align));
            }
        }
    }

    fn declarator(&mut self, variable: &Variable) {
        if !variable.name.is_empty() {
            self.out.push(b' ');
            self.condensed(variable.name);
        }
        if variable.range != NONE {
            self.format(format_args!("<{}>", variable.range));
        }
        self.condensed(variable.dimensions);
        if !variable.initializer.is_empty() {
            self.out.extend_from_slice(b" = ");
            self.condensed(variable.initializer);
        }
    }

    fn parameters(&mut self, parameters: &[Variable]) {
        self.out.push(b'(');
        for (number, parameter) in parameters.iter().enumerate() {
            if number > 0 {
                self.out.extend_from_slice(b", ");
            }
            self.variable_type(parameter);
            self.declarator(parameter);
        }
        self.out.push(b')');
    }

    /// The header, its directives, and the opening brace or the semicolon.
    fn function(&mut self, statement: &Statement, function: &Function) {
        let tree = self.tree;
        self.indent();
        self.linkage(function.linkage);
        self.out.extend_from_slice(match function.kind {
            FunctionKind::Entry => b".entry ",
            FunctionKind::Func => b".func ",
            FunctionKind::Prototype => b".callprototype ",
        });
        if !function.attribute.is_empty() {
            self.condensed(function.attribute);
            self.out.push(b' ');
        }
        if !function.results.is_empty() || function.kind == FunctionKind::Prototype {
            self.parameters(&tree.variables[function.results.range()]);
            self.out.push(b' ');
        }
        self.condensed(function.name);
        self.parameters(&tree.variables[function.params.range()]);
        self.at = function.header.end;
        for directive in &tree.statements[function.directives.range()] {
            self.comments_before(directive.start);
            self.indent();
            self.directive(directive);
            self.at = directive.end;
        }
        if function.has_body {
            self.line(b"{");
            self.after_brace = true;
        } else {
            self.line(b";");
        }
        self.at = if function.has_body { self.at } else { statement.end };
    }

    fn location(&mut self, statement: &Statement) {
        let Some(location) = self.tree.location(statement) else {
            return;
        };
        self.format(format_args!(
            ".loc {} {} {}",
            location.file, location.line, location.column
        ));
        if let Some(inlined) = self.tree.inlined.get(location.inlined as usize) {
            self.out.extend_from_slice(b", function_name ");
            self.condensed(inlined.function);
            self.format(format_args!(
                ", inlined_at {} {} {}",
                inlined.file, inlined.line, inlined.column
            ));
        }
    }

    fn file(&mut self, statement: &Statement) {
        let Some(file) = self.tree.file(statement) else {
            return;
        };
        self.format(format_args!(".file {} \"", file.number));
        self.out.extend_from_slice(self.tree.text(file.name));
        self.out.push(b'"');
        self.condensed(file.rest);
    }

    fn section(&mut self, statement: &Statement) {
        let Some(section) = self.tree.section(statement) else {
            return;
        };
        self.out.extend_from_slice(b".section ");
        self.out.extend_from_slice(self.tree.text(section.name));
        self.out.extend_from_slice(b" {");
        let mut rest = trivia(self.tree.text(section.body));
        while let Ok((after, _)) = item(rest) {
            self.out.push(b'\n');
            let text = &rest[..rest.len() - after.len()];
            self.out
                .extend_from_slice(if text.first() == Some(&b'.') { b"\t" } else { b"" });
            self.out.extend(condensed(text));
            rest = after;
        }
        self.line(b"}");
    }

    fn format(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to memory does not fail.
        let _ = self.out.write_fmt(arguments);
    }

    fn condensed(&mut self, span: Span) {
        self.out.extend(condensed(self.tree.text(span)));
    }
}

const fn space(space: StateSpace) -> &'static [u8] {
    match space {
        StateSpace::Reg => b".reg",
        StateSpace::Sreg => b".sreg",
        StateSpace::Const => b".const",
        StateSpace::Global => b".global",
        StateSpace::Local => b".local",
        StateSpace::Param => b".param",
        StateSpace::Shared => b".shared",
        StateSpace::Tex => b".tex",
    }
}

/// The `.unified` after an address.
fn qualifier(address: &[u8]) -> &[u8] {
    let bracket = address
        .iter()
        .rposition(|&byte| byte == b']')
        .map_or(address.len(), |at| at + 1);
    address[bracket..].trim_ascii()
}

/// The tokens of `text`: no comments, no blanks except between two words and after commas.
pub(crate) fn condensed(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = trivia(text);
    let (mut left, mut gap, mut last) = (0, false, 0);
    std::iter::from_fn(move || {
        if left == 0 {
            let &first = rest.first()?;
            let is_word = |byte| class(byte) & NAME != 0;
            if !gap && (last == b',' || is_word(last) && is_word(first)) {
                gap = true;
                return Some(b' ');
            }
            gap = false;
            left = token_len(rest).max(1);
        }
        let (&byte, after) = rest.split_first()?;
        left -= 1;
        last = byte;
        rest = if left == 0 { trivia(after) } else { after };
        Some(byte)
    })
}
