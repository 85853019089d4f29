//! The place where unpacked bytes are kept: memory below a limit, a temporary file above. The file has no name, and is gone with
//! the last that uses it.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::sync::Arc;

use crate::limits::{MAX_KEPT_BYTES, MAX_KEPT_MEMBER_BYTES, STEP_BYTES};
use crate::source::Source;
use crate::trouble::Trouble;

/// Unpacked bytes.
#[derive(Clone, Debug)]
pub enum Unpacked {
    /// In memory.
    Memory(Vec<u8>),
    /// In a temporary file that has no name.
    File {
        /// The file, which nobody writes to any more at this place.
        file: Arc<File>,
        /// Of the first byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
}

impl Unpacked {
    pub(crate) fn into_source(self) -> Source {
        match self {
            Self::Memory(bytes) => Source::memory(Arc::new(bytes)),
            Self::File { file, offset, length } => Source::file(file, offset, length),
        }
    }
}

/// The members of one package that are kept.
#[derive(Default)]
pub(crate) struct Kept {
    in_memory: u64,
    file: Option<Arc<File>>,
    written: u64,
}

impl Kept {
    /// Keeps what a reader has.
    ///
    /// # Errors
    ///
    /// [`Trouble`] of the reader, or of the temporary file.
    pub(crate) fn keep(&mut self, reader: &mut dyn Read) -> Result<Unpacked, Trouble> {
        let mut head = Vec::new();
        let of_member = |error: io::Error| Trouble::of_read("its content", &error);
        let room = MAX_KEPT_BYTES
            .saturating_sub(self.in_memory)
            .min(MAX_KEPT_MEMBER_BYTES);
        // One more than there is room for shows that there is more.
        reader.take(room + 1).read_to_end(&mut head).map_err(of_member)?;
        if head.len() as u64 <= room {
            head.shrink_to_fit();
            self.in_memory += head.len() as u64;
            return Ok(Unpacked::Memory(head));
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file = Arc::new(tempfile::tempfile().map_err(|error| of_file(&error))?);
                self.file = Some(Arc::clone(&file));
                file
            }
        };
        let offset = self.written;
        copy(&mut head.as_slice().chain(reader), &file, &mut self.written)?;
        Ok(Unpacked::File {
            file,
            offset,
            length: self.written - offset,
        })
    }
}

/// Unpacks a member to memory, or where it has more than `most_in_memory` bytes to a temporary file of its own.
pub(crate) fn unpack(reader: &mut dyn Read, expected: u64, most_in_memory: u64) -> Result<Unpacked, Trouble> {
    if expected > most_in_memory {
        let file = tempfile::tempfile().map_err(|error| of_file(&error))?;
        let mut length = 0;
        copy(reader, &file, &mut length)?;
        return Ok(Unpacked::File {
            file: Arc::new(file),
            offset: 0,
            length,
        });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    let read = reader.take(most_in_memory + 1).read_to_end(&mut bytes);
    read.map_err(|error| Trouble::of_read("its content", &error))?;
    Ok(Unpacked::Memory(bytes))
}

/// Writes at the end of a file, and counts the bytes.
fn copy(reader: &mut dyn Read, mut file: &File, written: &mut u64) -> Result<(), Trouble> {
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Trouble::of_read("its content", &error)),
        };
        file.write_all(&buffer[..count])
            .map_err(|error| of_file(&error))?;
        *written += count as u64;
    }
}

fn of_file(error: &io::Error) -> Trouble {
    Trouble::broken(format!("it cannot be unpacked to a temporary file: {error}"))
}
