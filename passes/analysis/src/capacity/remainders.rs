//! Remainders that compilers compute without a division: `x - q · c`, where `q` is a product with the reciprocal of `c`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::largest::Largest;
use crate::limits::MAX_REMAINDER_WORK;
use crate::value::{Evaluator, Linear, Source, Unknowns};
use ptxcheck_ir::{Body, Class, Op, Register, Value};

/// The largest values of the registers of a body that hold a remainder by a number.
pub(super) fn largest_remainders<'a, 'm: 'a>(
    body: &'a Body<'m>,
    source: impl Fn() -> Source<'a, 'm>,
) -> FxHashMap<Register, Largest> {
    let mut found = FxHashMap::default();
    // Each try takes as long as there are registers.
    let mut tries = MAX_REMAINDER_WORK / body.registers.len().max(1);
    for instruction in &body.instructions {
        let (results, uses) = body.operands(instruction);
        let (Op::Binary(op, bits @ (32 | 64)), &[Value::Register(result)], &[dividend, multiple]) =
            (instruction.op, results, uses)
        else {
            continue;
        };
        if op.class() == Class::Difference
            && matches!(dividend, Value::Register(_))
            && tries > 0
            && let Some(divisor) = factor_of(multiple, &source())
        {
            tries -= 1;
            if is_remainder(result, dividend, (divisor, bits), &source) {
                found.insert(result, Largest::of_number(i128::from(divisor) - 1));
            }
        }
    }
    found
}

/// The number that a value is a multiple of, by its definition.
fn factor_of(value: Value, source: &Source<'_, '_>) -> Option<u64> {
    let definition = source.analyses?.only_writer(value)?;
    let instruction = source.body.instruction(definition);
    match (instruction.op, source.body.uses(instruction)) {
        (Op::Binary(op, _), &[_, Value::Integer(by)] | &[Value::Integer(by), _])
            if op.class() == Class::Product =>
        {
            u64::try_from(by).ok().filter(|by| (2..1 << 31).contains(by))
        }
        _ => None,
    }
}

/// True if a register is the remainder of the dividend at all sampled numbers.
fn is_remainder<'a, 'm: 'a>(
    result: Register,
    dividend: Value,
    (divisor, bits): (u64, u8),
    source: &impl Fn() -> Source<'a, 'm>,
) -> bool {
    let most = (1_u64 << (bits - 1)) - 1;
    let samples = [
        0,
        divisor - 1,
        divisor,
        divisor + 1,
        divisor.saturating_mul(7) - 1,
        divisor.saturating_mul(1_000) + divisor / 2,
        most / divisor * divisor - 1,
        most,
    ];
    samples
        .into_iter()
        .filter(|sample| *sample <= most)
        .all(|sample| {
            let known = Rc::new(move |value: Value| (value == dividend).then_some(sample));
            let mut numbers = Evaluator::new(source(), Linear::new(None, None, Unknowns::All(known)));
            let remainder = numbers
                .description_of(Value::Register(result))
                .and_then(|sum| sum.constant());
            remainder == Some(sample % divisor)
        })
}
