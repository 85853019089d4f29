//! Reads of shared arrays that nothing can have written.
//!
//! ```text
//! followed    each instruction that uses an address in the array accesses memory there, compares the address, or passes it on to a register
//!             or to a variable on the stack of which each load is known
//! unwritten   a read of this array alone, if each instruction that may write the array comes after the read on every path to it, and no path
//!             leads from it to the read
//! first       the same where a path leads to the read again, if a value that is computed from it is stored in each round
//! ```
//!
//! All threads of the block, and of the cluster, execute the same code: a thread that executes such a write has executed the read before, and a
//! barrier between the two waits for the reads of the other threads. Of an array that is named in a function that is called, the second call may
//! read what the first has written: only arrays that nothing writes count there.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AccessKind, Body, FunctionId, InstructionId, Op, Register, Value};

use super::read_values::ReadValues;
use super::{ArraySet, ArrayUses, Taint, UnwrittenRead, Written};
use crate::Analyses;
use crate::limits::MAX_SHARED_USES;
use crate::slots::Effect;
use crate::value::{Evaluator, Source};

impl ArrayUses<'_, '_> {
    /// The first such read of each array that a function names, in the order of the input; those in the first round of a loop only if
    /// `in_rounds`. No other function may name these arrays.
    #[must_use]
    pub fn find_unwritten_reads(&self, function: FunctionId, in_rounds: bool) -> Vec<UnwrittenRead> {
        let known = self.module.module.function(function);
        let Some(body) = known.body.as_ref() else {
            return Vec::new();
        };
        let analyses = self.module.function(function);
        if self.arrays_read_first(body, analyses) == 0 {
            return Vec::new();
        }
        let taint = self.taint_by_register(function, body);
        let uses = self.uses_in_function(function, body, &taint);
        let reads = uses.iter().filter(|used| used.reads != 0 && used.writes == 0);
        if reads.clone().next().is_none() || uses.len() >= MAX_SHARED_USES {
            return Vec::new();
        }
        let paths = Paths::new(body);
        let mut found: Vec<UnwrittenRead> = Vec::new();
        let mut lost = None;
        for used in reads {
            let array = used.reads;
            let Some(&symbol) = self.arrays.get(array.trailing_zeros() as usize) else {
                continue;
            };
            if array.count_ones() != 1 || found.iter().any(|one| one.array == symbol) {
                continue;
            }
            let writes = || uses.iter().filter(|other| other.writes & array != 0);
            if !writes().all(|write| analyses.is_on_every_path_to(used.at, write.at)) {
                continue;
            }
            let written = if writes().next().is_none() {
                Written::Never
            } else if !known.is_kernel() {
                continue;
            } else if !writes().any(|write| paths.lead(write.at, used.at)) {
                Written::After
            } else if in_rounds {
                Written::AfterFirstRound
            } else {
                continue;
            };
            let is_used = match written {
                Written::Never | Written::After => is_result_used(body, used.at),
                // The first round may leave it out.
                Written::AfterFirstRound => {
                    body.instruction(used.at).guard.is_none() && is_computed_with(body, analyses, used.at)
                }
            };
            if !is_used {
                continue;
            }
            let lost = *lost.get_or_insert_with(|| self.lost_arrays(function, body, &taint));
            if lost & array == 0 {
                found.push(UnwrittenRead {
                    array: symbol,
                    at: used.at,
                    written,
                });
            }
        }
        found
    }

    /// The arrays that an instruction reads before another one writes them, in an order in which what computes an address comes before what
    /// uses it: most code writes first. One pass, in which every result may be an address in the arrays of the operands.
    fn arrays_read_first(&self, body: &Body<'_>, analyses: &Analyses<'_>) -> ArraySet {
        let mut by_register: Vec<ArraySet> = vec![0; body.registers.len()];
        let (mut read, mut written) = (0, 0);
        let blocks = analyses.cfg().reverse_postorder().iter();
        for (_, instruction) in blocks.flat_map(|&block| body.block(block)) {
            let arrays_of = |value: &Value| match *value {
                Value::Symbol(symbol, _) => self.set_of_symbol(symbol),
                value => value
                    .register()
                    .map_or(0, |register| by_register[register.index()]),
            };
            let uses = body.uses(instruction);
            let used = uses.iter().fold(0, |all, value| all | arrays_of(value));
            match instruction.op {
                Op::Access(access) if access.kind == AccessKind::Load => read |= used & !written,
                Op::Access(_) => written |= used,
                Op::Call(call) => {
                    let arguments = body.arguments(body.call(call)).iter();
                    written |= arguments.fold(0, |all, argument| all | arrays_of(&argument.value));
                }
                _ if used != 0 => {
                    for register in body.defined(instruction) {
                        by_register[register.index()] |= used;
                    }
                }
                _ => {}
            }
        }
        read
    }

    /// The arrays whose addresses are used in ways that are not followed.
    pub(super) fn lost_arrays(&self, function: FunctionId, body: &Body<'_>, taint: &[Taint]) -> ArraySet {
        let analyses = self.module.function(function);
        let slots = analyses.slots();
        let (mut lost, mut on_stack) = (0, 0);
        let (mut has_unknown_load, mut has_call) = (false, false);
        for (at, instruction) in body.iter() {
            let effect = slots.effect_on_slots(at, instruction);
            has_unknown_load |=
                matches!(effect, Effect::Load(_)) && analyses.stored_value_read_by(at).is_none();
            // More rounds would have found more.
            let result = self.taint_of_result(function, body, at, taint);
            let mut results = body.defined(instruction);
            if results.any(|register| taint[register.index()].union(result) != taint[register.index()]) {
                return ArraySet::MAX;
            }
            for (place, &value) in body.uses(instruction).iter().enumerate() {
                let used = self.taint_of(taint, value).arrays();
                if used == 0 {
                    continue;
                }
                match instruction.op {
                    Op::Access(_) if place == 0 => {}
                    Op::Access(_) if matches!(effect, Effect::Store(slot) if !slots.has_foreign_writes(slot)) =>
                    {
                        on_stack |= used;
                    }
                    Op::Compare(..) | Op::CompareOther | Op::IsSpace(_) => {}
                    _ => {
                        let mut results = body.defined(instruction).peekable();
                        let is_passed_on = results.peek().is_some();
                        let passed = results.fold(ArraySet::MAX, |all, register| {
                            all & taint[register.index()].arrays()
                        });
                        lost |= used & !if is_passed_on { passed } else { 0 };
                    }
                }
            }
            has_call |= matches!(instruction.op, Op::Call(_));
            if let Op::Call(call) = instruction.op {
                let arguments = body.arguments(body.call(call)).iter();
                lost |= arguments.fold(0, |all, argument| {
                    all | self.taint_of(taint, argument.value).arrays()
                });
            }
        }
        // A function that has the address of a variable on the stack may read what that keeps.
        let is_stack_known = !has_unknown_load && !has_call;
        if is_stack_known { lost } else { lost | on_stack }
    }
}

/// True if each thread that executes a read stores a value that is certainly computed from it before it executes the read again.
fn is_computed_with(body: &Body<'_>, analyses: &Analyses<'_>, read: InstructionId) -> bool {
    let mut sources = Evaluator::new(Source::within_body(body, analyses), ReadValues::of(vec![read]));
    body.iter().any(|(at, instruction)| {
        let is_store = matches!(instruction.op, Op::Access(access) if access.kind != AccessKind::Load);
        let stored = body
            .uses(instruction)
            .get(2..)
            .filter(|_| is_store && instruction.guard.is_none());
        let is_computed = stored.unwrap_or_default().iter().any(|&value| {
            let from = sources.description_of(value);
            from.is_some_and(|from| from.contains(&(read, true)))
        });
        let (here, there) = (body.block_of(read), body.block_of(at));
        is_computed
            && (here == there && read < at || analyses.post_dominators().dominates(there, here))
            && !Paths::new(body).without(at).lead(read, read)
    })
}

/// True if another instruction uses what an instruction reads. Arguments of calls do not count, as they do for [`Analyses::is_read`]: the
/// function may ignore them.
fn is_result_used(body: &Body<'_>, at: InstructionId) -> bool {
    let results: Vec<Register> = body.defined(body.instruction(at)).collect();
    let is_result = |value: &Value| {
        value
            .register()
            .is_some_and(|register| results.contains(&register))
    };
    body.iter().any(|(other, instruction)| {
        other != at
            && (body.uses(instruction).iter().any(is_result)
                || instruction
                    .guard
                    .is_some_and(|guard| results.contains(&guard.register)))
    })
}
