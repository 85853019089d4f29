//! Directives: declarations, debug directives, and all others, which are read like instructions.

use nom::Parser as _;
use nom::combinator::opt;
use nom::sequence::preceded;

use crate::ast::{
    Extent, File, FunctionKind, InlinedAt, Linkage, Location, NONE, ScalarType, Section, StateSpace,
    Statement, Tag, Variable,
};
use crate::expression::{begins_expression, expression, number32};
use crate::lexer::{
    Expected, NAME_START, Parsed, byte, directive, expected, expecting, failure, first_class, lexeme, name,
    string, trivia,
};
use crate::module::{Parser, ends_with_line};
use crate::span::Span;
use crate::{debug_info, initializer};

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

    /// What begins with a linkage directive.
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
                end = &before[crate::lexer::last_token_end(read)..];
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

    /// One or more variables of one type. `typed` is where the state space stands.
    fn declaration(&mut self, input: &'s [u8], typed: &'s [u8], linkage: Linkage) -> Parsed<'s, ()> {
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
                    variable.scalar = scalar(word);
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
            let what = "a number of registers in 32 bits";
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
            end = &start[crate::lexer::last_token_end(&start[..start.len() - after.len()])..];
            variable.dimensions = self.span(start, end);
            rest = after;
        }
        variable.initializer = self.span(end, end);
        if let [b'=', after @ ..] = rest {
            let start = trivia(after);
            (rest, end) = initializer::check(start)?;
            variable.initializer = self.span(start, end);
        }
        variable.span.end = self.offset(end);
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
            let function = self.span(
                start,
                &start[crate::lexer::last_token_end(&start[..start.len() - after.len()])..],
            );
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
            let end = &start[crate::lexer::last_token_end(&start[..start.len() - rest.len()])..];
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
        let mut rest = body;
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
        let read = &input[..input.len() - rest.len()];
        // Sections end with their brace; what ends with blanks is short.
        let end = if tag == Tag::Section {
            rest
        } else {
            &input[crate::lexer::last_token_end(read)..]
        };
        let (start, end) = (self.offset(input), self.offset(end));
        self.push(Statement {
            start,
            end,
            index,
            name: start,
            tag,
            operand_count: 0,
            name_len: 0,
        });
        rest
    }
}

/// Whether a directive's argument begins here.
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

/// `(…)`, with balanced parentheses inside. Gives where it ends.
pub(crate) fn parentheses(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (mut rest, ()) = lexeme(byte(b'(', "`(` of the attribute")).parse(input)?;
    let mut depth = 1;
    loop {
        let len = crate::lexer::token_len(rest);
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

pub(crate) fn linkage(word: &[u8]) -> Option<Linkage> {
    Some(match word {
        b".extern" => Linkage::Extern,
        b".visible" => Linkage::Visible,
        b".weak" => Linkage::Weak,
        b".common" => Linkage::Common,
        _ => return None,
    })
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

fn scalar(word: &[u8]) -> ScalarType {
    match word {
        b".pred" => ScalarType::Pred,
        b".b8" => ScalarType::B8,
        b".b16" => ScalarType::B16,
        b".b32" => ScalarType::B32,
        b".b64" => ScalarType::B64,
        b".b128" => ScalarType::B128,
        b".u8" => ScalarType::U8,
        b".u16" => ScalarType::U16,
        b".u32" => ScalarType::U32,
        b".u64" => ScalarType::U64,
        b".s8" => ScalarType::S8,
        b".s16" => ScalarType::S16,
        b".s32" => ScalarType::S32,
        b".s64" => ScalarType::S64,
        b".f16" => ScalarType::F16,
        b".f16x2" => ScalarType::F16x2,
        b".bf16" => ScalarType::BF16,
        b".bf16x2" => ScalarType::BF16x2,
        b".f32" => ScalarType::F32,
        b".f64" => ScalarType::F64,
        b".texref" => ScalarType::Texref,
        b".samplerref" => ScalarType::Samplerref,
        b".surfref" => ScalarType::Surfref,
        _ => ScalarType::Other,
    }
}
