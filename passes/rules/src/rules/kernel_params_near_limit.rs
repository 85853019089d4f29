//! ## What it does
//!
//! Reports kernels whose parameters take more than a share of what their target and PTX version can pass: nine tenths, or what
//! the configuration says.
//!
//! ## Why is this bad?
//!
//! It is not, yet. A structure that grows by a field, a wider type on another target, or a build for an older PTX version
//! takes the kernel over the limit (PTX301), where the module no longer loads.
//!
//! ## Example
//!
//! ```cuda
//! struct Table { char bytes[30000]; };
//! __global__ void k(Table table, int *out);   // 30,008 of 32,764 bytes
//! ```
//!
//! ## Use instead
//!
//! A pointer to device memory, or `__constant__` memory.
//!
//! ## Limits
//!
//! Off by default; `-W PTX303` switches it on. The share is the key `near-limit` of the table `[params]` in `ptxcheck.toml`, in per
//! cent. What exceeds the limit is PTX301.

use crate::analysis::params;
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::FunctionId;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX303",
    name: "kernel-params-near-limit",
    family: Family::Params,
    summary: "the parameters of a kernel take most of what can be passed",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// Per cent of the limit, unless the settings say otherwise.
pub const NEAR_LIMIT_PERCENT: u8 = 90;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let percent = u64::from(module.settings.near_limit.unwrap_or(NEAR_LIMIT_PERCENT));
    let limit = params::limit(module.module.isa, module.module.target);
    for (number, function) in module.module.functions.iter().enumerate() {
        let size = params::layout(&function.params).size;
        if !function.is_kernel() || size > limit || size.saturating_mul(100) <= limit * percent {
            continue;
        }
        report
            .definite(
                Place::Function(FunctionId::new(number)),
                format!(
                    "the parameters take {} of at most {limit}: more than {percent} %",
                    wording::bytes(size)
                ),
            )
            .help("pass a pointer to device memory, or use `__constant__` memory")
            .data("bytes", size)
            .data("limit", limit);
    }
}
