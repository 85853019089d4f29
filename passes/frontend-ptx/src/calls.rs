//! Calls, and the `.param` variables that carry their arguments and results.
//!
//! Such a variable is a set of pseudo registers, one per byte offset at which something is stored. A call takes
//! what its argument variables hold; a load from a variable that a call has filled is [`Op::CallResult`].

use ptxcheck_ptx_parser::Span;
use ptxcheck_ptx_parser::ast::OperandKind;
use ptxcheck_ptx_parser::operand::{OperandRef, Operands};

use super::body::Lowering;
use super::operands::begins_with_result;
use super::scope::Binding;
use ptxcheck_ir::{
    AccessKind, Argument, Call, CallId, Callee, Guard, InstructionId, Op, Register, Slots, Value,
};

/// A `.param` variable declared in a body.
#[derive(Default)]
pub(super) struct Slot {
    /// The values stored: byte offset and pseudo register, by offset.
    pieces: Vec<(u32, Register)>,
    /// The call that filled it last.
    filled_by: Option<InstructionId>,
}

impl<'s> Lowering<'_, 's> {
    pub(super) fn declare_slot(&mut self) -> Binding {
        self.slots.push(Slot::default());
        Binding::Slot(self.slots.len() as u32 - 1)
    }

    fn piece(&mut self, slot: u32, offset: u32, bits: u8) -> Register {
        if let Some(known) = self.slot_registers.get(&(slot, offset)) {
            return *known;
        }
        let register = self.registers.make(bits, Span::default());
        self.slot_registers.insert((slot, offset), register);
        self.slots[slot as usize].pieces.push((offset, register));
        register
    }

    /// `st.param [slot+n], v` and `ld.param r, [slot+n]`, vectors included.
    pub(super) fn slot_access(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        slot: u32,
        address: &OperandRef<'_>,
        operands: Operands<'_>,
    ) {
        let Op::Access(access) = op else { return };
        if !matches!(access.kind, AccessKind::Load | AccessKind::Store) {
            let results = usize::from(begins_with_result(&operands));
            return self.plain(Op::Opaque, guard, span, operands, results);
        }
        let offset = address
            .children()
            .find(|child| child.kind() == OperandKind::Offset)
            .map_or(Some(0), super::operands::offset)
            .and_then(|offset| u32::try_from(offset).ok());
        let is_load = access.kind == AccessKind::Load;
        let data = operands.filter(|operand| operand.kind() != OperandKind::Address);
        let start = self.body.values.len();
        for operand in data {
            if is_load {
                self.push_results(&operand);
            } else {
                self.push_values(&operand);
            }
        }
        let values = self.body.values.split_off(start);
        let Some(offset) = offset else {
            let (results, uses): (&[Value], &[Value]) = if is_load { (&values, &[]) } else { (&[], &values) };
            self.emit(Op::Opaque, guard, span, results, uses);
            return;
        };
        let stride = u32::from(access.bits / 8).max(1);
        for (number, value) in values.into_iter().enumerate() {
            let at = offset.saturating_add(stride.saturating_mul(number as u32));
            if !is_load {
                let piece = self.piece(slot, at, access.bits);
                self.emit(Op::Copy, guard, span, &[Value::Register(piece)], &[value]);
            } else if let Some(call) = self.slots[slot as usize].filled_by {
                self.emit(
                    Op::CallResult(call),
                    guard,
                    span,
                    &[value],
                    &[Value::Integer(i64::from(at))],
                );
            } else {
                let piece = self.piece(slot, at, access.bits);
                self.emit(Op::Copy, guard, span, &[value], &[Value::Register(piece)]);
            }
        }
    }

    /// `call (results), callee, (arguments), prototype;` in all its abridged forms.
    pub(super) fn call(&mut self, guard: Option<Guard>, span: Span, operands: Operands<'_>) {
        let is_list = |operand: &OperandRef<'_>| operand.kind() == OperandKind::List;
        let mut operands = operands.peekable();
        let results = operands.next_if(is_list);
        let callee = operands.next();
        let arguments = operands.next_if(is_list);

        let first_argument = self.body.arguments.len();
        for (number, argument) in arguments.into_iter().flat_map(OperandRef::children).enumerate() {
            self.argument(number as u32, &argument);
        }
        let callee = callee.map_or(Callee::Indirect(Value::Unknown), |callee| self.callee(&callee));
        let id = InstructionId::new(self.body.instructions.len());
        let start = self.body.values.len();
        for result in results.into_iter().flat_map(OperandRef::children) {
            match self.scopes.get(result.text()) {
                Some(Binding::Slot(slot)) => self.slots[slot as usize].filled_by = Some(id),
                _ => self.push_results(&result),
            }
        }
        let results = self.body.values.len() - start;
        self.body.calls.push(Call {
            instruction: id,
            callee,
            arguments: Slots::new(first_argument, self.body.arguments.len()),
        });
        self.push(
            Op::Call(CallId::new(self.body.calls.len() - 1)),
            guard,
            span,
            start,
            results,
        );
    }

    fn argument(&mut self, param: u32, operand: &OperandRef<'_>) {
        if let Some(Binding::Slot(slot)) = self.scopes.get(operand.text()) {
            let pieces = &self.slots[slot as usize].pieces;
            let room = pieces.len().min(self.argument_pieces);
            self.argument_pieces -= room;
            self.body
                .arguments
                .extend(pieces[..room].iter().map(|&(offset, register)| Argument {
                    param,
                    offset,
                    value: Value::Register(register),
                }));
        } else {
            let value = self.value(operand);
            self.body.arguments.push(Argument {
                param,
                offset: 0,
                value,
            });
        }
    }

    fn callee(&mut self, operand: &OperandRef<'_>) -> Callee {
        let name = operand.text();
        if let Some(symbol) = self.symbols.find(name) {
            self.body.refer(symbol, &self.symbols.all[symbol.index()], true);
            return Callee::Direct(symbol);
        }
        Callee::Indirect(self.value(operand))
    }
}
