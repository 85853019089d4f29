//! Values of registers, as far as they are known.
//!
//! ```text
//!               Mixed
//!     ┌───────┬───┴───┬──────────┐
//!   Stack   Place   Bits      AnyStack
//!  offset  address  mask        │
//!     └───────────────────────Stack
//! ```
//!
//! The join of two values is the least that stands for both. `Bits` is a number with some known bits; it is not made from an
//! address of the function's own frame, nor from one that the code names.

use crate::host_code::CodeAddress;

/// A value of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number. Of `value`, those bits are known that are set in `known`; the others are 0.
    Bits { value: u64, known: u64 },
    /// An address in the frame of the function: bytes from where the stack pointer was when it was entered.
    Stack(i64),
    /// Some address in the frame.
    AnyStack,
    /// The address of a function or variable of the file.
    Place(CodeAddress),
    /// Any of these.
    Mixed,
}

impl Value {
    /// An unknown number.
    pub(super) const UNKNOWN: Self = Self::Bits { value: 0, known: 0 };

    /// A number.
    pub(super) const fn exact(value: u64) -> Self {
        Self::Bits {
            value,
            known: u64::MAX,
        }
    }

    /// A number of `width` bytes whose other bytes are 0.
    pub(super) const fn of_width(value: u64, known: u64, width: usize) -> Self {
        let mask = mask(width);
        Self::Bits {
            value: value & known & mask,
            known: known & mask | !mask,
        }
    }

    /// The number, if all of it is known.
    pub(super) const fn number(self) -> Option<u64> {
        match self {
            Self::Bits {
                value,
                known: u64::MAX,
            } => Some(value),
            _ => None,
        }
    }

    /// Four bytes of it, if they are known: the lower (`half` 0) or the upper ones.
    pub(super) const fn half(self, half: u32) -> Option<u32> {
        match self {
            Self::Bits { value, known } if (known >> (32 * half)) as u32 == u32::MAX => {
                Some((value >> (32 * half)) as u32)
            }
            _ => None,
        }
    }

    /// True if it can be an address in the frame.
    pub(super) const fn is_frame(self) -> bool {
        matches!(self, Self::Stack(_) | Self::AnyStack | Self::Mixed)
    }

    /// The least value that stands for both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (
                Self::Bits {
                    value: a,
                    known: known_a,
                },
                Self::Bits {
                    value: b,
                    known: known_b,
                },
            ) => {
                let known = known_a & known_b & !(a ^ b);
                Self::Bits {
                    value: a & known,
                    known,
                }
            }
            (Self::Stack(_) | Self::AnyStack, Self::Stack(_) | Self::AnyStack) => Self::AnyStack,
            _ => Self::Mixed,
        }
    }

    /// The sum modulo 2^64.
    pub(super) fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bits { value: a, known: x }, Self::Bits { value: b, known: y }) => {
                // Known up to the lowest bit that one of them leaves open.
                let known = low_ones(x & y);
                Self::Bits {
                    value: a.wrapping_add(b) & known,
                    known,
                }
            }
            (Self::Stack(at), number) | (number, Self::Stack(at)) if number.number().is_some() => {
                let number = number.number().unwrap_or(0).cast_signed();
                at.checked_add(number).map_or(Self::AnyStack, Self::Stack)
            }
            (Self::Place((section, at)), number) | (number, Self::Place((section, at)))
                if number.number().is_some() =>
            {
                Self::Place((section, at.wrapping_add(number.number().unwrap_or(0))))
            }
            (Self::Stack(_) | Self::AnyStack, Self::Bits { .. })
            | (Self::Bits { .. }, Self::Stack(_) | Self::AnyStack) => Self::AnyStack,
            // Into a table; no function is called or launched by that.
            (Self::Place(_), Self::Bits { .. }) | (Self::Bits { .. }, Self::Place(_)) => Self::UNKNOWN,
            _ => Self::Mixed,
        }
    }

    /// The difference modulo 2^64.
    pub(super) fn subtract(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bits { value: a, known: x }, Self::Bits { value: b, known: y }) => {
                let known = low_ones(x & y);
                Self::Bits {
                    value: a.wrapping_sub(b) & known,
                    known,
                }
            }
            (_, Self::Bits { .. }) => match other.number() {
                Some(number) => self.add(Self::exact(number.wrapping_neg())),
                None => self.add(Self::UNKNOWN),
            },
            (Self::Stack(a), Self::Stack(b)) => Self::exact(a.wrapping_sub(b).cast_unsigned()),
            _ => Self::Mixed,
        }
    }

    /// Bitwise or. A bit that is 1 in one of them is known.
    pub(super) const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bits { value: a, known: x }, Self::Bits { value: b, known: y }) => Self::Bits {
                value: a | b,
                known: x & y | a | b,
            },
            _ => Self::Mixed,
        }
    }

    /// Shifted to the right by so many bits.
    pub(super) const fn shifted_right(self, by: u32) -> Self {
        let Self::Bits { value, known } = self else {
            return Self::Mixed;
        };
        let by = by & 63;
        Self::Bits {
            value: value >> by,
            known: known >> by | !(u64::MAX >> by),
        }
    }

    /// The lower `width` bytes, the others 0. An address loses what it was.
    pub(super) const fn truncated(self, width: usize) -> Self {
        match self {
            _ if width >= 8 => self,
            Self::Bits { value, known } => Self::of_width(value, known, width),
            _ => Self::Mixed,
        }
    }

    /// The value of a register whose lower `width` bytes are those of `part`.
    pub(super) fn merged(self, part: Self, width: usize) -> Self {
        let lower = mask(width);
        let keep = Self::Bits {
            value: 0,
            known: lower,
        };
        match (self, part.truncated(width)) {
            (Self::Bits { value, known }, Self::Bits { value: v, known: k }) => Self::Bits {
                value: value & !lower | v & lower,
                known: known & !lower | k & lower,
            },
            (Self::Bits { .. }, other) => other.join(keep),
            _ => Self::Mixed,
        }
    }
}

/// The bits of so many bytes.
pub(super) const fn mask(width: usize) -> u64 {
    if width >= 8 {
        u64::MAX
    } else {
        (1 << (8 * width)) - 1
    }
}

/// The bits up to the lowest that is 0.
const fn low_ones(bits: u64) -> u64 {
    match bits.trailing_ones() {
        64 => u64::MAX,
        ones => (1 << ones) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn known_bits_go_through_arithmetic() {
        let open = Value::of_width(0, 0, 4);
        let one = Value::exact(1 << 32);
        let pair = open.or(one);
        assert_eq!((pair.half(0), pair.half(1)), (None, Some(1)));
        assert_eq!(pair.shifted_right(32).number(), Some(1));
        assert_eq!(one.add(Value::exact(0x60)).half(0), Some(0x60));
        assert_eq!(one.add(open).half(1), None);
        assert_eq!(Value::exact(3).join(Value::exact(7)).half(0), None);
        assert_eq!(Value::exact(3).subtract(Value::exact(4)).number(), Some(u64::MAX));
        assert_eq!(Value::exact(0x1ff).truncated(1).number(), Some(0xff));
        assert_eq!(
            Value::exact(u64::MAX).merged(Value::exact(0), 1).number(),
            Some(u64::MAX - 0xff)
        );
    }

    #[test]
    fn addresses_stay_addresses() {
        let (slot, place) = (Value::Stack(-16), Value::Place((3, 8)));
        assert_eq!(slot.add(Value::exact(8)), Value::Stack(-8));
        assert_eq!(slot.subtract(Value::exact(8)), Value::Stack(-24));
        assert_eq!(slot.add(Value::UNKNOWN), Value::AnyStack);
        assert_eq!(slot.join(Value::Stack(0)), Value::AnyStack);
        assert_eq!(slot.join(Value::UNKNOWN), Value::Mixed);
        assert_eq!(slot.truncated(4), Value::Mixed);
        assert_eq!(Value::Stack(i64::MAX).add(Value::exact(1)), Value::AnyStack);
        assert_eq!(place.add(Value::exact(1)), Value::Place((3, 9)));
        assert_eq!(place.or(slot), Value::Mixed);
        assert_eq!(Value::exact(1).merged(slot, 4), Value::Mixed);
    }
}
