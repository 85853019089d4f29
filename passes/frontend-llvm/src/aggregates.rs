//! Structures, arrays and vectors whose elements are followed one by one: each is a register or constant of its own.
//!
//! The aggregate as a whole has a register, too, which is written with an unknown value: it is read by uses that are not followed.

use super::body::Lowering;
use super::instructions::{binary, condition, converted};
use super::raw::{Opcode, Type, User, Value as LlvmValue};
use crate::limits::{MAX_AGGREGATE_PARTS, MAX_TYPE_DEPTH};
use ptxcheck_ir::{Access, AccessKind, Argument, InstructionId, Logic, Op, Space, Value};

impl<'m> Lowering<'_, '_, 'm> {
    /// The elements of an aggregate, those of aggregates in it among them: the type of each and its offset in bytes.
    /// `None` for a type that is not an aggregate, is empty, or has too many elements.
    pub(super) fn elements(&self, ty: Type<'m>) -> Option<Vec<(Type<'m>, u64)>> {
        if !self.shape(ty).is_aggregate {
            return None;
        }
        let mut found = Vec::new();
        self.collect(ty, 0, MAX_TYPE_DEPTH, &mut found)?;
        (!found.is_empty()).then_some(found)
    }

    fn collect(&self, ty: Type<'m>, at: u64, depth: usize, found: &mut Vec<(Type<'m>, u64)>) -> Option<()> {
        if !self.shape(ty).is_aggregate {
            found.push((ty, at));
            return (found.len() <= MAX_AGGREGATE_PARTS).then_some(());
        }
        let depth = depth.checked_sub(1)?;
        if let Some((element, count)) = ty.sequence() {
            let stride = self.size(element);
            let count = Some(count).filter(|count| *count <= MAX_AGGREGATE_PARTS as u64)?;
            return (0..count)
                .try_for_each(|number| self.collect(element, at + number * stride, depth, found));
        }
        let count = Some(ty.fields()).filter(|count| *count <= MAX_AGGREGATE_PARTS as u32)?;
        (0..count).try_for_each(|number| {
            let offset = self.symbols.module.element_offset(ty, number)?;
            self.collect(ty.field(number)?, at + offset, depth, found)
        })
    }

    /// The range of the elements of an aggregate under these indices.
    fn under(&self, mut ty: Type<'m>, indices: &[u32]) -> Option<std::ops::Range<usize>> {
        let count = |ty| match self.shape(ty).is_aggregate {
            true => self.elements(ty).map(|elements| elements.len()),
            false => Some(1),
        };
        let mut first = 0;
        for &index in indices {
            if let Some((element, length)) = ty.sequence() {
                if u64::from(index) >= length {
                    return None;
                }
                first += index as usize * count(element)?;
                ty = element;
            } else {
                for number in 0..index {
                    first += count(ty.field(number)?)?;
                }
                ty = ty.field(index)?;
            }
        }
        Some(first..first + count(ty)?)
    }

    /// The values of the elements of an aggregate, if they are known.
    pub(super) fn parts(&mut self, value: LlvmValue<'m>) -> Option<Vec<Value>> {
        if let Some(known) = self.scratch.parts.get(&value) {
            return Some(known.clone());
        }
        if !value.is_constant_aggregate() {
            return None;
        }
        let count = self.elements(value.ty())?.len();
        let mut parts = Vec::with_capacity(count);
        self.constants(value, &mut parts);
        // Each element of a constant has a value of its own; if not, nothing is known.
        (parts.len() == count).then_some(parts)
    }

    /// The elements of a constant aggregate, whose type has few.
    fn constants(&mut self, value: LlvmValue<'m>, parts: &mut Vec<Value>) {
        let ty = value.ty();
        if !self.shape(ty).is_aggregate {
            parts.push(self.value(value));
            return;
        }
        let count = match ty.sequence() {
            Some((_, count)) => u32::try_from(count).unwrap_or(0),
            None => ty.fields(),
        };
        for number in 0..count {
            if let Some(element) = value.element(number) {
                self.constants(element, parts);
            }
        }
    }

    /// The elements of a value, which has `count` of them: unknown where they are not followed.
    fn all_parts(&mut self, value: LlvmValue<'m>, count: usize) -> Vec<Value> {
        self.parts(value)
            .filter(|parts| parts.len() == count)
            .unwrap_or_else(|| vec![Value::Unknown; count])
    }

    /// New registers for the elements of an instruction that is an aggregate.
    fn part_registers(&mut self, elements: &[(Type<'m>, u64)]) -> Vec<Value> {
        elements
            .iter()
            .map(|(ty, _)| {
                let bits = self.bits(*ty);
                Value::Register(self.fresh(bits))
            })
            .collect()
    }

    /// Notes what the elements of an instruction are. `written` are those that have not been used before.
    fn aggregate(&mut self, instruction: User<'m>, parts: Vec<Value>, written: &[Value]) {
        self.scratch.parts.insert(instruction.value(), parts);
        let result = self.register(instruction.value());
        self.emit_lists(Op::Opaque, &[Value::Register(result)], written);
    }

    /// The elements of its first operand that `extractvalue`, `insertvalue`, `extractelement` and `insertelement` are
    /// about. `number` is the operand in which the latter two have their index.
    fn taken(&self, instruction: User<'m>, number: u32) -> Option<std::ops::Range<usize>> {
        let ty = instruction.operand(0)?.ty();
        if matches!(
            instruction.opcode(),
            Opcode::LLVMExtractElement | Opcode::LLVMInsertElement
        ) {
            let index = u32::try_from(instruction.operand(number)?.int()?).ok()?;
            return self.under(ty, &[index]);
        }
        self.under(ty, instruction.indices())
    }

    /// `extractvalue` and `extractelement`.
    pub(super) fn extract(&mut self, instruction: User<'m>) {
        let taken = self.taken(instruction, 1);
        let parts = instruction.operand(0).and_then(|from| self.parts(from));
        let parts = match (&parts, taken) {
            (Some(parts), Some(taken)) => parts.get(taken),
            _ => None,
        };
        let shape = self.shape(instruction.ty());
        match parts {
            Some(parts) if shape.is_aggregate => self.aggregate(instruction, parts.to_vec(), &[]),
            Some(&[part]) => {
                let result = self.defined(instruction, shape.bits);
                self.emit(Op::Copy, &[Value::Register(result)], &[part]);
            }
            _ => {
                let result = self.defined(instruction, shape.bits);
                self.opaque(instruction, result);
            }
        }
    }

    /// `insertvalue` and `insertelement`.
    pub(super) fn insert(&mut self, instruction: User<'m>) {
        let (Some(into), Some(value)) = (instruction.operand(0), instruction.operand(1)) else {
            return;
        };
        let taken = self.taken(instruction, 2);
        let given = if self.shape(value.ty()).is_aggregate {
            let count = taken.as_ref().map_or(0, ExactSizeIterator::len);
            self.all_parts(value, count)
        } else {
            vec![self.value(value)]
        };
        let parts = self.parts(into);
        if let (Some(mut parts), Some(taken)) = (parts, taken)
            && let Some(place) = parts.get_mut(taken)
            && place.len() == given.len()
        {
            // Registers are written once each: a part has the value that it had when it was inserted.
            place.copy_from_slice(&given);
            return self.aggregate(instruction, parts, &given);
        }
        let result = self.register(instruction.value());
        self.emit_lists(Op::Opaque, &[Value::Register(result)], &given);
    }

    /// `shufflevector`: which elements of two vectors a third has is a constant.
    pub(super) fn shuffle_vector(&mut self, instruction: User<'m>) {
        let picked = self.shuffled(instruction);
        match picked {
            Some(parts) => self.aggregate(instruction, parts, &[]),
            None => {
                let result = self.register(instruction.value());
                self.opaque(instruction, result);
            }
        }
    }

    fn shuffled(&mut self, instruction: User<'m>) -> Option<Vec<Value>> {
        let count = self.elements(instruction.ty())?.len() as u32;
        let (first, second) = (instruction.operand(0)?, instruction.operand(1)?);
        // Neither needs to be known where no element of it is taken.
        let width = self.elements(first.ty())?.len();
        let (first, second) = (self.parts(first), self.parts(second));
        let part = |number| {
            let from = usize::try_from(instruction.shuffle_element(number)?).ok()?;
            match from.checked_sub(width) {
                None => first.as_ref()?.get(from).copied(),
                Some(from) => second.as_ref()?.get(from).copied(),
            }
        };
        let parts: Vec<Value> = (0..count)
            .map(|number| part(number).unwrap_or(Value::Unknown))
            .collect();
        (first.is_some() || second.is_some()).then_some(parts)
    }

    /// An instruction on aggregates that does the same with each element: `freeze`, `select`, and arithmetic, comparisons
    /// and conversions of vectors. False for any other, or where no element is followed.
    pub(super) fn each_element(&mut self, instruction: User<'m>) -> bool {
        let Some(elements) = self.elements(instruction.ty()) else {
            return false;
        };
        let count = elements.len();
        if instruction.opcode() == Opcode::LLVMFreeze {
            let Some(parts) = instruction.operand(0).and_then(|from| self.parts(from)) else {
                return false;
            };
            self.aggregate(instruction, parts, &[]);
            return true;
        }
        let Some(op) = self.element_op(instruction, elements[0].0) else {
            return false;
        };
        let mut operands = Vec::new();
        let mut is_followed = false;
        for operand in instruction.all_operands() {
            let parts = if !self.shape(operand.ty()).is_aggregate {
                // The condition of a `select` of aggregates as a whole.
                Some(vec![self.value(operand); count])
            } else {
                let parts = self.parts(operand).filter(|parts| parts.len() == count);
                is_followed |= parts.is_some();
                parts
            };
            operands.push(parts.unwrap_or_else(|| vec![Value::Unknown; count]));
        }
        if !is_followed {
            return false;
        }
        if op == Op::Select {
            // In the device IR, the condition comes last.
            operands.rotate_left(1);
        }
        let parts = self.part_registers(&elements);
        for (number, part) in parts.iter().enumerate() {
            let uses: Vec<Value> = operands.iter().map(|parts| parts[number]).collect();
            self.emit_lists(op, &[*part], &uses);
        }
        self.aggregate(instruction, parts.clone(), &parts);
        true
    }

    /// The operation of an instruction on each element; `to` is the type of its results.
    fn element_op(&self, instruction: User<'m>, to: Type<'m>) -> Option<Op> {
        let opcode = instruction.opcode();
        let to = self.shape(to);
        if opcode == Opcode::LLVMSelect {
            return Some(Op::Select);
        }
        if let Some(op) = binary(opcode) {
            return (to.is_int && to.bits > 0).then_some(Op::Binary(op, to.bits));
        }
        let (from, _) = instruction.operand(0)?.ty().sequence()?;
        let from = self.shape(from);
        match opcode {
            Opcode::LLVMICmp if from.bits > 0 => {
                let predicate = condition(instruction.predicate()?);
                Some(Op::Compare(predicate, from.bits, Logic::None))
            }
            Opcode::LLVMZExt | Opcode::LLVMSExt | Opcode::LLVMTrunc => {
                Some(converted(opcode, from.bits, to.bits)).filter(|op| *op != Op::Opaque)
            }
            _ => None,
        }
    }

    /// A load of a vector writes a register for each element. False for a type other than a vector whose elements are whole bytes.
    pub(super) fn load_vector(&mut self, instruction: User<'m>, op: Op, address: Value) -> bool {
        let Op::Access(access) = op else { return false };
        let Some(elements) = self.vector(instruction.value(), access) else {
            return false;
        };
        let parts = self.part_registers(&elements);
        self.emit_lists(op, &parts, &[address, Value::Integer(0)]);
        self.aggregate(instruction, parts.clone(), &parts);
        true
    }

    /// The elements that a store of a vector writes.
    pub(super) fn stored_parts(&mut self, stored: LlvmValue<'m>, op: Op) -> Option<Vec<Value>> {
        let Op::Access(access) = op else { return None };
        self.vector(stored, access)?;
        self.parts(stored)
    }

    /// The elements of a vector that an access reads or writes as they lie in memory.
    fn vector(&self, data: LlvmValue<'m>, access: Access) -> Option<Vec<(Type<'m>, u64)>> {
        let elements = self.elements(data.ty())?;
        let is_whole = access.bits > 0 && elements.iter().all(|(ty, _)| self.bits(*ty) == access.bits);
        let is_vector = data.ty().sequence().is_some() && elements.len() == usize::from(access.count);
        (is_whole && is_vector).then_some(elements)
    }

    /// Lowers the return of an aggregate, an element at a time: all of them, so that every return has a value for each.
    pub(super) fn return_parts(&mut self, returned: LlvmValue<'m>) -> bool {
        let Some(elements) = self.numbers(returned.ty()) else {
            return false;
        };
        let parts = self.parts(returned).unwrap_or_default();
        for (number, (bits, offset)) in elements.into_iter().enumerate() {
            let value = parts.get(number).copied().unwrap_or(Value::Unknown);
            let store = Op::Access(Access::one(AccessKind::Store, Space::Param, bits));
            self.emit(
                store,
                &[],
                &[Value::ReturnSlot(0, offset), Value::Integer(0), value],
            );
        }
        true
    }

    /// Lowers the results of a call, an element at a time.
    pub(super) fn call_results(&mut self, instruction: User<'m>, call: InstructionId) -> bool {
        let Some(elements) = self.numbers(instruction.ty()) else {
            return false;
        };
        let mut parts = Vec::with_capacity(elements.len());
        for (bits, offset) in elements {
            let part = Value::Register(self.fresh(bits));
            self.emit(
                Op::CallResult(call),
                &[part],
                &[Value::Integer(i64::from(offset))],
            );
            parts.push(part);
        }
        self.aggregate(instruction, parts.clone(), &parts);
        true
    }

    /// The elements of an aggregate that are numbers all: bits and offset of each.
    fn numbers(&self, ty: Type<'m>) -> Option<Vec<(u8, i32)>> {
        self.elements(ty)?
            .into_iter()
            .map(|(ty, offset)| {
                let bits = Some(self.bits(ty)).filter(|bits| *bits > 0)?;
                Some((bits, i32::try_from(offset).ok()?))
            })
            .collect()
    }

    /// Lowers an argument that a call passes in memory of the caller's own: the numbers that lie there.
    pub(super) fn passed_in_memory(&mut self, number: u32, pointer: LlvmValue<'m>, ty: Type<'m>) {
        if pointer.user().and_then(User::allocated).is_none() {
            return;
        }
        let Some(elements) = self.numbers(ty) else { return };
        let address = self.value(pointer);
        let space = self.shape(pointer.ty()).space;
        for (bits, offset) in elements {
            let value = Value::Register(self.fresh(bits));
            let bits = bits.div_ceil(8).saturating_mul(8);
            // Fields may be packed.
            let load = Access {
                align: 1,
                ..Access::one(AccessKind::Load, space, bits)
            };
            self.emit(
                Op::Access(load),
                &[value],
                &[address, Value::Integer(i64::from(offset))],
            );
            self.scratch.arguments.push(Argument {
                param: number,
                offset: offset.unsigned_abs(),
                value,
            });
        }
    }
}

#[cfg(test)]
mod tests;
