//! Reads and writes of cells at a node.

use super::super::graph::NONE;
use super::super::slice::Cell;
use super::super::transfer::{self, Application};
use super::super::value::{LaneBits, Rest, ValueId, Vector, WARP, lanes_in_set};
use super::{Flow, State};
use ptxcheck_ir::evaluate::ones;
use ptxcheck_ir::{Op, Register, Space, Special, SymbolId, Value};

// Marks the keys of unknown operand values ([`Application::key`]).
const SPECIAL: u64 = 1 << 30;
const SYMBOL: u64 = 1 << 63;
const NEGATED: u64 = 1 << 61;

impl Flow<'_> {
    pub(super) fn set_single_cell(&mut self, cell: u32, value: ValueId, node: u32) {
        if self.is_read_early[cell as usize] {
            return;
        }
        let place = &mut self.singles[cell as usize];
        self.single_loop[cell as usize] = self.order.loop_of[node as usize];
        if *place != value {
            *place = value;
            for reader in std::mem::take(&mut self.readers[cell as usize]) {
                self.is_dirty[reader as usize] = true;
            }
        }
    }

    /// The value of an operand before the remaining steps of the node; `state` is the state at that point.
    pub(super) fn operand_value(&mut self, node: u32, state: &State, value: Value) -> ValueId {
        match value {
            Value::Integer(value) => self.pool.splat(value as u64),
            Value::Register(register) => self.register_value(node, state, register),
            Value::Not(register) => {
                let id = self.register_value(node, state, register);
                self.negation_of(id)
            }
            Value::Special(special) => {
                if let Some(fixed) = self.fixed.special_register(special) {
                    return self.pool.splat(fixed);
                }
                let site = u64::from(node) << 32 | SPECIAL;
                let value = self.launch.special_register(&mut self.pool, special, site);
                if matches!(special, Special::Ctaid(_) | Special::Nctaid(_) | Special::Ntid(_)) {
                    self.pool.mark_block_uniform(value);
                }
                match &mut self.pool.meanings {
                    Some(meanings) => {
                        let name = meanings.special_register_name(special);
                        self.pool.with_name(value, name)
                    }
                    None => value,
                }
            }
            Value::Symbol(symbol, offset) if self.pool.follows_addresses => {
                let begin = self.base_address_number_of(symbol);
                let offset = i64::from(offset) as u64;
                self.pool
                    .intern(Vector::of_unknown_uniform(begin, 0, [offset; WARP]))
            }
            Value::Symbol(symbol, offset) => {
                let key = (SYMBOL | symbol.index() as u64, offset as u64);
                self.pool.unknown_uniform(key, 0)
            }
            Value::Param(..) | Value::ReturnSlot(..) => self.pool.unknown_uniform((SYMBOL, u64::MAX), 0),
            Value::Unknown => ValueId::UNKNOWN,
        }
    }

    /// The value number of the unknown base address of a variable, where addresses are followed.
    pub(in crate::lanes) fn base_address_number_of(&mut self, symbol: SymbolId) -> u32 {
        let begin = self.pool.number_of_unknown((SYMBOL | symbol.index() as u64, 0));
        self.pool.begins.insert(begin);
        let space = self.module.module.symbol(symbol).space;
        if matches!(space, Space::Shared | Space::Global) {
            self.pool.of_block.insert(begin);
        }
        if space == Space::Shared {
            self.pool.shared_begins.insert(begin);
        }
        begin
    }

    pub(super) fn negation_of(&mut self, id: ValueId) -> ValueId {
        if id == ValueId::NONE {
            return ValueId::UNKNOWN;
        }
        if let Some(&known) = self.pool.negated.get(&id) {
            return known;
        }
        let mut vector = self.pool.get(id).clone();
        for lane in 0..WARP {
            vector.bits[lane] = if vector.exact >> lane & 1 == 1 {
                vector.bits[lane] & 1 ^ 1
            } else {
                0
            };
        }
        (vector.low, vector.least) = (0, 0);
        vector.known = LaneBits::NONE;
        if let Some(meanings) = &mut self.pool.meanings {
            vector.name = meanings.negation_of(vector.name);
        }
        if let Rest::Uniform(number) = vector.rest {
            vector.rest = Rest::Uniform(self.pool.number_of_unknown((NEGATED, u64::from(number))));
        }
        let negated = self.pool.intern(vector);
        self.pool.negated.insert(id, negated);
        negated
    }

    pub(super) fn register_value(&mut self, node: u32, state: &State, register: Register) -> ValueId {
        let context = self.graph.context_of_node(node);
        match context.slice.cell_of_register(register) {
            Some(place) => self.cell_value(node, state, place),
            None => ValueId::UNKNOWN,
        }
    }

    pub(super) fn cell_value(&mut self, node: u32, state: &State, place: Cell) -> ValueId {
        let context = self.graph.context_of_node(node);
        self.cell_value_in_context(node, state, place, context.singles, context.flowing)
    }

    pub(super) fn cell_value_in_context(
        &mut self,
        node: u32,
        state: &State,
        place: Cell,
        singles: u32,
        flowing: u32,
    ) -> ValueId {
        let value = match place {
            Cell::Single(cell) => {
                let cell = (singles + cell) as usize;
                if self.singles[cell] == ValueId::NONE {
                    // Some path reaches this node without passing the definition: the value is unknown.
                    self.singles[cell] = ValueId::UNKNOWN;
                    self.is_read_early[cell] = true;
                }
                let value = self.singles[cell];
                if self.readers[cell].last() != Some(&node) {
                    self.readers[cell].push(node);
                }
                let defined_in = self.single_loop[cell];
                if self.has_divergent_loop
                    && defined_in != NONE
                    && self.is_left_by_divergent_loop(defined_in, node)
                {
                    self.without_uniform_part(value)
                } else {
                    value
                }
            }
            Cell::Flowing(cell) => state.get((flowing + cell) as usize),
        };
        // A register without a definition on the path may hold any value.
        if value == ValueId::NONE {
            ValueId::UNKNOWN
        } else {
            value
        }
    }

    /// True if a divergent loop lies between a definition in loop `from` and a node.
    fn is_left_by_divergent_loop(&self, from: u32, node: u32) -> bool {
        let mut current = from;
        while current != NONE && !self.order.is_in_loop(node, current) {
            if self.is_divergent_loop[current as usize] {
                return true;
            }
            current = self.order.loops[current as usize].parent;
        }
        false
    }

    pub(super) fn write_cell(
        &mut self,
        node: u32,
        state: &mut State,
        place: Cell,
        value: ValueId,
        kept: Option<(ValueId, Application)>,
    ) {
        let context = self.graph.context_of_node(node);
        let cells = (context.singles, context.flowing);
        self.write_cell_in_context(cells, node, state, place, value, kept);
    }

    /// A write to a cell of the context whose first cells have these numbers.
    pub(super) fn write_cell_in_context(
        &mut self,
        (singles, flowing): (u32, u32),
        node: u32,
        state: &mut State,
        place: Cell,
        value: ValueId,
        kept: Option<(ValueId, Application)>,
    ) {
        match place {
            Cell::Single(cell) => self.set_single_cell(singles + cell, value, node),
            Cell::Flowing(cell) => {
                let cell = (flowing + cell) as usize;
                let value = match kept {
                    None => value,
                    // Under a guard, the lanes where it does not hold keep what they have.
                    Some((guard, site)) => {
                        let old = match state.get(cell) {
                            ValueId::NONE => ValueId::UNKNOWN,
                            old => old,
                        };
                        transfer::apply_op(&mut self.pool, Op::Select, &[value, old, guard], site)
                    }
                };
                state.set(cell, value);
            }
        }
    }

    pub(super) fn without_uniform_part(&mut self, id: ValueId) -> ValueId {
        if id == ValueId::NONE || !matches!(self.pool.get(id).rest, Rest::Uniform(_)) {
            return id;
        }
        let vector = self.pool.get(id);
        let low = ones(vector.low);
        let mut blurred = vector.clone();
        blurred.rest = Rest::Varying;
        for lane in lanes_in_set(!blurred.exact) {
            blurred.bits[lane] &= low;
        }
        self.pool.intern(blurred)
    }
}
