//! Names of results, from those of the operands.

use super::application::{Application, MAX_USES};
use crate::lanes::meaning::{
    Meaning, Meanings, Name, Terms, product_of_terms, sum_of_terms, swapped_condition,
};
use crate::lanes::numbers::Numbers;
use crate::lanes::value::{Lanes, Pool, ValueId, Vector, lanes_in_set};
use ptxcheck_ir::evaluate::{evaluate, ones};
use ptxcheck_ir::{BinaryOp, Condition, Logic, Op, UnaryOp};

/// The known result of an operation on a value and itself, or its complement.
pub(super) fn known_by_name(pool: &Pool, op: Op, uses: &[ValueId]) -> Option<u64> {
    let (Op::Binary(op, _), &[a, b]) = (op, uses) else {
        return None;
    };
    let (a, b) = (pool.get(a).name, pool.get(b).name);
    let meanings = pool
        .meanings
        .as_ref()
        .filter(|_| a != Name::NONE && b != Name::NONE)?;
    match op {
        BinaryOp::Xor | BinaryOp::Sub if a == b => Some(0),
        BinaryOp::And if are_complements(meanings, a, b) => Some(0),
        _ => None,
    }
}

/// True if no bit is set in both.
fn are_complements(meanings: &Meanings, a: Name, b: Name) -> bool {
    let is_not = |a: Name, b: Name| matches!(*meanings.meaning_of(b), Meaning::Not(of, _) if of == a);
    is_not(a, b) || is_not(b, a)
}

/// A result with its name.
pub(super) fn with_name_of_result(
    pool: &mut Pool,
    op: Op,
    uses: &[ValueId],
    site: Application,
    result: ValueId,
) -> ValueId {
    if pool.get(result).exact == u32::MAX {
        return result;
    }
    let Some(mut meanings) = pool.meanings.take() else {
        return result;
    };
    let mut vectors = [pool.get(result); MAX_USES];
    for (vector, &id) in vectors.iter_mut().zip(uses) {
        *vector = pool.get(id);
    }
    let mut naming = Naming {
        meanings: &mut meanings,
        site,
    };
    let name = naming.name_of_result(op, &vectors[..uses.len()]);
    pool.meanings = Some(meanings);
    pool.with_name(result, name)
}

/// An operand, restricted to the lanes that execute an operation.
#[derive(Clone, Copy)]
struct Operand<'v> {
    vector: &'v Vector,
    here: Lanes,
}

impl Operand<'_> {
    fn name(self) -> Option<Name> {
        Some(self.vector.name).filter(|name| *name != Name::NONE)
    }

    /// The one number that it is, if it is constant.
    fn constant(self) -> Option<u64> {
        let mut all = lanes_in_set(self.here).map(|lane| self.vector.value_in_lane(lane));
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }

    fn is_zero_or_one(self) -> bool {
        self.vector.upper_bound(self.here) <= 1
    }

    /// True if each lane holds the value that `of` gives for it.
    fn equals_in_each_lane(self, of: impl Fn(usize) -> u64) -> bool {
        self.here != 0
            && lanes_in_set(self.here).all(|lane| self.vector.value_in_lane(lane) == Some(of(lane)))
    }
}

/// Finds the name of one result.
struct Naming<'m> {
    meanings: &'m mut Meanings,
    site: Application,
}

impl Naming<'_> {
    /// The name of the result of an operation.
    fn name_of_result(&mut self, op: Op, uses: &[&Vector]) -> Name {
        let site = self.site;
        let operand = |place: usize| Operand {
            vector: uses[place],
            here: site.here,
        };
        let name = match (op, uses.len()) {
            (Op::Copy, 1) => operand(0).name(),
            // Unoptimised LLVM IR keeps predicates as integers.
            (
                Op::Convert {
                    from: 1,
                    signed: false,
                    to: 2..,
                },
                1,
            ) => operand(0).name().map(|predicate| {
                self.meanings
                    .composed_name(Meaning::Number(predicate), [predicate])
            }),
            (Op::Convert { to: 1, .. }, 1) => match *self.meanings.meaning_of(operand(0).vector.name) {
                Meaning::Number(predicate) => Some(predicate),
                _ => None,
            },
            (Op::Convert { from, signed, to }, 1) => {
                let narrow = from.min(to);
                let most = ones(if signed { narrow.saturating_sub(1) } else { narrow });
                let fits = operand(0).vector.upper_bound(site.here) <= most;
                operand(0).name().filter(|_| fits)
            }
            (Op::Unary(UnaryOp::Not, bits), 1) => operand(0)
                .name()
                .map(|name| self.meanings.complement_of(name, bits)),
            (Op::Binary(op, bits), 2) => self.name_of_binary(op, bits, operand(0), operand(1)),
            (Op::MulAdd(op, bits), 3) => {
                let product = self.terms_of_product(op, operand(0), operand(1));
                let last = self.terms_of_operand(operand(2));
                product
                    .zip(last)
                    .and_then(|(a, b)| self.meanings.coordinate_sum_name(bits, sum_of_terms(a, &b)))
            }
            (Op::Select, 3) => self.name_of_select(operand(0), operand(1), operand(2)),
            (Op::Compare(condition, bits, logic), 2 | 3) => {
                let outcome = self.name_of_comparison(condition, bits, operand(0), operand(1));
                match (logic, outcome) {
                    (Logic::None, _) => outcome,
                    (_, Some(first)) if uses.len() == 3 => operand(2)
                        .name()
                        .map(|second| self.meanings.logic_predicate(logic, first, second)),
                    _ => None,
                }
            }
            _ => None,
        };
        match name {
            Some(name) if name != Name::NONE => name,
            _ => self.meanings.result_name(site.key, site.around),
        }
    }

    fn name_of_binary(&mut self, op: BinaryOp, bits: u8, a: Operand<'_>, b: Operand<'_>) -> Option<Name> {
        use BinaryOp as B;
        // Constants, and values known by lane, come second.
        let is_known = |operand: Operand<'_>| operand.here & !operand.vector.exact == 0;
        let (a, b) = match op {
            B::And | B::Or | B::Xor if is_known(a) => (b, a),
            _ => (a, b),
        };
        let number = b.constant().map(|number| number & ones(bits));
        match (op, number) {
            (B::And, Some(1)) if bits == 1 => return a.name(),
            (B::And, Some(mask)) if a.vector.bits_possibly_set(a.here) & !mask == 0 => return a.name(),
            (B::Or | B::Xor, Some(0)) => return a.name(),
            (B::Xor, Some(all)) if all == ones(bits) => {
                return a.name().map(|name| self.meanings.complement_of(name, bits));
            }
            (B::Xor, Some(1)) => {
                if let Meaning::Number(predicate) = *self.meanings.meaning_of(a.name()?) {
                    let not = self.meanings.negation_of(predicate);
                    return Some(self.meanings.composed_name(Meaning::Number(not), [not]));
                }
            }
            (B::And, Some(1)) => {
                if let Meaning::Shifted(mask, _) = *self.meanings.meaning_of(a.name()?) {
                    let own = self.meanings.predicate_that_mask_names_lane(mask);
                    return Some(self.meanings.composed_name(Meaning::Number(own), [own]));
                }
            }
            _ => {}
        }
        match op {
            B::And if b.equals_in_each_lane(|lane| 1 << lane) => {
                let mask = a.name()?;
                Some(self.meanings.composed_name(Meaning::Own(mask), [mask]))
            }
            B::ShrUnsigned | B::ShrSigned if bits == 32 && b.equals_in_each_lane(|lane| lane as u64) => {
                let mask = a.name()?;
                Some(
                    self.meanings
                        .composed_name(Meaning::Shifted(mask, op == B::ShrSigned), [mask]),
                )
            }
            B::And | B::Or | B::Xor if number.is_none() => {
                let logic = match op {
                    B::And => Logic::And,
                    B::Or => Logic::Or,
                    _ => Logic::Xor,
                };
                Some(self.meanings.logic_predicate(logic, a.name()?, b.name()?))
            }
            B::Add | B::Sub => {
                if op == B::Add
                    && let (Some(a), Some(b)) = (self.terms_of_operand(a), self.terms_of_operand(b))
                {
                    return self.meanings.coordinate_sum_name(bits, sum_of_terms(a, &b));
                }
                let (value, by) = match (a.constant(), number) {
                    (_, Some(by)) => (a, by),
                    (Some(by), None) if op == B::Add => (b, by & ones(bits)),
                    _ => return None,
                };
                let by = if op == B::Add {
                    by
                } else {
                    by.wrapping_neg() & ones(bits)
                };
                Some(self.meanings.sum_with_constant(value.name()?, bits, by))
            }
            B::MulLow | B::MulWideUnsigned | B::MulWideSigned => {
                let product = self.terms_of_product(op, a, b)?;
                self.meanings.coordinate_sum_name(bits, Some(product))
            }
            B::Shl => {
                let factor = 1_u32.checked_shl(u32::try_from(number?).ok()?)?;
                let product = product_of_terms(&self.terms_of_operand(a)?, &vec![([0; 6], factor)])?;
                self.meanings.coordinate_sum_name(bits, Some(product))
            }
            _ => None,
        }
    }

    fn name_of_select(&mut self, a: Operand<'_>, b: Operand<'_>, predicate: Operand<'_>) -> Option<Name> {
        let predicate = predicate.name()?;
        let number = match (a.constant(), b.constant()) {
            (Some(1), Some(0)) => predicate,
            (Some(0), Some(1)) => self.meanings.negation_of(predicate),
            (None, Some(0)) if a.is_zero_or_one() => {
                return Some(self.meanings.logic_predicate(Logic::And, a.name()?, predicate));
            }
            (Some(1), None) if b.is_zero_or_one() => {
                return Some(self.meanings.logic_predicate(Logic::Or, b.name()?, predicate));
            }
            _ => return None,
        };
        Some(self.meanings.composed_name(Meaning::Number(number), [number]))
    }

    fn name_of_comparison(
        &mut self,
        condition: Condition,
        bits: u8,
        a: Operand<'_>,
        b: Operand<'_>,
    ) -> Option<Name> {
        if bits == 0 {
            return None;
        }
        if a.constant().is_some() && b.constant().is_none() {
            return self.name_of_comparison(swapped_condition(condition), bits, b, a);
        }
        let value = a.name()?;
        let Some(number) = b.constant() else {
            return self
                .meanings
                .ordering_predicate(condition, bits, value, b.name()?);
        };
        let number = number & ones(bits);
        let holds =
            |value: u64| evaluate(Op::Compare(condition, bits, Logic::None), &[value, number]) == Some(1);
        match *self.meanings.meaning_of(value) {
            Meaning::Number(predicate) => match (holds(0), holds(1)) {
                (false, true) => Some(predicate),
                (true, false) => Some(self.meanings.negation_of(predicate)),
                _ => None,
            },
            Meaning::Own(mask) if number == 0 => {
                let own = self.meanings.predicate_that_mask_names_lane(mask);
                match condition {
                    Condition::NotEqual | Condition::GreaterUnsigned => Some(own),
                    Condition::Equal | Condition::LessEqualUnsigned => Some(self.meanings.negation_of(own)),
                    _ => None,
                }
            }
            _ => {
                let numbers = Numbers::satisfying(condition, bits, number);
                Some(self.meanings.membership_predicate(value, bits, numbers))
            }
        }
    }

    /// An operand as a sum of products of coordinates.
    fn terms_of_operand(&self, operand: Operand<'_>) -> Option<Terms> {
        if !self.meanings.follows_thread_rank() {
            return None;
        }
        if let Meaning::Threads(terms) = self.meanings.meaning_of(operand.name().unwrap_or_default()) {
            return Some(terms.clone());
        }
        match u32::try_from(operand.constant()?).ok()? {
            0 => Some(Vec::new()),
            number => Some(vec![([0; 6], number)]),
        }
    }

    fn terms_of_product(&self, op: BinaryOp, a: Operand<'_>, b: Operand<'_>) -> Option<Terms> {
        matches!(
            op,
            BinaryOp::MulLow | BinaryOp::MulWideUnsigned | BinaryOp::MulWideSigned
        )
        .then(|| product_of_terms(&self.terms_of_operand(a)?, &self.terms_of_operand(b)?))?
    }
}
