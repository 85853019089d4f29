//! What the rules found: plain data, ready for any renderer.

use std::collections::BTreeMap;

use crate::rule::{Level, Rule};

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Undefined behaviour or failure on every execution that reaches the place, under the stated assumptions.
    Definite,
    /// On some execution, as far as the analysis can tell.
    Potential,
}

impl Certainty {
    /// The word in documents: `definite`, `potential`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Definite => "definite",
            Self::Potential => "potential",
        }
    }
}

/// A stretch of an input's text. Lines and columns are 1-based, columns count bytes, the end is exclusive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The frame to show: the innermost one outside the CUDA toolkit's headers.
    pub at: Frame,
    /// Frames inside `at`: toolkit code that was inlined or called there, innermost first.
    pub inside: Vec<Frame>,
    /// Frames around `at`: where it was inlined or called, from the inside out.
    pub inlined_at: Vec<Frame>,
}

/// A place in an image, looked up: what a finding says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// A second place that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What is to be seen there.
    pub message: String,
    /// The place in the input.
    pub location: Option<Location>,
    /// The place in the program's source.
    pub source: Option<Source>,
}

/// A value in a finding's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A count, a size in bytes, a mask.
    Number(u64),
    /// Lane numbers and other lists of numbers.
    Numbers(Vec<u64>),
    /// Names.
    Texts(Vec<String>),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// What suppresses it: `comment`, `config`, `baseline`.
    pub by: &'static str,
    /// The reason given.
    pub reason: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that made it.
    pub rule: &'static Rule,
    /// How sure it is.
    pub certainty: Certainty,
    /// How severe it is, after the settings.
    pub level: Level,
    /// One sentence without a full stop: what is wrong here.
    pub message: String,
    /// What else one has to know: assumptions, causes.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
    /// Index of the input in the run.
    pub input: usize,
    /// Index of the image in the input; `None` where the finding is about the whole input.
    pub image: Option<u32>,
    /// Byte offset in the image, for sorting.
    pub offset: u32,
    /// The function it lies in, as the input names it.
    pub function: Option<String>,
    /// The kernel through which it is reached, where the rule knows one.
    pub kernel: Option<String>,
    /// The place in the input.
    pub location: Option<Location>,
    /// The line of the input that `location` begins on, for renderers that show it (cut to
    /// [`crate::limits::SHOWN_LINE_BYTES`] around the place, so its first column is `line_from`).
    pub line_text: Option<LineText>,
    /// The place in the program's source.
    pub source: Option<Source>,
    /// Other places that explain it, in the order to read them.
    pub related: Vec<Related>,
    /// The payload of the rule's family.
    pub data: BTreeMap<&'static str, Value>,
    /// A stable identity: from the code, the normalised function and instruction, and an ordinal. 16 hex digits.
    pub fingerprint: String,
    /// Set when it is suppressed.
    pub suppressed: Option<Suppression>,
}

/// A line of an input, for showing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineText {
    /// The text, invalid UTF-8 replaced.
    pub text: String,
    /// The 1-based column of its first byte.
    pub from: u32,
}
