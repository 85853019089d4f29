//! What a module or an image declares, whatever it was read from: plain data that owns its text.

use crate::function::LaunchBounds;
use crate::places::{Frame, Located};

/// What an image declares. Images with the same content share one.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Kernels defined, in the order of the image.
    pub kernels: Vec<Kernel>,
    /// Variables defined that have a size.
    pub variables: Vec<Variable>,
    /// Weak functions and kernels defined, with a digest of each body.
    pub weak: Vec<WeakFunction>,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// What it shows to a linker; `None` where that is not known.
    pub symbols: Option<Symbols>,
    /// The compiler or assembler, as the image names it.
    pub producer: Option<String>,
    /// Absolute paths of the machine that built it, each once.
    pub paths: Vec<String>,
    /// Built for debugging (`-G`).
    pub is_debug: bool,
    /// Some of it could not be read: what is missing proves nothing.
    pub is_damaged: bool,
}

/// A kernel of an image.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build (see [`ptxcheck_common::names::normalised`]).
    pub identity: String,
    /// Offset and size of each parameter in bytes, where they are known.
    pub params: Option<Vec<(u32, u32)>>,
    /// Launch bounds. Machine code does not keep [`LaunchBounds::min_ctas`].
    pub launch: LaunchBounds,
    /// Where the source declares it, where debug information says so.
    pub source: Option<Frame>,
}

/// A variable of an image.
#[derive(Clone, Debug)]
pub struct Variable {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build.
    pub identity: String,
    /// Bytes.
    pub size: u64,
}

/// A weak function: of several definitions, the linker keeps one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakFunction {
    /// Its name.
    pub name: String,
    /// Digest of its parameters and results.
    pub signature: u64,
    /// Digest of its body, numbers of registers and labels aside.
    pub body: u64,
    /// Digest of the calls in it, in order.
    pub calls: u64,
}

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

/// Whether a path is one from the root, of Linux or Windows.
#[must_use]
pub fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/") || path.get(1..3).is_some_and(|head| head == b":\\" || head == b":/")
}
