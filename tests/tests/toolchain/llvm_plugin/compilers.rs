//! clang and opt with the plugin in them, and what they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;
use ptxcheck_tests::{binary, root};

/// A kernel with an error on line 4, which [`with_line_4`] puts another line in place of.
pub const WRONG: &str = "\
__global__ void zero(int *p) {
  int x = p[threadIdx.x];
  // The mask names no lane.
  x += __shfl_xor_sync(0, x, 8);
  p[threadIdx.x] = x;
}
";

/// The message of its finding, up to the code.
pub const MESSAGE: &str =
    "the member mask of `__shfl_xor_sync` is 0, so it does not name the lane that calls [PTX407 zero-mask]";

/// [`WRONG`] with another line 4.
pub fn with_line_4(line: &str) -> String {
    WRONG.replace("  x += __shfl_xor_sync(0, x, 8);", line)
}

/// A folder with the file `k.cu`, whose compilations see no settings from outside.
pub struct Project {
    folder: tempfile::TempDir,
}

/// The end of a compilation.
#[derive(Debug)]
pub struct Said {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard error.
    pub text: String,
}

impl Said {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            text: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// # Errors
    ///
    /// Everything, where the exit code is another or the text lacks one of these.
    pub fn expect(&self, code: i32, parts: &[&str]) -> Result<(), Failed> {
        let missing: Vec<_> = parts.iter().filter(|part| !self.text.contains(**part)).collect();
        if self.code == Some(code) && missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "exit code {:?}, not {code}; missing: {missing:?}\n{}",
            self.code, self.text
        )
        .into())
    }

    /// # Errors
    ///
    /// The text, where there is one, or the compilation failed.
    pub fn expect_silence(&self) -> Result<(), Failed> {
        self.expect(0, &[])?;
        if self.text.is_empty() {
            return Ok(());
        }
        Err(format!("it is not silent:\n{}", self.text).into())
    }
}

impl Project {
    pub fn new(source: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("k.cu"), source)?;
        Ok(Self { folder })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// clang with the plugin, for device code alone, with line information; `None` where it is not installed.
    pub fn device(&self, source: &str, args: &[&str]) -> Option<Command> {
        let mut command = self.clang()?;
        command
            .arg(format!("-fpass-plugin={}", binary::plugin().display()))
            .args([
                "--cuda-device-only",
                "--cuda-gpu-arch=sm_90",
                "-gline-tables-only",
            ])
            .args(["-S", "-o", "out", source])
            .args(args);
        Some(command)
    }

    /// clang without the plugin.
    pub fn clang(&self) -> Option<Command> {
        let toolchain = root().join(".toolchain/clang");
        if !toolchain.join("stamp").exists() {
            return None;
        }
        let mut command = self.command(&toolchain.join("bin/clang-22"));
        command
            .arg("--driver-mode=g++")
            .arg(format!("--cuda-path={}", toolchain.join("cuda").display()))
            .args(["-Wno-unknown-cuda-version", "-Wno-unused-command-line-argument"])
            .arg("-isystem")
            .arg(toolchain.join("stubs"));
        Some(command)
    }

    /// opt with the plugin; `None` where it is not installed.
    pub fn opt(&self, args: &[&str]) -> Option<Command> {
        Command::new("opt-22").arg("--version").output().ok()?;
        let mut command = self.command(Path::new("opt-22"));
        command
            .arg(format!("-load-pass-plugin={}", binary::plugin().display()))
            .args(["-S", "-o", "out"])
            .args(args);
        Some(command)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        for variable in [
            "PTXCHECK_ARGS",
            "PTXCHECK_PASS_AT",
            "PTXCHECK_PASS_TIMEOUT",
            "COLORTERM",
        ] {
            command.env_remove(variable);
        }
        command.env("PTXCHECK", binary::path());
        command
    }
}

/// Runs it.
pub fn said(mut command: Command) -> Result<Said, Failed> {
    Ok(Said::of(&command.output()?))
}
