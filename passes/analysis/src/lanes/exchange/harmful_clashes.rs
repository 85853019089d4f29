//! Clashes whose order matters: with another order, a value that is used would differ.
//!
//! ```text
//! read          the lane that reads certainly uses the value: compilers load before they branch, and drop what they have read
//! two writes    something may read the bytes after the writes
//! strong pair   both accesses are strong, and to the same bytes: no data race. Relaxed pairs do not matter; volatile ones do where a lane
//!               uses what it reads for more than to end the loop that it reads in, which is how code waits
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::conflicts::Clash;
use super::found::Object;
use super::orderings::stored_value;
use super::shared_accesses::{ByLane, Touch, Touches};
use super::variables::variable_of_address;
use crate::contention::varies_in_block;
use crate::lanes::collective_call::{Call, call_at_node};
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::placement::Placement;
use crate::lanes::uses::{LoadUsers, certain_users_of_load};
use crate::lanes::value::{Lanes, lane_set, lanes_in_set};
use crate::limits::{MAX_USE_STEPS, MAX_USE_STEPS_OF_ONE};
use crate::shared::Shared;
use crate::slots::Effect;
use ptxcheck_common::names;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    AccessKind, Body, Callee, Class, Collective, FunctionId, InstructionId, Op, Semantics, Space, Value,
};

/// Keeps the clashes of a solution that certainly matter, with the lanes for which they do. `entry`: the lanes that surely
/// begin together.
pub(super) fn retain_harmful_clashes(
    flow: &mut Flow<'_>,
    touches: &Touches,
    entry: Lanes,
    clashes: &mut Vec<Clash>,
) {
    if clashes.is_empty() {
        return;
    }
    let readers = clashing_lanes_by_read(touches, clashes);
    let users = users_of_reads(flow, entry, readers, touches);
    let is_of_writes = |clash: &Clash| touches.all[clash.other].is_store;
    let reads = if clashes.iter().any(is_of_writes) {
        reads_at_unknown_address(flow, touches)
    } else {
        Vec::new()
    };
    clashes.retain_mut(|clash| {
        let (write, other) = (&touches.all[clash.write], &touches.all[clash.other]);
        let is_volatile = [write, other]
            .iter()
            .all(|touch| touch.semantics == Semantics::Volatile);
        if other.is_store || !is_volatile {
            remove_strong_pairs(write, other, &mut clash.lanes);
        }
        if other.is_store {
            let nodes = [write.node, other.node];
            return has_any_lane(&clash.lanes)
                && may_be_read_between_writes(flow, touches, &reads, (write, &clash.lanes), nodes);
        }
        let used = users.get(&clash.other).copied().unwrap_or_default();
        let used = if is_volatile {
            used.lanes & !used.ending
        } else {
            used.lanes
        };
        for others in &mut clash.lanes {
            *others &= used;
        }
        has_any_lane(&clash.lanes) && !is_idempotent_update(flow, write, other)
    });
}

fn has_any_lane(lanes: &ByLane) -> bool {
    lanes.iter().any(|lanes| *lanes != 0)
}

/// By reading access: the lanes that clash there.
fn clashing_lanes_by_read(touches: &Touches, clashes: &[Clash]) -> FxHashMap<usize, Lanes> {
    let mut readers: FxHashMap<usize, Lanes> = FxHashMap::default();
    for clash in clashes.iter().filter(|clash| !touches.all[clash.other].is_store) {
        let lanes = clash.lanes.iter().fold(0, |all, lanes| all | lanes);
        *readers.entry(clash.other).or_default() |= lanes;
    }
    readers
}

/// By reading access, of the lanes in question: those that use the value that they read.
pub(super) fn users_of_reads(
    flow: &mut Flow<'_>,
    entry: Lanes,
    readers: FxHashMap<usize, Lanes>,
    touches: &Touches,
) -> FxHashMap<usize, LoadUsers> {
    if readers.is_empty() {
        return FxHashMap::default();
    }
    let shuffles = flow
        .order
        .nodes
        .iter()
        .copied()
        .filter(|&node| is_reached_node_of_kind(flow, node, NodeKind::Collective));
    let shuffles: Vec<u32> = shuffles.collect();
    let shuffles = shuffles.into_iter().filter_map(|node| call_at_node(flow, node));
    let shuffles: Vec<Call> = shuffles
        .filter(|call| matches!(call.kind, Collective::Shuffle(_)))
        .collect();
    let flow = &*flow;
    let mut placement = Placement::new(flow, entry, &FxHashSet::default());
    let mut left = MAX_USE_STEPS;
    let all = readers.into_iter().map(|(number, lanes)| {
        let touch = &touches.all[number];
        let given = left.min(MAX_USE_STEPS_OF_ONE);
        let mut steps = given;
        let load = (touch.node, touch.at, lanes);
        let users = certain_users_of_load(flow, &mut placement, &shuffles, load, &mut steps);
        left -= given - steps;
        (number, users.unwrap_or_default())
    });
    all.collect()
}

fn is_reached_node_of_kind(flow: &Flow<'_>, node: u32, kind: NodeKind) -> bool {
    flow.may[node as usize] != 0 && flow.graph.nodes[node as usize].kind == kind
}

/// Keeps only the lanes of a clash that do not access exactly the same bytes, if both accesses are strong.
fn remove_strong_pairs(write: &Touch, other: &Touch, clash: &mut ByLane) {
    if !write.is_strong || !other.is_strong || write.bytes != other.bytes {
        return;
    }
    for (writer, others) in clash.iter_mut().enumerate() {
        let same = lanes_in_set(*others).filter(|&lane| other.places[lane] == write.places[writer]);
        *others &= !lane_set(same);
    }
}

/// A read of shared memory whose address is not known in all lanes, or an atomic: its node, and the variable that its
/// address is computed from, if known.
pub(super) type OpenRead = (u32, Option<Object>);

/// The reads of a solution at addresses that are not known, and its atomics.
pub(super) fn reads_at_unknown_address(flow: &mut Flow<'_>, touches: &Touches) -> Vec<OpenRead> {
    let nodes: Vec<u32> = flow
        .order
        .nodes
        .iter()
        .copied()
        .filter(|&node| flow.may[node as usize] != 0)
        .collect();
    let mut open = Vec::new();
    for node in nodes {
        let current = &flow.graph.nodes[node as usize];
        match current.kind {
            NodeKind::Plain => {}
            NodeKind::Unknown | NodeKind::Quiet => {
                open.push((node, None));
                continue;
            }
            NodeKind::Collective | NodeKind::Barrier | NodeKind::Enter(_) => continue,
        }
        let context = flow.graph.context_of_node(node);
        let body = context.body;
        let slots = flow.module.function(context.function).slots();
        for number in current.instructions.clone() {
            let at = InstructionId::new(number as usize);
            let instruction = body.instruction(at);
            let Op::Access(access) = instruction.op else {
                continue;
            };
            let reads = !matches!(access.kind, AccessKind::Store);
            let is_shared = matches!(
                access.space,
                Space::Shared | Space::SharedCluster | Space::Generic
            );
            let is_known = || {
                touches
                    .accesses_in_node(node)
                    .any(|number| touches.all[number].at == at)
            };
            let is_own = matches!(slots.effect_on_slots(at, instruction), Effect::Load(_));
            if reads && is_shared && !is_own && !is_known() {
                let address = body.uses(instruction).first().copied().unwrap_or(Value::Unknown);
                let object = variable_of_address(flow, node, at, address).map(|(object, _)| object);
                open.push((node, object));
            }
        }
    }
    open
}

/// True if a write stores what an operation leaves of the value that was there, in one thread as in another, and the operation leaves the
/// same of what it has left: `n = min(n, limit)`. Then it does not matter which of the two values the operation reads in a thread, nor what
/// the thread reads after its own write.
pub(super) fn is_idempotent_update(flow: &Flow<'_>, write: &Touch, read: &Touch) -> bool {
    let (graph, order) = (flow.graph, flow.order);
    let context = graph.context_of_node(write.node);
    let is_of_context = graph.nodes[write.node as usize].context == graph.nodes[read.node as usize].context;
    let settled = || load_of_idempotent_update(flow.module, context.function, write.at);
    let comes_after = || match write.node == read.node {
        true => write.at < read.at,
        false => order.dominates(write.node, read.node),
    };
    let is_one_place = || write.places.iter().all(|place| *place == read.places[0]);
    is_of_context && settled().is_some_and(|load| load == read.at || comes_after() && is_one_place())
}

/// The load of whose value a store writes what operations of one kind leave, each with a number that all threads of the block share, if
/// they settle it.
fn load_of_idempotent_update(
    module: &Shared<'_>,
    function: FunctionId,
    store: InstructionId,
) -> Option<InstructionId> {
    let analyses = module.function(function);
    let body = module.module.function(function).body.as_ref()?;
    let (mut value, mut kind) = (stored_value(body, body.instruction(store))?, None);
    for _ in 0..MAX_SETTLING_STEPS {
        let at = analyses.only_writer(value)?;
        let instruction = body.instruction(at);
        let uses = body.uses(instruction);
        if let Some(own) = IdempotentOp::of_op(instruction.op) {
            let &[one, other] = uses else { return None };
            value = match [one, other].map(|operand| varies_in_block(module, function, operand, at)) {
                [true, false] => one,
                [false, true] => other,
                _ => return None,
            };
            if *kind.get_or_insert(own) != own {
                return None;
            }
        } else if let Op::CallResult(call) = instruction.op {
            let (own, operands) = call_of_min_or_max(module, body, call)?;
            value = match operands.map(|operand| varies_in_block(module, function, operand, call)) {
                [true, false] => operands[0],
                [false, true] => operands[1],
                _ => return None,
            };
            if *kind.get_or_insert(own) != own {
                return None;
            }
        } else if let [Form::Moved(from, _)] = analyses.possible_forms(at)[..] {
            value = from;
        } else {
            let is_load = matches!(instruction.op, Op::Access(access) if access.kind == AccessKind::Load);
            return kind.is_some().then_some(at).filter(|_| is_load);
        }
    }
    None
}

/// An operation that changes nothing when it is done again with the same operand, and those with which it may be mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdempotentOp {
    /// Least and greatest of two, by signed numbers or not.
    Limits(bool),
    /// Bits that are set or cleared.
    Bits,
}

impl IdempotentOp {
    const fn of_op(op: Op) -> Option<Self> {
        let Op::Binary(op, _) = op else { return None };
        match op.class() {
            Class::Least { signed } | Class::Greatest { signed } => Some(Self::Limits(signed)),
            Class::And | Class::Or => Some(Self::Bits),
            _ => None,
        }
    }
}

/// The functions for the least and the greatest of two integers, which debug builds call (CUDA Math API, Integer Intrinsics).
const LIMITS: [&str; 8] = ["min", "max", "umin", "umax", "llmin", "llmax", "ullmin", "ullmax"];

/// A call of such a function, and its arguments.
fn call_of_min_or_max(
    module: &Shared<'_>,
    body: &Body<'_>,
    call: InstructionId,
) -> Option<(IdempotentOp, [Value; 2])> {
    let instruction = body.instruction(call);
    let (Op::Call(number), Some(Callee::Direct(symbol))) = (instruction.op, body.callee(instruction)) else {
        return None;
    };
    let name = module.module.symbol(symbol).name;
    let base = names::base(name);
    let base = base.rsplit("::").next()?;
    let is_unsigned = base.starts_with('u') || names::readable(name).contains("unsigned");
    match body.arguments(body.call(number)) {
        [one, other] if LIMITS.contains(&base) => {
            Some((IdempotentOp::Limits(!is_unsigned), [one.value, other.value]))
        }
        _ => None,
    }
}

/// Most operations between a read and a write of what they leave of its value.
const MAX_SETTLING_STEPS: usize = 16;

/// True if an access after two writes of different values, in these nodes, may read the bytes of the first one: `write`, by the
/// lanes of a clash.
pub(super) fn may_be_read_between_writes(
    flow: &Flow<'_>,
    touches: &Touches,
    open: &[OpenRead],
    (write, lanes): (&Touch, &ByLane),
    nodes: [u32; 2],
) -> bool {
    let order = flow.order;
    let is_after = |node: u32| {
        nodes.into_iter().any(|write| {
            let mut loops = order.loops_around(write);
            order.rank[node as usize] >= order.rank[write as usize]
                || loops.any(|of| order.is_in_loop(node, of))
        })
    };
    let reads_some = |touch: &Touch| {
        let is_part = |object: Object| matches!(object, Object::Part(_));
        if touch.object != write.object {
            return is_part(touch.object) || is_part(write.object);
        }
        touch.may_overlap_writes(write, lanes)
    };
    touches
        .all
        .iter()
        .any(|touch| !touch.is_store && is_after(touch.node) && reads_some(touch))
        || open
            .iter()
            .any(|&(node, object)| is_after(node) && object.is_none_or(|object| object == write.object))
}
