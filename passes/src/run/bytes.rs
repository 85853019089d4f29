//! The source of an input's bytes, and how it is opened.

use std::path::{Path, PathBuf};

use super::problem::out_of_time;
use crate::deadline::Deadline;
use crate::image::{self, Content, FileFormat, InputError};
use crate::packages::input_error_of_read;
use crate::rule::ProblemKind;
use crate::settings::Settings;

/// The source of an input's bytes.
#[derive(Debug)]
pub enum Bytes {
    /// A file, read when its turn comes.
    File(PathBuf),
    /// Standard input, read when its turn comes: of one input of a run.
    Standard,
    /// Bytes in memory.
    Memory(Vec<u8>),
    /// None: it was refused before the run, for the reason that the sentence says.
    Refused(ProblemKind, String),
}

impl Bytes {
    /// The path, if they are those of a file.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Standard | Self::Memory(_) | Self::Refused(..) => None,
        }
    }

    /// Reads or maps the bytes of the input called `name`. A text is never mapped: other inputs with the same text share its
    /// findings, so nobody may change it.
    pub(super) fn open(
        self,
        name: &str,
        settings: &Settings,
        deadline: &Deadline,
    ) -> Result<Content, InputError> {
        let content = match self {
            Self::Memory(bytes) => return Ok(Content::from(bytes)),
            Self::Refused(kind, message) => return Err(InputError { kind, message }),
            Self::Standard => Content::standard_input(deadline),
            Self::File(path) => Content::open(&path, deadline),
        };
        let detached = content.and_then(|content| match image::file_format(name, &content) {
            FileFormat::Ptx | FileFormat::LlvmText | FileFormat::LlvmBitcode | FileFormat::Mlir => {
                content.detached()
            }
            _ => Ok(content),
        });
        detached.map_err(|unread| input_error_of_read(&unread).unwrap_or_else(|| out_of_time(settings)))
    }
}
