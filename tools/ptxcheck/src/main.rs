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

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let is_worker = commands::worker::strip(&mut args);
    let args = match response::expand(args) {
        Ok(args) => args,
        Err(problem) => return output::complain(&render::escape::line(&problem)).into(),
    };
    let cli = Cli::parse_from(args);
    let exit = match &cli.command {
        None if is_worker => commands::worker::run(&cli.check),
        Some(Command::Check(args)) if is_worker => commands::worker::run(args),
        None => commands::check::run(&cli.check),
        Some(Command::Check(args)) => commands::check::run(args),
        Some(Command::Audit(args)) => commands::audit::run(args),
        Some(Command::Extract(args)) => commands::extract::run(args),
        Some(Command::Rules(args)) => commands::rules::run(args),
        Some(Command::Explain(args)) => commands::explain::run(args),
    };
    exit.into()
}
