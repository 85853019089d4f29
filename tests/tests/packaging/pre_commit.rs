//! The hooks of pre-commit, run by pre-commit in a repository with a commit to come. It installs the wheel for them.

use std::fs;
use std::path::Path;

use ptxcheck_tests::root;

use super::jobs;
use super::project::{CommandOutput, nvcc, on_path, output};
use super::wheel::wheel;
use super::workspace::Workspace;

/// The files that the hooks are made of.
const HOOKS: [&str; 3] = [
    ".pre-commit-hooks.yaml",
    "pyproject.toml",
    "tools/pre-commit/check-sources.sh",
];

/// Runs pre-commit in a repository, with the wheel from a folder and no program on PATH but nvcc.
fn pre_commit(workspace: &Workspace, arguments: &[&str]) -> Result<CommandOutput, String> {
    let wheel = wheel()?;
    let index = wheel.parent().unwrap_or(Path::new("."));
    pre_commit_from(workspace, Some(index), arguments)
}

/// The same with another folder that has the wheel, or none.
fn pre_commit_from(
    workspace: &Workspace,
    index: Option<&Path>,
    arguments: &[&str],
) -> Result<CommandOutput, String> {
    let folder = root().join(".toolchain/pre-commit");
    let python = fs::read_to_string(folder.join("python"));
    let python = python.map_err(|_| "pre-commit is not installed".to_owned())?;
    let files = root().join(".toolchain/wheel/files");
    let folders = [Some(&*files), index];
    let folders: Vec<String> = folders
        .into_iter()
        .flatten()
        .map(|folder| folder.display().to_string())
        .collect();
    let nvcc = nvcc()?;
    let before = nvcc.parent().map(Path::to_owned);
    let mut command = jobs::python()?.command(python.trim(), before, workspace);
    command
        .current_dir(workspace.path("project"))
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", folders.join(" "))
        .env("PYTHONPATH", folder.join("packages"))
        .env("PRE_COMMIT_HOME", workspace.path("cache"))
        .env("PRE_COMMIT_COLOR", "never")
        .args(["-m", "pre_commit"])
        .args(arguments);
    output(&mut command)
}

/// Runs git in a folder, which no settings of the machine's reach.
fn git(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Result<CommandOutput, String> {
    on_path("git")?;
    let mut command = workspace.command("git")?;
    command
        .current_dir(workspace.path(folder))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments);
    output(&mut command)?.must_succeed()
}

/// A repository with the hooks, and a project that names it, with the example's sources.
fn prepare() -> Result<Workspace, String> {
    let workspace = Workspace::new()?;
    for file in HOOKS {
        let to = workspace.path("hooks").join(file);
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        fs::copy(root().join(file), &to).map_err(|error| format!("{file}: {error}"))?;
    }
    git(&workspace, "hooks", &["init", "--quiet"])?;
    git(&workspace, "hooks", &["add", "--all"])?;
    git(&workspace, "hooks", &["commit", "--quiet", "-m", "The hooks"])?;
    let revision = git(&workspace, "hooks", &["rev-parse", "HEAD"])?;
    workspace.copy("tools/pre-commit/example", "project")?;
    let config = "project/.pre-commit-config.yaml";
    let repository = format!("\"{}\"", workspace.path("hooks").display());
    workspace.replace(config, "<ptxcheck's repository>", &repository)?;
    workspace.replace(config, "<tag>", revision.text.trim())?;
    git(&workspace, "project", &["init", "--quiet"])?;
    git(&workspace, "project", &["add", "--all"])?;
    Ok(workspace)
}

/// A source with a defect stops the commit, on its line; one without does not.
pub(super) fn sources() -> Result<(), String> {
    let workspace = prepare()?;
    let said = pre_commit(&workspace, &["run"])?.must_fail()?;
    said.has("ptxcheck (CUDA sources)")?
        .has("PTX407")?
        .has("sums.cu:5:")?;
    workspace.replace("project/sums.cu", "mask >> 32", "mask")?;
    git(&workspace, "project", &["add", "--all"])?;
    pre_commit(&workspace, &["run"])?.must_succeed()?.has("Passed")?;
    workspace.replace("project/sums.cu", "__global__", "__globe__")?;
    git(&workspace, "project", &["add", "--all"])?;
    pre_commit(&workspace, &["run"])?.must_fail()?.has("__globe__")?;
    // Without the wheel, no hook is installed, and pip says what it looked for.
    fs::remove_dir_all(workspace.path("cache")).map_err(|error| error.to_string())?;
    pre_commit_from(&workspace, None, &["run"])?
        .must_fail()?
        .has("No matching distribution found for ptxcheck==")?;
    Ok(())
}

/// PTX that is committed. The project names the wheel, which no index has.
pub(super) fn committed() -> Result<(), String> {
    let workspace = prepare()?;
    let wheel = wheel()?;
    let hook = format!(
        "- id: ptxcheck\n        additional_dependencies: [\"ptxcheck @ file://{}\"]\n",
        wheel.display()
    );
    workspace.replace("project/.pre-commit-config.yaml", "- id: ptxcheck\n", &hook)?;
    let pre_commit = |arguments: &[&str]| pre_commit_from(&workspace, None, arguments);
    let corpus = root().join("corpus/rules/PTX407/fires_on_one_lane.ptx");
    fs::copy(corpus, workspace.path("project/a module.ptx")).map_err(|error| error.to_string())?;
    git(&workspace, "project", &["add", "--all"])?;
    let said = pre_commit(&["run", "ptxcheck"])?.must_fail()?;
    said.has("PTX407")?;
    let said = pre_commit(&["run", "ptxcheck", "--files", "sums.cu"])?.must_succeed()?;
    said.has("no files to check")?;
    Ok(())
}

/// The script by itself: what it is called with, and what is missing.
pub(super) fn script() -> Result<(), String> {
    let workspace = Workspace::of("tools/pre-commit/example")?;
    let script = root().join("tools/pre-commit/check-sources.sh");
    let script = script.display().to_string();
    let run = |arguments: &[&str]| workspace.run(&script, arguments);
    run(&["--check=--fail-on=never", "sums.cu"])?
        .must_succeed()?
        .has("sums.cu:5:")?;
    // One that is called like an option, and two of one name.
    let right = workspace.read("sums.cu")?.replace("mask >> 32", "mask");
    workspace.write("-sums.cu", &right)?;
    workspace.write("other/sums.cu", &right)?;
    run(&["-arch=sm_80", "--", "-sums.cu", "other/sums.cu"])?.must_succeed()?;
    run(&["-arch=sm_80", "other/sums.cu", "sums.cu", "none.cu"])?
        .must_fail()?
        .has("none.cu")?
        .has("sums.cu:5:")?;
    run(&["-arch=sm_80"])?.must_fail()?.has("no source is named")?;
    let mut command = workspace.command(&script)?;
    let said = output(command.arg("sums.cu").env("NVCC", "no-nvcc"))?;
    said.must_fail()?.has("there is no program `no-nvcc`")?;
    Ok(())
}
