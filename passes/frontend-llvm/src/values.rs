//! Operands: registers, constants, symbols, and constant expressions, which become instructions in front of their use.

use super::body::Lowering;
use super::raw::{Opcode, Type, User, Value as LlvmValue, ValueKind};
use crate::limits::MAX_CONSTANT_DEPTH;
use ptxcheck_ir::{BinaryOp, Op, Register, Space, Value};

impl<'m> Lowering<'_, '_, 'm> {
    /// The operand that a value is.
    pub(super) fn value(&mut self, value: LlvmValue<'m>) -> Value {
        if let Some(register) = self.known_register(value) {
            return Value::Register(register);
        }
        if let Some(constant) = self.known_constant(value) {
            return constant;
        }
        match value.kind() {
            ValueKind::LLVMArgumentValueKind | ValueKind::LLVMInstructionValueKind => {
                Value::Register(self.register(value))
            }
            ValueKind::LLVMConstantIntValueKind => {
                self.keep(value, value.int().map_or(Value::Unknown, Value::Integer))
            }
            ValueKind::LLVMConstantPointerNullValueKind => self.keep(value, Value::Integer(0)),
            ValueKind::LLVMConstantFPValueKind => self.keep(value, Value::Unknown),
            ValueKind::LLVMFunctionValueKind
            | ValueKind::LLVMGlobalVariableValueKind
            | ValueKind::LLVMGlobalAliasValueKind => self.global(value),
            ValueKind::LLVMConstantExprValueKind => match value.user() {
                Some(expression) => self.constant_expression(expression),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// A global's address, generic where its pointer is.
    fn global(&mut self, value: LlvmValue<'m>) -> Value {
        let Some(symbol) = self.symbols.find(value) else {
            return Value::Unknown;
        };
        let address = Value::Symbol(symbol, 0);
        let own = self.symbols.all[symbol.index()].space;
        self.body.refer(symbol, &self.symbols.all[symbol.index()], false);
        let is_function = matches!(
            self.symbols.all[symbol.index()].kind,
            ptxcheck_ir::SymbolKind::Function(_)
        );
        let shape = self.shape(value.ty());
        if is_function || shape.space != Space::Generic {
            return address;
        }
        let generic = Value::Register(self.fresh(shape.bits));
        self.emit(Op::ToGeneric(own, shape.bits), &[generic], &[address]);
        generic
    }

    fn constant_expression(&mut self, value: User<'m>) -> Value {
        if self.constants_left == 0 || self.depth >= MAX_CONSTANT_DEPTH {
            return Value::Unknown;
        }
        self.constants_left -= 1;
        self.depth += 1;
        let bits = self.bits(value.ty());
        let found = match value.opcode() {
            Opcode::LLVMGetElementPtr => self.constant_address(value),
            _ => None,
        };
        let found = found.unwrap_or_else(|| {
            let result = self.fresh(bits);
            self.pure(value, result);
            Value::Register(result)
        });
        self.depth -= 1;
        found
    }

    /// A symbol with a constant offset needs no instruction.
    fn constant_address(&mut self, value: User<'m>) -> Option<Value> {
        let offset = self.constant_offset(value)?;
        let base = value.operand(0)?;
        if !base.is_global() || self.shape(base.ty()).space == Space::Generic {
            return None;
        }
        match self.value(base) {
            Value::Symbol(symbol, at) => {
                let at = i64::from(at).checked_add(offset)?;
                Some(Value::Symbol(symbol, i32::try_from(at).ok()?))
            }
            _ => None,
        }
    }

    /// The offset that a GEP adds to its base, if it is a constant.
    pub(super) fn constant_offset(&mut self, pointer: User<'m>) -> Option<i64> {
        let mut dynamic = Vec::new();
        let offset = self.offsets(pointer, &mut dynamic)?;
        dynamic.is_empty().then_some(offset)
    }

    /// The constant offset that a GEP adds to its base; the other indices go to `dynamic`, each with the bytes that it is
    /// multiplied by. `None` if the offset is not a number.
    pub(super) fn offsets(
        &mut self,
        value: User<'m>,
        dynamic: &mut Vec<(LlvmValue<'m>, i64)>,
    ) -> Option<i64> {
        let mut ty = value.gep_source()?;
        let mut constant = 0_i64;
        for number in 1..value.operands() {
            let index = value.operand(number)?;
            if number > 1 {
                if ty.fields() > 0 {
                    let field = u32::try_from(self.integer(index)?).ok()?;
                    let offset = self.symbols.module.element_offset(ty, field)?;
                    constant = constant.checked_add(i64::try_from(offset).ok()?)?;
                    ty = ty.field(field)?;
                    continue;
                }
                ty = ty.sequence()?.0;
            }
            match self.integer(index) {
                Some(0) => {}
                Some(index) => constant = constant.checked_add(index.checked_mul(self.stride(ty)?)?)?,
                None if self.shape(index.ty()).is_int => dynamic.push((index, self.stride(ty)?)),
                None => return None,
            }
        }
        Some(constant)
    }

    fn stride(&self, ty: Type<'m>) -> Option<i64> {
        i64::try_from(self.size(ty)).ok()
    }

    /// The number that a constant is.
    pub(super) fn integer(&mut self, value: LlvmValue<'m>) -> Option<i64> {
        match self.known_constant(value) {
            Some(Value::Integer(number)) => Some(number),
            Some(_) => None,
            None => {
                let number = value.int()?;
                self.keep(value, Value::Integer(number));
                Some(number)
            }
        }
    }

    /// A GEP: the base, the constant part, then each index times its stride.
    pub(super) fn element_pointer(&mut self, value: User<'m>, result: Register) {
        let bits = self.body.registers.bits(result);
        let mut dynamic = std::mem::take(&mut self.scratch.indices);
        dynamic.clear();
        match (self.offsets(value, &mut dynamic), value.operand(0), bits) {
            (Some(constant), Some(base), 1..) => {
                let base = self.value(base);
                self.indexed(base, constant, &dynamic, bits, result);
            }
            _ => self.opaque(value, result),
        }
        self.scratch.indices = dynamic;
    }

    fn indexed(
        &mut self,
        base: Value,
        constant: i64,
        dynamic: &[(LlvmValue<'m>, i64)],
        bits: u8,
        result: Register,
    ) {
        let mut address = base;
        if constant != 0 || dynamic.is_empty() {
            let to = if dynamic.is_empty() {
                result
            } else {
                self.fresh(bits)
            };
            address = self.displaced(address, constant, bits, to);
        }
        let last = dynamic.len().saturating_sub(1);
        for (number, &(index, stride)) in dynamic.iter().enumerate() {
            let mut offset = self.extended(index, bits);
            if stride != 1 {
                let scaled = Value::Register(self.fresh(bits));
                self.emit(
                    Op::Binary(BinaryOp::MulLow, bits),
                    &[scaled],
                    &[offset, Value::Integer(stride)],
                );
                offset = scaled;
            }
            let to = Value::Register(if number == last { result } else { self.fresh(bits) });
            self.emit(Op::Binary(BinaryOp::Add, bits), &[to], &[address, offset]);
            address = to;
        }
    }

    /// `base + by`, in the register `to`.
    fn displaced(&mut self, base: Value, by: i64, bits: u8, to: Register) -> Value {
        let to = Value::Register(to);
        let symbol = match base {
            Value::Symbol(symbol, at) => i64::from(at)
                .checked_add(by)
                .and_then(|at| i32::try_from(at).ok())
                .map(|at| Value::Symbol(symbol, at)),
            other => Some(other).filter(|_| by == 0),
        };
        match symbol {
            Some(address) => self.emit(Op::Copy, &[to], &[address]),
            None => self.emit(
                Op::Binary(BinaryOp::Add, bits),
                &[to],
                &[base, Value::Integer(by)],
            ),
        };
        to
    }

    /// An index at the width of the pointer: indices are signed (LLVM, getelementptr).
    fn extended(&mut self, index: LlvmValue<'m>, bits: u8) -> Value {
        let value = self.value(index);
        let from = self.width(index, value);
        if from == bits || matches!(value, Value::Integer(_)) {
            return value;
        }
        let wide = Value::Register(self.fresh(bits));
        let op = Op::Convert {
            from,
            signed: true,
            to: bits,
        };
        self.emit(if from == 0 { Op::Opaque } else { op }, &[wide], &[value]);
        wide
    }
}
