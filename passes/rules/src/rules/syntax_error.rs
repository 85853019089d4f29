//! ## What it does
//!
//! Reports what is malformed in a PTX module: the place, what was expected there and what stands there instead. The
//! parser goes on after the next `;` or `}`, so that one bad line hides nothing else. Malformed is also a module without
//! `.version` and `.target`, or with ones that are none, a second module in the same text, an instruction with fewer operands than any of its forms has, a
//! guard that is not a predicate register, and a branch to a name that is not a label of the function.
//!
//! ## Why is this bad?
//!
//! ptxas and the driver reject the module, and what a broken statement does is not analysed. The usual cause is
//! inline assembly, or a file that was cut off.
//!
//! ## Example
//!
//! ```ptx
//! add.s32 %r1, %r2;;
//! ```
//!
//! ## Use instead
//!
//! Correct the code as the message says.
//!
//! ## Limits
//!
//! Unknown opcodes, directives, types, versions and targets are not errors: PTX grows with every toolkit. What is well
//! formed and still means nothing (too many operands, or ones of another kind than the opcode's) is for ptxas to say.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX902",
    name: "syntax-error",
    family: Family::Run,
    summary: "the text of a module is malformed",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
