//! Transfer of the instructions of a node: the values that they write into cells.

use super::super::graph::{Context, NONE, NodeKind, is_full_barrier};
use super::super::meaning::{Around, Name};
use super::super::rounding::rounded_number_and_divisor;
use super::super::slice::Cell;
use super::super::transfer::{self, Application, MAX_USES};
use super::super::value::{ALL, Lanes, Rest, ValueId, Vector, lanes_in_set};
use super::{Flow, State};
use crate::limits::LANE_ROUNDS_TO_WIDEN;
use crate::slots::{Effect, Slot, SlotId};
use ptxcheck_ir::evaluate::{is_interpreted, ones};
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Instruction, InstructionId, Logic, MemberMask, Op, Register, Space, Value,
};

// Marks the keys of unknown instruction results ([`Application::key`]).
const PARAM: u64 = 1 << 62;
const LASTING: u64 = 1 << 61;
const WINDOW: u64 = 1 << 60;
const GUARDED: u64 = 0x1000;
const CUT: u64 = 0x2000;
const SLOT: u64 = 0x4000;
const RESULT: u64 = 0x8000;
// A part of a result.
const QUOTIENT: u64 = 1 << 41;

impl Flow<'_> {
    pub(super) fn run_steps(&mut self, node: u32, here: Lanes, state: &mut State, round: usize) {
        let graph = self.graph;
        let current = &graph.nodes[node as usize];
        let context = graph.context_of_node(node);
        if let NodeKind::Enter(callee) = current.kind {
            self.pass_arguments(node, callee, state);
        }
        for &step in context.steps_of_node(current) {
            self.run_step(node, here, state, step, round);
        }
    }

    fn pass_arguments(&mut self, node: u32, callee: u32, state: &mut State) {
        let graph = self.graph;
        let context = graph.context_of_node(node);
        let instruction = context.body.instruction(graph.instruction_of_node(node));
        let Op::Call(call) = instruction.op else { return };
        let inner = &graph.contexts[callee as usize];
        for (number, offset, place) in inner.slice.param_cells() {
            let passed = context
                .body
                .arguments(context.body.call(call))
                .iter()
                .find(|argument| argument.param == number && i32::try_from(argument.offset) == Ok(offset))
                .map(|argument| argument.value);
            let value = match passed {
                Some(value) => self.operand_value(node, state, value),
                None => ValueId::UNKNOWN,
            };
            match place {
                Cell::Single(cell) => self.set_single_cell(inner.singles + cell, value, node),
                Cell::Flowing(cell) => state.set((inner.flowing + cell) as usize, value),
            }
        }
    }

    pub(super) fn run_step(
        &mut self,
        node: u32,
        here: Lanes,
        state: &mut State,
        step: InstructionId,
        round: usize,
    ) {
        let context = self.graph.context_of_node(node);
        let (body, slice) = (context.body, context.slice);
        let instruction = body.instruction(step);
        let around = match self.order.loop_of[node as usize] {
            _ if self.order.is_in_or_before_irreducible_loop(node) => Around::Unknown,
            NONE => Around::Nothing,
            of => Around::Loop(of),
        };
        let identity = u64::from(self.graph.nodes[node as usize].context) << 32 | step.index() as u64;
        let site = |part: u64| Application {
            here,
            key: (identity, part << 48),
            around,
        };
        let guard = instruction.guard.map(|guard| {
            let value = self.guard_value(node, state, guard.register, guard.negated);
            (value, site(GUARDED))
        });
        for (number, result) in body.results(instruction).iter().enumerate() {
            let Value::Register(register) = *result else {
                continue;
            };
            let Some(place) = slice.cell_of_register(register) else {
                continue;
            };
            let mut value = self.result_value(node, state, step, instruction, number, site(number as u64));
            let bits = body.registers.bits(register);
            if (1..64).contains(&bits) {
                value = self.cut_to_width(value, bits, site(CUT + number as u64));
            }
            value = self.named_result(value, site(RESULT + number as u64));
            if round >= LANE_ROUNDS_TO_WIDEN
                && let Cell::Single(cell) = place
            {
                let old = self.singles[(context.singles + cell) as usize];
                if old != ValueId::NONE && old != value {
                    value = ValueId::UNKNOWN;
                }
            }
            self.write_cell(node, state, place, value, guard);
        }
        if let Some((offset, value)) = body.returned(instruction)
            && let Some(place) = slice.cell_of_result(offset)
        {
            let value = self.operand_value(node, state, value);
            self.write_cell(node, state, place, value, guard);
        }
        self.apply_slot_effect(node, state, step, instruction, guard, site(SLOT));
    }

    /// Names a result that has no name yet; the thread number, if that is its meaning.
    fn named_result(&mut self, value: ValueId, site: Application) -> ValueId {
        let vector = self.pool.get(value);
        let (name, is_known) = (vector.name, vector.exact == ALL);
        match &mut self.pool.meanings {
            Some(meanings) if !is_known && meanings.is_thread_rank(name) => {
                let rank = self.launch.thread_rank(&mut self.pool);
                self.pool.with_name(rank, name)
            }
            Some(meanings) if !is_known && name == Name::NONE => {
                let name = meanings.result_name(site.key, site.around);
                self.pool.with_name(value, name)
            }
            _ => value,
        }
    }

    pub(super) fn guard_value(
        &mut self,
        node: u32,
        state: &State,
        register: Register,
        negated: bool,
    ) -> ValueId {
        let value = if negated {
            Value::Not(register)
        } else {
            Value::Register(register)
        };
        self.operand_value(node, state, value)
    }

    /// Cuts exact values to the width of their register.
    pub(super) fn cut_to_width(&mut self, value: ValueId, bits: u8, site: Application) -> ValueId {
        if value == ValueId::NONE {
            return ValueId::UNKNOWN;
        }
        let width = ones(bits);
        let vector = self.pool.get(value);
        if lanes_in_set(vector.exact).all(|lane| vector.bits[lane] <= width)
            && (vector.exact == ALL || vector.low <= bits)
        {
            return value;
        }
        let cut = Op::Convert {
            from: bits,
            signed: false,
            to: bits,
        };
        transfer::apply_op(&mut self.pool, cut, &[value], site)
    }

    fn apply_slot_effect(
        &mut self,
        node: u32,
        state: &mut State,
        step: InstructionId,
        instruction: &Instruction,
        guard: Option<(ValueId, Application)>,
        site: Application,
    ) {
        let graph = self.graph;
        let context = graph.context_of_node(node);
        if let Op::Access(access) = instruction.op
            && access.kind != AccessKind::Load
            && let Some((owner, slot)) = graph.accessed_slot(node, step)
        {
            // No object of another frame is at this address.
            if access.kind == AccessKind::Store && access.count == 1 {
                let stored = context.body.stored(instruction).unwrap_or(Value::Unknown);
                let value = self.operand_value(node, state, stored);
                self.store_to_slot(node, state, (owner, slot), value, guard, site);
            } else {
                self.overwrite_slot_with_unknown(node, state, (owner, slot));
            }
            return;
        }
        let is_opaque_call = matches!(instruction.op, Op::Call(_))
            && !matches!(graph.nodes[node as usize].kind, NodeKind::Enter(_));
        let slots = self.module.function(context.function).slots();
        match slots.effect_on_slots(step, instruction) {
            Effect::Store(slot) => {
                let stored = context.body.stored(instruction).unwrap_or(Value::Unknown);
                let value = self.operand_value(node, state, stored);
                self.store_to_slot(node, state, (context, slot), value, guard, site);
            }
            Effect::Spoil(slot) => self.overwrite_slot_with_unknown(node, state, (context, slot)),
            Effect::SpoilEscaped => {
                // Accesses of a callee through addresses that it is passed are seen in the callee, if its code is followed.
                for &slot in &context.slice.escaping {
                    if let Some(place) = context.slice.cell_of_slot(slot)
                        && (slots.may_be_written_elsewhere(slot) || is_opaque_call)
                    {
                        self.write_cell_in_context(
                            (context.singles, context.flowing),
                            node,
                            state,
                            place,
                            ValueId::UNKNOWN,
                            None,
                        );
                    }
                }
            }
            Effect::Load(_) | Effect::None => {}
        }
        if is_opaque_call {
            for &(owner, symbol) in graph.objects.passed_objects(context.home, step) {
                let owner = &graph.contexts[owner as usize];
                let slots = self.module.function(owner.function).slots();
                for place in slots
                    .slots_of_symbol(symbol)
                    .filter_map(|slot| owner.slice.cell_of_slot(slot))
                {
                    self.write_cell_in_context(
                        (owner.singles, owner.flowing),
                        node,
                        state,
                        place,
                        ValueId::UNKNOWN,
                        None,
                    );
                }
            }
        }
    }

    /// A store of a value to a slot of a context, which may be that of a caller.
    fn store_to_slot(
        &mut self,
        node: u32,
        state: &mut State,
        (owner, slot): (&Context<'_>, SlotId),
        value: ValueId,
        guard: Option<(ValueId, Application)>,
        site: Application,
    ) {
        let slots = self.module.function(owner.function).slots();
        if let Some(place) = owner.slice.cell_of_slot(slot) {
            let bits = (slots.slots[slot as usize].bytes * 8).min(64) as u8;
            let value = if bits < 64 {
                self.cut_to_width(value, bits, site)
            } else {
                value
            };
            self.write_cell_in_context((owner.singles, owner.flowing), node, state, place, value, guard);
        }
        for other in slots.slots_overlapping(slot) {
            let Some(place) = owner.slice.cell_of_slot(other) else {
                continue;
            };
            let value = self.piece_of_stored_value(
                &slots.slots[slot as usize],
                &slots.slots[other as usize],
                value,
                site,
            );
            self.write_cell_in_context((owner.singles, owner.flowing), node, state, place, value, guard);
        }
    }

    /// An unknown write to a slot of a context, which may be the context of a caller.
    fn overwrite_slot_with_unknown(
        &mut self,
        node: u32,
        state: &mut State,
        (owner, slot): (&Context<'_>, SlotId),
    ) {
        let slots = self.module.function(owner.function).slots();
        for slot in std::iter::once(slot).chain(slots.slots_overlapping(slot)) {
            if let Some(place) = owner.slice.cell_of_slot(slot) {
                self.write_cell_in_context(
                    (owner.singles, owner.flowing),
                    node,
                    state,
                    place,
                    ValueId::UNKNOWN,
                    None,
                );
            }
        }
    }

    /// Value of a slot that lies inside another one, after a store to the latter: memory is little-endian.
    fn piece_of_stored_value(
        &mut self,
        stored: &Slot,
        inner: &Slot,
        value: ValueId,
        site: Application,
    ) -> ValueId {
        let from = inner.offset - stored.offset;
        if from < 0 || from + i64::from(inner.bytes) > i64::from(stored.bytes) || stored.bytes > 8 {
            return ValueId::UNKNOWN;
        }
        let by = self.pool.splat(from as u64 * 8);
        let part = |number| Application {
            key: (site.key.0, site.key.1 | number << 32),
            ..site
        };
        let shift = Op::Binary(BinaryOp::ShrUnsigned, 64);
        let whole = self.cut_to_width(value, (stored.bytes * 8) as u8, part(2));
        let shifted = transfer::apply_op(&mut self.pool, shift, &[whole, by], part(3));
        self.cut_to_width(shifted, (inner.bytes * 8) as u8, part(4 + from as u64))
    }

    fn result_value(
        &mut self,
        node: u32,
        state: &State,
        step: InstructionId,
        instruction: &Instruction,
        part: usize,
        site: Application,
    ) -> ValueId {
        let context = self.graph.context_of_node(node);
        let uses = context.body.uses(instruction);
        match instruction.op {
            Op::Binary(BinaryOp::Sub, bits)
                if let Some((number, divisor)) = rounded_number_and_divisor(
                    context.body,
                    self.module.function(context.function).definitions(),
                    step,
                ) =>
            {
                self.rounded_down_value(node, state, bits, (number, divisor), site)
            }
            op if is_interpreted(op) => self.operation_result(node, state, op, uses, part, site),
            Op::Access(access) if access.kind == AccessKind::Load => {
                let slots = self.module.function(context.function).slots();
                if let Effect::Load(slot) = slots.effect_on_slots(step, instruction) {
                    return match context.slice.cell_of_slot(slot) {
                        Some(place) => {
                            self.loaded_slot_value(node, state, place, context.body, instruction, site)
                        }
                        None => ValueId::UNKNOWN,
                    };
                }
                if let Some((owner, slot)) = self.graph.accessed_slot(node, step) {
                    let place = owner.slice.cell_of_slot(slot).filter(|_| access.count == 1);
                    let value = place.map_or(ValueId::UNKNOWN, |place| {
                        self.cell_value_in_context(node, state, place, owner.singles, owner.flowing)
                    });
                    return self.loaded_part(context.body, instruction, part, value, site);
                }
                if let (Space::Param, &[Value::Param(number, offset), Value::Integer(0), ..]) =
                    (access.space, uses)
                {
                    if context.caller.is_some() {
                        let place = context
                            .slice
                            .cell_of_param(number, offset)
                            .filter(|_| access.count == 1);
                        return match place {
                            Some(place) => self.cell_value(node, state, place),
                            None => ValueId::UNKNOWN,
                        };
                    }
                    let is_kernel = self.module.module.function(context.function).is_kernel();
                    let piece = offset as u64 + part as u64 * u64::from(access.bits / 8);
                    let key = (PARAM | u64::from(number), piece);
                    let fixed = self
                        .fixed
                        .param_content(number, piece, access.bits)
                        .filter(|_| is_kernel);
                    let passed = match fixed {
                        Some(fixed) => self.pool.splat(fixed),
                        None if is_kernel => {
                            let passed = self.pool.unknown_uniform(key, 0);
                            self.pool.mark_block_uniform(passed);
                            let name = self
                                .pool
                                .meanings
                                .as_mut()
                                .map(|meanings| meanings.readonly_value_name(key));
                            self.pool.with_name(passed, name.unwrap_or_default())
                        }
                        None => ValueId::UNKNOWN,
                    };
                    return self.loaded_part(context.body, instruction, part, passed, site);
                }
                let number = self.graph.nodes[node as usize].context;
                if part == 0
                    && let Some(values) = self.fixed.loaded_values(number, step)
                {
                    return self.pool.intern(Vector::of_exact(values));
                }
                if access.is_volatile() || matches!(access.space, Space::Local | Space::Param) {
                    return ValueId::UNKNOWN;
                }
                let address = uses.first().copied().unwrap_or(Value::Unknown);
                let address = self.operand_value(node, state, address);
                let is_one = self.pool.get(address).is_uniform_among(site.here)
                    && uses
                        .get(1)
                        .is_some_and(|offset| matches!(offset, Value::Integer(_)));
                let loaded = if is_one {
                    let lasting = context
                        .caller
                        .is_none()
                        .then(|| self.lasting.readonly_param_of_load(instruction));
                    let key = match lasting.flatten() {
                        // The value is the same at every load.
                        Some((param, at)) => {
                            let piece = at as u64 + part as u64 * u64::from(access.bits / 8);
                            (LASTING | u64::from(param) << 8 | u64::from(access.bits), piece)
                        }
                        None => site.key,
                    };
                    self.pool.unknown_uniform(key, 0)
                } else {
                    ValueId::UNKNOWN
                };
                self.loaded_part(context.body, instruction, part, loaded, site)
            }
            Op::Collective(kind, MemberMask::Operand) => {
                self.collective_result(node, state, kind, uses, part, site)
            }
            // All threads of the block get the same (PTX ISA, bar.red).
            Op::Barrier(_) if is_full_barrier(instruction) => self.pool.unknown_uniform(site.key, 0),
            Op::ActiveMask => {
                let name = self.pool.number_of_unknown(site.key);
                self.active.insert(name, node);
                // The mask names no lane that does not reach this node.
                let mut mask = Vector::UNKNOWN.restricted_to_lane_set(site.here);
                mask.rest = Rest::Active(name);
                self.pool.intern(mask)
            }
            Op::CallResult(call) => self.call_result(node, state, call, uses),
            // A window may lie at any address, but at the same address for all lanes (PTX ISA, Generic Addressing).
            Op::ToGeneric(space, bits) if part == 0 => {
                self.converted_address(node, state, (BinaryOp::Add, bits), uses, space, site)
            }
            Op::FromGeneric(space, bits) if part == 0 => {
                self.converted_address(node, state, (BinaryOp::Sub, bits), uses, space, site)
            }
            _ => ValueId::UNKNOWN,
        }
    }

    /// A number that is rounded down to a multiple: treated as a product, with the trailing zeros of the divisor.
    fn rounded_down_value(
        &mut self,
        node: u32,
        state: &State,
        bits: u8,
        (number, divisor): (Value, Value),
        site: Application,
    ) -> ValueId {
        let (number, divisor) = (
            self.operand_value(node, state, number),
            self.operand_value(node, state, divisor),
        );
        let part = |part: u64| Application {
            key: (site.key.0, site.key.1 | part),
            ..site
        };
        let divide = Op::Binary(BinaryOp::DivUnsigned, bits);
        let quotient = transfer::apply_op(&mut self.pool, divide, &[number, divisor], part(QUOTIENT));
        let multiply = Op::Binary(BinaryOp::MulLow, bits);
        transfer::apply_op(&mut self.pool, multiply, &[quotient, divisor], site)
    }

    /// The value number of the unknown address in a parameter of the kernel.
    pub(in crate::lanes) fn param_address_number(&mut self, param: u16) -> u32 {
        self.pool.number_of_unknown((PARAM | u64::from(param), 0))
    }

    /// An address after the base of the window of a space has been added or subtracted.
    fn converted_address(
        &mut self,
        node: u32,
        state: &State,
        (op, bits): (BinaryOp, u8),
        uses: &[Value],
        space: Space,
        site: Application,
    ) -> ValueId {
        let Some(&address) = uses.first() else {
            return ValueId::UNKNOWN;
        };
        let address = self.operand_value(node, state, address);
        if self.pool.follows_addresses {
            // The same offset in the same variable.
            return address;
        }
        let window = self.pool.unknown_uniform((WINDOW, space as u64), 0);
        transfer::apply_op(&mut self.pool, Op::Binary(op, bits), &[address, window], site)
    }

    /// Value that a load reads from a slot: a narrow load leaves zeros, or copies of the sign, above.
    fn loaded_slot_value(
        &mut self,
        node: u32,
        state: &State,
        place: Cell,
        body: &Body<'_>,
        instruction: &Instruction,
        site: Application,
    ) -> ValueId {
        let value = self.cell_value(node, state, place);
        let target = body.defined(instruction).next();
        self.loaded_value_in_register(body, instruction, target, value, site)
    }

    /// The value that a load of `value` leaves in its result register number `part`.
    fn loaded_part(
        &mut self,
        body: &Body<'_>,
        instruction: &Instruction,
        part: usize,
        value: ValueId,
        site: Application,
    ) -> ValueId {
        let target = body.results(instruction).get(part);
        let target = target.and_then(|target| target.register());
        self.loaded_value_in_register(body, instruction, target, value, site)
    }

    /// Value that a load of `value` leaves in the register `target`.
    fn loaded_value_in_register(
        &mut self,
        body: &Body<'_>,
        instruction: &Instruction,
        target: Option<Register>,
        value: ValueId,
        site: Application,
    ) -> ValueId {
        let Op::Access(access) = instruction.op else {
            return ValueId::UNKNOWN;
        };
        let target = target.map(|register| body.registers.bits(register));
        let extension = access.extension(target.filter(|&bits| bits > 0).unwrap_or(64));
        if extension == Op::Copy {
            return value;
        }
        transfer::apply_op(&mut self.pool, extension, &[value], site)
    }

    fn operation_result(
        &mut self,
        node: u32,
        state: &State,
        op: Op,
        uses: &[Value],
        number: usize,
        site: Application,
    ) -> ValueId {
        let mut values = [ValueId::UNKNOWN; MAX_USES];
        if uses.len() > MAX_USES {
            return ValueId::UNKNOWN;
        }
        for (value, &operand) in values.iter_mut().zip(uses) {
            *value = self.operand_value(node, state, operand);
        }
        let values = &values[..uses.len()];
        if self.pool.follows_addresses
            && let (Op::Convert { from, to, .. }, [address]) = (op, values)
            && let Some(converted) = self.address_of_width(*address, (from, to))
        {
            return converted;
        }
        match op {
            Op::Unpack(bits) => {
                let start = self.pool.splat(number as u64 * u64::from(bits));
                let length = self.pool.splat(u64::from(bits));
                let extract = Op::ExtractBits(64, false);
                transfer::apply_op(&mut self.pool, extract, &[values[0], start, length], site)
            }
            // The second result of a comparison is the complement, combined with the third operand in the same way.
            Op::Compare(_, _, logic) if number == 1 => {
                if logic != Logic::None {
                    return ValueId::UNKNOWN;
                }
                let outcome = transfer::apply_op(&mut self.pool, op, values, site);
                self.negation_of(outcome)
            }
            op if number == 0 => transfer::apply_op(&mut self.pool, op, values, site),
            _ => ValueId::UNKNOWN,
        }
    }

    /// An address in shared memory that is converted from one width to the other: no variable lies across the end of what 32 bits
    /// address.
    fn address_of_width(&mut self, address: ValueId, widths: (u8, u8)) -> Option<ValueId> {
        let vector = self.pool.get(address);
        let Rest::Uniform(begin) = vector.rest else {
            return None;
        };
        let (begins, limit) = match widths {
            (32, 64) => (&self.pool.begins, u64::MAX),
            (64, 32) => (&self.pool.shared_begins, u64::from(u32::MAX)),
            _ => return None,
        };
        if vector.exact != 0 || !begins.contains(&begin) {
            return None;
        }
        let mut converted = vector.clone();
        for offset in &mut converted.bits {
            *offset = i64::from(*offset as i32) as u64 & limit;
        }
        (converted.limit, converted.least) = (limit, 0);
        Some(self.pool.intern(converted))
    }

    fn call_result(&mut self, node: u32, state: &State, call: InstructionId, uses: &[Value]) -> ValueId {
        let [Value::Integer(offset), ..] = uses else {
            return ValueId::UNKNOWN;
        };
        let Ok(offset) = i32::try_from(*offset) else {
            return ValueId::UNKNOWN;
        };
        let here = self.graph.nodes[node as usize].context;
        match self
            .graph
            .callee_of(here, call)
            .and_then(|callee| Some((callee, callee.slice.cell_of_result(offset)?)))
        {
            Some((callee, place)) => {
                self.cell_value_in_context(node, state, place, callee.singles, callee.flowing)
            }
            None => ValueId::UNKNOWN,
        }
    }
}
