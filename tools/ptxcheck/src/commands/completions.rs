//! `ptxcheck completions` and `ptxcheck man`: what shells and `man` want to know of the command line.

use std::fs;
use std::io;
use std::path::Path;

use anstream::ColorChoice;
use clap::CommandFactory as _;
use ptxcheck_report::escape;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::output;

/// The name of the program.
const NAME: &str = "ptxcheck";

/// Prints the completions for a shell.
#[must_use]
pub fn run(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    output::print(&String::from_utf8_lossy(&script), ColorChoice::AlwaysAnsi)
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

fn command() -> clap::Command {
    // A page for a command that explains commands says nothing.
    Cli::command().disable_help_subcommand(true)
}
