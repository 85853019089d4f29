//! Static checking of compiled GPU code.

mod args;
mod commands;
mod config;
mod exit;
mod inputs;
mod levels;
mod output;
mod render;
mod response;
mod styles;
mod summary;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

fn main() -> ExitCode {
    let args = match response::expand(std::env::args_os()) {
        Ok(args) => args,
        Err(problem) => return output::complain(&render::escape::line(&problem)).into(),
    };
    let cli = Cli::parse_from(args);
    let exit = match &cli.command {
        None => commands::check::run(&cli.check),
        Some(Command::Check(args)) => commands::check::run(args),
        Some(Command::Audit(args)) => commands::audit::run(args),
        Some(Command::Extract(args)) => commands::extract::run(args),
        Some(Command::Rules(args)) => commands::rules::run(args),
        Some(Command::Explain(args)) => commands::explain::run(args),
    };
    exit.into()
}
