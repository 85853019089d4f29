//! Uses of the result of a cast: `cvta` of a pointer outside the window is undefined in its result alone (PTX ISA,
//! cvta), so it does no harm until then.
//!
//! ```text
//! result     the registers that the cast writes, and those computed from them, through variables on the stack, too
//! used       an access at it, or an operation that is not interpreted, comes whenever the cast is executed; or a call that
//!            passes it to a function that certainly accesses it
//! returned   the function returns it whenever the cast is executed: then it is as the result of the call to the caller
//! ```

use rustc_hash::FxHashSet;

use super::entered::{Entered, Executed, follows};
use super::judge::Use;
use super::solver::callee;
use super::summary::Summaries;
use crate::call_graph::CallSite;
use crate::function::Analyses;
use crate::shared::Shared;
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::{Body, FunctionId, InstructionId, Op, Register, Value};

/// The fate of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Used,
    Returned,
    Unused,
}

/// True if the result of a cast is certainly used: in the function that casts, or in one of those that the calls lead
/// from, the innermost first, as far as each returns it to the next.
pub(super) fn is_used<'a>(
    module: &'a Shared<'a>,
    summaries: &'a Summaries<'a>,
    (function, cast): (FunctionId, InstructionId),
    callers: &[CallSite],
) -> bool {
    let outer = callers.iter().map(|site| (site.caller, site.instruction));
    for (function, at) in std::iter::once((function, cast)).chain(outer) {
        match after(module, summaries, function, at) {
            After::Used => return true,
            After::Returned => {}
            After::Unused => return false,
        }
    }
    false
}

/// The result of an instruction, on its way through a function.
struct Result<'a> {
    body: &'a Body<'a>,
    analyses: &'a Analyses<'a>,
    at: InstructionId,
    registers: FxHashSet<Register>,
    slots: FxHashSet<SlotId>,
}

fn after<'a>(
    module: &'a Shared<'a>,
    summaries: &'a Summaries<'a>,
    function: FunctionId,
    at: InstructionId,
) -> After {
    let Some(body) = module.module.function(function).body.as_ref() else {
        return After::Unused;
    };
    let mut result = Result {
        body,
        analyses: module.function(function),
        at,
        registers: body.defined(body.instruction(at)).collect(),
        slots: FxHashSet::default(),
    };
    let of_call = body.iter().filter(|(_, one)| one.op == Op::CallResult(at));
    result
        .registers
        .extend(of_call.flat_map(|(_, one)| body.defined(one)));
    result.spread();
    let mut found = After::Unused;
    for (reader, instruction) in body.iter() {
        let uses = body.uses(instruction);
        let is_result = |value: &Value| {
            value
                .register()
                .is_some_and(|one| result.registers.contains(&one))
        };
        let is_used = match instruction.op {
            Op::Access(_) => uses.first().is_some_and(is_result),
            Op::Opaque | Op::MapShared(_) => uses.iter().any(is_result),
            Op::Call(_) => {
                let passed = callee(module, body, summaries, reader);
                passed.is_some_and(|(summary, arguments)| {
                    let given = || {
                        let entered = Entered::of(module, function, Vec::new());
                        entered.map_or_else(Vec::new, |entered| entered.passes(reader))
                    };
                    summary.demands.iter().any(|demand| {
                        matches!(demand.used, Use::Access(..))
                            && arguments
                                .iter()
                                .any(|argument| argument.passes(demand.piece) && is_result(&argument.value))
                            && (demand.is_certain || demand.executed(module, given()) == Executed::Always)
                    })
                })
            }
            _ => false,
        };
        if is_used && result.comes_before(reader) {
            return After::Used;
        }
        let returned = body.returned(instruction);
        if returned.is_some_and(|(_, value)| is_result(&value)) && result.comes_before(reader) {
            found = After::Returned;
        }
    }
    found
}

impl Result<'_> {
    /// Adds what is computed from what is known.
    fn spread(&mut self) {
        let slots = self.analyses.slots();
        loop {
            let before = (self.registers.len(), self.slots.len());
            for (id, instruction) in self.body.iter() {
                let uses = self.body.uses(instruction);
                let is_result =
                    |value: &Value| value.register().is_some_and(|one| self.registers.contains(&one));
                match (instruction.op, slots.effect(id, instruction)) {
                    (_, Effect::Store(slot)) if uses.get(2).is_some_and(is_result) => {
                        self.slots.insert(slot);
                    }
                    (_, Effect::Load(slot)) if self.slots.contains(&slot) => {
                        self.registers.extend(self.body.defined(instruction));
                    }
                    (op, _) if carries(op) && uses.iter().any(is_result) => {
                        self.registers.extend(self.body.defined(instruction));
                    }
                    _ => {}
                }
            }
            if before == (self.registers.len(), self.slots.len()) {
                break;
            }
        }
    }

    /// True if a reader comes whenever the result is made.
    fn comes_before(&self, reader: InstructionId) -> bool {
        follows(self.body, self.analyses, self.at, reader)
    }
}

/// True if an operation hands an address on, changed or not.
const fn carries(op: Op) -> bool {
    matches!(
        op,
        Op::Copy
            | Op::Binary(..)
            | Op::MulAdd(..)
            | Op::Convert { .. }
            | Op::ToGeneric(..)
            | Op::FromGeneric(..)
            | Op::InsertBits(_)
            | Op::ExtractBits(..)
            | Op::Pack(_)
            | Op::Unpack(_)
    )
}
