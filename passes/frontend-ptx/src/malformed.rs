//! Malformed code that the parser reads and no form of an instruction allows: too few operands, a guard that is not a predicate, a
//! branch to no label. The instruction becomes an opaque one, and the function counts as damaged.
//!
//! Everything else that does not fit an opcode is for the assembler to say; see [`ptxcheck_ir::fitting`] for what the lowering
//! makes of it.

use ptxcheck_ptx_parser::ast::{Statement, Tree};
use ptxcheck_ptx_parser::limits::MAX_ERRORS;
use ptxcheck_ptx_parser::operand::{OperandRef, Operands};
use ptxcheck_ptx_parser::{Cause, Span, SyntaxError};

use super::body::Lowering;
use super::opcode::Shape;
use super::operands::begins_with_result;
use super::scope::Binding;
use ptxcheck_ir::{Guard, Op, Register, Value};

/// By the fewest operands that an instruction takes.
const LEAST: [&str; 6] = [
    "no operand",
    "at least one operand",
    "at least two operands",
    "at least three operands",
    "at least four operands",
    "at least five operands",
];

/// The malformed code of one body, or of one module.
#[derive(Default)]
pub(super) struct Malformed {
    /// The first of them, in the order of the input.
    pub(super) errors: Vec<SyntaxError>,
    /// Number of the others.
    pub(super) left_out: usize,
}

impl Malformed {
    pub(super) const NONE: Self = Self {
        errors: Vec::new(),
        left_out: 0,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.left_out == 0
    }

    pub(super) fn add(&mut self, span: Span, expected: &'static str) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(SyntaxError {
                cause: Cause::Malformed,
                span,
                expected,
            });
        } else {
            self.left_out += 1;
        }
    }

    /// Appends the errors of the text that follows.
    pub(super) fn append(&mut self, other: Self) {
        let room = MAX_ERRORS - self.errors.len().min(MAX_ERRORS);
        let taken = other.errors.len().min(room);
        self.left_out += other.left_out + other.errors.len() - taken;
        self.errors.extend(other.errors.into_iter().take(taken));
    }
}

impl<'s> Lowering<'_, 's> {
    /// An instruction with fewer operands than any form of its opcode has.
    #[cold]
    pub(super) fn too_few_operands(
        &mut self,
        (shape, least): (Shape, u8),
        guard: Option<Guard>,
        span: Span,
        operands: Operands<'_>,
    ) {
        let expected = LEAST[usize::from(least).min(LEAST.len() - 1)];
        self.malformed.add(span, expected);
        match shape {
            Shape::Branch | Shape::BranchTable => self.nowhere(span),
            Shape::Call => self.call(guard, span, operands),
            _ => {
                let results = usize::from(begins_with_result(&operands));
                self.plain(Op::Opaque, guard, span, operands, results);
            }
        }
    }

    /// The guard of an instruction, if it has one: an unknown predicate, if the text names none.
    #[inline]
    pub(super) fn guard(&mut self, tree: &Tree<'s>, statement: &Statement) -> Option<Guard> {
        let negated = statement.guard_is_negated()?;
        let name = tree.operand(statement.index()).map(OperandRef::span);
        let register = match name.and_then(|name| self.known_predicate(name)) {
            Some(register) => register,
            None => self.other_guard(statement.span(), name?),
        };
        Some(Guard { register, negated })
    }

    /// The register of the guard with this name, which [`Scopes::known`](super::scope::Scopes::known) does not know.
    fn other_guard(&mut self, span: Span, name: Span) -> Register {
        match self
            .scopes
            .resolve(name.of(self.source), span, &mut self.registers)
        {
            Some(Binding::Register(register)) if self.registers.all.bits(register) == 1 => register,
            _ => {
                self.unresolved(name, "a predicate register as guard");
                self.registers.make(1, Span::default())
            }
        }
    }

    /// A branch whose target the text does not give: which lanes take it, continue or end is unknown.
    #[cold]
    pub(super) fn nowhere(&mut self, span: Span) {
        let register = self.registers.make(1, Span::default());
        self.emit(Op::Opaque, None, span, &[Value::Register(register)], &[]);
        let guard = Some(Guard {
            register,
            negated: false,
        });
        self.emit(Op::Trap, guard, span, &[], &[]);
        self.end_branch(guard, std::iter::empty());
    }

    /// Something that is named here and that its function does not declare. In a function that the parser could not read completely, the
    /// declaration may be in the unread part.
    #[cold]
    pub(super) fn unresolved(&mut self, span: Span, expected: &'static str) {
        if self.is_whole {
            self.malformed.add(span, expected);
        }
    }
}
