//! The values of operands: one evaluator, and domains that describe values.
//!
//! ```text
//! Evaluator<D>   follows a register to its only definition, through slots of the stack, loads of parameters and results of calls, and
//!                asks the domain D for the result of each operation; it evaluates each register once
//! Intervals      the least and the greatest number of a value, or of the distance from a variable
//! KnownBits      the bits of a number that are certainly 0, and certainly 1
//! Linear         Σ factor · atom + a number in each lane of a warp
//! Polynomial     Σ coefficient · product of quantities, for domains of sizes
//! ```
//!
//! An analysis that needs the value of an operand chooses a domain and uses its answer; it has no walker of its own.

mod evaluator;
mod interval;
mod known_bits;
mod linear;
mod numbers;
mod parts;
mod polynomial;

pub(crate) use evaluator::{Domain, Evaluator, Result, Source};
pub(crate) use interval::{Interval, IntervalDomain, Intervals, ThreadNumbers};
pub(crate) use known_bits::{Bits, KnownBits, bits_of_result as known_bits, may_give_known_bits};
pub(crate) use linear::{Elected, Linear, PassedSums, Sum, Unknowns};
pub(crate) use numbers::Numbers;
pub(crate) use parts::{Atom, Parts, Terms, sum_with_multiple};
pub(crate) use polynomial::Polynomial;
