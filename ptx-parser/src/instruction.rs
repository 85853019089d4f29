//! The statements of a function body: labels, instructions, and the braces of scopes.

use crate::ast::{Statement, Tag};
use crate::lexer::{Parsed, expected, opcode, over_limit, trivia};
use crate::limits::{MAX_OPCODE_BYTES, MAX_OPERANDS};
use crate::module::Parser;

impl<'s> Parser<'s> {
    /// A label or an instruction without guard; `input` begins with a name.
    #[inline(always)]
    pub(crate) fn label_or_instruction(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let (rest, name) = opcode(input)?;
        let next = trivia(rest);
        if let [b':', after @ ..] = next {
            let start = self.offset(input);
            self.push(Statement {
                start,
                end: self.offset(after),
                index: self.offset(rest),
                name: start,
                tag: Tag::Label,
                operand_count: 0,
                name_len: 0,
            });
            return Ok((after, ()));
        }
        let first_operand = self.tree.operands.len() as u32;
        self.operands(Tag::Instruction, first_operand, input, input, name, next)
    }

    /// An instruction after its guard.
    pub(crate) fn guarded(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let (tag, rest) = match *trivia(&input[1..]) {
            [b'!', ref rest @ ..] => (Tag::InstructionIfNot, trivia(rest)),
            ref rest => (Tag::InstructionIf, rest),
        };
        let first_operand = self.tree.operands.len() as u32;
        let (named, ()) = self.predicate(rest)?;
        let (rest, name) = opcode(named)?;
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            return expected("an opcode after the guard", named);
        }
        self.operands(tag, first_operand, input, named, name, trivia(rest))
    }

    /// The operands of an instruction and its semicolon. `named` is where the opcode begins.
    #[inline(always)]
    fn operands(
        &mut self,
        tag: Tag,
        index: u32,
        input: &'s [u8],
        named: &'s [u8],
        mut name: &'s [u8],
        mut rest: &'s [u8],
    ) -> Parsed<'s, ()> {
        if rest.first() == Some(&b'.') {
            // `add .u32`: the ISA's tokens are `add` and `.u32`, blanks between them do not count.
            (rest, name) = spaced_opcode(named, rest)?;
        }
        if name.len() > MAX_OPCODE_BYTES {
            return over_limit("the opcode is longer than 65,535 bytes", named);
        }
        self.in_call = name.starts_with(b"call");
        let mut count = 0;
        if let [b';', after @ ..] = rest {
            rest = after;
        } else {
            loop {
                rest = self.operand(rest, 0)?.0;
                count += 1;
                match rest.split_first() {
                    Some((b',', after)) => rest = trivia(after),
                    Some((b';', after)) => {
                        rest = after;
                        break;
                    }
                    _ => return expected("`,` or `;` after the operand", rest),
                }
            }
            if count > MAX_OPERANDS {
                return over_limit("the instruction has more than 255 operands", named);
            }
        }
        let statement = Statement {
            start: self.offset(input),
            end: self.offset(rest),
            index,
            name: self.offset(named),
            tag,
            operand_count: count as u8,
            name_len: name.len() as u16,
        };
        self.push(statement);
        Ok((rest, ()))
    }
}

/// An opcode whose parts stand apart: all of it, blanks included.
#[cold]
fn spaced_opcode<'s>(named: &'s [u8], mut rest: &'s [u8]) -> Parsed<'s, &'s [u8]> {
    let mut end = rest;
    while rest.first() == Some(&b'.') {
        end = opcode(rest)?.0;
        rest = trivia(end);
    }
    Ok((rest, &named[..named.len() - end.len()]))
}
