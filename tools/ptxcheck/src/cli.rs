//! The command line.

use clap::{Parser, Subcommand};
use ptxcheck_passes::rule::Family;
use ptxcheck_report::view::View;

use crate::commands::audit::AuditArgs;
use crate::commands::capacity::CapacityArgs;
use crate::commands::check::CheckArgs;
use crate::commands::completions::{CompletionsArgs, ManArgs};
use crate::commands::config::ConfigArgs;
use crate::commands::diff::DiffArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::extract::ExtractArgs;
use crate::commands::init::InitArgs;
use crate::commands::launch::LaunchArgs;
use crate::commands::lsp::LspArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::replay::ReplayArgs;
use crate::commands::rules::RulesArgs;
use crate::commands::serve::ServeArgs;

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
FAMILIES
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

/// The line of the text that the families stand in for.
const FAMILIES: &str = "FAMILIES";

/// The column that the meanings of selectors begin in, and the number of columns of a line.
const MEANING_COLUMN: usize = 21;
const HELP_COLUMNS: usize = 95;

/// The text with the families that there are.
fn after_long_help() -> String {
    let families = Family::ALL.map(Family::as_str);
    let [most @ .., last] = &families;
    let sentence = format!(
        "{:<MEANING_COLUMN$}the definite findings of a family; the families are {} and {last}",
        "  warp",
        most.join(", ")
    );
    let view = View {
        width: Some(HELP_COLUMNS),
        ..View::default()
    };
    AFTER_LONG_HELP.replace(FAMILIES, &view.wrap(&sentence, MEANING_COLUMN))
}

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ptxcheck",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    after_long_help = after_long_help(),
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
    #[command(after_help = AFTER_HELP, after_long_help = after_long_help())]
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

#[cfg(test)]
mod tests {
    use super::Cli;
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
}
