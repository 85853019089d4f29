//! Findings about constants of the host: one for each such variable, at the first instruction that reads it.

use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{HostConstant, Symbol};
use crate::names;

/// Number of further places that a finding names.
const NAMED: usize = 8;

/// Reports the variables that `judge` has a message about, which names them. A variable that
/// may be a `__constant__` one is potential.
pub(crate) fn report(
    module: &ModuleContext<'_>,
    report: &mut Report<'_>,
    judge: impl Fn(HostConstant, &str) -> Option<String>,
    note: &str,
) {
    for (id, symbol) in module.module.symbols.iter().enumerate() {
        let Some((constant, message)) = wrong(symbol, &judge) else {
            continue;
        };
        let mut places = module.module.bodies().flat_map(|(function, _, body)| {
            body.references
                .iter()
                .filter(move |reference| reference.symbol.index() == id)
                .filter(move |reference| module.function(function).is_reached(reference.instruction))
                .map(move |reference| Place::of_instruction(function, reference.instruction))
        });
        let Some(first) = places.next() else { continue };
        let draft: &mut Draft = if constant.is_copy {
            report.potential(first, message).note(
                "it lies in constant memory: a copy of the host's, unless it is declared `__constant__`",
            )
        } else {
            report.definite(first, message)
        };
        draft.note(note).data("symbol", symbol.name);
        draft.help(
            "make it `constexpr`, or declare it `__constant__` or `__device__` and set it from the host",
        );
        for place in places.take(NAMED) {
            draft.related(place, "also read here");
        }
    }
}

fn wrong(
    symbol: &Symbol<'_>,
    judge: impl Fn(HostConstant, &str) -> Option<String>,
) -> Option<(HostConstant, String)> {
    let constant = symbol.host_constant?;
    Some((constant, judge(constant, &names::in_message(symbol.name))?))
}
