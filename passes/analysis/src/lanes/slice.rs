//! Slice: the registers, slots, parameters and results that the lane analysis follows.
//!
//! It is computed backwards, across calls, from the guards of branches, calls and collectives, and from the operands of
//! collectives that verdicts need. Each variable of the slice is a *cell*; all other variables cost nothing. A cell with one
//! unguarded definition holds one value wherever it is read; only the others are part of the states that flow along edges.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::addresses::{PassedAddress, SlotBase, addresses_passed_by};
use crate::limits::MAX_SLICE_REGISTERS;
use crate::shared::Shared;
use crate::slots::{Effect, SlotId, Slots};
use crate::variable::{FrameVariable, Variable};
use ptxcheck_ir::evaluate::is_interpreted;
use ptxcheck_ir::{
    AccessKind, AsyncKinds, Body, Callee, Collective, FunctionId, InstructionId, Op, ParamPiece, Register,
    Space, Value, Vote,
};

/// Storage of one variable of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Outside of the states: the variable has one definition. Index within the function.
    Single(u32),
    /// In the states. Index within the function.
    Flowing(u32),
}

/// The cells of one function.
#[derive(Default)]
pub(super) struct Slice {
    places: FxHashMap<FrameVariable, Cell>,
    registers: Vec<Option<Cell>>,
    keys: Vec<FrameVariable>,
    /// Number of single-assignment cells.
    pub singles: u32,
    /// Number of flow-sensitive cells.
    pub flowing: u32,
    /// The instructions that write cells, in the order of the input.
    pub steps: Vec<InstructionId>,
    /// The slots with cells that can be written through addresses that are not followed, or by callees.
    pub escaping: Vec<SlotId>,
}

impl Slice {
    /// The cell of a register.
    #[must_use]
    pub(super) fn cell_of_register(&self, register: Register) -> Option<Cell> {
        self.registers.get(register.index()).copied().flatten()
    }

    /// The cell of a slot.
    #[must_use]
    pub(super) fn cell_of_slot(&self, slot: SlotId) -> Option<Cell> {
        self.places.get(&FrameVariable::of_slot(slot)).copied()
    }

    /// The cell of a piece of a parameter.
    #[must_use]
    pub(super) fn cell_of_param(&self, number: u16, offset: i32) -> Option<Cell> {
        self.places
            .get(&FrameVariable::Param(u32::from(number), offset))
            .copied()
    }

    /// The cell of a piece of the return value.
    #[must_use]
    pub(super) fn cell_of_result(&self, offset: i32) -> Option<Cell> {
        self.places.get(&FrameVariable::Result(offset)).copied()
    }

    /// The same slice with all cells in the states.
    fn with_cells_in_states(&self) -> Self {
        let mut slice = Self {
            registers: vec![None; self.registers.len()],
            keys: self.keys.clone(),
            flowing: self.keys.len() as u32,
            steps: self.steps.clone(),
            escaping: self.escaping.clone(),
            ..Self::default()
        };
        for (&key, number) in self.keys.iter().zip(0..) {
            slice.places.insert(key, Cell::Flowing(number));
            if let FrameVariable::Own(Variable::Register(register)) = key {
                slice.registers[register.index()] = Some(Cell::Flowing(number));
            }
        }
        slice
    }

    /// The pieces of parameters that have cells.
    pub(super) fn param_cells(&self) -> impl Iterator<Item = (u32, i32, Cell)> + '_ {
        self.keys.iter().filter_map(|key| match key {
            FrameVariable::Param(number, offset) => Some((*number, *offset, self.places[key])),
            _ => None,
        })
    }
}

/// The slices of the functions that the analysis of a module visits. They decide which calls it follows.
pub(super) struct Slices {
    of: Vec<Option<Slice>>,
    /// The slices include the addresses of loads and stores in memory that threads share, and the stored values.
    pub has_addresses: bool,
}

impl Slices {
    /// Slices of all functions in `visited`; only calls among these are followed.
    #[must_use]
    pub(super) fn new(module: &Shared<'_>, visited: &[bool]) -> Self {
        Self::build(module, visited, false)
    }

    /// The same, including the addresses of loads and stores that may be in memory that threads share, and the stored
    /// values.
    #[must_use]
    pub(super) fn with_addresses(module: &Shared<'_>, visited: &[bool]) -> Self {
        Self::build(module, visited, true)
    }

    fn build(module: &Shared<'_>, visited: &[bool], has_addresses: bool) -> Self {
        let mut search = SliceSearch {
            module,
            visited,
            of: visited.iter().map(|&is| is.then(Slice::default)).collect(),
            queue: Vec::new(),
            pointed: FxHashSet::default(),
            open: Vec::new(),
            left: MAX_SLICE_REGISTERS * 64,
        };
        for (id, _, body) in module.module.bodies() {
            if visited[id.index()] {
                search.of[id.index()] = Some(Slice {
                    registers: vec![None; body.registers.len()],
                    ..Slice::default()
                });
                search.add_seeds(id, body);
                if has_addresses {
                    search.add_address_seeds(id, body);
                }
            }
        }
        loop {
            if module.deadline.is_over_at_step() {
                break;
            }
            if let Some((function, key)) = search.queue.pop() {
                search.follow_definitions(function, key);
            } else if let Some(pointed) = search.open.pop() {
                search.follow_object(pointed);
            } else {
                break;
            }
        }
        let mut of = search.of;
        for (id, _, body) in module.module.bodies() {
            if let Some(slice) = &mut of[id.index()] {
                place_cells(module, id, body, slice);
            }
        }
        Self { of, has_addresses }
    }

    /// The slices of some functions, with all cells in the states.
    #[must_use]
    pub(super) fn with_cells_in_states(&self, functions: impl Iterator<Item = FunctionId>) -> Self {
        let mut of: Vec<Option<Slice>> = self.of.iter().map(|_| None).collect();
        for function in functions {
            if let (None, Some(slice)) = (&of[function.index()], self.slice_of(function)) {
                of[function.index()] = Some(slice.with_cells_in_states());
            }
        }
        Self {
            of,
            has_addresses: self.has_addresses,
        }
    }

    /// The slice of a function.
    #[must_use]
    pub(super) fn slice_of(&self, function: FunctionId) -> Option<&Slice> {
        self.of.get(function.index())?.as_ref()
    }
}

struct SliceSearch<'a, 'm> {
    module: &'a Shared<'m>,
    visited: &'a [bool],
    of: Vec<Option<Slice>>,
    queue: Vec<(FunctionId, FrameVariable)>,
    /// The requested bytes of the objects that pointer parameters address.
    pointed: FxHashSet<PointedBytes>,
    open: Vec<PointedBytes>,
    left: usize,
}

/// Bytes that a pointer parameter of a function points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PointedBytes {
    function: FunctionId,
    param: ParamPiece,
    offset: i64,
    count: u32,
    /// Requested because the caller's value is read after the function may have written it, not because the function reads
    /// it.
    is_written: bool,
}

impl SliceSearch<'_, '_> {
    fn add_cell(&mut self, function: FunctionId, key: FrameVariable) {
        let Some(slice) = &mut self.of[function.index()] else {
            return;
        };
        if self.left == 0 {
            return;
        }
        if let std::collections::hash_map::Entry::Vacant(entry) = slice.places.entry(key) {
            entry.insert(Cell::Flowing(0));
            slice.keys.push(key);
            self.queue.push((function, key));
            self.left -= 1;
        }
    }

    fn add_value(&mut self, function: FunctionId, value: Value) {
        if let Value::Register(register) | Value::Not(register) = value {
            self.add_cell(function, FrameVariable::of_register(register));
        }
    }

    fn add_seeds(&mut self, function: FunctionId, body: &Body<'_>) {
        for instruction in &body.instructions {
            let uses = body.uses(instruction);
            let decides = match instruction.op {
                Op::Branch | Op::Return | Op::Exit | Op::Trap | Op::Call(_) => true,
                Op::BranchTable => {
                    uses.iter().for_each(|&value| self.add_value(function, value));
                    true
                }
                Op::Barrier(_) => {
                    uses.iter()
                        .take(2)
                        .for_each(|&value| self.add_value(function, value));
                    true
                }
                Op::Collective(kind, _) => {
                    let looked_at: &[usize] = match kind {
                        Collective::Shuffle(_) => &[0, 2, 3],
                        Collective::Vote(Vote::Ballot) => &[0, 1],
                        _ => &[0],
                    };
                    for value in looked_at.iter().filter_map(|&place| uses.get(place)) {
                        self.add_value(function, *value);
                    }
                    true
                }
                _ => false,
            };
            if let (true, Some(guard)) = (decides, instruction.guard) {
                self.add_cell(function, FrameVariable::of_register(guard.register));
            }
        }
    }

    fn add_address_seeds(&mut self, function: FunctionId, body: &Body<'_>) {
        for instruction in &body.instructions {
            let Op::Access(access) = instruction.op else {
                continue;
            };
            let is_plain = matches!(access.kind, AccessKind::Load | AccessKind::Store);
            let used = match access.space {
                Space::Shared | Space::Global | Space::Generic if is_plain => body.uses(instruction),
                // The operands of atomics are not compared.
                Space::Shared | Space::Generic if access.kind.is_atomic() => {
                    body.uses(instruction).get(..1).unwrap_or(&[])
                }
                Space::Shared if access.kind == AccessKind::Other && body.has_async(AsyncKinds::COPY) => {
                    body.uses(instruction).get(..1).unwrap_or(&[])
                }
                _ => continue,
            };
            for &value in used {
                self.add_value(function, value);
            }
            if let Some(guard) = instruction.guard {
                self.add_cell(function, FrameVariable::of_register(guard.register));
            }
        }
    }

    fn follow_definitions(&mut self, function: FunctionId, key: FrameVariable) {
        let module = self.module;
        let Some(body) = module.module.function(function).body.as_ref() else {
            return;
        };
        let analyses = module.function(function);
        match key {
            FrameVariable::Own(Variable::Register(register)) => {
                for &definition in analyses.definitions().writers_of(register) {
                    self.follow_definition(function, body, analyses.slots(), definition);
                }
            }
            FrameVariable::Own(Variable::Slot(slot)) => {
                let slots = analyses.slots();
                for wide in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
                    for &store in slots.stores_to(wide) {
                        let instruction = body.instruction(store);
                        if let Some(guard) = instruction.guard {
                            self.add_cell(function, FrameVariable::of_register(guard.register));
                        }
                        if let Some(&value) = body.uses(instruction).get(2) {
                            self.add_value(function, value);
                        }
                    }
                }
                let own = slots.slots[slot as usize];
                for passed in slots.writing_calls(slot) {
                    self.request_written_values(passed, own.offset, own.bytes);
                }
            }
            FrameVariable::Param(number, offset) => {
                for site in module.call_graph().calls_to(function) {
                    let Some(caller) = module.module.function(site.caller).body.as_ref() else {
                        continue;
                    };
                    if !self.visited[site.caller.index()] {
                        continue;
                    }
                    let Op::Call(call) = caller.instruction(site.instruction).op else {
                        continue;
                    };
                    for argument in caller.arguments(caller.call(call)) {
                        if argument.param == number && i32::try_from(argument.offset) == Ok(offset) {
                            self.add_value(site.caller, argument.value);
                        }
                    }
                }
            }
            FrameVariable::Result(offset) => {
                for instruction in &body.instructions {
                    if let Some((at, value)) = body.returned(instruction)
                        && at == offset
                    {
                        if let Some(guard) = instruction.guard {
                            self.add_cell(function, FrameVariable::of_register(guard.register));
                        }
                        self.add_value(function, value);
                    }
                }
            }
        }
    }

    fn add_pointed_object(&mut self, pointed: PointedBytes) {
        if self.left > 0 && self.of[pointed.function.index()].is_some() && self.pointed.insert(pointed) {
            self.left -= 1;
            self.open.push(pointed);
        }
    }

    /// Requests the values that a callee may write to `count` bytes at an offset from the base of an address that it is
    /// passed.
    fn request_written_values(&mut self, passed: &PassedAddress, offset: i64, count: u32) {
        if let Some(offset) = offset.checked_sub(passed.offset) {
            self.add_pointed_object(PointedBytes {
                function: passed.callee,
                param: passed.param,
                offset,
                count,
                is_written: true,
            });
        }
    }

    /// Bytes that a function reads through a parameter are in slots of its callers; bytes that it may write there are stored
    /// by it or by its callees.
    fn follow_object(&mut self, pointed: PointedBytes) {
        let module = self.module;
        if pointed.is_written {
            self.follow_writers(pointed);
            return;
        }
        for site in module.call_graph().calls_to(pointed.function) {
            if !self.visited[site.caller.index()] {
                continue;
            }
            let slots = module.function(site.caller).slots();
            let handed_on = module
                .param_use(site.caller)
                .map_or(&[][..], |used| used.passed_addresses());
            let own = addresses_passed_by(&slots.passed, site.instruction);
            for passed in own.iter().chain(addresses_passed_by(handed_on, site.instruction)) {
                if passed.param != pointed.param {
                    continue;
                }
                let Some(offset) = pointed.offset.checked_add(passed.offset) else {
                    continue;
                };
                match passed.base {
                    SlotBase::Symbol(symbol) => {
                        if let Some(slot) = slots.slot_at(symbol, offset, pointed.count) {
                            self.add_cell(site.caller, FrameVariable::of_slot(slot));
                        }
                    }
                    SlotBase::Param(param) => self.add_pointed_object(PointedBytes {
                        function: site.caller,
                        param,
                        offset,
                        ..pointed
                    }),
                }
            }
        }
    }

    fn follow_writers(&mut self, pointed: PointedBytes) {
        let module = self.module;
        let (Some(body), Some(used)) = (
            module.module.function(pointed.function).body.as_ref(),
            module.param_use(pointed.function),
        ) else {
            return;
        };
        let end = pointed.offset.saturating_add(i64::from(pointed.count));
        for (id, param, offset, count) in used.accesses_through_params() {
            let instruction = body.instruction(id);
            let overlaps = offset < end && offset.saturating_add(i64::from(count)) > pointed.offset;
            let is_store = matches!(instruction.op, Op::Access(access) if access.kind == AccessKind::Store);
            if param != pointed.param || !overlaps || !is_store {
                continue;
            }
            if let Some(guard) = instruction.guard {
                self.add_cell(pointed.function, FrameVariable::of_register(guard.register));
            }
            if let Some(&value) = body.uses(instruction).get(2) {
                self.add_value(pointed.function, value);
            }
        }
        for passed in used.passed_addresses() {
            if passed.base == SlotBase::Param(pointed.param) {
                self.request_written_values(passed, pointed.offset, pointed.count);
            }
        }
    }

    fn follow_definition(
        &mut self,
        function: FunctionId,
        body: &Body<'_>,
        slots: &Slots,
        definition: InstructionId,
    ) {
        let instruction = body.instruction(definition);
        if let Some(guard) = instruction.guard {
            self.add_cell(function, FrameVariable::of_register(guard.register));
        }
        let uses = body.uses(instruction);
        match instruction.op {
            op if is_interpreted(op) || matches!(op, Op::ToGeneric(..) | Op::FromGeneric(..)) => {
                uses.iter().for_each(|&value| self.add_value(function, value));
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                if let Effect::Load(slot) = slots.effect_on_slots(definition, instruction) {
                    self.add_cell(function, FrameVariable::of_slot(slot));
                } else if let Some(used) = self.module.param_use(function)
                    && let Some((param, offset, count)) = used.access_through_param(definition)
                {
                    self.add_pointed_object(PointedBytes {
                        function,
                        param,
                        offset,
                        count,
                        is_written: false,
                    });
                    uses.iter()
                        .take(1)
                        .for_each(|&value| self.add_value(function, value));
                } else if let Some((number, offset)) = body.loaded_param(instruction) {
                    if !self.module.module.function(function).is_kernel() {
                        self.add_cell(function, FrameVariable::Param(u32::from(number), offset));
                    }
                } else if !access.is_volatile() {
                    uses.iter()
                        .take(1)
                        .for_each(|&value| self.add_value(function, value));
                }
            }
            // Values that lanes exchange.
            Op::Collective(Collective::Shuffle(_) | Collective::Match(..) | Collective::Vote(_), _) => {
                uses.iter()
                    .skip(1)
                    .take(1)
                    .for_each(|&value| self.add_value(function, value));
            }
            Op::CallResult(call) => {
                if let Some(callee) = self.direct_callee(body, call)
                    && let [Value::Integer(offset), ..] = uses
                    && let Ok(offset) = i32::try_from(*offset)
                {
                    self.add_cell(callee, FrameVariable::Result(offset));
                }
            }
            _ => {}
        }
    }

    fn direct_callee(&self, body: &Body<'_>, call: InstructionId) -> Option<FunctionId> {
        let Some(Callee::Direct(symbol)) = body.callee(body.instruction(call)) else {
            return None;
        };
        self.module.module.called(symbol)
    }
}

/// Decides where cells are kept, and lists the instructions that write them.
fn place_cells(module: &Shared<'_>, function: FunctionId, body: &Body<'_>, slice: &mut Slice) {
    let analyses = module.function(function);
    let (definitions, slots) = (analyses.definitions(), analyses.slots());
    let mut returns: FxHashMap<i32, (u32, bool)> = FxHashMap::default();
    let escaping = slice.keys.iter().filter_map(|key| match key {
        FrameVariable::Own(Variable::Slot(slot)) if slots.escapes(*slot) => Some(*slot),
        _ => None,
    });
    slice.escaping = escaping.collect();
    let used = module.param_use(function);
    let writes_object = |id: InstructionId, op: Op| match op {
        Op::Access(access) if access.kind == AccessKind::Store => {
            used.is_some_and(|used| used.access_through_param(id).is_some())
        }
        Op::Call(_) => used.is_some_and(|used| !addresses_passed_by(used.passed_addresses(), id).is_empty()),
        _ => false,
    };
    for (number, instruction) in body.instructions.iter().enumerate() {
        let id = InstructionId::new(number);
        let mut writes = body
            .defined(instruction)
            .any(|register| slice.places.contains_key(&FrameVariable::of_register(register)));
        if let Some((offset, _)) = body.returned(instruction)
            && slice.places.contains_key(&FrameVariable::Result(offset))
        {
            let entry = returns.entry(offset).or_default();
            entry.0 += 1;
            entry.1 |= instruction.guard.is_some();
            writes = true;
        }
        match slots.effect_on_slots(id, instruction) {
            Effect::Store(slot) | Effect::Spoil(slot) => writes |= overlaps_sliced_slot(slice, slots, slot),
            Effect::SpoilEscaped => writes |= !slice.escaping.is_empty(),
            Effect::Load(_) | Effect::None => {}
        }
        if writes || writes_object(id, instruction.op) {
            slice.steps.push(id);
        }
    }
    for &key in &slice.keys {
        let is_single = match key {
            FrameVariable::Own(Variable::Register(register)) => {
                definitions.only_writer(body, register).is_some()
            }
            FrameVariable::Own(Variable::Slot(slot)) => slots.only_store(body, slot).is_some(),
            FrameVariable::Param(..) => true,
            FrameVariable::Result(offset) => returns.get(&offset) == Some(&(1, false)),
        };
        let place = if is_single {
            slice.singles += 1;
            Cell::Single(slice.singles - 1)
        } else {
            slice.flowing += 1;
            Cell::Flowing(slice.flowing - 1)
        };
        slice.places.insert(key, place);
        if let FrameVariable::Own(Variable::Register(register)) = key {
            slice.registers[register.index()] = Some(place);
        }
    }
}

fn overlaps_sliced_slot(slice: &Slice, slots: &Slots, slot: SlotId) -> bool {
    std::iter::once(slot)
        .chain(slots.slots_overlapping(slot))
        .any(|slot| slice.places.contains_key(&FrameVariable::of_slot(slot)))
}
