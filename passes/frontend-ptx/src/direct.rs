//! The code of a function from text to device IR in one pass, without a tree.
//!
//! Nearly all instructions have operands of a few simple forms: registers, other names, numbers, addresses with an offset, and vectors of these.
//! They are lowered as they are read. Every other statement is handed over: the grammar of the parser reads it into a tree of its own, and it is
//! lowered from there like a statement of a whole tree. What is malformed, and the rest that a whole tree is needed for, is not read at all:
//! then the module is read again as a tree. Either way the device IR is the same.

use ptxcheck_ptx_parser::ast::{Function, StateSpace, Statement, StatementKind, Tree};
use ptxcheck_ptx_parser::limits::{MAX_BLOCK_DEPTH, MAX_OPERANDS};
use ptxcheck_ptx_parser::operand::integer;
use ptxcheck_ptx_parser::scan::{begins_name, behind_blanks, behind_name, behind_opcode, ends_operand};
use ptxcheck_ptx_parser::{BodyReader, Span};

use super::body::{Edge, Lowered, Lowering};
use super::opcodes::{Form, Opcode, OpcodeId};
use super::operands::Named;
use super::short;
use crate::limits::{BYTES_OF_STATEMENT, MAX_OFFSET_DIGITS, MAX_SIMPLE_ELEMENTS, MAX_SIMPLE_OPCODE_BYTES};
use ptxcheck_ir::{Guard, Value};

/// The body of a function whose head is in a tree; `None` where only a whole tree can tell.
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

/// What an operand is to its instruction.
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
            while let [b' ' | b'\t' | b'\n' | b'\r', behind @ ..] = rest {
                rest = behind;
            }
            rest = behind_blanks(rest);
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
            return self.instruction(start, id, behind_blanks(&start[length..]), None);
        }
        let opcode = behind_opcode(start);
        let rest = behind_blanks(opcode);
        if let [b':', behind @ ..] = rest {
            self.lowering
                .label_ahead(self.span(start, opcode), self.span(start, behind));
            return Some(behind);
        }
        self.other_instruction(start, (start, opcode), rest, None)
    }

    /// An instruction whose opcode, between two places, has not been decoded lately.
    #[inline(never)]
    fn other_instruction(
        &mut self,
        start: &'s [u8],
        (opcode, behind): (&'s [u8], &'s [u8]),
        rest: &'s [u8],
        guard: Option<Guard>,
    ) -> Option<&'s [u8]> {
        let name = self.span(opcode, behind);
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
        let end = if begins_name(name) {
            behind_name(name)
        } else {
            name
        };
        let opcode = behind_blanks(end);
        let known = self.lowering.known_predicate(self.span(name, end));
        match known {
            Some(register) if opcode.len() < end.len() && opcode.first()?.is_ascii_alphabetic() => {
                let guard = Some(Guard { register, negated });
                if let Some((id, length)) = self.lowering.known_opcode(opcode) {
                    return self.instruction(start, id, behind_blanks(&opcode[length..]), guard);
                }
                let behind = behind_opcode(opcode);
                self.other_instruction(start, (opcode, behind), behind_blanks(behind), guard)
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
        if let Some(behind) = self.simple_instruction(start, id, rest, guard) {
            return Some(behind);
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
        if let [b';', behind @ ..] = rest {
            (rest, is_at_end) = (behind, true);
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
        let end = behind_name(rest);
        let [b';', behind @ ..] = behind_blanks(end) else {
            return None;
        };
        let (label, span) = (self.span(rest, end), self.span(start, behind));
        let op = self.lowering.opcode(id).decoded.op;
        self.lowering.branch_ahead(op, guard, span, label);
        Some(behind)
    }

    /// Reads an operand and what ends it, a comma with the blank after it or the semicolon. Returns the text behind, and whether that was
    /// the semicolon.
    #[inline(always)]
    fn operand(&mut self, rest: &'s [u8], role: Role) -> Option<(&'s [u8], bool)> {
        if role != Role::Address
            && let Some((register, length)) = self.lowering.leading_register(rest, self.offset(rest))
        {
            match rest[length..] {
                [b',', b' ', ref behind @ ..] | [b',', ref behind @ ..] => {
                    self.lowering.body.values.push(Value::Register(register));
                    return Some((behind, false));
                }
                [b';', ref behind @ ..] => {
                    self.lowering.body.values.push(Value::Register(register));
                    return Some((behind, true));
                }
                _ => {}
            }
        }
        self.other_operand(rest, role)
    }

    #[inline(never)]
    fn other_operand(&mut self, rest: &'s [u8], role: Role) -> Option<(&'s [u8], bool)> {
        let rest = behind_blanks(rest);
        let rest = match (role, rest.first()?) {
            (Role::Address, b'[') => self.address(&rest[1..])?,
            (Role::Address, _) => return None,
            (_, b'{') => self.vector(&rest[1..], role)?,
            _ => self.scalar(rest, role)?,
        };
        match rest {
            [b',', b' ', behind @ ..] | [b',', behind @ ..] => Some((behind, false)),
            [b';', behind @ ..] => Some((behind, true)),
            _ => match behind_blanks(rest).split_first()? {
                (b',', behind) => Some((behind, false)),
                (b';', behind) => Some((behind, true)),
                _ => None,
            },
        }
    }

    /// An operand that is one value. As a result, one that is no register is unknown.
    #[inline]
    fn scalar(&mut self, rest: &'s [u8], role: Role) -> Option<&'s [u8]> {
        if let Some((register, length)) = self.lowering.leading_register(rest, self.offset(rest))
            && ends_operand(&rest[length..])
        {
            self.lowering.body.values.push(Value::Register(register));
            return Some(&rest[length..]);
        }
        let (value, rest) = match short::leading_number(rest) {
            Some((number, length)) if ends_operand(&rest[length..]) => {
                (Value::Integer(number.into()), &rest[length..])
            }
            _ => self.other_scalar(rest)?,
        };
        let is_unwritable = role == Role::Result && !matches!(value, Value::Register(_));
        let value = if is_unwritable { Value::Unknown } else { value };
        self.lowering.body.values.push(value);
        Some(rest)
    }

    #[inline(never)]
    fn other_scalar(&mut self, rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let (value, rest) = if begins_name(rest) {
            let end = behind_name(rest);
            let name = self.span(rest, end);
            (self.lowering.value_of_name(name), end)
        } else {
            self.number(rest)?
        };
        (ends_operand(rest) || ends_operand(behind_blanks(rest))).then_some((value, rest))
    }

    /// The elements of a vector, behind its brace.
    fn vector(&mut self, rest: &'s [u8], role: Role) -> Option<&'s [u8]> {
        let mut rest = behind_blanks(rest);
        for _ in 0..MAX_SIMPLE_ELEMENTS {
            rest = behind_blanks(self.scalar(rest, role)?);
            match rest.split_first()? {
                (b',', after) => rest = behind_blanks(after),
                (b'}', after) => return Some(after),
                _ => return None,
            }
        }
        None
    }

    /// A name, and an offset that is a decimal number, behind the bracket.
    #[inline]
    fn address(&mut self, rest: &'s [u8]) -> Option<&'s [u8]> {
        let (base, end) = match self.lowering.leading_register(rest, self.offset(rest)) {
            Some((register, length)) if matches!(rest.get(length), Some(b']' | b'+' | b'-')) => {
                (Value::Register(register), &rest[length..])
            }
            _ => self.base_of_address(rest)?,
        };
        let (offset, behind) = match end {
            [b']', behind @ ..] => (0, behind),
            [b'+', b'-', digits @ ..] | [b'-', digits @ ..] => offset(digits, -1)?,
            [b'+', digits @ ..] => offset(digits, 1)?,
            _ => return None,
        };
        self.lowering.push_base_and_offset(base, Value::Integer(offset));
        Some(behind)
    }

    #[inline(never)]
    fn base_of_address(&mut self, rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let end = if begins_name(rest) {
            behind_name(rest)
        } else {
            rest
        };
        let name = &rest[..rest.len() - end.len()];
        if matches!(name, [] | [b'_']) {
            return None;
        }
        match self.lowering.base_of_name(self.span(rest, end)) {
            Named::Value(base) => Some((base, end)),
            Named::Slot(_) => None,
        }
    }

    /// A decimal or hexadecimal number, or one in floating point, which is no value.
    fn number(&self, rest: &'s [u8]) -> Option<(Value, &'s [u8])> {
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        if !unsigned.first()?.is_ascii_digit() {
            return None;
        }
        let behind = behind_name(unsigned);
        let text = &rest[..rest.len() - behind.len()];
        if let Some(value) = short::literal(self.text, self.span(rest, behind)) {
            return Some((Value::Integer(value), behind));
        }
        let value = match &unsigned[..unsigned.len() - behind.len()] {
            [b'0', b'f' | b'F', bits @ ..] => {
                (bits.len() == 8 && bits.iter().all(u8::is_ascii_hexdigit)).then_some(Value::Unknown)
            }
            [b'0', b'd' | b'D', bits @ ..] => {
                (bits.len() == 16 && bits.iter().all(u8::is_ascii_hexdigit)).then_some(Value::Unknown)
            }
            [b'0', b'x' | b'X', digits @ ..] => {
                let is_right = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
                is_right.then(|| integer_value(text))
            }
            [b'1'..=b'9', digits @ ..] => digits.iter().all(u8::is_ascii_digit).then(|| integer_value(text)),
            _ => None,
        };
        Some((value?, behind))
    }

    /// Reads the statement by the grammar, and lowers it as one of a tree.
    #[cold]
    fn hand_over(&mut self, start: &'s [u8]) -> Option<&'s [u8]> {
        let (statement, behind) = self.reader.read(self.offset(start))?;
        let tree = self.reader.tree();
        if !is_lowered_alone(tree, &statement) {
            return None;
        }
        self.lowering.statement(tree, &statement);
        self.text.get(behind as usize..)
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

/// The value of the literal.
fn integer_value(text: &[u8]) -> Value {
    integer(text).map_or(Value::Unknown, |value| Value::Integer(value as i64))
}

/// The offset with a sign whose digits are at the beginning, and the text behind the bracket after them.
#[inline]
fn offset(text: &[u8], sign: i64) -> Option<(i64, &[u8])> {
    if let Some((number, length)) = short::leading_number(text)
        && let [b']', behind @ ..] = &text[length..]
    {
        return Some((sign * i64::from(number), behind));
    }
    let count = text.iter().take(MAX_OFFSET_DIGITS + 1);
    let count = count.take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    let is_decimal = match digits {
        [] => false,
        [b'0', rest @ ..] => rest.is_empty(),
        _ => count <= MAX_OFFSET_DIGITS,
    };
    let [b']', behind @ ..] = rest else { return None };
    let add = |sum, digit: &u8| sum * 10 + i64::from(digit - b'0');
    is_decimal.then(|| (sign * digits.iter().fold(0, add), behind))
}
