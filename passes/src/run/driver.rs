//! One module under the settings of a run: the same in this process and in a worker, for PTX and LLVM IR.

use crate::deadline::Deadline;
use crate::inventory::Facts;
use crate::ir::Module;
use crate::settings::Settings;
use ptxcheck_rules::driver;

pub use ptxcheck_rules::driver::ModuleReport;
pub(crate) use ptxcheck_rules::driver::with_declarations;

/// Runs the rules over a module, with as much time as it takes. With [`Settings::images_only`] none runs.
///
/// ```
/// use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower};
/// use ptxcheck_passes::{Settings, check_module};
///
/// let text = b".version 9.0\n.target sm_90\n.visible .entry k() {\n\tbar.warp.sync 0;\n\tret;\n}\n";
/// let tree = ptxcheck_ptx_parser::parse(text)?;
/// let origin = PtxOrigin::new(&tree);
/// let report = check_module(&lower(&tree, &origin), &Settings::default());
/// let finding = &report.findings[0];
/// assert_eq!((finding.rule.name, finding.location.as_ref().map(|at| at.line)), ("zero-mask", Some(4)));
/// assert_eq!(report.facts.kernels[0].name, "k");
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
#[must_use]
pub fn check_module(module: &Module<'_>, settings: &Settings) -> ModuleReport {
    let facts = with_declarations(module, Facts::of(module));
    check_until(module, facts, settings, Deadline::NEVER)
}

/// Runs the rules over a module whose `facts` are those of [`with_declarations`], until the deadline.
pub(crate) fn check_until(
    module: &Module<'_>,
    facts: Facts,
    settings: &Settings,
    deadline: &Deadline,
) -> ModuleReport {
    if settings.images_only {
        return ModuleReport::of(module, facts);
    }
    driver::check_module(module, facts, settings.for_rules(), &settings.registry, deadline)
}
