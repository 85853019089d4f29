//! Directives: declarations, debug directives, and all others, which are read like instructions.

use nom::Parser as _;
use nom::combinator::opt;
use nom::sequence::preceded;

use crate::ast::{File, FunctionKind, InlinedAt, Linkage, Location, NONE, Section, Statement, Tag};
use crate::debug_info;
use crate::declaration::state_space;
use crate::expression::{begins_expression, number32};
use crate::lexer::{
    Expected, NAME_START, Parsed, behind_last_token, byte, directive, expected, expecting, failure,
    first_class, lexeme, name, string, trivia,
};
use crate::module::{Parser, ends_with_line};

impl<'s> Parser<'s> {
    /// Whatever begins with a dot.
    pub(crate) fn directive_statement(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let (rest, word) = lexeme(directive).parse(input)?;
        match word {
            b".loc" => self.location(input, rest),
            b".file" => self.file(input, rest),
            b".section" => self.section(input, rest),
            b".callprototype" => self.prototype(input, rest),
            b".entry" => self.function(input, rest, FunctionKind::Entry, Linkage::Local),
            b".func" => self.function(input, rest, FunctionKind::Func, Linkage::Local),
            _ if linkage(word).is_some() => self.linked(input),
            _ if state_space(word).is_some() => self.declaration(input, input, Linkage::Local),
            b".pragma" | b".branchtargets" | b".calltargets" | b".alias" => {
                let rest = self.other_directive(input, word, rest, true)?.0;
                Ok((rest, ()))
            }
            _ => {
                let rest = self.other_directive(input, word, rest, false)?.0;
                let rest = trivia(rest);
                match rest {
                    [b';', after @ ..] => {
                        let end = self.offset(after);
                        if let Some(statement) = self.tree.statements.last_mut() {
                            statement.end = end;
                        }
                        Ok((after, ()))
                    }
                    _ => Ok((rest, ())),
                }
            }
        }
    }

    /// Parses a variable or function that begins with a linkage directive.
    fn linked(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let mut linkage = Linkage::Local;
        let mut rest = input;
        loop {
            let (after, word) = match lexeme(directive).parse(rest) {
                Ok(found) => found,
                Err(_) => return expected("a variable or function after its linkage", rest),
            };
            match word {
                b".entry" => return self.function(input, after, FunctionKind::Entry, linkage),
                b".func" => return self.function(input, after, FunctionKind::Func, linkage),
                _ if state_space(word).is_some() => return self.declaration(input, rest, linkage),
                _ => match self::linkage(word) {
                    Some(found) => linkage = found,
                    None => return expected("a variable or function after its linkage", rest),
                },
            }
            rest = after;
        }
    }

    /// A directive that is read like an instruction. Its arguments begin on its line; `needs_semicolon` is for those
    /// that only a semicolon ends.
    pub(crate) fn other_directive(
        &mut self,
        input: &'s [u8],
        word: &'s [u8],
        mut rest: &'s [u8],
        needs_semicolon: bool,
    ) -> Parsed<'s, ()> {
        self.in_call = false;
        let index = self.tree.operands.len() as u32;
        let mut end = &input[word.len()..];
        let mut count = 0;
        let blanks = &end[..end.len() - rest.len()];
        let has_arguments = begins_argument(rest) && (needs_semicolon || !blanks.contains(&b'\n'));
        if has_arguments {
            loop {
                let before = rest;
                rest = self.operand(rest, 0)?.0;
                count += 1;
                let read = &before[..before.len() - rest.len()];
                end = behind_last_token(before, rest);
                match rest {
                    [b',', after @ ..] => rest = trivia(after),
                    [] | [b';' | b'.' | b'{' | b'}', ..] => break,
                    _ if !needs_semicolon && ends_with_line(read) => break,
                    _ if !needs_semicolon => {
                        return expected("`,` or the end of the line after the operand", rest);
                    }
                    _ => break,
                }
            }
        }
        if needs_semicolon {
            match rest {
                [b';', after @ ..] => (rest, end) = (after, after),
                _ => return expected("`,` or `;` after the operand", rest),
            }
        }
        let (start, end) = (self.offset(input), self.offset(end));
        let name_len = u16::try_from(word.len()).map_err(|_| failure("a shorter directive", input))?;
        self.push(Statement {
            start,
            end,
            index,
            name: count,
            tag: Tag::Directive,
            operand_count: 0,
            name_len,
        });
        Ok((rest, ()))
    }

    /// PTX ISA, Debugging Directives: .loc
    fn location(&mut self, input: &'s [u8], rest: &'s [u8]) -> Parsed<'s, ()> {
        let (rest, (file, line)) = (
            number32("the number of a file"),
            number32("a line number in 32 bits"),
        )
            .parse(rest)?;
        let (mut rest, column) = opt(number32("a column number")).parse(rest)?;
        let mut inlined = NONE;
        if let [b',', after @ ..] = rest {
            let (after, _) = keyword(b"function_name", "`function_name`").parse(trivia(after))?;
            let start = after;
            let (after, _) = expecting("a label of a function's name", name).parse(after)?;
            let offset = opt(preceded(
                lexeme(byte(b'+', "`+`")),
                number32("an offset in 32 bits"),
            ));
            let (after, _) = preceded(trivia_first, offset).parse(after)?;
            let function = self.span(start, behind_last_token(start, after));
            let (after, _) = lexeme(byte(b',', "`,` before `inlined_at`")).parse(after)?;
            let (after, _) = keyword(b"inlined_at", "`inlined_at`").parse(after)?;
            let (after, (file, line, column)) = (
                number32("the number of a file"),
                number32("a line number in 32 bits"),
                number32("a column number in 32 bits"),
            )
                .parse(after)?;
            inlined = self.tree.inlined.len() as u32;
            self.tree.inlined.push(InlinedAt {
                function,
                file,
                line,
                column,
            });
            rest = after;
        }
        let index = self.tree.locations.len() as u32;
        self.tree.locations.push(Location {
            file,
            line,
            column: column.unwrap_or(0),
            inlined,
        });
        Ok((self.push_indexed(Tag::Location, index, input, rest), ()))
    }

    /// PTX ISA, Debugging Directives: .file
    fn file(&mut self, input: &'s [u8], rest: &'s [u8]) -> Parsed<'s, ()> {
        let (rest, number) = number32("the number of a file").parse(rest)?;
        let (end, quoted) = string(rest)?;
        let mut name = self.span(rest, end);
        (name.start, name.end) = (name.start + 1, name.start + quoted.len() as u32 - 1);
        let start = trivia(end);
        let (mut rest, mut rest_span) = (start, self.span(end, end));
        if start.first() == Some(&b',') {
            let stamp = || preceded(lexeme(byte(b',', "`,`")), lexeme(crate::lexer::number));
            (rest, _) = (stamp(), opt(stamp())).parse(start)?;
            let end = behind_last_token(start, rest);
            rest_span = self.span(start, end);
        }
        let index = self.tree.files.len() as u32;
        self.tree.files.push(File {
            number,
            name,
            rest: rest_span,
        });
        Ok((self.push_indexed(Tag::File, index, input, rest), ()))
    }

    /// PTX ISA, Debugging Directives: .section
    fn section(&mut self, input: &'s [u8], rest: &'s [u8]) -> Parsed<'s, ()> {
        let start = rest;
        let (rest, _) = name_with_dot(rest)?;
        let name = self.span(start, rest);
        let (body, ()) = lexeme(byte(b'{', "`{` of the section")).parse(trivia(rest))?;
        let mut rest = self
            .pass_over(body)
            .map_or(body, |(inner, _)| &body[inner.len()..]);
        while !matches!(rest, [] | [b'}', ..]) {
            rest = debug_info::item(rest)?.0;
        }
        let (end, ()) = byte(b'}', "`}` that ends the section").parse(rest)?;
        let index = self.tree.sections.len() as u32;
        let body = self.span(body, rest);
        self.tree.sections.push(Section { name, body });
        Ok((self.push_indexed(Tag::Section, index, input, end), ()))
    }

    /// A statement that ends before the blanks in front of `rest`, or with a semicolon there.
    fn push_indexed(&mut self, tag: Tag, index: u32, input: &'s [u8], mut rest: &'s [u8]) -> &'s [u8] {
        if let [b';', after @ ..] = rest {
            rest = after;
        }
        // Sections end with their brace; other directives may be followed by blanks, and are short.
        let end = if tag == Tag::Section {
            rest
        } else {
            behind_last_token(input, rest)
        };
        self.push_spanning(tag, index, input, end);
        rest
    }
}

/// True if a directive's argument begins here.
fn begins_argument(input: &[u8]) -> bool {
    first_class(input) & NAME_START != 0
        || input.first() != Some(&b'.') && begins_expression(input)
        || matches!(input, [b'"' | b'[', ..])
}

fn trivia_first(input: &[u8]) -> Parsed<'_, ()> {
    Ok((trivia(input), ()))
}

fn keyword<'s>(
    wanted: &'static [u8],
    what: &'static str,
) -> impl nom::Parser<&'s [u8], Output = (), Error = Expected> {
    move |input: &'s [u8]| match name(input) {
        Ok((rest, found)) if found == wanted => Ok((trivia(rest), ())),
        _ => expected(what, input),
    }
}

/// A section's name: `.debug_info`. More dots may follow.
fn name_with_dot(input: &[u8]) -> Parsed<'_, ()> {
    match input {
        [b'.', rest @ ..] if first_class(rest) & NAME_START != 0 => name(rest).map(|(rest, _)| (rest, ())),
        _ => expected("the name of a section", input),
    }
}

pub(crate) fn linkage(word: &[u8]) -> Option<Linkage> {
    Some(match word {
        b".extern" => Linkage::Extern,
        b".visible" => Linkage::Visible,
        b".weak" => Linkage::Weak,
        b".common" => Linkage::Common,
        _ => return None,
    })
}
