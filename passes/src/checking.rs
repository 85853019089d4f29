//! A rule and its check: what a check is given, what it says, and how that becomes findings.

pub mod checks;
pub mod context;
mod drafts;
pub(crate) mod empty_kernels;
pub mod finding;
pub(crate) mod fingerprint;
pub(crate) mod index_limits;
pub(crate) mod locate;
pub(crate) mod open_symbols;
pub mod rule;
pub mod rule_settings;
pub mod sanitizer;
pub(crate) mod support;
pub(crate) mod toolkit;
