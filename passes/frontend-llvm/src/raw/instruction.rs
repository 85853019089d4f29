//! Instructions and constant expressions, and the blocks that hold instructions.

use std::iter::successors;
use std::marker::PhantomData;

use crate::llvm_sys::core::*;
use crate::llvm_sys::debuginfo::*;
use crate::llvm_sys::prelude::*;
use crate::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};

use ptxcheck_ir::{BinaryOp, Scope, Semantics, Update};

use super::{Block, Node, Opcode, Predicate, Type, User, Value, ValueKind, wrap};

impl<'m> Value<'m> {
    /// The instruction or constant expression that a value is.
    pub(crate) fn user(self) -> Option<User<'m>> {
        // SAFETY: each is asked for the kind it has.
        let (opcode, is_instruction) = match self.kind() {
            ValueKind::LLVMInstructionValueKind => (unsafe { LLVMGetInstructionOpcode(self.0) }, true),
            ValueKind::LLVMConstantExprValueKind => (unsafe { LLVMGetConstOpcode(self.0) }, false),
            _ => return None,
        };
        Some(User {
            value: self,
            opcode,
            // SAFETY: both kinds are users of operands.
            operands: u32::try_from(unsafe { LLVMGetNumOperands(self.0) }).unwrap_or(0),
            is_instruction,
        })
    }

    /// The opcode of an instruction or constant expression.
    pub(crate) fn opcode(self) -> Option<Opcode> {
        self.user().map(|user| user.opcode)
    }

    /// The alignment that an alloca or global has, where it says so.
    pub(crate) fn alignment(self) -> u32 {
        let has = self.kind() == ValueKind::LLVMGlobalVariableValueKind
            || self
                .user()
                .is_some_and(|user| user.is_instruction(Opcode::LLVMAlloca));
        // SAFETY: an alloca or a global variable.
        if has {
            unsafe { LLVMGetAlignment(self.0) }
        } else {
            0
        }
    }
}

impl<'m> User<'m> {
    /// The instruction at this pointer; `None` after the last of a block.
    ///
    /// # Safety
    ///
    /// `instruction` is null, or points to an instruction that lives for `'m`.
    unsafe fn of_instruction(instruction: LLVMValueRef) -> Option<Self> {
        let value = wrap(instruction)?;
        // SAFETY: the caller's promise.
        unsafe {
            Some(Self {
                value,
                opcode: LLVMGetInstructionOpcode(instruction),
                operands: u32::try_from(LLVMGetNumOperands(instruction)).unwrap_or(0),
                is_instruction: true,
            })
        }
    }

    pub(crate) fn value(self) -> Value<'m> {
        self.value
    }

    pub(crate) fn opcode(self) -> Opcode {
        self.opcode
    }

    pub(crate) fn ty(self) -> Type<'m> {
        self.value.ty()
    }

    pub(crate) fn operands(self) -> u32 {
        self.operands
    }

    pub(crate) fn operand(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: a user with more operands than that.
        (number < self.operands)
            .then(|| wrap(unsafe { LLVMGetOperand(self.value.0, number) }))
            .flatten()
    }

    /// All operands, in order; those that LLVM has none for are left out.
    pub(crate) fn all_operands(self) -> impl Iterator<Item = Value<'m>> {
        (0..self.operands).filter_map(move |number| self.operand(number))
    }

    /// True if it is an instruction with this opcode.
    fn is_instruction(self, opcode: Opcode) -> bool {
        self.is_instruction && self.opcode == opcode
    }

    /// The element of the operands, counted through both, that an element of a `shufflevector` is taken from.
    pub(crate) fn shuffle_element(self, number: u32) -> Option<i32> {
        if !self.is_instruction(Opcode::LLVMShuffleVector) {
            return None;
        }
        // SAFETY: a shuffle, with more elements than that.
        unsafe {
            (number < LLVMGetNumMaskElements(self.value.0)).then(|| LLVMGetMaskValue(self.value.0, number))
        }
    }

    pub(crate) fn is_volatile(self) -> bool {
        let has = self.is_instruction
            && matches!(
                self.opcode,
                Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg
            );
        // SAFETY: an instruction that accesses memory.
        has && unsafe { LLVMGetVolatile(self.value.0) != 0 }
    }

    /// The ordering of a load or store; that of an access which is not atomic for anything else.
    fn ordering(self) -> LLVMAtomicOrdering {
        let has = self.is_instruction && matches!(self.opcode, Opcode::LLVMLoad | Opcode::LLVMStore);
        if has {
            // SAFETY: a load or a store.
            unsafe { LLVMGetOrdering(self.value.0) }
        } else {
            LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
        }
    }

    /// The memory ordering of a load, store or atomic (LLVM Language Reference, Atomic Memory Ordering Constraints); nothing, for
    /// anything else. Of atomics that read and write, the code generator drops orderings before sm_70: they count as relaxed.
    pub(crate) fn semantics(self) -> Semantics {
        match self.ordering() {
            LLVMAtomicOrdering::LLVMAtomicOrderingAcquire => Semantics::Acquire,
            LLVMAtomicOrdering::LLVMAtomicOrderingRelease => Semantics::Release,
            LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease
            | LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent => Semantics::AcquireRelease,
            _ if self.is_volatile() => Semantics::Volatile,
            LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic if self.is_update() => Semantics::Relaxed,
            LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic => Semantics::Weak,
            LLVMAtomicOrdering::LLVMAtomicOrderingUnordered
            | LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic => Semantics::Relaxed,
        }
    }

    fn is_update(self) -> bool {
        self.is_instruction && matches!(self.opcode, Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg)
    }

    /// The value that an `atomicrmw` or `cmpxchg` stores.
    pub(crate) fn update(self) -> Update {
        if self.is_instruction(Opcode::LLVMAtomicCmpXchg) {
            return Update::CompareAndSwap;
        }
        if !self.is_instruction(Opcode::LLVMAtomicRMW) {
            return Update::Unknown;
        }
        // SAFETY: an `atomicrmw`.
        match unsafe { LLVMGetAtomicRMWBinOp(self.value.0) } {
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpXchg => Update::Exchange,
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAdd => Update::Binary(BinaryOp::Add),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpSub => Update::Binary(BinaryOp::Sub),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAnd => Update::Binary(BinaryOp::And),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpOr => Update::Binary(BinaryOp::Or),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpXor => Update::Binary(BinaryOp::Xor),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpMax => Update::Binary(BinaryOp::MaxSigned),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpMin => Update::Binary(BinaryOp::MinSigned),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpUMax => Update::Binary(BinaryOp::MaxUnsigned),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpUMin => Update::Binary(BinaryOp::MinUnsigned),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpUIncWrap => Update::Increment,
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpUDecWrap => Update::Decrement,
            _ => Update::Unknown,
        }
    }

    /// The threads that an atomic access synchronises with (LLVM's NVPTX usage guide, Memory model): the system if it names none, or if
    /// this version of LLVM does not give its name.
    pub(crate) fn scope(self) -> Scope {
        if self.ordering() == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic {
            return Scope::System;
        }
        // SAFETY: an atomic access.
        if unsafe { LLVMIsAtomicSingleThread(self.value.0) } != 0 {
            return Scope::Thread;
        }
        self.named_scope()
    }

    #[cfg(feature = "llvm")]
    fn named_scope(self) -> Scope {
        let names = [
            ("block", Scope::Cta),
            ("cluster", Scope::Cluster),
            ("device", Scope::Gpu),
        ];
        // SAFETY: an atomic access of a context that lives; names are looked up by their length.
        let (own, number) = unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(self.value.0));
            let number = |name: &str| LLVMGetSyncScopeID(context, name.as_ptr().cast(), name.len());
            (
                LLVMGetAtomicSyncScopeID(self.value.0),
                names.map(|(name, _)| number(name)),
            )
        };
        let named = number.into_iter().zip(names).find(|(number, _)| *number == own);
        named.map_or(Scope::System, |(_, (_, scope))| scope)
    }

    #[cfg(not(feature = "llvm"))]
    #[allow(clippy::unused_self)]
    fn named_scope(self) -> Scope {
        Scope::System
    }

    /// The alignment in bytes that a load or store says its address has; 0 for anything else.
    pub(crate) fn access_alignment(self) -> u32 {
        let has = self.is_instruction && matches!(self.opcode, Opcode::LLVMLoad | Opcode::LLVMStore);
        // SAFETY: a load or a store.
        if has {
            unsafe { LLVMGetAlignment(self.value.0) }
        } else {
            0
        }
    }

    pub(crate) fn predicate(self) -> Option<Predicate> {
        // SAFETY: an integer comparison.
        self.is_instruction(Opcode::LLVMICmp)
            .then(|| unsafe { LLVMGetICmpPredicate(self.value.0) })
    }

    pub(crate) fn allocated(self) -> Option<Type<'m>> {
        // SAFETY: an alloca.
        self.is_instruction(Opcode::LLVMAlloca)
            .then(|| Type(unsafe { LLVMGetAllocatedType(self.value.0) }, PhantomData))
    }

    pub(crate) fn gep_source(self) -> Option<Type<'m>> {
        // SAFETY: a GEP, as an instruction or a constant expression.
        (self.opcode == Opcode::LLVMGetElementPtr)
            .then(|| Type(unsafe { LLVMGetGEPSourceElementType(self.value.0) }, PhantomData))
    }

    /// The indices of an `extractvalue` or `insertvalue`.
    pub(crate) fn indices(self) -> &'m [u32] {
        if !self.is_instruction(Opcode::LLVMExtractValue) && !self.is_instruction(Opcode::LLVMInsertValue) {
            return &[];
        }
        // SAFETY: such an instruction holds so many indices, for as long as it lives.
        unsafe {
            let (count, indices) = (LLVMGetNumIndices(self.value.0), LLVMGetIndices(self.value.0));
            if indices.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(indices, count as usize)
            }
        }
    }

    fn is_call(self) -> bool {
        self.is_instruction
            && matches!(
                self.opcode,
                Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr
            )
    }

    /// The callee of a call.
    pub(crate) fn called(self) -> Option<Value<'m>> {
        // SAFETY: a call.
        self.is_call()
            .then(|| wrap(unsafe { LLVMGetCalledValue(self.value.0) }))
            .flatten()
    }

    /// Number of arguments of a call; they are its first operands.
    pub(crate) fn arguments(self) -> u32 {
        if self.is_call() {
            // SAFETY: a call.
            unsafe { LLVMGetNumArgOperands(self.value.0) }
        } else {
            0
        }
    }

    pub(crate) fn case(self, number: u32) -> Option<Value<'m>> {
        if !self.is_instruction(Opcode::LLVMSwitch) || !(1..self.successors()).contains(&number) {
            return None;
        }
        // SAFETY: a switch; case numbers begin at 1, as successors do after the default.
        #[cfg(feature = "llvm")]
        return wrap(unsafe { LLVMGetSwitchCaseValue(self.value.0, number) });
        // Subject, default, then value and target of each case.
        #[cfg(not(feature = "llvm"))]
        self.operand(number * 2)
    }

    pub(crate) fn successors(self) -> u32 {
        let ends = self.is_instruction
            && matches!(
                self.opcode,
                Opcode::LLVMBr
                    | Opcode::LLVMSwitch
                    | Opcode::LLVMIndirectBr
                    | Opcode::LLVMInvoke
                    | Opcode::LLVMCallBr
            );
        // SAFETY: a terminator.
        if ends {
            unsafe { LLVMGetNumSuccessors(self.value.0) }
        } else {
            0
        }
    }

    /// The successors of a terminator, in order.
    pub(crate) fn targets(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: a terminator with more successors than that.
        (0..self.successors())
            .map(move |number| Block(unsafe { LLVMGetSuccessor(self.value.0, number) }, PhantomData))
    }

    /// The condition of a branch that has one.
    pub(crate) fn condition(self) -> Option<Value<'m>> {
        // SAFETY: a branch, which is asked whether it has a condition first.
        unsafe {
            if self.is_instruction(Opcode::LLVMBr) && LLVMIsConditional(self.value.0) != 0 {
                wrap(LLVMGetCondition(self.value.0))
            } else {
                None
            }
        }
    }

    /// The incoming values of a phi, with the blocks they come from.
    pub(crate) fn incoming(self) -> impl Iterator<Item = (Value<'m>, Block<'m>)> {
        // SAFETY: a phi, asked for as many values as it says that it has.
        let count = if self.is_instruction(Opcode::LLVMPHI) {
            unsafe { LLVMCountIncoming(self.value.0) }
        } else {
            0
        };
        (0..count).filter_map(move |number| unsafe {
            let block = LLVMGetIncomingBlock(self.value.0, number);
            Some((
                wrap(LLVMGetIncomingValue(self.value.0, number))?,
                Block(block, PhantomData),
            ))
        })
    }

    pub(crate) fn debug_location(self) -> Option<Node<'m>> {
        if !self.is_instruction {
            return None;
        }
        // SAFETY: an instruction; the answer is null where it has no location.
        let node = unsafe { LLVMInstructionGetDebugLoc(self.value.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }
}

impl<'m> Block<'m> {
    /// A number that no other block has.
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }

    pub(crate) fn is_empty(self) -> bool {
        // SAFETY: a live block.
        unsafe { LLVMGetFirstInstruction(self.0).is_null() }
    }

    pub(crate) fn instructions(self) -> impl Iterator<Item = User<'m>> {
        // SAFETY: a live block; each instruction leads to the next, and the last to null.
        unsafe {
            let first = User::of_instruction(LLVMGetFirstInstruction(self.0));
            successors(first, |user| {
                User::of_instruction(LLVMGetNextInstruction(user.value.0))
            })
        }
    }

    /// The phis that it begins with.
    pub(crate) fn phis(self) -> impl Iterator<Item = User<'m>> {
        self.instructions()
            .take_while(|user| user.opcode == Opcode::LLVMPHI)
    }
}

/// True if an opcode takes the address out of a pointer, besides `ptrtoint`. LLVM 19 has no such opcode.
pub(crate) fn is_pointer_to_address(opcode: Opcode) -> bool {
    #[cfg(feature = "llvm")]
    return opcode == Opcode::LLVMPtrToAddr;
    #[cfg(not(feature = "llvm"))]
    {
        let _ = opcode;
        false
    }
}
