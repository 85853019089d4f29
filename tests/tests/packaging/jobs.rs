//! The jobs for continuous integration, each run as its system runs it: with the wheel from a folder, in an environment that has
//! Python alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ptxcheck_tests::root;
use serde_json::Value;

use super::project::{CommandOutput, on_path, output, scratch};
use super::wheel::{run, wheel};
use super::workspace::Workspace;

/// A virtual environment with pip and nothing else.
pub(super) struct Python {
    folder: PathBuf,
}

impl Python {
    /// A new one in the place of what the folder holds.
    pub(super) fn new(folder: PathBuf) -> Result<Self, String> {
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
        }
        run(Command::new(on_path("python3")?)
            .args(["-m", "venv"])
            .arg(&folder))?
        .must_succeed()?;
        Ok(Self { folder })
    }

    /// The folder with its programs.
    pub(super) fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// A command in a workspace, with PATH of these folders, those of the environment, and those of the system: neither the program
    /// under test nor cargo is found there.
    pub(super) fn command(
        &self,
        program: &str,
        before: impl IntoIterator<Item = PathBuf>,
        workspace: &Workspace,
    ) -> Command {
        let own = [self.bin(), "/usr/bin".into(), "/bin".into()];
        let path = std::env::join_paths(before.into_iter().chain(own)).unwrap_or_default();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", workspace.path("home"))
            .current_dir(workspace.path(""));
        command
    }
}

/// The environment that all tests of jobs share, or what is missing to make it.
pub(super) fn python() -> Result<&'static Python, String> {
    static PYTHON: OnceLock<Result<Python, String>> = OnceLock::new();
    PYTHON
        .get_or_init(|| Python::new(scratch().join("python")))
        .as_ref()
        .map_err(Clone::clone)
}

/// A folder with a `python3` that has no pip.
pub(super) fn without_pip(workspace: &Workspace) -> Result<PathBuf, String> {
    let program = "without-pip/python3";
    workspace.write(program, "#!/bin/sh\nexit 1\n")?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(workspace.path(program), mode).map_err(|error| error.to_string())?;
    Ok(workspace.path("without-pip"))
}

/// A file of the repository that is YAML, as JSON. PyYAML, which belongs to pre-commit, reads it.
pub(super) fn yaml(file: &str) -> Result<Value, String> {
    let folder = root().join(".toolchain/pre-commit");
    let python = fs::read_to_string(folder.join("python"));
    let python = python.map_err(|_| "pre-commit is not installed".to_owned())?;
    let code =
        "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1], encoding='utf-8')), sys.stdout)";
    let said = run(Command::new(python.trim())
        .env("PYTHONPATH", folder.join("packages"))
        .args(["-c", code])
        .arg(root().join(file)))?
    .must_succeed()?;
    serde_json::from_str(&said.text).map_err(|error| format!("{file}: {error}"))
}

/// The example of the action, compiled as its workflow does.
pub(super) fn project() -> Result<Workspace, String> {
    let workspace = Workspace::of("tools/github-action/example")?;
    fs::create_dir_all(workspace.path("build")).map_err(|error| error.to_string())?;
    compile(&workspace)?;
    Ok(workspace)
}

/// Runs the line with nvcc of the example's workflow.
pub(super) fn compile(workspace: &Workspace) -> Result<(), String> {
    let workflow = workspace.read(".github/workflows/ptxcheck.yml")?;
    let line = workflow
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("nvcc "));
    let line = line.ok_or("the workflow calls no nvcc")?;
    workspace.run("bash", &["-c", line])?.must_succeed()?;
    Ok(())
}

/// A job: its variables, and the lines that its shell runs.
struct Job {
    variables: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Job {
    /// `.ptxcheck` of the template for GitLab.
    fn of_gitlab() -> Result<Self, String> {
        let document = yaml("tools/ci/gitlab.yml")?;
        let job = &document[".ptxcheck"];
        let report = job["artifacts"]["reports"]["codequality"].as_str();
        if report != Some("gl-code-quality-report.json") {
            return Err(format!("another report is taken: {report:?}"));
        }
        let variables = job["variables"].as_object().into_iter().flatten();
        let lines = job["script"].as_array().into_iter().flatten();
        Ok(Self {
            variables: variables
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            lines: lines
                .filter_map(|line| line.as_str().map(str::to_owned))
                .collect(),
        })
    }

    /// The stage for Jenkins: its `sh` lines and its environment.
    fn of_jenkins() -> Result<Self, String> {
        let file = root().join("tools/ci/Jenkinsfile");
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        if !text.contains("sarif(pattern: 'ptxcheck.sarif'") {
            return Err("another report is taken".to_owned());
        }
        let mut job = Self {
            variables: Vec::new(),
            lines: Vec::new(),
        };
        for line in text.lines().map(str::trim) {
            if let Some(command) = line.strip_prefix("sh '").and_then(|rest| rest.strip_suffix('\'')) {
                job.lines.push(command.to_owned());
            } else if let Some((name, value)) = line.split_once(" = '") {
                let value = value.trim_end_matches('\'');
                job.variables.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(job)
    }

    /// Runs the job in a workspace with other values of its variables; a line that fails is its end.
    fn run(&self, workspace: &Workspace, values: &[(&str, &str)]) -> Result<CommandOutput, String> {
        let wheel = wheel()?;
        let mut command = python()?.command("bash", [], workspace);
        command
            .args(["-e", "-c", &self.lines.join("\n")])
            .envs(self.variables.iter().cloned())
            .env("PIP_CACHE_DIR", workspace.path("cache"))
            .env("PIP_NO_INDEX", "1")
            .env("PIP_FIND_LINKS", wheel.parent().unwrap_or(Path::new(".")));
        for (name, value) in values {
            if !self.variables.iter().any(|(known, _)| known == name) {
                return Err(format!("the job has no variable {name}"));
            }
            command.env(name, value);
        }
        output(&mut command)
    }

    /// Finds the defect, twice in one workspace; refuses an unknown version and a folder that does not exist; passes without the
    /// defect.
    fn lives(&self, report: &str, place: &str) -> Result<(), String> {
        let workspace = project()?;
        for _ in 0..2 {
            self.run(&workspace, &[])?
                .must_fail()?
                .has("PTX407")?
                .has("sums.cu:5:3")?;
        }
        if !workspace.read(report)?.contains(place) {
            return Err(format!("{report} has no {place}"));
        }
        self.run(&workspace, &[("PTXCHECK_VERSION", "9.9")])?
            .must_fail()?
            .has("No matching distribution found for ptxcheck==9.9")?;
        self.run(&workspace, &[("PTXCHECK_PATHS", "no-such-folder")])?
            .must_fail()?
            .has("no-such-folder")?;
        workspace.replace("sums.cu", "mask >> 32", "mask")?;
        compile(&workspace)?;
        self.run(&workspace, &[])?.must_succeed()?;
        Ok(())
    }
}

pub(super) fn gitlab() -> Result<(), String> {
    Job::of_gitlab()?.lives("gl-code-quality-report.json", "\"path\": \"sums.cu\"")
}

pub(super) fn jenkins() -> Result<(), String> {
    Job::of_jenkins()?.lives("ptxcheck.sarif", "\"uri\":\"sums.cu\"")
}
