//! `ptxcheck serve --stdio`: checks of bytes, one after the other, for programs that make many.
//!
//! ```text
//! client ─ request, bytes ─► this process ─ the same ─► a process of its own that checks
//!        ◄─ reply ──────────              ◄─ reply ───
//! ```
//!
//! The process in between stays up: if the one that checks dies or takes longer than the request allows, it is started anew, and
//! the reply says so, as a finding about each input of the request.

mod frames;
mod requests;
mod server;

use std::ffi::OsString;
use std::io;

use clap::Args;

use crate::exit::Exit;
use crate::output;

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Read requests from standard input and write replies to standard output, until the former ends
    #[arg(long)]
    pub stdio: bool,
}

/// The word that starts the process that checks. No file is meant by it: a user gives files named so as `./--ptxcheck-serve`.
const WORD: &str = "--ptxcheck-serve";

/// Answers requests on standard input until it ends.
#[must_use]
pub fn run(args: &ServeArgs) -> Exit {
    if !args.stdio {
        return output::complain("`serve` speaks over standard input and output: `ptxcheck serve --stdio`");
    }
    exit_of(server::Server::default().run(&mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// Is the process that checks, if these are its arguments.
pub fn checker(args: &[OsString]) -> Option<Exit> {
    if args.get(1).is_none_or(|arg| arg != WORD) {
        return None;
    }
    // If that does not work, files are read.
    let _ = ptxcheck_passes::image::map_large_files();
    Some(exit_of(requests::answer_all(
        &mut io::stdin().lock(),
        &mut io::stdout().lock(),
    )))
}

fn exit_of(ended: io::Result<()>) -> Exit {
    match ended {
        Ok(()) => Exit::Clean,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Clean,
        Err(error) => output::complain(&format!("the client's messages end here: {error}")),
    }
}
