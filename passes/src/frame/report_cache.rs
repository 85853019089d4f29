//! Reports about texts that are kept from run to run, in a folder.
//!
//! ```text
//! key    digest of: the format, this program, the reader of LLVM IR for a text of IR, the settings that decide what is found in a module,
//!        the text
//! value  the report about the module: its facts and findings
//! ```
//!
//! Only a report about all of a text is kept: not one that a deadline cut short, or that has a syntax error or exceeds a limit. The key
//! of a text that is linked with other inputs also covers the texts that its calls lead to.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use ptxcheck_cache::{Cache, Key};

use crate::limits::REPORT_CACHE_BYTES;

/// The format of keys and values: a change of either needs another number.
const FORMAT: &[u8] = b"ptxcheck report 1";

/// A folder with reports.
#[derive(Debug)]
pub struct ReportCache {
    cache: Cache,
    /// This program.
    program: Key,
    /// The digest of the program that reads LLVM IR, once a text has needed it.
    reader: OnceLock<Option<Key>>,
}

impl ReportCache {
    /// The reports in a folder, which is made if it is missing. They take up at most a gibibyte: those that were not used for longest go.
    ///
    /// # Errors
    ///
    /// The folder cannot be written, or the file of this program cannot be read.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        let cache = Cache::open(folder, REPORT_CACHE_BYTES)?;
        let program = program_digest(&cache, &std::env::current_exe()?)?;
        Ok(Self {
            cache,
            program,
            reader: OnceLock::new(),
        })
    }

    /// The key of a text that is read by another program, if one is named, and analysed with these settings; `None` if that program's file
    /// cannot be read.
    pub(crate) fn key(&self, settings: &[u8], reader: Option<&Path>, text: &[u8]) -> Option<Key> {
        let reader = match reader {
            None => None,
            Some(path) => Some((*self.reader.get_or_init(|| program_digest(&self.cache, path).ok()))?),
        };
        let reader = reader.as_ref().map_or(&[][..], |key| key.as_bytes());
        Some(Key::of(&[
            FORMAT,
            self.program.as_bytes(),
            reader,
            settings,
            text,
        ]))
    }

    pub(crate) fn find(&self, key: Key) -> Option<Vec<u8>> {
        self.cache.find(key)
    }

    pub(crate) fn keep(&self, key: Key, report: &[u8]) {
        self.cache.keep(key, report);
    }
}

/// The digest of a program's file. It is kept in the cache, too, under what the file system says of the file, so that most runs do not read
/// the file.
fn program_digest(cache: &Cache, path: &Path) -> io::Result<Key> {
    let path = path.canonicalize()?;
    let state = file_state(&fs::metadata(&path)?);
    let key = Key::of(&[FORMAT, b"program", path.as_os_str().as_encoded_bytes(), &state]);
    if let Some(kept) = cache.find(key)
        && let Ok(digest) = kept.try_into()
    {
        return Ok(Key::from_bytes(digest));
    }
    let digest = Key::of(&[&fs::read(&path)?]);
    cache.keep(key, digest.as_bytes());
    Ok(digest)
}

/// The facts that the file system has about a file and that change when the file is written.
fn file_state(about: &Metadata) -> Vec<u8> {
    let modified = about.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut state = vec![about.len().into(), modified.map_or(0, |time| time.as_nanos())];
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let numbers = [about.ctime(), about.ctime_nsec()];
        state.extend(numbers.map(|number| u128::from(number.unsigned_abs())));
        state.extend([about.ino(), about.dev()].map(u128::from));
    }
    state.iter().flat_map(|number| number.to_le_bytes()).collect()
}
