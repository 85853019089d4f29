//! MLIR's C interface wrapped in safe handles. This file and `mlir/ffi.rs` are the only ones of the program with
//! `unsafe` code.
//!
//! Invariants that every block rests on:
//!
//! * An [`Operation`] or [`Attribute`] with lifetime `'m` is made only from a [`Module`] or a [`Context`] that is borrowed for
//!   `'m`, or from another such handle. What erases operations, passes, borrows the module mutably. Attributes live as long as
//!   their context.
//! * A null handle is never kept: handles that may be null are checked first.
//! * MLIR checks the kind of its arguments with assertions at most. A function whose callee wants a certain kind checks the kind first,
//!   and returns `None` for another.
//! * Callbacks are called during the call that they are handed to, but for that of diagnostics, whose data the context owns.
#![allow(unsafe_code)]

mod ffi;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use ptxcheck_frontend_mlir::message::Diagnostic;

use ffi::*;

/// The memory of MLIR for one input, and what MLIR says about it.
pub(crate) struct Context {
    raw: MlirContext,
    /// Boxed: MLIR has its address.
    said: Box<RefCell<Vec<Said>>>,
}

/// An error that MLIR reports, with the file that its place is in.
#[derive(Debug)]
struct Said {
    diagnostic: Diagnostic,
    file: Vec<u8>,
}

/// A `builtin.module`.
pub(crate) struct Module<'c> {
    raw: MlirModule,
    context: &'c Context,
}

/// An operation.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'m>(MlirOperation, PhantomData<&'m ()>);

/// An attribute.
#[derive(Clone, Copy)]
pub(crate) struct Attribute<'m>(MlirAttribute, PhantomData<&'m ()>);

fn reference(text: &[u8]) -> MlirStringRef {
    MlirStringRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// The bytes that MLIR shows.
///
/// # Safety
///
/// They live, unchanged, for `'m`.
unsafe fn shown<'m>(text: MlirStringRef) -> &'m [u8] {
    if text.length == 0 {
        return &[];
    }
    // SAFETY: the caller's, and MLIR's references have that many bytes.
    unsafe { std::slice::from_raw_parts(text.data.cast(), text.length) }
}

/// Appends what MLIR prints to the `Vec<u8>` that `data` is.
unsafe extern "C" fn append(text: MlirStringRef, data: *mut c_void) {
    // SAFETY: `printed` hands over a vector that nobody else uses meanwhile, and the text lives during the call.
    unsafe { (*data.cast::<Vec<u8>>()).extend_from_slice(shown(text)) }
}

/// The text that `print` hands to the callback and the data that it is given.
fn printed(print: impl FnOnce(MlirStringCallback, *mut c_void)) -> Vec<u8> {
    let mut text = Vec::new();
    print(append, ptr::from_mut(&mut text).cast());
    text
}

/// Keeps an error in the list of its context.
unsafe extern "C" fn keep(diagnostic: MlirDiagnostic, data: *mut c_void) -> MlirLogicalResult {
    // SAFETY: the diagnostic lives during the call, and the list as long as the context that calls; a location of a diagnostic is
    // never null, and is a range where it is said to be one.
    unsafe {
        if mlirDiagnosticGetSeverity(diagnostic) == DIAGNOSTIC_ERROR {
            let location = mlirDiagnosticGetLocation(diagnostic);
            let mut said = Said {
                diagnostic: Diagnostic::default(),
                file: Vec::new(),
            };
            if mlirLocationIsAFileLineColRange(location) {
                let file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
                said.file = shown(file).to_vec();
                let number = |number: c_int| u32::try_from(number).unwrap_or(0);
                said.diagnostic.line = number(mlirLocationFileLineColRangeGetStartLine(location));
                said.diagnostic.column = number(mlirLocationFileLineColRangeGetStartColumn(location));
            }
            let text = printed(|callback, data| mlirDiagnosticPrint(diagnostic, callback, data));
            said.diagnostic.message = one_line(&text);
            (*data.cast::<RefCell<Vec<Said>>>()).borrow_mut().push(said);
        }
    }
    MlirLogicalResult { value: 1 }
}

fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Has MLIR know all its passes: once.
pub(crate) fn register_passes() {
    // SAFETY: nothing but tables of MLIR's own.
    unsafe { mlirRegisterAllPasses() }
}

impl Context {
    /// A context with all dialects that MLIR has. Operations of other dialects are read, too, as unknown ones.
    pub(crate) fn new() -> Self {
        let said = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the registry is copied into the context; the list outlives it.
        let raw = unsafe {
            let registry = mlirDialectRegistryCreate();
            mlirRegisterAllDialects(registry);
            let raw = mlirContextCreateWithRegistry(registry, false);
            mlirDialectRegistryDestroy(registry);
            mlirRegisterAllLLVMTranslations(raw);
            mlirContextSetAllowUnregisteredDialects(raw, true);
            let data = ptr::from_ref::<RefCell<Vec<Said>>>(&said).cast_mut().cast();
            mlirContextAttachDiagnosticHandler(raw, keep, data, None);
            raw
        };
        Self { raw, said }
    }

    /// The first error since the last call, with its place if that is in the text that was parsed.
    pub(crate) fn take_error(&self) -> Option<Diagnostic> {
        let said = std::mem::take(&mut *self.said.borrow_mut());
        let Said { diagnostic, file } = said.into_iter().next()?;
        let (line, column) = if file == Module::FILE {
            (diagnostic.line, diagnostic.column)
        } else {
            (0, 0)
        };
        Some(Diagnostic {
            line,
            column,
            ..diagnostic
        })
    }

    /// The attribute that a text is.
    fn attribute(&self, text: &str) -> Option<Attribute<'_>> {
        // SAFETY: the context lives.
        Attribute::of(unsafe { mlirAttributeParseGet(self.raw, reference(text.as_bytes())) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow their context, so none is left.
        unsafe { mlirContextDestroy(self.raw) }
    }
}

impl<'c> Module<'c> {
    /// The name of the file that MLIR gives to places in a text that was parsed.
    pub(crate) const FILE: &'static [u8] = b"-";

    /// Has MLIR read text or bytecode; `None` with an error in the context.
    pub(crate) fn parse(context: &'c Context, text: &[u8]) -> Option<Self> {
        // MLIR's lexer reads one byte past the text, which has to be a NUL.
        let mut ended = Vec::with_capacity(text.len() + 1);
        ended.extend_from_slice(text);
        ended.push(0);
        // SAFETY: the context lives; the text is copied or read during the call.
        let raw = unsafe { mlirModuleCreateParse(context.raw, reference(&ended[..text.len()])) };
        (!raw.ptr.is_null()).then_some(Self { raw, context })
    }

    /// One without operations.
    pub(crate) fn empty(context: &'c Context) -> Self {
        // SAFETY: the context lives.
        let raw = unsafe {
            mlirModuleCreateEmpty(mlirLocationFileLineColGet(
                context.raw,
                reference(Self::FILE),
                1,
                1,
            ))
        };
        Self { raw, context }
    }

    /// A copy of an operation that is a `builtin.module`; `None` if it is another.
    pub(crate) fn copy_of(context: &'c Context, operation: Operation<'_>) -> Option<Self> {
        if operation.name() != b"builtin.module" {
            return None;
        }
        // SAFETY: the operation lives, and its copy is owned by the module.
        let raw = unsafe { mlirModuleFromOperation(mlirOperationClone(operation.0)) };
        (!raw.ptr.is_null()).then_some(Self { raw, context })
    }

    /// Adds a copy of an operation of the same context.
    pub(crate) fn add(&mut self, operation: Operation<'_>) {
        // SAFETY: the copy is handed over to the module.
        unsafe {
            mlirBlockAppendOwnedOperation(mlirModuleGetBody(self.raw), mlirOperationClone(operation.0));
        }
    }

    /// The module as an operation.
    pub(crate) fn operation(&self) -> Operation<'_> {
        // SAFETY: the module lives.
        Operation(unsafe { mlirModuleGetOperation(self.raw) }, PhantomData)
    }

    /// Its operations, without those inside them.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        self.operation().inner()
    }

    /// All operations in it, the outer ones first.
    pub(crate) fn all(&self) -> Vec<Operation<'_>> {
        unsafe extern "C" fn visit(operation: MlirOperation, data: *mut c_void) -> c_int {
            // SAFETY: `data` is the vector below, which nobody else uses meanwhile.
            unsafe { (*data.cast::<Vec<Operation<'_>>>()).push(Operation(operation, PhantomData)) };
            WALK_ADVANCE
        }
        let mut found = Vec::new();
        // SAFETY: the walk changes nothing.
        unsafe {
            mlirOperationWalk(
                mlirModuleGetOperation(self.raw),
                visit,
                ptr::from_mut(&mut found).cast(),
                WALK_PRE_ORDER,
            );
        }
        found
    }

    /// Runs passes; false with an error in the context if one fails, or there is no such pass.
    pub(crate) fn run(&mut self, pipeline: &str) -> bool {
        // SAFETY: the manager is used and freed here. Passes erase operations, and nobody has a handle of one.
        unsafe {
            let manager = mlirPassManagerCreate(self.context.raw);
            let mut is_done = false;
            let said = printed(|callback, data| {
                let parsed = mlirParsePassPipeline(
                    mlirPassManagerGetAsOpPassManager(manager),
                    reference(pipeline.as_bytes()),
                    callback,
                    data,
                );
                is_done = parsed.value != 0;
            });
            if is_done {
                is_done = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(self.raw)).value != 0;
            } else {
                let diagnostic = Diagnostic {
                    message: one_line(&said),
                    ..Diagnostic::default()
                };
                let file = Vec::new();
                self.context.said.borrow_mut().push(Said { diagnostic, file });
            }
            mlirPassManagerDestroy(manager);
            is_done
        }
    }

    /// Its text, with the locations that it carries.
    pub(crate) fn text(&self) -> Vec<u8> {
        // SAFETY: the module lives; the flags are used and freed here.
        unsafe {
            let flags = mlirOpPrintingFlagsCreate();
            mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
            let text = printed(|callback, data| {
                mlirOperationPrintWithFlags(mlirModuleGetOperation(self.raw), flags, callback, data);
            });
            mlirOpPrintingFlagsDestroy(flags);
            text
        }
    }

    /// Has MLIR make LLVM bitcode of an operation of this module, with this target triple; `None` with an error in the context.
    pub(crate) fn bitcode(&self, operation: Operation<'_>, triple: &std::ffi::CStr) -> Option<Vec<u8>> {
        // SAFETY: what is made here is freed here, the module before its context, and the bytes are copied before their buffer goes.
        unsafe {
            let context = LLVMContextCreate();
            let module = mlirTranslateModuleToLLVMIR(operation.0, context);
            let bytes = if module.is_null() {
                None
            } else {
                LLVMSetTarget(module, triple.as_ptr());
                let buffer = LLVMWriteBitcodeToMemoryBuffer(module);
                let start = LLVMGetBufferStart(buffer).cast();
                let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
                LLVMDisposeMemoryBuffer(buffer);
                LLVMDisposeModule(module);
                Some(bytes)
            };
            LLVMContextDispose(context);
            bytes
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: handles of its operations borrow it.
        unsafe { mlirModuleDestroy(self.raw) }
    }
}

impl<'m> Operation<'m> {
    fn of(raw: MlirOperation) -> Option<Self> {
        (!raw.ptr.is_null()).then_some(Self(raw, PhantomData))
    }

    /// The operations in the first block of its first region.
    pub(crate) fn inner(self) -> impl Iterator<Item = Self> {
        // SAFETY: the operation lives and is borrowed, so that those in it stay; what is null is not looked into.
        let first = unsafe {
            let region = mlirOperationGetFirstRegion(self.0);
            let block = (!region.ptr.is_null()).then(|| mlirRegionGetFirstBlock(region));
            block
                .filter(|block| !block.ptr.is_null())
                .and_then(|block| Self::of(mlirBlockGetFirstOperation(block)))
        };
        std::iter::successors(first, |operation| {
            // SAFETY: as above.
            Self::of(unsafe { mlirOperationGetNextInBlock(operation.0) })
        })
    }

    /// Its name, such as `gpu.module`.
    pub(crate) fn name(self) -> &'m [u8] {
        // SAFETY: names live as long as the context.
        unsafe { shown(mlirIdentifierStr(mlirOperationGetName(self.0))) }
    }

    /// The line where it begins, if it stands in the text that was parsed; 0 otherwise.
    pub(crate) fn line(self) -> u32 {
        // SAFETY: operations have a location, which is a range where it is said to be one.
        unsafe {
            let location = mlirOperationGetLocation(self.0);
            if !mlirLocationIsAFileLineColRange(location)
                || shown(mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(
                    location,
                ))) != Module::FILE
            {
                return 0;
            }
            u32::try_from(mlirLocationFileLineColRangeGetStartLine(location)).unwrap_or(0)
        }
    }

    /// The attribute of this name.
    pub(crate) fn attribute(self, name: &str) -> Option<Attribute<'m>> {
        // SAFETY: the operation lives.
        Attribute::of(unsafe { mlirOperationGetAttributeByName(self.0, reference(name.as_bytes())) })
    }

    /// Sets an attribute, as which the text is read. Handles stay valid: nothing is freed. False if it is not an attribute.
    pub(crate) fn set(self, context: &Context, name: &str, text: &str) -> bool {
        let attribute = context.attribute(text);
        if let Some(attribute) = attribute {
            // SAFETY: the operation lives, and the attribute is of its context.
            unsafe { mlirOperationSetAttributeByName(self.0, reference(name.as_bytes()), attribute.0) };
        }
        attribute.is_some()
    }

    /// Sets an attribute to that of another operation of the same context, if that has it.
    pub(crate) fn take_over(self, from: Operation<'_>, name: &str) {
        if let Some(attribute) = from.attribute(name) {
            // SAFETY: the operation lives, and the attribute is of its context.
            unsafe { mlirOperationSetAttributeByName(self.0, reference(name.as_bytes()), attribute.0) };
        }
    }

    /// Sets an attribute that is a string.
    pub(crate) fn set_text(self, context: &Context, name: &str, text: &[u8]) {
        // SAFETY: the operation lives, and the attribute is of its context.
        unsafe {
            let text = mlirStringAttrGet(context.raw, reference(text));
            mlirOperationSetAttributeByName(self.0, reference(name.as_bytes()), text);
        }
    }

    /// Sets an attribute that is a list of numbers.
    pub(crate) fn set_numbers(self, context: &Context, name: &str, numbers: &[i32]) {
        // SAFETY: the operation lives, the numbers are copied, and the attribute is of its context.
        unsafe {
            let numbers = mlirDenseI32ArrayGet(context.raw, numbers.len().cast_signed(), numbers.as_ptr());
            mlirOperationSetAttributeByName(self.0, reference(name.as_bytes()), numbers);
        }
    }

    /// Takes an attribute away.
    pub(crate) fn remove(self, name: &str) {
        // SAFETY: the operation lives.
        unsafe { mlirOperationRemoveAttributeByName(self.0, reference(name.as_bytes())) };
    }

    /// The operation that defines an operand.
    pub(crate) fn operand(self, position: usize) -> Option<Self> {
        let position = isize::try_from(position).ok()?;
        // SAFETY: the operation lives and has that operand; the owner of a result lives as long as its user.
        unsafe {
            if position >= mlirOperationGetNumOperands(self.0) {
                return None;
            }
            let value = mlirOperationGetOperand(self.0, position);
            if !mlirValueIsAOpResult(value) {
                return None;
            }
            Self::of(mlirOpResultGetOwner(value))
        }
    }
}

impl<'m> Attribute<'m> {
    fn of(raw: MlirAttribute) -> Option<Self> {
        (!raw.ptr.is_null()).then_some(Self(raw, PhantomData))
    }

    /// As text.
    pub(crate) fn printed(self) -> String {
        // SAFETY: the attribute lives.
        let text = printed(|callback, data| unsafe { mlirAttributePrint(self.0, callback, data) });
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The bytes of a string.
    pub(crate) fn text(self) -> Option<&'m [u8]> {
        // SAFETY: it is a string, whose bytes live as long as it.
        unsafe { mlirAttributeIsAString(self.0).then(|| shown(mlirStringAttrGetValue(self.0))) }
    }

    /// The elements of a list of attributes.
    pub(crate) fn elements(self) -> Vec<Self> {
        // SAFETY: it is a list, and has as many elements as it says.
        unsafe {
            if !mlirAttributeIsAArray(self.0) {
                return Vec::new();
            }
            (0..mlirArrayAttrGetNumElements(self.0))
                .filter_map(|position| Self::of(mlirArrayAttrGetElement(self.0, position)))
                .collect()
        }
    }

    /// The numbers of a list of 32-bit numbers.
    pub(crate) fn numbers(self) -> Option<Vec<i32>> {
        // SAFETY: it is such a list, and has as many elements as it says.
        unsafe {
            mlirAttributeIsADenseI32Array(self.0).then(|| {
                (0..mlirDenseArrayGetNumElements(self.0))
                    .map(|position| mlirDenseI32ArrayGetElement(self.0, position))
                    .collect()
            })
        }
    }

    /// The value of an integer of at most 64 bits, or of an index.
    pub(crate) fn integer(self) -> Option<i64> {
        // SAFETY: it is an integer, of a width that fits.
        unsafe {
            if !mlirAttributeIsAInteger(self.0) {
                return None;
            }
            let ty = mlirAttributeGetType(self.0);
            let fits = !mlirTypeIsAInteger(ty) || mlirIntegerTypeGetWidth(ty) <= i64::BITS;
            fits.then(|| mlirIntegerAttrGetValueInt(self.0))
        }
    }

    /// The outermost and the innermost name of a reference to a symbol.
    pub(crate) fn symbol(self) -> Option<(&'m [u8], &'m [u8])> {
        // SAFETY: it is such a reference, whose names live as long as it.
        unsafe {
            mlirAttributeIsASymbolRef(self.0).then(|| {
                let root = mlirSymbolRefAttrGetRootReference(self.0);
                (shown(root), shown(mlirSymbolRefAttrGetLeafReference(self.0)))
            })
        }
    }

    /// The target and the bytes of an object of a `gpu.binary`.
    pub(crate) fn object(self) -> Option<(Self, &'m [u8])> {
        // SAFETY: it is an object, whose bytes live as long as it.
        unsafe {
            if !mlirAttributeIsAGPUObjectAttr(self.0) {
                return None;
            }
            let target = Self::of(mlirGPUObjectAttrGetTarget(self.0))?;
            Some((target, shown(mlirGPUObjectAttrGetObject(self.0))))
        }
    }
}
