//! The rules, one file each, and what runs them: over a module ([`driver`]), and over the images of all inputs of a run ([`compare`]).
//!
//! A rule knows the device IR, its analyses and the reports about images, and no files, formats or processes. It sees of a run's settings
//! what [`RuleSettings`](rule_settings::RuleSettings) has.

#![warn(unreachable_pub, unnameable_types)]

pub mod checks;
pub mod compare;
mod confirm;
pub mod context;
mod drafts;
pub mod driver;
mod empty_kernels;
pub mod finding;
pub mod fingerprint;
mod index_limits;
mod limits;
pub mod locate;
mod open_symbols;
pub mod registry;
pub mod rule;
pub mod rule_settings;
#[allow(
    unreachable_pub,
    reason = "the metadata of a rule is found by its name in the file"
)]
pub mod rules;
pub mod sanitizer;
pub mod selector;
mod support;
pub mod toolkit;

use ptxcheck_analysis as analysis;
use ptxcheck_analysis::launches;
use ptxcheck_common::{deadline, externs, names};
use ptxcheck_ir as ir;
use ptxcheck_release::{forecast, inventory, link, occupancy, policy, reach, release, variants};
use ptxcheck_witness::{assumptions, conditional};
