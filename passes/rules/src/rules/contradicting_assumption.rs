//! ## What it does
//!
//! Reports an assumption about a kernel's parameter (`[assume]` in the configuration, or `--assume`) that the kernel contradicts: it has
//! no such parameter, the parameter is not an integer of 1, 2, 4 or 8 bytes, a value does not fit it, or no value is as several
//! assumptions say.
//!
//! ## Why is this bad?
//!
//! Conditional findings keep to what is assumed. One that does not fit its kernel is misspelt, or older than the kernel: it counts for
//! nothing, and what it was to rule out is reported, or what it rules out for another parameter is not.
//!
//! ## Example
//!
//! ```toml
//! [assume."forces*"]
//! 3 = "% 128"          # __global__ void forces(const float *in, int n, float *out)
//! ```
//!
//! ## Use instead
//!
//! ```toml
//! [assume."forces*"]
//! 1 = "% 128"          # parameters count from 0
//! ```
//!
//! ## Limits
//!
//! An integer in a structure is as wide as the kernel loads it, which is not checked. The type of a parameter is not known in PTX: a
//! floating-point number or a pointer counts as an integer of its size. A name that no parameter is known to have is reported with
//! `--strict-config` (PTX906).

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX908",
    name: "contradicting-assumption",
    family: Family::Run,
    summary: "an assumption about a parameter does not fit its kernel",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
