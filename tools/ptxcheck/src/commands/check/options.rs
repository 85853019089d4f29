//! The options of `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args};
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::scope::PathMap;

use crate::baseline::BaselineArgs;
use crate::commands::launched::Launched;
use crate::levels::Levels;
use crate::options::{parse_path_map, parse_seconds};
use crate::reports::ReportArgs;
use crate::shards::ShardArgs;

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(mut_args(of_check))]
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

    /// `--format` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

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

    /// `--shard` and the like.
    #[command(flatten)]
    pub shard: ShardArgs,

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

/// `--shard` as a check explains it: inputs of one shard are not linked with those of another.
fn of_check(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "shard" => option.conflicts_with_all(["link_set", "whole_program"]),
        _ => option,
    }
}

/// `reduce*`.
fn parse_kernels(text: &str) -> Result<Pattern, String> {
    match text {
        "" => Err("a pattern has at least one character".to_owned()),
        _ => Pattern::name(text).map_err(|bad| bad.to_string()),
    }
}
