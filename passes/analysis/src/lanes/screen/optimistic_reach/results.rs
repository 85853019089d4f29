//! Results of instructions, from the bounds of their operands.

use super::super::knowable::{self, Knowable, Pattern};
use super::super::same_name::{is_zero_for_equal_operands, may_operands_cancel};
use super::OptimisticReach;
use crate::lanes::rounding::rounded_number_and_divisor;
use crate::lanes::transfer::MAX_USES;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, BinaryOp, Collective, Condition, InstructionId, Logic, Op, Register, Value, Vote,
};

impl OptimisticReach<'_, '_> {
    /// Bound of a value, read where [`Self::set_read_point`] says.
    pub(crate) fn bound_of(&mut self, value: Value) -> Knowable {
        match value {
            Value::Register(register) => self.bound_of_register(register),
            Value::Not(register) => self.bound_of_register(register).complement(),
            Value::Integer(value) => Knowable::of_integer(value),
            Value::Special(special) => self.bound_of_special(special),
            Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..) | Value::Unknown => {
                Knowable::UNKNOWN
            }
        }
    }

    /// Bound of the result of an instruction in a register.
    pub(super) fn bound_of_result_in(&mut self, register: Register, id: InstructionId) -> Knowable {
        let body = self.body;
        let kind = self.set_read_point(id).bound_of_first_result(id);
        let instruction = body.instruction(id);
        let is_first = body.results(instruction).first() == Some(&Value::Register(register));
        bound_from_first_result(instruction.op, kind, is_first)
    }

    /// True if the lane analysis may know that an operation gives 0, because its operands are one value. It names values
    /// where masks are computed, or where thread numbers may be.
    fn may_operands_cancel(&self, id: InstructionId) -> bool {
        let instruction = self.body.instruction(id);
        let operands = (instruction.op, self.body.uses(instruction));
        if !is_zero_for_equal_operands(operands) || !self.facts.may_name_values() {
            return false;
        }
        let module = self.facts.module;
        self.facts.may_operands_cancel((self.function, id), || {
            let is_kernel = module.module.function(self.function).is_kernel();
            let objects = module.param_use(self.function);
            may_operands_cancel(self.body, self.analyses, operands, is_kernel, objects)
        })
    }

    /// Bound of the first result of an instruction.
    fn bound_of_first_result(&mut self, id: InstructionId) -> Knowable {
        let body = self.body;
        let instruction = body.instruction(id);
        let uses = body.uses(instruction);
        match instruction.op {
            // A value and itself.
            Op::Binary(BinaryOp::Xor | BinaryOp::Sub, _) if uses.len() == 2 && uses[0] == uses[1] => {
                Knowable::of_integer(0)
            }
            Op::Binary(BinaryOp::Sub, bits)
                if let Some((number, divisor)) = rounded_number_and_divisor(
                    body,
                    self.facts.module.function(self.function).definitions(),
                    id,
                ) =>
            {
                let (number_kind, divisor_kind) = (self.bound_of(number), self.bound_of(divisor));
                let divide = Op::Binary(BinaryOp::DivUnsigned, bits);
                let quotient =
                    knowable::bound_of_result(divide, &[number_kind, divisor_kind], &[number, divisor]);
                let multiply = Op::Binary(BinaryOp::MulLow, bits);
                knowable::bound_of_result(multiply, &[quotient, divisor_kind], &[Value::Unknown, divisor])
            }
            op if is_interpreted(op) => {
                let mut kinds = [Knowable::UNKNOWN; MAX_USES];
                let Some(kinds) = kinds.get_mut(..uses.len()) else {
                    return Knowable::LANE;
                };
                let mut is_nothing = false;
                for (number, &value) in uses.iter().enumerate() {
                    kinds[number] = self.bound_of(value);
                    if number == 0 && loses_all_knowledge(op, kinds[0]) {
                        is_nothing = true;
                        break;
                    }
                }
                let result = if is_nothing {
                    Knowable::UNKNOWN
                } else {
                    knowable::bound_of_result(op, kinds, uses)
                };
                if self.may_operands_cancel(id) {
                    result.join(Knowable::of_integer(0))
                } else {
                    result
                }
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                let kind = self.bound_of_load(id, instruction).truncated_to(access.bits);
                if access.signed && kind.bits >= access.bits {
                    let (from, signed, to) = (access.bits, true, 64);
                    knowable::bound_of_result(Op::Convert { from, signed, to }, &[kind], &[Value::Unknown])
                } else {
                    kind
                }
            }
            Op::Collective(Collective::Vote(Vote::Ballot), _) => match uses.get(1) {
                // The ballot of a predicate that is known in each lane is a constant.
                Some(&predicate) if self.bound_of(predicate).may_be_exact() => Knowable::CONSTANT,
                // The ballot contains, of the arriving lanes, those in which the predicate holds.
                _ => Knowable {
                    parts: true,
                    ..Knowable::SET
                },
            },
            // Values that lanes exchange may be known where all lanes arrive.
            Op::Collective(Collective::Shuffle(_), _) if uses.len() > 1 => {
                self.bound_of(uses[1]).after_guarded_write()
            }
            Op::Collective(Collective::Vote(_), _)
                if uses.len() > 1 && self.bound_of(uses[1]).may_be_exact() =>
            {
                Knowable::CONSTANT
            }
            Op::Collective(Collective::Match(..), _) if uses.len() > 1 && self.bound_of(uses[1]).low > 0 => {
                Knowable {
                    is_set: true,
                    ..Knowable::LANE
                }
            }
            // For a value that is the same in all lanes, the match contains all lanes.
            Op::Collective(Collective::Match(..), _) => Knowable {
                is_set: true,
                ..Knowable::CONSTANT
            },
            Op::ActiveMask => Knowable::SET,
            Op::CallResult(call) => self.bound_of_call_result(call),
            _ => Knowable::UNKNOWN,
        }
    }
}

/// True if nothing is known of a result because nothing is known of the first operand.
fn loses_all_knowledge(op: Op, first: Knowable) -> bool {
    use BinaryOp as B;
    match op {
        Op::Binary(B::Add | B::Sub | B::Xor, bits) => {
            bits > 1 && first == Knowable::UNKNOWN.truncated_to(bits)
        }
        // Without the sign, the order of a signed number is unknown; for an unsigned number, there may be a bound.
        Op::Compare(condition, bits, Logic::None) => {
            use Condition as C;
            let has_bound = matches!(
                condition,
                C::LessUnsigned | C::LessEqualUnsigned | C::GreaterUnsigned | C::GreaterEqualUnsigned
            );
            !has_bound && first == Knowable::UNKNOWN.truncated_to(bits)
        }
        _ => false,
    }
}

/// Bound of one result of an instruction, from that of its first result.
fn bound_from_first_result(op: Op, kind: Knowable, is_first: bool) -> Knowable {
    match op {
        // The second result is the complement.
        Op::Compare(..) if !is_first => Knowable {
            pattern: Pattern::Any,
            ..kind
        },
        _ => kind,
    }
}
