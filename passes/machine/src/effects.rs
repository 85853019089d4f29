//! The effects of code that a thread is taken past: what is not known after it.

use ptxcheck_ir::{
    Access, AccessKind, Body, Call, Callee, FunctionId, Instruction, InstructionId, Module, Op, Register,
    Space, SymbolId, Value,
};
use rustc_hash::FxHashSet;

use crate::limits::MAX_CALL_DEPTH;

/// The part of a thread that is not known any more once it has executed some of the instructions of a piece of code, or none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Registers of the innermost frame.
    pub(crate) registers: Vec<Register>,
    /// Calls, of which another result may have been returned.
    pub(crate) calls: Vec<InstructionId>,
    /// The spaces in which something may have been written; [`Space::Generic`] for any.
    pub(crate) spaces: Vec<Space>,
    /// The spaces in which something may have been read.
    pub(crate) reads: Vec<Space>,
    /// The value that the function returns may have been written.
    pub(crate) returns: bool,
    /// Functions that the module does not hold, which may have been called.
    pub(crate) outside: Vec<SymbolId>,
    /// A function that may have been called ends the grid in some case.
    pub(crate) may_trap: bool,
}

/// Others would see that a thread executes an instruction, or it may not come back: nobody can be taken past it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decisive;

impl Effects {
    /// Adds those of an instruction that is no terminator.
    ///
    /// # Errors
    ///
    /// [`Decisive`]: a collective, a barrier, the end of the thread, or a call of code in which those may be.
    pub(crate) fn add(
        &mut self,
        module: &Module<'_>,
        body: &Body<'_>,
        id: InstructionId,
        instruction: &Instruction,
    ) -> Result<(), Decisive> {
        self.registers.extend(body.defined(instruction));
        match instruction.op {
            Op::Access(access) if is_returned(body, instruction) => {
                self.returns |= access.kind != AccessKind::Load;
            }
            Op::Access(access) => self.add_access(access),
            Op::Call(call) => {
                self.calls.push(id);
                self.add_call(
                    module,
                    body.call(call),
                    &mut Vec::new(),
                    &mut FxHashSet::default(),
                )?;
            }
            // Its memory would be part of the frame.
            Op::StackAlloc => return Err(Decisive),
            _ => is_inert(instruction.op)?,
        }
        Ok(())
    }

    fn add_access(&mut self, access: Access) {
        let add = |spaces: &mut Vec<Space>| {
            if !spaces.contains(&access.space) {
                spaces.push(access.space);
            }
        };
        if access.kind != AccessKind::Load {
            add(&mut self.spaces);
        }
        if access.kind != AccessKind::Store {
            add(&mut self.reads);
        }
    }

    /// Adds those of a call. `open`: the functions that lead to it; `seen`: those whose effects are there.
    fn add_call(
        &mut self,
        module: &Module<'_>,
        call: &Call,
        open: &mut Vec<FunctionId>,
        seen: &mut FxHashSet<FunctionId>,
    ) -> Result<(), Decisive> {
        let Callee::Direct(symbol) = call.callee else {
            return Err(Decisive);
        };
        let function = module.called(symbol);
        let body = function.and_then(|function| module.function(function).body.as_ref());
        let (Some(function), Some(body)) = (function, body.filter(|body| !body.blocks.is_empty())) else {
            self.outside.push(symbol);
            return Ok(());
        };
        // Recursion may never come back.
        let is_too_deep = open.contains(&function) || open.len() >= MAX_CALL_DEPTH;
        if is_too_deep || module.function(function).is_damaged {
            return Err(Decisive);
        }
        if !seen.insert(function) {
            return Ok(());
        }
        open.push(function);
        for instruction in &body.instructions {
            match instruction.op {
                Op::Access(_) if is_returned(body, instruction) => {}
                Op::Access(access) => self.add_access(access),
                Op::Call(call) => self.add_call(module, body.call(call), open, seen)?,
                // Its registers and its memory go with it.
                Op::StackAlloc | Op::Return | Op::Branch | Op::BranchTable => {}
                Op::Trap => self.may_trap = true,
                op => is_inert(op)?,
            }
        }
        open.pop();
        Ok(())
    }
}

/// True for an access of the value that the function returns.
fn is_returned(body: &Body<'_>, instruction: &Instruction) -> bool {
    matches!(body.uses(instruction), [Value::ReturnSlot(..), ..])
}

/// An operation of which nothing is left but its results.
const fn is_inert(op: Op) -> Result<(), Decisive> {
    match op {
        Op::Copy
        | Op::Binary(..)
        | Op::Unary(..)
        | Op::MulAdd(..)
        | Op::ExtractBits(..)
        | Op::InsertBits(..)
        | Op::Lop3(_)
        | Op::FunnelShift { .. }
        | Op::Compare(..)
        | Op::CompareOther
        | Op::Select
        | Op::Convert { .. }
        | Op::Pack(_)
        | Op::Unpack(_)
        | Op::ToGeneric(..)
        | Op::FromGeneric(..)
        | Op::IsSpace(_)
        | Op::MapShared(_)
        | Op::ActiveMask
        | Op::CallResult(_)
        | Op::Opaque => Ok(()),
        Op::Access(_)
        | Op::Collective(..)
        | Op::Barrier(_)
        | Op::Call(_)
        | Op::StackAlloc
        | Op::Branch
        | Op::BranchTable
        | Op::Return
        | Op::Exit
        | Op::Trap => Err(Decisive),
    }
}
