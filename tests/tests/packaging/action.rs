//! The steps of the action for GitHub's workflows, run as a shell runs them.

use std::collections::BTreeMap;
use std::fs;

use ptxcheck_tests::root;

use super::project::{CommandOutput, on_path, output};
use super::workspace::Workspace;

/// A step: its command, and its variables with the inputs that they have.
#[derive(Debug, Default)]
struct Step {
    run: String,
    variables: Vec<(String, String)>,
}

/// The steps of action.yml, and the defaults of its inputs.
fn steps() -> Result<(Vec<Step>, BTreeMap<String, String>), String> {
    let text = fs::read_to_string(root().join("action.yml")).map_err(|error| error.to_string())?;
    let (inputs, steps) = text.split_once("\nruns:\n").ok_or("action.yml has no `runs:`")?;
    let mut defaults = BTreeMap::new();
    let mut name = "";
    for line in inputs.lines() {
        let indent = line.len() - line.trim_start().len();
        match (indent, line.trim().split_once(':')) {
            (2, Some((key, _))) => name = key,
            (4, Some(("default", value))) => {
                defaults.insert(name.to_owned(), value.trim().trim_matches('"').to_owned());
            }
            _ => {}
        }
    }
    let mut found: Vec<Step> = Vec::new();
    for line in steps.lines().map(str::trim) {
        if line.starts_with("- name:") {
            found.push(Step::default());
        }
        let Some(step) = found.last_mut() else { continue };
        if let Some(command) = line.strip_prefix("run: ") {
            step.run = command.trim_matches('\'').to_owned();
        } else if let Some((key, value)) = line.split_once(": ${{ inputs.") {
            let input = value.trim_end_matches(" }}");
            step.variables.push((key.to_owned(), input.to_owned()));
        }
    }
    Ok((found, defaults))
}

/// Runs the steps with inputs, as long as they succeed.
fn run(workspace: &Workspace, inputs: &[(&str, &str)]) -> Result<CommandOutput, String> {
    on_path("python3")?;
    let (steps, mut values) = steps()?;
    for (name, value) in inputs {
        let known = values.insert((*name).to_owned(), (*value).to_owned());
        known.ok_or_else(|| format!("the action has no input {name}"))?;
    }
    if steps.len() != 2 || values.len() != 5 {
        return Err(format!("{steps:?} {values:?}"));
    }
    let mut all = CommandOutput {
        success: true,
        text: String::new(),
    };
    for step in steps {
        let mut command = workspace.command("bash")?;
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run])
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_WORKSPACE", workspace.path(""))
            .env("GITHUB_PATH", workspace.path("path"))
            .env("GITHUB_OUTPUT", workspace.path("output"))
            .env("GITHUB_STEP_SUMMARY", workspace.path("summary.md"))
            .env("RUNNER_TEMP", workspace.path("temporary"));
        for (variable, input) in &step.variables {
            let value = values
                .get(input)
                .ok_or_else(|| format!("there is no input {input}"))?;
            command.env(variable, value);
        }
        let said = output(&mut command)?;
        all.text.push_str(&said.text);
        all.success = said.success;
        if !said.success {
            break;
        }
    }
    Ok(all)
}

/// The example, compiled as its workflow does.
fn prepare() -> Result<Workspace, String> {
    let workspace = Workspace::of("tools/github-action/example")?;
    for folder in ["build", "temporary"] {
        fs::create_dir_all(workspace.path(folder)).map_err(|error| error.to_string())?;
    }
    compile(&workspace)?;
    Ok(workspace)
}

/// Runs the line with nvcc of the example's workflow.
fn compile(workspace: &Workspace) -> Result<(), String> {
    let workflow = workspace.read(".github/workflows/ptxcheck.yml")?;
    let line = workflow
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("nvcc "));
    let line = line.ok_or("the workflow calls no nvcc")?;
    workspace.run("bash", &["-c", line])?.must_succeed()?;
    Ok(())
}

/// A defect on its line, as text and as an annotation; a report; none.
pub(super) fn steps_find() -> Result<(), String> {
    let workspace = prepare()?;
    let said = run(&workspace, &[])?.must_fail()?;
    said.has("is installed")?
        .has("sums.cu:5:3")?
        .has("::error file=sums.cu,line=5,endLine=5,col=3,endColumn=")?
        .has(",title=PTX407 zero-mask::the member mask of")?
        .has("%0Akernel: add_halves(float*)%0Ahelp: name the lanes")?;
    let outputs = workspace.read("output")?;
    if outputs != "exit-code=1\n" {
        return Err(format!("outputs: {outputs}"));
    }
    if !workspace
        .read("summary.md")?
        .contains("| PTX407 zero-mask | sums&#46;cu&#58;5 |")
    {
        return Err("the summary has no row".to_owned());
    }
    let inputs = [
        ("paths", "'a folder' build/sums.ptx"),
        ("fail-on", "never"),
        ("report", "findings.json"),
        ("sarif", "findings.sarif"),
        ("args", "--level PTX407=warning"),
    ];
    fs::create_dir_all(workspace.path("a folder")).map_err(|error| error.to_string())?;
    let said = run(&workspace, &inputs)?.must_succeed()?;
    said.has("::warning file=sums.cu,line=5")?;
    if !workspace.read("findings.json")?.contains("\"code\": \"PTX407\"") {
        return Err("the report has no finding".to_owned());
    }
    if !workspace.read("findings.sarif")?.contains("\"uri\":\"sums.cu\"") {
        return Err("the SARIF document has no finding".to_owned());
    }
    workspace.replace("sums.cu", "mask >> 32", "mask")?;
    compile(&workspace)?;
    run(&workspace, &[])?.must_succeed()?.has_no("::error")?;
    Ok(())
}

/// Inputs that are wrong, and a runner with nothing on it.
pub(super) fn steps_refuse() -> Result<(), String> {
    let workspace = prepare()?;
    run(&workspace, &[("paths", "'open")])?
        .must_fail()?
        .has("::error title=ptxcheck::`'open` can't be split into words")?;
    // No word of an input is run.
    run(&workspace, &[("paths", "build;touch $(touch harm) `touch harm`")])?.must_fail()?;
    if workspace.path("harm").exists() {
        return Err("a word of an input was run".to_owned());
    }
    run(&workspace, &[("args", "--no-such-option")])?.must_fail()?;
    let mut command = workspace.command("/bin/bash")?;
    let script = root().join("tools/github-action/install.sh");
    command.arg(script).env("PATH", "/usr/bin:/bin");
    if on_path("ptxcheck").is_err() {
        output(&mut command)?
            .must_fail()?
            .has("::error title=ptxcheck::there is neither ptxcheck nor cargo on PATH")?;
    }
    Ok(())
}
