//! Comparisons that the intervals of their operands decide: no lane has a number above 31, no CTA more than 1,024 threads (PTX ISA,
//! Special Registers).

use super::definitions::Definitions;
use super::evaluate::{evaluate, ones};
use crate::value::{IntervalDomain, Intervals, Source, ThreadNumbers};
use ptxcheck_ir::{Body, Condition, Logic, Op, Register, Value};

/// The least and the greatest value, as unsigned numbers.
type Range = (u64, u64);

/// The intervals of the registers of a body, in any thread; slots are not followed.
pub(crate) fn intervals_of_registers<'a, 'm>(
    body: &'a Body<'m>,
    definitions: &'a Definitions,
) -> Intervals<'a, 'm> {
    let source = Source {
        body,
        definitions,
        analyses: None,
        module: None,
        first_at: None,
    };
    Intervals::new(source, IntervalDomain(ThreadNumbers::ALL))
}

/// The value of a predicate whose only definition is a comparison of values whose ranges leave one outcome.
#[must_use]
pub(crate) fn comparison_outcome(
    body: &Body<'_>,
    definitions: &Definitions,
    intervals: &mut Intervals<'_, '_>,
    predicate: Register,
) -> Option<bool> {
    let comparison = body.instruction(definitions.only_writer(body, predicate)?);
    let Op::Compare(condition, bits, Logic::None) = comparison.op else {
        return None;
    };
    let &[a, b] = body.uses(comparison) else {
        return None;
    };
    let (a, b) = (
        range_of_operand(intervals, a, bits)?,
        range_of_operand(intervals, b, bits)?,
    );
    let holds = decide_comparison(condition, bits, a, b)?;
    let is_complement = body.results(comparison).first() != Some(&Value::Register(predicate));
    Some(holds != is_complement)
}

fn decide_comparison(condition: Condition, bits: u8, a: Range, b: Range) -> Option<bool> {
    use Condition as C;
    match condition {
        C::Equal | C::NotEqual => (a.1 < b.0 || b.1 < a.0).then_some(condition == C::NotEqual),
        _ => {
            let signed = matches!(
                condition,
                C::LessSigned | C::LessEqualSigned | C::GreaterSigned | C::GreaterEqualSigned
            );
            if signed && a.1.max(b.1) > ones(bits.saturating_sub(1)) {
                return None;
            }
            // Orders are monotone: if both ends agree, all values in between do.
            let holds = |a: u64, b: u64| evaluate(Op::Compare(condition, bits, Logic::None), &[a, b]);
            let (first, last) = (holds(a.0, b.1)?, holds(a.1, b.0)?);
            (first == last).then_some(first & 1 == 1)
        }
    }
}

/// The least and the greatest value of an operand as an unsigned number of so many bits; `None` if it is not restricted.
pub(crate) fn range_of_operand(intervals: &mut Intervals<'_, '_>, value: Value, bits: u8) -> Option<Range> {
    let found = intervals.description_of(value)?;
    let (least, most) = (u64::try_from(found.least).ok()?, u64::try_from(found.most).ok()?);
    (found.base.is_none() && most <= ones(bits)).then_some((least, most))
}
