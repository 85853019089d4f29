//! The names of opcodes in LLVM's text, and the form of a line with one.

use super::raw::Opcode;

/// Opcodes that stand nowhere else on a line than at the start of an instruction.
pub(super) fn has_no_result(opcode: Opcode) -> bool {
    ends_block(opcode) || is_call(opcode) || matches!(opcode, Opcode::LLVMStore | Opcode::LLVMFence)
}

pub(super) fn is_call(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr)
}

/// True if a block ends with it, among the opcodes that the lowering knows.
pub(super) fn is_terminator(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::LLVMRet
            | Opcode::LLVMBr
            | Opcode::LLVMSwitch
            | Opcode::LLVMIndirectBr
            | Opcode::LLVMUnreachable
            | Opcode::LLVMInvoke
            | Opcode::LLVMCallBr
            | Opcode::LLVMResume
    )
}

pub(super) fn ends_block(opcode: Opcode) -> bool {
    is_terminator(opcode)
        || matches!(
            opcode,
            Opcode::LLVMCleanupRet | Opcode::LLVMCatchRet | Opcode::LLVMCatchSwitch
        )
}

/// The opcode that an instruction's first word names (LLVM Language Reference, Instruction Reference).
pub(super) fn opcode(word: &[u8]) -> Option<Opcode> {
    use Opcode as O;
    Some(match word {
        b"ret" => O::LLVMRet,
        b"br" => O::LLVMBr,
        b"switch" => O::LLVMSwitch,
        b"indirectbr" => O::LLVMIndirectBr,
        b"invoke" => O::LLVMInvoke,
        b"callbr" => O::LLVMCallBr,
        b"unreachable" => O::LLVMUnreachable,
        b"resume" => O::LLVMResume,
        b"cleanupret" => O::LLVMCleanupRet,
        b"catchret" => O::LLVMCatchRet,
        b"catchswitch" => O::LLVMCatchSwitch,
        b"catchpad" => O::LLVMCatchPad,
        b"cleanuppad" => O::LLVMCleanupPad,
        b"landingpad" => O::LLVMLandingPad,
        b"fneg" => O::LLVMFNeg,
        b"add" => O::LLVMAdd,
        b"fadd" => O::LLVMFAdd,
        b"sub" => O::LLVMSub,
        b"fsub" => O::LLVMFSub,
        b"mul" => O::LLVMMul,
        b"fmul" => O::LLVMFMul,
        b"udiv" => O::LLVMUDiv,
        b"sdiv" => O::LLVMSDiv,
        b"fdiv" => O::LLVMFDiv,
        b"urem" => O::LLVMURem,
        b"srem" => O::LLVMSRem,
        b"frem" => O::LLVMFRem,
        b"shl" => O::LLVMShl,
        b"lshr" => O::LLVMLShr,
        b"ashr" => O::LLVMAShr,
        b"and" => O::LLVMAnd,
        b"or" => O::LLVMOr,
        b"xor" => O::LLVMXor,
        b"alloca" => O::LLVMAlloca,
        b"load" => O::LLVMLoad,
        b"store" => O::LLVMStore,
        b"getelementptr" => O::LLVMGetElementPtr,
        b"fence" => O::LLVMFence,
        b"cmpxchg" => O::LLVMAtomicCmpXchg,
        b"atomicrmw" => O::LLVMAtomicRMW,
        b"trunc" => O::LLVMTrunc,
        b"zext" => O::LLVMZExt,
        b"sext" => O::LLVMSExt,
        b"fptoui" => O::LLVMFPToUI,
        b"fptosi" => O::LLVMFPToSI,
        b"uitofp" => O::LLVMUIToFP,
        b"sitofp" => O::LLVMSIToFP,
        b"fptrunc" => O::LLVMFPTrunc,
        b"fpext" => O::LLVMFPExt,
        b"ptrtoint" => O::LLVMPtrToInt,
        #[cfg(feature = "llvm")]
        b"ptrtoaddr" => O::LLVMPtrToAddr,
        b"inttoptr" => O::LLVMIntToPtr,
        b"bitcast" => O::LLVMBitCast,
        b"addrspacecast" => O::LLVMAddrSpaceCast,
        b"icmp" => O::LLVMICmp,
        b"fcmp" => O::LLVMFCmp,
        b"phi" => O::LLVMPHI,
        b"call" => O::LLVMCall,
        b"select" => O::LLVMSelect,
        b"freeze" => O::LLVMFreeze,
        b"va_arg" => O::LLVMVAArg,
        b"extractelement" => O::LLVMExtractElement,
        b"insertelement" => O::LLVMInsertElement,
        b"shufflevector" => O::LLVMShuffleVector,
        b"extractvalue" => O::LLVMExtractValue,
        b"insertvalue" => O::LLVMInsertValue,
        _ => return None,
    })
}
