//! Kernels, functions and call prototypes: their headers. Bodies are statements like others.

use nom::Parser as _;

use crate::ast::{Function, FunctionKind, Indices, Linkage, StateSpace, Tag};
use crate::declaration::{parentheses, state_space};
use crate::directive::linkage;
use crate::lexer::{
    Ahead, BLANK, Expected, NAME_START, Parsed, byte, class, comment_len, directive, expected, expecting,
    lexeme, name, run, trivia,
};
use crate::module::Parser;
use crate::span::Span;

impl<'s> Parser<'s> {
    /// A kernel or function, from after `.entry` or `.func` up to its opening brace or its semicolon.
    pub(crate) fn function(
        &mut self,
        input: &'s [u8],
        rest: &'s [u8],
        kind: FunctionKind,
        linkage: Linkage,
    ) -> Parsed<'s, ()> {
        if self.function.is_some() {
            self.report(Expected {
                what: "`}` before the next function",
                rest: input.len(),
                is_limit: false,
            });
            self.abandon_function(input);
        }
        let statement = self.tree.statements.len();
        let index = self.tree.functions.len() as u32;
        let mut function = self.empty_function(input, kind, linkage);
        let (rest, is_whole) = match self.header(rest, &mut function) {
            Ok((rest, ())) => (rest, true),
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                self.report(error);
                self.tree.variables.truncate(function.params.end as usize);
                (
                    header_end(&input[input.len() - error.rest..], &mut self.ahead),
                    false,
                )
            }
            Err(incomplete) => return Err(incomplete),
        };
        if !is_whole && !matches!(rest, [b'{', ..]) {
            self.tree.variables.truncate(function.results.start as usize);
            return Ok((rest.strip_prefix(b";").unwrap_or(rest), ()));
        }
        self.tree.functions.push(function);
        self.push_spanning(Tag::Function, index, input, rest);
        let rest = if is_whole {
            self.function_directives(rest, kind)
        } else {
            rest
        };
        let directives = Indices {
            start: statement as u32 + 1,
            end: self.tree.statements.len() as u32,
        };
        let end = match rest {
            [b'{' | b';', after @ ..] => after,
            _ => {
                self.report(Expected {
                    what: "`{` or `;` after the function's header",
                    rest: rest.len(),
                    is_limit: false,
                });
                header_end(rest, &mut self.ahead)
            }
        };
        let has_body = rest.first() == Some(&b'{') || end.first() == Some(&b'{');
        let end = if rest.first() == Some(&b'{') {
            end
        } else {
            end.strip_prefix(b"{").unwrap_or(end)
        };
        let offset = self.offset(end);
        let function = &mut self.tree.functions[index as usize];
        function.directives = directives;
        function.body = Indices {
            start: directives.end,
            end: directives.end,
        };
        function.has_body = has_body;
        function.span.end = offset;
        self.tree.statements[statement].end = offset;
        if has_body {
            self.function = Some(statement);
        }
        Ok((end, ()))
    }

    /// PTX ISA, .callprototype
    pub(crate) fn prototype(&mut self, input: &'s [u8], rest: &'s [u8]) -> Parsed<'s, ()> {
        let mut function = self.empty_function(input, FunctionKind::Prototype, Linkage::Local);
        let (rest, ()) = self.header(rest, &mut function)?;
        let statement = self.tree.statements.len();
        let index = self.tree.functions.len() as u32;
        self.push_spanning(Tag::Prototype, index, input, rest);
        let rest = self.function_directives(rest, FunctionKind::Prototype);
        let directives = Indices {
            start: statement as u32 + 1,
            end: self.tree.statements.len() as u32,
        };
        let [b';', end @ ..] = rest else {
            self.tree.statements.truncate(statement);
            return expected("`;` after the prototype", rest);
        };
        function.directives = directives;
        function.body = Indices {
            start: directives.end,
            end: directives.end,
        };
        function.span.end = self.offset(end);
        self.tree.statements[statement].end = function.span.end;
        self.tree.functions.push(function);
        Ok((end, ()))
    }

    pub(crate) fn empty_function(&self, input: &'s [u8], kind: FunctionKind, linkage: Linkage) -> Function {
        let here = self.span(input, input);
        let none = Indices {
            start: self.tree.variables.len() as u32,
            end: self.tree.variables.len() as u32,
        };
        Function {
            span: here,
            header: here,
            name: here,
            attribute: Span::default(),
            linkage,
            kind,
            results: none,
            params: none,
            directives: Indices::default(),
            body: Indices::default(),
            unread: Span::default(),
            has_body: false,
        }
    }

    /// Attributes, results, name and parameters. The part read so far stays in `function` if the rest fails.
    fn header(&mut self, mut rest: &'s [u8], function: &mut Function) -> Parsed<'s, ()> {
        while let [b'.', ..] = rest {
            let (after, word) = lexeme(directive).parse(rest)?;
            if word != b".attribute" {
                return expected("the name of the function", rest);
            }
            let (after, end) = parentheses(after)?;
            function.attribute = self.span(rest, end);
            rest = after;
        }
        if rest.first() == Some(&b'(') {
            let (end, results) = self.parameters(rest)?;
            function.results = results;
            function.params = Indices {
                start: results.end,
                end: results.end,
            };
            rest = trivia(end);
        }
        let (mut end, _) = expecting("the name of the function", name).parse(rest)?;
        function.name = self.span(rest, end);
        rest = trivia(end);
        if rest.first() == Some(&b'(') {
            (end, function.params) = self.parameters(rest)?;
            rest = trivia(end);
        }
        function.header.end = self.offset(end);
        Ok((rest, ()))
    }

    /// `(…)`. Returns the text directly after it.
    fn parameters(&mut self, input: &'s [u8]) -> Parsed<'s, Indices> {
        let start = self.tree.variables.len() as u32;
        let mut rest = trivia(&input[1..]);
        if rest.first() != Some(&b')') {
            loop {
                if rest.first() != Some(&b'.') {
                    return expected("a parameter", rest);
                }
                let (after, mut variable) = self.variable_type(rest, rest, Linkage::Local)?;
                rest = self.declarator(after, &mut variable, false)?.0;
                if variable.is_pointer && variable.space == StateSpace::Reg {
                    return expected("`.param` before `.ptr`", rest);
                }
                self.tree.variables.push(variable);
                match rest {
                    [b',', after @ ..] => rest = trivia(after),
                    [b')', ..] => break,
                    _ => return expected("`,` or `)` after the parameter", rest),
                }
            }
        }
        let (rest, ()) = byte(b')', "`)` after the parameters").parse(rest)?;
        Ok((
            rest,
            Indices {
                start,
                end: self.tree.variables.len() as u32,
            },
        ))
    }

    /// The directives between the parameters and the brace or semicolon. A semicolon after one of them ends the declaration unless a body
    /// or another such directive follows. (A kernel without a body is not written with directives, so there a pragma belongs to the header;
    /// after a function it belongs to the module.)
    fn function_directives(&mut self, mut rest: &'s [u8], kind: FunctionKind) -> &'s [u8] {
        while rest.first() == Some(&b'.') {
            let operands = self.tree.operands.len();
            let parsed = lexeme(directive).parse(rest).and_then(|(after, word)| {
                if ends_header(word) {
                    return expected("", rest);
                }
                self.other_directive(rest, word, after, word == b".pragma")
            });
            match parsed {
                Ok((after, ())) => rest = trivia(after),
                Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                    self.tree.operands.truncate(operands);
                    if !error.what.is_empty() {
                        self.report(error);
                        return header_end(&rest[rest.len() - error.rest..], &mut self.ahead);
                    }
                    return rest;
                }
                Err(_) => return rest,
            }
            if let [b';', after @ ..] = rest {
                let after = trivia(after);
                let goes_on = after.first() == Some(&b'{')
                    || directive(after).is_ok_and(|(_, word)| {
                        TUNING.contains(&word) || kind == FunctionKind::Entry && word == b".pragma"
                    });
                if !goes_on {
                    return rest;
                }
                rest = after;
            }
        }
        rest
    }
}

/// The directives between a header and a body (PTX ISA, Performance-Tuning and Cluster Dimension Directives).
const TUNING: [&[u8]; 9] = [
    b".maxnreg",
    b".maxntid",
    b".reqntid",
    b".minnctapersm",
    b".maxnctapersm",
    b".noreturn",
    b".reqnctapercluster",
    b".explicitcluster",
    b".maxclusterrank",
];

/// True for a word that begins something new at module level.
fn ends_header(word: &[u8]) -> bool {
    matches!(
        word,
        b".entry" | b".func" | b".version" | b".target" | b".address_size" | b".file" | b".section"
    ) || linkage(word).is_some()
        || state_space(word).is_some()
}

/// The text from the end of a header that could not be read: its brace, its semicolon, or the next line that begins a function.
fn header_end<'s>(mut rest: &'s [u8], ahead: &mut Ahead) -> &'s [u8] {
    while let Some(&first) = rest.first() {
        let mut len = 1;
        match first {
            b'{' | b'}' | b';' => return rest,
            b'/' => len = comment_len(rest).max(1),
            b'"' => len = ahead.string_len(rest),
            b'\n' => {
                len += run(&rest[1..], BLANK);
                let line = &rest[len..];
                if directive(line)
                    .is_ok_and(|(_, word)| matches!(word, b".entry" | b".func") || linkage(word).is_some())
                {
                    return line;
                }
            }
            _ if class(first) & NAME_START != 0 => len = run(rest, NAME_START),
            _ => {}
        }
        rest = &rest[len..];
    }
    rest
}
