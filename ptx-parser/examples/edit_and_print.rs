//! Renames a kernel and changes the target of a module, and prints the module in the parser's canonical format.
//!
//! ```sh
//! cargo run --example edit_and_print -- OLD_NAME NEW_NAME sm_100 < module.ptx > edited.ptx
//! ```
//!
//! A tree borrows its source and does not change. A visitor collects what to replace, as spans; the edited text is parsed
//! again, and that tree is printed.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use ptxcheck_ptx_parser::ast::{Function, OperandKind, Section, Statement, Tree, Variable};
use ptxcheck_ptx_parser::debug_info::{Item, Value, items};
use ptxcheck_ptx_parser::printer::print;
use ptxcheck_ptx_parser::{
    Element, Instruction, LocatedError, OperandRef, Position, Span, SyntaxError, Visitor, Walk, parse,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [old, new, target] = arguments.as_slice() else {
        return fail("usage: edit_and_print OLD_NAME NEW_NAME TARGET < module.ptx > edited.ptx");
    };
    let mut source = Vec::new();
    if let Err(error) = std::io::stdin().read_to_end(&mut source) {
        return fail(error);
    }
    let edited = match edit(&source, old.as_bytes(), new.as_bytes(), target.as_bytes()) {
        Ok(edited) => edited,
        Err(error) => return fail(format_args!("<stdin>:{error}")),
    };
    match std::io::stdout().write_all(&edited) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

fn fail(error: impl fmt::Display) -> ExitCode {
    // If this fails, there is no place left to report the error.
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}

/// Why a module was not edited.
#[derive(Debug, PartialEq)]
enum EditError {
    /// The module has errors; this is the first.
    Syntax(LocatedError),
    /// There is no kernel of the old name.
    NoKernel,
    /// There is no `.target`.
    NoTarget,
    /// The old or the new name already stands here for something else.
    Taken(Position),
    /// The new name or target is none.
    NotAName,
}

impl fmt::Display for EditError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(formatter),
            Self::NoKernel => formatter.write_str(" no kernel has the old name"),
            Self::NoTarget => formatter.write_str(" the module has no `.target`"),
            Self::Taken(position) => write!(formatter, "{position}: the name means something else here"),
            Self::NotAName => formatter.write_str(" the new name or target is not one"),
        }
    }
}

impl std::error::Error for EditError {}

/// The module `source` with its kernel `old` named `new`, and for the architecture `target`.
fn edit(source: &[u8], old: &[u8], new: &[u8], target: &[u8]) -> Result<Vec<u8>, EditError> {
    let tree = whole(source)?;
    if !has_kernel(&tree, old) {
        return Err(EditError::NoKernel);
    }
    let mut collector = Collector {
        old,
        new,
        names: Vec::new(),
        target: None,
        taken: None,
    };
    if tree.walk(&mut collector).is_break() {
        let taken = collector.taken.unwrap_or_default();
        return Err(EditError::Taken(Position::of(source, taken.start)));
    }
    let mut edits: Vec<(Span, &[u8])> = collector.names.iter().map(|&name| (name, new)).collect();
    edits.push((collector.target.ok_or(EditError::NoTarget)?, target));
    let edited = replaced(source, edits);

    // A text that is not a name gives another module, or none.
    let tree = whole(&edited).map_err(|_| EditError::NotAName)?;
    if !has_kernel(&tree, new) || tree.target().next() != Some(target) {
        return Err(EditError::NotAName);
    }
    Ok(print(&tree))
}

fn has_kernel(tree: &Tree<'_>, name: &[u8]) -> bool {
    let mut functions = tree.functions().iter();
    functions.any(|function| function.is_kernel() && tree.text(function.name) == name)
}

/// The tree of a module without errors.
fn whole(source: &[u8]) -> Result<Tree<'_>, EditError> {
    let syntax = |error: &SyntaxError| EditError::Syntax(error.located(source));
    let tree = parse(source).map_err(|error| syntax(&error))?;
    match tree.errors().first() {
        Some(error) => Err(syntax(error)),
        None => Ok(tree),
    }
}

/// `source` with other text in place of some spans, none of which overlap.
fn replaced(source: &[u8], mut edits: Vec<(Span, &[u8])>) -> Vec<u8> {
    edits.sort_by_key(|(span, _)| *span);
    let mut edited = Vec::with_capacity(source.len());
    let mut at = 0;
    for (span, text) in edits {
        edited.extend_from_slice(Span::new(at, span.start).of(source));
        edited.extend_from_slice(text);
        at = span.end;
    }
    edited.extend_from_slice(source.get(at as usize..).unwrap_or_default());
    edited
}

/// Finds where a kernel is named.
struct Collector<'n> {
    old: &'n [u8],
    new: &'n [u8],
    names: Vec<Span>,
    /// The first word of the first `.target`.
    target: Option<Span>,
    /// The declaration of one of the names as something else.
    taken: Option<Span>,
}

impl Collector<'_> {
    /// A name that stands for a function or a symbol.
    fn uses(&mut self, tree: &Tree<'_>, name: &[u8]) {
        if name == self.old {
            self.names.extend(tree.span_of(name));
        }
    }

    /// A name that is declared as something other than the kernel.
    fn declares(&mut self, tree: &Tree<'_>, name: &[u8]) -> Walk {
        if name == self.old || name == self.new {
            self.taken = tree.span_of(name);
            return Walk::Stop;
        }
        Walk::Into
    }
}

impl<'t> Visitor<'t> for Collector<'_> {
    fn function(&mut self, tree: &'t Tree<'t>, function: &'t Function) -> Walk {
        let name = tree.text(function.name);
        if name == self.old {
            self.uses(tree, name);
            return Walk::Into;
        }
        self.declares(tree, name)
    }

    fn variable(&mut self, tree: &'t Tree<'t>, variable: &'t Variable) -> Walk {
        for element in tree.initializer(variable) {
            if let Element::Address(address) = element {
                self.uses(tree, address.symbol);
            }
        }
        self.declares(tree, tree.text(variable.name))
    }

    fn label(&mut self, tree: &'t Tree<'t>, statement: &'t Statement) -> Walk {
        self.declares(tree, tree.name(statement))
    }

    fn directive(&mut self, _: &'t Tree<'t>, _: &'t Statement, directive: &Instruction<'t>) -> Walk {
        if directive.opcode == b".target" && self.target.is_none() {
            self.target = directive.operands.clone().next().map(OperandRef::span);
            return Walk::Over;
        }
        Walk::Into
    }

    fn operand(&mut self, tree: &'t Tree<'t>, _: &'t Statement, operand: OperandRef<'t>) -> Walk {
        if operand.kind() == OperandKind::Name {
            self.uses(tree, operand.text());
        }
        Walk::Into
    }

    fn section(&mut self, tree: &'t Tree<'t>, section: &'t Section) -> Walk {
        for item in items(tree, section) {
            let Item::Data { values, .. } = item else { continue };
            for value in values {
                match value {
                    Value::Label(label, _) => self.uses(tree, label),
                    Value::Difference(left, right) => {
                        self.uses(tree, left);
                        self.uses(tree, right);
                    }
                    _ => {}
                }
            }
        }
        Walk::Into
    }
}

#[cfg(test)]
mod tests {
    use super::{EditError, edit, parse};

    const MODULE: &str = ".version 8.5\n.target sm_90, debug\n.address_size 64\n.extern .entry old(.param .b64 p);\n\
        .global .b64 t[2] = {generic(old), older};\n.visible .entry old(.param .b64 p)\n{\n\tmov.b64 %rd1, old;\n\
        \tcall (r), launch, (old, [older]);\n}\n.section .debug_info { .b64 old .b32 L-L }\n";

    fn edited(source: &str, old: &str, new: &str, target: &str) -> Result<String, EditError> {
        let edited = edit(
            source.as_bytes(),
            old.as_bytes(),
            new.as_bytes(),
            target.as_bytes(),
        )?;
        Ok(String::from_utf8(edited).unwrap())
    }

    #[test]
    fn the_kernel_is_renamed_wherever_it_is_named() {
        let text = edited(MODULE, "old", "renamed", "sm_100").unwrap();
        let expected = MODULE
            .replace("older", "\0")
            .replace("old", "renamed")
            .replace('\0', "older");
        let expected = expected.replace("sm_90", "sm_100");
        let tree = parse(expected.as_bytes()).unwrap();
        let again = parse(text.as_bytes()).unwrap();
        assert!(again.errors().is_empty());
        assert!(ptxcheck_ptx_parser::printer::same(&tree, &again), "{text}");
        assert_eq!(again.target().collect::<Vec<_>>(), [&b"sm_100"[..], b"debug"]);
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        let taken = |new: &str| match edited(MODULE, "old", new, "sm_100") {
            Err(EditError::Taken(position)) => position.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(taken("t"), "5:14");
        assert_eq!(taken("p"), "4:32");
        let shadowed = MODULE.replace("\tmov", "\t.reg .b64 old;\n\tmov");
        let error = edited(&shadowed, "old", "new", "sm_100").unwrap_err();
        assert_eq!(error.to_string(), "8:12: the name means something else here");
        for (new, target) in [
            ("a b", "sm_90"),
            ("1", "sm_90"),
            ("", "sm_90"),
            ("a", ""),
            ("a", "x, y"),
            ("a", "}"),
        ] {
            assert_eq!(
                edited(MODULE, "old", new, target),
                Err(EditError::NotAName),
                "{new} {target}"
            );
        }
    }

    #[test]
    fn errors_have_places() {
        let error = edited(
            &MODULE.replace("mov.b64 %rd1,", "mov.b64 %rd1"),
            "old",
            "new",
            "sm_100",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "8:15: expected `,` or `;` after the operand, found `old`"
        );
        assert_eq!(edited(MODULE, "older", "new", "sm_100"), Err(EditError::NoKernel));
        assert_eq!(
            edited(".entry k();", "k", "new", "sm_100"),
            Err(EditError::NoTarget)
        );
    }
}
