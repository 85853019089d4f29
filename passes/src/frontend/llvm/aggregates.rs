//! Structures, arrays and vectors whose elements are followed one by one: each is a register or constant of its own.
//!
//! The aggregate as a whole has a register, too, which is written with something unknown: what is not followed reads it.

use super::body::Lowering;
use super::instructions::access;
use super::raw::{Opcode, Type, Value as LlvmValue};
use super::symbols::space_of;
use crate::ir::{Access, AccessKind, Argument, InstructionId, Op, Register, Space, Value};
use crate::limits::MAX_AGGREGATE_PARTS;

impl<'m> Lowering<'_, '_, 'm> {
    /// The elements of an aggregate: the type of each and its offset in bytes. `None` for what is none, is empty, or has
    /// too many.
    pub(super) fn elements(&self, ty: Type<'m>) -> Option<Vec<(Type<'m>, u64)>> {
        let module = self.symbols.module;
        if let Some((element, count)) = ty.sequence() {
            let stride = module.size(element);
            return (1..=MAX_AGGREGATE_PARTS as u64)
                .contains(&count)
                .then(|| (0..count).map(|number| (element, number * stride)).collect());
        }
        let count = ty.fields();
        if !(1..=MAX_AGGREGATE_PARTS as u32).contains(&count) {
            return None;
        }
        (0..count)
            .map(|number| Some((ty.field(number)?, module.element_offset(ty, number)?)))
            .collect()
    }

    /// What the elements of an aggregate hold, where that is known.
    pub(super) fn parts(&mut self, value: LlvmValue<'m>) -> Option<Vec<Value>> {
        if let Some(known) = self.scratch.parts.get(&value) {
            return Some(known.clone());
        }
        if !value.is_constant_aggregate() {
            return None;
        }
        let count = self.elements(value.ty())?.len() as u32;
        Some(
            (0..count)
                .map(|number| {
                    value
                        .element(number)
                        .map_or(Value::Unknown, |one| self.value(one))
                })
                .collect(),
        )
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
    fn aggregate(&mut self, instruction: LlvmValue<'m>, parts: Vec<Value>, written: &[Value]) {
        self.scratch.parts.insert(instruction, parts);
        let result = self.register(instruction);
        self.emit(Op::Opaque, &[Value::Register(result)], written);
    }

    /// `extractvalue` and `extractelement`.
    pub(super) fn extract(&mut self, instruction: LlvmValue<'m>) {
        let result = self.register(instruction);
        let place = match instruction.opcode() {
            Some(Opcode::LLVMExtractElement) => instruction.operand(1).and_then(LlvmValue::int),
            _ => match instruction.indices() {
                &[index] => Some(i64::from(index)),
                _ => None,
            },
        };
        let part = match (instruction.operand(0), place.map(usize::try_from)) {
            (Some(from), Some(Ok(place))) => self.parts(from).and_then(|parts| parts.get(place).copied()),
            _ => None,
        };
        match part {
            Some(part) => {
                self.emit(Op::Copy, &[Value::Register(result)], &[part]);
            }
            None => self.opaque(instruction, result),
        }
    }

    /// `insertvalue` and `insertelement`.
    pub(super) fn insert(&mut self, instruction: LlvmValue<'m>) {
        let (Some(into), Some(value)) = (instruction.operand(0), instruction.operand(1)) else {
            return;
        };
        let place = match instruction.opcode() {
            Some(Opcode::LLVMInsertElement) => instruction.operand(2).and_then(LlvmValue::int),
            _ => match instruction.indices() {
                &[index] => Some(i64::from(index)),
                _ => None,
            },
        };
        let given = self.value(value);
        let parts = self.parts(into);
        if let (Some(mut parts), Some(Ok(place))) = (parts, place.map(usize::try_from))
            && let Some(part) = parts.get_mut(place)
        {
            // Registers are written once each: what a part holds is what it held when it was put there.
            *part = given;
            return self.aggregate(instruction, parts, &[given]);
        }
        let result = self.register(instruction);
        self.emit(Op::Opaque, &[Value::Register(result)], &[given]);
    }

    /// `shufflevector`: which elements of two vectors a third has is a constant.
    pub(super) fn shuffle_vector(&mut self, instruction: LlvmValue<'m>) {
        let picked = self.shuffled(instruction);
        match picked {
            Some(parts) => self.aggregate(instruction, parts, &[]),
            None => {
                let result = self.register(instruction);
                self.opaque(instruction, result);
            }
        }
    }

    fn shuffled(&mut self, instruction: LlvmValue<'m>) -> Option<Vec<Value>> {
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

    /// `freeze` and `select` of aggregates. False for what is none, or whose elements are not known.
    pub(super) fn choice(&mut self, instruction: LlvmValue<'m>, opcode: Opcode) -> bool {
        let Some(elements) = self.elements(instruction.ty()) else {
            return false;
        };
        if opcode == Opcode::LLVMFreeze {
            let Some(parts) = instruction.operand(0).and_then(|from| self.parts(from)) else {
                return false;
            };
            self.aggregate(instruction, parts, &[]);
            return true;
        }
        let (Some(condition), Some(yes), Some(no)) = (
            instruction.operand(0),
            instruction.operand(1),
            instruction.operand(2),
        ) else {
            return false;
        };
        if self.bits(condition.ty()) != 1 {
            return false;
        }
        let (Some(yes), Some(no)) = (self.parts(yes), self.parts(no)) else {
            return false;
        };
        let condition = self.value(condition);
        let parts = self.part_registers(&elements);
        for ((part, yes), no) in parts.iter().zip(yes).zip(no) {
            self.emit(Op::Select, &[*part], &[yes, no, condition]);
        }
        self.aggregate(instruction, parts.clone(), &parts);
        true
    }

    /// Registers where edges leave the elements that a phi takes; none for a phi that is no aggregate.
    pub(super) fn landing_parts(&mut self, phi: LlvmValue<'m>) -> Vec<Register> {
        if let Some(known) = self.scratch.landing_parts.get(&phi) {
            return known.clone();
        }
        let Some(elements) = self.elements(phi.ty()) else {
            return Vec::new();
        };
        let landing: Vec<Register> = elements
            .iter()
            .map(|(ty, _)| {
                let bits = self.bits(*ty);
                self.fresh(bits)
            })
            .collect();
        self.scratch.landing_parts.insert(phi, landing.clone());
        landing
    }

    /// The elements of a phi, from where the edges left them.
    pub(super) fn land_parts(&mut self, phi: LlvmValue<'m>) {
        let Some(elements) = self.elements(phi.ty()) else {
            return;
        };
        let landing = self.landing_parts(phi);
        let parts = self.part_registers(&elements);
        for (part, landing) in parts.iter().zip(landing) {
            self.emit(Op::Copy, &[*part], &[Value::Register(landing)]);
        }
        self.scratch.parts.insert(phi, parts);
    }

    /// Leaves the elements of what a phi takes on an edge.
    pub(super) fn leave_parts(&mut self, phi: LlvmValue<'m>, source: LlvmValue<'m>) {
        let landing = self.landing_parts(phi);
        if landing.is_empty() {
            return;
        }
        let parts = self.parts(source).unwrap_or_default();
        for (number, landing) in landing.into_iter().enumerate() {
            let part = parts.get(number).copied().unwrap_or(Value::Unknown);
            self.emit(Op::Copy, &[Value::Register(landing)], &[part]);
        }
    }

    /// A load of a vector writes a register for each element. False for what is no vector of whole bytes.
    pub(super) fn load_vector(&mut self, instruction: LlvmValue<'m>, op: Op, address: Value) -> bool {
        let Op::Access(access) = op else { return false };
        let Some(elements) = self.vector(instruction, access) else {
            return false;
        };
        let parts = self.part_registers(&elements);
        self.emit(op, &parts, &[address, Value::Integer(0)]);
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

    /// What a function returns, an element at a time: all of them, so that every return says something of each.
    pub(super) fn return_parts(&mut self, returned: LlvmValue<'m>) -> bool {
        let Some(elements) = self.numbers(returned.ty()) else {
            return false;
        };
        let parts = self.parts(returned).unwrap_or_default();
        for (number, (bits, offset)) in elements.into_iter().enumerate() {
            let value = parts.get(number).copied().unwrap_or(Value::Unknown);
            let store = access(AccessKind::Store, Space::Param, bits, false);
            self.emit(
                store,
                &[],
                &[Value::ReturnSlot(0, offset), Value::Integer(0), value],
            );
        }
        true
    }

    /// What a call returns, an element at a time.
    pub(super) fn call_results(&mut self, instruction: LlvmValue<'m>, call: InstructionId) -> bool {
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

    /// What a call passes in memory of the caller's own: the numbers that lie there.
    pub(super) fn passed_in_memory(&mut self, number: u32, pointer: LlvmValue<'m>, ty: Type<'m>) {
        if pointer.allocated().is_none() {
            return;
        }
        let Some(elements) = self.numbers(ty) else { return };
        let address = self.value(pointer);
        for (bits, offset) in elements {
            let value = Value::Register(self.fresh(bits));
            let load = access(
                AccessKind::Load,
                space_of(pointer.ty()),
                bits.div_ceil(8).saturating_mul(8),
                false,
            );
            self.emit(load, &[value], &[address, Value::Integer(i64::from(offset))]);
            self.scratch.arguments.push(Argument {
                param: number,
                offset: offset.unsigned_abs(),
                value,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_module;
    use crate::ir::{Body, Op, Register, Value};

    /// The one definition of a register, followed through copies, conversions and selects to what it is: numbers, and
    /// `?` for what is not followed.
    fn traced(body: &Body<'_>, value: Value, depth: usize) -> String {
        let Value::Register(register) = value else {
            return match value {
                Value::Integer(number) => number.to_string(),
                _ => "?".to_owned(),
            };
        };
        let writes = |wanted: Register| {
            body.instructions
                .iter()
                .filter(move |one| body.defined(one).any(|register| register == wanted))
        };
        let mut found: Vec<String> = writes(register)
            .map(|one| {
                let uses = body.uses(one);
                match one.op {
                    _ if depth == 0 => "?".to_owned(),
                    Op::Copy => traced(body, uses[0], depth - 1),
                    Op::Select => {
                        let (yes, no) = (traced(body, uses[0], depth - 1), traced(body, uses[1], depth - 1));
                        format!("{yes}|{no}")
                    }
                    Op::Access(access) => {
                        let place = body.results(one).iter().position(|result| *result == value);
                        format!("load{}[{}]", access.count, place.unwrap_or_default())
                    }
                    Op::CallResult(_) => format!("returned{:?}", uses[0]),
                    _ => "?".to_owned(),
                }
            })
            .collect();
        found.sort();
        found.join(",")
    }

    /// What the member mask of the body's first collective is.
    fn mask(code: &str) -> String {
        let text = format!(
            "declare void @llvm.nvvm.bar.warp.sync(i32)
declare {{ ptr, i32 }} @made()
define void @f(i1 %c, <4 x i32> %v, ptr %p) {{
{code}
  call void @llvm.nvvm.bar.warp.sync(i32 %m)
  ret void
}}"
        );
        with_module(text.as_bytes(), |module| {
            let (_, _, body) = module.bodies().next().unwrap();
            let collective = body.instruction(body.collectives[0]);
            traced(body, body.uses(collective)[0], 16)
        })
        .unwrap()
    }

    #[test]
    fn elements_go_through_vectors() {
        assert_eq!(
            mask(
                "  %a = insertelement <4 x i32> %v, i32 7, i32 2
  %m = extractelement <4 x i32> %a, i32 2"
            ),
            "?"
        );
        assert_eq!(
            mask(
                "  %a = insertelement <4 x i32> poison, i32 7, i32 0
  %b = shufflevector <4 x i32> %a, <4 x i32> <i32 1, i32 2, i32 3, i32 4>, <2 x i32> <i32 6, i32 0>
  %c1 = select i1 %c, <2 x i32> %b, <2 x i32> zeroinitializer
  %d = freeze <2 x i32> %c1
  %m = extractelement <2 x i32> %d, i64 1"
            ),
            "7|0"
        );
        assert_eq!(
            mask("  %m = extractelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 2"),
            "3"
        );
        assert_eq!(mask("  %m = extractelement <4 x i32> %v, i32 9"), "?");
    }

    #[test]
    fn vectors_are_loaded_an_element_at_a_time() {
        assert_eq!(
            mask(
                "  %a = load <4 x i32>, ptr %p
  %m = extractelement <4 x i32> %a, i32 3"
            ),
            "load4[3]"
        );
        let bits = "  %a = load <8 x i1>, ptr %p
  %b = extractelement <8 x i1> %a, i32 3
  %m = zext i1 %b to i32";
        assert_eq!(mask(bits), "?");
    }

    #[test]
    fn structures_go_through_phis_and_calls() {
        assert_eq!(
            mask(
                "  br i1 %c, label %a, label %b
a:
  %x = insertvalue { ptr, i32 } undef, i32 5, 1
  br label %b
b:
  %y = phi { ptr, i32 } [ { ptr null, i32 6 }, %0 ], [ %x, %a ]
  %m = extractvalue { ptr, i32 } %y, 1"
            ),
            "5,6"
        );
        assert_eq!(
            mask(
                "  %y = call { ptr, i32 } @made()
  %m = extractvalue { ptr, i32 } %y, 1"
            ),
            "returnedInteger(8)"
        );
    }

    #[test]
    fn what_is_passed_by_value_has_its_parts() {
        let text = "
%S = type { i32, ptr }
declare void @g(ptr byval(%S) align 8)
define void @f(ptr byval(%S) align 8 %s) {
  %own = alloca %S
  store i32 3, ptr %own
  call void @g(ptr byval(%S) %own)
  %at = getelementptr %S, ptr %s, i32 0, i32 1
  %p = load ptr, ptr %at
  store i32 1, ptr %p
  ret void
}";
        with_module(text.as_bytes(), |module| {
            let (_, _, body) = module.bodies().next().unwrap();
            let pieces: Vec<_> = body
                .arguments(&body.calls[0])
                .iter()
                .map(|argument| (argument.param, argument.offset))
                .collect();
            assert_eq!(pieces, [(0, 0), (0, 8)]);
            let reads_parameter = |one: &crate::ir::Instruction| {
                matches!(one.op, Op::Access(_)) && body.uses(one)[0] == Value::Param(0, 8)
            };
            assert!(body.instructions.iter().any(reads_parameter));
        })
        .unwrap();
    }
}
