//! Formats of a run: each is a [`Renderer`] in a file of its own, and its line in [`RENDERERS`](crate::renderers::RENDERERS).

use std::fmt::Display;
use std::time::Duration;

use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::release::Comparison;
use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::shard::Shard;

use crate::audit::Shown;
use crate::forecast::Columns;
use crate::pages::RulePages;
use crate::view::View;

/// Makes texts of a run.
pub trait Renderer: Sync {
    /// Its description.
    fn format(&self) -> Format;

    /// The run: one text a finding, or one document.
    ///
    /// # Errors
    ///
    /// A sentence, if the run has not what the format is about.
    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String>;
}

/// The description of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Another name.
    pub alias: Option<&'static str>,
    /// The usual ending of its files.
    pub extension: &'static str,
    /// Its purpose, in one line.
    pub about: &'static str,
    /// It is text for a terminal, with colours.
    pub is_styled: bool,
    /// The summary of the run goes beside it, on standard error.
    pub has_summary: bool,
    /// A table goes into the summary of GitHub's job.
    pub has_job_summary: bool,
}

impl Format {
    /// A document for programs or browsers.
    #[must_use]
    pub const fn document(name: &'static str, extension: &'static str, about: &'static str) -> Self {
        Self {
            name,
            alias: None,
            extension,
            about,
            is_styled: false,
            has_summary: false,
            has_job_summary: false,
        }
    }

    /// Text for a terminal.
    #[must_use]
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self {
            is_styled: true,
            has_summary: true,
            ..Self::document(name, "txt", about)
        }
    }
}

/// A run, as renderers see it.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The result.
    pub outcome: &'a Outcome,
    /// The time it took.
    pub elapsed: Duration,
    /// The results of an audit alone; `None` for a check.
    pub audit: Option<Audit<'a>>,
    /// The settings of texts for people.
    pub view: &'a View,
    /// The folders that paths in documents are relative to.
    pub root: &'a Root,
    /// The pages about rules.
    pub pages: &'a RulePages,
    /// The order of the rules.
    pub rules: &'a [&'static Rule],
    /// True for the levels that fail the run.
    pub fails: &'a dyn Fn(Level) -> bool,
    /// Results that are potential or suppressed are wanted where a format leaves the choice.
    pub wanted: Wanted,
    /// The findings were compared with a baseline: each is new, or unchanged.
    pub has_baseline: bool,
    /// The data of the shard that the run is.
    pub shard: Option<&'a Shard>,
}

/// The results that are wanted besides those that count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Potential ones.
    pub potential: bool,
    /// Suppressed ones, with the reasons.
    pub suppressed: bool,
}

/// The results of an audit that a check does not have.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The GPUs of the forecast.
    pub forecast: &'a Columns,
    /// The comparison of the release with pinned figures.
    pub ratchet: Option<&'a Comparison>,
    /// The tables before the findings in text; `None` for none.
    pub tables: Option<Shown>,
}

impl<'a> Run<'a> {
    /// True if it analysed code.
    #[must_use]
    pub const fn is_check(&self) -> bool {
        self.audit.is_none()
    }

    /// The GPUs of the forecast of an audit.
    #[must_use]
    pub fn columns(&self) -> Option<&'a Columns> {
        self.audit.map(|audit| audit.forecast)
    }
}

/// One document, as [`Renderer::render`] gives it.
pub(crate) fn one(document: Result<String, impl Display>) -> Result<Vec<String>, String> {
    match document {
        Ok(text) => Ok(vec![text]),
        Err(error) => Err(error.to_string()),
    }
}
