//! `ptxcheck launch COMPILER ARGS…`: the compiler, then a check of the object that it has made.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anstream::ColorChoice;
use clap::{Args, Parser as _};
use ptxcheck_report::coverage::Coverage;
use ptxcheck_report::escape;

use super::check::{CheckArgs, Checked};
use crate::cli::Cli;
use crate::compile::{Invocation, Recompiler};
use crate::exit::Exit;
use crate::verdict::Verdict;
use crate::{config, inputs, output};

/// Arguments of `launch`. They are read before all others, as they are a compiler's.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// The compiler, and its arguments
    #[arg(value_name = "COMPILER", trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// The command.
const WORD: &str = "launch";

/// The variable with options of `check`.
const VARIABLE: &str = "PTXCHECK_ARGS";

/// Is the launcher, if these are its arguments, with a compiler among them.
pub fn run(args: &[OsString]) -> Option<ExitCode> {
    let (word, command) = args.get(1..)?.split_first()?;
    let (program, words) = command.split_first()?;
    if word != WORD || ["-h", "--help"].iter().any(|help| program == help) {
        return None;
    }
    let status = match Command::new(program).args(words).status() {
        Ok(status) => status,
        Err(error) => {
            let name = program.to_string_lossy();
            output::complain(&format!(
                "`{}` could not be started: {error}",
                escape::line(&name)
            ));
            return Some(Exit::Undone.into());
        }
    };
    if !status.success() {
        return Some(code(status));
    }
    Some(check(command).into())
}

/// The exit code of a compiler; of one that was killed, that which a shell gives it.
fn code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
    }
    ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    )
}

/// Checks the objects of a call, if it made some.
fn check(command: &[OsString]) -> Exit {
    let Ok(folder) = std::env::current_dir() else {
        return Exit::Clean;
    };
    // Of other programs than compilers of device code, nothing is to be said.
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let Ok(call) = Invocation::new(words, folder.clone()) else {
        return Exit::Clean;
    };
    let call = match call.expanded() {
        Ok(call) => call,
        Err(problem) => return pass(&format!("what the compiler made was not checked: {problem}")),
    };
    let is_exact = command.iter().all(|word| word.to_str().is_some());
    let objects = call.objects().into_iter();
    let exits = objects.map(|(object, call)| check_object(&call, &object, &folder.join(&object), is_exact));
    exits.fold(Exit::Clean, Exit::worst)
}

/// Says that an object goes unchecked.
fn pass(reason: &str) -> Exit {
    output::write_stderr(
        &format!("ptxcheck: warning: {}\n", escape::line(reason)),
        ColorChoice::Auto,
    );
    Exit::Clean
}

/// Checks an object of a call; not what CMake builds to find out about the compiler, nor what goes to no file.
fn check_object(call: &Invocation, object: &Path, full: &Path, is_exact: bool) -> Exit {
    if full.ancestors().any(inputs::is_probe) || object == Path::new("-") {
        return Exit::Clean;
    }
    let name = object.display();
    if !is_exact {
        return pass(&format!(
            "`{name}` was not checked: an argument of the compiler's is not UTF-8"
        ));
    }
    match full.metadata() {
        Ok(file) if file.is_file() => check_file(call, object),
        Ok(_) => Exit::Clean,
        Err(error) => pass(&format!(
            "`{name}`, as the compiler's call has it, was not checked: {error}"
        )),
    }
}

fn check_file(call: &Invocation, object: &Path) -> Exit {
    let args = match arguments(call, object) {
        Ok(args) => args,
        Err(problem) => return output::complain(&problem),
    };
    let recompiler = Recompiler::by_call(call.clone(), args.timeout);
    let checked = match Checked::of(&args, Some(recompiler), Vec::new()) {
        Ok(checked) => checked,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let report = checked.report(&args);
    let exit = report.write_files(&args.report.output);
    let mut text = match report.render(args.report.format) {
        Ok(texts) => texts.concat(),
        Err(problem) => return output::complain(&problem),
    };
    let outcome = &checked.outcome;
    let coverage = Coverage::of(outcome);
    let verdict = Verdict::of(
        outcome,
        &coverage,
        checked.recompiler.as_deref(),
        &checked.unread,
        &args,
    );
    text.push_str(&checked.baseline.said);
    text.push_str(&verdict.said);
    if !text.is_empty() {
        output::write_stderr(&text, ColorChoice::from(args.report.color));
    }
    exit.worst(checked.baseline.exit).worst(verdict.exit)
}

/// The arguments of `check`: those of the variable, and what a launcher adds.
fn arguments(call: &Invocation, object: &Path) -> Result<CheckArgs, String> {
    let said = std::env::var_os(VARIABLE).unwrap_or_default();
    let words = said.to_str().and_then(shlex::split);
    let words = words.ok_or_else(|| format!("{VARIABLE} can't be split into words"))?;
    let mut all: Vec<&OsStr> = ["ptxcheck", "--allow-empty"].map(OsStr::new).to_vec();
    all.extend(words.iter().map(OsStr::new));
    let cli = Cli::try_parse_from(all).map_err(|error| format!("in {VARIABLE}, {}", error.render()))?;
    if cli.command.is_some() || !cli.check.paths.is_empty() || cli.check.files_from.is_some() {
        return Err(format!("{VARIABLE} is for options of `check` alone"));
    }
    let mut args = cli.check;
    args.paths = vec![object.to_owned()];
    args.quiet = true;
    // Builds run compilers side by side.
    args.jobs = args.jobs.max(1);
    let source = call
        .sources()
        .last()
        .and_then(|source| std::path::absolute(source).ok());
    let above = source
        .as_deref()
        .and_then(Path::parent)
        .and_then(config::nearest_above);
    args.config = args.config.or(above);
    Ok(args)
}
