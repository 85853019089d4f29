//! What an instruction makes of the kinds that it reads.

use super::super::kind::{self, Form, Kind};
use super::Look;
use crate::lanes::transfer::MAX_USES;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, BinaryOp, Collective, Condition, InstructionId, Logic, Op, Register, Value, Vote,
};

impl Look<'_, '_> {
    /// What is known of a value, where [`Self::before`] says.
    pub(crate) fn kind(&mut self, value: Value) -> Kind {
        match value {
            Value::Register(register) => self.register(register),
            Value::Not(register) => self.register(register).complement(),
            Value::Integer(value) => Kind::of_integer(value),
            Value::Special(special) => self.special(special),
            Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..) | Value::Unknown => Kind::UNKNOWN,
        }
    }

    /// Of the result of an instruction in a register.
    pub(super) fn result_in(&mut self, register: Register, id: InstructionId) -> Kind {
        let body = self.body;
        let kind = self.before(id).result(id);
        let instruction = body.instruction(id);
        let is_first = body.results(instruction).first() == Some(&Value::Register(register));
        of_result(instruction.op, kind, is_first)
    }

    /// Of the first result of an instruction.
    fn result(&mut self, id: InstructionId) -> Kind {
        let body = self.body;
        let instruction = body.instruction(id);
        let uses = body.uses(instruction);
        match instruction.op {
            op if is_interpreted(op) => {
                let mut kinds = [Kind::UNKNOWN; MAX_USES];
                let Some(kinds) = kinds.get_mut(..uses.len()) else {
                    return Kind::LANE;
                };
                for (number, &value) in uses.iter().enumerate() {
                    kinds[number] = self.kind(value);
                    if number == 0 && is_lost(op, kinds[0]) {
                        return Kind::UNKNOWN;
                    }
                }
                kind::result(op, kinds, uses)
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                let kind = self.loaded(id, instruction).cut(access.bits);
                if access.signed && kind.bits >= access.bits {
                    let (from, signed, to) = (access.bits, true, 64);
                    kind::result(Op::Convert { from, signed, to }, &[kind], &[Value::Unknown])
                } else {
                    kind
                }
            }
            Op::Collective(Collective::Vote(Vote::Ballot), _) => match uses.get(1) {
                // The ballot of what is known in each lane is a constant.
                Some(&predicate) if self.kind(predicate).may_be_exact() => Kind::CONSTANT,
                _ => Kind::SET,
            },
            Op::ActiveMask | Op::Collective(Collective::Match(..), _) => Kind::SET,
            Op::CallResult(call) => self.returned(call),
            _ => Kind::UNKNOWN,
        }
    }
}

/// Whether nothing is known of a result because nothing is of the first operand.
fn is_lost(op: Op, first: Kind) -> bool {
    use BinaryOp as B;
    match op {
        Op::Binary(B::Add | B::Sub | B::Or | B::Xor, bits) => bits > 1 && first == Kind::UNKNOWN.cut(bits),
        // Without its sign, a number is neither less nor more; unsigned, there may be a bound.
        Op::Compare(condition, bits, Logic::None) => {
            use Condition as C;
            let has_bound = matches!(
                condition,
                C::LessUnsigned | C::LessEqualUnsigned | C::GreaterUnsigned | C::GreaterEqualUnsigned
            );
            !has_bound && first == Kind::UNKNOWN.cut(bits)
        }
        _ => false,
    }
}

/// Of one of the results of an instruction, from what the first one is.
fn of_result(op: Op, kind: Kind, is_first: bool) -> Kind {
    match op {
        // The second result is the complement.
        Op::Compare(..) if !is_first => Kind {
            form: Form::Any,
            ..kind
        },
        _ => kind,
    }
}
