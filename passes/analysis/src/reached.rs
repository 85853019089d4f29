//! The blocks and functions that may be reached: unoptimised code keeps branches that a constant decides, and inline
//! functions that nothing calls; inline assembly keeps its guards, even if the compiler knows their values.
//!
//! ```text
//! decided   a branch, or another instruction under a guard, on a predicate that is fixed (see `constants`); if only few
//!           are requested, on one that is constant there; on one that the ranges of special registers decide (see
//!           `ranges`); and a call that the path to it excludes
//! reached   the entry, and the targets of edges from reached code, for decided branches only the edge that is taken
//!           kernels, functions that other modules can see and do not have themselves, functions whose address is taken, their callees
//! ```

use rustc_hash::FxHashMap;

use super::constants::{Arguments, Constants};
use super::ranges;
use crate::function::Analyses;
use crate::shared::Shared;
use ptxcheck_ir::paths;
use ptxcheck_ir::{
    BlockId, Body, FunctionId, Guard, InstructionId, Linkage, Op, SymbolKind, Value, never_holds,
};

/// The precision of the constants that decide branches and guards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConstantPrecision {
    /// Only registers that hold one constant throughout the body, which costs next to nothing.
    Fixed,
    /// All constants, flow-sensitively.
    FlowSensitive,
}

/// For each block: true if some path of edges that no constant decides against leads there.
#[must_use]
pub(crate) fn reachable_blocks(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    precision: ConstantPrecision,
) -> Vec<bool> {
    let last = |number| Some(body.block(BlockId::new(number)).next_back()?.0);
    let branches = (0..body.blocks.len()).filter_map(last);
    let decided: FxHashMap<BlockId, bool> = decided_guards(
        body,
        analyses,
        branches.filter(|&id| is_branch(body, id)),
        precision,
    )
    .into_iter()
    .map(|(id, is_taken)| (body.block_of(id), is_taken))
    .collect();
    paths::reached(body, [BlockId::new(0)], |block| {
        paths::taken(body, block, decided.get(&block).copied())
    })
}

/// The instructions that a guard always skips, in the order of the input.
#[must_use]
pub(crate) fn always_skipped_instructions(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    precision: ConstantPrecision,
) -> Vec<InstructionId> {
    let all = (0..body.instructions.len()).map(InstructionId::new);
    let guarded = all.filter(|&id| body.instruction(id).guard.is_some() && !is_branch(body, id));
    let mut held: Vec<InstructionId> = decided_guards(body, analyses, guarded, precision)
        .into_iter()
        .filter(|(_, is_executed)| !is_executed)
        .map(|(id, _)| id)
        .collect();
    let calls = body.calls.iter().map(|call| call.instruction);
    held.extend(calls.filter(|&id| never_holds(body, body.block_of(id), id)));
    held.sort_unstable();
    held
}

fn is_branch(body: &Body<'_>, id: InstructionId) -> bool {
    body.instruction(id).op == Op::Branch
}

/// The instructions among these whose guard a constant decides, in the order of the input, each with true if it is executed.
fn decided_guards(
    body: &Body<'_>,
    analyses: &Analyses<'_>,
    instructions: impl Iterator<Item = InstructionId>,
    precision: ConstantPrecision,
) -> Vec<(InstructionId, bool)> {
    let guarded = instructions.filter_map(|id| Some((id, body.instruction(id).guard?)));
    let guarded: Vec<(InstructionId, Guard)> = guarded.collect();
    let none = Arguments::default();
    let seeds = guarded.iter().map(|(_, guard)| Value::Register(guard.register));
    let constants = match precision {
        ConstantPrecision::Fixed => Constants::of_fixed_variables(body, analyses, seeds, &none),
        ConstantPrecision::FlowSensitive => Constants::new(body, analyses, seeds, &none),
    };
    let decided = constants.visit_before(guarded.iter().map(|(id, _)| *id), |id, read| {
        let guard = body.instruction(id).guard?;
        let constant = read(Value::Register(guard.register)).known_value();
        let holds = match constant {
            Some(constant) => constant & 1 == 1,
            None => ranges::comparison_outcome(body, analyses.definitions(), guard.register)?,
        };
        Some((id, holds != guard.negated))
    });
    decided.into_iter().flatten().collect()
}

/// For each function: true if a kernel or another module may call it. A weak function does not count as called from other
/// modules: those have a copy, because inline functions and instances of templates are weak. All are reached in a module
/// without roots.
#[must_use]
pub(crate) fn callable_functions(context: &Shared<'_>) -> Vec<bool> {
    let module = context.module;
    let kernels = (0..module.functions.len())
        .map(FunctionId::new)
        .filter(|&id| module.function(id).is_kernel());
    let visible = module.symbols.iter().filter_map(|symbol| match symbol.kind {
        SymbolKind::Function(id) if symbol.linkage == Linkage::External => Some(id),
        _ => None,
    });
    let mut open: Vec<FunctionId> = kernels.chain(visible).collect();
    if open.is_empty() {
        return vec![true; module.functions.len()];
    }
    let references = module.bodies().flat_map(|(.., body)| &body.references);
    let taken = references
        .filter(|reference| !reference.is_call)
        .map(|reference| reference.symbol);
    let named = module.initializers.iter().copied();
    open.extend(taken.chain(named).filter_map(|symbol| module.called(symbol)));
    let mut is_reached = vec![false; module.functions.len()];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut is_reached[id.index()], true) {
            open.extend(module.function(id).alias_of);
            let calls = context.call_graph().calls_of(id).iter();
            let made = calls.filter(|site| context.function(site.caller).may_be_reached(site.instruction));
            open.extend(made.map(|site| site.callee));
        }
    }
    is_reached
}
