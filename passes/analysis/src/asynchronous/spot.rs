//! Addresses that are certainly the same: a distance in bytes from a variable, or from what a register holds.
//!
//! ```text
//! spot     = (symbol | register, offset)      through copies, conversions and sums with constants
//! same     two spots with one base, where no way from the first use to the second passes a definition of the register
//!          without passing the first use again
//! ```

use ptxcheck_ir::{BinaryOp, BlockId, Body, InstructionId, Op, Register, SymbolId, Value};
use rustc_hash::FxHashSet;

use crate::function::Analyses;

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpotBase {
    /// A variable.
    Symbol(SymbolId),
    /// The content of a register.
    Register(Register),
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Its base.
    pub base: SpotBase,
    /// Bytes from there.
    pub offset: i64,
}

/// The address of an access, if it is one with a base.
#[must_use]
pub fn spot(body: &Body<'_>, analyses: &Analyses<'_>, access: InstructionId) -> Option<Spot> {
    let instruction = body.instruction(access);
    let (Op::Access(_), &[base, Value::Integer(past), ..]) = (instruction.op, body.uses(instruction)) else {
        return None;
    };
    let mut offset = past;
    let end = analyses.definitions().trace(body, base, |at| {
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            (
                Op::Copy
                | Op::ToGeneric(..)
                | Op::FromGeneric(..)
                | Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[from],
            ) => Some(from),
            (Op::Binary(BinaryOp::Add, _), &[from, Value::Integer(by)] | &[Value::Integer(by), from]) => {
                // Addresses wrap at 32 or 64 bits; a distance that does not is what the program means.
                offset = offset.checked_add(by)?;
                Some(from)
            }
            (Op::Binary(BinaryOp::Sub, _), &[from, Value::Integer(by)]) => {
                offset = offset.checked_sub(by)?;
                Some(from)
            }
            _ => None,
        }
    });
    let base = match end {
        Value::Symbol(symbol, by) => {
            offset = offset.checked_add(by.into())?;
            SpotBase::Symbol(symbol)
        }
        // Of a register with several definitions, only what it holds at the access itself is known.
        Value::Register(register) => {
            let is_stable = end == base || analyses.definitions().only(body, register).is_some();
            is_stable.then_some(SpotBase::Register(register))?
        }
        _ => return None,
    };
    Some(Spot { base, offset })
}

/// The distance in bytes from the address of one access to that of another which is executed behind it, if their base is certainly
/// the same.
#[must_use]
pub fn distance(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    (first, from): (InstructionId, Spot),
    (second, to): (InstructionId, Spot),
) -> Option<i64> {
    if from.base != to.base {
        return None;
    }
    if let SpotBase::Register(register) = from.base {
        let mut definitions = analyses.definitions().of(register).iter();
        let is_redefined = definitions.any(|&definition| {
            leads(body, first, definition, first) && leads(body, definition, second, first)
        });
        if is_redefined {
            return None;
        }
    }
    to.offset.checked_sub(from.offset)
}

/// True if a way leads from behind an instruction to another that does not pass a third one in between.
#[must_use]
pub fn leads(body: &Body<'_>, from: InstructionId, to: InstructionId, without: InstructionId) -> bool {
    let (start, end, avoided) = (body.block_of(from), body.block_of(to), body.block_of(without));
    // Within a block, from behind `from` or from its begin on.
    let reaches_end = |begin: Option<InstructionId>| {
        let is_behind = |id: InstructionId| begin.is_none_or(|begin| begin < id);
        is_behind(to) && !(avoided == end && without < to && is_behind(without))
    };
    let passes = |block: BlockId, begin: Option<InstructionId>| {
        !(block == avoided && begin.is_none_or(|begin| begin < without))
    };
    if start == end && reaches_end(Some(from)) {
        return true;
    }
    if !passes(start, Some(from)) {
        return false;
    }
    let mut seen = FxHashSet::default();
    let mut open: Vec<BlockId> = body.successors(start).to_vec();
    while let Some(block) = open.pop() {
        if !seen.insert(block) {
            continue;
        }
        if block == end && reaches_end(None) {
            return true;
        }
        if passes(block, None) {
            open.extend(body.successors(block));
        }
    }
    false
}
