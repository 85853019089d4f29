//! ## What it does
//!
//! Reports inputs that cannot be read, and inputs that are nothing ptxcheck reads.
//!
//! ## Why is this bad?
//!
//! A check that silently skips a file is not a check. The run goes on with the other inputs and ends with exit code 2.
//!
//! ## Example
//!
//! ```text
//! error[PTX901] unreadable-input: cannot read it: No such file or directory
//! ```
//!
//! ## Use instead
//!
//! A path that exists, to a file of a kind that this release reads; `--allow-empty` where a build step may leave
//! nothing.
//!
//! ## Limits
//!
//! The kind of a file is recognised by its first bytes, then by its extension. Parts of a file count, too: a broken fat binary, an
//! image that does not unpack. The other images of the file are analysed all the same. Nothing that was found in a file
//! counts if somebody changed or cut it short while it was read. Packages (wheels, conda, Debian, zip, tar) stand for their
//! members, and problems of a member are reported for that member; other archives (cpio, RPM, 7z) and compressed streams are not looked
//! into. This release reads PTX, on its own or inside of fat binaries, objects, libraries, executables and archives; LLVM IR it does not.

use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX901",
    name: "unreadable-input",
    family: Family::Run,
    summary: "an input cannot be read, or holds no device code that can be",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};
