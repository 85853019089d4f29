//! The places of a kernel for which an analysis of single loop rounds may find more.
//!
//! ```text
//! open(n)      in a solution for all warps and all rounds together something may be wrong at n, or the mask, or all that decides, is not
//!              known there and may be known in single rounds or warps: it is made of constants, thread numbers, sets of lanes, ballots,
//!              and results of other collectives over these
//! ```
//!
//! No definite finding is missed at the other places: a defect that is definite in one round is at least possible in all
//! rounds together.

use rustc_hash::{FxHashMap, FxHashSet};

use super::explore::Launches;
use super::kernel::LaneKernel;
use super::lane_counted_loops::LoopExitSearch;
use super::layout::LaneLayout;
use crate::certainty::Certainty;
use ptxcheck_ir::{Collective, InstructionId, Op};

/// The open nodes, in some launch; `None` if the budget is spent, or if the result does not hold for each warp.
pub(super) fn undecided_nodes(kernel: &LaneKernel<'_>) -> Option<FxHashSet<u32>> {
    let layout = kernel.layout;
    let mut open = FxHashSet::default();
    let launches = Launches::new(layout)?;
    let has_shape = launches
        .stated_launches()
        .iter()
        .any(|launch| launch.shape.is_some());
    let mut told: FxHashMap<u32, bool> = FxHashMap::default();
    for &launch in launches.stated_launches() {
        if launch.ends_in_part_of_a_warp() {
            return None;
        }
        let solved = kernel.solve(launch, None, Certainty::Potential)?;
        let verdict = &solved.0;
        if verdict.is_limited {
            return None;
        }
        open.extend(verdict.issues.iter().map(|issue| issue.node));
        for &(node, reach) in &verdict.reach {
            let mut may_be_told = || {
                *told
                    .entry(node)
                    .or_insert_with(|| lanes_may_be_known(layout, node, has_shape))
            };
            if reach.reads_beyond || reach.is_unknown && may_be_told() {
                open.insert(node);
            }
        }
        kernel.keep_solution(launch, solved);
    }
    Some(open)
}

/// True if the mask of a collective, or all operands that decide which lanes meet at a collective or a barrier and which are read, are
/// computed from values that the lane analysis knows.
fn lanes_may_be_known(layout: &LaneLayout<'_>, node: u32, has_shape: bool) -> bool {
    let context = layout.graph.context_of_node(node);
    let (body, id) = (context.body, layout.graph.instruction_of_node(node));
    let instruction = body.instruction(id);
    if mask_names_active_lanes(layout, node, id) {
        return false;
    }
    let exits = LoopExitSearch::new(layout.module, context.function, body, has_shape).with_lane_sets();
    let (uses, is_collective) = (
        body.uses(instruction),
        matches!(instruction.op, Op::Collective(..)),
    );
    let mask = uses.first().and_then(|mask| mask.register());
    if is_collective && mask.is_some_and(|mask| exits.may_be_known(mask)) {
        return true;
    }
    // The second operand of a collective is the exchanged value.
    let mut deciding = (0..).zip(uses).filter(|(place, _)| !is_collective || *place != 1);
    deciding.all(|(_, value)| {
        value
            .register()
            .is_none_or(|register| exits.may_be_known(register))
    })
}

/// True for a collective, other than a shuffle, whose mask is the result of an `activemask` in the same block: the mask
/// names exactly the lanes that pass it.
fn mask_names_active_lanes(layout: &LaneLayout<'_>, node: u32, id: InstructionId) -> bool {
    let context = layout.graph.context_of_node(node);
    let (body, instruction) = (context.body, context.body.instruction(id));
    let is_asked =
        matches!(instruction.op, Op::Collective(kind, _) if !matches!(kind, Collective::Shuffle(_)));
    if instruction.guard.is_some() || !is_asked {
        return false;
    }
    let mask = body.uses(instruction).first().and_then(|mask| mask.register());
    let definitions = layout.module.function(context.function).definitions();
    let made = mask.and_then(|mask| definitions.only_writer(body, mask));
    made.is_some_and(|made| {
        matches!(body.instruction(made).op, Op::ActiveMask) && body.block_of(made) == body.block_of(id)
    })
}
