//! Checks of texts and of folders, as `ptxcheck check` makes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::{io, thread};

use clap::Parser as _;
use ptxcheck_passes::run::{Bytes, Input};
use ptxcheck_report::escape;
use ptxcheck_report::marks::{self, Mark};

use super::LspArgs;
use super::events::{Checked, Event};
use crate::cli::Cli;
use crate::commands::check::{self, CheckArgs};
use crate::config;

/// A text to check.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) uri: String,
    pub(super) version: i32,
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
}

/// Checks the texts that it is sent, in a thread of its own.
///
/// # Errors
///
/// If there is no thread to be had.
pub(super) fn start(args: Arc<LspArgs>, events: Sender<Event>) -> io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let check_all = move || {
        for job in jobs {
            let checked = Checked {
                marks: check_text(&args, &job),
                uri: job.uri,
                version: job.version,
            };
            if events.send(Event::Checked(checked)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("lsp checks".to_owned())
        .spawn(check_all)?;
    Ok(sender)
}

fn check_text(args: &LspArgs, job: &Job) -> Result<Vec<Mark>, String> {
    let name = match &job.path {
        Some(path) => path.to_string_lossy().into_owned(),
        None => job.uri.clone(),
    };
    let input = Input {
        name,
        bytes: Bytes::Memory(job.text.clone().into_bytes()),
    };
    let options = options(args, job.path.as_deref().and_then(Path::parent))?;
    let checked = checked(&options, vec![input])?;
    Ok(marks::in_text(
        &checked.outcome,
        &job.text,
        &checked.root,
        &checked.pages,
    ))
}

/// The marks of the sources of the compiled files in a folder.
///
/// # Errors
///
/// A sentence about an error in the configuration.
pub(super) fn check_folder(args: &LspArgs, folder: &Path) -> Result<Vec<Mark>, String> {
    let mut options = options(args, Some(folder))?;
    options.paths = vec![folder.to_owned()];
    // A large library must not keep a build's findings back; a text has its own limit.
    options.timeout = None;
    let checked = checked(&options, Vec::new())?;
    Ok(marks::in_sources(&checked.outcome, &checked.root, &checked.pages))
}

/// An error in this program is a sentence, too.
fn checked(options: &CheckArgs, inputs: Vec<Input>) -> Result<check::Checked, String> {
    let check = AssertUnwindSafe(|| check::Checked::of(options, None, inputs));
    catch_unwind(check).unwrap_or_else(|_| Err("the check failed".to_owned()))
}

/// The options of `check`; the configuration is the nearest one above a folder.
fn options(args: &LspArgs, folder: Option<&Path>) -> Result<CheckArgs, String> {
    let words = ["ptxcheck", "--allow-empty", "--quiet"];
    let cli = Cli::try_parse_from(words).map_err(|error| escape::line(&error.to_string()).into_owned())?;
    Ok(CheckArgs {
        levels: args.levels.clone(),
        launched: args.launched.clone(),
        config: args
            .config
            .clone()
            .or_else(|| folder.and_then(config::nearest_above)),
        timeout: args.timeout,
        ..cli.check
    })
}
