//! `--baseline FILE` and `--write-baseline FILE`: the file, read with limits, and written for all who share it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use ptxcheck_passes::baseline::Baseline;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::settings::Settings;
use ptxcheck_report::escape;

use crate::exit::Exit;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Most entries that are reported as gone; a count stands for the rest.
const TOLD: usize = 20;

/// Most times that a file is opened anew because another process has put one in its place.
const ATTEMPTS: usize = 10_000;

/// The options.
#[derive(Args, Clone, Debug, Default)]
pub struct BaselineArgs {
    /// Findings that stand in this file are known: they are shown with -v only, and count for nothing. What stands in it and no longer
    /// occurs is told, and is a finding with --strict-config (PTX906)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "write_baseline",
        help_heading = "Baseline"
    )]
    pub baseline: Option<PathBuf>,

    /// Write the findings to this file, for --baseline, and count none of them. What stands there of other inputs, and of `check`
    /// or `audit` where this is the other, is kept
    #[arg(long, value_name = "FILE", help_heading = "Baseline")]
    pub write_baseline: Option<PathBuf>,

    /// Take no baseline, not even that of `ptxcheck.toml`
    #[arg(long, conflicts_with_all = ["baseline", "write_baseline"], help_heading = "Baseline")]
    pub no_baseline: bool,
}

impl BaselineArgs {
    /// The options, with the baseline of the configuration where none of them says otherwise.
    #[must_use]
    pub fn or(&self, of_config: Option<PathBuf>) -> Self {
        let is_said = self.is_given() || self.no_baseline;
        Self {
            baseline: self.baseline.clone().or(of_config.filter(|_| !is_said)),
            ..self.clone()
        }
    }

    /// True if one of the options is given.
    pub const fn is_given(&self) -> bool {
        self.baseline.is_some() || self.write_baseline.is_some()
    }
}

/// A baseline, as the options name it, before the run.
pub enum Prepared {
    /// There is none.
    None,
    /// Its findings are known.
    Read(Baseline),
    /// It is to be written.
    Write(PathBuf),
}

/// Lines about a baseline for standard error, and the exit code that its writing deserves.
#[derive(Debug)]
pub struct Settled {
    /// Lines for standard error.
    pub said: String,
    /// The exit code.
    pub exit: Exit,
}

impl Prepared {
    /// Reads the file that is needed for the run.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it, with its place.
    pub fn of(args: &BaselineArgs) -> Result<Self, String> {
        match (&args.baseline, &args.write_baseline) {
            (Some(file), _) => {
                let text = File::open(file)
                    .and_then(read)
                    .map_err(|error| unreadable(file, &error))?;
                parse(file, &text).map(Self::Read)
            }
            (None, Some(file)) => {
                // A file that is something else is not written over; the run is not made for nothing.
                match File::open(file).and_then(read) {
                    Ok(text) if !text.is_empty() => drop(parse(file, &text)?),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(unreadable(file, &error)),
                }
                Ok(Self::Write(file.clone()))
            }
            (None, None) => Ok(Self::None),
        }
    }

    /// Applies the baseline to an outcome, or writes it and applies what was written.
    pub fn settle(self, outcome: &mut Outcome, settings: &Settings, is_quiet: bool) -> Settled {
        match self {
            Self::None => Settled {
                said: String::new(),
                exit: Exit::Clean,
            },
            Self::Read(baseline) => {
                baseline.apply(outcome, settings);
                // Of other kernels nothing is known.
                let is_told = !settings.is_strict && settings.kernels.is_empty();
                Settled {
                    said: if is_told {
                        told(&outcome.decisions.gone)
                    } else {
                        String::new()
                    },
                    exit: Exit::Clean,
                }
            }
            Self::Write(file) => match record(&file, outcome, settings) {
                Ok((baseline, count)) => {
                    baseline.apply(outcome, settings);
                    let findings = if count == 1 {
                        "1 finding stands".to_owned()
                    } else {
                        format!("{count} findings stand")
                    };
                    let said = format!("ptxcheck: {findings} in `{}` now\n", shown(&file));
                    Settled {
                        said: if is_quiet { String::new() } else { said },
                        exit: Exit::Clean,
                    }
                }
                Err(problem) => Settled {
                    said: format!("ptxcheck: {}\n", escape::line(&problem)),
                    exit: Exit::Undone,
                },
            },
        }
    }
}

fn told(gone: &[String]) -> String {
    let mut text = String::new();
    for sentence in gone.iter().take(TOLD) {
        let _ = writeln!(text, "ptxcheck: {}", escape::line(sentence));
    }
    if gone.len() > TOLD {
        let _ = writeln!(text, "ptxcheck: and {} entries more", gone.len() - TOLD);
    }
    text
}

fn shown(file: &Path) -> String {
    escape::line(&file.to_string_lossy()).into_owned()
}

fn unreadable(file: &Path, error: &io::Error) -> String {
    format!("the baseline `{}` can't be read: {error}", file.display())
}

fn read(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

fn parse(file: &Path, text: &str) -> Result<Baseline, String> {
    Baseline::parse(&file.to_string_lossy(), text).map_err(|error| error.to_string())
}

/// Puts the findings of a run into a file, and returns what stands there then, and the number of findings taken.
fn record(file: &Path, outcome: &Outcome, settings: &Settings) -> Result<(Baseline, usize), String> {
    let unwritable =
        |error: io::Error| format!("the baseline `{}` can't be written: {error}", file.display());
    // A link stays one: the file that it names is written.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let locked = locked(&target).map_err(unwritable)?;
    let text = read(locked.try_clone().map_err(unwritable)?).map_err(|error| unreadable(file, &error))?;
    let mut baseline = if text.is_empty() {
        Baseline::default()
    } else {
        parse(file, &text)?
    };
    let count = baseline.record(outcome, settings);
    let text = baseline.to_text();
    // Nobody writes a file that nobody can read.
    let written = parse(file, &text)?;
    replace(&target, &locked, &text).map_err(unwritable)?;
    Ok((written, count))
}

/// Opens a file, made if it is not there, for this process alone.
///
/// Whoever writes puts a new file in the place of the old one, so that readers see one or the other: once the lock is held, the file
/// may be one that has been replaced, and is opened anew.
fn locked(file: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let opened = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(file)?;
        opened.lock()?;
        if is_at(&opened, file)? {
            return Ok(opened);
        }
    }
    Err(io::Error::other("other processes replace it again and again"))
}

/// True if an open file is still the one with this name.
#[cfg(unix)]
fn is_at(opened: &File, file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(file) {
        Ok(named) => Ok(identity(named) == identity(opened.metadata()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Puts a file with this text, and with the permissions of the one that is locked, in its place.
#[cfg(unix)]
fn replace(file: &Path, locked: &File, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut written = tempfile::Builder::new()
        .prefix(".ptxcheck-baseline.")
        .tempfile_in(folder.unwrap_or_else(|| Path::new(".")))?;
    written.write_all(text.as_bytes())?;
    written
        .as_file()
        .set_permissions(locked.metadata()?.permissions())?;
    written.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Writes the text into the file that is locked: an open file can't be replaced here.
#[cfg(not(unix))]
fn replace(_: &Path, mut locked: &File, text: &str) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    locked.set_len(0)?;
    locked.seek(SeekFrom::Start(0))?;
    locked.write_all(text.as_bytes())
}
