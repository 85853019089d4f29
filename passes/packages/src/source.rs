//! The bytes of a package: in memory (or mapped), or a piece of a file.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use rawzip::ReaderAt;

/// Bytes that are read at any offset, from any thread.
#[derive(Clone)]
pub struct Source {
    place: Place,
    offset: u64,
    length: u64,
}

#[derive(Clone)]
enum Place {
    Memory(Arc<dyn AsRef<[u8]> + Send + Sync>),
    File(Arc<File>),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Source of {} bytes", self.length)
    }
}

impl Source {
    /// Bytes in memory: read, or mapped by the caller.
    #[must_use]
    pub fn memory(bytes: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        Self {
            length: (*bytes).as_ref().len() as u64,
            offset: 0,
            place: Place::Memory(bytes),
        }
    }

    /// So many bytes of a file from an offset on.
    #[must_use]
    pub const fn file(file: Arc<File>, offset: u64, length: u64) -> Self {
        Self {
            place: Place::File(file),
            offset,
            length,
        }
    }

    /// Number of bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// So many of its bytes from an offset on, as far as they are there.
    pub(crate) fn slice(&self, offset: u64, length: u64) -> Self {
        let offset = offset.min(self.length);
        Self {
            place: self.place.clone(),
            offset: self.offset.saturating_add(offset),
            length: length.min(self.length - offset),
        }
    }

    /// The first bytes, at most `count`.
    pub(crate) fn start(&self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.reader().take(count as u64).read_to_end(&mut bytes);
        if read.is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Reads from the start on.
    pub(crate) const fn reader(&self) -> SourceReader<'_> {
        SourceReader { source: self, at: 0 }
    }
}

impl ReaderAt for Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buffer.len().min(left);
        let buffer = &mut buffer[..count];
        let at = self
            .offset
            .checked_add(offset)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        match &self.place {
            Place::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let rest = (**bytes).as_ref().get(start..).unwrap_or_default();
                let count = count.min(rest.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
            Place::File(file) => read_file_at(file, buffer, at),
        }
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Reads a source from its start to its end.
pub(crate) struct SourceReader<'a> {
    source: &'a Source,
    at: u64,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
