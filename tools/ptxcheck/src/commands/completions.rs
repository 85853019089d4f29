//! `ptxcheck completions` and `ptxcheck man`: what shells and `man` want to know of the command line.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anstream::ColorChoice;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Command, CommandFactory as _};
use ptxcheck_passes::rule::Family;
use ptxcheck_passes::rules;
use ptxcheck_report::escape;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::{levels, output};

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

/// The name of the program.
const NAME: &str = "ptxcheck";

/// Prints the completions for a shell.
#[must_use]
pub fn run(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_rules(Cli::command()), NAME, &mut script);
    output::print(&String::from_utf8_lossy(&script), ColorChoice::AlwaysAnsi)
}

/// A command that knows the values of its selectors: codes of rules, families, and the words for all. The program itself takes more:
/// names, aliases, guidelines.
fn with_rules(command: Command) -> Command {
    let codes = rules::ALL
        .iter()
        .map(|rule| PossibleValue::new(rule.code).help(rule.name));
    let families = Family::ALL.map(|family| PossibleValue::new(family.as_str()).help("a family of rules"));
    let words = ["all", "conditional", "potential"].map(PossibleValue::new);
    let codes: Vec<PossibleValue> = codes.collect();
    let selectors: Vec<PossibleValue> = codes.iter().cloned().chain(families).chain(words).collect();
    let of_levels = |command: Command| {
        let is_there = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
        let flags: Vec<&str> = levels::flags().filter(|id| is_there(id)).collect();
        flags.into_iter().fold(command, |command, id| {
            command.mut_arg(id, |arg| {
                arg.value_parser(PossibleValuesParser::new(selectors.clone()))
            })
        })
    };
    of_levels(command)
        .mut_subcommands(of_levels)
        .mut_subcommand("explain", |explain| {
            explain.mut_arg("rule", |arg| arg.value_parser(PossibleValuesParser::new(codes)))
        })
}

/// Prints the manual page, or writes that of the program and one for each command to a folder.
#[must_use]
pub fn man(args: &ManArgs) -> Exit {
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        return match clap_mangen::Man::new(command()).render(&mut page) {
            Ok(()) => output::print(&String::from_utf8_lossy(&page), ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        };
    };
    match pages(folder) {
        Ok(()) => Exit::Clean,
        Err(error) => output::complain(&format!(
            "`{}` could not be written: {error}",
            escape::line(&folder.to_string_lossy())
        )),
    }
}

fn pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command(), folder)
}

fn command() -> Command {
    // A page for a command that explains commands says nothing.
    Cli::command().disable_help_subcommand(true)
}
