//! The definitions in LLVM assembly, with their places: LLVM's C interface gives no places in the text.
//!
//! A scanner over the bytes that knows strings, comments, brackets and the first words of lines, and no more of the
//! language: [`Outline::of`] finds globals and functions in one pass, [`blocks`] the instructions of one function. LLVM
//! has read the same text before, so it is well formed; where lines are broken in ways that the scanner does not know,
//! it finds other instructions than LLVM has, which [`super::places`] notices.

use ptxcheck_ptx_parser::Span;
use rustc_hash::FxHashMap;

use super::opcodes::{ends_block, has_no_result, is_call, opcode};
use super::raw::Opcode;

/// The globals of a text by the bytes of their names. Those without a name are not among them.
#[derive(Default)]
pub(super) struct Outline {
    /// Variables, aliases and functions: the name of a variable, the first line of a function.
    pub(super) globals: FxHashMap<Vec<u8>, Span>,
    /// The text between the braces of each defined function.
    pub(super) bodies: FxHashMap<Vec<u8>, Span>,
}

/// A run of instructions up to a terminator.
#[derive(Debug, Default)]
pub(super) struct TextBlock {
    /// Its label, where it has one.
    pub(super) label: Option<Span>,
    pub(super) instructions: Vec<TextInstruction>,
    /// A line of it has more than one instruction, and only the first is known.
    pub(super) is_crowded: bool,
}

/// An instruction as the text has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextInstruction {
    /// Its first line without comments and attached metadata.
    pub(super) span: Span,
    pub(super) opcode: Opcode,
    /// The name of its result without the `%`; empty if it has none, or only a number.
    pub(super) result: Span,
    /// The name of its callee, without the `@`.
    pub(super) callee: Span,
}

/// The class of a byte for the scanner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Word,
    Quote,
    Comment,
    Open,
    Close,
    At,
    Newline,
}

/// Letters of names without quotes, as LLVM's lexer has them: `[-a-zA-Z$._0-9]`.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'"' => Class::Quote,
            b';' => Class::Comment,
            b'{' | b'(' | b'[' => Class::Open,
            b'}' | b')' | b']' => Class::Close,
            b'@' => Class::At,
            b'\n' => Class::Newline,
            letter if is_word(letter) => Class::Word,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// A place in a text.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn class(&self) -> Option<Class> {
        self.text.get(self.at).map(|byte| CLASSES[usize::from(*byte)])
    }

    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or_default()
    }

    /// Skips the string that begins here. LLVM's strings write a quote as `\22`.
    fn string(&mut self) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        self.at = memchr::memchr(b'"', rest).map_or(self.text.len(), |end| self.at + end + 2);
    }

    /// Goes to the end of the line.
    fn line(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at = memchr::memchr(b'\n', rest).map_or(self.text.len(), |end| self.at + end);
    }

    fn word(&mut self) -> Span {
        let start = self.at;
        while self.class() == Some(Class::Word) {
            self.at += 1;
        }
        span(start, self.at)
    }

    /// The name that begins here, with or without quotes.
    fn name(&mut self) -> Span {
        let start = self.at;
        if self.class() == Some(Class::Quote) {
            self.string();
            span(start, self.at)
        } else {
            self.word()
        }
    }

    /// Goes over white space, line ends and comments.
    fn blank(&mut self) {
        loop {
            match self.byte() {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b';' => self.line(),
                _ => break,
            }
        }
    }

    /// Goes to the first byte of this class outside brackets, or past the end.
    fn until(&mut self, wanted: Class) {
        let mut depth = 0_usize;
        while let Some(class) = self.class() {
            if depth == 0 && class == wanted {
                return;
            }
            match class {
                Class::Quote => {
                    self.string();
                    continue;
                }
                Class::Comment => {
                    self.line();
                    continue;
                }
                Class::Open => depth += 1,
                Class::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Goes past the brace that closes the one here; other brackets do not matter.
    fn braces(&mut self) {
        let mut depth = 0_usize;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(next) = memchr::memchr3(b'"', b'{', b'}', rest) else {
                self.at = self.text.len();
                return;
            };
            // The text between has no string, so a semicolon on the last of its lines begins a comment.
            let between = &rest[..next];
            let line = memchr::memrchr(b'\n', between).map_or(between, |end| &between[end..]);
            self.at += next;
            if memchr::memchr(b';', line).is_some() {
                self.line();
                continue;
            }
            match self.byte() {
                b'"' => self.string(),
                b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                _ => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                    if depth == 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Goes to the end of a line of metadata, if no string goes over it. It has neither globals nor functions.
    fn metadata(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]);
        let is_whole = memchr::memchr_iter(b'"', line).count().is_multiple_of(2);
        if is_whole {
            self.at += line.len();
        }
        is_whole
    }

    /// Goes past the bracket that closes the one here.
    fn brackets(&mut self) {
        self.at += 1;
        self.until(Class::Close);
        self.at = self.text.len().min(self.at + 1);
    }
}

/// Offsets as spans have them. Texts over 4 GiB are not scanned (see [`Outline::of`]).
fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

/// A name as LLVM has it: without quotes, and with what `\xx` stands for. `None` for a number, which is not a name.
pub(super) fn unquoted(name: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    let Some(inside) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        let is_number = name.iter().all(u8::is_ascii_digit);
        return (!is_number).then_some(name.into());
    };
    if !inside.contains(&b'\\') {
        return Some(inside.into());
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(after.get(at).copied().unwrap_or_default()).to_digit(16);
        rest = match (byte, digit(0), digit(1)) {
            (b'\\', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                &after[2..]
            }
            (b'\\', ..) if after.first() == Some(&b'\\') => {
                out.push(b'\\');
                &after[1..]
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
    Some(out.into())
}

impl Outline {
    /// Reads the whole text once; nothing of one whose offsets do not fit a [`Span`].
    pub(super) fn of(text: &[u8]) -> Self {
        let mut outline = Self::default();
        if u32::try_from(text.len()).is_err() {
            return outline;
        }
        let mut cursor = Cursor { text, at: 0 };
        loop {
            cursor.blank();
            let Some(class) = cursor.class() else { break };
            match class {
                Class::Word => {
                    let start = cursor.at;
                    let word = cursor.word();
                    match word.of(text) {
                        b"define" => outline.function(&mut cursor, start, true),
                        b"declare" => outline.function(&mut cursor, start, false),
                        _ => {}
                    }
                }
                Class::At => {
                    let start = cursor.at;
                    cursor.at += 1;
                    let name = cursor.name();
                    let place = span(start, name.end as usize);
                    cursor.blank();
                    // A name that is followed by anything else is used, not defined.
                    if cursor.byte() == b'='
                        && let Some(name) = unquoted(name.of(text))
                    {
                        outline.globals.insert(name.into_owned(), place);
                    }
                }
                Class::Quote => cursor.string(),
                Class::Open if cursor.byte() == b'{' => cursor.braces(),
                Class::Open => cursor.brackets(),
                Class::Other if cursor.byte() == b'!' && cursor.metadata() => {}
                // `!7` is not a word, and `%x` and `$x` are not globals.
                _ => {
                    cursor.at += 1;
                    if cursor.class() == Some(Class::Word) {
                        cursor.word();
                    }
                }
            }
        }
        outline
    }

    /// Notes the function whose header begins at `start`, and goes past it.
    fn function(&mut self, cursor: &mut Cursor<'_>, start: usize, is_defined: bool) {
        let text = cursor.text;
        cursor.until(Class::At);
        cursor.at += 1;
        let name = cursor.name();
        let Some(name) = unquoted(name.of(text)) else {
            return;
        };
        let mut end = Cursor { text, at: start };
        end.line();
        let first = text.get(start..end.at).unwrap_or_default();
        let first = first.trim_ascii_end();
        let first = first.strip_suffix(b"{").unwrap_or(first).trim_ascii_end();
        self.globals
            .insert(name.to_vec(), span(start, start + first.len()));
        if !is_defined {
            return;
        }
        // The parameters, then the brace of the body: types with braces come before the name or among the parameters.
        cursor.until(Class::Open);
        cursor.brackets();
        loop {
            cursor.until(Class::Open);
            let open = cursor.at;
            let is_body = cursor.byte() == b'{';
            match cursor.class() {
                None => return,
                Some(_) if is_body => cursor.braces(),
                Some(_) => cursor.brackets(),
            }
            if is_body {
                let inside = span(open + 1, cursor.at.saturating_sub(1).max(open + 1));
                self.bodies.insert(name.into_owned(), inside);
                return;
            }
        }
    }
}

/// The blocks of a function's body, in the order of the text.
pub(super) fn blocks(text: &[u8], body: Span) -> Vec<TextBlock> {
    let inside = text.get(..body.end as usize).unwrap_or_default();
    let mut cursor = Cursor {
        text: inside,
        at: body.start as usize,
    };
    let mut blocks = vec![TextBlock::default()];
    let mut is_ended = false;
    while cursor.class().is_some() {
        cursor.blank();
        let Some(line) = first_of_line(&mut cursor) else {
            rest_of_line(&mut cursor, None);
            continue;
        };
        let is_label = matches!(line, Line::Label(_));
        let has_code = blocks.last().is_some_and(|last| !last.instructions.is_empty());
        if is_ended || is_label && has_code {
            blocks.push(TextBlock::default());
            is_ended = false;
        }
        let Some(last) = blocks.last_mut() else { break };
        match line {
            Line::Label(label) => last.label = Some(label),
            Line::Instruction(mut instruction) => {
                is_ended = ends_block(instruction.opcode);
                last.is_crowded |= rest_of_line(&mut cursor, Some(&mut instruction));
                last.instructions.push(instruction);
            }
        }
    }
    blocks.retain(|block| !block.instructions.is_empty());
    blocks
}

enum Line {
    Label(Span),
    Instruction(TextInstruction),
}

/// The label that begins here, or the instruction as far as its opcode.
fn first_of_line(cursor: &mut Cursor<'_>) -> Option<Line> {
    let start = cursor.at;
    let mut result = Span::default();
    if cursor.byte() == b'%' {
        cursor.at += 1;
        result = cursor.name();
        cursor.blank();
        if cursor.byte() != b'=' {
            return None;
        }
        cursor.at += 1;
        cursor.blank();
    } else {
        let name = cursor.name();
        if cursor.byte() == b':' && !name.is_empty() {
            cursor.at += 1;
            return Some(Line::Label(name));
        }
        cursor.at = start;
    }
    let mut word = cursor.word();
    if matches!(word.of(cursor.text), b"tail" | b"musttail" | b"notail") {
        cursor.blank();
        word = cursor.word();
    }
    let opcode = opcode(word.of(cursor.text))?;
    if result.is_empty() && !has_no_result(opcode) && begins_constant(cursor) {
        return None;
    }
    Some(Line::Instruction(TextInstruction {
        span: span(start, cursor.at),
        opcode,
        result,
        callee: Span::default(),
    }))
}

/// True if the text after an opcode makes it a constant expression on a line of its own: `getelementptr inbounds (`.
fn begins_constant(cursor: &Cursor<'_>) -> bool {
    let mut ahead = Cursor { ..*cursor };
    loop {
        ahead.blank();
        if ahead.class() != Some(Class::Word) {
            return ahead.byte() == b'(';
        }
        ahead.word();
    }
}

/// Goes to the end of an instruction's line, or to that of a line that begins with none, with all lines that brackets
/// on it take in. The callee of `instruction` and its end on the first line are noted. True where another instruction
/// stands on the line.
fn rest_of_line(cursor: &mut Cursor<'_>, mut instruction: Option<&mut TextInstruction>) -> bool {
    let start = cursor.at;
    let mut end = None;
    let mut is_crowded = false;
    let mut depth = 0_usize;
    while let Some(class) = cursor.class() {
        match class {
            Class::Quote => {
                cursor.string();
                continue;
            }
            Class::Newline | Class::Comment => {
                end.get_or_insert(cursor.at);
                if class == Class::Newline && depth == 0 {
                    break;
                }
                cursor.line();
                if depth > 0 {
                    cursor.at += 1;
                }
                continue;
            }
            Class::Open => depth += 1,
            Class::Close => depth = depth.saturating_sub(1),
            Class::At if depth == 0 => {
                cursor.at += 1;
                let name = cursor.name();
                if let Some(instruction) = &mut instruction
                    && instruction.callee.is_empty()
                    && is_call(instruction.opcode)
                {
                    instruction.callee = name;
                }
                continue;
            }
            Class::Word if depth == 0 => {
                is_crowded |= opcode(cursor.word().of(cursor.text)).is_some_and(has_no_result);
                continue;
            }
            Class::Other if depth == 0 && cursor.byte() == b'%' => {
                cursor.at += 1;
                cursor.name();
                continue;
            }
            Class::Other if depth == 0 && cursor.byte() == b'=' => is_crowded = true,
            // `, !dbg !7`
            Class::Other if depth == 0 && cursor.byte() == b'!' => {
                let before = cursor.text.get(start..cursor.at).unwrap_or_default();
                let before = before.trim_ascii_end();
                let before = before.strip_suffix(b",").unwrap_or(before);
                end.get_or_insert(start + before.len());
            }
            _ => {}
        }
        cursor.at += 1;
    }
    if let Some(instruction) = instruction {
        let first = instruction.span.start as usize;
        let end = end.unwrap_or(cursor.at).max(first);
        let line = cursor.text.get(first..end).unwrap_or_default();
        // A string that holds a line end, which strings may, is cut there.
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        instruction.span = span(first, first + line.trim_ascii_end().len());
    }
    is_crowded
}

#[cfg(test)]
mod tests;
