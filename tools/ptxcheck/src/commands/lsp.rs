//! `ptxcheck lsp`: a language server over standard input and output.
//!
//! ```text
//! editor ─ messages ─► reading thread ─┐
//!                      checks of texts ─┼─ events ─► server ─ diagnostics, answers ─► editor
//!                      the last build ──┘
//! ```
//!
//! The server alone writes and has the state. Texts are checked one after the other in one thread; another reads the findings of the last
//! build again when its files change.

mod answers;
mod build;
mod checks;
mod documents;
mod events;
mod messages;
mod sarif;
mod server;
mod uris;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::launched::Launched;
use crate::exit::Exit;
use crate::levels::Levels;
use crate::options::parse_seconds;
use crate::output;

/// Seconds that the check of a text may take without `--timeout`.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Arguments of `lsp`.
#[derive(Args, Clone, Debug)]
pub struct LspArgs {
    /// Speak over standard input and output, as the server always does
    #[arg(long)]
    pub stdio: bool,

    /// Mark sources with the findings in the compiled files of this folder, again after each build; relative to the folder that the
    /// editor has open
    #[arg(long, value_name = "DIR")]
    pub build: Option<PathBuf>,

    /// Mark sources with the results of this SARIF file, which a build writes with `--output sarif=FILE`
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,

    /// `-A`, `-W`, `-D`, `-F`, `--level`.
    #[command(flatten)]
    pub levels: Levels,

    /// The launches of kernels.
    #[command(flatten)]
    pub launched: Launched,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the text or the folder of the build
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Longest that the check of one text may take (default: 20)
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// Serves an editor until it says `exit` or closes a pipe.
#[must_use]
pub fn run(args: &LspArgs) -> Exit {
    let mut args = args.clone();
    args.timeout = args.timeout.or(Some(TIMEOUT));
    // The working directory becomes that of the editor's project.
    args.config = args.config.map(|file| std::path::absolute(&file).unwrap_or(file));
    let (sender, events) = std::sync::mpsc::channel();
    if let Err(error) = messages::read_in_thread(sender.clone()) {
        return output::complain(&format!("no thread to read in: {error}"));
    }
    match server::Server::new(Arc::new(args), sender, io::stdout().lock()).run(&events) {
        Ok(exit) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Clean,
        Err(error) => output::complain(&format!("standard output: {error}")),
    }
}
