//! What operands hold: one evaluator, and domains that describe values.
//!
//! ```text
//! Evaluator<D>   follows a register to its only definition, through slots of the stack, loads of parameters and what calls return,
//!                and asks the domain D what each operation makes of its operands; each register is looked at once
//! Linear         Σ factor · atom + a number in each lane of a warp
//! ```
//!
//! An analysis that asks what an operand is, is a client of these: it says which domain answers, and what it does with the answer.

mod evaluator;
mod linear;
mod numbers;
mod parts;

pub(crate) use evaluator::{Domain, Evaluator, Result, Source};
pub(crate) use linear::{Elected, Linear, Sum, Unknowns};
pub(crate) use numbers::Numbers;
pub(crate) use parts::{Atom, Parts, Terms, plus};
