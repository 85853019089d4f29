//! The lowering of LLVM's instructions (LLVM Language Reference, Instruction Reference).
//!
//! An instruction that no analysis interprets, or one on vectors and wide integers, is [`Op::Opaque`].

use super::body::{Label, Lowering};
use super::callees::Called;
use super::raw::{Opcode, Predicate, User, Value as LlvmValue, ValueKind, is_pointer_to_address};
use crate::limits::MAX_SWITCH_COMPARISONS;
use ptxcheck_ir::{
    Access, AccessKind, Argument, AsyncAddresses, AsyncOp, AsyncValues, Asynchronous, BinaryOp, Call, CallId,
    Callee, Condition, Guard, InstructionId, Logic, Op, Register, Scope, Slots, Space, Value,
};

impl<'m> Lowering<'_, '_, 'm> {
    pub(super) fn terminator(&mut self, block: Label, instruction: User<'m>) {
        match instruction.opcode() {
            Opcode::LLVMRet => {
                if let Some(returned) = instruction.operand(0)
                    && !self.return_parts(returned)
                {
                    let value = self.value(returned);
                    let bits = self.width(returned, value);
                    let store = Op::Access(Access::one(AccessKind::Store, Space::Param, bits));
                    self.emit(store, &[], &[Value::ReturnSlot(0, 0), Value::Integer(0), value]);
                }
                self.emit(Op::Return, &[], &[]);
                self.end_block(&[]);
            }
            Opcode::LLVMUnreachable | Opcode::LLVMResume => {
                self.emit(Op::Trap, &[], &[]);
                self.end_block(&[]);
            }
            Opcode::LLVMSwitch => self.switch(block, instruction),
            _ => self.branch(block, instruction),
        }
    }

    fn branch(&mut self, block: Label, instruction: User<'m>) {
        if instruction.opcode() != Opcode::LLVMBr {
            self.call(instruction);
        }
        let condition = match instruction.condition().map(|condition| self.value(condition)) {
            Some(Value::Integer(known)) => {
                // Only one of the edges is ever taken.
                let taken = instruction.targets().nth(usize::from(known & 1 == 0));
                let label = taken.map(|to| self.edge(block, to, true));
                self.has_unreached = true;
                self.emit(Op::Branch, &[], &[]);
                return self.end_block(label.as_slice());
            }
            Some(value) => Some(self.predicate(value)),
            None => None,
        };
        let labels = self.targets(block, instruction);
        match condition {
            Some(register) => {
                let guard = Guard {
                    register,
                    negated: false,
                };
                self.emit_guarded(Op::Branch, Some(guard), &[], &[]);
            }
            None if instruction.successors() == 1 => {
                self.emit(Op::Branch, &[], &[]);
            }
            None => {
                self.emit(Op::BranchTable, &[], &[Value::Unknown]);
            }
        }
        self.end_block(&labels);
        self.scratch.targets = labels;
    }

    /// The labels that a terminator goes to, in the list for them.
    fn targets(&mut self, block: Label, instruction: User<'m>) -> Vec<Label> {
        let mut labels = std::mem::take(&mut self.scratch.targets);
        labels.clear();
        let is_alone = instruction.successors() == 1;
        for to in instruction.targets() {
            labels.push(self.edge(block, to, is_alone));
        }
        labels
    }

    /// A predicate register with this value.
    fn predicate(&mut self, value: Value) -> Register {
        if let Value::Register(register) = value {
            return register;
        }
        let register = self.fresh(1);
        self.emit(Op::Opaque, &[Value::Register(register)], &[value]);
        register
    }

    /// Comparisons in turn, as code generators write small switches; a jump table where there are many cases.
    fn switch(&mut self, block: Label, instruction: User<'m>) {
        let Some(subject) = instruction.operand(0) else {
            return self.end_block(&[]);
        };
        let value = self.value(subject);
        let bits = self.width(subject, value);
        let labels = self.targets(block, instruction);
        self.cases(instruction, value, bits, &labels);
        self.scratch.targets = labels;
    }

    fn cases(&mut self, instruction: User<'m>, value: Value, bits: u8, labels: &[Label]) {
        let Some((&default, cases)) = labels.split_first() else {
            return self.end_block(&[]);
        };
        if cases.len() > MAX_SWITCH_COMPARISONS || bits == 0 {
            self.emit(Op::BranchTable, &[], &[value]);
            return self.end_block(labels);
        }
        for (number, &case) in cases.iter().enumerate() {
            let wanted = instruction
                .case(number as u32 + 1)
                .map_or(Value::Unknown, |wanted| self.value(wanted));
            let register = self.fresh(1);
            let compare = Op::Compare(Condition::Equal, bits, Logic::None);
            self.emit(compare, &[Value::Register(register)], &[value, wanted]);
            let guard = Guard {
                register,
                negated: false,
            };
            self.emit_guarded(Op::Branch, Some(guard), &[], &[]);
            let next = self.new_label();
            self.end_block(&[case, next]);
            self.begin(next);
        }
        self.emit(Op::Branch, &[], &[]);
        self.end_block(&[default]);
    }

    /// Lowers an instruction that is not a terminator. False where control does not go past it.
    pub(super) fn instruction(&mut self, instruction: User<'m>) -> bool {
        match instruction.opcode() {
            Opcode::LLVMCall => return self.call(instruction),
            Opcode::LLVMAlloca => self.allocation(instruction),
            Opcode::LLVMLoad => self.load(instruction),
            Opcode::LLVMStore => self.store(instruction),
            Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => self.atomic(instruction),
            Opcode::LLVMFence => {
                let instruction = self.emit(Op::Opaque, &[], &[]);
                // The widest scope that it may have.
                self.body.note_asynchronous(Asynchronous {
                    op: AsyncOp::ThreadFence(Scope::System),
                    instruction,
                    addresses: AsyncAddresses::default(),
                    values: AsyncValues::default(),
                });
            }
            Opcode::LLVMICmp if self.scratch.callees.has_answers && self.compares_numbers(instruction) => {}
            Opcode::LLVMExtractValue | Opcode::LLVMExtractElement => self.extract(instruction),
            Opcode::LLVMInsertValue | Opcode::LLVMInsertElement => self.insert(instruction),
            Opcode::LLVMShuffleVector => self.shuffle_vector(instruction),
            _ => {
                let shape = self.shape(instruction.ty());
                if !shape.is_aggregate || !self.each_element(instruction) {
                    let result = self.defined(instruction, shape.bits);
                    self.pure(instruction, result);
                }
            }
        }
        true
    }

    /// Uses every operand and says nothing of the result.
    pub(super) fn opaque(&mut self, value: User<'m>, result: Register) {
        self.apply(Op::Opaque, value, result);
    }

    /// Instructions and constant expressions whose result depends on their operands alone.
    pub(super) fn pure(&mut self, value: User<'m>, result: Register) {
        let opcode = value.opcode();
        let bits = self.body.registers.bits(result);
        if let Some(op) = binary(opcode) {
            // These are on integers and vectors of them, which have no bits here.
            let op = if bits > 0 {
                Op::Binary(op, bits)
            } else {
                Op::Opaque
            };
            return self.apply(op, value, result);
        }
        match opcode {
            Opcode::LLVMGetElementPtr => self.element_pointer(value, result),
            Opcode::LLVMAddrSpaceCast => self.space_cast(value, result),
            Opcode::LLVMICmp => self.compare(value, result),
            Opcode::LLVMFCmp => {
                let op = if bits == 1 { Op::CompareOther } else { Op::Opaque };
                self.apply(op, value, result);
            }
            Opcode::LLVMSelect => self.select(value, result),
            Opcode::LLVMFreeze => self.apply(Op::Copy, value, result),
            Opcode::LLVMBitCast
            | Opcode::LLVMPtrToInt
            | Opcode::LLVMIntToPtr
            | Opcode::LLVMZExt
            | Opcode::LLVMSExt
            | Opcode::LLVMTrunc => self.conversion(value, result),
            _ if is_pointer_to_address(opcode) => self.conversion(value, result),
            Opcode::LLVMFPToUI | Opcode::LLVMFPToSI => self.rounded(value, result),
            _ => self.opaque(value, result),
        }
    }

    fn apply(&mut self, op: Op, value: User<'m>, result: Register) {
        let result = [Value::Register(result)];
        if let (2, Some(a), Some(b)) = (value.operands(), value.operand(0), value.operand(1)) {
            let uses = [self.value(a), self.value(b)];
            self.emit(op, &result, &uses);
            return;
        }
        // Operands may be instructions of their own, which take another list.
        let mut uses = std::mem::take(&mut self.scratch.uses);
        uses.clear();
        for operand in value.all_operands() {
            uses.push(self.value(operand));
        }
        self.emit_lists(op, &result, &uses);
        self.scratch.uses = uses;
    }

    /// An integer made of a floating-point number: the second use stands for how it is rounded, which is not interpreted.
    fn rounded(&mut self, value: User<'m>, result: Register) {
        let Some(operand) = value.operand(0) else { return };
        let uses = [self.value(operand), Value::Unknown];
        self.emit(Op::Opaque, &[Value::Register(result)], &uses);
    }

    fn conversion(&mut self, value: User<'m>, result: Register) {
        let Some(operand) = value.operand(0) else { return };
        let input = self.value(operand);
        let from = self.width(operand, input);
        let to = self.body.registers.bits(result);
        let op = converted(value.opcode(), from, to);
        self.emit(op, &[Value::Register(result)], &[input]);
    }

    fn compare(&mut self, value: User<'m>, result: Register) {
        let (Some(first), Some(second)) = (value.operand(0), value.operand(1)) else {
            return;
        };
        let uses = [self.value(first), self.value(second)];
        let op = match (value.predicate(), self.width(first, uses[0])) {
            (Some(predicate), bits @ 1..) => Op::Compare(condition(predicate), bits, Logic::None),
            _ => Op::Opaque,
        };
        self.emit(op, &[Value::Register(result)], &uses);
    }

    fn select(&mut self, value: User<'m>, result: Register) {
        let (Some(condition), Some(yes), Some(no)) = (value.operand(0), value.operand(1), value.operand(2))
        else {
            return;
        };
        let uses = [self.value(yes), self.value(no), self.value(condition)];
        if self.width(condition, uses[2]) != 1 {
            return self.opaque(value, result);
        }
        self.emit(Op::Select, &[Value::Register(result)], &uses);
    }

    /// `addrspacecast` is `cvta` and `cvta.to`; between two spaces it goes through generic.
    fn space_cast(&mut self, value: User<'m>, result: Register) {
        let Some(operand) = value.operand(0) else { return };
        let (from, to) = (self.shape(operand.ty()).space, self.shape(value.ty()));
        let input = self.value(operand);
        self.convert_space(from, to.space, to.bits, input, result);
    }

    pub(super) fn convert_space(&mut self, from: Space, to: Space, bits: u8, input: Value, result: Register) {
        let result = Value::Register(result);
        match (from, to) {
            (_, _) if from == to => self.emit(Op::Copy, &[result], &[input]),
            (Space::Generic, to) => self.emit(Op::FromGeneric(to, bits), &[result], &[input]),
            (from, Space::Generic) => self.emit(Op::ToGeneric(from, bits), &[result], &[input]),
            // The window of the cluster holds that of the CTA (PTX ISA, State Spaces: Shared).
            (Space::Shared, Space::SharedCluster) => self.emit(Op::Copy, &[result], &[input]),
            (from, to) => {
                let generic = Value::Register(self.fresh(64));
                self.emit(Op::ToGeneric(from, 64), &[generic], &[input]);
                self.emit(Op::FromGeneric(to, bits), &[result], &[generic])
            }
        };
    }

    /// A call. False where it does not come back.
    pub(super) fn call(&mut self, instruction: User<'m>) -> bool {
        let Some(called) = instruction.called().map(stripped) else {
            return true;
        };
        let (known, has_memory) = self.callee(called);
        match known {
            Called::Assembly => return self.inline_assembly(instruction, called),
            Called::Intrinsic(intrinsic) => return self.intrinsic(instruction, intrinsic),
            Called::Reflect => {
                self.reflect(instruction);
                return true;
            }
            Called::Function(_) | Called::Address => {}
        }
        let first = self.body.arguments.len();
        self.scratch.arguments.clear();
        for (number, argument) in (0..instruction.arguments()).zip(instruction.all_operands()) {
            if let Some(memory) = self.memory_of(called, has_memory, number) {
                self.passed_in_memory(number, argument, memory);
                continue;
            }
            let value = self.value(argument);
            if self.width(argument, value) > 0 {
                self.scratch.arguments.push(Argument {
                    param: number,
                    offset: 0,
                    value,
                });
            }
        }
        self.body.arguments.append(&mut self.scratch.arguments);
        let callee = if let Called::Function(symbol) = known {
            self.body.refer(symbol, &self.symbols.all[symbol.index()], true);
            Callee::Direct(symbol)
        } else {
            Callee::Indirect(self.value(called))
        };
        let id = InstructionId::new(self.body.instructions.len());
        self.body.calls.push(Call {
            instruction: id,
            callee,
            arguments: Slots::new(first, self.body.arguments.len()),
        });
        let op = Op::Call(CallId::new(self.body.calls.len() - 1));
        self.emit(op, &[], &[]);
        let shape = self.shape(instruction.ty());
        if !shape.is_void && (!shape.is_aggregate || !self.call_results(instruction, id)) {
            let result = Value::Register(self.defined(instruction, shape.bits));
            self.emit(Op::CallResult(id), &[result], &[Value::Integer(0)]);
        }
        true
    }
}

/// The function under casts.
fn stripped(mut value: LlvmValue<'_>) -> LlvmValue<'_> {
    while value.kind() == ValueKind::LLVMConstantExprValueKind {
        let from = value
            .user()
            .filter(|user| matches!(user.opcode(), Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast))
            .and_then(|user| user.operand(0));
        match from {
            Some(from) => value = from,
            None => break,
        }
    }
    value
}

/// The operation for a conversion of a number of `from` bits to one of `to`.
pub(super) fn converted(opcode: Opcode, from: u8, to: u8) -> Op {
    match (from, to) {
        (0, _) | (_, 0) => Op::Opaque,
        _ if from == to => Op::Copy,
        _ => Op::Convert {
            from,
            signed: opcode == Opcode::LLVMSExt,
            to,
        },
    }
}

pub(super) fn binary(opcode: Opcode) -> Option<BinaryOp> {
    Some(match opcode {
        Opcode::LLVMAdd => BinaryOp::Add,
        Opcode::LLVMSub => BinaryOp::Sub,
        Opcode::LLVMMul => BinaryOp::MulLow,
        Opcode::LLVMSDiv => BinaryOp::DivSigned,
        Opcode::LLVMUDiv => BinaryOp::DivUnsigned,
        Opcode::LLVMSRem => BinaryOp::RemSigned,
        Opcode::LLVMURem => BinaryOp::RemUnsigned,
        Opcode::LLVMAnd => BinaryOp::And,
        Opcode::LLVMOr => BinaryOp::Or,
        Opcode::LLVMXor => BinaryOp::Xor,
        Opcode::LLVMShl => BinaryOp::Shl,
        Opcode::LLVMLShr => BinaryOp::ShrUnsigned,
        Opcode::LLVMAShr => BinaryOp::ShrSigned,
        _ => return None,
    })
}

pub(super) fn condition(predicate: Predicate) -> Condition {
    use Condition as C;
    use Predicate as P;
    match predicate {
        P::LLVMIntEQ => C::Equal,
        P::LLVMIntNE => C::NotEqual,
        P::LLVMIntSLT => C::LessSigned,
        P::LLVMIntSLE => C::LessEqualSigned,
        P::LLVMIntSGT => C::GreaterSigned,
        P::LLVMIntSGE => C::GreaterEqualSigned,
        P::LLVMIntULT => C::LessUnsigned,
        P::LLVMIntULE => C::LessEqualUnsigned,
        P::LLVMIntUGT => C::GreaterUnsigned,
        P::LLVMIntUGE => C::GreaterEqualUnsigned,
    }
}
