//! The effect of the instructions of one node on a followed value.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::dependence::{Operand, depends_on_held_operands, depends_on_operand};
use super::format::argument_offsets;
use super::held_values::{HeldValues, Need, Origin, SourceLanes};
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::value::{Lanes, Vector, lane_set, lanes_in_set};
use crate::lanes::visible;
use crate::slots::{Effect, Slot, SlotId};
use crate::threads::Threads;
use crate::variable::{FrameVariable, Variable};
use ptxcheck_common::externs;
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, Argument, BinaryOp, Body, Callee, Collective, Guard, Instruction, InstructionId, Op,
    Register, Space, SymbolId, Value,
};

/// A point between two instructions of a node.
pub(super) struct Point<'w, 'a> {
    flow: &'w Flow<'a>,
    node: u32,
    context: u32,
    /// The threads of the warp, computed on first use.
    threads: OnceCell<Threads<'w, 'a>>,
    origin: Origin,
    need: Need,
    /// For a further shuffle: by lane, the lane from which it gets a value.
    handed: Option<SourceLanes>,
    /// The values that lanes hold here.
    pub(super) held: HeldValues,
    /// The lanes that have reached a use.
    pub(super) used: Lanes,
}

impl<'w, 'a> Point<'w, 'a> {
    pub(super) fn new(
        flow: &'w Flow<'a>,
        node: u32,
        (origin, need): (Origin, Need),
        handed: Option<SourceLanes>,
        held: HeldValues,
    ) -> Self {
        Self {
            flow,
            node,
            context: flow.graph.context_of_node(node).home,
            threads: OnceCell::new(),
            origin,
            need,
            handed,
            held,
            used: 0,
        }
    }
}

impl Point<'_, '_> {
    /// The lanes in which an operand holds the followed value.
    fn holders_of(&self, value: Value) -> Lanes {
        match value {
            Value::Register(register) | Value::Not(register) => {
                self.holders_at(FrameVariable::of_register(register))
            }
            _ => 0,
        }
    }

    fn holders_at(&self, place: FrameVariable) -> Lanes {
        self.held.cells.get(&(self.context, place)).copied().unwrap_or(0) & self.held.on
    }

    /// Marks the followed value as used in the lanes that hold it in an operand: the operand is read whenever control reaches this point.
    pub(super) fn mark_operand_used(&mut self, value: Value) {
        self.mark_used_in_lanes(self.holders_of(value));
    }

    /// Marks the followed value as used in these lanes.
    fn mark_used_in_lanes(&mut self, users: Lanes) {
        self.used |= users & self.held.on;
        if self.need != Need::Possible {
            self.held.on &= !users;
        }
    }

    /// Records that the value in a place may be passed on to places that are not followed.
    fn pass_to_unfollowed_place(&mut self, place: FrameVariable) {
        if self.need == Need::Possible {
            self.mark_used_in_lanes(self.holders_at(place));
        }
        self.set_holders(self.context, place, 0);
    }

    fn set_holders(&mut self, context: u32, place: FrameVariable, lanes: Lanes) {
        if lanes == 0 {
            self.held.cells.remove(&(context, place));
        } else {
            self.held.cells.insert((context, place), lanes);
        }
    }

    /// The known facts about a register before an instruction: from the solution, or from the thread number, because the
    /// solution contains only values that branches, masks and addresses need.
    fn known_vector(&self, id: InstructionId, value: Value) -> Option<Cow<'_, Vector>> {
        if let Some(known) = self.flow.known_vector_before(self.node, id, value)
            && known.exact != 0
        {
            return Some(Cow::Borrowed(known));
        }
        value.register()?;
        let warp = self.flow.launch.warp_with_consecutive_tids()?;
        let threads = self.threads.get_or_init(|| {
            let context = self.flow.graph.context_of_node(self.node);
            let analyses = self.flow.module.function(context.function);
            Threads::of_warp(context.body, analyses, warp)
        });
        Some(Cow::Owned(Vector::of_exact(threads.value_in_each_lane(value)?)))
    }

    /// The lanes in which a predicate is surely true, and surely false.
    fn lanes_true_and_false(&self, id: InstructionId, value: Value) -> (Lanes, Lanes) {
        let (register, negated) = match value {
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            Value::Integer(value) if value & 1 == 0 => return (0, Lanes::MAX),
            Value::Integer(_) => return (Lanes::MAX, 0),
            _ => return (0, 0),
        };
        let known = match self.range_predicate_and_lanes() {
            // A lane that reads another lane is in range.
            Some((inside, readers)) if inside == register => (readers, 0),
            _ if self.need == Need::Undefined => self.flow.lanes_true_and_false(self.node, id, register),
            _ => {
                let known = self.known_vector(id, Value::Register(register));
                known.map_or((0, 0), |known| {
                    let holds = lane_set(lanes_in_set(known.exact).filter(|&lane| known.bits[lane] & 1 == 1));
                    (holds, known.exact & !holds)
                })
            }
        };
        if negated { (known.1, known.0) } else { known }
    }

    /// The register, written only by the shuffle, that says whether its source was in range; and the lanes that read others.
    fn range_predicate_and_lanes(&self) -> Option<(Register, Lanes)> {
        let Origin::Shuffle(node, readers) = self.origin else {
            return None;
        };
        let graph = self.flow.graph;
        let context = graph.context_of_node(node);
        let shuffle = graph.instruction_of_node(node);
        let results = context.body.results(context.body.instruction(shuffle));
        let inside = results.get(1)?.register()?;
        let definitions = self.flow.module.function(context.function).definitions();
        let context_of = |node: u32| graph.nodes[node as usize].context;
        let is_here = context_of(node) == context_of(self.node);
        (is_here && definitions.writers_of(inside) == [shuffle]).then_some((inside, readers))
    }

    /// Writes a place under the guard of an instruction, if it has one.
    fn write_place(&mut self, place: FrameVariable, lanes: Lanes, guard: Option<GuardTruth>) {
        let lanes = match guard {
            None => lanes,
            Some(guard) => {
                let old = self.holders_at(place);
                let (holds, fails) = (guard.holds, guard.fails);
                match self.need {
                    Need::Undefined => lanes & holds | old & fails | lanes & old,
                    Need::Certain => lanes & holds | old & fails | lanes & old | guard.held,
                    Need::Possible => lanes & !fails | old & !holds | guard.held,
                }
            }
        };
        self.set_holders(self.context, place, lanes);
    }

    pub(super) fn visit_instruction(&mut self, id: InstructionId) {
        let graph = self.flow.graph;
        let context = graph.context_of_node(self.node);
        let body = context.body;
        let instruction = body.instruction(id);
        if instruction.op.is_terminator() {
            return;
        }
        // Collectives, barriers and calls are nodes of their own: their guard is the branch before them.
        let own = graph.nodes[self.node as usize].kind == NodeKind::Plain;
        let guard = instruction.guard.filter(|_| own);
        let truth = guard.map(|guard| {
            let (holds, fails) = self.lanes_true_and_false(id, guard_value(guard));
            let held = self.holders_of(guard_value(guard));
            GuardTruth { holds, fails, held }
        });
        let runs = truth.map_or(Lanes::MAX, |guard| match self.need {
            Need::Possible => !guard.fails,
            Need::Undefined | Need::Certain => guard.holds,
        });
        match instruction.op {
            Op::Access(_) => self.visit_access(id, body, instruction, runs),
            Op::Collective(kind, _) => self.visit_collective(kind, body.uses(instruction)),
            Op::Call(_) => self.visit_call(body, instruction),
            _ => {}
        }
        if let (Some(guard), Op::Access(access)) = (guard, instruction.op)
            && !matches!(access.space, Space::Local | Space::Param)
            && matches!(
                access.kind,
                AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction
            )
        {
            self.mark_operand_used(guard_value(guard));
        }
        self.visit_slot_effect(id, body, instruction, truth);
        for (number, result) in body.results(instruction).iter().enumerate() {
            let Value::Register(register) = *result else {
                continue;
            };
            let lanes = self.lanes_with_dependent_result(id, body, instruction, number);
            self.write_place(FrameVariable::of_register(register), lanes, truth);
        }
        if self.need != Need::Undefined
            && matches!(instruction.op, Op::Opaque)
            && body.results(instruction).is_empty()
        {
            for &value in body.uses(instruction) {
                self.mark_operand_used(value);
            }
        }
        if let Some((offset, value)) = body.returned(instruction) {
            self.write_place(FrameVariable::Result(offset), self.holders_of(value), truth);
        }
    }

    fn visit_access(&mut self, id: InstructionId, body: &Body<'_>, instruction: &Instruction, runs: Lanes) {
        let Op::Access(access) = instruction.op else {
            return;
        };
        let uses = body.uses(instruction);
        let mut used = match access.kind {
            // A prefetch does not use the address.
            AccessKind::Other => 0,
            _ => uses.first().map_or(0, |&address| self.holders_of(address)),
        };
        let is_seen = match (access.kind, access.space) {
            (AccessKind::Store | AccessKind::ReadModifyWrite, Space::Generic)
            | (AccessKind::Store, Space::Local | Space::Param)
                if self.need == Need::Possible =>
            {
                let context = self.flow.graph.context_of_node(self.node);
                let slots = self.flow.module.function(context.function).slots();
                !matches!(slots.effect_on_slots(id, instruction), Effect::Store(_))
            }
            (AccessKind::Store | AccessKind::ReadModifyWrite, Space::Generic) => {
                let context = self.flow.graph.context_of_node(self.node);
                let is_store = access.kind == AccessKind::Store;
                is_store
                    && visible::surely_writes_foreign_memory(self.flow.module, context.function, body, id)
            }
            (AccessKind::Load | AccessKind::Other, _) | (_, Space::Local | Space::Param) => false,
            _ => true,
        };
        if is_seen {
            let data = uses.iter().skip(2);
            used |= data.fold(0, |all, &value| all | self.holders_of(value));
        }
        self.mark_used_in_lanes(used & runs);
    }

    fn visit_collective(&mut self, kind: Collective, uses: &[Value]) {
        let decisive: &[usize] = match kind {
            Collective::Shuffle(_) => &[0, 2, 3],
            // The common answer of all lanes depends on the operand of each lane.
            _ if self.need != Need::Undefined => &[0, 1],
            _ => &[0],
        };
        for &value in decisive.iter().filter_map(|&place| uses.get(place)) {
            self.mark_operand_used(value);
        }
    }

    fn visit_call(&mut self, body: &Body<'_>, instruction: &Instruction) {
        let Op::Call(call) = instruction.op else { return };
        let module = self.flow.module.module;
        let call = body.call(call);
        let leaves = match call.callee {
            Callee::Indirect(address) => {
                self.mark_operand_used(address);
                false
            }
            Callee::Direct(symbol) => module
                .called(symbol)
                .is_none_or(|callee| module.function(callee).body.is_none()),
        };
        let inner = match self.flow.graph.nodes[self.node as usize].kind {
            NodeKind::Enter(inner) => Some(self.flow.graph.contexts[inner as usize].home),
            _ => None,
        };
        let is_printf = |symbol: SymbolId| {
            let callee = module.called(symbol);
            callee.is_some_and(|callee| module.function_name(callee) == externs::PRINT)
        };
        if leaves && matches!(call.callee, Callee::Direct(symbol) if is_printf(symbol)) {
            self.use_printed_arguments(body, body.arguments(call));
        }
        for argument in body.arguments(call) {
            if leaves || inner.is_none() && self.need != Need::Undefined {
                self.mark_operand_used(argument.value);
            } else if let Some(inner) = inner {
                let lanes = self.holders_of(argument.value);
                self.set_holders(
                    inner,
                    FrameVariable::Param(argument.param, argument.offset as i32),
                    lanes,
                );
            }
        }
    }

    /// Values in the buffer that `printf` is passed are used if the format prints them: the first one, if the format is not
    /// known.
    fn use_printed_arguments(&mut self, _body: &Body<'_>, arguments: &[Argument]) {
        let module = self.flow.module;
        let function = self.flow.graph.context_of_node(self.node).function;
        let analyses = module.function(function);
        let [format, buffer] = arguments else { return };
        let Some((symbol, start)) = analyses.variable_and_distance(buffer.value) else {
            return;
        };
        let format = analyses
            .variable_and_distance(format.value)
            .filter(|(_, offset)| *offset == 0);
        let format = format.and_then(|(symbol, _)| {
            let variable = module.module.symbol(symbol);
            module.module.origin.string(variable.name, variable.span)
        });
        let places = format.map_or_else(|| vec![0], |format| argument_offsets(&format));
        let slots = &analyses.slots().slots;
        for offset in places.into_iter().filter_map(|place| start.checked_add(place)) {
            let from = slots.partition_point(|slot| (slot.symbol, slot.offset) < (symbol, offset));
            let is_there = |slot: &&Slot| (slot.symbol, slot.offset) == (symbol, offset);
            let count = slots[from..].iter().take_while(is_there).count();
            for slot in from..from + count {
                self.mark_used_in_lanes(self.holders_at(FrameVariable::of_slot(slot as SlotId)));
            }
        }
    }

    fn visit_slot_effect(
        &mut self,
        id: InstructionId,
        body: &Body<'_>,
        instruction: &Instruction,
        truth: Option<GuardTruth>,
    ) {
        let function = self.flow.graph.context_of_node(self.node).function;
        let slots = self.flow.module.function(function).slots();
        match slots.effect_on_slots(id, instruction) {
            Effect::Store(slot) => {
                let stored = body.stored(instruction).unwrap_or(Value::Unknown);
                self.write_place(FrameVariable::of_slot(slot), self.holders_of(stored), truth);
                for other in slots.slots_overlapping(slot) {
                    self.pass_to_unfollowed_place(FrameVariable::of_slot(other));
                }
            }
            Effect::Spoil(slot) => {
                for slot in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
                    self.pass_to_unfollowed_place(FrameVariable::of_slot(slot));
                }
            }
            // The values that they hold remain possible.
            Effect::SpoilEscaped if self.need == Need::Possible => {}
            Effect::SpoilEscaped => {
                let own = self.context;
                self.held.cells.retain(|(context, place), _| match place {
                    FrameVariable::Own(Variable::Slot(slot)) => *context != own || !slots.escapes(*slot),
                    _ => true,
                });
            }
            Effect::Load(_) | Effect::None => {}
        }
    }

    /// The lanes in which a result is computed from the followed value.
    fn lanes_with_dependent_result(
        &self,
        id: InstructionId,
        body: &Body<'_>,
        instruction: &Instruction,
        number: usize,
    ) -> Lanes {
        let graph = self.flow.graph;
        let uses = body.uses(instruction);
        match instruction.op {
            Op::Collective(Collective::Shuffle(_), _) if number == 0 && self.need == Need::Possible => {
                let held = uses.get(1).map_or(0, |&data| self.holders_of(data));
                let may_read = |lane: &usize| match self.handed.and_then(|handed| handed[*lane]) {
                    Some(from) => held >> from & 1 == 1,
                    None => held != 0,
                };
                lane_set(lanes_in_set(self.held.on).filter(may_read))
            }
            Op::Collective(..)
                if number == 0 && matches!(self.origin, Origin::Shuffle(node, _) if node == self.node) =>
            {
                match self.origin {
                    Origin::Shuffle(_, readers) => readers & self.held.on,
                    Origin::Load(..) => 0,
                }
            }
            Op::Collective(..) if number == 0 => match (&self.handed, uses.get(1)) {
                (Some(handed), Some(&data)) => {
                    let held = self.holders_of(data);
                    let reads_held = |&lane: &usize| handed[lane].is_some_and(|from| held >> from & 1 == 1);
                    lane_set(lanes_in_set(self.held.on).filter(reads_held))
                }
                _ => 0,
            },
            Op::Access(access) if access.kind == AccessKind::Load => {
                let function = graph.context_of_node(self.node).function;
                let slots = self.flow.module.function(function).slots();
                if let Effect::Load(slot) = slots.effect_on_slots(id, instruction) {
                    return self.holders_at(FrameVariable::of_slot(slot));
                }
                body.loaded_param(instruction).map_or(0, |(number, offset)| {
                    self.holders_at(FrameVariable::Param(u32::from(number), offset))
                })
            }
            Op::CallResult(call) => {
                let called = graph.callee_of(graph.nodes[self.node as usize].context, call);
                match (called.map(|callee| callee.home), uses) {
                    (Some(callee), [Value::Integer(offset), ..]) => {
                        let place = i32::try_from(*offset).map(FrameVariable::Result);
                        let held = place.ok().and_then(|place| self.held.cells.get(&(callee, place)));
                        held.copied().unwrap_or(0)
                    }
                    _ => 0,
                }
            }
            Op::Select => self.lanes_with_dependent_select(id, uses),
            Op::ToGeneric(..) | Op::FromGeneric(..) => {
                uses.first().map_or(0, |&address| self.holders_of(address))
            }
            op if is_interpreted(op) || matches!(op, Op::Opaque | Op::CompareOther) => match self.need {
                Need::Undefined => self.lanes_with_dependent_computation(op, uses),
                Need::Certain | Need::Possible => self.lanes_depending(id, op, uses),
            },
            _ => 0,
        }
    }

    /// A select takes one operand; which one is known in some lanes.
    fn lanes_with_dependent_select(&self, id: InstructionId, uses: &[Value]) -> Lanes {
        let &[a, b, condition] = uses else { return 0 };
        let (holds, fails) = self.lanes_true_and_false(id, condition);
        let (is_same, condition) = (a == b, self.holders_of(condition));
        let (a, b) = (self.holders_of(a), self.holders_of(b));
        match self.need {
            Need::Undefined => (a & holds | b & fails | a & b) & !condition,
            Need::Certain if is_same => a,
            Need::Certain => a & holds | b & fails | a & b | condition,
            Need::Possible => a & !fails | b & !holds | condition,
        }
    }

    /// The lanes in which the result of an operation depends on it: those in which the other, known operands do not hide it.
    /// In a conjunction or disjunction of predicates, each operand may hide the other one.
    fn lanes_depending(&self, id: InstructionId, op: Op, uses: &[Value]) -> Lanes {
        let once = uses.iter().fold(0, |all, &value| all | self.holders_of(value));
        if once == 0 {
            return 0;
        }
        let vectors: Vec<Option<Cow<'_, Vector>>> =
            uses.iter().map(|&value| self.known_vector(id, value)).collect();
        let through = |&lane: &usize| {
            let operand = |place: usize| {
                let value = uses[place];
                if self.holders_of(value) >> lane & 1 == 1 {
                    return Operand::Held;
                }
                match value {
                    Value::Integer(value) => Operand::Known(value as u64),
                    _ => vectors[place]
                        .as_ref()
                        .and_then(|vector| vector.value_in_lane(lane))
                        .map_or(Operand::Unknown, Operand::Known),
                }
            };
            let operands: Vec<Operand> = (0..uses.len()).map(operand).collect();
            depends_on_held_operands(op, &operands, self.need)
        };
        lane_set(lanes_in_set(once & self.held.on).filter(through))
    }

    fn lanes_with_dependent_computation(&self, op: Op, uses: &[Value]) -> Lanes {
        let (mut once, mut twice) = (0, 0);
        for &value in uses {
            let lanes = self.holders_of(value);
            twice |= once & lanes;
            once |= lanes;
        }
        if once == 0 {
            return 0;
        }
        let single = uses.iter().enumerate().fold(0, |all, (place, &value)| {
            let lanes = self.holders_of(value) & !twice;
            if lanes != 0 && depends_on_operand(op, uses, place) {
                all | lanes
            } else {
                all
            }
        });
        // Sums of two such values are still undefined; differences may be 0.
        let is_sum =
            matches!(op, Op::Binary(BinaryOp::Add, _) | Op::Opaque) && matches!(uses, [a, b] if a != b);
        single | if is_sum { twice } else { 0 }
    }
}

/// The guard of an instruction: the lanes in which it surely holds, surely fails, and is computed from the followed value.
#[derive(Clone, Copy)]
struct GuardTruth {
    holds: Lanes,
    fails: Lanes,
    held: Lanes,
}

fn guard_value(guard: Guard) -> Value {
    if guard.negated {
        Value::Not(guard.register)
    } else {
        Value::Register(guard.register)
    }
}
