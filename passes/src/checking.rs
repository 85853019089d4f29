//! A rule and its check: what a check is given, what it says, how that becomes findings, and the process that does it elsewhere.

pub mod checks;
pub mod context;
mod drafts;
pub mod driver;
pub mod finding;
pub(crate) mod fingerprint;
pub(crate) mod locate;
pub mod registry;
pub mod rule;
pub mod rule_settings;
pub mod sanitizer;
pub mod selector;
pub(crate) mod support;
pub(crate) mod toolkit;
pub mod worker;
