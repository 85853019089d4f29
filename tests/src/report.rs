//! The JSON document of a run, as the tests read it.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::expectation::Expected;
use crate::{binary, schema};

/// Runs `check --format json` with these arguments, and returns the exit code and the document.
///
/// # Errors
///
/// A sentence if it prints no document, or one that the schema refuses.
pub fn check<Arg: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = Arg>,
) -> Result<(i32, Value), String> {
    check_with(binary::path(), args)
}

/// The same with another program.
///
/// # Errors
///
/// A sentence if it prints no document, or one that the schema refuses.
pub fn check_with<Arg: AsRef<std::ffi::OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = Arg>,
) -> Result<(i32, Value), String> {
    let mut command = binary::command_of(program);
    command
        .args(["check", "--format", "json", "--places", "all"])
        .args(args);
    let output = command.output().map_err(|error| error.to_string())?;
    document(&output)
}

/// The exit code and the document that a run printed.
///
/// # Errors
///
/// A sentence if it printed no document, or one that the schema refuses.
pub fn document(output: &Output) -> Result<(i32, Value), String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output
        .status
        .code()
        .ok_or_else(|| format!("ended by a signal: {}\n{stderr}", output.status))?;
    let document = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("exit code {code}, and no JSON document ({error}):\n{stderr}"))?;
    let problems = schema::problems(&document);
    if problems.is_empty() {
        Ok((code, document))
    } else {
        Err(format!(
            "the schema refuses the document:\n{}",
            problems.join("\n")
        ))
    }
}

/// The findings of a document.
#[must_use]
pub fn findings(document: &Value) -> &[Value] {
    document["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// The codes of a document's findings, in order.
#[must_use]
pub fn codes(document: &Value) -> Vec<&str> {
    findings(document)
        .iter()
        .filter_map(|finding| finding["code"].as_str())
        .collect()
}

/// The findings of a PTX case, by their line in the input, sorted.
///
/// # Errors
///
/// A sentence about a finding that has no line.
pub fn by_input_line(document: &Value) -> Result<Vec<Expected>, String> {
    by_line(document, |finding| &finding["location"])
}

/// The findings of a CUDA case, by their line in the source with this file name, sorted, and each once: a compiler
/// copies code (loops, templates, inlining), and every copy has its finding. Those that name no line of it have line 0.
///
/// # Errors
///
/// A sentence about a finding that has no line there.
pub fn by_source_line(document: &Value, source: &str) -> Result<Vec<Expected>, String> {
    const NOWHERE: &Value = &Value::Null;
    let of_source = |finding: &Value| {
        let file = finding["source"]["file"].as_str().unwrap_or_default();
        Path::new(file).file_name().is_some_and(|name| name == source)
    };
    let mut found = by_line(document, |finding| {
        if of_source(finding) {
            &finding["source"]
        } else {
            NOWHERE
        }
    })?;
    found.dedup();
    Ok(found)
}

fn by_line(document: &Value, place: impl Fn(&Value) -> &Value) -> Result<Vec<Expected>, String> {
    let mut found = findings(document)
        .iter()
        .map(|finding| {
            let place = place(finding);
            let line = match place {
                Value::Null => Some(0),
                _ => place["line"].as_u64().and_then(|line| u32::try_from(line).ok()),
            };
            Ok(Expected {
                line: line.ok_or_else(|| format!("a finding has no line: {finding:#}"))?,
                code: finding["code"].as_str().unwrap_or_default().to_owned(),
                is_potential: finding["certainty"] != "definite",
            })
        })
        .collect::<Result<Vec<_>, String>>()?;
    found.sort();
    Ok(found)
}
