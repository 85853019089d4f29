//! Reading the code of functions statement by statement, where [`parse_heads`](crate::parse_heads) has left it.

use crate::ast::{Statement, StatementKind, Tree};
use crate::module::{Parser, text_of};

/// Reads statements of function bodies by the grammar of [`parse`](crate::parse), each into a tree that has no other.
///
/// ```
/// use ptxcheck_ptx_parser::{BodyReader, parse_heads};
///
/// let source = b".entry k()\n{\n  .reg .b32 %r<2>;\n  mov.u32 %r1, 1; ret;\n}\n";
/// let heads = parse_heads(source)?;
/// let mut reader = BodyReader::new(&heads);
/// let (mov, end) = reader.read(heads.functions()[0].unread.start).expect("it is well formed");
/// assert_eq!(reader.tree().name(&mov), b"mov.u32");
/// assert_eq!(reader.tree().operands(&mov).count(), 2);
/// let (ret, _) = reader.read(end + 1).expect("it is well formed");
/// assert_eq!(reader.tree().name(&ret), b"ret");
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
pub struct BodyReader<'s> {
    parser: Parser<'s>,
    /// The source without padding.
    text: &'s [u8],
}

impl<'s> BodyReader<'s> {
    /// For the text of a tree.
    #[must_use]
    pub fn new(tree: &Tree<'s>) -> Self {
        let source = tree.source();
        let text = text_of(source).unwrap_or_default();
        let mut parser = Parser::with(Tree::empty(source), text.len());
        parser.open_function_without_text();
        Self { parser, text }
    }

    /// The text, without the zeros at its end.
    #[must_use]
    pub const fn text(&self) -> &'s [u8] {
        self.text
    }

    /// The tree of the statement that was read last, in a function of no text.
    #[must_use]
    pub const fn tree(&self) -> &Tree<'s> {
        &self.parser.tree
    }

    /// The instruction, label, declaration, prototype or directive at an offset, for [`Self::tree`], and the offset after it. `None` where there is
    /// something else, or something malformed.
    pub fn read(&mut self, at: u32) -> Option<(Statement, u32)> {
        self.parser.keep_function_without_text();
        let rest = self.text.get(at as usize..)?;
        let first = *rest.first().filter(|first| !b"{};".contains(first))?;
        let (after, ()) = self.parser.statement(rest, first).ok()?;
        let (_, [statement, directives @ ..]) = self.parser.tree.statements.split_first()? else {
            return None;
        };
        let statement = *statement;
        let is_one = match statement.kind() {
            StatementKind::Prototype => true,
            StatementKind::Instruction
            | StatementKind::Label
            | StatementKind::Declaration
            | StatementKind::Location
            | StatementKind::Directive => directives.is_empty(),
            _ => false,
        };
        (is_one && self.parser.is_in_function_without_text()).then(|| (statement, self.parser.offset(after)))
    }
}
