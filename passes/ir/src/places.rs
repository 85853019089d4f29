//! Places, looked up: in an input's text, and in the source that it was compiled from.

use serde::{Deserialize, Serialize};

/// A stretch of an input's text. Lines and columns are 1-based, columns count bytes, the end is exclusive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The input as the user named it.
    pub file: String,
    /// First line.
    pub line: u32,
    /// Column of the first byte.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column one past the last byte, on the last line.
    pub end_column: u32,
}

/// A place in the program's source, from debug information.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The file as the compiler wrote it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column; 0 where the compiler gave none.
    pub column: u32,
    /// The function the frame lies in, as the debug information names it, where it does.
    pub function: Option<String>,
}

/// The place in the program's source that a finding is about, with the frames around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The frame to show: the innermost one outside the CUDA toolkit's headers.
    pub at: Frame,
    /// Frames inside `at`: toolkit code that was inlined or called there, innermost first.
    pub inside: Vec<Frame>,
    /// Frames around `at`: where it was inlined or called, from the inside out.
    pub inlined_at: Vec<Frame>,
}

impl From<Frame> for Source {
    /// A line without frames around it.
    fn from(at: Frame) -> Self {
        Self {
            at,
            inside: Vec::new(),
            inlined_at: Vec::new(),
        }
    }
}

/// A place in an image, looked up: what a finding says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// The function it lies in, as the image names it.
    pub function: Option<String>,
    /// The kernel through which it is reached, where one is known.
    pub kernel: Option<String>,
    /// Byte offset in the image, for sorting.
    pub offset: u32,
    /// The place in the text.
    pub location: Option<Location>,
    /// The line that `location` begins on.
    pub line_text: Option<LineText>,
    /// The place in the program's source.
    pub source: Option<Source>,
}

/// A line of an input, for showing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineText {
    /// The text, invalid UTF-8 replaced.
    pub text: String,
    /// The 1-based column of its first byte.
    pub from: u32,
}
