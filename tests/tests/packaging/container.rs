//! The steps of the container's recipe, run in a Debian of debootstrap's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxcheck_tests::root;
use tempfile::TempDir;

use super::project::{CommandOutput, copy_folder, on_path, output};
use super::release::first_finding;

/// A Debian below a folder.
struct Debian {
    folder: TempDir,
}

impl Debian {
    fn new(release: &str) -> Result<Self, String> {
        let debootstrap = on_path("debootstrap").or_else(|missing| {
            let program = PathBuf::from("/usr/sbin/debootstrap");
            if program.is_file() {
                Ok(program)
            } else {
                Err(missing)
            }
        })?;
        let user = output(Command::new("id").arg("-u"))?;
        if user.text.trim() != "0" {
            return Err("debootstrap is for root, and root is not installed".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = folder.path().join("debian");
        let mut command = Command::new(debootstrap);
        command.args(["--variant=minbase", release]).arg(&place);
        command.args(mirror());
        output(&mut command)?
            .must_succeed()
            .map_err(|said| format!("debootstrap: {said}"))?;
        Ok(Self { folder })
    }

    /// The path outside of an absolute path inside it.
    fn path(&self, inside: &str) -> PathBuf {
        let inside = inside.trim_start_matches('/');
        self.folder.path().join("debian").join(inside)
    }

    /// Runs a program in a folder of it.
    fn run(&self, folder: &str, words: &[&str]) -> Result<CommandOutput, String> {
        // Mounts end with the command: nothing outside can be reached when the folder is emptied.
        let script = "mount -t proc proc \"$1/proc\" && exec chroot \"$1\" /bin/sh -c 'cd \"$1\" && shift && exec \"$@\"' sh \"${@:2}\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "bash", "-c", script, "bash"])
            .arg(self.path("/"))
            .arg(folder)
            .args(words)
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("DEBIAN_FRONTEND", "noninteractive");
        output(&mut command)
    }
}

/// The mirror of Debian that this machine uses, if it names one.
fn mirror() -> Option<String> {
    let mut command = Command::new("apt-get");
    command.args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Component: main",
        "Release: bookworm",
    ]);
    let said = output(&mut command).ok()?;
    said.text
        .lines()
        .next()
        .filter(|line| line.contains("://"))
        .map(str::to_owned)
}

/// The instructions of the recipe, lines that go on joined.
fn instructions() -> Result<Vec<(String, String)>, String> {
    let file = root().join("tools/container/Containerfile");
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let text = text.replace("\\\n", " ");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line
                .split_once(' ')
                .ok_or_else(|| format!("no instruction: {line}"))?;
            Ok((word.to_owned(), rest.to_owned()))
        })
        .collect()
}

/// Copies the files of the folder that the recipe is run with.
fn copy(debian: &Debian, pattern: &str, to: &str) -> Result<(), String> {
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let context = root().join("target/wheel");
    let entries = fs::read_dir(&context).map_err(|_| "the wheel is not installed".to_owned())?;
    let mut count = 0;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(before) && name.ends_with(after) {
            let folder = debian.path(to);
            fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            fs::copy(entry.path(), folder.join(&name)).map_err(|error| error.to_string())?;
            count += 1;
        }
    }
    if count == 0 {
        return Err("the wheel is not installed".to_owned());
    }
    Ok(())
}

/// The image is built, its program finds a defect, and its CMake package lies where the program says.
pub(super) fn recipe() -> Result<(), String> {
    let instructions = instructions()?;
    let release = match instructions.first() {
        Some((word, image)) if word == "FROM" && image == "debian:12-slim" => "bookworm",
        other => return Err(format!("the recipe begins with {other:?}")),
    };
    // Before the minute that Debian takes.
    let is_wheel = |name: &str| Path::new(name).extension().is_some_and(|end| end == "whl");
    let files = fs::read_dir(root().join("target/wheel"))
        .ok()
        .into_iter()
        .flatten();
    if !files
        .flatten()
        .any(|file| is_wheel(&file.file_name().to_string_lossy()))
    {
        return Err("the wheel is not installed".to_owned());
    }
    let debian = Debian::new(release)?;
    let mut folder = "/".to_owned();
    let mut entry = Vec::new();
    for (word, rest) in &instructions[1..] {
        match word.as_str() {
            "RUN" => {
                debian.run(&folder, &["/bin/sh", "-c", rest])?.must_succeed()?;
            }
            "COPY" => {
                let (from, to) = rest.split_once(' ').ok_or("COPY wants two places")?;
                copy(&debian, from, to)?;
            }
            "WORKDIR" => {
                folder.clone_from(rest);
                fs::create_dir_all(debian.path(rest)).map_err(|error| error.to_string())?;
            }
            "ENTRYPOINT" => {
                let words: Vec<String> = serde_json::from_str(rest).map_err(|error| error.to_string())?;
                entry = words;
            }
            _ => return Err(format!("the test does not know {word}")),
        }
    }
    copy_folder(&root().join("corpus/rules/PTX407"), &debian.path("/work/build"))?;
    let run = |arguments: &[&str]| {
        let words: Vec<&str> = entry
            .iter()
            .map(String::as_str)
            .chain(arguments.iter().copied())
            .collect();
        debian.run(&folder, &words)
    };
    let said = run(&["build/fires_on_one_lane.ptx"])?.must_fail()?;
    said.has("PTX407")?.has("build/fires_on_one_lane.ptx:17:2")?;
    run(&["--version", "--verbose"])?
        .must_succeed()?
        .has("LLVM IR: read by LLVM 22, by `/usr/local/bin/ptxcheck-llvm`")?;
    run(&["--cmake-dir"])?
        .must_succeed()?
        .has("/usr/local/share/cmake/ptxcheck")?;
    for file in [
        "cmake/ptxcheck/ptxcheck-config.cmake",
        "ptxcheck/ptxcheck.mk",
        "doc/ptxcheck/LICENSES-OF-OTHERS",
    ] {
        if !debian.path("/usr/local/share").join(file).is_file() {
            return Err(format!("the image has no {file}"));
        }
    }
    with_python_alone(&debian)
}

/// Installs the wheel with pip where Debian's Python is all that there is, and checks a folder.
fn with_python_alone(debian: &Debian) -> Result<(), String> {
    let install = "apt-get update -q && apt-get install -q -y --no-install-recommends python3-venv";
    debian.run("/", &["/bin/sh", "-c", install])?.must_succeed()?;
    copy(debian, "ptxcheck-*.whl", "/index")?;
    copy_folder(&root().join("corpus/demo"), &debian.path("/work/demo"))?;
    let check = "! command -v cargo && ! command -v cc && python3 -m venv /venv \
        && /venv/bin/pip install --quiet --no-index --find-links /index ptxcheck && exec /venv/bin/ptxcheck demo";
    first_finding("pip install in Debian 12", || {
        debian.run("/work", &["/bin/sh", "-c", check])
    })
}
