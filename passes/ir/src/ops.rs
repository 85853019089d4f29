//! Results in terms of operands: one table for every analysis that follows addresses or numbers through a body.
//!
//! ```text
//! moved        the operand, perhaps at another width or in another space: mov, cvt, cvta
//! sum, difference, product, product and sum       add, sub, mul, shl by a number, mad
//! bits, shifted right                             and, or, xor; shr
//! choice       one of two: selp
//! opposite     of a predicate: not
//! other        anything else
//! ```
//!
//! [`crate::evaluate`] computes results from known numbers; these forms hold for unknown ones, too.

use crate::{BinaryOp, Class, Op, Space, UnaryOp, Value};

/// The change that a move makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// The width: it is taken as `from` bits, with a sign or not, and extended or cut to `to`.
    Width {
        /// Bits of the source.
        from: u8,
        /// Sign-extends.
        signed: bool,
        /// Bits of the result.
        to: u8,
    },
    /// An address in this space becomes a generic one.
    ToGeneric(Space),
    /// A generic address becomes one in this space.
    FromGeneric(Space),
}

impl Op {
    /// The change that the operation makes, if it is a move.
    #[must_use]
    pub const fn change(self) -> Option<Change> {
        match self {
            Self::Copy => Some(Change::Nothing),
            Self::Convert { from, signed, to } => Some(Change::Width { from, signed, to }),
            Self::ToGeneric(space, _) => Some(Change::ToGeneric(space)),
            Self::FromGeneric(space, _) => Some(Change::FromGeneric(space)),
            _ => None,
        }
    }

    /// The multiplication whose product the result is, or has as a summand.
    #[must_use]
    pub fn multiplication(self) -> Option<BinaryOp> {
        match self {
            Self::Binary(op, _) | Self::MulAdd(op, _) => Some(op).filter(|op| is_product(*op)),
            _ => None,
        }
    }

    /// The product and the sum that a multiplication with an addition is: the sum of the product and the last operand.
    #[must_use]
    pub const fn product_and_sum(self) -> Option<(Self, Self)> {
        match self {
            Self::MulAdd(op, bits) => Some((Self::Binary(op, bits), Self::Binary(BinaryOp::Add, bits))),
            _ => None,
        }
    }

    /// True for a move that leaves all bits as they are: of an address, it changes the space at most.
    #[must_use]
    pub const fn keeps_bits(self) -> bool {
        matches!(
            self.change(),
            Some(Change::Nothing | Change::ToGeneric(_) | Change::FromGeneric(_))
        )
    }

    /// True for a move that leaves a number the same, unless a width has no room for it.
    #[must_use]
    pub const fn is_move(self) -> bool {
        matches!(self.change(), Some(change) if change.keeps_number())
    }
}

impl Change {
    /// True if the result is the same address, in the same or another space.
    #[must_use]
    pub const fn keeps_address(self) -> bool {
        match self {
            Self::Nothing | Self::ToGeneric(_) | Self::FromGeneric(_) => true,
            Self::Width { from, to, .. } => from >= 32 && to >= 32,
        }
    }

    /// True if a number stays the same one, unless a width has no room for it.
    #[must_use]
    pub const fn keeps_number(self) -> bool {
        matches!(self, Self::Nothing | Self::Width { .. })
    }
}

/// The first result of an operation, in terms of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An operand.
    Moved(Value, Change),
    /// The sum of two.
    Sum(Value, Value),
    /// The first less the second.
    Difference(Value, Value),
    /// The product of two, as many bits of it as there is room for; a shift by a number is one with a power of 2.
    Product(Value, Value),
    /// The product of two, plus the third.
    ProductSum(Value, Value, Value),
    /// The bits of two, combined one by one.
    Bits(Value, Value),
    /// The first, shifted right by the second, with zeros or copies of its sign from the left.
    ShiftedRight(Value, Value),
    /// One of two.
    Choice(Value, Value),
    /// The opposite of a predicate.
    Opposite(Value),
    /// Anything else.
    Other,
}

impl Form {
    /// Of an operation with these operands.
    #[must_use]
    pub fn of(op: Op, uses: &[Value]) -> Self {
        if let (Some(change), &[from, ..]) = (op.change(), uses) {
            return Self::Moved(from, change);
        }
        match (op, uses) {
            (Op::Binary(BinaryOp::Add, _), &[a, b]) => Self::Sum(a, b),
            (Op::Binary(BinaryOp::Sub, _), &[a, b]) => Self::Difference(a, b),
            (Op::Binary(BinaryOp::Shl, bits), &[a, Value::Integer(by)])
                if (0..i64::from(bits).min(63)).contains(&by) =>
            {
                Self::Product(a, Value::Integer(1 << by))
            }
            (Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _), &[a, b]) => Self::Bits(a, b),
            (Op::Binary(BinaryOp::ShrUnsigned | BinaryOp::ShrSigned, _), &[a, b]) => Self::ShiftedRight(a, b),
            (Op::Binary(op, _), &[a, b]) if is_product(op) => Self::Product(a, b),
            (Op::MulAdd(op, _), &[a, b, c]) if is_product(op) => Self::ProductSum(a, b, c),
            (Op::Select, &[a, b, _]) => Self::Choice(a, b),
            (Op::Unary(UnaryOp::Not, 1), &[from]) => Self::Opposite(from),
            _ => Self::Other,
        }
    }

    /// The operand that it is, if an address stays the same one.
    #[must_use]
    pub const fn moved_address(self) -> Option<Value> {
        match self {
            Self::Moved(from, change) if change.keeps_address() => Some(from),
            _ => None,
        }
    }

    /// The operand that it is, if a number stays the same one.
    #[must_use]
    pub const fn moved_number(self) -> Option<Value> {
        match self {
            Self::Moved(from, change) if change.keeps_number() => Some(from),
            _ => None,
        }
    }

    /// The operand that the result is made of, with any change.
    #[must_use]
    pub const fn moved(self) -> Option<Value> {
        match self {
            Self::Moved(from, _) => Some(from),
            _ => None,
        }
    }

    /// The operand that it is a constant distance from, and that distance.
    #[must_use]
    pub fn beside(self) -> Option<(Value, i64)> {
        match self {
            Self::Sum(from, Value::Integer(by)) | Self::Sum(Value::Integer(by), from) => Some((from, by)),
            Self::Difference(from, Value::Integer(by)) => Some((from, by.checked_neg()?)),
            _ => None,
        }
    }
}

const fn is_product(op: BinaryOp) -> bool {
    matches!(op.class(), Class::Product | Class::WideProduct { .. })
}

#[cfg(test)]
mod tests {
    use super::{Change, Form};
    use crate::evaluate::evaluate;
    use crate::{BinaryOp as B, Op, Space, UnaryOp, Value};

    const A: u64 = 0x1_2345_6789;

    /// The number that a form gives for numbers, at so many bits.
    fn number(form: Form) -> Option<u64> {
        let of = |value| match value {
            Value::Integer(number) => number as u64,
            _ => unreachable!("numbers alone"),
        };
        Some(match form {
            Form::Moved(from, _) => of(from),
            Form::Sum(a, b) => of(a).wrapping_add(of(b)),
            Form::Difference(a, b) => of(a).wrapping_sub(of(b)),
            Form::Product(a, b) => of(a).wrapping_mul(of(b)),
            Form::ProductSum(a, b, c) => of(a).wrapping_mul(of(b)).wrapping_add(of(c)),
            Form::Opposite(from) => of(from) ^ 1,
            Form::Bits(..) | Form::ShiftedRight(..) | Form::Choice(..) | Form::Other => return None,
        })
    }

    #[test]
    fn forms_are_what_operations_compute() {
        let three = [7, 5, 11].map(Value::Integer);
        let ops = [
            (Op::Copy, 1),
            (
                Op::Convert {
                    from: 32,
                    signed: true,
                    to: 64,
                },
                1,
            ),
            (Op::Binary(B::Add, 64), 2),
            (Op::Binary(B::Sub, 64), 2),
            (Op::Binary(B::MulLow, 64), 2),
            (Op::Binary(B::MulWideSigned, 64), 2),
            (Op::Binary(B::MulWideUnsigned, 64), 2),
            (Op::Binary(B::Shl, 64), 2),
            (Op::MulAdd(B::MulLow, 64), 3),
            (Op::MulAdd(B::MulWideUnsigned, 64), 3),
        ];
        for (op, count) in ops {
            let computed = evaluate(op, &[7, 5, 11][..count]);
            assert_eq!(number(Form::of(op, &three[..count])), computed, "{op:?}");
        }
        assert_eq!(
            number(Form::of(Op::Unary(UnaryOp::Not, 1), &[Value::Integer(1)])),
            Some(0)
        );
        for op in [
            B::MulHighSigned,
            B::MulHighUnsigned,
            B::RemSigned,
            B::DivSigned,
            B::MinSigned,
        ] {
            assert_eq!(Form::of(Op::Binary(op, 64), &three[..2]), Form::Other, "{op:?}");
        }
        // A shift that leaves nothing, or by a number that is not known.
        let by = |amount| Form::of(Op::Binary(B::Shl, 32), &[Value::Integer(A as i64), amount]);
        assert_eq!([by(Value::Integer(32)), by(Value::Unknown)], [Form::Other; 2]);
    }

    #[test]
    fn an_address_needs_its_bits() {
        let width = |from, to| Change::Width {
            from,
            signed: false,
            to,
        };
        assert!(width(32, 64).keeps_address() && !width(16, 64).keeps_address());
        assert!(
            Change::ToGeneric(Space::Shared).keeps_address()
                && !Change::ToGeneric(Space::Shared).keeps_number()
        );
        let value = Value::Param(0, 0);
        let beside = |op, uses: &[Value]| Form::of(op, uses).beside();
        assert_eq!(
            beside(Op::Binary(B::Sub, 64), &[value, Value::Integer(8)]),
            Some((value, -8))
        );
        assert_eq!(
            beside(Op::Binary(B::Sub, 64), &[value, Value::Integer(i64::MIN)]),
            None
        );
        assert_eq!(
            beside(Op::Binary(B::Add, 64), &[Value::Integer(8), value]),
            Some((value, 8))
        );
    }
}
