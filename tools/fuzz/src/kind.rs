//! The kinds of mutants.

use std::path::Path;
use std::time::Duration;

use crate::image::Images;
#[cfg(feature = "ir")]
use crate::ir::Ir;
#[cfg(feature = "ir")]
use crate::mlir::Mlir;
use crate::numbers::Numbers;
use crate::package;
use crate::ptx::Ptx;
use crate::verdict;

/// A maker of mutants and the properties that must hold for them.
pub enum Kind {
    /// Modules of PTX.
    Ptx(Box<Ptx>),
    /// Fat binaries, machine code, objects, archives.
    Images(Images),
    /// Wheels, conda and Debian packages, zip and tar archives.
    Packages,
    /// LLVM IR as text and bitcode.
    #[cfg(feature = "ir")]
    Ir(Ir),
    /// MLIR as text and bytecode.
    #[cfg(feature = "ir")]
    Mlir(Mlir),
}

impl Kind {
    /// The one of this name, with the seeds of the repository at `root`.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn new(name: &str, root: &Path) -> Result<Self, String> {
        let corpus = root.join("corpus");
        match name {
            "ptx" => Ok(Self::Ptx(Box::new(Ptx::new(&corpus)?))),
            "image" => Ok(Self::Images(Images::new(&corpus)?)),
            "package" => Ok(Self::Packages),
            #[cfg(feature = "ir")]
            "ir" => Ok(Self::Ir(Ir::new(root)?)),
            #[cfg(feature = "ir")]
            "mlir" => Ok(Self::Mlir(Mlir::new(root)?)),
            other => Err(format!("this build has no mutants of `{other}`")),
        }
    }

    /// The mutant of the run `seed` with this index.
    pub fn mutant(&self, seed: u64, index: u64) -> Vec<u8> {
        let mut numbers = Numbers::of(seed, index);
        match self {
            Self::Ptx(ptx) => ptx.mutant(&mut numbers),
            Self::Images(images) => images.mutant(&mut numbers),
            Self::Packages => package::mutant(&mut numbers),
            #[cfg(feature = "ir")]
            Self::Ir(ir) => ir.mutant(&mut numbers),
            #[cfg(feature = "ir")]
            Self::Mlir(mlir) => mlir.mutant(&mut numbers),
        }
    }

    /// Checks a mutant. The error is the defect found.
    pub fn check(&self, index: u64, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Ptx(_) => verdict::of_ptx(index, bytes),
            Self::Images(_) => crate::image::check(index, bytes),
            Self::Packages => package::check(index, bytes),
            #[cfg(feature = "ir")]
            Self::Ir(_) => crate::ir::check(index, bytes),
            #[cfg(feature = "ir")]
            Self::Mlir(mlir) => mlir.check(index, bytes),
        }
    }

    /// True if all memory of the process counts as that of its mutants: LLVM has some of its own.
    pub const fn counts_all_memory(&self) -> bool {
        matches!(self, Self::Ptx(_) | Self::Images(_) | Self::Packages)
    }

    /// Most processor time of one mutant. LLVM fills as much memory as a number in bitcode asks for before it refuses the file,
    /// up to a gibibyte in the mutants of the tests, and how long that takes is up to the system.
    pub const fn max_time(&self) -> Duration {
        match self {
            #[cfg(feature = "ir")]
            Self::Ir(_) => Duration::from_secs(10),
            _ => Duration::from_secs(2),
        }
    }

    /// The ending of files with such mutants, of which one is `bytes`.
    #[cfg_attr(not(feature = "ir"), allow(unused_variables, clippy::unused_self))]
    pub fn ending(&self, bytes: &[u8]) -> &'static str {
        match self {
            Self::Ptx(_) => "ptx",
            Self::Images(_) | Self::Packages => "bin",
            #[cfg(feature = "ir")]
            Self::Ir(_) if bytes.starts_with(b"BC") => "bc",
            #[cfg(feature = "ir")]
            Self::Ir(_) => "ll",
            #[cfg(feature = "ir")]
            Self::Mlir(_) if bytes.starts_with(b"ML\xef") => "mlirbc",
            #[cfg(feature = "ir")]
            Self::Mlir(_) => "mlir",
        }
    }
}
