//! Static checking of compiled GPU code.

mod args;
mod commands;
mod compile;
mod config;
mod coverage;
mod exit;
mod file_list;
mod inputs;
mod levels;
mod misspelt;
mod output;
mod panics;
mod progress;
mod render;
mod response;
mod styles;
mod summary;
mod unanalysed;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser as _;

use args::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    panics::report_briefly();
    // Defects are caught for each input; what is caught here has been told.
    std::panic::catch_unwind(run).unwrap_or(Exit::Undone).into()
}

fn run() -> Exit {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(exit) = commands::worker::run(&args) {
        return exit;
    }
    let args = match response::expand(args) {
        Ok(args) => args,
        Err(problem) => return output::complain(&render::escape::line(&problem)),
    };
    if version::is_asked_for(&args) {
        return output::print(&version::long(), ColorChoice::Never);
    }
    if let Some(problem) = misspelt::complaint(&args) {
        return output::complain(&problem);
    }
    let cli = Cli::parse_from(args);
    if cli.command.is_none()
        && let Some(problem) = cli
            .check
            .paths
            .first()
            .and_then(|path| misspelt::of_word(path.as_os_str()))
    {
        return output::complain(&problem);
    }
    // Where that does not work, files are read.
    let _ = ptxcheck_passes::image::map_large_files();
    match &cli.command {
        None => commands::check::run(&cli.check),
        Some(Command::Check(args)) => commands::check::run(args),
        Some(Command::Audit(args)) => commands::audit::run(args),
        Some(Command::Extract(args)) => commands::extract::run(args),
        Some(Command::Rules(args)) => commands::rules::run(args),
        Some(Command::Explain(args)) => commands::explain::run(args),
        Some(Command::Config(args)) => commands::config::run(args),
        Some(Command::Init(args)) => commands::init::run(args),
        Some(Command::Completions(args)) => commands::completions::run(args),
        Some(Command::Man(args)) => commands::completions::man(args),
    }
}
