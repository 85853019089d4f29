//! Visible effects of the instructions of a node: effects that other threads can see.
//!
//! *Surely*: stores to memory that is not the thread's own, atomics, collectives, barriers. *Maybe*: those under a guard,
//! calls that are not followed, prefetches and copies, and uninterpreted instructions without a result. The end of the grid
//! (`trap`, a failed assertion) is not a visible effect: no thread waits any more.

use super::flow::Flow;
use super::graph::NodeKind;
use crate::shared::Shared;
use crate::slots::Effect;
use ptxcheck_ir::{AccessKind, Body, FunctionId, InstructionId, Op, Space, Value};

/// Visible effects of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visible {
    /// There is an effect whenever a lane passes the node.
    pub surely: bool,
    /// There may be an effect.
    pub maybe: bool,
}

/// Visible effects of a node.
#[must_use]
pub(super) fn effect_of_node(flow: &Flow<'_>, node: u32) -> Visible {
    let graph = flow.graph;
    let current = &graph.nodes[node as usize];
    match current.kind {
        NodeKind::Collective | NodeKind::Barrier => {
            return Visible {
                surely: true,
                maybe: true,
            };
        }
        NodeKind::Quiet if graph.successors(node).all(|target| target == graph.exit) => {
            return Visible::default();
        }
        NodeKind::Quiet | NodeKind::Unknown => {
            return Visible {
                surely: false,
                maybe: true,
            };
        }
        NodeKind::Enter(_) => return Visible::default(),
        NodeKind::Plain => {}
    }
    let context = graph.context_of_node(node);
    let mut found = Visible::default();
    for number in current.instructions.clone() {
        let id = InstructionId::new(number as usize);
        let one = effect_of_instruction(flow.module, context.function, context.body, id);
        found.surely |= one.surely;
        found.maybe |= one.maybe;
    }
    found
}

/// Visible effects of an instruction that is neither a collective, a barrier nor a call.
#[must_use]
pub(super) fn effect_of_instruction(
    module: &Shared<'_>,
    function: FunctionId,
    body: &Body<'_>,
    id: InstructionId,
) -> Visible {
    let instruction = body.instruction(id);
    let (surely, maybe) = match instruction.op {
        Op::Access(access) => match (access.kind, access.space) {
            (_, Space::Local | Space::Param) => (false, false),
            (AccessKind::Load, _) => (false, access.is_volatile()),
            (AccessKind::Store, Space::Generic) => {
                match module.function(function).slots().effect_on_slots(id, instruction) {
                    Effect::Store(_) | Effect::Spoil(_) => (false, false),
                    _ => (surely_writes_foreign_memory(module, function, body, id), true),
                }
            }
            (
                AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite,
                _,
            ) => (true, true),
            (AccessKind::Other, _) => (false, true),
        },
        Op::Opaque | Op::SetRegisters(_) => (false, body.results(instruction).is_empty()),
        _ => (false, false),
    };
    Visible {
        surely: surely && instruction.guard.is_none(),
        maybe,
    }
}

/// True if a generic store certainly writes memory that is not the thread's own.
#[must_use]
pub(super) fn surely_writes_foreign_memory(
    module: &Shared<'_>,
    function: FunctionId,
    body: &Body<'_>,
    id: InstructionId,
) -> bool {
    let store = body.instruction(id);
    let slots = module.function(function).slots();
    let is_slot = matches!(
        slots.effect_on_slots(id, store),
        Effect::Store(_) | Effect::Spoil(_)
    );
    let address = body.uses(store).first().copied().unwrap_or(Value::Unknown);
    !is_slot && !module.may_be_in_own_frame(function, id, address)
}
