//! Declarations of variables, registers and parameters.

use nom::Parser as _;

use crate::ast::{Extent, Linkage, NONE, ScalarType, StateSpace, Statement, Tag, Variable};
use crate::expression::{expression, number32};
use crate::initializer;
use crate::lexer::{
    NAME_START, Parsed, behind_last_token, byte, directive, expected, expecting, first_class, lexeme, name,
    token_len, trivia,
};
use crate::module::Parser;
use crate::span::Span;

impl<'s> Parser<'s> {
    /// One or more variables of one type. `typed` is where the state space stands.
    pub(crate) fn declaration(
        &mut self,
        input: &'s [u8],
        typed: &'s [u8],
        linkage: Linkage,
    ) -> Parsed<'s, ()> {
        let first = self.tree.variables.len() as u32;
        let (mut rest, mut variable) = self.variable_type(input, typed, linkage)?;
        loop {
            rest = self.declarator(rest, &mut variable, true)?.0;
            self.tree.variables.push(variable);
            match rest {
                [b',', after @ ..] => rest = trivia(after),
                [b';', after @ ..] => {
                    let (start, end) = (self.offset(input), self.offset(after));
                    self.push(Statement {
                        start,
                        end,
                        index: first,
                        name: self.tree.variables.len() as u32 - first,
                        tag: Tag::Declaration,
                        operand_count: 0,
                        name_len: 0,
                    });
                    return Ok((after, ()));
                }
                _ => return expected("`,` or `;` after the declaration", rest),
            }
        }
    }

    /// State space, alignment, attributes and type, in any order, up to the name.
    pub(crate) fn variable_type(
        &mut self,
        input: &'s [u8],
        typed: &'s [u8],
        linkage: Linkage,
    ) -> Parsed<'s, Variable> {
        let mut variable = Variable {
            span: self.span(input, input),
            name: Span::default(),
            dimensions: Span::default(),
            initializer: Span::default(),
            has_addresses: false,
            attribute: Span::default(),
            scalar_name: Span::default(),
            extent: Extent::Scalar,
            range: NONE,
            align: 0,
            pointer_align: 0,
            linkage,
            space: StateSpace::Param,
            bank: None,
            scalar: ScalarType::Other,
            vector: 1,
            is_pointer: false,
            pointer_space: None,
        };
        let mut rest = typed;
        let mut has_space = false;
        while rest.first() == Some(&b'.') {
            let (end, word) = directive(rest)?;
            let after = trivia(end);
            let space = state_space(word);
            match word {
                b".align" => {
                    let (after, align) = number32("an alignment in bytes").parse(after)?;
                    let target = if variable.is_pointer {
                        &mut variable.pointer_align
                    } else {
                        &mut variable.align
                    };
                    *target = align;
                    rest = after;
                    continue;
                }
                b".ptr" => variable.is_pointer = true,
                b".attribute" => {
                    let (after, end) = parentheses(after)?;
                    variable.attribute = self.span(rest, end);
                    rest = after;
                    continue;
                }
                b".v2" => variable.vector = 2,
                b".v4" => variable.vector = 4,
                b".v8" => variable.vector = 8,
                _ if let Some(space) = space => {
                    if variable.is_pointer {
                        variable.pointer_space = Some(space);
                    } else if has_space {
                        return expected("a type", rest);
                    } else {
                        variable.space = space;
                        has_space = true;
                        if let [b'[', bank @ ..] = after {
                            let (after, bank) = number32("the number of a bank").parse(trivia(bank))?;
                            variable.bank = Some(bank);
                            rest = lexeme(byte(b']', "`]` behind the bank")).parse(after)?.0;
                            continue;
                        }
                    }
                }
                _ => {
                    variable.scalar = ScalarType::named(word).unwrap_or(ScalarType::Other);
                    variable.scalar_name = self.span(rest, end);
                }
            }
            rest = after;
        }
        if variable.scalar_name.is_empty() {
            return expected("a type", rest);
        }
        Ok((rest, variable))
    }

    /// Name, register count, dimensions and initialiser.
    pub(crate) fn declarator(
        &mut self,
        input: &'s [u8],
        variable: &mut Variable,
        is_named: bool,
    ) -> Parsed<'s, ()> {
        let mut end = input;
        let mut rest = input;
        variable.name = self.span(input, input);
        if is_named || first_class(input) & NAME_START != 0 {
            (end, _) = expecting("the name of the variable", name).parse(input)?;
            variable.name = self.span(input, end);
            rest = trivia(end);
        }
        variable.range = NONE;
        if let [b'<', after @ ..] = rest {
            let what = "fewer than 4,294,967,295 registers";
            let digits = trivia(after);
            let (after, count) = number32(what).parse(digits)?;
            if count == NONE {
                return expected(what, digits);
            }
            variable.range = count;
            (end, ()) = byte(b'>', "`>` behind the number of registers").parse(after)?;
            rest = trivia(end);
        }
        variable.extent = Extent::Scalar;
        variable.dimensions = self.span(end, end);
        if rest.first() == Some(&b'[') {
            let start = rest;
            let (after, extent) = dimensions(rest)?;
            variable.extent = extent;
            end = behind_last_token(start, after);
            variable.dimensions = self.span(start, end);
            rest = after;
        }
        variable.initializer = self.span(end, end);
        variable.has_addresses = false;
        if let [b'=', after @ ..] = rest {
            let start = trivia(after);
            let passed = start.strip_prefix(b"{").and_then(|inner| self.pass_over(inner));
            (rest, end, variable.has_addresses) = match passed {
                Some((_, end)) => (trivia(end), end, true),
                None => {
                    let (rest, checked) = initializer::check(start)?;
                    (rest, checked.end, checked.has_addresses)
                }
            };
            variable.initializer = self.span(start, end);
        }
        variable.span.end = self.offset(end);
        Ok((rest, ()))
    }
}

/// `(…)`, with balanced parentheses inside. Gives where it ends.
pub(crate) fn parentheses(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (mut rest, ()) = lexeme(byte(b'(', "`(` of the attribute")).parse(input)?;
    let mut depth = 1;
    loop {
        let len = token_len(rest);
        match rest.first() {
            None | Some(b';' | b'{' | b'}') => return expected("`)` that ends the attribute", rest),
            Some(b'(') => depth += 1,
            Some(b')') => depth -= 1,
            Some(_) => {}
        }
        let end = &rest[len..];
        rest = trivia(end);
        if depth == 0 {
            return Ok((rest, end));
        }
    }
}

/// `[3][4]`: their product.
fn dimensions(mut rest: &[u8]) -> Parsed<'_, Extent> {
    let mut extent = Extent::Elements(1);
    let mut is_first = true;
    while let [b'[', inner @ ..] = rest {
        let size = trivia(inner);
        if let [b']', after @ ..] = size {
            if !is_first {
                return expected("a size: only the first dimension may be empty", size);
            }
            extent = Extent::Unsized;
            rest = trivia(after);
        } else {
            let (after, value) = expression(size, 0)?;
            let Some(value) = value.and_then(|word| u64::try_from(word.value()).ok()) else {
                return expected("a size in 64 bits", size);
            };
            if let Extent::Elements(product) = extent {
                match product.checked_mul(value) {
                    Some(product) => extent = Extent::Elements(product),
                    None => return expected("an array of fewer than 2^64 elements", size),
                }
            }
            rest = lexeme(byte(b']', "`]` behind the size")).parse(after)?.0;
        }
        is_first = false;
    }
    Ok((rest, extent))
}

pub(crate) fn state_space(word: &[u8]) -> Option<StateSpace> {
    Some(match word {
        b".reg" => StateSpace::Reg,
        b".sreg" => StateSpace::Sreg,
        b".const" => StateSpace::Const,
        b".global" => StateSpace::Global,
        b".local" => StateSpace::Local,
        b".param" | b".param::entry" | b".param::func" => StateSpace::Param,
        b".shared" | b".shared::cta" | b".shared::cluster" => StateSpace::Shared,
        b".tex" => StateSpace::Tex,
        _ => return None,
    })
}
