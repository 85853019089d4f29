//! Declarations of MLIR's C interface (`mlir-c/*.h`) and of LLVM's (`llvm-c/*.h`), as far as they are used here.
//!
//! Handles are structures of one pointer, passed by value.

use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name {
            pub(super) ptr: *mut c_void,
        }
    )*};
}

handles! {
    MlirContext, MlirDialectRegistry, MlirModule, MlirOperation, MlirBlock, MlirRegion, MlirAttribute, MlirIdentifier, MlirLocation,
    MlirValue, MlirPassManager, MlirOpPassManager, MlirOpPrintingFlags, MlirDiagnostic, MlirType,
}

/// Bytes that somebody else owns, without a NUL at the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MlirStringRef {
    pub(super) data: *const c_char,
    pub(super) length: usize,
}

/// 0 is a failure.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MlirLogicalResult {
    pub(super) value: i8,
}

pub(super) type MlirStringCallback = unsafe extern "C" fn(MlirStringRef, *mut c_void);
pub(super) type MlirDiagnosticHandler =
    unsafe extern "C" fn(MlirDiagnostic, *mut c_void) -> MlirLogicalResult;
pub(super) type MlirOperationWalkCallback = unsafe extern "C" fn(MlirOperation, *mut c_void) -> c_int;

/// `MlirWalkResultAdvance`
pub(super) const WALK_ADVANCE: c_int = 0;
/// `MlirWalkPreOrder`
pub(super) const WALK_PRE_ORDER: c_int = 0;
/// `MlirDiagnosticError`
pub(super) const DIAGNOSTIC_ERROR: c_int = 0;

pub(super) type LLVMContextRef = *mut c_void;
pub(super) type LLVMModuleRef = *mut c_void;
pub(super) type LLVMMemoryBufferRef = *mut c_void;

unsafe extern "C" {
    // RegisterEverything.h
    pub(super) fn mlirRegisterAllDialects(registry: MlirDialectRegistry);
    pub(super) fn mlirRegisterAllLLVMTranslations(context: MlirContext);
    pub(super) fn mlirRegisterAllPasses();

    // IR.h
    pub(super) fn mlirDialectRegistryCreate() -> MlirDialectRegistry;
    pub(super) fn mlirDialectRegistryDestroy(registry: MlirDialectRegistry);
    pub(super) fn mlirContextCreateWithRegistry(
        registry: MlirDialectRegistry,
        threading: bool,
    ) -> MlirContext;
    pub(super) fn mlirContextDestroy(context: MlirContext);
    pub(super) fn mlirContextSetAllowUnregisteredDialects(context: MlirContext, allow: bool);
    pub(super) fn mlirModuleCreateParse(context: MlirContext, text: MlirStringRef) -> MlirModule;
    pub(super) fn mlirModuleCreateEmpty(location: MlirLocation) -> MlirModule;
    pub(super) fn mlirModuleFromOperation(operation: MlirOperation) -> MlirModule;
    pub(super) fn mlirModuleDestroy(module: MlirModule);
    pub(super) fn mlirModuleGetBody(module: MlirModule) -> MlirBlock;
    pub(super) fn mlirModuleGetOperation(module: MlirModule) -> MlirOperation;
    pub(super) fn mlirBlockGetFirstOperation(block: MlirBlock) -> MlirOperation;
    pub(super) fn mlirBlockAppendOwnedOperation(block: MlirBlock, operation: MlirOperation);
    pub(super) fn mlirOperationGetFirstRegion(operation: MlirOperation) -> MlirRegion;
    pub(super) fn mlirRegionGetFirstBlock(region: MlirRegion) -> MlirBlock;
    pub(super) fn mlirOperationClone(operation: MlirOperation) -> MlirOperation;
    pub(super) fn mlirOperationGetNextInBlock(operation: MlirOperation) -> MlirOperation;
    pub(super) fn mlirOperationGetName(operation: MlirOperation) -> MlirIdentifier;
    pub(super) fn mlirOperationGetLocation(operation: MlirOperation) -> MlirLocation;
    pub(super) fn mlirOperationGetNumOperands(operation: MlirOperation) -> isize;
    pub(super) fn mlirOperationGetOperand(operation: MlirOperation, position: isize) -> MlirValue;
    pub(super) fn mlirOperationGetAttributeByName(
        operation: MlirOperation,
        name: MlirStringRef,
    ) -> MlirAttribute;
    pub(super) fn mlirOperationSetAttributeByName(
        operation: MlirOperation,
        name: MlirStringRef,
        attribute: MlirAttribute,
    );
    pub(super) fn mlirOperationRemoveAttributeByName(operation: MlirOperation, name: MlirStringRef) -> bool;
    pub(super) fn mlirOperationWalk(
        operation: MlirOperation,
        callback: MlirOperationWalkCallback,
        data: *mut c_void,
        order: c_int,
    );
    pub(super) fn mlirOperationPrintWithFlags(
        operation: MlirOperation,
        flags: MlirOpPrintingFlags,
        callback: MlirStringCallback,
        data: *mut c_void,
    );
    pub(super) fn mlirOpPrintingFlagsCreate() -> MlirOpPrintingFlags;
    pub(super) fn mlirOpPrintingFlagsDestroy(flags: MlirOpPrintingFlags);
    pub(super) fn mlirOpPrintingFlagsEnableDebugInfo(flags: MlirOpPrintingFlags, enable: bool, pretty: bool);
    pub(super) fn mlirIdentifierStr(identifier: MlirIdentifier) -> MlirStringRef;
    pub(super) fn mlirValueIsAOpResult(value: MlirValue) -> bool;
    pub(super) fn mlirOpResultGetOwner(value: MlirValue) -> MlirOperation;
    pub(super) fn mlirAttributeParseGet(context: MlirContext, text: MlirStringRef) -> MlirAttribute;
    pub(super) fn mlirAttributePrint(
        attribute: MlirAttribute,
        callback: MlirStringCallback,
        data: *mut c_void,
    );
    pub(super) fn mlirLocationFileLineColGet(
        context: MlirContext,
        file: MlirStringRef,
        line: c_uint,
        column: c_uint,
    ) -> MlirLocation;
    pub(super) fn mlirLocationIsAFileLineColRange(location: MlirLocation) -> bool;
    pub(super) fn mlirLocationFileLineColRangeGetFilename(location: MlirLocation) -> MlirIdentifier;
    pub(super) fn mlirLocationFileLineColRangeGetStartLine(location: MlirLocation) -> c_int;
    pub(super) fn mlirLocationFileLineColRangeGetStartColumn(location: MlirLocation) -> c_int;

    // BuiltinAttributes.h
    pub(super) fn mlirAttributeIsAInteger(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirAttributeGetType(attribute: MlirAttribute) -> MlirType;
    pub(super) fn mlirIntegerAttrGetValueInt(attribute: MlirAttribute) -> i64;
    pub(super) fn mlirAttributeIsAString(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirStringAttrGet(context: MlirContext, text: MlirStringRef) -> MlirAttribute;
    pub(super) fn mlirStringAttrGetValue(attribute: MlirAttribute) -> MlirStringRef;
    pub(super) fn mlirAttributeIsAArray(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirArrayAttrGetNumElements(attribute: MlirAttribute) -> isize;
    pub(super) fn mlirArrayAttrGetElement(attribute: MlirAttribute, position: isize) -> MlirAttribute;
    pub(super) fn mlirAttributeIsADenseI32Array(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirDenseArrayGetNumElements(attribute: MlirAttribute) -> isize;
    pub(super) fn mlirDenseI32ArrayGetElement(attribute: MlirAttribute, position: isize) -> i32;
    pub(super) fn mlirDenseI32ArrayGet(
        context: MlirContext,
        count: isize,
        values: *const i32,
    ) -> MlirAttribute;
    pub(super) fn mlirAttributeIsASymbolRef(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirSymbolRefAttrGetRootReference(attribute: MlirAttribute) -> MlirStringRef;
    pub(super) fn mlirSymbolRefAttrGetLeafReference(attribute: MlirAttribute) -> MlirStringRef;

    // BuiltinTypes.h
    pub(super) fn mlirTypeIsAInteger(ty: MlirType) -> bool;
    pub(super) fn mlirIntegerTypeGetWidth(ty: MlirType) -> c_uint;

    // Dialect/GPU.h
    pub(super) fn mlirAttributeIsAGPUObjectAttr(attribute: MlirAttribute) -> bool;
    pub(super) fn mlirGPUObjectAttrGetObject(attribute: MlirAttribute) -> MlirStringRef;
    pub(super) fn mlirGPUObjectAttrGetTarget(attribute: MlirAttribute) -> MlirAttribute;

    // Diagnostics.h
    pub(super) fn mlirContextAttachDiagnosticHandler(
        context: MlirContext,
        handler: MlirDiagnosticHandler,
        data: *mut c_void,
        delete: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> u64;
    pub(super) fn mlirDiagnosticGetLocation(diagnostic: MlirDiagnostic) -> MlirLocation;
    pub(super) fn mlirDiagnosticGetSeverity(diagnostic: MlirDiagnostic) -> c_int;
    pub(super) fn mlirDiagnosticPrint(
        diagnostic: MlirDiagnostic,
        callback: MlirStringCallback,
        data: *mut c_void,
    );

    // Pass.h
    pub(super) fn mlirPassManagerCreate(context: MlirContext) -> MlirPassManager;
    pub(super) fn mlirPassManagerDestroy(manager: MlirPassManager);
    pub(super) fn mlirPassManagerGetAsOpPassManager(manager: MlirPassManager) -> MlirOpPassManager;
    pub(super) fn mlirPassManagerRunOnOp(
        manager: MlirPassManager,
        operation: MlirOperation,
    ) -> MlirLogicalResult;
    pub(super) fn mlirParsePassPipeline(
        manager: MlirOpPassManager,
        pipeline: MlirStringRef,
        callback: MlirStringCallback,
        data: *mut c_void,
    ) -> MlirLogicalResult;

    // Target/LLVMIR.h
    pub(super) fn mlirTranslateModuleToLLVMIR(
        module: MlirOperation,
        context: LLVMContextRef,
    ) -> LLVMModuleRef;

    // llvm-c/Core.h, BitWriter.h
    pub(super) fn LLVMContextCreate() -> LLVMContextRef;
    pub(super) fn LLVMContextDispose(context: LLVMContextRef);
    pub(super) fn LLVMDisposeModule(module: LLVMModuleRef);
    pub(super) fn LLVMSetTarget(module: LLVMModuleRef, triple: *const c_char);
    pub(super) fn LLVMWriteBitcodeToMemoryBuffer(module: LLVMModuleRef) -> LLVMMemoryBufferRef;
    pub(super) fn LLVMGetBufferStart(buffer: LLVMMemoryBufferRef) -> *const c_char;
    pub(super) fn LLVMGetBufferSize(buffer: LLVMMemoryBufferRef) -> usize;
    pub(super) fn LLVMDisposeMemoryBuffer(buffer: LLVMMemoryBufferRef);
}
