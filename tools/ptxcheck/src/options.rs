//! Options that several commands have.

use std::time::Duration;

use clap::ValueEnum;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::PathMap;

/// The values of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors only
    Error,
    /// Errors and warnings
    Warning,
    /// No finding
    Never,
}

impl FailOn {
    /// True if a finding of this level fails the run.
    #[must_use]
    pub fn fails(self, level: Level) -> bool {
        match self {
            Self::Error => level >= Level::Error,
            Self::Warning => level >= Level::Warning,
            Self::Never => false,
        }
    }

    /// True if a finding that counts fails the run.
    #[must_use]
    pub fn is_reached(self, outcome: &Outcome) -> bool {
        ptxcheck_report::shown(outcome).any(|group| self.fails(group.level))
    }
}

/// A format of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// A table
    Text,
    /// For programs
    Json,
}

/// The values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, honouring NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM=dumb
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// `/build/src=src`.
///
/// # Errors
///
/// A sentence about what is wanted.
pub fn parse_path_map(text: &str) -> Result<PathMap, String> {
    let (from, to) = text
        .split_once('=')
        .filter(|(from, _)| !from.is_empty())
        .ok_or("two beginnings of paths with `=` between them are wanted, as in `/build/src=src`")?;
    Ok(PathMap {
        from: from.to_owned(),
        to: to.to_owned(),
    })
}

/// A number of seconds over 0.
///
/// # Errors
///
/// A sentence about what is wanted.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a number of seconds over 0 is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_seconds;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert!(parse_seconds("0.25").is_ok());
        for wrong in ["0", "-1", "nan", "inf", "1e300", "x"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
