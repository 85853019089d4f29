//! Failures of the check itself are warnings, and the compilation goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Failed};
use ptxcheck_tests::missing;

use super::Test;
use super::compilers::{Project, WRONG, said};

pub const TESTS: &[(&str, Test)] = &[
    ("a program that can't be started is a warning", cannot_start),
    ("a program that fails in any way is a warning", fails),
    ("a program that hangs is ended", hangs),
    ("variables that make no sense are a warning", wrong_variables),
];

const NO_CLANG: &str = "clang is not installed";

/// Compiles with these variables: the exit code is 0, the output is there, and the warning has all of these.
fn warned(variables: &[(&str, &str)], parts: &[&str]) -> Result<Completion, Failed> {
    let project = Project::new(WRONG)?;
    let Some(mut clang) = project.device("k.cu", &["-O1"]) else {
        return missing::skip(NO_CLANG);
    };
    let found = said(std::mem::replace(
        clang.envs(variables.iter().copied()),
        std::process::Command::new("true"),
    ))?;
    found.expect(0, &["warning: ptxcheck: not ", "[-Wbackend-plugin]"])?;
    found.expect(0, parts)?;
    if found.text.lines().count() > 2 || !fs::read_to_string(project.path("out"))?.contains(".entry") {
        return Err(found.text.into());
    }
    Ok(Completion::Completed)
}

fn cannot_start() -> Result<Completion, Failed> {
    warned(
        &[("PTXCHECK", "/no/such/program")],
        &["`/no/such/program` could not be started: "],
    )?;
    warned(&[("PTXCHECK", "/")], &["`/` could not be started: "])?;
    warned(
        &[("PTXCHECK", ""), ("PATH", "/no")],
        &["`ptxcheck` could not be started: "],
    )
}

/// A shell script in place of the program.
fn script(project: &Project, text: &str) -> Result<String, Failed> {
    let path = project.path("program");
    fs::write(&path, format!("#!/bin/sh\n{text}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path.display().to_string())
}

fn fails() -> Result<Completion, Failed> {
    let document = r#"{"schema_version": 3, "inputs": [], "findings": []}"#;
    let empty = r#"{"schema_version": 2, "inputs": [], "findings": []}"#;
    for (text, parts) in [
        // At once, without reading.
        ("exit 0", &["failed (exit status: 0), it printed no document"][..]),
        ("exit 1", &["failed (exit status: 1), it printed no document"]),
        (
            "echo 'no license' >&2; exit 7",
            &["failed (exit status: 7)", ": no license"],
        ),
        ("kill -KILL $$", &["failed (signal: 9"]),
        ("kill -SEGV $$", &["failed (signal: 11"]),
        ("head -c 1000000 /dev/urandom", &["it printed no document"]),
        ("yes | head -c 20000000", &["it printed no document"]),
        (&format!("echo '{document}'"), &["its document is of version 3"]),
        (
            &format!("echo '{empty}'; echo 'a kernel is too much' >&2; exit 2"),
            &["not all was checked: a kernel is too much"],
        ),
        ("exec 0<&- 1>&- 2>&-", &["it printed no document"]),
    ] {
        let project = Project::new("")?;
        let program = script(&project, text)?;
        let ended = warned(&[("PTXCHECK", &program)], parts)?;
        if !matches!(ended, Completion::Completed) {
            return Ok(ended);
        }
    }
    // An option that the program refuses.
    warned(
        &[("PTXCHECK_ARGS", "--no-such-option")],
        &["unexpected argument '--no-such-option'"],
    )
}

fn hangs() -> Result<Completion, Failed> {
    let project = Project::new("")?;
    let program = script(&project, "exec sleep 100")?;
    let begin = Instant::now();
    let variables = [("PTXCHECK", &*program), ("PTXCHECK_PASS_TIMEOUT", "1")];
    let ended = warned(&variables, &["took longer than 1 s (PTXCHECK_PASS_TIMEOUT)"])?;
    if begin.elapsed() > Duration::from_secs(60) {
        return Err("it was waited for".into());
    }
    Ok(ended)
}

fn wrong_variables() -> Result<Completion, Failed> {
    warned(
        &[("PTXCHECK_ARGS", "-A 'open")],
        &["PTXCHECK_ARGS can't be split into words"],
    )?;
    warned(
        &[("PTXCHECK_PASS_TIMEOUT", "soon")],
        &["PTXCHECK_PASS_TIMEOUT is a number of seconds, 1 or more"],
    )
}
