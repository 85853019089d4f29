//! A folder in which tools that know nothing of CMake build and check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxcheck_tests::{binary, root};
use tempfile::TempDir;

use super::project::{CommandOutput, copy_folder, nvcc, output, path_of};

/// A folder that goes away, with a blank in its name.
pub(super) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("a workspace ").tempdir();
        Ok(Self {
            folder: folder.map_err(|error| error.to_string())?,
        })
    }

    /// One with a copy of a folder of the repository.
    pub(super) fn of(folder: &str) -> Result<Self, String> {
        let workspace = Self::new()?;
        workspace.copy(folder, "")?;
        Ok(workspace)
    }

    /// Copies a folder of the repository to one of this.
    pub(super) fn copy(&self, from: &str, to: &str) -> Result<(), String> {
        copy_folder(&root().join(from), &self.path(to))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Puts one text in the place of another, that has to be there.
    pub(super) fn replace(&self, name: &str, from: &str, to: &str) -> Result<(), String> {
        let text = self.read(name)?;
        if !text.contains(from) {
            return Err(format!("{name} has no {from}"));
        }
        self.write(name, &text.replace(from, to))
    }

    /// `<name>:<line>:` of the first line with a text.
    pub(super) fn place(&self, name: &str, text: &str) -> Result<String, String> {
        let source = self.read(name)?;
        let line = source.lines().position(|line| line.contains(text));
        let line = line.ok_or_else(|| format!("{name} has no {text}"))? + 1;
        Ok(format!("{name}:{line}:"))
    }

    /// A command in the folder, with the program under test, nvcc and the repository's `PATH` to be found.
    pub(super) fn command(&self, program: &str) -> Result<Command, String> {
        let nvcc = nvcc()?;
        let own = binary::path().parent().map(Path::to_owned);
        let before = own.into_iter().chain(nvcc.parent().map(Path::to_owned));
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("PATH", path_of(before));
        for variable in [
            "MAKEFLAGS",
            "MAKELEVEL",
            "MFLAGS",
            "NVCC",
            "PTXCHECK",
            "PTXCHECK_ARGS",
            "CI",
        ] {
            command.env_remove(variable);
        }
        Ok(command)
    }

    /// Runs a program in the folder to its end.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Result<CommandOutput, String> {
        output(self.command(program)?.args(arguments))
    }
}
