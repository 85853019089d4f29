//! LLVM's C interface behind handles that are safe to use: the one file of the front end with `unsafe` code.
//!
//! Invariants that every block rests on:
//!
//! * A [`Value`], [`Type`], [`Block`] or [`Node`] with lifetime `'m` is made only from a module that is borrowed for
//!   `'m` (see [`Module::new`]) or from another such handle. Nothing here changes or frees a part of a module, so the
//!   pointer in a handle is valid for `'m`.
//! * LLVM checks the kind of what it is given with assertions at most. A function whose callee wants a certain kind
//!   looks at the kind first, and returns `None` for another.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_uint};
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::{LazyLock, Mutex, PoisonError};

use inkwell::llvm_sys::LLVMUnnamedAddr;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::llvm_sys::target::*;
pub(super) use inkwell::llvm_sys::{
    LLVMIntPredicate as Predicate, LLVMLinkage as Linkage, LLVMOpcode as Opcode, LLVMTypeKind as TypeKind,
    LLVMValueKind as ValueKind,
};

/// A value: an instruction, argument, constant, global or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Type<'m>(LLVMTypeRef, PhantomData<&'m ()>);

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block<'m>(LLVMBasicBlockRef, PhantomData<&'m ()>);

/// A metadata node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

/// A module, and how it lays out types.
#[derive(Clone, Copy)]
pub(super) struct Module<'m> {
    module: LLVMModuleRef,
    layout: LLVMTargetDataRef,
    context: LLVMContextRef,
    lifetime: PhantomData<&'m ()>,
}

/// Functions of a module, for threads that take turns with them.
pub(super) struct Functions<'m>(Mutex<Vec<Value<'m>>>);

// SAFETY: LLVM does not care which thread uses a context, as long as they take turns: whoever reads through a lock on
// functions does, and the lowering, which is all else that reads a module, is over when they are handed out.
unsafe impl Send for Functions<'_> {}
// SAFETY: as above.
unsafe impl Sync for Functions<'_> {}

impl<'m> Functions<'m> {
    pub(super) fn new(functions: Vec<Value<'m>>) -> Self {
        Self(Mutex::new(functions))
    }

    /// Has `work` read the function with this number.
    pub(super) fn read<R: Send>(&self, number: usize, work: impl FnOnce(Option<Value<'m>>) -> R) -> R {
        let functions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(functions.get(number).copied())
    }
}

/// The bytes at `text`, as far as they are UTF-8.
///
/// # Safety
///
/// `text` is null, or points to `length` bytes that stay for `'m`.
unsafe fn text<'m>(text: *const c_char, length: usize) -> &'m str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Switches off the rewriting of old debug information, which aborts on malformed bitcode. Once a process.
pub(super) fn set_options() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let arguments: [&CStr; 2] = [c"ptxcheck", c"-disable-auto-upgrade-debug-info"];
        let pointers = arguments.map(CStr::as_ptr);
        // SAFETY: two C strings that outlive the call; LLVM copies what it keeps, and the lock keeps threads apart.
        unsafe { LLVMParseCommandLineOptions(2, pointers.as_ptr(), std::ptr::null()) }
    });
}

impl<'m> Module<'m> {
    pub(super) fn new(module: &'m inkwell::module::Module<'_>) -> Self {
        let module = module.as_mut_ptr();
        // SAFETY: inkwell's module is alive for 'm, and its layout and context are as long.
        unsafe {
            Self {
                module,
                layout: LLVMGetModuleDataLayout(module),
                context: LLVMGetModuleContext(module),
                lifetime: PhantomData,
            }
        }
    }

    pub(super) fn functions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: the module is alive, and each function leads to the next.
        let first = unsafe { LLVMGetFirstFunction(self.module) };
        chain(first, |value| unsafe { LLVMGetNextFunction(value) })
    }

    pub(super) fn globals(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobal(self.module) };
        chain(first, |value| unsafe { LLVMGetNextGlobal(value) })
    }

    pub(super) fn aliases(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobalAlias(self.module) };
        chain(first, |value| unsafe { LLVMGetNextGlobalAlias(value) })
    }

    /// Bytes that a value of this type takes in memory; 0 for a type without a size.
    pub(super) fn size(self, ty: Type<'m>) -> u64 {
        // SAFETY: only types with a size may be asked for it, and this one is looked at first.
        unsafe {
            if ty.is_plain() && LLVMTypeIsSized(ty.0) != 0 {
                LLVMABISizeOfType(self.layout, ty.0)
            } else {
                0
            }
        }
    }

    /// The alignment of a type in bytes, at least 1.
    pub(super) fn align(self, ty: Type<'m>) -> u32 {
        // SAFETY: as for the size.
        unsafe {
            if ty.is_plain() && LLVMTypeIsSized(ty.0) != 0 {
                LLVMABIAlignmentOfType(self.layout, ty.0).max(1)
            } else {
                1
            }
        }
    }

    /// Bits of a pointer into this address space.
    pub(super) fn pointer_bits(self, space: u32) -> u8 {
        // SAFETY: the layout answers for every number.
        let bytes = unsafe { LLVMPointerSizeForAS(self.layout, space) };
        u8::try_from(bytes.saturating_mul(8)).unwrap_or(64)
    }

    /// The byte offset of a structure's element.
    pub(super) fn element_offset(self, ty: Type<'m>, element: u32) -> Option<u64> {
        // SAFETY: a structure with a size and this many elements.
        unsafe {
            let fits = ty.kind() == TypeKind::LLVMStructTypeKind
                && LLVMTypeIsSized(ty.0) != 0
                && element < LLVMCountStructElementTypes(ty.0);
            fits.then(|| LLVMOffsetOfElement(self.layout, ty.0, element))
        }
    }

    /// The operand of a node: a node or string itself, or a value.
    pub(super) fn operand(self, node: Node<'m>, number: u32) -> Option<Value<'m>> {
        // SAFETY: a node of the module's context is wrapped as a value.
        let value = wrap(unsafe { LLVMMetadataAsValue(self.context, node.0) })?;
        value.node_operands().get(number as usize).copied().flatten()
    }

    /// The assembly outside functions.
    pub(super) fn assembly(self) -> &'m str {
        let mut length = 0;
        // SAFETY: the module is alive, and nothing here changes its assembly.
        unsafe {
            let assembly = LLVMGetModuleInlineAsm(self.module, &raw mut length);
            text(assembly, length)
        }
    }

    /// Whether the module has a flag of this name.
    pub(super) fn has_flag(self, name: &str) -> bool {
        // SAFETY: the name is given with its length.
        unsafe { !LLVMGetModuleFlag(self.module, name.as_ptr().cast::<c_char>(), name.len()).is_null() }
    }

    /// The nodes of named metadata, each as its operands.
    pub(super) fn named_metadata(self, name: &CStr) -> Vec<Vec<Option<Value<'m>>>> {
        // SAFETY: LLVM writes exactly as many nodes as it announces.
        let nodes = unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.module, name.as_ptr());
            let mut nodes = vec![std::ptr::null_mut(); count as usize];
            LLVMGetNamedMetadataOperands(self.module, name.as_ptr(), nodes.as_mut_ptr());
            nodes
        };
        nodes
            .into_iter()
            .filter_map(wrap)
            .map(Value::node_operands)
            .collect()
    }
}

/// Whether an opcode takes the address out of a pointer, besides `ptrtoint`. LLVM 19 has no such opcode.
pub(super) fn is_pointer_to_address(opcode: Opcode) -> bool {
    #[cfg(feature = "llvm")]
    return opcode == Opcode::LLVMPtrToAddr;
    #[cfg(not(feature = "llvm"))]
    {
        let _ = opcode;
        false
    }
}

/// Most operands of a metadata node that are read.
const MAX_NODE_OPERANDS: u32 = 4_096;

fn wrap<'m>(value: LLVMValueRef) -> Option<Value<'m>> {
    (!value.is_null()).then_some(Value(value, PhantomData))
}

fn chain<'m>(
    first: LLVMValueRef,
    next: impl Fn(LLVMValueRef) -> LLVMValueRef,
) -> impl Iterator<Item = Value<'m>> {
    successors(wrap(first), move |value| wrap(next(value.0)))
}

impl<'m> Type<'m> {
    pub(super) fn kind(self) -> TypeKind {
        // SAFETY: a live type.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// Types whose size is a fixed number of bytes, if they have one.
    fn is_plain(self) -> bool {
        !matches!(
            self.kind(),
            TypeKind::LLVMScalableVectorTypeKind
                | TypeKind::LLVMTargetExtTypeKind
                | TypeKind::LLVMX86_AMXTypeKind
        )
    }

    pub(super) fn int_bits(self) -> Option<u32> {
        // SAFETY: an integer type.
        (self.kind() == TypeKind::LLVMIntegerTypeKind).then(|| unsafe { LLVMGetIntTypeWidth(self.0) })
    }

    pub(super) fn space(self) -> Option<u32> {
        // SAFETY: a pointer type.
        (self.kind() == TypeKind::LLVMPointerTypeKind).then(|| unsafe { LLVMGetPointerAddressSpace(self.0) })
    }

    /// The elements of an array or vector, and how many.
    pub(super) fn sequence(self) -> Option<(Type<'m>, u64)> {
        // SAFETY: each branch is taken for the kind that its callees want.
        unsafe {
            match self.kind() {
                TypeKind::LLVMArrayTypeKind => Some((
                    Type(LLVMGetElementType(self.0), PhantomData),
                    LLVMGetArrayLength2(self.0),
                )),
                TypeKind::LLVMVectorTypeKind => Some((
                    Type(LLVMGetElementType(self.0), PhantomData),
                    u64::from(LLVMGetVectorSize(self.0)),
                )),
                _ => None,
            }
        }
    }

    /// The type of a structure's element.
    pub(super) fn field(self, number: u32) -> Option<Type<'m>> {
        (number < self.fields()).then(|| {
            // SAFETY: a structure with more elements than that.
            Type(unsafe { LLVMStructGetTypeAtIndex(self.0, number) }, PhantomData)
        })
    }

    /// How many elements a structure has; 0 for other types.
    pub(super) fn fields(self) -> u32 {
        if self.kind() == TypeKind::LLVMStructTypeKind {
            // SAFETY: a structure.
            unsafe { LLVMCountStructElementTypes(self.0) }
        } else {
            0
        }
    }

    /// What a function of this type returns.
    pub(super) fn returned(self) -> Option<Type<'m>> {
        // SAFETY: a function type.
        (self.kind() == TypeKind::LLVMFunctionTypeKind)
            .then(|| Type(unsafe { LLVMGetReturnType(self.0) }, PhantomData))
    }
}

impl<'m> Value<'m> {
    pub(super) fn kind(self) -> ValueKind {
        // SAFETY: a live value.
        unsafe { LLVMGetValueKind(self.0) }
    }

    pub(super) fn ty(self) -> Type<'m> {
        // SAFETY: a live value.
        Type(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    pub(super) fn name(self) -> &'m str {
        let mut length = 0;
        // SAFETY: a live value; its name is a part of the module, which nothing here renames.
        unsafe {
            let name = LLVMGetValueName2(self.0, &raw mut length);
            text(name, length)
        }
    }

    /// The opcode of an instruction or constant expression.
    pub(super) fn opcode(self) -> Option<Opcode> {
        // SAFETY: each is asked for the kind it has.
        match self.kind() {
            ValueKind::LLVMInstructionValueKind => Some(unsafe { LLVMGetInstructionOpcode(self.0) }),
            ValueKind::LLVMConstantExprValueKind => Some(unsafe { LLVMGetConstOpcode(self.0) }),
            _ => None,
        }
    }

    fn is_instruction(self) -> bool {
        self.kind() == ValueKind::LLVMInstructionValueKind
    }

    fn is(self, opcode: Opcode) -> bool {
        self.opcode() == Some(opcode)
    }

    pub(super) fn operands(self) -> u32 {
        if matches!(
            self.kind(),
            ValueKind::LLVMInstructionValueKind
                | ValueKind::LLVMConstantExprValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantVectorValueKind
        ) {
            // SAFETY: these kinds are users of operands.
            u32::try_from(unsafe { LLVMGetNumOperands(self.0) }).unwrap_or(0)
        } else {
            0
        }
    }

    pub(super) fn operand(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: a user with more operands than that.
        (number < self.operands())
            .then(|| wrap(unsafe { LLVMGetOperand(self.0, number) }))
            .flatten()
    }

    /// Whether it is a constant structure, array or vector, written out or not.
    pub(super) fn is_constant_aggregate(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMConstantStructValueKind
                | ValueKind::LLVMConstantArrayValueKind
                | ValueKind::LLVMConstantVectorValueKind
                | ValueKind::LLVMConstantDataArrayValueKind
                | ValueKind::LLVMConstantDataVectorValueKind
                | ValueKind::LLVMConstantAggregateZeroValueKind
        ) || self.is_undef()
    }

    /// An element of such a constant.
    pub(super) fn element(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: a constant; the answer is null for an element that it does not have.
        self.is_constant_aggregate()
            .then(|| wrap(unsafe { LLVMGetAggregateElement(self.0, number) }))
            .flatten()
    }

    /// Which element of its operands, counted through both, an element of a `shufflevector` is.
    pub(super) fn shuffle_element(self, number: u32) -> Option<i32> {
        if !(self.is_instruction() && self.is(Opcode::LLVMShuffleVector)) {
            return None;
        }
        // SAFETY: a shuffle, with more elements than that.
        unsafe { (number < LLVMGetNumMaskElements(self.0)).then(|| LLVMGetMaskValue(self.0, number)) }
    }

    /// All operands, in order; those that LLVM has none for are left out.
    pub(super) fn all_operands(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a user with so many operands.
        (0..self.operands()).filter_map(move |number| wrap(unsafe { LLVMGetOperand(self.0, number) }))
    }

    /// The low 64 bits of an integer constant, from its sign on; 1 for true.
    pub(super) fn int(self) -> Option<i64> {
        if self.kind() != ValueKind::LLVMConstantIntValueKind {
            return None;
        }
        // SAFETY: an integer constant of at most 64 bits; wider ones do not fit the answer.
        match self.ty().int_bits() {
            Some(1) => Some(unsafe { LLVMConstIntGetZExtValue(self.0) } as i64),
            Some(2..=64) => Some(unsafe { LLVMConstIntGetSExtValue(self.0) }),
            _ => None,
        }
    }

    pub(super) fn is_undef(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMUndefValueValueKind | ValueKind::LLVMPoisonValueKind
        )
    }

    pub(super) fn is_volatile(self) -> bool {
        let has = self.is_instruction()
            && matches!(
                self.opcode(),
                Some(
                    Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg
                )
            );
        // SAFETY: an instruction that accesses memory.
        has && unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    pub(super) fn predicate(self) -> Option<Predicate> {
        // SAFETY: an integer comparison.
        (self.is_instruction() && self.is(Opcode::LLVMICmp)).then(|| unsafe { LLVMGetICmpPredicate(self.0) })
    }

    pub(super) fn allocated(self) -> Option<Type<'m>> {
        // SAFETY: an alloca.
        (self.is_instruction() && self.is(Opcode::LLVMAlloca))
            .then(|| Type(unsafe { LLVMGetAllocatedType(self.0) }, PhantomData))
    }

    /// The alignment that an alloca or global has, where it says so.
    pub(super) fn alignment(self) -> u32 {
        let has = self.is(Opcode::LLVMAlloca) && self.is_instruction()
            || self.kind() == ValueKind::LLVMGlobalVariableValueKind;
        // SAFETY: an alloca or a global variable.
        if has {
            unsafe { LLVMGetAlignment(self.0) }
        } else {
            0
        }
    }

    pub(super) fn gep_source(self) -> Option<Type<'m>> {
        // SAFETY: a GEP, as an instruction or a constant expression.
        self.is(Opcode::LLVMGetElementPtr)
            .then(|| Type(unsafe { LLVMGetGEPSourceElementType(self.0) }, PhantomData))
    }

    /// The indices of an `extractvalue` or `insertvalue`.
    pub(super) fn indices(self) -> &'m [u32] {
        if !(self.is_instruction() && (self.is(Opcode::LLVMExtractValue) || self.is(Opcode::LLVMInsertValue)))
        {
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
    pub(super) fn called(self) -> Option<(Value<'m>, Type<'m>)> {
        if !(self.is_instruction()
            && matches!(
                self.opcode(),
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr)
            ))
        {
            return None;
        }
        // SAFETY: a call.
        unsafe {
            let ty = Type(LLVMGetCalledFunctionType(self.0), PhantomData);
            Some((wrap(LLVMGetCalledValue(self.0))?, ty))
        }
    }

    /// How many arguments a call passes; they are its first operands.
    pub(super) fn arguments(self) -> u32 {
        if self.called().is_some() {
            // SAFETY: a call.
            unsafe { LLVMGetNumArgOperands(self.0) }
        } else {
            0
        }
    }

    /// The text and the constraints of inline assembly.
    pub(super) fn assembly(self) -> Option<(&'m str, &'m str)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (mut a, mut b) = (0, 0);
        // SAFETY: inline assembly, whose strings live as long as the context does.
        unsafe {
            let assembly = LLVMGetInlineAsmAsmString(self.0, &raw mut a);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &raw mut b);
            Some((text(assembly, a), text(constraints, b)))
        }
    }

    pub(super) fn case(self, number: u32) -> Option<Value<'m>> {
        if !(self.is_instruction() && self.is(Opcode::LLVMSwitch) && (1..self.successors()).contains(&number))
        {
            return None;
        }
        // SAFETY: a switch; case numbers begin at 1, as successors do behind the default.
        #[cfg(feature = "llvm")]
        return wrap(unsafe { LLVMGetSwitchCaseValue(self.0, number) });
        // Subject, default, then value and target of each case.
        #[cfg(not(feature = "llvm"))]
        self.operand(number * 2)
    }

    pub(super) fn successors(self) -> u32 {
        let ends = self.is_instruction()
            && matches!(
                self.opcode(),
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

    pub(super) fn successor(self, number: u32) -> Option<Block<'m>> {
        // SAFETY: a terminator with more successors than that.
        (number < self.successors()).then(|| Block(unsafe { LLVMGetSuccessor(self.0, number) }, PhantomData))
    }

    /// The condition of a branch that has one.
    pub(super) fn condition(self) -> Option<Value<'m>> {
        // SAFETY: a branch, which is asked whether it has a condition first.
        unsafe {
            if self.is_instruction() && self.is(Opcode::LLVMBr) && LLVMIsConditional(self.0) != 0 {
                wrap(LLVMGetCondition(self.0))
            } else {
                None
            }
        }
    }

    /// The incoming values of a phi, with the blocks they come from.
    pub(super) fn incoming(self) -> impl Iterator<Item = (Value<'m>, Block<'m>)> {
        let is_phi = self.is_instruction() && self.is(Opcode::LLVMPHI);
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

    pub(super) fn debug_location(self) -> Option<Node<'m>> {
        if !self.is_instruction() {
            return None;
        }
        // SAFETY: an instruction; the answer is null where it has no location.
        let node = unsafe { LLVMInstructionGetDebugLoc(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }

    fn is_function(self) -> bool {
        self.kind() == ValueKind::LLVMFunctionValueKind
    }

    pub(super) fn is_global(self) -> bool {
        matches!(
            self.kind(),
            ValueKind::LLVMFunctionValueKind
                | ValueKind::LLVMGlobalVariableValueKind
                | ValueKind::LLVMGlobalAliasValueKind
                | ValueKind::LLVMGlobalIFuncValueKind
        )
    }

    pub(super) fn is_declaration(self) -> bool {
        // SAFETY: a global.
        self.is_global() && unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(super) fn linkage(self) -> Option<Linkage> {
        // SAFETY: a global.
        self.is_global().then(|| unsafe { LLVMGetLinkage(self.0) })
    }

    /// Whether its address means nothing: a literal, a table that the compiler made.
    pub(super) fn is_unnamed(self) -> bool {
        // SAFETY: a global.
        self.is_global() && unsafe { LLVMGetUnnamedAddress(self.0) != LLVMUnnamedAddr::LLVMNoUnnamedAddr }
    }

    /// What uses a value.
    pub(super) fn users(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live value; each use leads to the next.
        let first = unsafe { LLVMGetFirstUse(self.0) };
        successors((!first.is_null()).then_some(first), |&one| {
            let next = unsafe { LLVMGetNextUse(one) };
            (!next.is_null()).then_some(next)
        })
        .filter_map(|one| wrap(unsafe { LLVMGetUser(one) }))
    }

    /// The variable that a global is in the source, by its debug information.
    pub(super) fn source_variable(self) -> Option<Node<'m>> {
        if self.kind() != ValueKind::LLVMGlobalVariableValueKind {
            return None;
        }
        let mut count = 0;
        // SAFETY: a global; the entries are a copy, freed here, of pointers to metadata that stays.
        unsafe {
            let entries = LLVMGlobalCopyAllMetadata(self.0, &raw mut count);
            let found = (0..count as c_uint)
                .map(|number| LLVMValueMetadataEntriesGetMetadata(entries, number))
                .find(|node| {
                    matches!(
                        LLVMGetMetadataKind(*node),
                        LLVMMetadataKind::LLVMDIGlobalVariableExpressionMetadataKind
                    )
                })
                .map(|node| LLVMDIGlobalVariableExpressionGetVariable(node));
            LLVMDisposeValueMetadataEntries(entries);
            found
                .filter(|node| !node.is_null())
                .map(|node| Node(node, PhantomData))
        }
    }

    /// The type of what a global names.
    pub(super) fn value_type(self) -> Option<Type<'m>> {
        // SAFETY: a global.
        self.is_global()
            .then(|| Type(unsafe { LLVMGlobalGetValueType(self.0) }, PhantomData))
    }

    pub(super) fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: a global variable; the answer is null where it has no initializer.
        (self.kind() == ValueKind::LLVMGlobalVariableValueKind)
            .then(|| wrap(unsafe { LLVMGetInitializer(self.0) }))
            .flatten()
    }

    pub(super) fn aliasee(self) -> Option<Value<'m>> {
        // SAFETY: an alias.
        (self.kind() == ValueKind::LLVMGlobalAliasValueKind)
            .then(|| wrap(unsafe { LLVMAliasGetAliasee(self.0) }))
            .flatten()
    }

    pub(super) fn calling_convention(self) -> u32 {
        // SAFETY: a function.
        if self.is_function() {
            unsafe { LLVMGetFunctionCallConv(self.0) }
        } else {
            0
        }
    }

    pub(super) fn params(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a function, asked for as many parameters as it says that it has.
        let count = if self.is_function() {
            unsafe { LLVMCountParams(self.0) }
        } else {
            0
        };
        (0..count).filter_map(move |number| wrap(unsafe { LLVMGetParam(self.0, number) }))
    }

    pub(super) fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        let first = if self.is_function() {
            // SAFETY: a function; each block leads to the next, and the last to null.
            unsafe { LLVMGetFirstBasicBlock(self.0) }
        } else {
            std::ptr::null_mut()
        };
        successors((!first.is_null()).then_some(first), |&block| {
            let next = unsafe { LLVMGetNextBasicBlock(block) };
            (!next.is_null()).then_some(next)
        })
        .map(|block| Block(block, PhantomData))
    }

    pub(super) fn subprogram(self) -> Option<Node<'m>> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: a function.
        let node = unsafe { LLVMGetSubprogram(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }

    /// A string attribute of a function (`"nvvm.maxntid"`).
    pub(super) fn string_attribute(self, name: &str) -> Option<&'m str> {
        if !self.is_function() {
            return None;
        }
        let mut length = 0;
        // SAFETY: a function; the name is given with its length, and the value lives as long as the context.
        unsafe {
            let attribute = LLVMGetStringAttributeAtIndex(
                self.0,
                FUNCTION_ATTRIBUTES,
                name.as_ptr().cast::<c_char>(),
                name.len() as c_uint,
            );
            if attribute.is_null() {
                return None;
            }
            let value = LLVMGetStringAttributeValue(attribute, &raw mut length);
            Some(text(value, length as usize))
        }
    }

    pub(super) fn is_noreturn(self) -> bool {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("noreturn"));
        self.attribute(FUNCTION_ATTRIBUTES, *KIND).is_some()
    }

    fn attribute(self, place: u32, kind: u32) -> Option<LLVMAttributeRef> {
        if kind == 0 || !self.is_function() {
            return None;
        }
        // SAFETY: a function, and a kind of attribute that LLVM knows.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, place, kind) };
        (!attribute.is_null()).then_some(attribute)
    }

    /// The type that a parameter's memory has, where it is passed by value.
    pub(super) fn by_value(self, param: u32) -> Option<Type<'m>> {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("byval"));
        let attribute = self.attribute(param + 1, *KIND)?;
        // SAFETY: `byval` has a type.
        let ty = unsafe { LLVMGetTypeAttributeValue(attribute) };
        (!ty.is_null()).then_some(Type(ty, PhantomData))
    }

    /// The alignment that a parameter's attributes give its memory.
    pub(super) fn param_align(self, param: u32) -> Option<u32> {
        static KIND: LazyLock<u32> = LazyLock::new(|| attribute_kind("align"));
        let attribute = self.attribute(param + 1, *KIND)?;
        // SAFETY: `align` has a number.
        u32::try_from(unsafe { LLVMGetEnumAttributeValue(attribute) }).ok()
    }

    /// The operands of a node; none for what is no node.
    fn node_operands(self) -> Vec<Option<Value<'m>>> {
        // SAFETY: metadata as a value is looked at before it is taken for a node; LLVM writes exactly as many operands
        // as it announces.
        unsafe {
            if self.kind() != ValueKind::LLVMMetadataAsValueValueKind || LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let count = LLVMGetMDNodeNumOperands(self.0);
            if count > MAX_NODE_OPERANDS {
                return Vec::new();
            }
            let mut operands = vec![std::ptr::null_mut(); count as usize];
            LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr());
            operands.into_iter().map(wrap).collect()
        }
    }

    /// A string in metadata.
    pub(super) fn string(self) -> Option<&'m str> {
        let mut length = 0;
        // SAFETY: the answer is null for what is no string.
        unsafe {
            if self.kind() != ValueKind::LLVMMetadataAsValueValueKind {
                return None;
            }
            let string = LLVMGetMDString(self.0, &raw mut length);
            (!string.is_null()).then(|| text(string, length as usize))
        }
    }

    /// The node that this value wraps.
    pub(super) fn node(self) -> Option<Node<'m>> {
        if self.kind() != ValueKind::LLVMMetadataAsValueValueKind {
            return None;
        }
        // SAFETY: metadata as a value.
        let node = unsafe { LLVMValueAsMetadata(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }
}

/// LLVM's number for a kind of attribute; 0 for one that it does not know.
fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the name is given with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast::<c_char>(), name.len()) }
}

/// Where LLVM keeps the attributes of the function itself (parameters begin at 1, the return value is 0).
const FUNCTION_ATTRIBUTES: u32 = u32::MAX;

impl<'m> Block<'m> {
    pub(super) fn instructions(self) -> impl Iterator<Item = Value<'m>> {
        // SAFETY: a live block; each instruction leads to the next.
        let first = unsafe { LLVMGetFirstInstruction(self.0) };
        chain(first, |value| unsafe { LLVMGetNextInstruction(value) })
    }
}

/// Kinds of metadata, as LLVM numbers them for `LLVMGetMetadataKind`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Location,
    Subprogram,
    LexicalBlock,
    Other,
}

impl<'m> Node<'m> {
    pub(super) fn kind(self) -> NodeKind {
        // SAFETY: live metadata.
        match unsafe { LLVMGetMetadataKind(self.0) } {
            LLVMMetadataKind::LLVMDILocationMetadataKind => NodeKind::Location,
            LLVMMetadataKind::LLVMDISubprogramMetadataKind => NodeKind::Subprogram,
            LLVMMetadataKind::LLVMDILexicalBlockMetadataKind
            | LLVMMetadataKind::LLVMDILexicalBlockFileMetadataKind => NodeKind::LexicalBlock,
            _ => NodeKind::Other,
        }
    }

    /// Line, column, scope and the location it is inlined at, of a location.
    pub(super) fn location(self) -> Option<(u32, u32, Option<Node<'m>>, Option<Node<'m>>)> {
        if self.kind() != NodeKind::Location {
            return None;
        }
        let wrap = |node: LLVMMetadataRef| (!node.is_null()).then_some(Node(node, PhantomData));
        // SAFETY: a location.
        unsafe {
            Some((
                LLVMDILocationGetLine(self.0),
                LLVMDILocationGetColumn(self.0),
                wrap(LLVMDILocationGetScope(self.0)),
                wrap(LLVMDILocationGetInlinedAt(self.0)),
            ))
        }
    }

    /// The DWARF tag of a type; 0 for what is none.
    pub(super) fn type_tag(self) -> u16 {
        // SAFETY: live metadata, asked for its tag if it is a type.
        unsafe {
            match LLVMGetMetadataKind(self.0) {
                LLVMMetadataKind::LLVMDIBasicTypeMetadataKind
                | LLVMMetadataKind::LLVMDIDerivedTypeMetadataKind
                | LLVMMetadataKind::LLVMDICompositeTypeMetadataKind => LLVMGetDINodeTag(self.0),
                _ => 0,
            }
        }
    }

    /// The line of a subprogram.
    pub(super) fn line(self) -> u32 {
        if self.kind() == NodeKind::Subprogram {
            // SAFETY: a subprogram.
            unsafe { LLVMDISubprogramGetLine(self.0) }
        } else {
            0
        }
    }

    /// Directory and name of a scope's file.
    pub(super) fn file(self) -> Option<(&'m str, &'m str)> {
        if !matches!(self.kind(), NodeKind::Subprogram | NodeKind::LexicalBlock) {
            return None;
        }
        let (mut a, mut b) = (0, 0);
        // SAFETY: a scope; its file may be missing, and the strings are a part of the context.
        unsafe {
            let file = LLVMDIScopeGetFile(self.0);
            if file.is_null() {
                return None;
            }
            let directory = LLVMDIFileGetDirectory(file, &raw mut a);
            let name = LLVMDIFileGetFilename(file, &raw mut b);
            Some((text(directory, a as usize), text(name, b as usize)))
        }
    }
}
