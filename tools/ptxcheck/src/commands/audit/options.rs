//! The options of `audit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, ValueEnum};
use ptxcheck_passes::policy::{self, Driver, StubPolicy};
use ptxcheck_passes::scope::PathMap;

use crate::baseline::BaselineArgs;
use crate::budgets::BudgetArgs;
use crate::config;
use crate::gpus::{ForecastArgs, GpuList, parse_gpus};
use crate::levels::Levels;
use crate::options::{parse_path_map, parse_seconds};
use crate::package_limits::PackageArgs;
use crate::ratchet::RatchetArgs;
use crate::reports::ReportArgs;
use crate::shards::ShardArgs;

/// Arguments of `audit`.
#[derive(Args, Debug)]
#[command(mut_args(of_audit))]
pub struct AuditArgs {
    /// Files and folders: libraries, executables, objects, archives, fat binaries, cubins, and packages of them (wheels, conda,
    /// Debian, zip, tar); `pypi:NAME==VERSION` for a wheel that pip downloads once, `conda:NAME==VERSION[=BUILD]` for a package that conda,
    /// mamba or micromamba does
    #[arg(value_name = "PATH", required_unless_present = "files_from")]
    pub paths: Vec<PathBuf>,

    /// Also the files and folders that FILE names, separated by NULs, without any quoting (`find -print0`); `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,

    /// Targets that every kernel needs machine code for, as in `80,90a,120`
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', value_parser = policy::target, help_heading = "Policy")]
    pub require_sm: Vec<String>,

    /// Targets that every kernel needs PTX for
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', value_parser = policy::target, help_heading = "Policy")]
    pub require_ptx: Vec<String>,

    /// `--gpu` and the like.
    #[command(flatten)]
    pub forecast: ForecastArgs,

    /// GPUs that every kernel has to load on, as in `7.5,8.6,12.0`; `all` for all that CUDA 13 compiles for
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus, help_heading = "Policy")]
    pub require_gpu: Vec<GpuList>,

    /// Those of them on which the driver may compile kernels when it loads them; without this option, all
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus, help_heading = "Policy")]
    pub allow_jit: Option<Vec<GpuList>>,

    /// Most bytes of PTX of a file that the driver may compile for one of them, as in `20M`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_jit: Option<u64>,

    /// Kernels that have no body in the image that one of them loads, and have one in another image
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Policy")]
    pub stubs: Option<Stubs>,

    /// Report machine code that was not compiled for its own virtual architecture, as `compute_86` is for `sm_86`
    #[arg(long, help_heading = "Policy")]
    pub same_virtual_target: bool,

    /// Report metadata of wheel variants that the images of the wheel do not keep
    #[arg(long, help_heading = "Policy")]
    pub check_variants: bool,

    /// The oldest driver that the files are to run with
    #[arg(long, value_name = "VERSION", help_heading = "Policy")]
    pub min_driver: Option<Driver>,

    /// The oldest version of CUDA whose driver the files are to run with, as in `12.4`
    #[arg(long, value_name = "VERSION", value_parser = config::driver_of_cuda, help_heading = "Policy")]
    pub min_cuda: Option<Driver>,

    /// Most bytes that the images for one target may take in a file, as in `50M`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_target_size: Option<u64>,

    /// Report images that lie twice in a file
    #[arg(long, help_heading = "Policy")]
    pub forbid_duplicates: bool,

    /// Limits for packages and the files in them.
    #[command(flatten)]
    pub package: PackageArgs,

    /// Budgets for the machine code of kernels.
    #[command(flatten)]
    pub budget: BudgetArgs,

    /// List the kernels that take most registers, by target
    #[arg(long)]
    pub resources: bool,

    /// List the bytes of images by target and use (code, lines, debug information, constants, PTX), and the kernels with most code
    #[arg(long)]
    pub sizes: bool,

    /// Read the policy from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub config: Option<PathBuf>,

    /// In the names of sources, put TO in place of FROM at the beginning; repeatable, and the last that fits counts
    #[arg(long, value_name = "FROM=TO", value_parser = parse_path_map)]
    pub path_map: Vec<PathMap>,

    /// Report exceptions for rules about images that suppress nothing, parts of the policy that nothing is for, and entries of a baseline
    /// that no longer occur (PTX906)
    #[arg(long)]
    pub strict_config: bool,

    /// `--ratchet`, `--pin`.
    #[command(flatten)]
    pub ratchet: RatchetArgs,

    /// `--baseline`, `--write-baseline`.
    #[command(flatten)]
    pub baseline: BaselineArgs,

    /// `-A`, `-W`, `-D`, `-F`, `--level`.
    #[command(flatten)]
    pub levels: Levels,

    /// `--format` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Findings only, no tables and no summary
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// Also show the findings that a baseline has
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// `--shard` and the like.
    #[command(flatten)]
    pub shard: ShardArgs,

    /// Threads; 0 for one a core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Longest that one input may take, from opening it to its last finding
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// An option of reports, as an audit explains it.
fn of_audit(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "format" => option.help("Format of the output"),
        "output" => option.help("Also write the output to a file; repeatable"),
        _ => option,
    }
}

/// The values of `--stubs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stubs {
    /// None may be loaded
    Deny,
    /// Those that trap may be loaded
    AllowTrap,
    /// All may be loaded
    Allow,
}

impl From<Stubs> for StubPolicy {
    fn from(stubs: Stubs) -> Self {
        match stubs {
            Stubs::Deny => Self::Deny,
            Stubs::AllowTrap => Self::AllowTrap,
            Stubs::Allow => Self::Allow,
        }
    }
}
