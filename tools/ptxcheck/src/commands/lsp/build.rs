//! The findings of the last build, read again when its files change.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use ptxcheck_passes::run::Bytes;
use ptxcheck_passes::settings::Settings;
use ptxcheck_report::marks::Mark;

use super::events::{Built, Event};
use super::{LspArgs, checks, sarif};
use crate::inputs;

/// Time between two looks for changed files, at least.
const INTERVAL: Duration = Duration::from_secs(1);

/// The part of the time that looking for changed files may take: one in so many.
const SHARE: u32 = 50;

/// The files that a build writes.
#[derive(Clone, Debug)]
pub(super) enum Build {
    /// Compiled files.
    Folder(PathBuf),
    /// A SARIF file, and the folder that its relative paths begin at.
    Sarif(PathBuf, PathBuf),
}

impl Build {
    /// The names, sizes and times of its files, as one number; `None` where there are none.
    fn state(&self) -> Option<u64> {
        let mut state = DefaultHasher::new();
        match self {
            Self::Sarif(file, _) => hash(file, &mut state).ok()?,
            Self::Folder(folder) => {
                if !folder.is_dir() {
                    return None;
                }
                let collected = inputs::collect(std::slice::from_ref(folder), &Settings::default());
                for input in collected.inputs {
                    input.name.hash(&mut state);
                    if let Bytes::File(path) = input.bytes {
                        // A file that has just gone is another state.
                        let _ = hash(&path, &mut state);
                    }
                }
            }
        }
        Some(state.finish())
    }

    fn marks(&self, args: &LspArgs) -> Result<Vec<Mark>, String> {
        match self {
            Self::Folder(folder) => checks::check_folder(args, folder),
            Self::Sarif(file, root) => sarif::read(file, root),
        }
    }
}

fn hash(file: &Path, state: &mut DefaultHasher) -> io::Result<()> {
    let about = fs::metadata(file)?;
    about.len().hash(state);
    about.modified()?.hash(state);
    Ok(())
}

/// Sends the marks of a build, now and after each change, from a thread of its own.
///
/// # Errors
///
/// If there is no thread to be had.
pub(super) fn watch(index: usize, build: Build, args: Arc<LspArgs>, events: Sender<Event>) -> io::Result<()> {
    let watch = move || {
        // The first state is read at once; a later one when it stays, as a build has ended then.
        let (mut read, mut before) = (None, build.state());
        loop {
            let started = Instant::now();
            let state = build.state();
            let pause = INTERVAL.max(started.elapsed() * SHARE);
            if state == before && state != read {
                read = state;
                let marks = match state {
                    Some(_) => build.marks(&args),
                    None => Ok(Vec::new()),
                };
                if events.send(Event::Built(Built { index, marks })).is_err() {
                    return;
                }
            }
            before = state;
            thread::sleep(pause);
        }
    };
    thread::Builder::new().name("lsp build".to_owned()).spawn(watch)?;
    Ok(())
}
