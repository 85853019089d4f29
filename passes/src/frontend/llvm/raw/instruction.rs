//! Instructions, and the blocks that hold them.

use std::marker::PhantomData;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;

use super::{Block, Node, Opcode, Predicate, Type, Value, ValueKind, chain, wrap};

impl<'m> Value<'m> {
    /// Which element of its operands, counted through both, an element of a `shufflevector` is.
    pub(in crate::frontend::llvm) fn shuffle_element(self, number: u32) -> Option<i32> {
        if self.instruction() != Some(Opcode::LLVMShuffleVector) {
            return None;
        }
        // SAFETY: a shuffle, with more elements than that.
        unsafe { (number < LLVMGetNumMaskElements(self.0)).then(|| LLVMGetMaskValue(self.0, number)) }
    }

    pub(in crate::frontend::llvm) fn is_volatile(self) -> bool {
        let has = matches!(
            self.instruction(),
            Some(Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg)
        );
        // SAFETY: an instruction that accesses memory.
        has && unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub(in crate::frontend::llvm) fn predicate(self) -> Option<Predicate> {
        // SAFETY: an integer comparison.
        (self.instruction() == Some(Opcode::LLVMICmp)).then(|| unsafe { LLVMGetICmpPredicate(self.0) })
    }

    pub(in crate::frontend::llvm) fn allocated(self) -> Option<Type<'m>> {
        // SAFETY: an alloca.
        (self.instruction() == Some(Opcode::LLVMAlloca))
            .then(|| Type(unsafe { LLVMGetAllocatedType(self.0) }, PhantomData))
    }

    /// The alignment that an alloca or global has, where it says so.
    pub(in crate::frontend::llvm) fn alignment(self) -> u32 {
        let has = self.instruction() == Some(Opcode::LLVMAlloca)
            || self.kind() == ValueKind::LLVMGlobalVariableValueKind;
        // SAFETY: an alloca or a global variable.
        if has {
            unsafe { LLVMGetAlignment(self.0) }
        } else {
            0
        }
    }

    pub(in crate::frontend::llvm) fn gep_source(self) -> Option<Type<'m>> {
        // SAFETY: a GEP, as an instruction or a constant expression.
        self.is(Opcode::LLVMGetElementPtr)
            .then(|| Type(unsafe { LLVMGetGEPSourceElementType(self.0) }, PhantomData))
    }

    /// The indices of an `extractvalue` or `insertvalue`.
    pub(in crate::frontend::llvm) fn indices(self) -> &'m [u32] {
        if !matches!(
            self.instruction(),
            Some(Opcode::LLVMExtractValue | Opcode::LLVMInsertValue)
        ) {
            return &[];
        }
        // SAFETY: such an instruction holds so many indices, for as long as it lives.
        unsafe {
            let (count, indices) = (LLVMGetNumIndices(self.0), LLVMGetIndices(self.0));
            if indices.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(indices, count as usize)
            }
        }
    }

    /// What a call calls, and the type of function it calls it as.
    pub(in crate::frontend::llvm) fn called(self) -> Option<(Value<'m>, Type<'m>)> {
        if !matches!(
            self.instruction(),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr)
        ) {
            return None;
        }
        // SAFETY: a call.
        unsafe {
            let ty = Type(LLVMGetCalledFunctionType(self.0), PhantomData);
            Some((wrap(LLVMGetCalledValue(self.0))?, ty))
        }
    }

    /// How many arguments a call passes; they are its first operands.
    pub(in crate::frontend::llvm) fn arguments(self) -> u32 {
        if self.called().is_some() {
            // SAFETY: a call.
            unsafe { LLVMGetNumArgOperands(self.0) }
        } else {
            0
        }
    }

    pub(in crate::frontend::llvm) fn case(self, number: u32) -> Option<Value<'m>> {
        if self.instruction() != Some(Opcode::LLVMSwitch) || !(1..self.successors()).contains(&number) {
            return None;
        }
        // SAFETY: a switch; case numbers begin at 1, as successors do behind the default.
        #[cfg(feature = "llvm")]
        return wrap(unsafe { LLVMGetSwitchCaseValue(self.0, number) });
        // Subject, default, then value and target of each case.
        #[cfg(not(feature = "llvm"))]
        self.operand(number * 2)
    }

    pub(in crate::frontend::llvm) fn successors(self) -> u32 {
        let ends = matches!(
            self.instruction(),
            Some(
                Opcode::LLVMBr
                    | Opcode::LLVMSwitch
                    | Opcode::LLVMIndirectBr
                    | Opcode::LLVMInvoke
                    | Opcode::LLVMCallBr
            )
        );
        // SAFETY: a terminator.
        if ends {
            unsafe { LLVMGetNumSuccessors(self.0) }
        } else {
            0
        }
    }

    pub(in crate::frontend::llvm) fn successor(self, number: u32) -> Option<Block<'m>> {
        // SAFETY: a terminator with more successors than that.
        (number < self.successors()).then(|| Block(unsafe { LLVMGetSuccessor(self.0, number) }, PhantomData))
    }

    /// The condition of a branch that has one.
    pub(in crate::frontend::llvm) fn condition(self) -> Option<Value<'m>> {
        // SAFETY: a branch, which is asked whether it has a condition first.
        unsafe {
            if self.instruction() == Some(Opcode::LLVMBr) && LLVMIsConditional(self.0) != 0 {
                wrap(LLVMGetCondition(self.0))
            } else {
                None
            }
        }
    }

    /// The incoming values of a phi, with the blocks they come from.
    pub(in crate::frontend::llvm) fn incoming(self) -> impl Iterator<Item = (Value<'m>, Block<'m>)> {
        let is_phi = self.instruction() == Some(Opcode::LLVMPHI);
        // SAFETY: a phi, asked for as many values as it says that it has.
        let count = if is_phi {
            unsafe { LLVMCountIncoming(self.0) }
        } else {
            0
        };
        (0..count).filter_map(move |number| unsafe {
            let block = LLVMGetIncomingBlock(self.0, number);
            Some((
                wrap(LLVMGetIncomingValue(self.0, number))?,
                Block(block, PhantomData),
            ))
        })
    }

    pub(in crate::frontend::llvm) fn debug_location(self) -> Option<Node<'m>> {
        if !self.is_instruction() {
            return None;
        }
        // SAFETY: an instruction; the answer is null where it has no location.
        let node = unsafe { LLVMInstructionGetDebugLoc(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }
}

impl<'m> Block<'m> {
    pub(in crate::frontend::llvm) fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live block; each instruction leads to the next.
        let first = unsafe { LLVMGetFirstInstruction(self.0) };
        chain(first, |value| unsafe { LLVMGetNextInstruction(value) })
    }
}

/// Whether an opcode takes the address out of a pointer, besides `ptrtoint`. LLVM 19 has no such opcode.
pub(in crate::frontend::llvm) fn is_pointer_to_address(opcode: Opcode) -> bool {
    #[cfg(feature = "llvm")]
    return opcode == Opcode::LLVMPtrToAddr;
    #[cfg(not(feature = "llvm"))]
    {
        let _ = opcode;
        false
    }
}
