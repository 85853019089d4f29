//! The bytes of an input: a file mapped into memory where it is large, else read; a pipe or a device read up to a limit.
//!
//! Files change while they are read: a linker truncates its output and writes it anew. The bytes read then mix two states of the file, so
//! [`Content::change`] is called when the work is done; if it reports a change, the results are dropped. `guard.rs` keeps a file that is
//! cut short while it is mapped from ending the process.
#![allow(unsafe_code)]

mod guard;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::SystemTime;

use memmap2::{Mmap, MmapOptions};

pub use guard::switch_on as map_large_files;

use crate::limits::{MAX_FILE_BYTES, MAX_READ_BYTES, MIN_MAPPED_BYTES, READ_STEP_BYTES};
use ptxcheck_common::deadline::Deadline;

/// The bytes of an input.
#[derive(Debug)]
pub enum Content {
    /// A file, mapped.
    Mapped(Mapped),
    /// Read.
    Read(Vec<u8>),
}

/// Why an input was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The error of the system.
    #[error("cannot read it: {0}")]
    System(#[from] io::Error),
    /// It has, or goes on for, more than this many bytes.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The deadline came first.
    #[error("reading it took too long")]
    Late,
    /// Somebody wrote to it meanwhile: one sentence.
    #[error("{0}")]
    Changed(&'static str),
}

const CUT: &str = "it was cut short while it was read";
const CHANGED: &str = "it was changed while it was read";

/// A mapped file.
#[derive(Debug)]
pub struct Mapped {
    // Dropped before the mapping: a guard never outlives what it guards.
    guard: guard::Guard,
    bytes: Mmap,
    file: File,
    state: State,
}

/// Length and modification time, which distinguish two states of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    length: u64,
    modified: Option<SystemTime>,
}

impl State {
    fn of(about: &Metadata) -> Self {
        Self {
            length: about.len(),
            modified: about.modified().ok(),
        }
    }

    /// A sentence about the change of the file since.
    fn change(self, file: &File) -> Option<&'static str> {
        let now = Self::of(&file.metadata().ok()?);
        match () {
            () if now == self => None,
            () if now.length < self.length => Some(CUT),
            () => Some(CHANGED),
        }
    }
}

impl Content {
    /// The content of what is at `path`. Waits for a path that is not a regular file (a pipe without a writer) until `deadline`.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub fn open(path: &Path, deadline: &Deadline) -> Result<Self, ReadError> {
        let about = std::fs::metadata(path)?;
        if !about.is_file() {
            let path = path.to_owned();
            return wait(move |go_on| read(&mut File::open(path)?, 0, go_on), deadline).map(Self::Read);
        }
        let mut file = without_waiting().open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(ReadError::Changed(CHANGED));
        }
        let state = State::of(&about);
        if state.length > MAX_FILE_BYTES {
            return Err(ReadError::TooLarge(MAX_FILE_BYTES));
        }
        if state.length >= MIN_MAPPED_BYTES
            && let Some(mapped) = Mapped::new(&file, state, None)
        {
            return Ok(Self::Mapped(mapped));
        }
        let bytes = read(&mut file, state.length, &|| !deadline.is_over())?;
        if (bytes.len() as u64) < state.length {
            return Err(ReadError::Changed(CUT));
        }
        match state.change(&file) {
            Some(what) => Err(ReadError::Changed(what)),
            None => Ok(Self::Read(bytes)),
        }
    }

    /// So many bytes of a file from an offset on, which nobody writes to: a temporary one.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub fn of_file(file: &File, offset: u64, length: u64) -> Result<Self, ReadError> {
        if length > MAX_FILE_BYTES {
            return Err(ReadError::TooLarge(MAX_FILE_BYTES));
        }
        if length >= MIN_MAPPED_BYTES
            && let Some(mapped) = Mapped::new(file, State::of(&file.metadata()?), Some((offset, length)))
        {
            return Ok(Self::Mapped(mapped));
        }
        let size = usize::try_from(length).ok().filter(|_| length <= MAX_READ_BYTES);
        let mut bytes = vec![0; size.ok_or(ReadError::TooLarge(MAX_READ_BYTES))?];
        read_at(file, &mut bytes, offset)?;
        Ok(Self::Read(bytes))
    }

    /// The bytes of standard input, to its end or until `deadline`.
    ///
    /// # Errors
    ///
    /// [`ReadError`].
    pub fn standard_input(deadline: &Deadline) -> Result<Self, ReadError> {
        wait(|go_on| read(&mut io::stdin().lock(), 0, go_on), deadline).map(Self::Read)
    }

    /// True if other processes can change it while it is read.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(_))
    }

    /// The change of the file since it was opened, as one sentence. Results from its bytes are worth nothing then.
    #[must_use]
    pub fn change(&self) -> Option<&'static str> {
        match self {
            Self::Mapped(mapped) if mapped.guard.is_cut() => Some(CUT),
            Self::Mapped(mapped) => mapped.state.change(&mapped.file),
            Self::Read(_) => None,
        }
    }

    /// The bytes, copied to memory that nobody else writes to.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`], if the file is no longer what it was.
    pub fn detached(self) -> Result<Self, ReadError> {
        if !self.is_mapped() {
            return Ok(self);
        }
        let bytes = self.to_vec();
        match self.change() {
            Some(what) => Err(ReadError::Changed(what)),
            None => Ok(Self::Read(bytes)),
        }
    }
}

impl Mapped {
    /// Of a piece of the file, by its offset and length, or of all. `None` where the file cannot be mapped, or not without danger.
    fn new(file: &File, state: State, piece: Option<(u64, u64)>) -> Option<Self> {
        if !guard::is_on() {
            return None;
        }
        let mut options = MmapOptions::new();
        if let Some((offset, length)) = piece {
            options.offset(offset).len(usize::try_from(length).ok()?);
        }
        // SAFETY: the mapping is private, is only read, and owns what it maps, so it stays valid as long as it is
        // borrowed. What the language cannot promise is that nobody else writes to the file meanwhile: everything
        // that reads it takes the bytes as hostile and bounds every access by the length of the mapping, and where the
        // file ends earlier than that, the guard puts zeros.
        let bytes = unsafe { options.map(file) }.ok()?;
        Some(Self {
            guard: guard::Guard::new(&bytes)?,
            bytes,
            file: file.try_clone().ok()?,
            state,
        })
    }
}

/// Fills `bytes` with those of the file from an offset on.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Fills `bytes` with those of the file from an offset on.
#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[count..];
        offset += count as u64;
    }
    Ok(())
}

/// A file that is replaced by a pipe between `stat` and `open` must not block the caller.
fn without_waiting() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options
}

/// Reads to the end, as long as `go_on` says so. `expected` bytes are likely.
fn read(from: &mut impl Read, expected: u64, go_on: &dyn Fn() -> bool) -> Result<Vec<u8>, ReadError> {
    let likely = usize::try_from(expected).unwrap_or(usize::MAX);
    // One more than there is shows the end.
    let mut bytes = Vec::with_capacity(likely.min(MIN_MAPPED_BYTES as usize) + 1);
    loop {
        let got = from.by_ref().take(READ_STEP_BYTES).read_to_end(&mut bytes)? as u64;
        if bytes.len() as u64 > MAX_READ_BYTES {
            return Err(ReadError::TooLarge(MAX_READ_BYTES));
        }
        if got < READ_STEP_BYTES {
            return Ok(bytes);
        }
        if !go_on() {
            return Err(ReadError::Late);
        }
    }
}

/// Does `work`, which may never end, on a thread of its own if there is a deadline. Past the deadline the thread is abandoned, and ends
/// when its system call returns.
fn wait<Work>(work: Work, deadline: &Deadline) -> Result<Vec<u8>, ReadError>
where
    Work: FnOnce(&dyn Fn() -> bool) -> Result<Vec<u8>, ReadError> + Send + 'static,
{
    let Some(left) = deadline.left() else {
        return work(&|| true);
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let known = Arc::clone(&is_over);
    let (done, waiting) = channel();
    std::thread::Builder::new().spawn(move || {
        // If nobody waits any more, nothing is received.
        let _ = done.send(work(&|| !known.load(Ordering::Relaxed)));
    })?;
    let answer = waiting.recv_timeout(left);
    is_over.store(true, Ordering::Relaxed);
    answer.unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(ReadError::Late),
        RecvTimeoutError::Disconnected => Err(io::Error::other("the thread that reads it failed").into()),
    })
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Read(bytes)
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => &mapped.bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    /// A file that is gone when the test is over.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("ptxcheck-content-{name}-{}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            Self(path)
        }

        fn resize(&self, length: u64) {
            let file = OpenOptions::new().write(true).open(&self.0).unwrap();
            file.set_len(length).unwrap();
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn pattern(size: usize) -> Vec<u8> {
        (0..size).map(|at| (at % 251) as u8 + 1).collect()
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn large_files_are_mapped_and_small_ones_read() {
        assert!(map_large_files().is_ok());
        for (size, is_mapped) in [(0, false), (1_000, false), (MIN_MAPPED_BYTES as usize, true)] {
            let file = Temporary::new("size", &pattern(size));
            let content = Content::open(&file.0, Deadline::NEVER).unwrap();
            assert_eq!(content.is_mapped(), is_mapped);
            assert!(*content == pattern(size));
            assert_eq!(content.change(), None);
            assert!(*content.detached().unwrap() == pattern(size));
        }
        let missing = std::env::temp_dir().join("ptxcheck-no-such-file");
        assert!(matches!(
            Content::open(&missing, Deadline::NEVER),
            Err(ReadError::System(_))
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_file_that_is_cut_short_is_zeros_and_says_so() {
        assert!(map_large_files().is_ok());
        let size = 2 * MIN_MAPPED_BYTES as usize;
        let (cut, whole) = (
            Temporary::new("cut", &pattern(size)),
            Temporary::new("whole", &pattern(size)),
        );
        let open = |file: &Temporary| Content::open(&file.0, Deadline::NEVER).unwrap();
        let (first, second, other) = (open(&cut), open(&cut), open(&whole));
        assert!(first.is_mapped() && second.is_mapped());
        cut.resize(5_000);
        assert_eq!(first[..5_000], pattern(5_000));
        assert_eq!((first[size / 2], first[size - 1]), (0, 0));
        // Many threads at once.
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let second = &second;
                scope.spawn(move || assert_eq!(second[size / 2 + thread * 8_192], 0));
            }
        });
        for content in [&first, &second] {
            assert_eq!(content.change(), Some(CUT));
        }
        assert!(matches!(first.detached(), Err(ReadError::Changed(CUT))));
        assert!(*other == pattern(size));
        assert_eq!(other.change(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_file_that_grows_or_is_cut_within_a_page_is_told() {
        assert!(map_large_files().is_ok());
        let size = MIN_MAPPED_BYTES + 100;
        for (length, what) in [(size + 1, CHANGED), (size - 1, CUT), (0, CUT)] {
            let file = Temporary::new("grows", &pattern(size as usize));
            let content = Content::open(&file.0, Deadline::NEVER).unwrap();
            file.resize(length);
            assert_eq!(content.change(), Some(what), "{length}");
        }
    }

    #[test]
    fn a_piece_of_a_file_is_mapped_or_read() {
        let whole = pattern(2 * MIN_MAPPED_BYTES as usize);
        let kept = Temporary::new("piece", &whole);
        let file = File::open(&kept.0).unwrap();
        for (offset, length) in [
            (0, 10),
            (4_097, 1_000),
            (5, MIN_MAPPED_BYTES),
            (1_234, whole.len() as u64 - 1_234),
        ] {
            let content = Content::of_file(&file, offset, length).unwrap();
            assert!(*content == whole[offset as usize..(offset + length) as usize]);
            assert_eq!(content.change(), None);
        }
        assert!(Content::of_file(&file, whole.len() as u64, 1).is_err());
        assert!(matches!(
            Content::of_file(&file, 0, u64::MAX),
            Err(ReadError::TooLarge(_))
        ));
    }

    #[test]
    fn what_never_ends_is_read_until_the_deadline() {
        let soon = || Deadline::after(Some(Duration::from_millis(50)));
        let (reader, _writer) = io::pipe().unwrap();
        let late = wait(
            move |go_on| {
                let mut reader = reader;
                read(&mut reader, 0, go_on)
            },
            &soon(),
        );
        assert!(matches!(late, Err(ReadError::Late)), "{late:?}");
        let endless = wait(|go_on| read(&mut io::repeat(7), 0, go_on), &soon());
        assert!(matches!(endless, Err(ReadError::Late | ReadError::TooLarge(_))));
        let short = wait(|go_on| read(&mut &b"abc"[..], 0, go_on), &soon());
        assert_eq!(short.unwrap(), b"abc");
    }
}
