//! Exit codes.

use std::process::ExitCode;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: nothing at or above the fail level.
    Clean,
    /// 1: findings at or above the fail level.
    Findings,
    /// 2: the job could not be done.
    Undone,
}

impl Exit {
    /// The higher of two.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Clean => Self::from(0),
            Exit::Findings => Self::from(1),
            Exit::Undone => Self::from(2),
        }
    }
}
