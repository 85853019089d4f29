//! Certain uses of a value that a shuffle has read.
//!
//! A value that was read from a lane that does not take part is undefined; the behaviour is not, as long as nobody uses
//! the value (PTX ISA, `shfl.sync`). A use is: an address, a mask, a source lane, a branch, what is stored to memory that
//! others see, what a function outside the module is passed.
//!
//! ```text
//! on(n)       lanes that may be at n, having passed the shuffle and used nothing since
//! held(n, x)  of these, the lanes in which x certainly holds something that was computed from what was read
//! used(n)     of these, the lanes that use some x at n in which they hold it
//! on(s)     ∪= edge ∩ on(n) ∖ used(n)          held(s, x) ∩= held(n, x), for the lanes that come along
//! ```
//!
//! Lanes for which `on` reaches the end need not use it. A further shuffle hands the value on: lane l holds its result if the
//! lane s that l reads holds the operand, s is at that shuffle whenever l is, and all ways there lead through the first one.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::super::flow::Flow;
use super::super::graph::NONE;
use super::super::graph::{NodeKind, Test};
use super::super::placement::{Exits, Placement};
use super::super::shuffle;
use super::super::value::{Lanes, WARP, lanes, set_of};
use super::super::visible;
use super::format::argument_places;
use super::meet::Call;
use crate::addresses::stored;
use crate::function::Analyses;
use crate::slots::{Effect, Slot, SlotId};
use crate::variable::{FrameVariable, Variable};
use ptxcheck_common::externs;
use ptxcheck_ir::evaluate::{evaluate, is_interpreted};
use ptxcheck_ir::{
    AccessKind, Argument, BinaryOp, Body, Callee, Collective, Guard, Instruction, InstructionId, Logic, Op,
    Register, Space, SymbolId, Value,
};

/// Lanes and the undefined values that they hold at one point: see the module.
#[derive(Clone, Default)]
struct UndefinedValues {
    on: Lanes,
    cells: FxHashMap<(u32, FrameVariable), Lanes>,
}

impl UndefinedValues {
    /// Takes what comes along an edge with some lanes; true if that changes anything.
    fn merge(&mut self, lanes: Lanes, from: &Self) -> bool {
        let (both, new) = (lanes & self.on, lanes & !self.on);
        let mut changed = new != 0;
        self.cells.retain(|cell, held| {
            let theirs = from.cells.get(cell).copied().unwrap_or(0);
            let kept = *held & (!both | theirs);
            changed |= kept != *held;
            *held = kept;
            kept != 0
        });
        if new != 0 {
            for (&cell, &theirs) in from.cells.iter().filter(|(_, theirs)| **theirs & new != 0) {
                *self.cells.entry(cell).or_default() |= theirs & new;
            }
        }
        self.on |= lanes;
        changed
    }

    /// Drops cells that no lane still on the way holds.
    fn restrict(&mut self) {
        let on = self.on;
        self.cells.retain(|_, held| {
            *held &= on;
            *held != 0
        });
    }
}

/// Lanes that certainly use an undefined value, among those that pass the shuffle `shuffle`, each time or a later
/// time that they pass it: lanes of `readers`, which read something undefined there, and lanes that further shuffles
/// hand it to. `calls`: the collectives in order. `None` if `steps`, which instructions and cells are counted
/// against, are used up.
pub(super) fn certainly(
    flow: &Flow<'_>,
    placement: &mut Placement<'_, '_>,
    calls: &[Call],
    (shuffle, readers): (u32, Lanes),
    steps: &mut usize,
) -> Option<Lanes> {
    let here = flow.may[shuffle as usize];
    let mut walk = Walk {
        flow,
        placement,
        calls,
        shuffle,
        readers,
        lost: 0,
        held: FxHashMap::default(),
        pending: BTreeSet::new(),
        steps,
    };
    walk.held.insert(
        shuffle,
        UndefinedValues {
            on: here,
            cells: FxHashMap::default(),
        },
    );
    walk.pending.insert(flow.order.rank[shuffle as usize]);
    while here & !walk.lost != 0
        && let Some(rank) = walk.pending.pop_first()
    {
        walk.node(flow.order.nodes[rank as usize])?;
    }
    Some(here & !walk.lost)
}

struct Walk<'w, 'a, 'f, 'p> {
    flow: &'w Flow<'a>,
    placement: &'w mut Placement<'f, 'p>,
    calls: &'w [Call],
    shuffle: u32,
    readers: Lanes,
    /// The lanes that need not use it.
    lost: Lanes,
    held: FxHashMap<u32, UndefinedValues>,
    /// Nodes to look at, by rank.
    pending: BTreeSet<u32>,
    steps: &'w mut usize,
}

impl Walk<'_, '_, '_, '_> {
    fn node(&mut self, node: u32) -> Option<()> {
        let flow = self.flow;
        let graph = flow.graph;
        let mut point = Point {
            flow,
            node,
            context: graph.context(node).home,
            readers: self.readers,
            shuffle: self.shuffle,
            handed: None,
            held: self.held.get(&node)?.clone(),
        };
        point.handed = self.handed(node);
        let current = &graph.nodes[node as usize];
        *self.steps = self
            .steps
            .checked_sub(1 + current.instructions.len() + point.held.cells.len())?;
        for number in current.instructions.clone() {
            point.instruction(InstructionId::new(number as usize));
        }
        match current.test {
            Test::None => {}
            Test::Guard(guard) => point.uses(Value::Register(guard.register)),
            Test::Table(index, guard) => {
                point.uses(index);
                if let Some(guard) = guard {
                    point.uses(Value::Register(guard.register));
                }
            }
        }
        let mut held = point.held;
        held.restrict();
        if held.cells.is_empty() {
            self.lost |= held.on;
        }
        held.on &= !self.lost;
        for edge in current.edges.clone() {
            let lanes = flow.edges[edge as usize] & held.on;
            let target = graph.targets[edge as usize];
            if lanes == 0 {
                continue;
            }
            let rank = flow.order.rank[target as usize];
            if target == graph.exit || rank == NONE {
                self.lost |= lanes;
                continue;
            }
            *self.steps = self.steps.checked_sub(1 + held.cells.len())?;
            if self.held.entry(target).or_default().merge(lanes, &held) {
                self.pending.insert(rank);
            }
        }
        Some(())
    }

    /// Lanes that read through a further shuffle, if the node is one.
    fn handed(&mut self, node: u32) -> Option<Handed> {
        let order = self.flow.order;
        let rank = |node: u32| order.rank[node as usize];
        if node == self.shuffle || !order.dominates(self.shuffle, node) {
            return None;
        }
        let number = self
            .calls
            .binary_search_by_key(&rank(node), |call| rank(call.node))
            .ok()?;
        let call = &self.calls[number];
        let (Collective::Shuffle(mode), Some(source), Some(control)) =
            (call.kind, &call.source, &call.control)
        else {
            return None;
        };
        let must = self.placement.must(node, Exits::All);
        Some(std::array::from_fn(|lane| {
            let from = shuffle::source(mode, lane, source.at(lane)?, control.at(lane)?);
            (from == lane || must >> from & 1 == 1).then_some(from as u8)
        }))
    }
}

/// By lane, the lane that it reads, if that is known and certainly takes part.
type Handed = [Option<u8>; WARP];

/// A place between two instructions of a node.
struct Point<'w, 'a> {
    flow: &'w Flow<'a>,
    node: u32,
    context: u32,
    readers: Lanes,
    shuffle: u32,
    /// Lanes that the node hands values to, if it is a further shuffle.
    handed: Option<Handed>,
    held: UndefinedValues,
}

impl Point<'_, '_> {
    /// The lanes in which an operand holds it.
    fn of(&self, value: Value) -> Lanes {
        match value {
            Value::Register(register) | Value::Not(register) => self.at(FrameVariable::register(register)),
            _ => 0,
        }
    }

    fn at(&self, place: FrameVariable) -> Lanes {
        self.held.cells.get(&(self.context, place)).copied().unwrap_or(0) & self.held.on
    }

    /// An operand is used, whenever control comes here.
    fn uses(&mut self, value: Value) {
        self.held.on &= !self.of(value);
    }

    fn set(&mut self, context: u32, place: FrameVariable, lanes: Lanes) {
        if lanes == 0 {
            self.held.cells.remove(&(context, place));
        } else {
            self.held.cells.insert((context, place), lanes);
        }
    }

    /// The lanes in which a predicate is surely true, and surely false.
    fn truth(&self, id: InstructionId, value: Value) -> (Lanes, Lanes) {
        let (register, negated) = match value {
            Value::Register(register) => (register, false),
            Value::Not(register) => (register, true),
            Value::Integer(value) if value & 1 == 0 => return (0, Lanes::MAX),
            Value::Integer(_) => return (Lanes::MAX, 0),
            _ => return (0, 0),
        };
        let known = match self.in_range() {
            // A lane that reads another lane is in range.
            Some(inside) if inside == register => (self.readers, 0),
            _ => self.flow.truth(self.node, id, register),
        };
        if negated { (known.1, known.0) } else { known }
    }

    /// The register that only the shuffle writes: whether its source was in range.
    fn in_range(&self) -> Option<Register> {
        let graph = self.flow.graph;
        let context = graph.context(self.shuffle);
        let shuffle = graph.instruction(self.shuffle);
        let results = context.body.results(context.body.instruction(shuffle));
        let inside = results.get(1)?.register()?;
        let definitions = self.flow.module.function(context.function).definitions();
        let context_of = |node: u32| graph.nodes[node as usize].context;
        let is_here = context_of(self.shuffle) == context_of(self.node);
        (is_here && definitions.of(inside) == [shuffle]).then_some(inside)
    }

    /// Writes a place under the guard of an instruction, if it has one.
    fn write(&mut self, place: FrameVariable, lanes: Lanes, guard: Option<(Lanes, Lanes)>) {
        let lanes = match guard {
            None => lanes,
            Some((holds, fails)) => {
                let old = self.at(place);
                lanes & holds | old & fails | lanes & old
            }
        };
        self.set(self.context, place, lanes);
    }

    fn instruction(&mut self, id: InstructionId) {
        let graph = self.flow.graph;
        let context = graph.context(self.node);
        let body = context.body;
        let instruction = body.instruction(id);
        if instruction.op.is_terminator() {
            return;
        }
        // Collectives, barriers and calls are nodes of their own: their guard is the branch before them.
        let own = graph.nodes[self.node as usize].kind == NodeKind::Plain;
        let guard = instruction.guard.filter(|_| own);
        let truth = guard.map(|guard| self.truth(id, guarded(guard)));
        let runs = truth.map_or(Lanes::MAX, |(holds, _)| holds);
        match instruction.op {
            Op::Access(_) => self.access(id, body, instruction, runs),
            Op::Collective(kind, _) => self.collective(kind, body.uses(instruction)),
            Op::Call(_) => self.call(body, instruction),
            _ => {}
        }
        if let (Some(guard), Op::Access(access)) = (guard, instruction.op)
            && !matches!(access.space, Space::Local | Space::Param)
            && matches!(
                access.kind,
                AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction
            )
        {
            self.uses(guarded(guard));
        }
        self.slots(id, body, instruction, truth);
        for (number, result) in body.results(instruction).iter().enumerate() {
            let Value::Register(register) = *result else {
                continue;
            };
            let lanes = self.result(id, body, instruction, number);
            self.write(FrameVariable::register(register), lanes, truth);
        }
        if let Some((offset, value)) = body.returned(instruction) {
            self.write(FrameVariable::Result(offset), self.of(value), truth);
        }
    }

    fn access(&mut self, id: InstructionId, body: &Body<'_>, instruction: &Instruction, runs: Lanes) {
        let Op::Access(access) = instruction.op else {
            return;
        };
        let uses = body.uses(instruction);
        let mut used = match access.kind {
            // A prefetch does nothing to the address.
            AccessKind::Other => 0,
            _ => uses.first().map_or(0, |&address| self.of(address)),
        };
        let is_seen = match (access.kind, access.space) {
            (AccessKind::Store | AccessKind::ReadModifyWrite, Space::Generic) => {
                let context = self.flow.graph.context(self.node);
                let is_store = access.kind == AccessKind::Store;
                is_store && visible::is_seen(self.flow.module, context.function, body, id)
            }
            (AccessKind::Load | AccessKind::Other, _) | (_, Space::Local | Space::Param) => false,
            _ => true,
        };
        if is_seen {
            let data = uses.iter().skip(2);
            used |= data.fold(0, |all, &value| all | self.of(value));
        }
        self.held.on &= !(used & runs);
    }

    fn collective(&mut self, kind: Collective, uses: &[Value]) {
        let decisive: &[usize] = match kind {
            Collective::Shuffle(_) => &[0, 2, 3],
            _ => &[0],
        };
        for &value in decisive.iter().filter_map(|&place| uses.get(place)) {
            self.uses(value);
        }
    }

    fn call(&mut self, body: &Body<'_>, instruction: &Instruction) {
        let Op::Call(call) = instruction.op else { return };
        let module = self.flow.module.module;
        let call = body.call(call);
        let leaves = match call.callee {
            Callee::Indirect(address) => {
                self.uses(address);
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
            self.printed(body, body.arguments(call));
        }
        for argument in body.arguments(call) {
            if leaves {
                self.uses(argument.value);
            } else if let Some(inner) = inner {
                let lanes = self.of(argument.value);
                self.set(
                    inner,
                    FrameVariable::Param(argument.param, argument.offset as i32),
                    lanes,
                );
            }
        }
    }

    /// Values in the buffer that `printf` is passed are used if the format prints them: the first one, where the format is not known.
    fn printed(&mut self, body: &Body<'_>, arguments: &[Argument]) {
        let module = self.flow.module;
        let function = self.flow.graph.context(self.node).function;
        let analyses = module.function(function);
        let [format, buffer] = arguments else { return };
        let Some((symbol, start)) = address(body, analyses, buffer.value) else {
            return;
        };
        let format = address(body, analyses, format.value).filter(|(_, offset)| *offset == 0);
        let format = format.and_then(|(symbol, _)| {
            let variable = module.module.symbol(symbol);
            module.module.origin.string(variable.name, variable.span)
        });
        let places = format.map_or_else(|| vec![0], |format| argument_places(&format));
        let slots = &analyses.slots().slots;
        for offset in places.into_iter().filter_map(|place| start.checked_add(place)) {
            let from = slots.partition_point(|slot| (slot.symbol, slot.offset) < (symbol, offset));
            let is_there = |slot: &&Slot| (slot.symbol, slot.offset) == (symbol, offset);
            let count = slots[from..].iter().take_while(is_there).count();
            for slot in from..from + count {
                self.held.on &= !self.at(FrameVariable::slot(slot as SlotId));
            }
        }
    }

    fn slots(
        &mut self,
        id: InstructionId,
        body: &Body<'_>,
        instruction: &Instruction,
        truth: Option<(Lanes, Lanes)>,
    ) {
        let function = self.flow.graph.context(self.node).function;
        let slots = self.flow.module.function(function).slots();
        match slots.effect(id, instruction) {
            Effect::Store(slot) => {
                let stored = stored(body, instruction);
                self.write(FrameVariable::slot(slot), self.of(stored), truth);
                for other in slots.overlapping(slot) {
                    self.set(self.context, FrameVariable::slot(other), 0);
                }
            }
            Effect::Spoil(slot) => {
                for slot in std::iter::once(slot).chain(slots.overlapping(slot)) {
                    self.set(self.context, FrameVariable::slot(slot), 0);
                }
            }
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

    /// The lanes in which a result is computed from it.
    fn result(&self, id: InstructionId, body: &Body<'_>, instruction: &Instruction, number: usize) -> Lanes {
        let graph = self.flow.graph;
        let uses = body.uses(instruction);
        match instruction.op {
            Op::Collective(..) if self.node == self.shuffle && number == 0 => self.readers & self.held.on,
            Op::Collective(..) if number == 0 => match (&self.handed, uses.get(1)) {
                (Some(handed), Some(&data)) => {
                    let held = self.of(data);
                    let reads_held = |&lane: &usize| handed[lane].is_some_and(|from| held >> from & 1 == 1);
                    set_of(lanes(self.held.on).filter(reads_held))
                }
                _ => 0,
            },
            Op::Access(access) if access.kind == AccessKind::Load => {
                let function = graph.context(self.node).function;
                let slots = self.flow.module.function(function).slots();
                if let Effect::Load(slot) = slots.effect(id, instruction) {
                    return self.at(FrameVariable::slot(slot));
                }
                body.loaded_param(instruction).map_or(0, |(number, offset)| {
                    self.at(FrameVariable::Param(u32::from(number), offset))
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
            Op::Select => self.selected(id, uses),
            Op::ToGeneric(..) | Op::FromGeneric(..) => uses.first().map_or(0, |&address| self.of(address)),
            op if is_interpreted(op) || matches!(op, Op::Opaque | Op::CompareOther) => {
                self.computed(op, uses)
            }
            _ => 0,
        }
    }

    /// A select takes one operand; which one is known in some lanes.
    fn selected(&self, id: InstructionId, uses: &[Value]) -> Lanes {
        let &[a, b, condition] = uses else { return 0 };
        let (holds, fails) = self.truth(id, condition);
        let (a, b) = (self.of(a), self.of(b));
        (a & holds | b & fails | a & b) & !self.of(condition)
    }

    fn computed(&self, op: Op, uses: &[Value]) -> Lanes {
        let (mut once, mut twice) = (0, 0);
        for &value in uses {
            let lanes = self.of(value);
            twice |= once & lanes;
            once |= lanes;
        }
        if once == 0 {
            return 0;
        }
        let single = uses.iter().enumerate().fold(0, |all, (place, &value)| {
            let lanes = self.of(value) & !twice;
            if lanes != 0 && carries(op, uses, place) {
                all | lanes
            } else {
                all
            }
        });
        // Sums of two such values are no less undefined; differences may be 0.
        let is_sum =
            matches!(op, Op::Binary(BinaryOp::Add, _) | Op::Opaque) && matches!(uses, [a, b] if a != b);
        single | if is_sum { twice } else { 0 }
    }
}

/// The variable that a value is the address of, and the distance from its start, through moves, conversions to generic addresses and
/// sums.
fn address(body: &Body<'_>, analyses: &Analyses<'_>, value: Value) -> Option<(SymbolId, i64)> {
    let mut offset = Some(0_i64);
    let start = analyses.definitions().trace(body, value, |at| {
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            (Op::Copy | Op::ToGeneric(..), &[from]) => Some(from),
            (Op::Binary(BinaryOp::Add, _), &[from, Value::Integer(by)]) => {
                offset = offset.and_then(|offset| offset.checked_add(by));
                Some(from)
            }
            _ => None,
        }
    });
    let Value::Symbol(symbol, by) = start else {
        return None;
    };
    Some((symbol, offset?.checked_add(by.into())?))
}

fn guarded(guard: Guard) -> Value {
    if guard.negated {
        Value::Not(guard.register)
    } else {
        Value::Register(guard.register)
    }
}

/// True if the result of an operation depends on one of its operands, whatever the other, non-constant operands hold.
fn carries(op: Op, uses: &[Value], place: usize) -> bool {
    let is_constant = |value: &Value| matches!(value, Value::Integer(_));
    let others = || uses.iter().enumerate().filter(|(at, _)| *at != place);
    if matches!(op, Op::Opaque | Op::CompareOther) {
        // Of three operands, the first may be scaled or picked by the others.
        return uses.len() <= 2 || place == 2;
    }
    if others().all(|(_, value)| is_constant(value)) {
        return varies(op, uses, place);
    }
    match op {
        Op::Copy | Op::Convert { .. } | Op::Pack(_) => true,
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Xor
                | BinaryOp::MinSigned
                | BinaryOp::MinUnsigned
                | BinaryOp::MaxSigned
                | BinaryOp::MaxUnsigned
        ),
        Op::MulAdd(..) => place == 2,
        Op::Compare(_, _, Logic::None) => true,
        _ => false,
    }
}

/// True if an operation gives different results for different values of one operand, where all others are constant.
fn varies(op: Op, uses: &[Value], place: usize) -> bool {
    const TRIED: [u64; 6] = [
        0,
        1,
        0x5555_5555_5555_5555,
        0x7fff_ffff,
        u64::MAX,
        0xaaaa_aaaa_aaaa_aaaa,
    ];
    if matches!(op, Op::Copy | Op::Pack(_) | Op::Unpack(_)) {
        return true;
    }
    let outcome = |tried: u64| {
        let values: Vec<u64> = uses
            .iter()
            .enumerate()
            .map(|(at, value)| match value {
                _ if at == place => tried,
                Value::Integer(value) => *value as u64,
                _ => 0,
            })
            .collect();
        evaluate(op, &values)
    };
    let constants = uses.iter().filter_map(|value| match value {
        Value::Integer(value) => Some(*value as u64),
        _ => None,
    });
    // A comparison changes beside what it compares with.
    let beside = constants.flat_map(|value| [value, value.wrapping_add(1)]);
    let first = outcome(TRIED[0]);
    TRIED
        .into_iter()
        .chain(beside)
        .any(|tried| outcome(tried) != first)
}
