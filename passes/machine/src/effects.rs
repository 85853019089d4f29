//! The effects of code that a thread is taken past: the values that are unknown after it.

use std::sync::{Arc, Mutex, PoisonError};

use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    Access, AccessKind, AsyncGroup, AsyncOp, Body, Call, Callee, CopyKind, FunctionId, Instruction,
    InstructionId, Module, Op, Register, Space, SymbolId, Value,
};
use rustc_hash::FxHashMap;

use crate::limits::MAX_CALL_DEPTH;

/// The state of a thread that is unknown after it may have executed some instructions of a piece of code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Registers of the innermost frame.
    pub(crate) registers: Vec<Register>,
    /// Calls that may have returned another result.
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
    /// The code may wait for other threads, or order the thread's actions with theirs.
    pub(crate) may_order: bool,
}

/// Other threads would see that a thread executes an instruction, or it may not return: no thread can be taken past it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decisive;

impl Effects {
    /// Adds those of an instruction that is not a terminator.
    ///
    /// # Errors
    ///
    /// [`Decisive`]: a collective, a barrier, the end of the thread, or a call of code in which those may be.
    pub(crate) fn add(
        &mut self,
        callees: &Callees,
        module: &Module<'_>,
        body: &Body<'_>,
        id: InstructionId,
        instruction: &Instruction,
    ) -> Result<(), Decisive> {
        self.registers.extend(body.defined(instruction));
        self.may_order |= may_order(instruction);
        match instruction.op {
            Op::Access(access) if is_returned(body, instruction) => {
                self.returns |= access.kind != AccessKind::Load;
            }
            Op::Access(access) => self.add_access(access),
            Op::Call(call) => {
                self.calls.push(id);
                self.add_call(callees, module, body.call(call), 0)?;
            }
            // The set of lanes that execute it together is not an effect.
            Op::ActiveMask => {}
            op if is_computation(op) => {}
            // Among them memory on the stack, which is part of the frame.
            _ => return Err(Decisive),
        }
        Ok(())
    }

    fn add_access(&mut self, access: Access) {
        if access.kind != AccessKind::Load {
            insert(&mut self.spaces, access.space);
        }
        if access.kind != AccessKind::Store {
            insert(&mut self.reads, access.space);
        }
    }

    /// Adds those of a call, without registers and the returned value.
    fn add_call(
        &mut self,
        callees: &Callees,
        module: &Module<'_>,
        call: &Call,
        depth: usize,
    ) -> Result<(), Decisive> {
        let Callee::Direct(symbol) = call.callee else {
            return Err(Decisive);
        };
        let function = module.called(symbol);
        let body = function.and_then(|function| module.function(function).body.as_ref());
        let (Some(function), Some(body)) = (function, body.filter(|body| !body.blocks.is_empty())) else {
            self.outside.push(symbol);
            self.may_order = true;
            return Ok(());
        };
        if module.function(function).is_damaged {
            return Err(Decisive);
        }
        let of_callee = callees.of(module, function, body, depth)?;
        for &space in &of_callee.spaces {
            insert(&mut self.spaces, space);
        }
        for &space in &of_callee.reads {
            insert(&mut self.reads, space);
        }
        for &symbol in &of_callee.outside {
            insert(&mut self.outside, symbol);
        }
        self.may_trap |= of_callee.may_trap;
        self.may_order |= of_callee.may_order;
        Ok(())
    }
}

fn insert<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) {
        list.push(one);
    }
}

/// The effects of the functions of a module that calls have asked for; `None` for those that no thread can be taken past.
#[derive(Debug, Default)]
pub(crate) struct Callees(Mutex<FxHashMap<FunctionId, Option<Arc<Effects>>>>);

impl Callees {
    fn of(
        &self,
        module: &Module<'_>,
        function: FunctionId,
        body: &Body<'_>,
        depth: usize,
    ) -> Result<Arc<Effects>, Decisive> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&function) {
            return known.clone().ok_or(Decisive);
        }
        // Recursion may never return: until more is known, no thread can be taken past the function.
        lock().insert(function, None);
        if depth >= MAX_CALL_DEPTH {
            return Err(Decisive);
        }
        let mut effects = Effects::default();
        for instruction in &body.instructions {
            effects.may_order |= may_order(instruction);
            match instruction.op {
                Op::Access(_) if is_returned(body, instruction) => {}
                Op::Access(access) => effects.add_access(access),
                Op::Call(call) => effects.add_call(self, module, body.call(call), depth + 1)?,
                // Its registers and its memory go with it.
                Op::StackAlloc | Op::Return | Op::Branch | Op::BranchTable | Op::Assume => {}
                Op::Trap => effects.may_trap = true,
                op if is_computation(op) || op == Op::ActiveMask => {}
                _ => return Err(Decisive),
            }
        }
        let effects = Arc::new(effects);
        lock().insert(function, Some(Arc::clone(&effects)));
        Ok(effects)
    }
}

/// True for an access of the value that the function returns.
pub(crate) fn is_returned(body: &Body<'_>, instruction: &Instruction) -> bool {
    matches!(body.uses(instruction), [Value::ReturnSlot(..), ..])
}

/// Results that a matrix operation has at least, and arithmetic has not.
const MATRIX_RESULTS: usize = 2;

/// True for an instruction that may wait for other threads, or order the thread's actions with theirs: an atomic access, or an instruction
/// unknown to the IR without a result, or with the results of a matrix operation.
pub(crate) fn may_order(instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Access(access) => {
            access.is_ordering() || !matches!(access.kind, AccessKind::Load | AccessKind::Store)
        }
        Op::Opaque | Op::SetRegisters(_) => !(1..MATRIX_RESULTS).contains(&usize::from(instruction.results)),
        _ => false,
    }
}

/// An asynchronous operation that neither waits for other threads nor tells them anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnPart {
    /// The destination of a `cp.async`, of so many bytes.
    Destination(u64),
    /// Another part of a `cp.async`, the end of a group of these, the wait for them.
    Other,
    /// A fence between threads.
    Fence,
}

/// The part of such an operation that an instruction is.
pub(crate) fn own_part(body: &Body<'_>, at: InstructionId) -> Option<OwnPart> {
    let later = body.asynchronous.partition_point(|one| one.instruction <= at);
    let one = body.asynchronous.get(later.checked_sub(1)?)?;
    let is_first = one.instruction == at;
    match one.op {
        AsyncOp::ThreadFence(_) if is_first => Some(OwnPart::Fence),
        AsyncOp::Commit(AsyncGroup::Element) if is_first => Some(OwnPart::Other),
        AsyncOp::Wait { group, .. } if is_first && group == AsyncGroup::Element => Some(OwnPart::Other),
        AsyncOp::Copy(copy) if copy.kind == CopyKind::Element => {
            if one.destination() == Some(at) {
                let bytes = match body.async_value(one, one.values.bytes) {
                    Some(Value::Integer(bytes @ (4 | 8 | 16))) => bytes as u64,
                    _ => return None,
                };
                return Some(OwnPart::Destination(bytes));
            }
            (is_first || one.source() == Some(at)).then_some(OwnPart::Other)
        }
        _ => None,
    }
}

/// True for an instruction without effects other than its results.
pub(crate) const fn is_computation(op: Op) -> bool {
    is_interpreted(op)
        || match op {
            Op::CompareOther
            | Op::ToGeneric(..)
            | Op::FromGeneric(..)
            | Op::IsSpace(_)
            | Op::MapShared(_)
            | Op::CallResult(_)
            | Op::SetRegisters(_)
            | Op::Opaque => true,
            Op::Access(access) => matches!(access.kind, AccessKind::Load),
            _ => false,
        }
}
