//! Static checking of compiled GPU code.

mod baseline;
mod budgets;
mod cache;
mod cli;
mod color_first;
mod commands;
mod compile;
mod config;
mod exit;
mod file_list;
mod gpus;
mod inputs;
mod levels;
mod misspelt;
mod options;
mod output;
mod package_limits;
mod panics;
mod progress;
mod ratchet;
mod releases;
mod reports;
mod response;
mod shards;
mod unanalysed;
mod verdict;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser as _;
use clap::error::ErrorKind;

use cli::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    panics::report_briefly();
    // Defects are caught for each input; a panic that is caught here has been reported.
    std::panic::catch_unwind(run).unwrap_or_else(|_| Exit::Undone.into())
}

fn run() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(exit) = commands::serve::checker(&args) {
        return exit.into();
    }
    // Its words are a compiler's: `@FILE` is, too.
    match commands::launch::run(&args) {
        Some(code) => code,
        None => command(args).into(),
    }
}

fn command(args: Vec<OsString>) -> Exit {
    let response::Expanded { args, empty } = match response::expand(args) {
        Ok(expanded) => expanded,
        Err(problem) => return output::complain(&ptxcheck_report::escape::line(&problem)),
    };
    let args = color_first::moved(args);
    if version::is_asked_for(&args) {
        return output::print(&version::long(), ColorChoice::Never);
    }
    if let Some(problem) = misspelt::complaint(&args) {
        return output::complain(&problem);
    }
    let cli = match (Cli::try_parse_from(args), empty) {
        (Ok(cli), _) => cli,
        (Err(error), Some(file)) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let file = ptxcheck_report::escape::line(&file);
            return output::complain(&format!(
                "nothing is named to work on: the response file `{file}` is empty"
            ));
        }
        (Err(error), _) => error.exit(),
    };
    if cli.cmake_dir {
        return commands::cmake_dir::run();
    }
    if cli.command.is_none()
        && let Some(problem) = cli
            .check
            .paths
            .first()
            .and_then(|path| misspelt::of_word(path.as_os_str()))
    {
        return output::complain(&problem);
    }
    // If that does not work, files are read.
    let _ = ptxcheck_passes::image::map_large_files();
    match &cli.command {
        None => commands::check::run(&cli.check),
        Some(Command::Check(args)) => commands::check::run(args),
        Some(Command::Audit(args)) => commands::audit::run(args),
        Some(Command::Capacity(args)) => commands::capacity::run(args),
        Some(Command::Diff(args)) => commands::diff::run(args),
        Some(Command::Merge(args)) => commands::merge::run(args),
        Some(Command::Extract(args)) => commands::extract::run(args),
        Some(Command::Rules(args)) => commands::rules::run(args),
        Some(Command::Replay(args)) => commands::replay::run(args),
        Some(Command::Serve(args)) => commands::serve::run(args),
        Some(Command::Lsp(args)) => commands::lsp::run(args),
        Some(Command::Explain(args)) => commands::explain::run(args),
        Some(Command::Config(args)) => commands::config::run(args),
        Some(Command::Init(args)) => commands::init::run(args),
        Some(Command::Completions(args)) => commands::completions::run(args),
        // With a compiler after it, it has run.
        Some(Command::Launch(_)) => {
            output::complain("a compiler is wanted, as in `ptxcheck launch nvcc -c k.cu`")
        }
        Some(Command::Man(args)) => commands::completions::man(args),
    }
}
