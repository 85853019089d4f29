//! Static checks of compiled GPU code, as a library: the rules, the run over files, and the settings.
//!
//! ```
//! use ptxcheck_passes::{Bytes, Input, Settings, check};
//!
//! let text = b".version 9.2\n.target sm_90\n.visible .entry k() { bar.warp.sync 0; ret; }\n";
//! let input = Input {
//!     name: "k.ptx".to_owned(),
//!     bytes: Bytes::Memory(text.to_vec()),
//! };
//! let outcome = check(vec![input], &Settings::default());
//! assert_eq!(outcome.findings[0].rule.code, "PTX407");
//! ```
//!
//! * [`check`] analyses files and bytes of any kind that holds device code; [`check_module`] at one module of the device IR,
//!   from our front ends or one of your own.
//! * A [`Rule`] of your own joins ours in a [`Registry`]: see `examples/own_rule.rs`. What a rule asks (control flow, calls,
//!   constants, where addresses point, where lanes are) it asks of its [`ModuleContext`], which is a
//!   [`ModuleAnalyses`](analysis::ModuleAnalyses).
//! * [`ir`], [`analysis`], [`image`] and [`frontend`] are the crates below this one. `ARCHITECTURE.md` says what each knows.
//!
//! Nothing here panics on an input: an input that can't be read or analysed has a [`Problem`](run::Problem), and the others are still
//! checked.

#![warn(unreachable_pub, unnameable_types)]

pub use ptxcheck_analysis as analysis;
pub use ptxcheck_analysis::launches;
pub use ptxcheck_common::{deadline, externs, names, patterns, shown};
pub use ptxcheck_images as image;
pub use ptxcheck_ir as ir;

/// The front end of PTX, which ends in the device IR. That of LLVM IR is handed in: [`settings::IrReader`].
pub mod frontend {
    pub use ptxcheck_frontend_ptx as ptx;
}

mod frame;
mod limits;
pub mod run;

pub use frame::{candidates, exceptions, group, packages, progress, report_cache, scope, settings, sources};
pub use ptxcheck_release::{
    drivers, forecast, inventory, occupancy, policy, reach, recompile, release, variants,
};
pub use ptxcheck_rules::{
    checks, context, finding, registry, rule, rule_settings, rules, sanitizer, selector,
};
pub use ptxcheck_witness::{assumptions, conditional};
#[doc(inline)]
pub use run::{baseline, driver, shard, worker};

use frame::shard_assignment;
use ptxcheck_release::comments;
use ptxcheck_rules::{fingerprint, locate, toolkit};

pub use checks::Check;
pub use context::{Draft, FunctionContext, ImagesContext, ModuleContext, Report};
pub use driver::{ModuleReport, check_module};
pub use finding::{Certainty, Finding};
pub use group::Group;
pub use registry::Registry;
pub use rule::{Family, Level, Rule};
pub use rule_settings::RuleSettings;
pub use run::{Bytes, Input, Outcome, check, check_here};
pub use selector::Selector;
pub use settings::Settings;
