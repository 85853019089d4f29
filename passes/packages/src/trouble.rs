//! Errors: of a package, or of one of its members.

use std::io;

/// Why a package, or a member of one, was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// It is broken, or something that is not read: one sentence.
    #[error("{0}")]
    Broken(String),
    /// It exceeds a limit: one sentence.
    #[error("{0}")]
    Limit(String),
    /// It lies elsewhere, out of the package: one sentence.
    #[error("{0}")]
    Elsewhere(String),
    /// The time was over first.
    #[error("unpacking it took too long")]
    Late,
}

impl Trouble {
    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::Broken(text.into())
    }

    /// The fault in reading: a trouble that [`Trouble::into_io`] has packed, or an error of a decoder or the system, which
    /// `what` it is about begins the sentence of.
    pub(crate) fn of_read(what: &str, error: &io::Error) -> Self {
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return inner.clone();
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::broken(format!("{what} is cut short")),
            _ => Self::broken(format!("{what} is broken: {error}")),
        }
    }

    /// For the way through readers of other crates.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }

    /// True if reading on makes no sense.
    pub(crate) const fn is_late(&self) -> bool {
        matches!(self, Self::Late)
    }
}

impl From<rawzip::Error> for Trouble {
    fn from(error: rawzip::Error) -> Self {
        match error.kind() {
            rawzip::ErrorKind::IO(inner) => Self::of_read("the zip archive", inner),
            rawzip::ErrorKind::Eof => Self::broken("the zip archive is cut short"),
            rawzip::ErrorKind::MissingEndOfCentralDirectory => {
                Self::broken("the zip archive is cut short: it has no directory at its end")
            }
            _ => Self::broken(format!("the zip archive is broken: {error}")),
        }
    }
}
