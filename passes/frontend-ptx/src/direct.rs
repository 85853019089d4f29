//! The code of a function from text to device IR in one pass, without a tree.
//!
//! Nearly all instructions have operands of a few simple forms: registers, other names, numbers, addresses with an offset, and vectors of these.
//! They are lowered as they are read. Every other statement is handed over: the grammar of the parser reads it into a tree of its own, and it is
//! lowered from there like a statement of a whole tree. A malformed statement, or one whose meaning depends on the whole tree, ends the reading:
//! then the module is read again as a tree. Either way the device IR is the same.

use ptxcheck_ptx_parser::ast::{Function, OperandKind, StateSpace, Statement, StatementKind, Tree};
use ptxcheck_ptx_parser::limits::{MAX_BLOCK_DEPTH, MAX_OPERANDS};
use ptxcheck_ptx_parser::operand::integer;
use ptxcheck_ptx_parser::scan::{after_blanks, after_name, after_opcode, begins_name, ends_operand, number};
use ptxcheck_ptx_parser::{BodyReader, Span};

use super::body::{Edge, Lowered, Lowering};
use super::opcodes::{Form, Opcode, OpcodeId};
use super::operands::Named;
use super::short;
use crate::limits::{BYTES_OF_STATEMENT, MAX_SIMPLE_ELEMENTS, MAX_SIMPLE_OPCODE_BYTES};
use ptxcheck_ir::{Guard, Value};

/// The body of a function whose head is in a tree; `None` if a statement needs the whole tree.
pub(super) fn lower<'s>(
    mut lowering: Lowering<'_, 's>,
    tree: &Tree<'s>,
    function: &Function,
    reader: &mut BodyReader<'s>,
) -> Option<Lowered<'s>> {
    let text = reader.text();
    let code = function.unread;
    lowering.expect_labels_ahead();
    lowering.begin(tree, function, code.len() as usize / BYTES_OF_STATEMENT);
    for statement in tree.body(function) {
        match statement.kind() {
            StatementKind::Declaration | StatementKind::Directive => lowering.statement(tree, statement),
            // The first of the code is in the tree, too.
            StatementKind::Location if statement.span().start < code.start => {
                lowering.statement(tree, statement);
            }
            StatementKind::Location => {}
            _ => return None,
        }
    }
    let mut reading = Reading {
        lowering,
        reader,
        text,
    };
    if !code.is_empty() {
        reading.read(code)?;
    }
    let Reading { mut lowering, .. } = reading;
    lowering.resolve_labels_ahead()?;
    (!lowering.needs_whole_tree()).then(|| lowering.finish(function.span.end))
}

/// The role of an operand in its instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Result,
    Address,
    Use,
}

/// The reading of a function's code. Each rest of the text reaches to the end of the text.
struct Reading<'a, 'r, 's> {
    lowering: Lowering<'a, 's>,
    reader: &'r mut BodyReader<'s>,
    text: &'s [u8],
}

impl<'s> Reading<'_, '_, 's> {
    fn offset(&self, rest: &[u8]) -> u32 {
        (self.text.len() - rest.len()) as u32
    }

    fn span(&self, start: &[u8], end: &[u8]) -> Span {
        Span::new(self.offset(start), self.offset(end))
    }

    /// Reads all of it; `None` if it has something that is not handled here, or does not end where it should.
    fn read(&mut self, code: Span) -> Option<()> {
        let mut rest = self.text.get(code.start as usize..)?;
        let mut depth = 0;
        loop {
            while let [b' ' | b'\t' | b'\n' | b'\r', after @ ..] = rest {
                rest = after;
            }
            rest = after_blanks(rest);
            rest = match *rest.first()? {
                _ if begins_name(rest) => self.label_or_instruction(rest)?,
                b'@' => self.guarded(rest)?,
                b'{' => {
                    depth += 1;
                    if depth > MAX_BLOCK_DEPTH {
                        return None;
                    }
                    self.lowering.open_scope();
                    &rest[1..]
                }
                b'}' if depth == 0 => return (self.offset(rest) == code.end).then_some(()),
                b'}' => {
                    depth -= 1;
                    self.lowering.close_scope();
                    &rest[1..]
                }
                b';' => &rest[1..],
                _ => self.hand_over(rest)?,
            };
        }
    }

    #[inline]
    fn label_or_instruction(&mut self, start: &'s [u8]) -> Option<&'s [u8]> {
        if let Some((id, length)) = self.lowering.known_opcode(start) {
            return self.instruction(start, id, after_blanks(&start[length..]), None);
        }
        let opcode = after_opcode(start);
        let rest = after_blanks(opcode);
        if let [b':', after @ ..] = rest {
            self.lowering
                .label_ahead(self.span(start, opcode), self.span(start, after));
            return Some(after);
        }
        self.other_instruction(start, (start, opcode), rest, None)
    }

    /// An instruction whose opcode, between two places, has not been decoded lately.
    #[inline(never)]
    fn other_instruction(
        &mut self,
        start: &'s [u8],
        (opcode, after): (&'s [u8], &'s [u8]),
        rest: &'s [u8],
        guard: Option<Guard>,
    ) -> Option<&'s [u8]> {
        let name = self.span(opcode, after);
        if name.len() > MAX_SIMPLE_OPCODE_BYTES {
            return self.hand_over(start);
        }
        let id = self.lowering.decode(name);
        self.instruction(start, id, rest, guard)
    }

    /// An instruction with a guard that is a predicate named before.
    #[inline]
    fn guarded(&mut self, start: &'s [u8]) -> Option<&'s [u8]> {
        let (negated, name) = match start {
            [b'@', b'!', name @ ..] => (true, name),
            _ => (false, &start[1..]),
        };
        let end = if begins_name(name) { after_name(name) } else { name };
        let opcode = after_blanks(end);
        let known = self.lowering.known_predicate(self.span(name, end));
        match known {
            Some(register) if opcode.len() < end.len() && opcode.first()?.is_ascii_alphabetic() => {
                let guard = Some(Guard { register, negated });
                if let Some((id, length)) = self.lowering.known_opcode(opcode) {
                    return self.instruction(start, id, after_blanks(&opcode[length..]), guard);
                }
                let after = after_opcode(opcode);
                self.other_instruction(start, (opcode, after), after_blanks(after), guard)
            }
            _ => self.hand_over(start),
        }
    }

    /// An instruction whose opcode has been decoded. `rest` begins with its first operand.
    #[inline]
    fn instruction(
        &mut self,
        start: &'s [u8],
        id: OpcodeId,
        rest: &'s [u8],
        guard: Option<Guard>,
    ) -> Option<&'s [u8]> {
        let body = &self.lowering.body;
        let (values, references) = (body.values.len(), body.references.len());
        if let Some(after) = self.simple_instruction(start, id, rest, guard) {
            return Some(after);
        }
        self.lowering.body.values.truncate(values);
        self.lowering.body.references.truncate(references);
        self.hand_over(start)
    }

    /// The same, if it is simple. Else some of its values have been added to the body.
    #[inline]
    fn simple_instruction(
        &mut self,
        start: &'s [u8],
        id: OpcodeId,
        mut rest: &'s [u8],
        guard: Option<Guard>,
    ) -> Option<&'s [u8]> {
        let &Opcode { least, form, .. } = self.lowering.opcode(id);
        let results = match form {
            Form::Plain { results, .. } | Form::Memory { results } | Form::Collective { results, .. } => {
                usize::from(results)
            }
            Form::Guess => usize::from(begins_name(rest) || rest.first() == Some(&b'{')),
            Form::Branch => return self.branch(start, id, rest, guard),
            Form::Other => return None,
        };
        let first = self.lowering.body.values.len();
        let (mut count, mut is_at_end) = (0, false);
        if let [b';', after @ ..] = rest {
            (rest, is_at_end) = (after, true);
        }
        while count < results && !is_at_end && rest.first() != Some(&b'[') {
            (rest, is_at_end) = self.operand(rest, Role::Result)?;
            count += 1;
        }
        let uses = self.lowering.body.values.len();
        match form {
            Form::Memory { .. } if !is_at_end => {
                (rest, is_at_end) = self.operand(rest, Role::Address)?;
                count += 1;
            }
            // The place of the mask.
            Form::Collective { .. } if count == results => self.lowering.body.values.push(Value::Unknown),
            Form::Memory { .. } | Form::Collective { .. } => return None,
            _ => {}
        }
        while !is_at_end {
            (rest, is_at_end) = self.operand(rest, Role::Use)?;
            count += 1;
        }
        if count < usize::from(least) || count > MAX_OPERANDS {
            return None;
        }
        let span = self.span(start, rest);
        let lowering = &mut self.lowering;
        let mut op = lowering.opcode(id).decoded.op;
        match form {
            Form::Plain { is_refined: true, .. } => op = lowering.refined(op, first, uses),
            Form::Collective { has_mask: true, .. } => lowering.move_mask_to_front(uses),
            _ => {}
        }
        lowering.push(op, guard, span, first, uses - first);
        if matches!(form, Form::Plain { ends_path: true, .. }) {
            lowering.end_block(guard.map(|_| Edge::Next));
        }
        Some(rest)
    }

    /// A branch whose only operand is the name of a label.
    fn branch(
        &mut self,
        start: &[u8],
        id: OpcodeId,
        rest: &'s [u8],
        guard: Option<Guard>,
    ) -> Option<&'s [u8]> {
        if !begins_name(rest) {
            return None;
        }
        let end = after_name(rest);
        let [b';', after @ ..] = after_blanks(end) else {
            return None;
        };
        let (label, span) = (self.span(rest, end), self.span(start, after));
        let op = self.lowering.opcode(id).decoded.op;
        self.lowering.branch_ahead(op, guard, span, label);
        Some(after)
    }

    /// Reads an operand and the comma, with a blank, or semicolon after it. Returns the text after that, and whether it was the semicolon.
    #[inline(always)]
    fn operand(&mut self, rest: &'s [u8], role: Role) -> Option<(&'s [u8], bool)> {
        if role != Role::Address
            && let Some((register, length)) = self.lowering.leading_register(rest, self.offset(rest))
        {
            match rest[length..] {
                [b',', b' ', ref after @ ..] | [b',', ref after @ ..] => {
                    self.lowering.body.values.push(Value::Register(register));
                    return Some((after, false));
                }
                [b';', ref after @ ..] => {
                    self.lowering.body.values.push(Value::Register(register));
                    return Some((after, true));
                }
                _ => {}
            }
        }
        self.other_operand(rest, role)
    }

    #[inline(never)]
    fn other_operand(&mut self, rest: &'s [u8], role: Role) -> Option<(&'s [u8], bool)> {
        let rest = after_blanks(rest);
        let rest = match (role, rest.first()?) {
            (Role::Address, b'[') => self.address(&rest[1..])?,
            (Role::Address, _) => return None,
            (_, b'{') => self.vector(&rest[1..], role)?,
            _ => self.other_scalar(rest, role)?,
        };
        match rest {
            [b',', b' ', after @ ..] | [b',', after @ ..] => Some((after, false)),
            [b';', after @ ..] => Some((after, true)),
            _ => match after_blanks(rest).split_first()? {
                (b',', after) => Some((after, false)),
                (b';', after) => Some((after, true)),
                _ => None,
            },
        }
    }

    /// An operand that is one value.
    #[inline]
    fn scalar(&mut self, rest: &'s [u8], role: Role) -> Option<&'s [u8]> {
        match self.lowering.leading_register(rest, self.offset(rest)) {
            Some((register, length)) if ends_operand(&rest[length..]) => {
                self.lowering.body.values.push(Value::Register(register));
                Some(&rest[length..])
            }
            _ => self.other_scalar(rest, role),
        }
    }

    /// The same for operands other than registers with short names. A result that is no register is unknown.
    #[inline]
    fn other_scalar(&mut self, rest: &'s [u8], role: Role) -> Option<&'s [u8]> {
        let (value, after) = match short::leading_number(rest) {
            Some((number, length)) if ends_operand(&rest[length..]) => {
                (Value::Integer(number.into()), &rest[length..])
            }
            _ => self.name_or_number(rest)?,
        };
        let is_unwritable = role == Role::Result && !matches!(value, Value::Register(_));
        let value = if is_unwritable { Value::Unknown } else { value };
        self.lowering.body.values.push(value);
        Some(after)
    }

    #[inline(never)]
    fn name_or_number(&mut self, rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let (value, after) = if begins_name(rest) {
            let after = after_name(rest);
            let name = self.span(rest, after);
            (self.lowering.value_of_name(name), after)
        } else {
            Self::number(rest)?
        };
        (ends_operand(after) || ends_operand(after_blanks(after))).then_some((value, after))
    }

    /// The elements of a vector, after its brace.
    fn vector(&mut self, rest: &'s [u8], role: Role) -> Option<&'s [u8]> {
        let mut rest = after_blanks(rest);
        for _ in 0..MAX_SIMPLE_ELEMENTS {
            rest = after_blanks(self.scalar(rest, role)?);
            match rest.split_first()? {
                (b',', after) => rest = after_blanks(after),
                (b'}', after) => return Some(after),
                _ => return None,
            }
        }
        None
    }

    /// A name, and an offset that is a decimal number, after the bracket.
    #[inline]
    fn address(&mut self, rest: &'s [u8]) -> Option<&'s [u8]> {
        let (base, end) = match self.lowering.leading_register(rest, self.offset(rest)) {
            Some((register, length)) if matches!(rest.get(length), Some(b']' | b'+' | b'-')) => {
                (Value::Register(register), &rest[length..])
            }
            _ => self.base_of_address(rest)?,
        };
        let (offset, after) = match end {
            [b']', after @ ..] => (0, after),
            [b'+', b'-', digits @ ..] | [b'-', digits @ ..] => offset(digits, -1)?,
            [b'+', digits @ ..] => offset(digits, 1)?,
            _ => return None,
        };
        self.lowering.push_base_and_offset(base, Value::Integer(offset));
        Some(after)
    }

    #[inline(never)]
    fn base_of_address(&mut self, rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let end = if begins_name(rest) { after_name(rest) } else { rest };
        let name = &rest[..rest.len() - end.len()];
        if matches!(name, [] | [b'_']) {
            return None;
        }
        match self.lowering.base_of_name(self.span(rest, end)) {
            Named::Value(base) => Some((base, end)),
            Named::Slot(_) => None,
        }
    }

    /// A number; one in floating point is no value.
    fn number(rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let (kind, after) = number(rest.strip_prefix(b"-").unwrap_or(rest))?;
        let value = match kind {
            OperandKind::Integer => integer(&rest[..rest.len() - after.len()]),
            _ => None,
        };
        Some((
            value.map_or(Value::Unknown, |value| Value::Integer(value as i64)),
            after,
        ))
    }

    /// Reads the statement by the grammar, and lowers it as one of a tree.
    #[cold]
    fn hand_over(&mut self, start: &'s [u8]) -> Option<&'s [u8]> {
        let (statement, after) = self.reader.read(self.offset(start))?;
        let tree = self.reader.tree();
        if !is_lowered_alone(tree, &statement) {
            return None;
        }
        self.lowering.statement(tree, &statement);
        self.text.get(after as usize..)
    }
}

/// True for a statement that means the same without those around it.
fn is_lowered_alone(tree: &Tree<'_>, statement: &Statement) -> bool {
    match statement.kind() {
        StatementKind::Instruction | StatementKind::Location | StatementKind::Prototype => true,
        // Variables in memory are symbols of the module.
        StatementKind::Declaration => tree
            .declared(statement)
            .iter()
            .all(|variable| matches!(variable.space, StateSpace::Reg | StateSpace::Param)),
        StatementKind::Directive => matches!(tree.name(statement), b".pragma" | b"@@DWARF"),
        _ => false,
    }
}

/// The offset with a sign whose digits, at most eight, are at the beginning, and the text after the bracket after them.
#[inline]
fn offset(text: &[u8], sign: i64) -> Option<(i64, &[u8])> {
    let (number, length) = short::leading_number(text)?;
    let after = text[length..].strip_prefix(b"]")?;
    Some((sign * i64::from(number), after))
}
