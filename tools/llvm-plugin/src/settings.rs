//! The environment variables.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use crate::limits;

/// The program.
const PROGRAM: &str = "PTXCHECK";
/// Its options.
const OPTIONS: &str = "PTXCHECK_ARGS";
/// Where the pass stands in the compiler's pipeline.
const STAGE: &str = "PTXCHECK_PASS_AT";
/// Longest that the program may take, in seconds.
const TIMEOUT: &str = "PTXCHECK_PASS_TIMEOUT";

/// Where the pass stands in the compiler's pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before all optimisation.
    Start,
    /// After it.
    End,
}

impl Stage {
    /// Where no variable says another.
    pub(crate) const DEFAULT: Self = Self::End;

    /// The one that the variable names.
    ///
    /// # Errors
    ///
    /// A sentence if it names none.
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::named(env::var_os(STAGE))
    }

    fn named(value: Option<OsString>) -> Result<Self, String> {
        match value.unwrap_or_default().to_str() {
            Some("") => Ok(Self::DEFAULT),
            Some("start") => Ok(Self::Start),
            Some("end") => Ok(Self::End),
            _ => Err(format!("{STAGE} is `start` or `end`")),
        }
    }
}

/// The program, and how it is to be run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// A path, or a name that is looked up in PATH.
    pub(crate) program: OsString,
    /// Options of `ptxcheck check`.
    pub(crate) options: Vec<String>,
    /// Longest that it may take.
    pub(crate) timeout: Duration,
}

impl Settings {
    /// Those that the variables say.
    ///
    /// # Errors
    ///
    /// A sentence about a variable that says what can't be.
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::new(env::var_os(PROGRAM), env::var_os(OPTIONS), env::var_os(TIMEOUT))
    }

    fn new(
        program: Option<OsString>,
        options: Option<OsString>,
        timeout: Option<OsString>,
    ) -> Result<Self, String> {
        let options = options.unwrap_or_default();
        let options = options.to_str().and_then(shlex::split);
        let timeout = match timeout.filter(|value| !value.is_empty()) {
            None => limits::TIMEOUT,
            Some(value) => value
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs)
                .ok_or_else(|| format!("{TIMEOUT} is a number of seconds, 1 or more"))?,
        };
        Ok(Self {
            program: program
                .filter(|program| !program.is_empty())
                .unwrap_or_else(|| "ptxcheck".into()),
            options: options.ok_or_else(|| format!("{OPTIONS} can't be split into words"))?,
            timeout,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Settings, Stage};

    #[test]
    fn what_is_not_said_has_defaults() {
        let settings = Settings::new(None, Some("".into()), Some("".into())).unwrap();
        assert_eq!(
            (
                settings.program.to_str(),
                settings.options.len(),
                settings.timeout
            ),
            (Some("ptxcheck"), 0, Duration::from_secs(600))
        );
        assert_eq!(Stage::named(None), Ok(Stage::DEFAULT));
    }

    #[test]
    fn what_is_said_counts() {
        let settings =
            Settings::new(Some("/opt/p c".into()), Some("-W 'a b'".into()), Some("7".into())).unwrap();
        assert_eq!(settings.program, "/opt/p c");
        assert_eq!(settings.options, ["-W", "a b"]);
        assert_eq!(settings.timeout, Duration::from_secs(7));
        assert_eq!(Stage::named(Some("end".into())), Ok(Stage::End));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = |options: &str, timeout: &str| {
            Settings::new(None, Some(options.into()), Some(timeout.into())).unwrap_err()
        };
        assert!(wrong("-W 'a", "").contains("PTXCHECK_ARGS"));
        for timeout in ["0", "-1", "1.5", "soon", "99999999999999999999"] {
            assert!(wrong("", timeout).contains("PTXCHECK_PASS_TIMEOUT"), "{timeout}");
        }
        assert!(Stage::named(Some("middle".into())).is_err());
    }
}
