//! The answers to requests.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::time::Duration;

use clap::Parser as _;
use ptxcheck_passes::Settings;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::rule::ProblemKind;
use ptxcheck_passes::run::{self, Bytes, Input};
use ptxcheck_report::{diff, escape, forecast, json};
use serde_json::json;

use super::frames::{self, Method, Request, RequestInput};
use crate::cli::{Cli, Command};
use crate::commands::audit::Audited;
use crate::commands::check::Checked;
use crate::commands::diff::Compared;
use crate::reports::Format;

/// Answers the requests of a stream until it ends.
///
/// # Errors
///
/// Where a stream fails, or holds something else than messages.
pub(super) fn answer_all(requests: &mut impl Read, replies: &mut impl Write) -> io::Result<()> {
    while let Some(message) = frames::read(requests)? {
        let document = match message.problem {
            None => document(&message.request, message.bytes),
            // The process in between has answered it.
            Some(problem) => Err(problem),
        };
        frames::write(replies, &reply(message.request.id, document))?;
    }
    Ok(())
}

/// A reply with a document, or with a sentence about an error of the client's.
pub(super) fn reply(id: u64, document: Result<String, String>) -> Vec<u8> {
    match document {
        Ok(document) => format!("{{\"id\":{id},\"document\":{}}}", document.trim_end()).into_bytes(),
        Err(problem) => json!({ "id": id, "error": { "kind": "usage", "message": problem } })
            .to_string()
            .into_bytes(),
    }
}

/// A reply about a request of which no document can be made, as the process that checks has gone.
pub(super) fn gone(request: &Request, kind: ProblemKind, problem: &str) -> Vec<u8> {
    let error = || {
        let kind = if kind == ProblemKind::Limit {
            "timeout"
        } else {
            "internal"
        };
        json!({ "id": request.id, "error": { "kind": kind, "message": problem } })
            .to_string()
            .into_bytes()
    };
    if matches!(request.method, Method::Diff | Method::Version) {
        return error();
    }
    let refused = request.inputs.iter().map(|input| Input {
        name: name(input),
        bytes: Bytes::Refused(kind, problem.to_owned()),
    });
    let outcome = run::check_here(refused.collect(), &Settings::default());
    let document = match request.method {
        Method::Audit => json::audit::render(
            &outcome,
            &Policy::default(),
            &forecast::Columns::default(),
            None,
            Duration::ZERO,
        ),
        _ => json::render(&outcome, Duration::ZERO),
    };
    match document {
        Ok(document) => reply(request.id, Ok(document)),
        Err(_) => error(),
    }
}

fn name(input: &RequestInput) -> String {
    let name = input.name.as_ref().or(input.path.as_ref());
    name.cloned().unwrap_or_default()
}

/// The document that answers a request.
fn document(request: &Request, bytes: Vec<Vec<u8>>) -> Result<String, String> {
    let mut bytes = bytes.into_iter();
    let mut more = Vec::new();
    let mut paths = Vec::new();
    for input in &request.inputs {
        match &input.path {
            Some(path) if path == "-" => return Err("standard input holds the requests".to_owned()),
            Some(path) => paths.push(path.clone()),
            None => more.push(Input {
                name: name(input),
                bytes: Bytes::Memory(bytes.next().unwrap_or_default()),
            }),
        }
    }
    match request.method {
        Method::Version => Ok(json!({ "version": env!("CARGO_PKG_VERSION") }).to_string()),
        Method::Check => {
            let Command::Check(args) = parsed("check", &["--quiet", "--allow-empty"], request, paths)? else {
                return Err("these are no options of a check".to_owned());
            };
            let files = [
                &args.files_from,
                &args.baseline.write_baseline,
                &args.compile_commands,
            ];
            refuse(
                files.iter().any(|file| file.is_some())
                    || !args.report.output.is_empty()
                    || args.shard.shard.is_some(),
            )?;
            let checked = Checked::of(&args, None, more)?;
            Ok(checked.report(&args).render(Format::JSON)?.concat())
        }
        Method::Audit => {
            // Where all inputs are bytes, some path stands for them on the command line.
            let is_without = paths.is_empty();
            let named = if is_without { vec![".".to_owned()] } else { paths };
            let Command::Audit(mut args) = parsed("audit", &["--quiet"], request, named)? else {
                return Err("these are no options of an audit".to_owned());
            };
            if is_without {
                args.paths.clear();
            }
            let files = [&args.files_from, &args.baseline.write_baseline];
            refuse(
                files.iter().any(|file| file.is_some())
                    || !args.report.output.is_empty()
                    || args.shard.shard.is_some(),
            )?;
            let audited = Audited::of(&args, more)?;
            Ok(audited.report(&args).render(Format::JSON)?.concat())
        }
        Method::Diff => {
            if paths.len() != 2 || !more.is_empty() {
                return Err("a diff has two inputs, with paths: the old release and the new one".to_owned());
            }
            let Command::Diff(args) = parsed("diff", &[], request, paths)? else {
                return Err("these are no options of a diff".to_owned());
            };
            let compared = Compared::of(&args)?;
            if let Some(problem) = compared.problem() {
                return Err(problem.to_owned());
            }
            let differences = compared.diff();
            diff::json(&compared.releases(&differences)).map_err(|error| error.to_string())
        }
    }
}

/// Refuses options that read or write files of their own.
fn refuse(has_files: bool) -> Result<(), String> {
    if has_files {
        return Err(
            "a request has no --output, --files-from, --write-baseline, --compile-commands and --shard: the reply is the report".to_owned(),
        );
    }
    Ok(())
}

/// A command with the options and paths of a request.
fn parsed(command: &str, own: &[&str], request: &Request, paths: Vec<String>) -> Result<Command, String> {
    let words = ["ptxcheck", command].into_iter().chain(own.iter().copied());
    let words = words.map(OsString::from);
    let options = request.options.iter().map(OsString::from);
    let paths = std::iter::once("--".to_owned()).chain(paths);
    let paths = paths.map(OsString::from);
    let cli = Cli::try_parse_from(words.chain(options).chain(paths));
    let cli = cli.map_err(|error| {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        escape::line(first.trim_start_matches("error: ")).into_owned()
    })?;
    cli.command
        .ok_or_else(|| "these are no options of the command".to_owned())
}
