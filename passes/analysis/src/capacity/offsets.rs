//! The domain of offsets: the integers that were widened to 64 bits and are parts of an address.
//!
//! ```text
//! r              widened from 32 bits to 64, or a product of two such     {r · 1}
//! add, sub       the parts of both
//! mul, shl       by a number: each part times the number
//! shl 32, shr k  the low half, widened, times 2³²⁻ᵏ                       {r · 2³²⁻ᵏ}
//! selp           the parts of both
//! ```

use std::rc::Rc;

use crate::value::{Domain, Result};
use ptxcheck_ir::{Access, Class, Op, Register, Value};

/// Parts of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offsets {
    /// The number that it is, if it is one.
    number: Option<i64>,
    /// The registers that hold widened integers, with the bytes that a step of one is; in order.
    parts: Option<Rc<[(Register, i64)]>>,
}

/// The factor of the low half of an integer that is shifted to the high half.
const HIGH: i64 = 1 << 32;

/// Most parts of an address.
const MAX_PARTS: usize = 16;

impl Offsets {
    const NONE: Self = Self {
        number: None,
        parts: None,
    };

    /// The registers that hold widened integers, with the bytes that a step of one is.
    pub(super) fn parts(&self) -> &[(Register, i64)] {
        self.parts.as_deref().unwrap_or_default()
    }

    fn of_parts(parts: Vec<(Register, i64)>) -> Self {
        Self {
            number: None,
            parts: (!parts.is_empty()).then(|| parts.into()),
        }
    }

    fn union(&self, other: &Self) -> Self {
        if other.parts.is_none() || self.parts == other.parts {
            return Self {
                number: None,
                ..self.clone()
            };
        }
        let mut parts = self.parts().to_vec();
        for one in other.parts() {
            if let Err(at) = parts.binary_search(one)
                && parts.len() < MAX_PARTS
            {
                parts.insert(at, *one);
            }
        }
        Self::of_parts(parts)
    }

    fn times(&self, by: i64) -> Self {
        let parts = self.parts().iter();
        let mut parts: Vec<_> = parts
            .filter_map(|&(register, scale)| Some((register, scale.checked_mul(by)?)))
            .collect();
        parts.sort_unstable();
        Self::of_parts(parts)
    }
}

/// Describes addresses by the widened integers in them.
pub(super) struct OffsetDomain;

impl Domain for OffsetDomain {
    type Value = Offsets;

    fn join(&self, one: &Offsets, other: &Offsets) -> Option<Offsets> {
        Some(one.union(other))
    }

    fn joins_descriptions(&self) -> bool {
        true
    }

    fn describe_operand(&self, value: Value) -> Option<Offsets> {
        Some(Offsets {
            number: match value {
                Value::Integer(number) => Some(number),
                _ => None,
            },
            parts: None,
        })
    }

    fn describe_complement(&self, _value: Offsets) -> Option<Offsets> {
        Some(Offsets::NONE)
    }

    fn describe_param(&self, _piece: (u16, i32), _access: Access) -> Option<Offsets> {
        Some(Offsets::NONE)
    }

    fn opaque_description(&self, _register: Register) -> Option<Offsets> {
        Some(Offsets::NONE)
    }

    fn relevant_operands<'u>(&self, op: Op, uses: &'u [Value]) -> Option<&'u [Value]> {
        match op {
            Op::Select => uses.get(..2),
            op if op.change().is_some() => uses.get(..1),
            Op::Binary(..) => Some(uses),
            _ => None,
        }
    }

    fn describe_result(&self, op: Op, result: Result, operands: &[Offsets]) -> Option<Offsets> {
        let widened = || Offsets::of_parts(vec![(result.register, 1)]);
        let of_binary = |class, one: &Offsets, other: &Offsets| match class {
            Class::WideProduct { .. } => widened(),
            Class::Sum | Class::Difference | Class::Or => one.union(other),
            Class::Product => match (one.number, other.number) {
                (_, Some(by)) => one.times(by),
                (Some(by), None) => other.times(by),
                (None, None) => Offsets::NONE,
            },
            Class::ShiftedLeft => match other.number {
                Some(32) => Offsets::of_parts(vec![(result.register, HIGH)]),
                Some(by @ 0..=32) => one.times(1 << by),
                _ => Offsets::NONE,
            },
            Class::ShiftedRight { .. } => match (one.parts(), other.number) {
                ([(_, HIGH)], Some(by @ 0..=32)) => Offsets::of_parts(vec![(result.register, HIGH >> by)]),
                _ => Offsets::NONE,
            },
            Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::And
            | Class::Xor
            | Class::Other => Offsets::NONE,
        };
        Some(match (op, operands) {
            (Op::Convert { from: 32, to: 64, .. }, [_]) => widened(),
            (op, [from]) if op.keeps_bits() => from.clone(),
            (Op::Select, [one, other]) => one.union(other),
            (Op::Binary(op, 64), [one, other]) => of_binary(op.class(), one, other),
            _ => Offsets::NONE,
        })
    }
}
