//! Parameters that a value may be loaded from: through choices, conversions between spaces, and copies on the stack.
//!
//! ```text
//! held(v)        p, if some definition of v loads from parameter p; held(w), if it moves w, or chooses w among others; held(s), if
//!                it loads a slot of the stack to which s is stored
//! addresses(a)   the slots of the stack that a may be the address of, by the same steps and sums with constants
//! ```
//!
//! All definitions count, regardless of which of them reaches the place. Definitions beyond the budget are left out.

use rustc_hash::FxHashSet;

use crate::function::Analyses;
use crate::limits::MAX_HELD_STEPS;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{AccessKind, Body, InstructionId, Op, SymbolId, Value};

/// The parameters that a value may be loaded from: their indices, in order.
#[must_use]
pub fn params_loaded_into(body: &Body<'_>, analyses: &Analyses<'_>, value: Value) -> Vec<u16> {
    let mut walk = SourceWalk {
        body,
        analyses,
        left: MAX_HELD_STEPS,
    };
    let mut params = Vec::new();
    for load in walk.loads_giving(value) {
        let instruction = body.instruction(load);
        if let Some((number, _)) = body.loaded_param(instruction) {
            params.push(number);
            continue;
        }
        // A load of one slot or another.
        let (Op::Access(access), &[base, Value::Integer(offset), ..]) =
            (instruction.op, body.uses(instruction))
        else {
            continue;
        };
        for (symbol, at) in walk.addresses_stored_in(base) {
            let slot = at
                .checked_add(offset)
                .and_then(|at| analyses.slots().slot_at(symbol, at, access.bytes()));
            let stored: Vec<Value> = slot
                .into_iter()
                .flat_map(|slot| analyses.values_stored_in(slot))
                .collect();
            for value in stored {
                let loads = walk.loads_giving(value).into_iter();
                let of = loads.filter_map(|load| body.loaded_param(body.instruction(load)));
                params.extend(of.map(|(number, _)| number));
            }
        }
    }
    params.sort_unstable();
    params.dedup();
    params
}

/// The loads that may give a value, through moves, conversions between spaces, choices and slots of the stack, in the order in which
/// they are found.
#[must_use]
pub fn loads_giving_value(body: &Body<'_>, analyses: &Analyses<'_>, value: Value) -> Vec<InstructionId> {
    let mut walk = SourceWalk {
        body,
        analyses,
        left: MAX_HELD_STEPS,
    };
    walk.loads_giving(value)
}

struct SourceWalk<'w, 'm> {
    body: &'w Body<'m>,
    analyses: &'w Analyses<'m>,
    /// Definitions that may still be visited.
    left: usize,
}

impl SourceWalk<'_, '_> {
    fn loads_giving(&mut self, value: Value) -> Vec<InstructionId> {
        let mut loads = Vec::new();
        self.walk_sources(value, |body, id, _| {
            let is_load =
                matches!(body.instruction(id).op, Op::Access(access) if access.kind == AccessKind::Load);
            if is_load {
                loads.push(id);
            }
            None
        });
        loads
    }

    fn addresses_stored_in(&mut self, base: Value) -> Vec<(SymbolId, i64)> {
        let mut ends = Vec::new();
        self.walk_sources(base, |body, id, plus| {
            let instruction = body.instruction(id);
            let (from, by) = Form::of(instruction.op, body.uses(instruction)).beside()?;
            Some((from, plus.checked_add(by)?))
        })
        .into_iter()
        .for_each(|(value, plus)| {
            if let Value::Symbol(symbol, offset) = value {
                ends.extend(plus.checked_add(i64::from(offset)).map(|at| (symbol, at)));
            }
        });
        ends
    }

    /// Follows a value through moves, conversions between spaces, choices and slots of the stack, and from other
    /// instructions to the operand that `other` chooses, given the distance so far. Returns the final values that are not
    /// registers, with their distances.
    fn walk_sources(
        &mut self,
        value: Value,
        mut other: impl FnMut(&Body<'_>, InstructionId, i64) -> Option<(Value, i64)>,
    ) -> Vec<(Value, i64)> {
        let mut seen = FxHashSet::default();
        let (mut open, mut ends) = (vec![(value, 0)], Vec::new());
        while let Some((value, plus)) = open.pop() {
            let Value::Register(register) = value else {
                ends.push((value, plus));
                continue;
            };
            if !seen.insert((register, plus)) {
                continue;
            }
            for &id in self.analyses.definitions().writers_of(register) {
                let Some(left) = self.left.checked_sub(1) else {
                    return ends;
                };
                self.left = left;
                let instruction = self.body.instruction(id);
                match Form::of(instruction.op, self.body.uses(instruction)) {
                    Form::Moved(from, change) if change.keeps_address() => open.push((from, plus)),
                    Form::Choice(a, b) => open.extend([(a, plus), (b, plus)]),
                    _ if let Some(slot) = self.analyses.loaded_slot(id, instruction) => {
                        open.extend(self.analyses.values_stored_in(slot).map(|value| (value, plus)));
                    }
                    _ => open.extend(other(self.body, id, plus)),
                }
            }
        }
        ends
    }
}
