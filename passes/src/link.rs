//! What device code leaves open, and who has it.
//!
//! ```text
//! module ── open: symbols that it uses and does not define ──┐
//! cubin ─── image::cubin: the same, from its symbol table ────┤
//! host ──── names: what the code of the host defines ─────────┴── set: inputs that are linked together ── Missing
//! ```
//!
//! A link set is an input, or all inputs of a run (`--link-set`, `--whole-program`). Images that the driver loads as they
//! are (PTX in `.nv_fatbin`) are linked with nothing, and what a finished link left behind has been linked.

mod names;
mod open;
mod set;

pub use names::{HostKind, HostNames};
pub use open::symbols;
pub use set::{HostDefinition, Missing, Site, missing};

use crate::finding::Located;

/// What an image shows to a linker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Functions and variables that other images can refer to; kernels are listed elsewhere.
    pub defined: Vec<String>,
    /// What it uses and does not define, in the order of the first use.
    pub open: Vec<Open>,
}

/// A symbol that an image uses and does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// As the image names it.
    pub name: String,
    /// What it is used as.
    pub what: What,
    /// The part of the C++ runtime of the host that it belongs to, which no library for devices has.
    pub runtime: Option<&'static str>,
    /// The first use in each function and variable that refers to it, up to [`crate::limits::SHOWN_USES`].
    pub uses: Vec<Located>,
    /// How many more functions and variables refer to it.
    pub more: u32,
}

/// What a symbol is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Memory.
    Variable,
    /// Code.
    Function,
}

impl What {
    /// The word in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Function => "function",
        }
    }
}
