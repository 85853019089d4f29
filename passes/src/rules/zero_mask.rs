//! ## What it does
//!
//! Finds warp collectives whose member mask is 0.

use crate::context::{ModuleContext, Report};
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX407",
    name: "zero-mask",
    aliases: &[],
    guidelines: &["G-2.3"],
    family: Family::Warp,
    summary: "the member mask of a warp collective is 0",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Module(check),
};

fn check(_module: &ModuleContext<'_>, _report: &mut Report<'_>) {}
