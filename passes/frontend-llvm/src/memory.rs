//! The lowering of instructions that allocate or access memory.

use super::body::Lowering;
use super::raw::{Opcode, Type, User, Value as LlvmValue};
use ptxcheck_ir::{
    Access, AccessKind, BinaryOp, Condition, Linkage, Logic, Op, Slots, Space, Symbol, SymbolId, SymbolKind,
    Update, Value,
};

impl<'m> Lowering<'_, '_, 'm> {
    /// A stack variable of constant size is a symbol in local memory, as in PTX.
    pub(super) fn allocation(&mut self, instruction: User<'m>) {
        let shape = self.shape(instruction.ty());
        let (bits, to) = (shape.bits, shape.space);
        let result = self.defined(instruction, bits);
        let size = instruction.allocated().map_or(0, |ty| self.size(ty));
        let count = instruction.operand(0);
        let local = match count.map(|count| count.int()) {
            Some(Some(count)) => {
                let count = u64::try_from(count).unwrap_or(0);
                let symbol = self.local(instruction, size.saturating_mul(count));
                Value::Symbol(symbol, 0)
            }
            _ => {
                let count = count.map_or(Value::Unknown, |count| self.value(count));
                let bytes = Value::Register(self.fresh(64));
                let stride = Value::Integer(i64::try_from(size).unwrap_or(i64::MAX));
                self.emit(Op::Binary(BinaryOp::MulLow, 64), &[bytes], &[count, stride]);
                let local = Value::Register(self.fresh(bits));
                self.emit(Op::StackAlloc, &[local], &[bytes]);
                local
            }
        };
        self.convert_space(Space::Local, to, bits, local, result);
    }

    fn local(&mut self, instruction: User<'m>, size: u64) -> SymbolId {
        let instruction = instruction.value();
        let id = SymbolId::new(self.symbols.all.len());
        self.locations.on_stack(id, instruction);
        self.symbols.all.push(Symbol {
            name: "",
            kind: SymbolKind::Variable,
            space: Space::Local,
            linkage: Linkage::Local,
            size: Some(size),
            align: instruction.alignment().max(1),
            managed: false,
            is_host: false,
            owner: Some(self.id),
            initializer: Slots::default(),
            host_constant: None,
            span: self.place,
        });
        id
    }

    pub(super) fn load(&mut self, instruction: User<'m>) {
        let Some(pointer) = instruction.operand(0) else {
            return;
        };
        let ty = instruction.ty();
        let shape = self.shape(ty);
        let result = Value::Register(self.defined(instruction, shape.bits));
        let op = self.memory_op(AccessKind::Load, pointer, ty, instruction);
        if let (Some((number, at)), Op::Access(access)) = (self.parameter_address(pointer), op) {
            let space = Space::Param;
            let op = Op::Access(Access { space, ..access });
            if !shape.is_aggregate || !self.load_vector(instruction, op, Value::Param(number, at)) {
                self.emit(op, &[result], &[Value::Param(number, at), Value::Integer(0)]);
            }
            return;
        }
        let address = self.value(pointer);
        if !shape.is_aggregate || !self.load_vector(instruction, op, address) {
            self.emit(op, &[result], &[address, Value::Integer(0)]);
        }
    }

    pub(super) fn store(&mut self, instruction: User<'m>) {
        let (Some(stored), Some(pointer)) = (instruction.operand(0), instruction.operand(1)) else {
            return;
        };
        let ty = stored.ty();
        let op = self.memory_op(AccessKind::Store, pointer, ty, instruction);
        let address = self.value(pointer);
        if self.shape(ty).is_aggregate
            && let Some(mut parts) = self.stored_parts(stored, op)
        {
            parts.splice(0..0, [address, Value::Integer(0)]);
            self.emit_lists(op, &[], &parts);
            return;
        }
        let stored = self.value(stored);
        self.emit(op, &[], &[address, Value::Integer(0), stored]);
    }

    pub(super) fn atomic(&mut self, instruction: User<'m>) {
        let (Some(pointer), Some(given)) = (instruction.operand(0), instruction.operand(1)) else {
            return;
        };
        let kind = match instruction.opcode() {
            Opcode::LLVMAtomicRMW => AccessKind::ReadModifyWrite,
            _ => AccessKind::Atomic,
        };
        let mut op = self.memory_op(kind, pointer, given.ty(), instruction);
        if let Op::Access(access) = &mut op {
            access.update = instruction.update();
        }
        let mut uses = vec![self.value(pointer), Value::Integer(0), self.value(given)];
        if instruction.opcode() == Opcode::LLVMAtomicCmpXchg
            && let Some(new) = instruction.operand(2)
        {
            uses.push(self.value(new));
            // The old value, and whether it was the expected one.
            let bits = self.bits(given.ty());
            let old = Value::Register(self.fresh(bits));
            let swapped = Value::Register(self.fresh(1));
            self.emit_lists(op, &[old], &uses);
            self.emit(
                Op::Compare(Condition::Equal, bits, Logic::None),
                &[swapped],
                &[old, uses[2]],
            );
            self.scratch.parts.insert(instruction.value(), vec![old, swapped]);
            return;
        }
        let result = Value::Register(self.register(instruction.value()));
        self.emit_lists(op, &[result], &uses);
    }

    /// An access through `pointer` of a value of this type, as an instruction or an intrinsic. A bit in memory takes a byte.
    pub(super) fn memory_op(
        &mut self,
        kind: AccessKind,
        pointer: LlvmValue<'m>,
        data: Type<'m>,
        user: User<'m>,
    ) -> Op {
        let shape = self.shape(data);
        let sequence = if shape.is_aggregate { data.sequence() } else { None };
        let (bits, count) = match sequence {
            // Elements of other sizes lie closer in a vector than in an array (LLVM Language Reference, Vector Type).
            Some((element, _)) if u64::from(self.bits(element)) != self.size(element) * 8 => (0, 1),
            Some((element, count)) => (self.bits(element), u8::try_from(count).unwrap_or(0)),
            None => (shape.bits, 1),
        };
        let bits = if bits == 0 {
            0
        } else {
            bits.div_ceil(8).saturating_mul(8)
        };
        Op::Access(Access {
            kind,
            space: self.shape(pointer.ty()).space,
            bits,
            signed: false,
            count: count.max(1),
            update: Update::Unknown,
            semantics: user.semantics(),
            scope: user.scope(),
            align: user.access_alignment().min(128) as u8,
        })
    }
}
