//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ptxcheck_passes::assumptions::Assumption;
use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::launches::{self, MAX_DYNAMIC_SHARED, Shape};
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::policy::{self, Driver, Policy, StubPolicy};
use ptxcheck_passes::release::ChangeKind;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::PathMap;
use ptxcheck_passes::shard::Deal;
use ptxcheck_report::forecast::Columns;

use crate::baseline::BaselineArgs;
use crate::budgets::BudgetArgs;
use crate::commands::lsp::LspArgs;
use crate::config;
use crate::levels::Levels;
use crate::package_limits::PackageArgs;
use crate::ratchet::RatchetArgs;
use crate::reports::{Format, Output, ReportArgs};

const ABOUT: &str = "Static checking of compiled GPU code";

const LONG_ABOUT: &str = "\
Static checking of compiled GPU code

Reads the PTX, LLVM IR and MLIR that nvcc, clang, Triton and other compilers write, on its own or inside objects, libraries, \
executables and fat binaries, and reports code that is undefined or fails at run time: wrong member masks of warp collectives, \
races on shared and global memory, asynchronous copies without their fence or wait, accesses outside of variables or through the \
wrong state space, host symbols in device code, kernel parameters over the limit.

Without a command, `ptxcheck` checks: `ptxcheck build/*.ptx` is `ptxcheck check build/*.ptx`. A file that is called \
like a command is given as `./rules`.";

const AFTER_HELP: &str = "\
Exit codes:
  0  no finding at or above the fail level
  1  findings at or above the fail level
  2  the job could not be done: wrong usage, an input that could not be analysed,
     no device code at all";

const AFTER_HELP_DIFF: &str = "\
Exit codes:
  0  no change of a kind that `--deny` names
  1  such changes
  2  the job could not be done: wrong usage, an input that could not be analysed,
     no device code at all";

const AFTER_HELP_CAPACITY: &str = "\
Exit codes:
  0  no index that wraps in an array of as many elements as `--min-elements` says
  1  such indexes
  2  the job could not be done: wrong usage, an input that could not be analysed,
     no device code at all";

const AFTER_LONG_HELP: &str = "\
Certainties:
  definite     wrong on every execution that reaches the place, under the launch that the finding
               states; on by default
  conditional  wrong for a launch and values of parameters that the finding names: an interpreter
               saw the kernel go wrong, and `ptxcheck replay` shows how; off by default
  potential    wrong on some execution, perhaps on none; off by default

Selectors:
  PTX401             the definite findings of a rule, by its code; its potential ones, if it has
                     no others; with -A, all
  extra-lane-in-mask the same, by its name or an alias
  warp               the definite findings of a family; the families are host, space, params,
                     warp, image, device, async and run
  G-2.1              the definite findings of the rules for one of the CUDA C++ guidelines
  all                the definite findings of every rule
  conditional        the conditional findings of every rule, off by default: a launch is
                     known with which they go wrong
  potential          the potential findings of every rule, off by default
  potential:PTX401   the potential findings of a rule, or of a family
  conditional:warp   the conditional findings of a rule, or of a family
  Of several settings for a finding, the last wins. -W switches findings on, and raises what is
  lower to a warning; only --level PTX401=warning and -A lower a level, and nothing lowers what
  -F has set.

Exit codes:
  0  no finding at or above the fail level
  1  findings at or above the fail level
  2  the job could not be done: wrong usage, an input that could not be analysed,
     no device code at all

Findings go to standard output, the summary to standard error. `@FILE` stands for the arguments in FILE, separated by \
white space, with double quotes and backslashes as in a shell; a single quote quotes only where a word begins with it, so \
that `don't.ptx` is a name. `--version --verbose` says what reads LLVM IR and MLIR: \
`ptxcheck-llvm` and `ptxcheck-mlir`, which lie beside the program or are named by the variables PTXCHECK_LLVM and PTXCHECK_MLIR.

Examples:
  ptxcheck build/*.ptx
  ptxcheck -W potential -A PTX403 --fail-on warning build/
  nvcc -ptx -lineinfo -o - k.cu | ptxcheck -
  ptxcheck --output json=report.json build/
  ptxcheck explain PTX401";

const ABOUT_LAUNCH: &str = "\
Run a compiler, then check the object that it has made

For `-DCMAKE_CUDA_COMPILER_LAUNCHER=\"ptxcheck;launch\"`, or `\"ptxcheck;launch;ccache\"` with ccache behind it. What the \
compiler says and its exit code pass through. Findings go to standard error in one piece, and the exit code is 1 or 2 as that of \
`check`. An object that holds no PTX of a kernel for an architecture is compiled again with PTX as the output.

The variable PTXCHECK_ARGS has options of `check`, separated by blanks, with quotes as in a shell; the configuration is the \
nearest `ptxcheck.toml` above the source, else above the working directory. What CMake compiles to find out about the compiler is \
not checked, nor is a call that makes no object.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ptxcheck",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    after_long_help = AFTER_LONG_HELP,
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    subcommand_negates_reqs = true,
    max_term_width = 100
)]
pub struct Cli {
    /// The command; none means `check`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print the folder with the installed CMake files
    #[arg(long, exclusive = true)]
    pub cmake_dir: bool,
    /// The arguments of the implied `check`.
    #[command(flatten)]
    pub check: CheckArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Analyse inputs and report findings (the default command)
    #[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
    Check(Box<CheckArgs>),
    /// Hold the images of release files against a policy
    #[command(after_help = AFTER_HELP)]
    Audit(Box<AuditArgs>),
    /// Compare the kernels of two releases
    #[command(after_help = AFTER_HELP_DIFF)]
    Diff(DiffArgs),
    /// Show from which sizes on the indexes of kernels wrap in 32 bits
    #[command(after_help = AFTER_HELP_CAPACITY)]
    Capacity(CapacityArgs),
    /// Make one run of the shards of several machines
    #[command(after_help = AFTER_HELP)]
    Merge(Box<MergeArgs>),
    /// Write the images of a file, or of the files in a package, out, unpacked
    Extract(ExtractArgs),
    /// Run a compiler, then check the object that it has made: for CMAKE_CUDA_COMPILER_LAUNCHER
    #[command(long_about = ABOUT_LAUNCH)]
    Launch(LaunchArgs),
    /// Show the runs in which conditional findings go wrong, step by step
    Replay(ReplayArgs),
    /// Answer requests to check bytes, for programs that make many
    Serve(ServeArgs),
    /// Mark PTX, LLVM IR, MLIR and CUDA sources in an editor: a language server
    Lsp(Box<LspArgs>),
    /// List the rules
    Rules(RulesArgs),
    /// Show the documentation of a rule
    Explain(ExplainArgs),
    /// Show the settings that apply, and where they come from
    Config(Box<ConfigArgs>),
    /// Write a commented configuration file
    Init(InitArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the manual pages to a folder
    Man(ManArgs),
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Files, folders (searched for PTX, objects, libraries, fat binaries, wheels, conda packages), packages (wheels, conda,
    /// Debian, zip, tar), `-` for standard input
    #[arg(value_name = "PATH", required_unless_present_any = ["allow_empty", "files_from"])]
    pub paths: Vec<PathBuf>,

    /// Also the files and folders that FILE names, separated by NULs, without any quoting (`find -print0`); `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,

    /// `-A`, `-W`, `-D`, `-F`, `--level`.
    #[command(flatten)]
    pub levels: Levels,

    /// Lowest level of a finding that makes the exit code 1
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = Format::Full, help_heading = "Output")]
    pub format: Format,

    /// Also write findings to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Output::parse, help_heading = "Output")]
    pub output: Vec<Output>,

    /// `--root` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,

    /// No summary
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// Say what became of each input, and show the findings that a baseline has
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// The inputs are linked together: what one of them defines, the others can refer to and call (an archive, a library and
    /// an executable are linked with themselves anyway, without following calls)
    #[arg(long)]
    pub link_set: bool,

    /// The inputs are linked together and are all there is: a symbol that none of them defines has no definition
    #[arg(long)]
    pub whole_program: bool,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Report exceptions that suppress nothing, patterns of the configuration that nothing fits, and entries of a baseline that no
    /// longer occur (PTX906)
    #[arg(long)]
    pub strict_config: bool,

    /// Only findings about the kernels that a pattern matches, by their names in the module or in C++; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = parse_kernels, conflicts_with_all = ["write_baseline", "strict_config", "shard"])]
    pub kernel: Vec<Pattern>,

    /// `--baseline`, `--write-baseline`.
    #[command(flatten)]
    pub baseline: BaselineArgs,

    /// In the names of sources, put TO in place of FROM at the beginning; repeatable, and the last that fits counts
    #[arg(long, value_name = "FROM=TO", value_parser = parse_path_map)]
    pub path_map: Vec<PathMap>,

    /// Inputs without device code, or no inputs at all, are not an error
    #[arg(long)]
    pub allow_empty: bool,

    /// Code that is not analysed makes the exit code 2: kernels of which the PTX for an architecture of the inputs' machine code is
    /// not there, closed formats, kernels that are too much work, inputs that are called like device code and hold none
    #[arg(long)]
    pub require_analysed: bool,

    /// Make the PTX of objects that hold none, for each architecture that they have code for: the entry of FILE (a
    /// compile_commands.json) that makes the object is run again with PTX as its output. Where that does not work, the exit
    /// code is 2
    #[arg(long, value_name = "FILE")]
    pub compile_commands: Option<PathBuf>,

    /// Only the inputs of the I-th of N shards, which are dealt by their content: `--output shard=FILE` writes what
    /// `ptxcheck merge` makes one run of
    #[arg(long, value_name = "I/N", conflicts_with_all = ["link_set", "whole_program", "strict_config", "baseline", "write_baseline"])]
    pub shard: Option<Deal>,

    /// Deal the members of wheels as well, one by one: for few and large ones. Where the metadata of wheel variants are checked, wheels
    /// are dealt whole
    #[arg(long, requires = "shard")]
    pub shard_members: bool,

    /// Threads; 0 for one a core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Longest that one input may take, from opening it to its last finding, and each compilation of --compile-commands;
    /// without it, LLVM IR has 30 s and 1 s more for each MiB, and a compilation 600 s
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,

    /// Keep what was found in each text in this folder, and take it from there if the text and the settings are the same; without it,
    /// the variable PTXCHECK_CACHE names the folder, or nothing is kept
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Read requests from standard input and write replies to standard output, until the former ends
    #[arg(long)]
    pub stdio: bool,
}

/// Arguments of `audit`.
#[derive(Args, Debug)]
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

    /// Lowest level of a finding that makes the exit code 1
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = Format::Full, help_heading = "Output")]
    pub format: Format,

    /// Also write the output to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Output::parse, help_heading = "Output")]
    pub output: Vec<Output>,

    /// `--root` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,

    /// Findings only, no tables and no summary
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// Also show the findings that a baseline has
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Only the inputs of the I-th of N shards, which are dealt by their content: `--output shard=FILE` writes what
    /// `ptxcheck merge` makes one run of
    #[arg(long, value_name = "I/N", conflicts_with_all = ["strict_config", "baseline", "write_baseline"])]
    pub shard: Option<Deal>,

    /// Deal the members of wheels as well, one by one: for few and large ones. Where the metadata of wheel variants are checked, wheels
    /// are dealt whole
    #[arg(long, requires = "shard")]
    pub shard_members: bool,

    /// Threads; 0 for one a core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Longest that one input may take, from opening it to its last finding
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// Arguments of `merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// The files that `--shard I/N --output shard=FILE` has written, all of one run, in any order; one may hold several of them, one
    /// behind the other; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Lowest level of a finding that makes the exit code 1
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = Format::Full, help_heading = "Output")]
    pub format: Format,

    /// Also write findings to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Output::parse, help_heading = "Output")]
    pub output: Vec<Output>,

    /// `--root` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,

    /// Say what became of each input, and show the findings that a baseline has
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// No summary, and no tables of an audit
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// The forecast, of shards of an audit.
    #[command(flatten)]
    pub forecast: ForecastArgs,

    /// List the kernels that take most registers, by target, of shards of an audit
    #[arg(long)]
    pub resources: bool,

    /// List bytes by target and use, and the kernels with most code, of shards of an audit
    #[arg(long)]
    pub sizes: bool,

    /// Report entries of a baseline that no longer occur (PTX906)
    #[arg(long)]
    pub strict_config: bool,

    /// `--baseline`, `--write-baseline`.
    #[command(flatten)]
    pub baseline: BaselineArgs,

    /// Shards without any device code are not an error
    #[arg(long)]
    pub allow_empty: bool,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The old release: a file, package or folder
    #[arg(value_name = "OLD")]
    pub old: PathBuf,

    /// The new release
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// Also compare what these GPUs load, as in `7.5,8.6,12.0`; `all` for all that CUDA 13 compiles for. Without this option,
    /// those of the policy
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus)]
    pub gpu: Vec<GpuList>,

    /// Kinds of change that make the exit code 1, as in `removed,target-removed,signature,stub,forecast`; `all` for all
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = parse_kinds)]
    pub deny: Vec<KindList>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Read the GPUs from this configuration, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Threads; 0 for one a core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Longest that one input may take, from opening it to its last image
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// A format of `diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Tables
    Text,
    /// For the summary of a job, or a comment
    Markdown,
    /// One document for programs
    Json,
    /// One page for a browser
    Html,
}

/// The kinds of change that one word stands for.
#[derive(Clone, Debug)]
pub struct KindList(pub Vec<ChangeKind>);

fn parse_kinds(text: &str) -> Result<KindList, String> {
    let fits = |kind: &ChangeKind| text == "all" || kind.as_str() == text;
    let kinds: Vec<ChangeKind> = ChangeKind::ALL.into_iter().filter(fits).collect();
    if kinds.is_empty() {
        let known: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        return Err(format!("the kinds are {}, and `all`", known.join(", ")));
    }
    Ok(KindList(kinds))
}

/// Arguments of `extract`.
#[derive(Args, Debug)]
pub struct ExtractArgs {
    /// A library, executable, object, archive, fat binary or cubin, or a package with such files: each of them gets a folder
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Only images of this kind
    #[arg(long, value_enum)]
    pub kind: Option<ExtractKind>,

    /// Only images for this target, 90 or 90a; 90 does not mean 90a
    #[arg(long, value_name = "TARGET", value_parser = policy::target)]
    pub target: Option<String>,

    /// Only the image with this number, which `audit` and findings name; of a package, that image of each file
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Longest that it may take to open the file and to find and unpack its images
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// The values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExtractKind {
    /// PTX
    Ptx,
    /// Machine code
    Cubin,
    /// LTO-IR, as it is packed
    LtoIr,
    /// LLVM bitcode
    LlvmIr,
}

/// Arguments of `launch`. They are read before all others, as they are a compiler's.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// The compiler, and its arguments
    #[arg(value_name = "COMPILER", trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// Arguments of `rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {
    /// Format of the list
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Options that say how kernels are launched.
#[derive(Args, Clone, Debug)]
pub struct Launched {
    /// Threads of a block in x, y and z, as every kernel without `.reqntid` is launched (y and z default to 1); given several
    /// times: with each of these; wins over `[launch]` in the configuration
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_block)]
    pub launch_block: Vec<Shape>,

    /// Bytes of dynamic shared memory that every kernel is launched with, or the most of several launches; wins over `[launch]` in the
    /// configuration
    #[arg(long, value_name = "BYTES", value_parser = parse_shared)]
    pub launch_shared: Option<u32>,

    /// An integer parameter of some kernels is so: `KERNEL:PARAMETER CONDITION`, as in `forces*:n % 128` or `k:1 <= 1024`; more than one
    /// can be given. Findings of `-W conditional` keep to it
    #[arg(long, value_name = "ASSUMPTION", value_parser = parse_assumption)]
    pub assume: Vec<Assumption>,
}

/// Arguments of `replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Files and folders, as `check` takes them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// Only the findings whose fingerprints begin so (`--format json` has them); repeatable
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
    pub fingerprint: Vec<String>,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Arguments of `capacity`.
#[derive(Args, Debug)]
pub struct CapacityArgs {
    /// Files and folders, as `check` takes them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// Make the exit code 1 if an index wraps in an array of so many elements
    #[arg(long, value_name = "N")]
    pub min_elements: Option<u64>,

    /// Also indexes that depend on computed values: quotients, counters of loops that no comparison bounds, and the like
    #[arg(long)]
    pub all: bool,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = CapacityFormat::Text)]
    pub format: CapacityFormat,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Formats of capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CapacityFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A rule's code, name or alias
    #[arg(value_name = "RULE")]
    pub rule: String,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Arguments of `config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Print the JSON schema of the configuration file, for editors
    #[arg(long)]
    pub schema: bool,

    /// Format of the settings
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// As `check` takes them.
    #[command(flatten)]
    pub levels: Levels,

    /// As `check` takes them.
    #[command(flatten)]
    pub launched: Launched,

    /// As `check` takes it
    #[arg(long, help_heading = "Options of `check`")]
    pub strict_config: bool,

    /// As `check` takes it
    #[arg(long, value_name = "FROM=TO", value_parser = parse_path_map, help_heading = "Options of `check`")]
    pub path_map: Vec<PathMap>,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The folder to write `ptxcheck.toml` to; without it, the working directory
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder to write the pages to: one for the program, and one for each command
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// The values of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors only
    Error,
    /// Errors and warnings
    Warning,
    /// No finding
    Never,
}

impl FailOn {
    /// True if a finding of this level fails the run.
    #[must_use]
    pub fn fails(self, level: Level) -> bool {
        match self {
            Self::Error => level >= Level::Error,
            Self::Warning => level >= Level::Warning,
            Self::Never => false,
        }
    }

    /// True if a finding that counts fails the run.
    #[must_use]
    pub fn is_reached(self, outcome: &Outcome) -> bool {
        ptxcheck_report::shown(outcome).any(|group| self.fails(group.level))
    }
}

/// A format of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// A table
    Text,
    /// For programs
    Json,
}

/// The values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, honouring NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM=dumb
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// `256` or `32,4,1`: at most 1,024 threads in all.
fn parse_block(text: &str) -> Result<Shape, String> {
    let sides: Option<Vec<u32>> = text.split(',').map(|side| side.trim().parse().ok()).collect();
    sides
        .and_then(|sides| launches::shape_with_sides(&sides))
        .ok_or_else(|| {
            "one to three numbers over 0 are wanted, as in `32,4,1`, for at most 1,024 threads".to_owned()
        })
}

/// `49152`: at most the dynamic shared memory of the largest GPU.
fn parse_shared(text: &str) -> Result<u32, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes <= MAX_DYNAMIC_SHARED);
    bytes.ok_or_else(|| {
        format!(
            "a number of bytes is wanted, from 0 to {MAX_DYNAMIC_SHARED} (227 KB, the most that any GPU has)"
        )
    })
}

/// `reduce*`.
fn parse_kernels(text: &str) -> Result<Pattern, String> {
    match text {
        "" => Err("a pattern has at least one character".to_owned()),
        _ => Pattern::name(text).map_err(|bad| bad.to_string()),
    }
}

/// The beginning of a fingerprint.
fn parse_fingerprint(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let is_one = (4..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one
        .then_some(text)
        .ok_or_else(|| "a fingerprint has 16 hexadecimal digits, of which 4 are enough".to_owned())
}

/// `forces*:n % 128`.
fn parse_assumption(text: &str) -> Result<Assumption, String> {
    Assumption::parse(text).map_err(|bad| bad.to_string())
}

/// `/build/src=src`.
fn parse_path_map(text: &str) -> Result<PathMap, String> {
    let (from, to) = text
        .split_once('=')
        .filter(|(from, _)| !from.is_empty())
        .ok_or("two beginnings of paths with `=` between them are wanted, as in `/build/src=src`")?;
    Ok(PathMap {
        from: from.to_owned(),
        to: to.to_owned(),
    })
}

/// The options of the forecast: it is shown, and demands nothing.
#[derive(Args, Clone, Debug)]
pub struct ForecastArgs {
    /// Show which image of each kernel these GPUs load, as in `7.5,8.6,12.0`; `all` for all that CUDA 13 compiles for. Without
    /// this option, those of the policy
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus, help_heading = "Forecast")]
    pub gpu: Vec<GpuList>,

    /// The driver that they have; without it, the newest
    #[arg(
        long,
        value_name = "VERSION",
        conflicts_with = "cuda",
        help_heading = "Forecast"
    )]
    pub driver: Option<Driver>,

    /// The version of CUDA that their driver reports, as in `12.4`
    #[arg(long, value_name = "VERSION", value_parser = config::driver_of_cuda, help_heading = "Forecast")]
    pub cuda: Option<Driver>,
}

impl ForecastArgs {
    /// The forecast that they ask for, else for the GPUs of the policy.
    pub fn columns(&self, policy: &Policy) -> Columns {
        Columns {
            gpus: if self.gpu.is_empty() {
                policy.gpus.clone()
            } else {
                GpuList::all(&self.gpu)
            },
            driver: self.driver.or(self.cuda),
        }
    }

    /// True if one of them is given.
    pub const fn is_given(&self) -> bool {
        !self.gpu.is_empty() || self.driver.is_some() || self.cuda.is_some()
    }
}

/// The GPUs of one word of a list.
#[derive(Clone, Debug)]
pub struct GpuList(Vec<Gpu>);

impl GpuList {
    /// The GPUs of all words, each once, in their order.
    #[must_use]
    pub fn all(lists: &[Self]) -> Vec<Gpu> {
        config::sorted(lists.iter().flat_map(|list| list.0.iter().copied()).collect())
    }
}

fn parse_gpus(text: &str) -> Result<GpuList, String> {
    config::parse_gpus(text).map(GpuList)
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

/// A number of seconds over 0.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a number of seconds over 0 is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Cli, parse_block, parse_seconds};
    use clap::{CommandFactory as _, Parser as _};
    use ptxcheck_passes::rule::Level;
    use ptxcheck_passes::settings::Change;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn check_is_implied_unless_the_first_word_is_a_command() {
        let cli = Cli::try_parse_from(["ptxcheck", "-W", "potential", "rules"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.check.paths, ["rules"].map(std::path::PathBuf::from));
        assert!(
            Cli::try_parse_from(["ptxcheck", "rules"])
                .unwrap()
                .command
                .is_some()
        );
    }

    #[test]
    fn level_flags_keep_their_order() {
        let cli = Cli::try_parse_from([
            "ptxcheck",
            "-A",
            "all",
            "-D",
            "PTX407",
            "--warn=warp",
            "-Fspace",
            "-Apotential",
            "--level=warp=warning",
            "x.ptx",
        ])
        .unwrap();
        let levels: Vec<(Level, Change)> = cli
            .check
            .levels
            .0
            .iter()
            .map(|setting| (setting.level, setting.change))
            .collect();
        assert_eq!(
            levels,
            [
                (Level::Allow, Change::Set),
                (Level::Error, Change::Set),
                (Level::Warning, Change::Raise),
                (Level::Error, Change::Forbid),
                (Level::Allow, Change::Set),
                (Level::Warning, Change::Set)
            ]
        );
    }

    #[test]
    fn the_last_of_two_settings_wins() {
        for command in [&["ptxcheck"][..], &["ptxcheck", "check"]] {
            let words = ["-q", "-q", "-j1", "-j8", "-A", "warp", "-A", "space", "x.ptx"];
            let cli = Cli::try_parse_from(command.iter().chain(&words)).unwrap();
            let args = match &cli.command {
                Some(super::Command::Check(args)) => args,
                _ => &cli.check,
            };
            assert_eq!((args.jobs, args.levels.0.len()), (8, 2));
        }
    }

    #[test]
    fn blocks_have_up_to_three_sides_and_1024_threads() {
        assert_eq!(parse_block("256"), Ok([256, 1, 1]));
        assert_eq!(parse_block("32,4,1"), Ok([32, 4, 1]));
        for wrong in ["", "0", "32,", "1,1,1,1", "64,32", "-1", "x", "4294967295,2"] {
            assert!(parse_block(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_are_positive_and_finite() {
        assert!(parse_seconds("0.25").is_ok());
        for wrong in ["0", "-1", "nan", "inf", "1e300", "x"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
