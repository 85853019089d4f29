//! Editors: a client of the language server, and the formats of `docs/src/editors.md` that read what the program prints.

use std::fs;
use std::process::Command;

use ptxcheck_tests::{binary, root};
use serde_json::Value;

use super::project::{CommandOutput, on_path, output};
use super::workspace::Workspace;

/// What the formats are tried on: errors and warnings, with a column, with a line alone, and with neither.
const ARGUMENTS: [&str; 6] = [
    "--quiet",
    "--format",
    "concise",
    "--level",
    "PTX301=warning",
    "corpus/demo",
];

/// A place that a line of output names: file, line and column, 0 where it names none; the first letter of the severity; the text.
type Place = (String, u64, u64, String, String);

/// The client of pytest-lsp speaks to the server as Neovim, VS Code and Emacs do.
pub(super) fn client() -> Result<(), String> {
    let folder = root().join(".toolchain/lsp");
    let python = fs::read_to_string(folder.join("python"));
    let python = python.map_err(|_| "pytest-lsp is not installed".to_owned())?;
    let mut command = Command::new(python.trim());
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(root().join("tests/packaging/lsp"))
        .env("PYTHONPATH", folder.join("packages"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PTXCHECK_BIN", binary::path())
        .env("PTXCHECK_DEMO", root().join("corpus/demo"));
    output(&mut command)?.must_succeed()?.has("3 passed")?;
    Ok(())
}

/// The first block after a heading of the page about editors.
fn block_after(heading: &str) -> Result<String, String> {
    let page = fs::read_to_string(root().join("docs/src/editors.md")).map_err(|error| error.to_string())?;
    let (_, section) = page
        .split_once(&format!("\n## {heading}\n"))
        .ok_or_else(|| format!("the page has no heading {heading}"))?;
    let (_, rest) = section
        .split_once("```")
        .and_then(|(_, fence)| fence.split_once('\n'))
        .ok_or_else(|| format!("{heading} has no block"))?;
    let (block, _) = rest.split_once("```").unwrap_or((rest, ""));
    Ok(block.to_owned())
}

/// The lines that the program prints, and what they name.
fn printed() -> Result<(String, Vec<Place>), String> {
    let mut command = binary::command();
    command.current_dir(root()).args(ARGUMENTS);
    let CommandOutput { text, .. } = output(&mut command)?.must_fail()?;
    let places: Vec<Place> = text.lines().filter_map(place).collect();
    let has = |wanted: fn(&Place) -> bool| places.iter().any(wanted);
    let has_kinds =
        has(|place| place.2 > 0) && has(|place| place.1 > 0 && place.2 == 0) && has(|place| place.1 == 0);
    if !has_kinds || !has(|place| place.3 == "warning") {
        return Err(format!("some kind of line is not printed:\n{text}"));
    }
    Ok((text, places))
}

/// What a line names, read from its end on, as no format here does.
fn place(line: &str) -> Option<Place> {
    let (severity, at) = ["error", "warning"]
        .into_iter()
        .filter_map(|word| Some((word, line.find(&format!(": {word}: "))?)))
        .min_by_key(|(_, at)| *at)?;
    let message = line[at + severity.len() + 4..].to_owned();
    let mut parts: Vec<&str> = line[..at].split(':').collect();
    let mut numbers: Vec<u64> = Vec::new();
    while let Some(number) = parts.last().and_then(|part| part.parse().ok()) {
        numbers.insert(0, number);
        parts.pop();
    }
    let number = |index: usize| numbers.get(index).copied().unwrap_or_default();
    Some((
        parts.join(":"),
        number(0),
        number(1),
        severity.to_owned(),
        message,
    ))
}

/// Fails unless a format has read the places that are there.
fn compare(found: &[Place], wanted: &[Place]) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("read were\n{found:#?}\nin place of\n{wanted:#?}"))
}

/// The problem matchers of VS Code, by the regular expressions of its language.
pub(super) fn problem_matcher() -> Result<(), String> {
    let (text, wanted) = printed()?;
    let workspace = Workspace::new()?;
    let tasks = workspace.path("tasks.json");
    fs::write(&tasks, block_after("A task of VS Code")?).map_err(|error| error.to_string())?;
    let printed = workspace.path("printed");
    fs::write(&printed, text).map_err(|error| error.to_string())?;
    let script = "
const fs = require('fs');
const matchers = JSON.parse(fs.readFileSync(process.argv[1], 'utf8')).tasks[0].problemMatcher;
const found = [];
for (const line of fs.readFileSync(process.argv[2], 'utf8').split('\\n')) {
  for (const { pattern } of matchers) {
    const match = new RegExp(pattern.regexp).exec(line);
    if (match) {
      const get = (key) => pattern[key] ? match[pattern[key]] : undefined;
      found.push([get('file'), +(get('line') ?? 0), +(get('column') ?? 0), get('severity'), get('message') + ` [${get('code')}]`]);
      break;
    }
  }
}
console.log(JSON.stringify(found));";
    let mut node = Command::new(on_path("node")?);
    node.args(["-e", script]).arg(&tasks).arg(&printed);
    let said = output(&mut node)?.must_succeed()?;
    let found: Vec<Place> = serde_json::from_str(said.text.trim()).map_err(|error| error.to_string())?;
    compare(&found, &wanted)
}

/// The error format of vim.
pub(super) fn error_format() -> Result<(), String> {
    let (text, wanted) = printed()?;
    let workspace = Workspace::new()?;
    let write = |name: &str, text: &str| {
        let path = workspace.path(name);
        fs::write(&path, text).map_err(|error| error.to_string())
    };
    write("ptxcheck.vim", &block_after("Vim")?)?;
    write("printed", &text)?;
    write(
        "read.vim",
        "command! -nargs=* CompilerSet set <args>\nsource ptxcheck.vim\n\
         cgetfile printed\n\
         let items = map(getqflist(), {_, item -> extend(item, {'file': bufname(item.bufnr)})})\n\
         call writefile([json_encode(items)], 'found')\n\
         qall!\n",
    )?;
    let mut vim = Command::new(on_path("vim")?);
    vim.current_dir(workspace.path(""))
        .args(["-es", "-N", "-u", "NONE", "-i", "NONE", "-S", "read.vim"]);
    output(&mut vim)?.must_succeed()?;
    let found = fs::read_to_string(workspace.path("found")).map_err(|error| error.to_string())?;
    let items: Vec<Value> = serde_json::from_str(&found).map_err(|error| error.to_string())?;
    let word = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let severity = |item: &Value| match word(item, "type").to_lowercase().as_str() {
        "e" => "error".to_owned(),
        "w" => "warning".to_owned(),
        other => other.to_owned(),
    };
    let number = |item: &Value, key: &str| item[key].as_u64().unwrap_or_default();
    let found: Vec<Place> = items
        .iter()
        .map(|item| {
            (
                word(item, "file"),
                number(item, "lnum"),
                number(item, "col"),
                severity(item),
                word(item, "text").trim().to_owned(),
            )
        })
        .collect();
    compare(&found, &wanted)
}
