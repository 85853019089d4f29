//! The bytes of a file: mapped into memory where it is large, read where it is not. The one file of the image reader with
//! `unsafe` code.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::limits::MIN_MAPPED_BYTES;

/// What a file holds.
#[derive(Debug)]
pub enum Content {
    /// Mapped.
    Mapped(Mmap),
    /// Read.
    Read(Vec<u8>),
}

impl Content {
    /// The content of the file at `path`.
    ///
    /// # Errors
    ///
    /// What the system says: there is none, or it may not be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_file() && about.len() >= MIN_MAPPED_BYTES {
            // SAFETY: the mapping is private, is only read, and owns what it maps, so it stays valid as long as it is
            // borrowed. What the language cannot promise is that nobody else writes to the file meanwhile: everything
            // that reads it takes the bytes as hostile and bounds every access by the length of the mapping. Who cuts
            // the file short meanwhile ends the process with a signal, as ARCHITECTURE.md says.
            if let Ok(mapped) = unsafe { Mmap::map(&file) } {
                return Ok(Self::Mapped(mapped));
            }
        }
        let mut bytes = Vec::with_capacity(
            usize::try_from(about.len())
                .unwrap_or(0)
                .min(MIN_MAPPED_BYTES as usize),
        );
        file.read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Read(bytes)
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => mapped,
            Self::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_mapped_and_small_ones_read() {
        let folder = std::env::temp_dir().join(format!("ptxcheck-content-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        for (size, is_mapped) in [(0, false), (1_000, false), (MIN_MAPPED_BYTES as usize, true)] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let content = Content::open(&path).unwrap();
            assert_eq!(matches!(content, Content::Mapped(_)), is_mapped);
            assert!(*content == *bytes);
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Content::open(&path).is_err());
    }
}
