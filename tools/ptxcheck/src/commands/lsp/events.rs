//! The events that the server waits for.

use lsp_server::Message;
use ptxcheck_report::marks::Mark;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Event {
    /// The editor's message.
    Message(Message),
    /// A message that is none, with a sentence about it.
    Wrong(String),
    /// No further message will come; a sentence, if not because the editor closed the pipe.
    Closed(Option<String>),
    /// A text has been checked.
    Checked(Checked),
    /// The findings of a build have been read.
    Built(Built),
}

/// The marks of a text.
#[derive(Debug)]
pub(super) struct Checked {
    /// The text.
    pub(super) uri: String,
    /// The version that was checked.
    pub(super) version: i32,
    /// Its marks, or a sentence about an error in the configuration.
    pub(super) marks: Result<Vec<Mark>, String>,
}

/// The marks of a build.
#[derive(Debug)]
pub(super) struct Built {
    /// Index of the build among those that are watched.
    pub(super) index: usize,
    /// The marks of its sources, or a sentence about an error.
    pub(super) marks: Result<Vec<Mark>, String>,
}
