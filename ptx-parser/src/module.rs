//! The parser itself: statement after statement to the end, and on after what could not be read.

use memchr::{memchr, memchr3, memmem};

use crate::ast::{FunctionKind, Linkage, Statement, Tag, Tree};
use crate::error::{Cause, SyntaxError};
use crate::lexer::{
    Ahead, BLANK, Expected, NAME_START, Parsed, class, closing_brace, comment_len, comments, expected,
    first_class, over_limit, run, token_len, trivia,
};
use crate::limits::{MAX_BLOCK_DEPTH, MAX_ERRORS, MAX_HEAD_BYTES, MAX_SOURCE_BYTES};
use crate::span::Span;

/// Reads a module of any PTX ISA version. `source` may begin with a byte order mark and end with NUL bytes, with which
/// images in fat binaries are padded. Time and memory are linear in its length.
///
/// ```
/// use ptxcheck_ptx_parser::parse;
///
/// let source = b".version 8.5\n.entry k()\n{\n  mov.u32 %r1 1;\n  ret;\n}\n";
/// let tree = parse(source)?;
/// let [error] = tree.errors() else { panic!() };
/// assert_eq!(
///     error.located(source).to_string(),
///     "4:15: expected `,` or `;` after the operand, found `1`"
/// );
/// let [kernel] = tree.functions() else { panic!() };
/// let [ret] = tree.body(kernel) else { panic!() };
/// assert_eq!(tree.name(ret), b"ret");
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
///
/// # Errors
///
/// Only if `source` is longer than [`MAX_SOURCE_BYTES`]. Malformed statements are in [`Tree::errors`]; the statements
/// around it are in the tree. A scope or function that the source leaves open is closed, with an empty `}`, where
/// the next function begins or the source ends.
pub fn parse(source: &[u8]) -> Result<Tree<'_>, SyntaxError> {
    read(source, Depth::Everything)
}

/// Reads what a module declares: all that stands outside of braces, and the first `.loc` of each body, which is about
/// where the source declares the function. Function bodies, the elements of initialisers and the data of sections are skipped, and errors
/// in them are not reported here: [`Tree::errors`] has errors outside of them, and unclosed braces. Several times faster than [`parse`].
///
/// ```
/// use ptxcheck_ptx_parser::parse_declarations;
///
/// let source = b".global .f32 table[2] = {0f3F800000, 0f40000000};\n.entry k(.param .u64 p)\n{ ret; }\n";
/// let tree = parse_declarations(source)?;
/// let [kernel] = tree.functions() else { panic!() };
/// assert_eq!(tree.text(kernel.name), b"k");
/// assert_eq!(tree.params(kernel)[0].bytes(), Some(8));
/// assert!(kernel.has_body && tree.body(kernel).is_empty());
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
///
/// # Errors
///
/// As [`parse`].
pub fn parse_declarations(source: &[u8]) -> Result<Tree<'_>, SyntaxError> {
    read(source, Depth::Declarations)
}

/// Reads a module like [`parse`], but of each body only the directives that it begins with, as compilers declare registers and variables there,
/// and its first `.loc` if that comes soon. [`BodyReader`](crate::BodyReader) reads the rest, which [`Function::unread`](crate::ast::Function::unread) names.
///
/// ```
/// use ptxcheck_ptx_parser::parse_heads;
///
/// let source = b".entry k()\n{\n  .reg .b32 %r<2>;\n  mov.u32 %r1, 1;\n  ret;\n}\n";
/// let tree = parse_heads(source)?;
/// let [kernel] = tree.functions() else { panic!() };
/// assert_eq!(tree.variables().len(), 1);
/// assert_eq!(tree.text(kernel.unread).trim_ascii(), b"mov.u32 %r1, 1;\n  ret;");
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
///
/// # Errors
///
/// As [`parse`].
pub fn parse_heads(source: &[u8]) -> Result<Tree<'_>, SyntaxError> {
    read(source, Depth::Heads)
}

/// The part of a module that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Everything,
    /// All but the code of functions.
    Heads,
    /// All outside of braces.
    Declarations,
}

fn read(source: &[u8], depth: Depth) -> Result<Tree<'_>, SyntaxError> {
    let text = text_of(source)?;
    let mut parser = Parser::new(source, text, text.len(), depth);
    parser.module(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
    Ok(parser.finish(text))
}

/// The mark that a text may begin with.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A source without the NULs that images in fat binaries are padded with.
pub(crate) fn text_of(source: &[u8]) -> Result<&[u8], SyntaxError> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(SyntaxError {
            cause: Cause::Limit,
            span: Span::default(),
            expected: "the source is longer than 4 GiB",
        });
    }
    let padding = source.iter().rev().take_while(|&&byte| byte == 0).count();
    Ok(&source[..source.len() - padding])
}

pub(crate) struct Parser<'s> {
    pub(crate) tree: Tree<'s>,
    /// Length of the text: offsets are this minus the unread length.
    len: usize,
    /// The instruction is a call: its parentheses hold arguments, not expressions.
    pub(crate) in_call: bool,
    /// The statement of the function whose body is open.
    pub(crate) function: Option<usize>,
    /// The statements of the open braces in it.
    blocks: Vec<u32>,
    /// Open braces beyond the limit, which are in no tree.
    blocks_left_out: usize,
    pub(crate) ahead: Ahead,
    depth: Depth,
}

impl<'s> Parser<'s> {
    /// For a text that ends at the offset `end`, with room for what `estimated` holds.
    pub(crate) fn new(source: &'s [u8], estimated: &[u8], end: usize, depth: Depth) -> Self {
        let (statements, operands) = match depth {
            Depth::Everything => capacities(estimated),
            Depth::Heads | Depth::Declarations => (0, 0),
        };
        let mut tree = Tree::empty(source);
        tree.statements.reserve(statements);
        tree.operands.reserve(operands);
        Self {
            depth,
            ..Self::with(tree, end)
        }
    }

    /// The same, with the part that has been read.
    pub(crate) fn with(tree: Tree<'s>, end: usize) -> Self {
        Self {
            tree,
            len: end,
            in_call: false,
            function: None,
            blocks: Vec::new(),
            blocks_left_out: 0,
            ahead: Ahead::default(),
            depth: Depth::Everything,
        }
    }

    /// Opens a function of no text at the end of the text, which statements are read in.
    pub(crate) fn open_function_without_text(&mut self) {
        let function = self.empty_function(&[], FunctionKind::Func, Linkage::Local);
        self.push_spanning(Tag::Function, 0, &[], &[]);
        self.tree.functions.push(function);
        self.function = Some(0);
    }

    /// True if it is still open, and nothing was malformed in it.
    pub(crate) fn is_in_function_without_text(&self) -> bool {
        self.function == Some(0) && self.blocks.is_empty() && self.tree.errors.is_empty()
    }

    /// Forgets all but that function.
    pub(crate) fn keep_function_without_text(&mut self) {
        let tree = &mut self.tree;
        self.function = Some(0);
        self.blocks.clear();
        tree.statements.truncate(1);
        tree.functions.truncate(1);
        tree.operands.clear();
        tree.variables.clear();
        tree.locations.clear();
        tree.inlined.clear();
        tree.files.clear();
        tree.sections.clear();
        tree.errors.clear();
    }

    /// The offset of `rest`, which reaches to the end of the text.
    #[inline(always)]
    pub(crate) fn offset(&self, rest: &[u8]) -> u32 {
        (self.len - rest.len()) as u32
    }

    /// The range from one rest of the text to a later one.
    pub(crate) fn span(&self, start: &[u8], end: &[u8]) -> Span {
        Span::new(self.offset(start), self.offset(end))
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, statement: Statement) {
        self.tree.statements.push(statement);
    }

    pub(crate) fn module(&mut self, mut rest: &'s [u8]) {
        loop {
            rest = trivia(rest);
            let Some(&first) = rest.first() else { break };
            let (operands, variables) = (self.tree.operands.len(), self.tree.variables.len());
            match self.statement(rest, first) {
                Ok((after, ())) if self.function.is_some() && self.depth != Depth::Everything => {
                    rest = self.pass_over_body(after);
                }
                Ok((after, ())) => rest = after,
                Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                    self.tree.operands.truncate(operands);
                    self.tree.variables.truncate(variables);
                    self.report(error);
                    rest = recover(rest, error.rest, &mut self.ahead);
                }
                Err(nom::Err::Incomplete(_)) => break,
            }
        }
        if self.function.is_some() {
            self.report(Expected {
                what: "`}` that closes the function",
                rest: 0,
                is_limit: false,
            });
            self.abandon_function(rest);
        }
    }

    #[inline(always)]
    pub(crate) fn statement(&mut self, input: &'s [u8], first: u8) -> Parsed<'s, ()> {
        let in_function = self.function.is_some();
        if in_function && class(first) & NAME_START != 0 {
            return self.label_or_instruction(input);
        }
        match first {
            b'.' => self.directive_statement(input),
            b'@' if input.starts_with(b"@@DWARF") => Ok((self.dwarf_line(input), ())),
            b'@' if in_function => self.guarded(input),
            b'{' if in_function => self.open_block(input),
            b'}' if in_function => {
                self.close_block(input, &input[1..]);
                Ok((&input[1..], ()))
            }
            b';' => Ok((&input[1..], ())),
            _ if in_function => expected("a label, an instruction, a directive, `{` or `}`", input),
            _ => expected("a directive", input),
        }
    }

    /// Skips the content of the braces opened right before `inner`: returns the content and the text after the closing brace. If nothing
    /// closes them, the rest of the module is read like any other, so that errors come out the same.
    pub(crate) fn pass_over(&mut self, inner: &'s [u8]) -> Option<(&'s [u8], &'s [u8])> {
        (self.depth == Depth::Declarations)
            .then(|| self.content(inner))
            .flatten()
    }

    fn content(&mut self, inner: &'s [u8]) -> Option<(&'s [u8], &'s [u8])> {
        let Some(end) = closing_brace(inner, &mut self.ahead) else {
            self.depth = Depth::Everything;
            return None;
        };
        Some((&inner[..end], &inner[end + 1..]))
    }

    fn pass_over_body(&mut self, body: &'s [u8]) -> &'s [u8] {
        let first = self.tree.statements.len();
        let body = match self.depth {
            Depth::Heads => self.head_of_body(body),
            _ => body,
        };
        if self.depth == Depth::Everything {
            return body;
        }
        let Some((inner, rest)) = self.content(body) else {
            return body;
        };
        let unread = self.span(body, &body[inner.len()..]);
        if let Some(function) = self.tree.functions.last_mut() {
            function.unread = unread;
        }
        let searched = match self.depth {
            Depth::Heads => &inner[..inner.len().min(MAX_HEAD_BYTES)],
            _ => inner,
        };
        let mut head = self.tree.statements[first..].iter();
        if head.all(|statement| statement.tag != Tag::Location)
            && let Some(at) = first_location(searched)
        {
            // Text that only looks like one is left out of the tree.
            let _ = self.directive_statement(&body[at..]);
        }
        self.close_block(&body[inner.len()..], rest);
        rest
    }

    /// Reads the directives that a body begins with. Returns the text after them.
    fn head_of_body(&mut self, body: &'s [u8]) -> &'s [u8] {
        let mut rest = trivia(body);
        while rest.first() == Some(&b'.') {
            let (function, functions) = (self.function, self.tree.functions.len());
            let (operands, variables) = (self.tree.operands.len(), self.tree.variables.len());
            match self.directive_statement(rest) {
                Ok((after, ())) if (self.function, self.tree.functions.len()) == (function, functions) => {
                    rest = trivia(after);
                }
                // The rest of the module is read like any other, so that errors come out the same.
                Ok((after, ())) => {
                    self.depth = Depth::Everything;
                    return after;
                }
                Err(_) => {
                    self.tree.operands.truncate(operands);
                    self.tree.variables.truncate(variables);
                    self.depth = Depth::Everything;
                    return rest;
                }
            }
        }
        rest
    }

    fn open_block(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let rest = &input[1..];
        if self.blocks.len() >= MAX_BLOCK_DEPTH {
            self.blocks_left_out += 1;
            if self.blocks_left_out == 1
                && let Err(nom::Err::Failure(error)) =
                    over_limit::<()>("the scopes are nested more than 1,024 levels deep", input)
            {
                self.report(error);
            }
            return Ok((rest, ()));
        }
        self.blocks.push(self.tree.statements.len() as u32);
        self.push_spanning(Tag::BlockOpen, 0, input, rest);
        Ok((rest, ()))
    }

    /// Closes the innermost scope, or the function, with a brace (or nothing) from `input` to `rest`.
    fn close_block(&mut self, input: &'s [u8], rest: &'s [u8]) {
        if self.blocks_left_out > 0 {
            self.blocks_left_out -= 1;
        } else if let Some(open) = self.blocks.pop() {
            self.tree.statements[open as usize].index = self.tree.statements.len() as u32;
            self.push_spanning(Tag::BlockClose, open, input, rest);
        } else if let Some(statement) = self.function.take() {
            let end = self.offset(rest);
            let body_end = self.tree.statements.len() as u32;
            let header = &mut self.tree.statements[statement];
            header.end = end;
            let function = &mut self.tree.functions[header.index as usize];
            function.span.end = end;
            function.body.end = body_end;
        }
    }

    /// A statement without a name or operands, from where `input` begins to where `rest` does.
    pub(crate) fn push_spanning(&mut self, tag: Tag, index: u32, input: &'s [u8], rest: &'s [u8]) {
        let (start, end) = (self.offset(input), self.offset(rest));
        self.push(Statement {
            start,
            end,
            index,
            name: start,
            tag,
            operand_count: 0,
            name_len: 0,
        });
    }

    /// Closes all that is open, with braces that the source does not have.
    pub(crate) fn abandon_function(&mut self, input: &'s [u8]) {
        self.blocks_left_out = 0;
        while self.function.is_some() {
            self.close_block(input, input);
        }
    }

    /// Old modules carry debug data as `@@DWARF …` lines (PTX ISA, Debugging Directives: @@dwarf). The line is one
    /// directive without operands; its text is the statement's.
    fn dwarf_line(&mut self, input: &'s [u8]) -> &'s [u8] {
        let mut len = memchr(b'\n', input).unwrap_or(input.len());
        let mut at = 0;
        let mut ahead = Ahead::default();
        while let Some(next) = memchr::memchr2(b'/', b'"', &input[at..len]) {
            at += next;
            match input[at] {
                b'"' => at += ahead.string_len(&input[at..]),
                _ if comment_len(&input[at..]) > 0 => len = at,
                _ => at += 1,
            }
        }
        len = input[..len]
            .iter()
            .rposition(|&byte| class(byte) != BLANK)
            .map_or(0, |last| last + 1);
        let (start, end) = (self.offset(input), self.offset(&input[len..]));
        self.push(Statement {
            start,
            end,
            index: self.tree.operands.len() as u32,
            name: 0,
            tag: Tag::Directive,
            operand_count: 0,
            name_len: b"@@DWARF".len() as u16,
        });
        &input[len..]
    }

    #[cold]
    pub(crate) fn report(&mut self, error: Expected) {
        let start = (self.len - error.rest) as u32;
        if self.tree.errors.len() >= MAX_ERRORS {
            self.tree.errors_left_out += 1;
            return;
        }
        let found = &self.tree.source[start as usize..self.len];
        self.tree.errors.push(SyntaxError {
            cause: if error.is_limit {
                Cause::Limit
            } else {
                Cause::Malformed
            },
            span: Span::new(start, start + token_len(found) as u32),
            expected: error.what,
        });
    }

    pub(crate) fn finish(mut self, text: &'s [u8]) -> Tree<'s> {
        let (comments, unterminated) = comments(text);
        self.tree.comments = comments;
        if let Some(span) = unterminated {
            self.insert_error("`*/` that ends the comment", span.start);
        }
        if let Some(at) = memchr(0, text) {
            self.insert_error("text without NUL bytes", at as u32);
        }
        self.tree.shrink();
        self.tree
    }

    /// Adds errors that are found apart from the grammar, in front of the grammar's errors at the same place.
    fn insert_error(&mut self, what: &'static str, start: u32) {
        let errors = &mut self.tree.errors;
        let at = errors.partition_point(|earlier| earlier.span.start < start);
        if at >= MAX_ERRORS {
            self.tree.errors_left_out += 1;
            return;
        }
        if errors.get(at).is_some_and(|same| same.span.start == start) {
            errors.remove(at);
        }
        let span = Span::new(start, start + 1);
        errors.insert(
            at,
            SyntaxError {
                cause: Cause::Malformed,
                span,
                expected: what,
            },
        );
        if errors.len() > MAX_ERRORS {
            errors.pop();
            self.tree.errors_left_out += 1;
        }
    }
}

/// Estimated numbers of statements and of operands of a text, which the arenas hardly ever outgrow, so that they are not copied.
fn capacities(text: &[u8]) -> (usize, usize) {
    let samples = (text.len() / SAMPLE_BYTES).clamp(1, MAX_SAMPLES);
    if text.len() <= samples * SAMPLE_BYTES {
        return counted(text);
    }
    let (mut statements, mut operands) = (0, 0);
    for number in 0..samples {
        let start = (text.len() - SAMPLE_BYTES) / samples * number;
        let counts = counted(&text[start..start + SAMPLE_BYTES]);
        statements += counts.0;
        operands += counts.1;
    }
    let scaled = |count: usize| count / samples * (text.len() / SAMPLE_BYTES + 1);
    (scaled(statements), scaled(operands))
}

/// Bytes of a stretch of text in which statements and operands are counted.
const SAMPLE_BYTES: usize = 8 << 10;

/// Most stretches, spread over the text.
const MAX_SAMPLES: usize = 16;

/// Estimates for a stretch of text, by the bytes that end statements and separate or nest operands. Tables of numbers have many commas and
/// no operands, and blank lines are not statements, so both count for a few per semicolon only.
fn counted(text: &[u8]) -> (usize, usize) {
    let count = |byte| memchr::memchr_iter(byte, text).count();
    let semicolons = count(b';');
    let statements = semicolons.max(count(b'\n').min(2 * semicolons)) + semicolons / 4 + 16;
    let operands = semicolons + count(b',').min(4 * semicolons) + 2 * count(b'[') + semicolons / 2 + 16;
    (statements, operands)
}

/// The first line of a body that begins with `.loc`, unless a comment that could hold it comes before.
fn first_location(body: &[u8]) -> Option<usize> {
    let begins_line = |&at: &usize| {
        let before = body[..at].iter().rev();
        let mut solid = before.skip_while(|&&byte| byte != b'\n' && class(byte) == BLANK);
        solid.next().is_none_or(|&byte| byte == b'\n') && first_class(&body[at + 4..]) == BLANK
    };
    let at = memmem::find_iter(body, b".loc").find(begins_line)?;
    memmem::find(&body[..at], b"/*").is_none().then_some(at)
}

/// The text to continue with after an error in the statement that `statement` begins with; `rest` bytes were left there. After the next
/// semicolon, or before the next brace that ends or begins a scope, or before the next line that begins with a directive.
fn recover<'s>(statement: &'s [u8], rest: usize, ahead: &mut Ahead) -> &'s [u8] {
    let (read, mut rest) = statement.split_at(statement.len() - rest);
    let (mut braces, brackets) = nesting(read);
    if brackets == 0 && !read.is_empty() && ends_with_line(read) && first_class(rest) & NAME_START != 0 {
        return rest;
    }
    // A first token that no statement can begin with must be passed over.
    let mut may_stop = !read.is_empty();
    while let Some(&first) = rest.first() {
        let mut len = 1;
        match first {
            b';' => return &rest[1..],
            b'}' if braces > 0 => braces -= 1,
            b'}' if may_stop => return rest,
            b'{' if may_stop && braces == 0 && begins_scope(rest) => return rest,
            b'{' => braces += 1,
            b'/' => len = comment_len(rest).max(1),
            b'"' => len = ahead.string_len(rest),
            b'\n' if may_stop => {
                let blanks = 1 + run(&rest[1..], BLANK);
                if braces == 0
                    && let [b'.', next, ..] = rest[blanks..]
                    && class(next) & NAME_START != 0
                {
                    return &rest[blanks..];
                }
                len = blanks;
            }
            _ => {}
        }
        may_stop = true;
        rest = &rest[len..];
    }
    rest
}

/// Open curly braces, and open brackets of any kind.
fn nesting(mut text: &[u8]) -> (usize, usize) {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    let mut ahead = Ahead::default();
    while let Some(&first) = text.first() {
        let mut len = 1;
        match first {
            b'{' => (braces, brackets) = (braces + 1, brackets + 1),
            b'}' => (braces, brackets) = (braces.saturating_sub(1), brackets.saturating_sub(1)),
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b'/' => len = comment_len(text).max(1),
            b'"' => len = ahead.string_len(text),
            _ => {}
        }
        text = text.get(len..).unwrap_or_default();
    }
    (braces, brackets)
}

/// True if the last line of `text` is blank, and not its first.
pub(crate) fn ends_with_line(text: &[u8]) -> bool {
    let blank = text.iter().rev().take_while(|&&byte| class(byte) == BLANK);
    blank.into_iter().any(|&byte| byte == b'\n')
}

/// True if the brace begins a scope, not a vector: a semicolon or another brace comes before its end.
fn begins_scope(input: &[u8]) -> bool {
    let inner = &input[1..];
    memchr3(b';', b'{', b'}', inner).is_none_or(|at| inner[at] != b'}')
}
