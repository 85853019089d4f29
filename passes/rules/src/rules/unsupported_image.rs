//! ## What it does
//!
//! Reports, once for a file, images whose format nobody outside NVIDIA can read: LTO-IR (`-dlto`), bundles that
//! `nvcc --concat` writes, and images of kinds that this release does not know. Also host objects that are yet to be compiled
//! (`-flto` of clang's and GCC's) with device code inside: it is part of what the compiler keeps for itself. In a package, links that lead
//! out of it.
//!
//! ## Why is this bad?
//!
//! Their code was not analysed. A clean report of a file with such images says nothing about them.
//!
//! ## Example
//!
//! ```text
//! warning[PTX905] unsupported-image: it holds 1 image of LTO-IR, a closed format: present, not analysed
//! ```
//!
//! ## Use instead
//!
//! Check the PTX that the same sources compile to (`nvcc -ptx`), or build a variant without `-dlto` for the check. Of host
//! code for a link-time optimiser, check the linked file.
//!
//! ## Limits
//!
//! If a file holds nothing else, nothing of it was analysed and the exit code is 2. Host objects that are yet to be compiled
//! count as files without device code there: their linked file has it.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX905",
    name: "unsupported-image",
    family: Family::Run,
    summary: "an image is in a format that nobody outside can read",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
