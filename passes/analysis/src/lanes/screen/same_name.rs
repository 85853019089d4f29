//! Operands that may be one value, so that an operation on both gives 0: `m ^ m`, `m - m`, `m & ~m`.
//!
//! The lane analysis names values by how they are computed (`meaning.rs`); two have the same name only if they are computed in the same
//! way:
//!
//! ```text
//! origins(v)    v, or the value that it is moved, converted or masked from, through copies and slots of the stack; with an added number
//! same(a, b)    some origin of a is one of b; or both are results of one operation, on operands that are the same
//! ```
//!
//! A value that comes from another function, or that costs too much work, may be the same.

use crate::function::Analyses;
use crate::limits::{MAX_SAME_DEPTH, MAX_SAME_STEPS};
use crate::param_objects::ParamUse;
use crate::slots::Effect;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{AccessKind, BinaryOp, Body, InstructionId, Op, Register, Space, UnaryOp, Value};

/// True for an operation that gives 0 where its two operands are one value, or complements, and none of them is a number.
pub(super) fn is_zero_for_equal_operands((op, uses): (Op, &[Value])) -> bool {
    let is_number = |value: Value| matches!(value, Value::Integer(_));
    matches!((op, uses), (Op::Binary(BinaryOp::Xor | BinaryOp::Sub | BinaryOp::And, _), &[a, b])
        if !is_number(a) && !is_number(b))
}

/// True if the result of an operation that [`is_zero_for_equal_operands`] may be known to be 0 because the values are equal, or
/// complements. `is_kernel`: the host passes parameters, and not code that may pass one value for two parameters.
pub(super) fn may_operands_cancel(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    (op, uses): (Op, &[Value]),
    is_kernel: bool,
    objects: Option<&ParamUse>,
) -> bool {
    let (Op::Binary(op, _), &[a, b]) = (op, uses) else {
        return false;
    };
    if op != BinaryOp::And
        && let (Some(of_a), Some(of_b)) = (defining_op(body, analyses, a), defining_op(body, analyses, b))
        && a != b
        && (of_a != of_b || matches!(of_a, Op::Access(_)))
    {
        return false;
    }
    let mut same = SameNameSearch {
        body,
        analyses,
        is_kernel,
        objects,
        steps_left: MAX_SAME_STEPS,
    };
    let answer = match op {
        BinaryOp::Xor | BinaryOp::Sub => same.may_have_same_name(a, b, 0),
        BinaryOp::And => same.may_be_complements(a, b),
        _ => Some(false),
    };
    answer.unwrap_or(true)
}

/// The operation that gives a value, if it is not a move of another value: it suffices to distinguish most operands.
fn defining_op(body: &Body<'_>, analyses: &Analyses<'_>, value: Value) -> Option<Op> {
    let &[one] = analyses.definitions().writers_of(value.register()?) else {
        return None;
    };
    let instruction = body.instruction(one);
    let has_number = || {
        body.uses(instruction)
            .iter()
            .any(|value| matches!(value, Value::Integer(_)))
    };
    match instruction.op {
        op if matches!(
            Form::of(op, body.uses(instruction)),
            Form::Product(..) | Form::ProductSum(..)
        ) =>
        {
            Some(op)
        }
        op @ Op::Binary(..) if !has_number() => Some(op),
        op @ Op::Access(access) => matches!(access.space, Space::Global | Space::Shared).then_some(op),
        _ => None,
    }
}

/// value = origin + constant
#[derive(Clone, Copy, PartialEq, Eq)]
struct Origin {
    value: Value,
    plus: i64,
}

struct SameNameSearch<'s, 'm> {
    body: &'s Body<'m>,
    analyses: &'s Analyses<'m>,
    is_kernel: bool,
    /// The accesses to objects whose addresses callers pass.
    objects: Option<&'s ParamUse>,
    steps_left: usize,
}

impl SameNameSearch<'_, '_> {
    /// True if two values may have the same name; `None` if that costs too much work, or if one comes from another function.
    fn may_have_same_name(&mut self, a: Value, b: Value, depth: usize) -> Option<bool> {
        if let (Value::Integer(a), Value::Integer(b)) = (a, b) {
            return Some(a == b);
        }
        if depth > MAX_SAME_DEPTH {
            return None;
        }
        let (of_a, of_b) = (self.origins_of_value(a)?, self.origins_of_value(b)?);
        for a in &of_a {
            for b in &of_b {
                if a.plus == b.plus
                    && (a.value == b.value || self.may_be_same_operation(a.value, b.value, depth)?)
                {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// True if the one may be the complement of the other.
    fn may_be_complements(&mut self, a: Value, b: Value) -> Option<bool> {
        for (not, other) in [(a, b), (b, a)] {
            for origin in self.origins_of_value(not)? {
                let of = match origin.value {
                    Value::Not(register) => vec![Value::Register(register)],
                    Value::Register(register) => self.possible_complements_of(register),
                    _ => Vec::new(),
                };
                for of in of {
                    if self.may_have_same_name(of, other, 0)? {
                        return Some(true);
                    }
                }
            }
        }
        Some(false)
    }

    /// The values that a register may be the complement of. For a comparison, itself, because another comparison may be its
    /// negation.
    fn possible_complements_of(&self, register: Register) -> Vec<Value> {
        let of = |&id: &InstructionId| {
            let instruction = self.body.instruction(id);
            match (instruction.op, self.body.uses(instruction)) {
                (Op::Unary(UnaryOp::Not | UnaryOp::LogicalNot, _), &[of, ..])
                | (Op::Binary(BinaryOp::Xor, _), &[of, Value::Integer(_)] | &[Value::Integer(_), of]) => {
                    Some(of)
                }
                (Op::Compare(..), _) => Some(Value::Register(register)),
                _ => None,
            }
        };
        let definitions = self.analyses.definitions().writers_of(register);
        definitions.iter().filter_map(of).collect()
    }

    /// True if two values may be results of one operation on the same operands.
    fn may_be_same_operation(&mut self, a: Value, b: Value, depth: usize) -> Option<bool> {
        let (Value::Register(a), Value::Register(b)) = (a, b) else {
            return Some(false);
        };
        let definitions = self.analyses.definitions();
        for &of_a in definitions.writers_of(a) {
            for &of_b in definitions.writers_of(b) {
                self.steps_left = self.steps_left.checked_sub(1)?;
                if self.may_give_same_value(of_a, of_b, depth)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// True if two instructions may give the same value.
    fn may_give_same_value(&mut self, a: InstructionId, b: InstructionId, depth: usize) -> Option<bool> {
        let (a, b) = (self.body.instruction(a), self.body.instruction(b));
        let is_alike = match (a.op, b.op) {
            // Conditions can be swapped with their operands.
            (Op::Compare(..), Op::Compare(..)) => true,
            (a, b) => a == b,
        };
        let (of_a, of_b) = (self.body.uses(a), self.body.uses(b));
        if !is_alike || !is_interpreted(a.op) || of_a.len() != of_b.len() {
            return Some(false);
        }
        if self.all_may_have_same_name(of_a.iter().zip(of_b), depth)? {
            return Some(true);
        }
        // The first two may stand in either order.
        let turned = [1, 0].into_iter().chain(2..of_b.len());
        let can_turn = of_a.len() >= 2;
        Some(
            can_turn
                && self.all_may_have_same_name(of_a.iter().zip(turned.map(|place| &of_b[place])), depth)?,
        )
    }

    fn all_may_have_same_name<'v>(
        &mut self,
        mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
        depth: usize,
    ) -> Option<bool> {
        loop {
            match pairs.next() {
                Some((&a, &b)) if self.may_have_same_name(a, b, depth + 1)? => {}
                Some(_) => return Some(false),
                None => return Some(true),
            }
        }
    }

    /// The origins of a value.
    fn origins_of_value(&mut self, value: Value) -> Option<Vec<Origin>> {
        let mut open = vec![Origin { value, plus: 0 }];
        let mut found: Vec<Origin> = Vec::new();
        while let Some(origin) = open.pop() {
            if found.contains(&origin) {
                continue;
            }
            self.steps_left = self.steps_left.checked_sub(1)?;
            found.push(origin);
            let Value::Register(register) = origin.value else {
                continue;
            };
            for &definition in self.analyses.definitions().writers_of(register) {
                let instruction = self.body.instruction(definition);
                let uses = self.body.uses(instruction);
                let from = |value: Value| Origin { value, ..origin };
                let form = Form::of(instruction.op, uses);
                if let Some((value, by)) = form.beside() {
                    let plus = origin.plus.wrapping_add(by);
                    open.push(Origin { value, plus });
                    continue;
                }
                match (instruction.op, form) {
                    (
                        _,
                        Form::Moved(value, Change::Nothing | Change::Width { .. })
                        | Form::Bits(value, Value::Integer(_))
                        | Form::Bits(Value::Integer(_), value),
                    ) => open.push(from(value)),
                    (_, Form::Choice(a, b)) => open.extend([from(a), from(b)]),
                    (Op::CallResult(_), _) => return None,
                    (Op::Access(access), _) if access.kind == AccessKind::Load => {
                        if !self.is_kernel && self.body.loaded_param(instruction).is_some() {
                            return None;
                        }
                        if let Some((param, offset)) = self.body.loaded_param(instruction) {
                            found.push(from(Value::Param(param, offset)));
                            continue;
                        }
                        let is_passed = |used: &ParamUse| used.access_through_param(definition).is_some();
                        if self.objects.is_some_and(is_passed) {
                            return None;
                        }
                        let slots = self.analyses.slots();
                        if let Effect::Load(slot) = slots.effect_on_slots(definition, instruction) {
                            if slots.is_written_by_callees(slot) {
                                return None;
                            }
                            let all = std::iter::once(slot).chain(slots.slots_overlapping(slot));
                            let stores = all.flat_map(|slot| slots.stores_to(slot));
                            let stored = |&store| self.body.stored(self.body.instruction(store));
                            open.extend(stores.filter_map(stored).map(from));
                        }
                    }
                    _ => {}
                }
            }
        }
        Some(found)
    }
}
