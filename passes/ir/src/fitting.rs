//! The operands that each operation takes. Analyses rely on them without a check.
//!
//! Front ends hand every instruction through [`fitting`], so that one with other operands, which no assembler accepts, becomes
//! [`Op::Opaque`] or an unknown access.
//!
//! | operation | results | uses |
//! | --- | --- | --- |
//! | copy, conversion, one-operand arithmetic, `cvta`, `isspacep` | 1 | 1 |
//! | two-operand arithmetic, `mapa` | 1 | 2 |
//! | `mad`, `bfe`, `lop3`, `shf`, select | 1 | 3 |
//! | `bfi` | 1 | 4 |
//! | comparison | 1, or 2 with its complement | 2, and a predicate if it is combined with one |
//! | pack, unpack | 1, or parts that fill a register | the other |
//! | access | values loaded: as many as it has elements | base, constant offset, values stored: likewise |
//! | collective | as [`Collective`] says, in a form with and without the predicate | the mask, and what it names |
//! | barrier | at most 1, of a reduction | number, count, predicate, as far as the form has them |
//! | what a call returned | 1 | the byte offset |
//!
//! Results are registers, or [`Value::Unknown`] for a sink. A predicate stands where one is due, and nowhere else.

use super::instruction::Value;
use super::op::{Access, AccessKind, BinaryOp, Collective, Logic, Match, Op, Vote};

/// `op`, or the operation that is left of it with operands that it does not take. The first `results` of `values` are results;
/// `bits`: those of all registers, as [`super::Registers::all_bits`] has them.
#[inline]
pub fn fitting(op: Op, values: &[Value], results: usize, bits: &[u8]) -> Op {
    let (results, uses) = values.split_at(results);
    if (Operands { bits }).operands_fit(op, results, uses) {
        return op;
    }
    match (op, uses) {
        (Op::Access(access), [_, Value::Integer(_) | Value::Unknown, ..]) => {
            Op::Access(Access::one(AccessKind::Other, access.space, 0))
        }
        _ => Op::Opaque,
    }
}

/// The widths of an instruction's registers.
struct Operands<'a> {
    bits: &'a [u8],
}

impl Operands<'_> {
    fn width_of(&self, value: Value) -> Option<u8> {
        let register = value.register()?;
        self.bits.get(register.index()).copied()
    }

    /// True if a value may be a predicate (`predicate`), or a number of more bits. Registers of unknown width may be either.
    fn may_be_of_kind(&self, value: Value, predicate: bool) -> bool {
        match value {
            Value::Not(_) if !predicate => false,
            Value::Register(_) | Value::Not(_) => match self.width_of(value) {
                Some(0) => true,
                Some(bits) => (bits == 1) == predicate,
                None => false,
            },
            Value::Integer(_) | Value::Unknown => true,
            Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..) | Value::Special(_) => !predicate,
        }
    }

    /// True if all values may be numbers of `bits` bits; one bit is a predicate.
    fn may_all_have_width(&self, values: &[Value], bits: u8) -> bool {
        values.iter().all(|&value| self.may_be_of_kind(value, bits == 1))
    }

    /// True if both are predicates, or neither is.
    fn are_both_predicates_or_neither(&self, a: Value, b: Value) -> bool {
        self.may_be_of_kind(a, true) && self.may_be_of_kind(b, true)
            || self.may_be_of_kind(a, false) && self.may_be_of_kind(b, false)
    }

    /// True for one result of `to` bits, and `count` uses of `from` bits.
    fn have_count_and_width(
        &self,
        results: &[Value],
        to: u8,
        uses: &[Value],
        count: usize,
        from: u8,
    ) -> bool {
        results.len() == 1
            && uses.len() == count
            && self.may_all_have_width(results, to)
            && self.may_all_have_width(uses, from)
    }

    fn operands_fit(&self, op: Op, results: &[Value], uses: &[Value]) -> bool {
        match op {
            Op::Copy => {
                matches!((results, uses), (&[to], &[from]) if self.are_both_predicates_or_neither(to, from))
            }
            Op::Binary(op, bits) => match op {
                BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned => {
                    self.have_count_and_width(results, bits, uses, 2, bits / 2)
                }
                _ => self.have_count_and_width(results, bits, uses, 2, bits),
            },
            // A count has 32 bits, in IR as many as what it counts in.
            Op::Unary(_, bits) => self.have_count_and_width(results, bits, uses, 1, bits),
            Op::MulAdd(_, bits) | Op::ExtractBits(bits, _) => {
                self.have_count_and_width(results, bits, uses, 3, bits)
            }
            Op::InsertBits(bits) => self.have_count_and_width(results, bits, uses, 4, bits),
            Op::Lop3(_) | Op::FunnelShift { .. } => self.have_count_and_width(results, 32, uses, 3, 32),
            Op::Compare(_, bits, logic) => {
                let combined = usize::from(logic != Logic::None);
                matches!(results.len(), 1 | 2)
                    && self.may_all_have_width(results, 1)
                    && uses.len() == 2 + combined
                    && self.may_all_have_width(&uses[..2], bits)
                    && self.may_all_have_width(&uses[2..], 1)
            }
            Op::CompareOther => {
                matches!(results.len(), 1 | 2) && self.may_all_have_width(results, 1) && uses.len() >= 2
            }
            Op::Select => match (results, uses) {
                (&[to], &[yes, no, by]) => {
                    self.may_be_of_kind(by, true)
                        && self.are_both_predicates_or_neither(to, yes)
                        && self.are_both_predicates_or_neither(to, no)
                }
                _ => false,
            },
            Op::Convert { from, to, .. } => self.have_count_and_width(results, to, uses, 1, from),
            Op::Pack(bits) => {
                results.len() == 1
                    && do_parts_fill_register(bits, uses)
                    && self.may_all_have_width(uses, bits)
            }
            Op::Unpack(bits) => {
                uses.len() == 1
                    && do_parts_fill_register(bits, results)
                    && self.may_all_have_width(results, bits)
            }
            Op::ToGeneric(..) | Op::FromGeneric(..) => self.have_count_and_width(results, 64, uses, 1, 64),
            Op::IsSpace(_) => self.have_count_and_width(results, 1, uses, 1, 64),
            Op::MapShared(_) => self.have_count_and_width(results, 64, uses, 2, 64),
            Op::Assume => results.is_empty() && uses.len() == 1 && self.may_all_have_width(uses, 1),
            Op::Access(access) => self.access_operands_fit(access, results, uses),
            Op::Collective(collective, _) => self.collective_operands_fit(collective, results, uses),
            Op::ActiveMask => self.have_count_and_width(results, 32, uses, 0, 32),
            Op::Barrier(barrier) => {
                let least = match (barrier.cluster, barrier.counted) {
                    (true, _) => 0,
                    (false, counted) => 1 + usize::from(counted),
                };
                results.len() <= 1 && uses.len() >= least
            }
            Op::SetRegisters(_) => results.is_empty() && uses.len() == 1,
            Op::CallResult(_) => results.len() == 1 && matches!(uses, [Value::Integer(_)]),
            Op::StackAlloc => results.len() == 1 && !uses.is_empty() && self.may_all_have_width(results, 64),
            // A jump through a table that several share keeps its index.
            Op::Branch => results.is_empty() && uses.len() <= 1,
            Op::BranchTable => results.is_empty() && uses.len() == 1 && self.may_all_have_width(uses, 32),
            Op::Call(_) | Op::Return | Op::Exit | Op::Trap | Op::Opaque => true,
        }
    }

    /// True if values are the elements of an access, or one value that is not followed stands for all of them.
    fn are_elements_of_access(&self, values: &[Value], access: Access) -> bool {
        let is_whole = |value| matches!(self.width_of(value), None | Some(0));
        values.len() == usize::from(access.count) || matches!(*values, [only] if is_whole(only))
    }

    /// True for the operands of an access. If it states the width of its elements, it has one operand for each.
    fn access_operands_fit(&self, access: Access, results: &[Value], uses: &[Value]) -> bool {
        let [base, Value::Integer(_) | Value::Unknown, data @ ..] = uses else {
            return false;
        };
        let is_sized = access.bits > 0;
        self.may_be_of_kind(*base, false)
            && match access.kind {
                AccessKind::Load => {
                    !results.is_empty() && (!is_sized || self.are_elements_of_access(results, access))
                }
                AccessKind::Store => {
                    let stored = data.get(..usize::from(access.count)).unwrap_or(data);
                    results.is_empty()
                        && !data.is_empty()
                        && (!is_sized || self.are_elements_of_access(stored, access))
                }
                AccessKind::Atomic | AccessKind::ReadModifyWrite => {
                    !data.is_empty() && (!is_sized || self.are_elements_of_access(results, access))
                }
                AccessKind::Reduction => results.is_empty() && !data.is_empty(),
                AccessKind::Other => true,
            }
    }

    /// PTX ISA, Parallel Synchronization and Communication Instructions, and Data Movement: shfl.sync.
    fn collective_operands_fit(&self, collective: Collective, results: &[Value], uses: &[Value]) -> bool {
        // Whether the first result is a predicate, and whether a second one, always a predicate, is allowed; the number of uses after the
        // mask, and whether those are predicates.
        let (first, second, others, of_predicates) = match collective {
            Collective::Sync => {
                return results.is_empty() && uses.len() == 1 && self.may_all_have_width(uses, 32);
            }
            Collective::Shuffle(_) => (false, true, 3, false),
            Collective::Vote(Vote::Ballot) => (false, false, 1, true),
            Collective::Vote(_) => (true, false, 1, true),
            Collective::Match(kind, _) => (false, kind == Match::All, 1, false),
            Collective::Reduce => (false, false, 1, false),
            Collective::Elect => (false, true, 0, false),
        };
        let [mask, behind @ ..] = uses else { return false };
        let results_fit = match *results {
            [only] => self.may_be_of_kind(only, first),
            [value, flag] => second && self.may_be_of_kind(value, first) && self.may_be_of_kind(flag, true),
            _ => false,
        };
        results_fit
            && self.may_be_of_kind(*mask, false)
            && behind.len() == others
            && behind
                .iter()
                .all(|&value| self.may_be_of_kind(value, of_predicates))
    }
}

/// True if parts of `bits` bits make one register.
fn do_parts_fill_register(bits: u8, parts: &[Value]) -> bool {
    bits > 0 && parts.len() > 1 && parts.len() * usize::from(bits) <= 64
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{Condition, MemberMask, Register, Shuffle, Space};

    const P: Value = Value::Register(Register::new(0));
    const R: Value = Value::Register(Register::new(1));
    const WIDE: Value = Value::Register(Register::new(2));
    const BEYOND: Value = Value::Register(Register::new(3));

    fn op_for_unfit_operands(op: Op, values: &[Value], results: usize) -> Op {
        fitting(op, values, results, &[1, 32, 0])
    }

    #[track_caller]
    fn check(op: Op, fits: bool, values: &[Value], results: usize) {
        assert_eq!(
            op_for_unfit_operands(op, values, results) == op,
            fits,
            "{op:?} {values:?} {results}"
        );
    }

    #[test]
    fn operand_counts_are_checked() {
        let add = Op::Binary(BinaryOp::Add, 32);
        check(add, true, &[R, R, Value::Integer(1)], 1);
        check(add, true, &[Value::Unknown, R, R], 1);
        check(add, false, &[R, R], 1);
        check(add, false, &[R, R, R, R], 1);
        check(add, false, &[R, R, R], 0);
        check(add, false, &[R, R, R, R], 2);
        check(add, false, &[], 0);
        let compare = |logic| Op::Compare(Condition::Equal, 32, logic);
        check(compare(Logic::None), true, &[P, R, R], 1);
        check(compare(Logic::None), true, &[P, P, R, R], 2);
        check(compare(Logic::None), false, &[P, R], 1);
        check(compare(Logic::And), false, &[P, R, R], 1);
        check(
            compare(Logic::And),
            true,
            &[P, R, R, Value::Not(Register::new(0))],
            1,
        );
        check(Op::Pack(32), true, &[WIDE, R, R], 1);
        check(Op::Pack(32), false, &[WIDE, R], 1);
        check(Op::Pack(32), false, &[WIDE, R, R, R], 1);
    }

    #[test]
    fn predicates_are_taken_only_where_operations_expect_them() {
        check(Op::Binary(BinaryOp::Add, 32), false, &[P, R, R], 1);
        check(Op::Binary(BinaryOp::Add, 32), false, &[R, P, R], 1);
        check(Op::Binary(BinaryOp::And, 1), true, &[P, P, P], 1);
        check(Op::Binary(BinaryOp::And, 1), false, &[P, P, R], 1);
        check(Op::Select, true, &[R, R, R, P], 1);
        check(Op::Select, true, &[P, P, Value::Integer(0), P], 1);
        check(Op::Select, false, &[R, R, R, R], 1);
        check(Op::Copy, false, &[R, P], 1);
        check(Op::Copy, true, &[WIDE, P], 1);
        check(Op::Copy, false, &[BEYOND, R], 1);
    }

    #[test]
    fn collectives_have_a_mask_and_their_operands() {
        let shuffle = Op::Collective(Collective::Shuffle(Shuffle::Down), MemberMask::Operand);
        check(shuffle, true, &[R, R, R, R, R], 1);
        check(shuffle, true, &[R, P, R, R, R, R], 2);
        check(shuffle, false, &[R, R, R, R], 1);
        check(
            Op::Collective(Collective::Sync, MemberMask::Operand),
            true,
            &[R],
            0,
        );
        check(
            Op::Collective(Collective::Sync, MemberMask::Operand),
            false,
            &[],
            0,
        );
        check(
            Op::Collective(Collective::Sync, MemberMask::Operand),
            false,
            &[P],
            0,
        );
        let vote = Op::Collective(Collective::Vote(Vote::Any), MemberMask::Operand);
        check(vote, true, &[P, R, P], 1);
        check(vote, false, &[R, R, P], 1);
        check(vote, false, &[P, R, R], 1);
    }

    #[test]
    fn an_access_with_other_data_still_uses_its_address() {
        let load = Op::Access(Access::one(AccessKind::Load, Space::Shared, 32));
        let other = Op::Access(Access::one(AccessKind::Other, Space::Shared, 0));
        let zero = Value::Integer(0);
        check(load, true, &[R, R, zero], 1);
        assert_eq!(op_for_unfit_operands(load, &[R, R, R, zero], 2), other);
        assert_eq!(op_for_unfit_operands(load, &[R, zero], 0), other);
        assert_eq!(op_for_unfit_operands(load, &[R], 0), Op::Opaque);
        let store = Op::Access(Access::one(AccessKind::Store, Space::Shared, 32));
        check(store, true, &[R, zero, R], 0);
        assert_eq!(op_for_unfit_operands(store, &[R, zero], 0), other);
    }
}
