//! Uses of the result of a cast: `cvta` of a pointer outside the window makes only its result undefined (PTX ISA, cvta), so
//! it does no harm until the result is used.
//!
//! ```text
//! result     the value that the cast writes, and values computed from it, through variables on the stack, too; a reader sees it if
//!            no other definition reaches it
//! used       an access at it, or an uninterpreted operation, is executed whenever the cast is; or a call that
//!            passes it to a function that certainly accesses it
//! returned   the function returns it whenever the cast is executed: then the call's result is the caller's result of the cast
//! ```

use rustc_hash::FxHashSet;

use super::judge::Use;
use super::solver::callee_summary;
use super::summary::Summaries;
use crate::call_graph::CallSite;
use crate::entered_function::{Entered, Executed, execution_implies};
use crate::function::Analyses;
use crate::shared::Shared;
use ptxcheck_ir::{Body, Call, Callee, FunctionId, InstructionId, Op, Value};

/// The fate of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Used,
    Returned,
    Unused,
}

/// True if the result of a cast is certainly used: in the function that casts, or in one of the callers, innermost first, as
/// long as each function returns it to the next. With `leaving_counts`, passing it to a function without a body counts as a
/// use.
pub(super) fn is_cast_used<'a>(
    module: &'a Shared<'a>,
    summaries: &'a Summaries<'a>,
    (function, cast): (FunctionId, InstructionId),
    callers: &[CallSite],
    leaving_counts: bool,
) -> bool {
    let outer = callers.iter().map(|site| (site.caller, site.instruction));
    for (function, at) in std::iter::once((function, cast)).chain(outer) {
        match fate_of_result(module, summaries, function, at, leaving_counts) {
            Fate::Used => return true,
            Fate::Returned => {}
            Fate::Unused => return false,
        }
    }
    false
}

/// The result of an instruction, followed through a function.
struct CastResult<'a> {
    body: &'a Body<'a>,
    analyses: &'a Analyses<'a>,
    at: InstructionId,
    /// The instructions that write it, or values computed from it.
    writers: FxHashSet<InstructionId>,
}

fn fate_of_result<'a>(
    module: &'a Shared<'a>,
    summaries: &'a Summaries<'a>,
    function: FunctionId,
    at: InstructionId,
    leaving_counts: bool,
) -> Fate {
    let Some(body) = module.module.function(function).body.as_ref() else {
        return Fate::Unused;
    };
    let mut result = CastResult {
        body,
        analyses: module.function(function),
        at,
        writers: FxHashSet::from_iter([at]),
    };
    let of_call = body.iter().filter(|(_, one)| one.op == Op::CallResult(at));
    result.writers.extend(of_call.map(|(id, _)| id));
    result.add_computed_values();
    let mut found = Fate::Unused;
    for (reader, instruction) in body.iter() {
        let uses = body.uses(instruction);
        let is_result = |value: &Value| result.is_result(*value, reader);
        let is_used = match instruction.op {
            Op::Access(_) => uses.first().is_some_and(is_result),
            Op::Opaque | Op::MapShared(_) => uses.iter().any(is_result),
            Op::Call(call) if leaving_counts && calls_function_without_body(module, body.call(call)) => {
                let mut arguments = body.arguments(body.call(call)).iter();
                arguments.any(|argument| is_result(&argument.value))
            }
            Op::Call(_) => {
                let passed = callee_summary(module, body, summaries, reader);
                passed.is_some_and(|(summary, arguments)| {
                    let given = || {
                        let entered = Entered::new(module, function, Vec::new());
                        entered.map_or_else(Vec::new, |entered| entered.arguments_passed_by(reader))
                    };
                    summary.demands.iter().any(|demand| {
                        matches!(demand.used, Use::Access(..))
                            && arguments
                                .iter()
                                .any(|argument| argument.passes(demand.piece) && is_result(&argument.value))
                            && (demand.is_certain
                                || demand.execution_with(module, given()) == Executed::Always)
                    })
                })
            }
            _ => false,
        };
        if is_used && result.is_reader_always_executed(reader) {
            return Fate::Used;
        }
        let returned = body.returned(instruction);
        if returned.is_some_and(|(_, value)| is_result(&value)) && result.is_reader_always_executed(reader) {
            found = Fate::Returned;
        }
    }
    found
}

/// True if a call names a function that has no body here.
fn calls_function_without_body(module: &Shared<'_>, call: &Call) -> bool {
    let Callee::Direct(symbol) = call.callee else {
        return false;
    };
    let callee = module.module.called(symbol);
    callee.is_none_or(|callee| module.module.function(callee).body.is_none())
}

impl CastResult<'_> {
    /// Adds the values computed from it: first all that may be, then without those that may have been computed from another
    /// value.
    fn add_computed_values(&mut self) {
        loop {
            let before = self.writers.len();
            for (id, _) in self.body.iter() {
                if self.passes_on_result(id, Self::may_be_result) {
                    self.writers.insert(id);
                }
            }
            if before == self.writers.len() {
                break;
            }
        }
        loop {
            let others = self
                .writers
                .iter()
                .copied()
                .filter(|&id| !self.computes_result(id));
            let foreign: Vec<_> = others
                .filter(|&id| !self.passes_on_result(id, Self::is_result))
                .collect();
            if foreign.is_empty() {
                break;
            }
            for id in foreign {
                self.writers.remove(&id);
            }
        }
    }

    /// True for the instruction that computes the result.
    fn computes_result(&self, id: InstructionId) -> bool {
        id == self.at || self.body.instruction(id).op == Op::CallResult(self.at)
    }

    /// True if an instruction passes on a value for which `is_read` says that it is the result.
    fn passes_on_result(&self, id: InstructionId, is_read: fn(&Self, Value, InstructionId) -> bool) -> bool {
        let instruction = self.body.instruction(id);
        if let Some(store) = self.analyses.store_read_by(id) {
            let stored = self.body.stored(self.body.instruction(store));
            return stored.is_some_and(|stored| is_read(self, stored, store));
        }
        let mut uses = self.body.uses(instruction).iter();
        passes_on_address(instruction.op) && uses.any(|&value| is_read(self, value, id))
    }

    /// True if a value may be the result, or computed from it.
    fn may_be_result(&self, value: Value, _: InstructionId) -> bool {
        let definitions_of = |register| self.analyses.definitions().writers_of(register);
        let register = value.register();
        register.is_some_and(|register| {
            definitions_of(register)
                .iter()
                .any(|writer| self.writers.contains(writer))
        })
    }

    /// True if a value is the result, or computed from it, at the instruction that reads it.
    fn is_result(&self, value: Value, reader: InstructionId) -> bool {
        let Some(register) = value.register() else {
            return false;
        };
        let definitions = self.analyses.definitions();
        let last = definitions.last_writer_before(self.body, register, reader);
        match definitions.writers_of(register) {
            [] => false,
            _ if last.is_some_and(|last| self.writers.contains(&last)) => true,
            all => all.iter().all(|writer| self.writers.contains(writer)),
        }
    }

    /// True if a reader is executed whenever the result is computed.
    fn is_reader_always_executed(&self, reader: InstructionId) -> bool {
        execution_implies(self.body, self.analyses, self.at, reader)
    }
}

/// True if an operation passes on an address, changed or not.
const fn passes_on_address(op: Op) -> bool {
    let is_computed = matches!(
        op,
        Op::Binary(..) | Op::InsertBits(_) | Op::ExtractBits(..) | Op::Pack(_) | Op::Unpack(_)
    );
    is_computed || op.change().is_some() || op.product_and_sum().is_some()
}
