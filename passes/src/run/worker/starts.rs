//! Whether a worker starts, found out once in a run.

use std::sync::OnceLock;

use ptxcheck_worker::Lost;

/// Whether a worker starts in a run, known from the first answer to a thread: the reason that it does not start, if it does not. Each
/// thread tries to start it in vain at most once, for any number of files.
#[derive(Debug, Default)]
pub struct Start(OnceLock<Option<String>>);

impl Start {
    /// The answer to `ask`, unless the worker is known not to start.
    pub(super) fn ask<A>(&self, ask: impl FnOnce() -> Result<A, Lost>) -> Result<A, Failure> {
        if let Some(Some(error)) = self.0.get() {
            return Err(Failure::NotStarted(error.clone()));
        }
        let answer = ask().map_err(|lost| match lost {
            Lost::NotStarted(error) => Failure::NotStarted(error.to_string()),
            Lost::Late => Failure::Late,
            Lost::Died(after, status) => Failure::Died(format!(
                "the process that reads it ended after {:.1} s ({status})",
                after.as_secs_f64()
            )),
        });
        self.0.get_or_init(|| match &answer {
            Err(Failure::NotStarted(error)) => Some(error.clone()),
            _ => None,
        });
        answer
    }
}

/// Why there is no answer.
pub(super) enum Failure {
    /// The worker does not start, for this reason.
    NotStarted(String),
    /// The time was over.
    Late,
    /// The worker ended, as the words say.
    Died(String),
}
