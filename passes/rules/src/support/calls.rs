//! Findings about calls of certain functions.

use crate::context::{ModuleContext, Place, Report};

/// Reports each reachable call of one of these functions, which the module does not define itself.
pub(crate) fn report(
    module: &ModuleContext<'_>,
    functions: &[&str],
    report: &mut Report<'_>,
    message: impl Fn(&str) -> String,
) {
    for (id, _, body) in module.module.bodies() {
        for reference in body.references.iter().filter(|reference| reference.is_call) {
            let symbol = module.module.symbol(reference.symbol);
            if !symbol.is_undefined()
                || !functions.contains(&symbol.name)
                || !module.function(id).is_reached(reference.instruction)
            {
                continue;
            }
            report
                .definite(
                    Place::of_instruction(id, reference.instruction),
                    message(symbol.name),
                )
                .data("symbol", symbol.name);
        }
    }
}
