//! A compiler that runs for a limited time.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks whether it has ended.
const STEP: Duration = Duration::from_millis(5);

/// Bytes of a compiler's output that are read.
const MAX_SAID_BYTES: u64 = 64 << 10;

/// Most lines of it that are reported.
const SHOWN_LINES: usize = 3;

/// Runs a command to its end, with its standard error in the file `said`.
///
/// # Errors
///
/// The end of a sentence: why it has not made what it was to make.
pub fn run(mut command: Command, said: &Path, limit: Duration) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let errors =
        File::create(said).map_err(|error| format!("no file for its messages could be made: {error}"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let started = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("`{name}` could not be started: {error}"))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < limit => thread::sleep(STEP),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`{name}` took longer than {} s", limit.as_secs_f64()));
            }
            Err(error) => return Err(format!("`{name}` could not be waited for: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let lines = first_lines(said).unwrap_or_default();
    let colon = if lines.is_empty() { "" } else { ": " };
    Err(format!("`{name}` failed ({status}){colon}{lines}"))
}

/// The first lines of a file in one, errors before others.
fn first_lines(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_SAID_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let is_error = |line: &&&str| line.contains("error") || line.contains("fatal");
    let mut told: Vec<&str> = lines.iter().filter(is_error).copied().collect();
    if told.is_empty() {
        told = lines;
    }
    told.truncate(SHOWN_LINES);
    Ok(told.join("; "))
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::run;

    fn shell(script: &str, limit: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, &folder.path().join("said"), limit)
    }

    #[test]
    fn why_it_failed_is_told() {
        let limit = Duration::from_secs(60);
        assert_eq!(shell("exit 0", limit), Ok(()));
        let said = shell("echo note >&2; echo 'a.cu(1): error: no' >&2; exit 2", limit).unwrap_err();
        assert!(said.contains("exit status: 2): a.cu(1): error: no"), "{said}");
        let said = shell("sleep 60", Duration::from_millis(50)).unwrap_err();
        assert!(said.contains("took longer than 0.05 s"), "{said}");
        let folder = tempfile::tempdir().unwrap();
        let said = run(Command::new("/no/such/nvcc"), &folder.path().join("said"), limit).unwrap_err();
        assert!(said.contains("could not be started"), "{said}");
    }
}
