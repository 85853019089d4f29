//! `ptxcheck`, as a process of its own.
//!
//! Its standard streams are files, not pipes: a program that ends before it has read its input can't kill the compiler by a
//! signal, and neither side waits for the other to read.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

use crate::limits;
use crate::settings::Settings;

/// The name of a configuration file.
const CONFIGURATION: &str = "ptxcheck.toml";

/// The end of a run, and all that it has left.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its exit code or signal.
    pub(crate) status: ExitStatus,
    /// Its standard output: a JSON document, if all went well.
    pub(crate) document: Vec<u8>,
    /// Its standard error, on one line and shortened.
    pub(crate) said: String,
}

/// Has `ptxcheck` check a module that was compiled from `source`.
///
/// # Errors
///
/// A sentence if it could not be run, or did not end in time.
pub(crate) fn run(settings: &Settings, bitcode: &[u8], source: &Path) -> Result<Answer, String> {
    let program = settings.program.to_string_lossy();
    let files =
        Files::new(bitcode).map_err(|error| format!("a temporary file could not be written: {error}"))?;
    let mut command = Command::new(&settings.program);
    // Builds run compilers side by side. If an option is given twice, the last one counts.
    command.args(["check", "--jobs", "1"]);
    if let Some(file) = configuration(source) {
        command.arg("--config").arg(file);
    }
    command
        .args(&settings.options)
        .args(["--format", "json", "--allow-empty", "-"]);
    let mut child = files
        .give(&mut command)
        .and_then(Command::spawn)
        .map_err(|error| format!("`{program}` could not be started: {error}"))?;
    let status = wait(&mut child, settings)?;
    files
        .read(status)
        .map_err(|error| format!("what `{program}` printed could not be read: {error}"))
}

/// The nearest configuration above the source; without one, the program takes the nearest above the working directory.
fn configuration(source: &Path) -> Option<PathBuf> {
    let source = std::path::absolute(source).ok()?;
    source
        .ancestors()
        .skip(1)
        .map(|folder| folder.join(CONFIGURATION))
        .find(|file| file.is_file())
}

/// Waits for the end, and kills what takes too long.
fn wait(child: &mut Child, settings: &Settings) -> Result<ExitStatus, String> {
    let program = settings.program.to_string_lossy();
    let begin = Instant::now();
    let mut nap = limits::LONGEST_NAP / 100;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begin.elapsed() < settings.timeout => {}
            ended => {
                // It may have ended by now, which is as well.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(match ended {
                    Err(error) => format!("`{program}` could not be waited for: {error}"),
                    Ok(_) => format!(
                        "`{program}` took longer than {} s (PTXCHECK_PASS_TIMEOUT)",
                        settings.timeout.as_secs()
                    ),
                });
            }
        }
        thread::sleep(nap);
        nap = (nap * 2).min(limits::LONGEST_NAP);
    }
}

/// The standard streams, as files without a name.
struct Files {
    input: File,
    output: File,
    error: File,
}

impl Files {
    fn new(bitcode: &[u8]) -> io::Result<Self> {
        let mut input = tempfile::tempfile()?;
        input.write_all(bitcode)?;
        input.rewind()?;
        Ok(Self {
            input,
            output: tempfile::tempfile()?,
            error: tempfile::tempfile()?,
        })
    }

    fn give<'a>(&self, command: &'a mut Command) -> io::Result<&'a mut Command> {
        Ok(command
            .stdin(Stdio::from(self.input.try_clone()?))
            .stdout(Stdio::from(self.output.try_clone()?))
            .stderr(Stdio::from(self.error.try_clone()?)))
    }

    fn read(mut self, status: ExitStatus) -> io::Result<Answer> {
        self.output.rewind()?;
        let mut document = Vec::new();
        (&self.output)
            .take(limits::DOCUMENT_BYTES)
            .read_to_end(&mut document)?;
        self.error.rewind()?;
        let mut said = Vec::new();
        (&self.error)
            .take(limits::SAID_BYTES as u64)
            .read_to_end(&mut said)?;
        let said = String::from_utf8_lossy(&said);
        Ok(Answer {
            status,
            document,
            said: said.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::run;
    use crate::settings::Settings;

    fn settings(program: &str, timeout: u64) -> Settings {
        Settings {
            program: program.into(),
            options: Vec::new(),
            timeout: Duration::from_secs(timeout),
        }
    }

    /// More than a pipe holds.
    static LARGE: [u8; 1 << 20] = [0; 1 << 20];

    #[test]
    fn a_program_that_reads_nothing_ends_by_itself() {
        let answer = run(&settings("true", 60), &LARGE, Path::new("k.cu")).unwrap();
        assert!(answer.status.success() && answer.document.is_empty() && answer.said.is_empty());
    }

    #[test]
    fn what_it_prints_comes_back() {
        let answer = run(&settings("echo", 60), &LARGE, Path::new("/no/k.cu")).unwrap();
        assert_eq!(answer.document, b"check --jobs 1 --format json --allow-empty -\n");
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let problem = run(&settings("/no/such/program", 60), &[], Path::new("k.cu")).unwrap_err();
        assert!(
            problem.contains("`/no/such/program` could not be started"),
            "{problem}"
        );
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("hang");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 60\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let begin = Instant::now();
        let problem = run(
            &settings(&program.to_string_lossy(), 1),
            &LARGE,
            Path::new("k.cu"),
        )
        .unwrap_err();
        assert!(problem.contains("took longer than 1 s"), "{problem}");
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
}
