//! The policy of a release for the images in its files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::drivers::{
    Driver, FIRST_ZSTD_DRIVER, NoDriver, driver_of_cuda, first_driver, is_older_branch, library_version,
};
use crate::forecast::Gpu;
use crate::inventory::Stub;
use crate::names;
use crate::patterns::{Pattern, Written};
use crate::release::{Comparison, Files, Ratchet};

/// The policy of an audit. Empty: nothing is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Targets that every kernel needs machine code for: `90`, `90a`.
    pub require_sm: Vec<String>,
    /// Targets that every kernel needs PTX for.
    pub require_ptx: Vec<String>,
    /// GPUs that every kernel has to load on.
    pub gpus: Vec<Gpu>,
    /// Those of them on which the driver may compile kernels when it loads them; `None` for all.
    pub allow_jit: Option<Vec<Gpu>>,
    /// Most bytes of PTX of a file that the driver may compile for one GPU.
    pub max_jit_bytes: Option<u64>,
    /// Where these two are written.
    pub jit_written: JitWritten,
    /// Kernels that have no body in the image that a GPU loads.
    pub stubs: StubPolicy,
    /// Kernels that are not there for some GPUs, and why that is meant so.
    pub by_design: Vec<ByDesign>,
    /// Machine code has to be compiled for its own virtual architecture: `sm_86` from `compute_86`.
    pub same_virtual_target: bool,
    /// The metadata of wheel variants have to fit the images.
    pub check_variants: bool,
    /// The oldest driver that the files are to run with.
    pub min_driver: Option<Driver>,
    /// Most bytes that the images for one target may take in a file.
    pub max_target_bytes: Option<u64>,
    /// No image may lie twice in a file.
    pub forbid_duplicates: bool,
    /// Most bytes of a package.
    pub max_package_bytes: Option<u64>,
    /// Most bytes of a file, unpacked.
    pub max_file_bytes: Option<u64>,
    /// Patterns of the paths of files that no package may hold.
    pub forbidden_files: Vec<Pattern>,
    /// Patterns of symbols that no file may export, as they are in the file or in C++.
    pub hidden_symbols: Vec<Pattern>,
    /// Budgets for the machine code of kernels.
    pub budgets: Vec<Budget>,
    /// Blocks that kernels have to be launchable with.
    pub required_blocks: Vec<RequiredBlock>,
    /// Figures that may only get better. No shard of a release can be compared with them.
    #[serde(skip)]
    pub ratchet: Option<PinnedFigures>,
}

/// Where a configuration says what the driver may compile; `None` for options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JitWritten {
    /// `allow-jit`.
    pub allow: Option<Written>,
    /// `max-jit`.
    pub max: Option<Written>,
}

/// Figures that may only get better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFigures {
    /// As they were pinned.
    pub ratchet: Arc<Ratchet>,
    /// Most that sizes may grow, in hundredths of a per cent.
    pub slack: u32,
}

impl PinnedFigures {
    /// Holds a release against them.
    #[must_use]
    pub fn compare(&self, files: &Files) -> Comparison {
        self.ratchet.compare(files, f64::from(self.slack) / 100.0)
    }
}

/// A budget for the machine code of some kernels. `None` is not a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Patterns of their names, in the image or in C++; none for all kernels.
    pub kernels: Vec<Pattern>,
    /// The targets that it is about, `90` or `90a`; none for all.
    pub targets: Vec<String>,
    /// Most registers of a thread.
    pub max_registers: Option<u64>,
    /// Most bytes of the stack of a thread.
    pub max_stack_bytes: Option<u64>,
    /// Most bytes of static shared memory of a block.
    pub max_shared_bytes: Option<u64>,
    /// Most bytes of machine code of a kernel.
    pub max_code_bytes: Option<u64>,
    /// Where it is written, if that is a file.
    pub written: Option<Written>,
}

impl Budget {
    /// True if it says something of code for this target, `sm_90a`.
    #[must_use]
    pub fn is_for(&self, target: &str) -> bool {
        let target = target.strip_prefix("sm_").unwrap_or(target);
        self.targets.is_empty() || self.targets.iter().any(|one| one == target)
    }

    /// True if it limits nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.max_registers.is_none()
            && self.max_stack_bytes.is_none()
            && self.max_shared_bytes.is_none()
            && self.max_code_bytes.is_none()
    }
}

/// A block that kernels have to be launchable with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredBlock {
    /// The pattern of their names, in the image or in C++; `None` for all kernels.
    pub kernels: Option<Pattern>,
    /// Threads of the block.
    pub threads: u32,
}

/// Decision about kernels that have no body in the image that a GPU loads, and have one in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StubPolicy {
    /// None may be loaded.
    Deny,
    /// Those that trap may: the program notices.
    #[default]
    AllowTrap,
    /// All may.
    Allow,
}

impl StubPolicy {
    /// The word in configurations: `deny`, `allow-trap`, `allow`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::AllowTrap => "allow-trap",
            Self::Allow => "allow",
        }
    }

    /// True if a stub of this kind may be loaded.
    #[must_use]
    pub const fn allows(self, stub: Stub) -> bool {
        match self {
            Self::Deny => false,
            Self::AllowTrap => matches!(stub, Stub::Trapping),
            Self::Allow => true,
        }
    }
}

/// Kernels that are not there for some GPUs, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByDesign {
    /// Patterns of their names, in the image or in C++.
    pub kernels: Vec<Pattern>,
    /// The GPUs; none for all.
    pub gpus: Vec<Gpu>,
    /// Why it is all right.
    pub reason: String,
    /// Where it is written, if that is a file.
    pub written: Option<Written>,
}

impl ByDesign {
    /// True if it is about a GPU.
    #[must_use]
    pub fn is_for(&self, gpu: Gpu) -> bool {
        self.gpus.is_empty() || self.gpus.contains(&gpu)
    }
}

impl Policy {
    /// True if it says something about the files of packages.
    #[must_use]
    pub const fn is_about_files(&self) -> bool {
        self.max_package_bytes.is_some() || self.max_file_bytes.is_some() || !self.forbidden_files.is_empty()
    }

    /// True if the policy says that a kernel need not be there for a GPU.
    #[must_use]
    pub fn is_by_design(&self, kernel: &str, gpu: Gpu) -> bool {
        let mut entries = self.by_design.iter().filter(|entry| entry.is_for(gpu)).peekable();
        if entries.peek().is_none() {
            return false;
        }
        let spellings = names::spellings(kernel);
        entries
            .flat_map(|entry| &entry.kernels)
            .any(|pattern| spellings.iter().any(|name| pattern.fits(name)))
    }
}

/// Threads of the largest block (CUDA Programming Guide, Compute Capabilities).
pub const MAX_BLOCK_THREADS: u32 = 1024;

/// Registers of a thread: the fewest and the most that a budget can leave (CUDA Programming Guide, Compute Capabilities).
pub const THREAD_REGISTERS: std::ops::RangeInclusive<u64> = 1..=255;

/// Targets that are not GPUs from Maxwell on: older ones, and Thor as CUDA 12 numbers it.
const OTHER_TARGETS: [u32; 7] = [20, 21, 30, 32, 35, 37, 101];

/// The first targets with `a` and with `f` (PTX ISA, .target).
const FIRST_SPECIFIC: u32 = 90;
const FIRST_OF_FAMILY: u32 = 100;

/// A text that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoTarget {
    /// It is not written like one.
    #[error("`{0}` is no target such as `90` or `90a`")]
    Malformed(String),
    /// No toolkit compiles for it.
    #[error("there is no target `sm_{0}`")]
    Unknown(String),
}

/// A target as policies name it, `90` or `90a`; `sm_90` is taken, too. Numbers above those that are known are taken.
///
/// # Errors
///
/// [`NoTarget`], if it is none.
///
/// ```
/// use ptxcheck_release::policy::{Driver, first_driver, target};
///
/// assert_eq!(target("sm_90a")?, "90a");
/// assert_eq!(target("turing").unwrap_err().to_string(), "`turing` is no target such as `90` or `90a`");
/// assert_eq!(target("81").unwrap_err().to_string(), "there is no target `sm_81`");
/// assert_eq!("550.54.14".parse::<Driver>()?, Driver(550, 54, 14));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn target(text: &str) -> Result<String, NoTarget> {
    let malformed = || NoTarget::Malformed(text.to_owned());
    let bare = text
        .strip_prefix("sm_")
        .or_else(|| text.strip_prefix("compute_"))
        .unwrap_or(text);
    let digits = bare.strip_suffix(['a', 'f']).unwrap_or(bare);
    let is_target = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_target {
        return Err(malformed());
    }
    let number: u32 = digits.parse().map_err(|_| malformed())?;
    let newest = Gpu::all().map(Gpu::number).max().unwrap_or_default();
    let is_known = number > newest || Gpu::of_number(number).is_some() || OTHER_TARGETS.contains(&number);
    let first = match bare.strip_prefix(digits) {
        Some("a") => FIRST_SPECIFIC,
        Some("f") => FIRST_OF_FAMILY,
        _ => 0,
    };
    if is_known && number >= first {
        Ok(bare.to_owned())
    } else {
        Err(NoTarget::Unknown(bare.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_numbers_with_a_suffix() {
        assert_eq!(target("sm_90a").as_deref(), Ok("90a"));
        assert_eq!(target("120").as_deref(), Ok("120"));
        assert_eq!(target("compute_130f").as_deref(), Ok("130f"));
        for wrong in [
            "", "9", "ninety", "90b", "sm_", "9000", "81", "010", "80a", "90f", "sm_105",
        ] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn kernels_are_missing_by_design_on_some_gpus() {
        let gpu = |number| Gpu::of_number(number).unwrap();
        let policy = Policy {
            by_design: vec![ByDesign {
                kernels: vec![Pattern::name("tma::*").unwrap()],
                gpus: vec![gpu(80)],
                reason: "needs TMA".to_owned(),
                written: None,
            }],
            ..Policy::default()
        };
        assert!(policy.is_by_design("_ZN3tma4copyEv", gpu(80)));
        assert!(!policy.is_by_design("_ZN3tma4copyEv", gpu(90)));
        assert!(!policy.is_by_design("copy", gpu(80)));
    }
}
