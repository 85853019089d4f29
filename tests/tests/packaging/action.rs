//! The steps of the action for GitHub's workflows, run as a runner runs them: with the wheel from a folder, in an environment that has
//! Python alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ptxcheck_tests::root;
use serde_json::Value;

use super::jobs::{self, Python};
use super::project::{CommandOutput, output};
use super::wheel::wheel;
use super::workspace::Workspace;

/// A runner: a workspace with what the action's example has compiled, and the program on no PATH.
struct Runner {
    workspace: Workspace,
    python: &'static Python,
    /// Folders before those of [`Python`].
    before: Vec<PathBuf>,
}

/// The action's answer: the text of its steps, and its outputs.
struct Answer {
    said: CommandOutput,
    outputs: BTreeMap<String, String>,
}

impl Answer {
    fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("", String::as_str)
    }

    /// Compares outputs with `name=value` pairs.
    fn has_outputs(&self, wanted: &[(&str, &str)]) -> Result<&Self, String> {
        match wanted.iter().find(|(name, value)| self.output(name) != *value) {
            None => Ok(self),
            Some((name, value)) => Err(format!("{name} is not {value}: {:?}", self.outputs)),
        }
    }
}

impl Runner {
    fn new() -> Result<Self, String> {
        let python = jobs::python()?;
        let workspace = jobs::project()?;
        fs::create_dir_all(workspace.path("temporary")).map_err(|error| error.to_string())?;
        Ok(Self {
            workspace,
            python,
            before: Vec::new(),
        })
    }

    /// Runs the steps with inputs, as long as they succeed.
    fn run(&self, inputs: &[(&str, &str)]) -> Result<Answer, String> {
        let action = jobs::yaml("action.yml")?;
        let mut values = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().into_iter().flatten() {
            let default = input["default"].as_str().ok_or("an input has no default")?;
            values.insert(format!("inputs.{name}"), default.to_owned());
        }
        for (name, value) in inputs {
            let known = values.insert(format!("inputs.{name}"), (*value).to_owned());
            known.ok_or_else(|| format!("the action has no input {name}"))?;
        }
        for (file, content) in [("path", ""), ("output", "")] {
            self.workspace.write(file, content)?;
        }
        let mut said = CommandOutput {
            success: true,
            text: String::new(),
        };
        let steps = action["runs"]["steps"].as_array().ok_or("there are no steps")?;
        // The first is the cache of a runner, of the folder that the next one installs into.
        let cache = &steps[0]["with"];
        let key = cache["key"].as_str().unwrap_or_default();
        if cache["path"] != "${{ runner.temp }}/ptxcheck" || !key.contains("${{ inputs.version }}") {
            return Err(format!(
                "another folder is cached, or one of any version: {cache}"
            ));
        }
        for step in steps.iter().filter(|step| step["uses"].is_null()) {
            let step = self.step(step, &values)?;
            said.text.push_str(&step.text);
            said.success = step.success;
            if !said.success {
                break;
            }
        }
        let written = self.workspace.read("output")?;
        for line in written.lines() {
            let (name, value) = line.split_once('=').ok_or("an output has no name")?;
            values.insert(format!("steps.check.outputs.{name}"), value.to_owned());
        }
        let mut outputs = BTreeMap::new();
        for (name, value) in action["outputs"].as_object().into_iter().flatten() {
            let value = value["value"].as_str().ok_or("an output has no value")?;
            outputs.insert(name.clone(), expand(value, &values));
        }
        Ok(Answer { said, outputs })
    }

    fn step(&self, step: &Value, values: &BTreeMap<String, String>) -> Result<CommandOutput, String> {
        let run = step["run"].as_str().ok_or("a step runs nothing")?;
        let added = self.workspace.read("path")?;
        let before = self.before.iter().cloned();
        let path = added.lines().map(PathBuf::from).chain(before);
        let mut command = self.python.command("bash", path, &self.workspace);
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", run])
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_WORKSPACE", self.workspace.path(""))
            .env("GITHUB_PATH", self.workspace.path("path"))
            .env("GITHUB_OUTPUT", self.workspace.path("output"))
            .env("GITHUB_STEP_SUMMARY", self.workspace.path("summary.md"))
            .env("RUNNER_TEMP", self.workspace.path("temporary"));
        for (variable, value) in step["env"].as_object().into_iter().flatten() {
            let value = value.as_str().ok_or("a variable is no text")?;
            command.env(variable, expand(value, values));
        }
        output(&mut command)
    }
}

/// The text with the values of its expressions.
fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("${{");
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").unwrap_or((part, ""));
        expanded.push_str(values.get(expression.trim()).map_or("", String::as_str));
        expanded.push_str(rest);
    }
    expanded
}

/// The folder that is the index.
fn index() -> Result<String, String> {
    let wheel = wheel()?;
    let folder = wheel.parent().ok_or("the wheel is in no folder")?;
    Ok(folder.display().to_string())
}

/// A defect on its line, as text and as an annotation; counts; a report; none.
pub(super) fn steps_find() -> Result<(), String> {
    let runner = Runner::new()?;
    let index = index()?;
    let workspace = &runner.workspace;
    let answer = runner.run(&[("from", &index)])?;
    answer
        .said
        .has("0.1.0 is installed")?
        .has("sums.cu:5:3")?
        .has("::error file=sums.cu,line=5,endLine=5,col=3,endColumn=")?
        .has(",title=PTX407 zero-mask::the member mask of")?
        .has("%0Akernel: add_halves(float*)%0Ahelp: name the lanes")?;
    answer.has_outputs(&[
        ("exit-code", "1"),
        ("errors", "1"),
        ("warnings", "0"),
        ("potential", "0"),
    ])?;
    let sarif = fs::read_to_string(answer.output("sarif")).map_err(|error| error.to_string())?;
    if answer.said.success || !sarif.contains("\"uri\":\"sums.cu\"") {
        return Err("the step succeeded, or the SARIF document has no finding".to_owned());
    }
    if !workspace
        .read("summary.md")?
        .contains("| PTX407 zero-mask | sums&#46;cu&#58;5 |")
    {
        return Err("the summary has no row".to_owned());
    }
    // What the cache holds is not installed again: this folder has no wheel.
    fs::create_dir_all(workspace.path("a folder")).map_err(|error| error.to_string())?;
    let inputs = [
        ("from", "a folder"),
        ("paths", "'a folder' build/sums.ptx"),
        ("fail-on", "never"),
        ("report", "findings.json"),
        ("sarif", "findings.sarif"),
        ("args", "--level PTX407=warning"),
    ];
    let answer = runner.run(&inputs)?;
    answer.said.has("::warning file=sums.cu,line=5")?;
    answer.has_outputs(&[
        ("exit-code", "0"),
        ("errors", "0"),
        ("warnings", "1"),
        ("sarif", "findings.sarif"),
    ])?;
    if !workspace.read("findings.json")?.contains("\"code\": \"PTX407\"") {
        return Err("the report has no finding".to_owned());
    }
    workspace.replace("sums.cu", "mask >> 32", "mask")?;
    jobs::compile(workspace)?;
    let answer = runner.run(&[("from", &index)])?;
    answer.said.has_no("::error")?;
    answer.has_outputs(&[("exit-code", "0"), ("errors", "0")])?;
    Ok(())
}

/// A wheel that is named; uv in the place of pip.
pub(super) fn steps_install() -> Result<(), String> {
    let wheel = wheel()?.display().to_string();
    let runner = Runner::new()?;
    runner
        .run(&[("from", &wheel), ("version", "9.9")])?
        .has_outputs(&[("exit-code", "1"), ("errors", "1")])?;
    let uv = root().join(".toolchain/uv/bin");
    if !uv.join("uv").is_file() {
        return Err("uv is not installed".to_owned());
    }
    let mut runner = Runner::new()?;
    runner.before.push(uv);
    runner
        .run(&[("from", &index()?)])?
        .has_outputs(&[("exit-code", "1"), ("errors", "1")])?;
    // A program of this version on PATH is taken without an origin.
    let mut other = Runner::new()?;
    other.before.push(runner.workspace.path("temporary/ptxcheck/bin"));
    other
        .run(&[])?
        .has_outputs(&[("exit-code", "1"), ("errors", "1")])?;
    if other.workspace.path("temporary/ptxcheck").exists() {
        return Err("the program was installed a second time".to_owned());
    }
    Ok(())
}

/// Inputs that are wrong, and a runner without an installer.
pub(super) fn steps_refuse() -> Result<(), String> {
    let mut runner = Runner::new()?;
    let index = index()?;
    for (inputs, message) in [
        (
            [("from", &*index), ("version", "9.9")],
            "`ptxcheck==9.9` could not be installed from ",
        ),
        (
            [("from", &*index), ("version", "1 --pre")],
            "the input `version` is not a version: `1 --pre`",
        ),
        (
            [("from", "none"), ("version", "0.1.0")],
            "the input `from` is no URL, no folder and no wheel: `none`",
        ),
        (
            [("from", "none.whl"), ("version", "0.1.0")],
            "the input `from` names a wheel that does not exist: `none.whl`",
        ),
        (
            [("from", &*index), ("paths", "'open")],
            "`'open` can't be split into words",
        ),
    ] {
        let answer = runner.run(&inputs)?;
        answer
            .said
            .must_fail()?
            .has(&format!("::error title=ptxcheck::{message}"))?;
    }
    let answer = runner.run(&[("from", &index), ("paths", "no-such-folder")])?;
    answer.said.has("no-such-folder")?;
    answer.has_outputs(&[("exit-code", "2"), ("errors", "1")])?;
    // No word of an input is run.
    let answer = runner.run(&[
        ("from", &index),
        ("paths", "build;touch $(touch harm) `touch harm`"),
    ])?;
    answer.said.must_fail()?;
    if runner.workspace.path("harm").exists() {
        return Err("a word of an input was run".to_owned());
    }
    let answer = runner.run(&[("from", &index), ("args", "--no-such-option")])?;
    answer.has_outputs(&[("exit-code", "2"), ("errors", ""), ("sarif", "")])?;
    runner.before.push(jobs::without_pip(&runner.workspace)?);
    fs::remove_dir_all(runner.workspace.path("temporary/ptxcheck")).map_err(|error| error.to_string())?;
    let answer = runner.run(&[("from", &index)])?;
    answer
        .said
        .must_fail()?
        .has("::error title=ptxcheck::there is neither uv nor a python3 with pip on PATH")?;
    Ok(())
}
