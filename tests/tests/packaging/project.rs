//! A project that CMake builds in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ptxcheck_tests::{binary, root};
use tempfile::TempDir;

/// A version of CMake.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cmake {
    /// The oldest that the package allows.
    Oldest,
    /// The one on PATH.
    System,
    /// The newest that was tried.
    Newest,
}

impl Cmake {
    pub(super) const ALL: [Self; 3] = [Self::Oldest, Self::System, Self::Newest];

    /// The program, or what is missing.
    pub(super) fn program(self) -> Result<PathBuf, String> {
        let folder = match self {
            Self::System => return on_path("cmake"),
            Self::Oldest => "cmake-3.22",
            Self::Newest => "cmake-4.4",
        };
        let program = root()
            .join(".toolchain")
            .join(folder)
            .join("cmake/data/bin/cmake");
        if program.is_file() {
            Ok(program)
        } else {
            Err(format!("{folder} is not installed"))
        }
    }
}

/// The build tool that CMake writes rules for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generator {
    Ninja,
    MultiConfig,
    Makefiles,
}

impl Generator {
    pub(super) const ALL: [Self; 3] = [Self::Ninja, Self::MultiConfig, Self::Makefiles];

    fn name(self) -> &'static str {
        match self {
            Self::Ninja => "Ninja",
            Self::MultiConfig => "Ninja Multi-Config",
            Self::Makefiles => "Unix Makefiles",
        }
    }
}

/// The place of a program, or what is missing.
pub(super) fn on_path(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| format!("{name} is not on PATH"))
}

/// The nvcc of the tests, or what is missing.
pub(super) fn nvcc() -> Result<PathBuf, String> {
    let folder = root().join(".toolchain/nvcc");
    if folder.join("stamp").is_file() {
        Ok(folder.join("cuda/bin/nvcc"))
    } else {
        Err("nvcc is not installed".to_owned())
    }
}

/// The options with which CMake takes clang for CUDA, or what is missing.
pub(super) fn clang() -> Result<[String; 3], String> {
    let folder = root().join(".toolchain/clang");
    if !folder.join("stamp").is_file() {
        return Err("clang is not installed".to_owned());
    }
    let compiler = on_path("clang++-22")?;
    let cuda = root().join(".toolchain/nvcc/cuda");
    Ok([
        format!("-DCMAKE_CUDA_COMPILER={}", compiler.display()),
        format!("-DCUDAToolkit_ROOT={}", cuda.display()),
        // The new one links with a program that is not in Debian's package of clang.
        "-DCMAKE_CUDA_FLAGS=--no-offload-new-driver".to_owned(),
    ])
}

/// The exit code of a command and its output on both streams.
#[derive(Debug)]
pub(super) struct CommandOutput {
    pub success: bool,
    pub text: String,
}

impl CommandOutput {
    pub(super) fn of(output: &Output) -> Self {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Self {
            success: output.status.success(),
            text,
        }
    }

    pub(super) fn must_succeed(self) -> Result<Self, String> {
        self.must(true)
    }

    pub(super) fn must_fail(self) -> Result<Self, String> {
        self.must(false)
    }

    fn must(self, succeed: bool) -> Result<Self, String> {
        if self.success == succeed {
            return Ok(self);
        }
        let wanted = if succeed { "succeed" } else { "fail" };
        Err(format!("a command had to {wanted}, and said:\n{}", self.text))
    }

    pub(super) fn has(&self, text: &str) -> Result<&Self, String> {
        if self.flat().contains(&flatten(text)) {
            return Ok(self);
        }
        Err(format!("`{text}` is not in:\n{}", self.text))
    }

    pub(super) fn has_no(&self, text: &str) -> Result<&Self, String> {
        if !self.flat().contains(&flatten(text)) {
            return Ok(self);
        }
        Err(format!("`{text}` is in:\n{}", self.text))
    }

    /// CMake breaks the lines of its messages.
    fn flat(&self) -> String {
        flatten(&self.text)
    }
}

fn flatten(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A project and its build folder.
pub(super) struct Project {
    folder: PathBuf,
    /// Goes away with the project.
    _temporary: Option<TempDir>,
    cmake: PathBuf,
    generator: Generator,
    nvcc: PathBuf,
}

impl Project {
    /// An empty project, or what is missing to build one.
    pub(super) fn new(cmake: Cmake, generator: Generator) -> Result<Self, String> {
        // A blank, as a user's folder may have one.
        let temporary = tempfile::Builder::new()
            .prefix("a project ")
            .tempdir()
            .map_err(|error| error.to_string())?;
        let folder = temporary.path().to_owned();
        Self::at(folder, Some(temporary), cmake, generator)
    }

    /// An empty project at the same place each time, so that [`Self::launcher`] finds what it has compiled before. Only one test
    /// at a time can have it.
    pub(super) fn in_place(cmake: Cmake, generator: Generator) -> Result<Self, String> {
        let folder = scratch().join("a project");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
        }
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Self::at(folder, None, cmake, generator)
    }

    fn at(
        folder: PathBuf,
        temporary: Option<TempDir>,
        cmake: Cmake,
        generator: Generator,
    ) -> Result<Self, String> {
        let cmake = cmake.program()?;
        on_path(if generator == Generator::Makefiles {
            "make"
        } else {
            "ninja"
        })?;
        Ok(Self {
            folder,
            _temporary: temporary,
            cmake,
            generator,
            nvcc: nvcc()?,
        })
    }

    /// The argument that has ccache compile, where it is installed: nine configurations of one project are one compilation.
    pub(super) fn launcher() -> String {
        let cache = on_path("ccache").map(|program| program.display().to_string());
        format!("-DCMAKE_CUDA_COMPILER_LAUNCHER={}", cache.unwrap_or_default())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join("source").join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Copies a folder of the repository into the project.
    pub(super) fn copy(&self, from: &str) -> Result<(), String> {
        copy_folder(&root().join(from), &self.path(""))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.cmake);
        command
            .current_dir(&self.folder)
            .env("CUDACXX", &self.nvcc)
            .env("PATH", search_path())
            // A header of cuRAND that clang includes, and that the toolkit of the tests lacks.
            .env("CPLUS_INCLUDE_PATH", root().join(".toolchain/clang/stubs"))
            .env("CCACHE_DIR", scratch().join("ccache"))
            .env_remove("CMAKE_GENERATOR")
            .env_remove("PTXCHECK_ARGS")
            .env_remove("VERBOSE");
        command
    }

    /// Runs CMake's first step with these arguments.
    pub(super) fn configure(&self, arguments: &[&str]) -> Result<CommandOutput, String> {
        self.configure_in(&[], arguments)
    }

    /// Configures with these environment variables.
    pub(super) fn configure_in(
        &self,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<CommandOutput, String> {
        let mut command = self.command();
        command
            .envs(variables.iter().copied())
            .args(["-S", "source", "-B", "build", "-G", self.generator.name()])
            .arg("-DCMAKE_CUDA_ARCHITECTURES=90")
            .arg(format!(
                "-DCMAKE_PREFIX_PATH={}",
                root().join("tools/cmake").display()
            ));
        if self.generator != Generator::MultiConfig {
            command.arg("-DCMAKE_BUILD_TYPE=Release");
        }
        output(command.args(arguments))
    }

    /// Builds all that can be built: a failure hides no other.
    pub(super) fn build(&self) -> Result<CommandOutput, String> {
        self.build_with(&[])
    }

    pub(super) fn build_with(&self, arguments: &[&str]) -> Result<CommandOutput, String> {
        self.build_in(&[], arguments)
    }

    /// Builds with these environment variables.
    pub(super) fn build_in(
        &self,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<CommandOutput, String> {
        let mut command = self.command();
        command.envs(variables.iter().copied());
        command.args(["--build", "build"]).args(arguments);
        match self.generator {
            Generator::Makefiles => command.args(["--", "-k", "-j2"]),
            Generator::Ninja | Generator::MultiConfig => command.args(["--", "-k", "0", "-j2"]),
        };
        output(&mut command)
    }

    /// Checks that a build had nothing to do.
    pub(super) fn is_up_to_date(&self) -> Result<(), String> {
        let said = self.build()?.must_succeed()?;
        if self.generator == Generator::Makefiles {
            said.has_no("Building")?.has_no("Checking")?;
        } else {
            said.has("no work to do")?;
        }
        Ok(())
    }
}

/// The folder for what stays between runs.
pub(super) fn scratch() -> PathBuf {
    root().join("target/packaging")
}

/// PATH with the folder of the program under test in front.
pub(super) fn search_path() -> std::ffi::OsString {
    path_of(binary::path().parent().map(Path::to_owned))
}

/// PATH with these folders in front.
pub(super) fn path_of(before: impl IntoIterator<Item = PathBuf>) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = before.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path)
}

pub(super) fn output(command: &mut Command) -> Result<CommandOutput, String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    Ok(CommandOutput::of(&output))
}

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(failed)?;
        }
    }
    Ok(())
}
