//! Use of values that lanes read.

use crate::lanes::flow::Flow;
use ptxcheck_ir::{BinaryOp, InstructionId, Logic, Op, Value};

/// False if a selection or a condition may drop the value of a load again in the lanes that read it: compilers read before they ask, where
/// the source asks first (`t == 0 && sums[0] > 0`).
pub(super) fn is_used(flow: &Flow<'_>, node: u32, load: InstructionId) -> bool {
    let body = flow.graph.context(node).body;
    let mut read: Vec<Value> = body.results(body.instruction(load)).to_vec();
    let mut known = 0;
    while known < read.len() {
        known = read.len();
        for (_, instruction) in body.iter() {
            let uses = body.uses(instruction);
            let reads = |among: &[Value]| among.iter().any(|value| read.contains(value));
            match instruction.op {
                Op::Copy | Op::Convert { .. } | Op::Compare(_, _, Logic::None) if reads(uses) => {
                    let results = body.results(instruction).iter();
                    let new: Vec<Value> = results.filter(|one| !read.contains(one)).copied().collect();
                    read.extend(new);
                }
                Op::Select if reads(&uses[..uses.len().min(2)]) => return false,
                Op::Compare(..) | Op::Binary(BinaryOp::And | BinaryOp::Or, 1) if reads(uses) => {
                    return false;
                }
                _ => {}
            }
        }
    }
    true
}
