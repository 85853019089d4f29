//! The contents of a file, independent of its format.

use crate::host_names::HostNames;

/// The format of an image's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ImageKind {
    /// PTX text: analysed.
    Ptx,
    /// Machine code: what it declares is read, its instructions are not.
    Cubin,
    /// LTO-IR, a closed format.
    LtoIr,
    /// The output of `nvcc --concat`, a closed format.
    Bundle,
    /// LLVM IR, as text or bitcode: analysed where something is there to read it.
    LlvmIr,
    /// MLIR, as text or bytecode: analysed where the program that reads it is there, and something to read LLVM IR.
    Mlir,
    /// None of these.
    Other,
}

impl ImageKind {
    /// The word in documents: `ptx`, `cubin`, `lto-ir`, `bundle`, `llvm-ir`, `mlir`, `other`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::LtoIr => "lto-ir",
            Self::Bundle => "bundle",
            Self::LlvmIr => "llvm-ir",
            Self::Mlir => "mlir",
            Self::Other => "other",
        }
    }
}

/// The role of an image: the consumer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Role {
    /// The driver.
    Loadable,
    /// The device linker: relocatable device code in an object or archive.
    Relocatable,
    /// The driver's linker: relocatable device code in a linked file. The driver links it anew on GPUs that the linked machine code
    /// does not fit (NVCC, Implicit JIT Linking).
    LinkedAtLoad,
    /// Debuggers: PTX inside a cubin.
    Embedded,
    /// Nobody: PTX that was made for the check, of code that the file has in another form. It lies in no file.
    Recompiled,
}

impl Role {
    /// The word in documents: `loadable`, `relocatable`, `linked-at-load`, `embedded`, `recompiled`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loadable => "loadable",
            Self::Relocatable => "relocatable",
            Self::LinkedAtLoad => "linked-at-load",
            Self::Embedded => "embedded",
            Self::Recompiled => "recompiled",
        }
    }

    /// True if a program can end up running it, without a linker that the driver starts.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Loadable | Self::Relocatable)
    }

    /// True if a linker links it, or has linked it, with the code of other objects.
    #[must_use]
    pub const fn is_linked(self) -> bool {
        matches!(self, Self::Relocatable | Self::LinkedAtLoad)
    }

    /// True if it is PTX of code that the file has in another form, too.
    #[must_use]
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::Embedded | Self::Recompiled)
    }
}

/// 90 and `a` of `sm_90a` or `90a`.
#[must_use]
pub fn split_target(target: &str) -> (u32, &str) {
    let digits = target.strip_prefix("sm_").unwrap_or(target);
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    (digits[..end].parse().unwrap_or(0), &digits[end..])
}

/// A name that host code gives to the CUDA runtime.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Registration {
    /// The name of a kernel or variable in device code.
    pub name: String,
    /// The member of the archive whose code registers it.
    pub member: Option<String>,
    /// It is a variable.
    pub is_variable: bool,
    /// Read off the arguments of the registering call, or off a symbol that only a registered kernel has.
    pub is_certain: bool,
}

/// A kernel that host code can launch and does not register.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Launchable {
    /// The name of the kernel, as host code has it.
    pub name: String,
    /// The member of the archive whose code can launch it.
    pub member: Option<String>,
    /// Code launches it, or takes the address that a launch takes.
    pub is_called: bool,
    /// No other object can have the stub that is called instead.
    pub is_settled: bool,
}

/// A launch that the machine code of host code makes, with a constant block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct HostLaunch {
    /// The kernel's name in device code, normalised ([`ptxcheck_common::names::normalised`]).
    pub kernel: String,
    /// Blocks of the grid in x, y and z, where they are constant.
    pub grid: [Option<u32>; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for a block, where they are constant.
    pub shared: Option<u64>,
    /// The symbol of the host function that launches it.
    pub caller: String,
    /// The member of the archive that the function lies in.
    pub member: Option<String>,
    /// The kernel has no other launches than those of the file that are listed.
    pub is_all: bool,
}

/// A shared library that a linked file needs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NeededLibrary {
    /// Its name: `libcudart.so.12`.
    pub name: String,
    /// The versions of its symbols that are needed.
    pub versions: Vec<String>,
}

/// The host side of an input.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Host {
    /// The kernels and variables that it registers, sorted.
    pub registered: Vec<Registration>,
    /// The kernels that it can launch and does not register, sorted.
    pub unregistered: Vec<Launchable>,
    /// It may register more than [`Self::registered`] has: the calls could not be read, or not all of them.
    #[serde(default)]
    pub is_partial: bool,
    /// The shared libraries that it needs.
    #[serde(default)]
    pub needed: Vec<NeededLibrary>,
    /// A linker is done with it: an executable or shared library.
    pub is_linked: bool,
    /// It has no symbol table.
    pub is_stripped: bool,
    /// Not serialised: it is asked before. The names that its code defines; of a stripped file, those that other files can refer to.
    #[serde(skip)]
    pub names: HostNames,
}

/// The kind of a problem with an input; the 9xx rules turn problems into findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ProblemKind {
    /// PTX901: the input could not be read, or is nothing this release reads.
    Unreadable,
    /// PTX902: the text is malformed.
    Syntax,
    /// PTX903: a limit was exceeded.
    Limit,
    /// PTX904: the analysis failed.
    Internal,
    /// PTX905: an image is in a format that nobody outside can read.
    Unsupported,
}

impl ProblemKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 5] = [
        Self::Unreadable,
        Self::Syntax,
        Self::Limit,
        Self::Internal,
        Self::Unsupported,
    ];

    /// The code of the rule that reports problems of this kind.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unreadable => "PTX901",
            Self::Syntax => "PTX902",
            Self::Limit => "PTX903",
            Self::Internal => "PTX904",
            Self::Unsupported => "PTX905",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_target;

    #[test]
    fn targets_have_a_number_and_a_suffix() {
        assert_eq!(split_target("sm_90a"), (90, "a"));
        assert_eq!(split_target("120f"), (120, "f"));
        assert_eq!(split_target("sm_75"), (75, ""));
        assert_eq!(split_target(""), (0, ""));
    }
}
