//! ## What it does
//!
//! Reports every warp collective that a kernel of the module can reach: for code bases that forbid them.
//!
//! ## Why is this bad?
//!
//! It need not be. Some safety rules keep to operations whose participants are plain from the source, and forbid
//! shuffles, votes, matches, reductions and barriers of the warp.
//!
//! ## Example
//!
//! ```cuda
//! total = __reduce_add_sync(0xffffffff, value);
//! ```
//!
//! ## Use instead
//!
//! Shared memory and `__syncthreads`, or allow this rule.
//!
//! ## Limits
//!
//! Off by default; `-D PTX412` forbids them. Functions that no kernel of the module calls are not reported, nor is what
//! a constant keeps from being executed; calls through pointers are not followed.

use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::Op;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX412",
    name: "collective-used",
    aliases: &["forbidden_call"],
    family: Family::Warp,
    summary: "a kernel can reach a warp collective",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let mut reached = vec![false; module.module.functions.len()];
    for (id, function, _) in module.module.bodies() {
        reached[id.index()] = function.is_kernel();
    }
    let graph = module.call_graph();
    graph.mark_callees(&mut reached, |site| module.may_call(site));
    for (id, _, body) in module.module.bodies().filter(|(id, ..)| reached[id.index()]) {
        let analyses = module.function(id);
        for &instruction in body.collectives.iter().filter(|&&at| analyses.is_reached(at)) {
            let Op::Collective(kind, _) = body.instruction(instruction).op else {
                continue;
            };
            let operation = wording::collective(module, id, instruction, kind);
            report
                .definite(
                    Place::of_instruction(id, instruction),
                    format!("`{operation}` is a warp collective, and a kernel can reach it"),
                )
                .data("operation", kind.cuda_name());
        }
    }
}
