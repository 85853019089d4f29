//! Operands: the grammar, and how a finished tree's operands are read.

pub use crate::initializer::{Element, Elements, initializer};

use crate::ast::{Operand, OperandKind, Tree};
use crate::expression::{self, TOO_DEEP, continues_name, continues_number, expression};
use crate::lexer::{
    CLOSER, DIGIT, NAME, NAME_START, Parsed, behind_last_token, class, directive, expected, failure,
    first_class, name, name_len, number, over_limit, run, string, trivia,
};
use crate::limits::{MAX_OPERAND_DEPTH, MAX_OPERAND_NODES};
use crate::module::Parser;
use crate::span::Span;

const TOO_LARGE: &str = "the operand has more than 65,535 parts";

impl<'s> Parser<'s> {
    fn leaf(&mut self, kind: OperandKind, input: &'s [u8], rest: &'s [u8]) {
        let (start, end) = (self.offset(input), self.offset(rest));
        self.tree.operands.push(Operand {
            start,
            end,
            kind,
            descendants: 0,
        });
    }

    /// Makes the nodes from `first` on the descendants of a new node in front of them.
    fn wrap(&mut self, first: usize, kind: OperandKind, input: &'s [u8], rest: &'s [u8]) -> Parsed<'s, ()> {
        let (start, end) = (self.offset(input), self.offset(rest));
        let descendants = self.tree.operands.len() - first;
        if descendants >= MAX_OPERAND_NODES {
            return over_limit(TOO_LARGE, input);
        }
        let node = Operand {
            start,
            end,
            kind,
            descendants: descendants as u16,
        };
        self.tree.operands.insert(first, node);
        Ok((rest, ()))
    }

    /// A node whose descendants follow; [`Self::close`] completes it.
    #[inline(always)]
    fn open(&mut self, kind: OperandKind, input: &'s [u8]) -> usize {
        let start = self.offset(input);
        self.tree.operands.push(Operand {
            start,
            end: start,
            kind,
            descendants: 0,
        });
        self.tree.operands.len() - 1
    }

    #[inline(always)]
    fn close(&mut self, node: usize, rest: &'s [u8]) -> Parsed<'s, ()> {
        let end = self.offset(rest);
        let descendants = self.tree.operands.len() - 1 - node;
        if descendants >= MAX_OPERAND_NODES {
            return over_limit(TOO_LARGE, rest);
        }
        let node = &mut self.tree.operands[node];
        node.end = end;
        node.descendants = descendants as u16;
        Ok((trivia(rest), ()))
    }

    /// One operand, and the blanks after it.
    #[inline(always)]
    pub(crate) fn operand(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        let classes = first_class(input);
        if classes & NAME_START != 0 {
            let rest = &input[name_len(input)..];
            if first_class(rest) & CLOSER != 0 {
                self.leaf(name_kind(input), input, rest);
                return Ok((rest, ()));
            }
            return self.after_name(input, rest, depth);
        }
        if input.first() == Some(&b'[') {
            return self.address(input, depth);
        }
        self.other_operand(input, depth)
    }

    fn other_operand(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        if depth >= MAX_OPERAND_DEPTH {
            return over_limit(TOO_DEEP, input);
        }
        match *input {
            [b'0'..=b'9', ..] | [b'-' | b'+', b'0'..=b'9', ..] => self.number_or_expression(input, depth),
            [b'{', ref inner @ ..] => {
                let node = self.open(OperandKind::Vector, input);
                let rest = self
                    .several(trivia(inner), b'}', "`,` or `}` in the vector", depth)?
                    .0;
                self.close(node, rest)
            }
            [b'(', ..] => self.list_or_expression(input, depth),
            [b'"', ..] => {
                let (rest, _) = string(input)?;
                self.leaf(OperandKind::String, input, rest);
                Ok((trivia(rest), ()))
            }
            [sign @ (b'!' | b'-'), ref inner @ ..] => {
                let inner = trivia(inner);
                if first_class(inner) & NAME_START != 0 {
                    let kind = if sign == b'!' {
                        OperandKind::Not
                    } else {
                        OperandKind::Minus
                    };
                    let node = self.open(kind, input);
                    let rest = &inner[name_len(inner)..];
                    self.leaf(name_kind(inner), inner, rest);
                    return self.close(node, rest);
                }
                self.number_or_expression(input, depth)
            }
            [b'+' | b'~', ..] => self.number_or_expression(input, depth),
            // A directive as an argument (`.newproperty(.value)`), or a cast.
            [b'.', ..] => match directive(input) {
                Ok((rest, text)) if depth > 0 && text != b".s64" && text != b".u64" => {
                    self.leaf(OperandKind::Name, input, rest);
                    Ok((trivia(rest), ()))
                }
                _ => self.constant_expression(input, depth),
            },
            _ => expected("an operand", input),
        }
    }

    /// The operands up to `close`, which is taken too.
    fn several(
        &mut self,
        mut input: &'s [u8],
        close: u8,
        what: &'static str,
        depth: usize,
    ) -> Parsed<'s, ()> {
        if input.first() == Some(&close) {
            return Ok((&input[1..], ()));
        }
        loop {
            input = self.operand(input, depth + 1)?.0;
            match input.split_first() {
                Some((b',', rest)) => input = trivia(rest),
                Some((&found, rest)) if found == close => return Ok((rest, ())),
                _ => return expected(what, input),
            }
        }
    }

    fn number_or_expression(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        let unsigned = match input {
            [b'-' | b'+', rest @ ..] => trivia(rest),
            _ => input,
        };
        let digits = run(unsigned, DIGIT);
        if digits > 0 {
            let mut rest = &unsigned[digits..];
            let mut kind = OperandKind::Integer;
            if unsigned[0] == b'0' && digits > 1 || first_class(rest) & CLOSER == 0 {
                (rest, (kind, _)) = number(unsigned)?;
            }
            let next = trivia(rest);
            if !continues_number(next) {
                self.leaf(kind, input, rest);
                return Ok((next, ()));
            }
        }
        self.constant_expression(input, depth)
    }

    fn constant_expression(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        let (rest, _) = expression(input, depth)?;
        self.leaf(OperandKind::Expression, input, behind_last_token(input, rest));
        Ok((rest, ()))
    }

    /// `(…)`: arguments, unless all of it is one constant expression of an instruction that is not a call.
    fn list_or_expression(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        if !self.in_call {
            match expression(input, depth) {
                Ok((rest, _)) => {
                    self.leaf(OperandKind::Expression, input, behind_last_token(input, rest));
                    return Ok((rest, ()));
                }
                Err(nom::Err::Error(_)) => {}
                Err(limit) => return Err(limit),
            }
        }
        let node = self.open(OperandKind::List, input);
        let rest = self
            .several(trivia(&input[1..]), b')', "`,` or `)` in the list", depth)?
            .0;
        self.close(node, rest)
    }

    /// Parses the part that may follow a name: `[index]`, `|other`, `+offset`, or an operator.
    fn after_name(&mut self, input: &'s [u8], end: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        if depth >= MAX_OPERAND_DEPTH {
            return over_limit(TOO_DEEP, input);
        }
        let node = self.tree.operands.len();
        let (end, rest) = self.indexed_name(input, end, depth)?;
        match rest {
            [b'+' | b'-', ..] => {
                let (next, end) = self.offset_part(rest, depth)?;
                self.wrap(node, OperandKind::Sum, input, end)?;
                Ok((next, ()))
            }
            [b'|', second, ..] if *second != b'|' => {
                let second = trivia(&rest[1..]);
                if first_class(second) & NAME_START == 0 {
                    return expected("the second of two destinations", second);
                }
                let (_, next) = self.indexed_name(second, &second[name_len(second)..], depth)?;
                let end = behind_last_token(input, next);
                self.wrap(node, OperandKind::Pair, input, end)?;
                Ok((next, ()))
            }
            _ if continues_name(rest) && end.len() >= rest.len() => {
                self.tree.operands.truncate(node);
                self.constant_expression(input, depth)
            }
            _ => Ok((rest, ())),
        }
    }

    /// A name that ends at `end`, with an optional index in brackets. Returns the end of the name with its index, and the start of the next
    /// token.
    fn indexed_name(
        &mut self,
        input: &'s [u8],
        end: &'s [u8],
        depth: usize,
    ) -> Result<(&'s [u8], &'s [u8]), nom::Err<crate::lexer::Expected>> {
        let rest = trivia(end);
        if rest.first() != Some(&b'[') {
            self.leaf(name_kind(input), input, end);
            return Ok((end, rest));
        }
        let node = self.open(OperandKind::Index, input);
        self.leaf(name_kind(input), input, end);
        let rest = self.operand(trivia(&rest[1..]), depth + 1)?.0;
        let Some((b']', end)) = rest.split_first() else {
            return Err(failure("`]` behind the index", rest));
        };
        let rest = self.close(node, end)?.0;
        Ok((end, rest))
    }

    /// `+4`, `+-4`, `-4`, `+%r1`. Gives where the next token begins, and where the offset ends.
    fn offset_part(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, &'s [u8]> {
        // The common forms first: a sign, perhaps another, decimal digits.
        let digits = match input {
            [b'+', b'-', rest @ ..] => rest,
            _ => &input[1..],
        };
        let len = run(digits, DIGIT);
        if len > 0 && first_class(&digits[len..]) & CLOSER != 0 && (digits[0] != b'0' || len == 1) {
            let end = &digits[len..];
            self.leaf(OperandKind::Offset, input, end);
            return Ok((end, end));
        }
        let inner = trivia(&input[1..]);
        if first_class(inner) & NAME_START != 0 {
            let end = &inner[name_len(inner)..];
            let rest = trivia(end);
            if first_class(rest) & CLOSER != 0 {
                let node = self.open(OperandKind::Offset, input);
                self.leaf(OperandKind::Name, inner, end);
                self.close(node, end)?;
                return Ok((rest, end));
            }
        }
        let (rest, _) = expression(input, depth)?;
        let end = behind_last_token(input, rest);
        self.leaf(OperandKind::Offset, input, end);
        Ok((rest, end))
    }

    /// `[…]`.
    #[inline]
    fn address(&mut self, input: &'s [u8], depth: usize) -> Parsed<'s, ()> {
        if depth >= MAX_OPERAND_DEPTH {
            return over_limit(TOO_DEEP, input);
        }
        let node = self.open(OperandKind::Address, input);
        let base = trivia(&input[1..]);
        let mut rest;
        if first_class(base) & NAME_START != 0 {
            let end = &base[name_len(base)..];
            match end {
                [b']' | b'+' | b',', ..] => {
                    self.leaf(name_kind(base), base, end);
                    rest = end;
                }
                _ => (_, rest) = self.indexed_name(base, end, depth)?,
            }
            if matches!(rest, [b'+' | b'-', ..]) {
                rest = self.offset_part(rest, depth)?.0;
            }
        } else {
            rest = self.operand(base, depth + 1)?.0;
        }
        rest = match rest.split_first() {
            Some((b']', after)) => after,
            Some((b',', after)) => {
                self.several(trivia(after), b']', "`,` or `]` in the address", depth)?
                    .0
            }
            _ => return expected("`+`, `,` or `]` in the address", rest),
        };
        // `[a].unified` (PTX ISA, ld).
        if rest.first() == Some(&b'.') {
            rest = directive(rest)?.0;
        }
        self.close(node, rest)
    }

    /// The guard's predicate.
    pub(crate) fn predicate(&mut self, input: &'s [u8]) -> Parsed<'s, ()> {
        let (rest, _) = match name(input) {
            Ok(found) => found,
            Err(_) => return expected("a predicate after `@`", input),
        };
        self.leaf(OperandKind::Name, input, rest);
        Ok((trivia(rest), ()))
    }
}

/// `_` alone is the sink.
#[inline(always)]
fn name_kind(input: &[u8]) -> OperandKind {
    match input {
        [b'_', next, ..] if class(*next) & NAME == 0 => OperandKind::Sink,
        [b'_'] => OperandKind::Sink,
        _ => OperandKind::Name,
    }
}

/// An operand of a tree.
#[derive(Clone, Copy, Debug)]
pub struct OperandRef<'t> {
    tree: &'t Tree<'t>,
    index: u32,
}

impl<'t> OperandRef<'t> {
    pub(crate) const fn new(tree: &'t Tree<'t>, index: u32) -> Self {
        Self { tree, index }
    }

    #[inline]
    fn node(self) -> Operand {
        // The tree gives no reference whose index is not one of its nodes.
        self.tree.operands[self.index as usize]
    }

    /// Its number among the module's operand nodes, from 0: the same for the same node, and another for any other node of the
    /// tree. [`Tree::operand`] leads back.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The index after the node and its descendants.
    pub(crate) fn next_index(self) -> usize {
        self.index as usize + 1 + usize::from(self.node().descendants)
    }

    /// Its kind.
    #[must_use]
    #[inline]
    pub fn kind(self) -> OperandKind {
        self.node().kind
    }

    /// The bytes it covers.
    #[must_use]
    #[inline]
    pub fn span(self) -> Span {
        self.node().span()
    }

    /// Its text.
    #[must_use]
    #[inline]
    pub fn text(self) -> &'t [u8] {
        self.span().of(self.tree.source)
    }

    /// Its children, in source order.
    #[must_use]
    #[inline]
    pub fn children(self) -> Operands<'t> {
        let end = self.index + 1 + u32::from(self.node().descendants);
        Operands {
            tree: self.tree,
            next: self.index + 1,
            end,
            left: u32::MAX,
        }
    }

    /// The value of an integer literal, a constant expression or a constant offset.
    #[must_use]
    pub fn constant(self) -> Option<i128> {
        match self.kind() {
            OperandKind::Integer | OperandKind::Expression | OperandKind::Offset => constant(self.text()),
            _ => None,
        }
    }
}

/// Sibling operands, in source order.
#[derive(Clone, Debug)]
pub struct Operands<'t> {
    tree: &'t Tree<'t>,
    next: u32,
    /// No sibling begins here or later.
    end: u32,
    /// At most so many siblings.
    left: u32,
}

impl<'t> Operands<'t> {
    /// `count` siblings from node `next` on.
    pub(crate) const fn new(tree: &'t Tree<'t>, next: u32, count: u32) -> Self {
        Self {
            tree,
            next,
            end: tree.operands.len() as u32,
            left: count,
        }
    }
}

impl<'t> Iterator for Operands<'t> {
    type Item = OperandRef<'t>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let found = OperandRef {
            tree: self.tree,
            index: self.next,
        };
        self.next += 1 + u32::from(found.node().descendants);
        Some(found)
    }
}

/// The value of an integer literal with at most one sign (PTX ISA, Integer Constants): decimal, octal, hexadecimal
/// or binary, with or without `U`. `None` for other text and for what 64 bits cannot hold: the result lies between
/// -2⁶³ and 2⁶⁴-1.
///
/// ```
/// use ptxcheck_ptx_parser::operand::integer;
///
/// assert_eq!(integer(b"0x1F"), Some(31));
/// assert_eq!(integer(b"-010"), Some(-8));
/// assert_eq!(integer(b"0xFFFFFFFFFFFFFFFFU"), Some(u64::MAX.into()));
/// assert_eq!(integer(b"2*4"), None);
/// ```
#[must_use]
pub fn integer(text: &[u8]) -> Option<i128> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, trivia(rest)),
        [b'+', rest @ ..] => (false, trivia(rest)),
        _ => (false, text),
    };
    let magnitude = i128::from(expression::magnitude(digits)?);
    let value = if is_negative { -magnitude } else { magnitude };
    (value >= i128::from(i64::MIN)).then_some(value)
}

/// The value of a constant expression (PTX ISA, Constant Expressions), literals included. `None` for other text,
/// for names except `WARP_SZ`, for floating point, division by zero, and where a step leaves 64 bits: the result
/// lies between -2⁶³ and 2⁶⁴-1.
///
/// ```
/// use ptxcheck_ptx_parser::operand::constant;
///
/// assert_eq!(constant(b"(2 + WARP_SZ) * 4"), Some(136));
/// assert_eq!(constant(b"1 / 0"), None);
/// ```
#[must_use]
pub fn constant(text: &[u8]) -> Option<i128> {
    match expression(trivia(text), 0) {
        Ok(([], value)) => value.map(expression::Word::value),
        _ => None,
    }
}
