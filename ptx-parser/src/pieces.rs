//! Reading a large module in pieces that begin and end between functions, so that several threads may read them.
//!
//! A cut lies after a brace that seems to close a function, and before a line that seems to begin an item at module level. The piece shows
//! whether it does: if its last function ends at the end of the piece and the piece has no errors, the text after it is parsed as if
//! nothing came before. Otherwise the module is parsed from beginning to end.

use memchr::memmem;

use crate::ast::{Function, Indices, NONE, Statement, Tag, Tree};
use crate::error::SyntaxError;
use crate::lexer::{directive, trivia};
use crate::limits::{MAX_CUT_BYTES, MAX_CUT_TRIES};
use crate::module::{BYTE_ORDER_MARK, Depth, Parser, parse, text_of};

/// A part of a module, to be read by [`Piece::read`].
pub struct Piece<'s> {
    text: &'s [u8],
    parser: Parser<'s>,
}

impl<'s> Piece<'s> {
    /// Reads it.
    pub fn read(&mut self) {
        self.parser.module(self.text);
    }

    /// True if the text after it is parsed as if nothing came before.
    fn is_closed(&self) -> bool {
        let tree = &self.parser.tree;
        let end = self.parser.offset(&[]);
        let last = tree.functions.last();
        tree.errors.is_empty() && last.is_some_and(|last| last.has_body && last.span.end == end)
    }
}

/// Parses a module like [`parse`], in up to `count` pieces. `read` has to call [`Piece::read`] once for each, in any order and on
/// any thread.
///
/// ```
/// use ptxcheck_ptx_parser::{Piece, parse_in_pieces};
///
/// let source = b".version 8.5\n.target sm_90\n.entry k()\n{ ret; }\n.entry l()\n{ ret;\n}\n.entry m()\n{ ret; }\n";
/// let tree = parse_in_pieces(source, 2, |pieces| pieces.iter_mut().for_each(Piece::read))?;
/// assert_eq!(tree.functions().len(), 3);
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
///
/// # Errors
///
/// As [`parse`].
pub fn parse_in_pieces<'s>(
    source: &'s [u8],
    count: usize,
    read: impl FnOnce(&mut [Piece<'s>]),
) -> Result<Tree<'s>, SyntaxError> {
    let Ok(text) = text_of(source) else {
        return parse(source);
    };
    let mut pieces = cut(source, text, count);
    if pieces.len() < 2 {
        return parse(source);
    }
    read(&mut pieces);
    let before_last = pieces.len() - 1;
    if !pieces[..before_last].iter().all(Piece::is_closed) {
        drop(pieces);
        return parse(source);
    }
    let mut trees = pieces.into_iter().map(|piece| piece.parser.tree);
    let mut whole = trees.next().unwrap_or_else(|| Tree::empty(source));
    trees.for_each(|tree| append(&mut whole, tree));
    Ok(Parser::with(whole, text.len()).finish(text))
}

/// The pieces of a text, of about the same lengths. The first has room for all that the others hold.
fn cut<'s>(source: &'s [u8], text: &'s [u8], count: usize) -> Vec<Piece<'s>> {
    let places = (1..count).map(|number| text.len() / count * number);
    let mut ends: Vec<usize> = places.filter_map(|place| next_cut(text, place)).collect();
    ends.push(text.len());
    ends.dedup();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let piece = |(start, &end): (usize, &usize)| {
        let all = &text[start..end];
        let is_first = start == 0;
        Piece {
            text: all
                .strip_prefix(BYTE_ORDER_MARK)
                .filter(|_| is_first)
                .unwrap_or(all),
            parser: Parser::new(source, if is_first { text } else { all }, end, Depth::Everything),
        }
    };
    starts.zip(&ends).map(piece).collect()
}

/// The first place, from a given one on, after a brace at the beginning of a line and before a directive that begins a function or
/// variable.
fn next_cut(text: &[u8], from: usize) -> Option<usize> {
    const CLOSE: &[u8] = b"\n}";
    let begins_something = |&end: &usize| {
        let behind = &text[end..text.len().min(end + MAX_CUT_BYTES)];
        let word = directive(trivia(behind)).map(|(_, word)| word);
        matches!(
            word,
            Ok(b".visible" | b".weak" | b".extern" | b".entry" | b".func" | b".global" | b".const")
        )
    };
    memmem::find_iter(&text[from..], CLOSE)
        .map(|at| from + at + CLOSE.len())
        .take(MAX_CUT_TRIES)
        .find(begins_something)
}

/// Adds a tree whose text follows that of `whole`, with indices that count from its own beginning.
fn append(whole: &mut Tree<'_>, next: Tree<'_>) {
    let before = Counts {
        statements: whole.statements.len() as u32,
        operands: whole.operands.len() as u32,
        variables: whole.variables.len() as u32,
        functions: whole.functions.len() as u32,
        locations: whole.locations.len() as u32,
        files: whole.files.len() as u32,
        sections: whole.sections.len() as u32,
    };
    let inlined = whole.inlined.len() as u32;
    whole.statements.extend(
        next.statements
            .into_iter()
            .map(|statement| before.behind(statement)),
    );
    whole.operands.extend(next.operands);
    whole.variables.extend(next.variables);
    whole.functions.extend(
        next.functions
            .into_iter()
            .map(|function| before.behind_all(function)),
    );
    whole
        .locations
        .extend(next.locations.into_iter().map(|mut location| {
            if location.inlined != NONE {
                location.inlined += inlined;
            }
            location
        }));
    whole.inlined.extend(next.inlined);
    whole.files.extend(next.files);
    whole.sections.extend(next.sections);
    whole.errors.extend(next.errors);
    whole.errors_left_out += next.errors_left_out;
}

/// Numbers of records in front of those of a tree.
struct Counts {
    statements: u32,
    operands: u32,
    variables: u32,
    functions: u32,
    locations: u32,
    files: u32,
    sections: u32,
}

impl Counts {
    fn behind(&self, mut statement: Statement) -> Statement {
        statement.index += match statement.tag {
            Tag::Instruction | Tag::InstructionIf | Tag::InstructionIfNot | Tag::Directive => self.operands,
            Tag::Label => 0,
            Tag::Declaration => self.variables,
            Tag::BlockOpen | Tag::BlockClose => self.statements,
            Tag::Function | Tag::Prototype => self.functions,
            Tag::Location => self.locations,
            Tag::File => self.files,
            Tag::Section => self.sections,
        };
        statement
    }

    fn behind_all(&self, function: Function) -> Function {
        let behind = |indices: Indices, count: u32| Indices {
            start: indices.start + count,
            end: indices.end + count,
        };
        Function {
            results: behind(function.results, self.variables),
            params: behind(function.params, self.variables),
            directives: behind(function.directives, self.statements),
            body: behind(function.body, self.statements),
            ..function
        }
    }
}
