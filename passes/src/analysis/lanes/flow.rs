//! Which lanes go where, and what they hold there.
//!
//! ```text
//! may(entry)    the lanes that exist
//! may(e)        for an edge e that a guard g picks: the lanes of may(source) in which g may hold
//! may(n)        ⋃ may(e) over the edges into n
//! state(n)      ⨆ of the states along those edges, lane by lane
//! ```
//!
//! Rounds in reverse postorder over the nodes whose input has changed, until there are none. A branch whose
//! lanes may disagree makes the joins it reaches along two ways *divergent* (lanes come along both), and loops that it
//! leaves while lanes stay behind: what such a loop computes is no longer one value outside of it.

use std::collections::BinaryHeap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::graph::{Graph, Test};
use super::launch::Launch;
use super::live::Live;
use super::order::{NONE, Order};
use super::slice::{Place, loaded_param, returned};
use super::transfer::{self, MAX_USES, Site};
use super::value::{ALL, Base, Lanes, Pool, ValueId, Vector, WARP, lanes};
use crate::analysis::evaluate::is_interpreted;
use crate::analysis::slots::Effect;
use crate::context::ModuleContext;
use crate::ir::{
    AccessKind, Collective, Instruction, InstructionId, Match, Op, Register, Shuffle, Space, Value, Vote,
};
use crate::limits::{MAX_LANE_CELLS, MAX_LANE_ROUNDS, MAX_LANE_VECTORS, MAX_SYNC_STEPS};

/// Rounds after which values that still change are given up.
const WIDEN_AFTER: usize = MAX_LANE_ROUNDS - 4;

/// The ways from a branch that are being followed.
#[derive(Default)]
struct Walk {
    /// Edges to look at, with the label of the way.
    pending: Vec<(u32, u32, u32)>,
    /// By node: the walk that has come here, and the label.
    labels: Vec<(u32, u32)>,
    walk: u32,
    heap: BinaryHeap<std::cmp::Reverse<(u32, u32)>>,
    /// Loops around the branch that a way goes round, and that one leaves.
    backs: Vec<u32>,
    exits: Vec<u32>,
}

impl Walk {
    /// Begins a walk over a graph of so many nodes.
    fn begin(&mut self, nodes: usize) {
        self.labels.resize(nodes, (0, 0));
        self.walk += 1;
        self.pending.clear();
        self.heap.clear();
        self.backs.clear();
        self.exits.clear();
    }

    fn label(&self, node: u32) -> Option<u32> {
        let (walk, label) = self.labels[node as usize];
        (walk == self.walk).then_some(label)
    }

    fn set(&mut self, node: u32, label: u32) {
        self.labels[node as usize] = (self.walk, label);
    }
}

/// The state of the cells that have several definitions.
type State = Rc<Vec<ValueId>>;

/// The solution for one graph and launch.
pub struct Flow<'a> {
    /// The module.
    pub module: &'a ModuleContext<'a>,
    /// The graph.
    pub graph: &'a Graph<'a>,
    /// Its orders.
    pub order: &'a Order,
    live: &'a Live,
    /// The launch.
    pub launch: Launch,
    /// The vectors.
    pub pool: Pool,
    /// The lanes that may take each edge.
    pub edges: Vec<Lanes>,
    /// The lanes that may be at each node.
    pub may: Vec<Lanes>,
    /// What each test looks at: the guard, or the index of a table.
    pub tests: Vec<ValueId>,
    /// A comparison would be decided if the warp were known.
    pub wants_warp: bool,
    /// The node of each `activemask`, by the number of its base.
    pub active: FxHashMap<u32, u32>,
    singles: Vec<ValueId>,
    out: Vec<Option<State>>,
    input: Vec<Option<State>>,
    is_followed: Vec<bool>,
    walk: Walk,
    is_divergent_join: Vec<bool>,
    is_divergent_loop: Vec<bool>,
    has_divergent_loop: bool,
    single_loop: Vec<u32>,
    always: Vec<bool>,
    /// The nodes to look at again.
    is_dirty: Vec<bool>,
    /// The nodes that have read each cell that is in no state.
    readers: Vec<Vec<u32>>,
    /// The cells in no state that were read before they were written.
    is_read_early: Vec<bool>,
    steps_left: usize,
}

impl<'a> Flow<'a> {
    /// Solves. `None` if it is too large or does not settle.
    #[must_use]
    pub fn new(
        module: &'a ModuleContext<'a>,
        graph: &'a Graph<'a>,
        order: &'a Order,
        live: &'a Live,
        launch: Launch,
        always: Vec<bool>,
    ) -> Option<Self> {
        let nodes = graph.nodes.len();
        if nodes.saturating_mul(graph.multiples as usize) > MAX_LANE_CELLS {
            return None;
        }
        let mut flow = Self {
            module,
            graph,
            order,
            live,
            launch,
            pool: Pool::default(),
            edges: vec![0; graph.targets.len()],
            may: vec![0; nodes],
            tests: vec![ValueId::NONE; nodes],
            wants_warp: false,
            active: FxHashMap::default(),
            singles: vec![ValueId::NONE; graph.singles as usize],
            out: vec![None; nodes],
            input: vec![None; nodes],
            is_followed: vec![false; nodes],
            walk: Walk::default(),
            is_divergent_join: vec![false; nodes],
            is_divergent_loop: vec![false; order.loops.len()],
            has_divergent_loop: false,
            single_loop: vec![NONE; graph.singles as usize],
            always,
            is_dirty: vec![true; nodes],
            readers: vec![Vec::new(); graph.singles as usize],
            is_read_early: vec![false; graph.singles as usize],
            steps_left: MAX_SYNC_STEPS.saturating_add(nodes.saturating_mul(8)),
        };
        for round in 0..MAX_LANE_ROUNDS {
            for &node in &order.nodes {
                if std::mem::replace(&mut flow.is_dirty[node as usize], false) {
                    flow.node(node, round);
                }
                if flow.pool.size() > MAX_LANE_VECTORS {
                    return None;
                }
            }
            if order.nodes.iter().all(|&node| !flow.is_dirty[node as usize]) {
                return Some(flow);
            }
        }
        None
    }

    fn node(&mut self, node: u32, round: usize) {
        let index = node as usize;
        let (here, entry) = if node == 0 {
            let cells = self.graph.multiples as usize;
            (self.launch.lanes(), Some(Rc::new(vec![ValueId::NONE; cells])))
        } else {
            (0, None)
        };
        let Some((here, mut state)) = self.entry(node, here, entry, round) else {
            return;
        };
        self.may[index] = here;
        self.input[index] = Some(Rc::clone(&state));
        self.instructions(node, here, &mut state, round);
        self.branch(node, here, &state);
        let is_new = self.out[index].as_ref().is_none_or(|old| {
            !Rc::ptr_eq(old, &state) && self.live.exit(node).any(|cell| old[cell] != state[cell])
        });
        if is_new {
            self.out[index] = Some(state);
            let graph = self.graph;
            for next in graph.successors(node) {
                self.is_dirty[next as usize] = true;
            }
        }
    }

    /// What comes along the edges into a node.
    fn entry(
        &mut self,
        node: u32,
        here: Lanes,
        entry: Option<State>,
        round: usize,
    ) -> Option<(Lanes, State)> {
        let graph = self.graph;
        let (mut here, mut state, mut owner) = (here, entry, ALL);
        for &edge in graph.incoming(node) {
            let along = self.edges[edge as usize];
            let source = graph.sources[edge as usize];
            if along == 0 {
                continue;
            }
            let Some(from) = self.out[source as usize].clone() else {
                continue;
            };
            let from = self.leave(source, node, from);
            match &mut state {
                None => {
                    state = Some(from);
                    owner = along;
                }
                Some(known) => {
                    if !Rc::ptr_eq(known, &from) {
                        self.join(node, known, owner, &from, along, round);
                    }
                    owner |= along;
                }
            }
            here |= along;
        }
        Some((here, state?)).filter(|_| here != 0)
    }

    fn join(&mut self, node: u32, into: &mut State, had: Lanes, from: &State, along: Lanes, round: usize) {
        let together = !self.is_divergent_join[node as usize] && !self.order.is_irreducible;
        let live = self.live;
        for cell in live.entry(node) {
            let (a, b) = (into[cell], from[cell]);
            if a == b || b == ValueId::NONE {
                continue;
            }
            let key = (u64::from(node) << 32 | JOIN, cell as u64);
            let mut joined = self.pool.join((a, had), (b, along), together, key);
            if round >= WIDEN_AFTER
                && self.input[node as usize]
                    .as_ref()
                    .is_some_and(|old| old[cell] != joined)
            {
                joined = ValueId::UNKNOWN;
            }
            if joined != a {
                Rc::make_mut(into)[cell] = joined;
            }
        }
    }

    /// The state along an edge: what a loop that lanes leave one by one has computed is not one value outside.
    fn leave(&mut self, source: u32, target: u32, state: State) -> State {
        if !self.has_divergent_loop
            || !self
                .order
                .loops_of(source)
                .any(|of| self.is_divergent_loop[of as usize] && !self.order.is_in(target, of))
        {
            return state;
        }
        let mut state = state;
        let live = self.live;
        for cell in live.entry(target) {
            let value = state[cell];
            let blurred = self.blurred(value);
            if blurred != value {
                Rc::make_mut(&mut state)[cell] = blurred;
            }
        }
        state
    }

    fn blurred(&mut self, id: ValueId) -> ValueId {
        if id == ValueId::NONE || !matches!(self.pool.get(id).base, Base::Uniform(_)) {
            return id;
        }
        let vector = self.pool.get(id);
        let low = super::super::evaluate::ones(vector.low);
        let mut blurred = vector.clone();
        blurred.base = Base::Varying;
        for lane in lanes(!blurred.exact) {
            blurred.bits[lane] &= low;
        }
        self.pool.add(blurred)
    }

    fn instructions(&mut self, node: u32, here: Lanes, state: &mut State, round: usize) {
        let graph = self.graph;
        let spot = &graph.nodes[node as usize];
        let context = graph.context(node);
        if let super::graph::Kind::Enter(callee) = spot.kind {
            self.pass_arguments(node, callee, state);
        }
        let steps = &context.slice.steps;
        let first = steps.partition_point(|step| (step.index() as u32) < spot.instructions.start);
        for &step in &steps[first..] {
            if step.index() as u32 >= spot.instructions.end {
                break;
            }
            self.step(node, here, state, step, round);
        }
    }

    fn pass_arguments(&mut self, node: u32, callee: u32, state: &State) {
        let graph = self.graph;
        let context = graph.context(node);
        let instruction = context.body.instruction(graph.instruction(node));
        let Op::Call(call) = instruction.op else { return };
        let inner = &graph.contexts[callee as usize];
        for (number, offset, place) in inner.slice.params() {
            let passed = context
                .body
                .arguments(context.body.call(call))
                .iter()
                .find(|argument| {
                    argument.param == u32::from(number) && i32::try_from(argument.offset) == Ok(offset)
                })
                .map(|argument| argument.value);
            let value = match passed {
                Some(value) => self.value(node, state, value),
                None => ValueId::UNKNOWN,
            };
            if let Place::Single(cell) = place {
                self.set_single(inner.singles + cell, value, node);
            }
        }
    }

    fn set_single(&mut self, cell: u32, value: ValueId, node: u32) {
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

    /// The value of an operand before the node's steps that come after it; `state` is the state there.
    fn value(&mut self, node: u32, state: &State, value: Value) -> ValueId {
        match value {
            Value::Integer(value) => self.pool.splat(value as u64),
            Value::Register(register) => self.register(node, state, register),
            Value::Not(register) => {
                let id = self.register(node, state, register);
                self.negated(id)
            }
            Value::Special(special) => {
                let site = u64::from(node) << 32 | SPECIAL;
                self.launch.special(&mut self.pool, special, site)
            }
            Value::Symbol(symbol, offset) => {
                let key = (SYMBOL | symbol.index() as u64, offset as u64);
                self.pool.unknown_uniform(key, 0)
            }
            Value::Param(..) | Value::ReturnSlot(..) => self.pool.unknown_uniform((SYMBOL, u64::MAX), 0),
            Value::Unknown => ValueId::UNKNOWN,
        }
    }

    fn negated(&mut self, id: ValueId) -> ValueId {
        if id == ValueId::NONE {
            return ValueId::UNKNOWN;
        }
        let mut vector = self.pool.get(id).clone();
        for lane in 0..WARP {
            vector.bits[lane] = if vector.exact >> lane & 1 == 1 {
                vector.bits[lane] & 1 ^ 1
            } else {
                0
            };
        }
        vector.low = 0;
        if let Base::Uniform(number) = vector.base {
            vector.base = Base::Uniform(self.pool.number((NEGATED, u64::from(number))));
        }
        self.pool.add(vector)
    }

    fn register(&mut self, node: u32, state: &State, register: Register) -> ValueId {
        let context = self.graph.context(node);
        match context.slice.register(register) {
            Some(place) => self.read(node, state, place),
            None => ValueId::UNKNOWN,
        }
    }

    fn read(&mut self, node: u32, state: &State, place: Place) -> ValueId {
        let context = self.graph.context(node);
        self.read_in(node, state, place, context.singles, context.multiples)
    }

    fn read_in(&mut self, node: u32, state: &State, place: Place, singles: u32, multiples: u32) -> ValueId {
        let value = match place {
            Place::Single(cell) => {
                let cell = (singles + cell) as usize;
                if self.singles[cell] == ValueId::NONE {
                    // Some way leads here that does not pass its definition: nobody knows what it holds.
                    self.singles[cell] = ValueId::UNKNOWN;
                    self.is_read_early[cell] = true;
                }
                let value = self.singles[cell];
                if self.readers[cell].last() != Some(&node) {
                    self.readers[cell].push(node);
                }
                let defined_in = self.single_loop[cell];
                if self.has_divergent_loop && defined_in != NONE && self.is_left(defined_in, node) {
                    self.blurred(value)
                } else {
                    value
                }
            }
            Place::Multiple(cell) => state[(multiples + cell) as usize],
        };
        // A register that nothing has written holds anything.
        if value == ValueId::NONE {
            ValueId::UNKNOWN
        } else {
            value
        }
    }

    /// Whether a divergent loop lies between a definition in loop `from` and a node.
    fn is_left(&self, from: u32, node: u32) -> bool {
        let mut current = from;
        while current != NONE && !self.order.is_in(node, current) {
            if self.is_divergent_loop[current as usize] {
                return true;
            }
            current = self.order.loops[current as usize].parent;
        }
        false
    }

    fn write(
        &mut self,
        node: u32,
        state: &mut State,
        place: Place,
        value: ValueId,
        kept: Option<(ValueId, Site)>,
    ) {
        let context = self.graph.context(node);
        match place {
            Place::Single(cell) => self.set_single(context.singles + cell, value, node),
            Place::Multiple(cell) => {
                let cell = (context.multiples + cell) as usize;
                let value = match kept {
                    None => value,
                    // Under a guard, the lanes where it does not hold keep what they have.
                    Some((guard, site)) => {
                        let old = if state[cell] == ValueId::NONE {
                            ValueId::UNKNOWN
                        } else {
                            state[cell]
                        };
                        transfer::apply(&mut self.pool, Op::Select, &[value, old, guard], site)
                    }
                };
                if state[cell] != value {
                    Rc::make_mut(state)[cell] = value;
                }
            }
        }
    }

    fn step(&mut self, node: u32, here: Lanes, state: &mut State, step: InstructionId, round: usize) {
        let context = self.graph.context(node);
        let (body, slice) = (context.body, context.slice);
        let instruction = body.instruction(step);
        let identity = u64::from(self.graph.nodes[node as usize].context) << 32 | step.index() as u64;
        let site = |part: u64| Site {
            here,
            key: (identity, part << 48),
        };
        let guard = instruction.guard.map(|guard| {
            let value = self.guard(node, state, guard.register, guard.negated);
            (value, site(GUARDED))
        });
        for (number, result) in body.results(instruction).iter().enumerate() {
            let Value::Register(register) = *result else {
                continue;
            };
            let Some(place) = slice.register(register) else {
                continue;
            };
            let mut value = self.outcome(node, state, step, instruction, number, site(number as u64));
            let bits = body.registers[register.index()].bits;
            if (1..64).contains(&bits) {
                value = self.cut(value, bits, site(CUT + number as u64));
            }
            if round >= WIDEN_AFTER
                && let Place::Single(cell) = place
            {
                let old = self.singles[(context.singles + cell) as usize];
                if old != ValueId::NONE && old != value {
                    value = ValueId::UNKNOWN;
                }
            }
            self.write(node, state, place, value, guard);
        }
        if let Some((offset, value)) = returned(body, instruction.op, body.uses(instruction))
            && let Some(place) = slice.result(offset)
        {
            let value = self.value(node, state, value);
            self.write(node, state, place, value, guard);
        }
        self.slots(node, state, step, instruction, guard, site(SLOT));
    }

    fn guard(&mut self, node: u32, state: &State, register: Register, negated: bool) -> ValueId {
        let value = if negated {
            Value::Not(register)
        } else {
            Value::Register(register)
        };
        self.value(node, state, value)
    }

    /// Cuts exact values to the width of their register.
    fn cut(&mut self, value: ValueId, bits: u8, site: Site) -> ValueId {
        if value == ValueId::NONE {
            return ValueId::UNKNOWN;
        }
        let width = super::super::evaluate::ones(bits);
        let vector = self.pool.get(value);
        if lanes(vector.exact).all(|lane| vector.bits[lane] <= width)
            && (vector.exact == ALL || vector.low <= bits)
        {
            return value;
        }
        let cut = Op::Convert {
            from: bits,
            signed: false,
            to: bits,
        };
        transfer::apply(&mut self.pool, cut, &[value], site)
    }

    fn slots(
        &mut self,
        node: u32,
        state: &mut State,
        step: InstructionId,
        instruction: &Instruction,
        guard: Option<(ValueId, Site)>,
        site: Site,
    ) {
        let context = self.graph.context(node);
        let (body, slice) = (context.body, context.slice);
        let slots = self.module.function(context.function).slots();
        match slots.effect(step, instruction) {
            Effect::Store(slot) => {
                let stored = body.uses(instruction).get(2).copied().unwrap_or(Value::Unknown);
                let value = self.value(node, state, stored);
                if let Some(place) = slice.slot(slot) {
                    let bits = (slots.slots[slot as usize].bytes * 8).min(64) as u8;
                    let value = if bits < 64 {
                        self.cut(value, bits, site)
                    } else {
                        value
                    };
                    self.write(node, state, place, value, guard);
                }
                for other in slots.overlapping(slot) {
                    let Some(place) = slice.slot(other) else { continue };
                    let value = self.piece(
                        &slots.slots[slot as usize],
                        &slots.slots[other as usize],
                        value,
                        site,
                    );
                    self.write(node, state, place, value, guard);
                }
            }
            Effect::Spoil(slot) => {
                for slot in std::iter::once(slot).chain(slots.overlapping(slot)) {
                    if let Some(place) = slice.slot(slot) {
                        self.write(node, state, place, ValueId::UNKNOWN, None);
                    }
                }
            }
            Effect::SpoilEscaped => {
                for (slot, place) in slice.slots() {
                    if slots.escapes(slot) {
                        self.write(node, state, place, ValueId::UNKNOWN, None);
                    }
                }
            }
            Effect::Load(_) | Effect::None => {}
        }
    }

    /// What a slot inside another holds after a store to that one: memory is little-endian.
    fn piece(
        &mut self,
        stored: &crate::analysis::slots::Slot,
        inner: &crate::analysis::slots::Slot,
        value: ValueId,
        site: Site,
    ) -> ValueId {
        let from = inner.offset - stored.offset;
        if from < 0 || from + i64::from(inner.bytes) > i64::from(stored.bytes) || stored.bytes > 8 {
            return ValueId::UNKNOWN;
        }
        let by = self.pool.splat(from as u64 * 8);
        let part = |number| Site {
            key: (site.key.0, site.key.1 | number << 32),
            ..site
        };
        let shift = Op::Binary(crate::ir::BinaryOp::ShrUnsigned, 64);
        let whole = self.cut(value, (stored.bytes * 8) as u8, part(2));
        let shifted = transfer::apply(&mut self.pool, shift, &[whole, by], part(3));
        self.cut(shifted, (inner.bytes * 8) as u8, part(4 + from as u64))
    }

    fn outcome(
        &mut self,
        node: u32,
        state: &State,
        step: InstructionId,
        instruction: &Instruction,
        number: usize,
        site: Site,
    ) -> ValueId {
        let context = self.graph.context(node);
        let uses = context.body.uses(instruction);
        match instruction.op {
            op if is_interpreted(op) => self.computed(node, state, op, uses, number, site),
            Op::Access(access) if access.kind == AccessKind::Load => {
                let slots = self.module.function(context.function).slots();
                if let Effect::Load(slot) = slots.effect(step, instruction) {
                    return match context.slice.slot(slot) {
                        Some(place) => self.extended(node, state, place, context.body, instruction, site),
                        None => ValueId::UNKNOWN,
                    };
                }
                if let Some((number, offset)) = loaded_param(instruction.op, uses) {
                    if context.caller.is_some() {
                        return match context.slice.param(number, offset) {
                            Some(place) => self.read(node, state, place),
                            None => ValueId::UNKNOWN,
                        };
                    }
                    let is_kernel = self.module.module.function(context.function).is_kernel();
                    let key = (PARAM | u64::from(number), offset as u64);
                    return if is_kernel {
                        self.pool.unknown_uniform(key, 0)
                    } else {
                        ValueId::UNKNOWN
                    };
                }
                if access.volatile || access.count != 1 || access.space == Space::Local {
                    return ValueId::UNKNOWN;
                }
                let address = uses.first().copied().unwrap_or(Value::Unknown);
                let address = self.value(node, state, address);
                let is_one = self.pool.get(address).is_splat(site.here)
                    && uses
                        .get(1)
                        .is_some_and(|offset| matches!(offset, Value::Integer(_)));
                if is_one {
                    self.pool.unknown_uniform(site.key, 0)
                } else {
                    ValueId::UNKNOWN
                }
            }
            Op::Collective(kind, true) => self.collective(node, state, kind, uses, number, site),
            Op::ActiveMask => {
                let name = self.pool.number(site.key);
                self.active.insert(name, node);
                let mut mask = Vector::UNKNOWN;
                mask.base = Base::Active(name);
                mask.limit = u64::from(u32::MAX);
                self.pool.add(mask)
            }
            Op::CallResult(call) => self.result_of(node, state, call, uses),
            _ => ValueId::UNKNOWN,
        }
    }

    /// What a load of a slot makes of it: narrow loads leave zeros, or the sign, above.
    fn extended(
        &mut self,
        node: u32,
        state: &State,
        place: Place,
        body: &crate::ir::Body<'_>,
        instruction: &Instruction,
        site: Site,
    ) -> ValueId {
        let value = self.read(node, state, place);
        let Op::Access(access) = instruction.op else {
            return ValueId::UNKNOWN;
        };
        let target = body
            .defined(instruction)
            .next()
            .map_or(0, |register| body.registers[register.index()].bits);
        if target == access.bits || value == ValueId::UNKNOWN {
            return value;
        }
        // Whether the load extends by sign or by zeros is not known here: what is above is known only if both agree.
        let top = access.bits.saturating_sub(1);
        let vector = self.pool.get(value);
        let is_small = lanes(vector.exact).all(|lane| vector.bits[lane] >> top == 0)
            && (vector.exact == ALL || vector.limit >> top == 0);
        if is_small && access.bits < 64 {
            return value;
        }
        let low = Vector {
            exact: 0,
            low: access.bits.min(if vector.exact == ALL { 64 } else { vector.low }),
            base: Base::Varying,
            warp: vector.warp,
            limit: u64::MAX,
            bits: std::array::from_fn(|lane| vector.low_bits(lane).1),
        };
        let _ = site;
        let mut low = low;
        for lane in 0..WARP {
            low.bits[lane] &= super::super::evaluate::ones(low.low);
        }
        self.pool.add(low)
    }

    fn computed(
        &mut self,
        node: u32,
        state: &State,
        op: Op,
        uses: &[Value],
        number: usize,
        site: Site,
    ) -> ValueId {
        let mut values = [ValueId::UNKNOWN; MAX_USES];
        if uses.len() > MAX_USES {
            return ValueId::UNKNOWN;
        }
        for (value, &operand) in values.iter_mut().zip(uses) {
            *value = self.value(node, state, operand);
        }
        let values = &values[..uses.len()];
        match op {
            Op::Unpack(bits) => {
                let start = self.pool.splat(number as u64 * u64::from(bits));
                let length = self.pool.splat(u64::from(bits));
                let extract = Op::ExtractBits(64, false);
                transfer::apply(&mut self.pool, extract, &[values[0], start, length], site)
            }
            // The second result of a comparison is the complement, combined with the third operand alike.
            Op::Compare(_, _, logic) if number == 1 => {
                if logic != crate::ir::Logic::None {
                    return ValueId::UNKNOWN;
                }
                let outcome = transfer::apply(&mut self.pool, op, values, site);
                self.negated(outcome)
            }
            op if number == 0 => transfer::apply(&mut self.pool, op, values, site),
            _ => ValueId::UNKNOWN,
        }
    }

    fn collective(
        &mut self,
        node: u32,
        state: &State,
        kind: Collective,
        uses: &[Value],
        number: usize,
        site: Site,
    ) -> ValueId {
        let mask = uses.first().copied().unwrap_or(Value::Unknown);
        let mask = self.value(node, state, mask);
        let mask = self.pool.get(mask);
        if !mask.is_splat(site.here) {
            return ValueId::UNKNOWN;
        }
        let named = mask
            .at(site.here.trailing_zeros().min(31) as usize)
            .map(|mask| mask as Lanes);
        let is_one = match kind {
            Collective::Vote(vote) => {
                if let (Vote::Ballot, Some(named), Some(&predicate)) = (vote, named, uses.get(1))
                    && self.always[node as usize]
                {
                    let predicate = self.value(node, state, predicate);
                    let predicate = self.pool.get(predicate);
                    if named & !(predicate.exact & site.here) == 0 {
                        let ballot =
                            lanes(named).fold(0, |ballot, lane| ballot | (predicate.bits[lane] & 1) << lane);
                        return self.pool.splat(ballot);
                    }
                }
                true
            }
            Collective::Reduce | Collective::Match(Match::All, _) => true,
            Collective::Elect => number == 0,
            Collective::Shuffle(Shuffle::Index) => {
                let of = |place: usize| uses.get(place).copied().unwrap_or(Value::Unknown);
                let (source, control) = (self.value(node, state, of(2)), self.value(node, state, of(3)));
                let whole = self.pool.get(control);
                self.pool.get(source).is_splat(site.here)
                    && lanes(site.here).all(|lane| whole.at(lane) == Some(31))
            }
            _ => false,
        };
        // Several groups may meet here, each with a result of its own, unless all lanes are in one.
        let is_one = is_one && named.is_some_and(|named| site.here & !named == 0);
        if is_one {
            self.pool.unknown_uniform(site.key, 0)
        } else {
            ValueId::UNKNOWN
        }
    }

    fn result_of(&mut self, node: u32, state: &State, call: InstructionId, uses: &[Value]) -> ValueId {
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
            .and_then(|callee| Some((callee, callee.slice.result(offset)?)))
        {
            Some((callee, place)) => self.read_in(node, state, place, callee.singles, callee.multiples),
            None => ValueId::UNKNOWN,
        }
    }

    /// Splits the lanes of a node among its edges.
    fn branch(&mut self, node: u32, here: Lanes, state: &State) {
        let spot = &self.graph.nodes[node as usize];
        let edges = spot.edges.clone();
        let count = edges.len();
        let mut split = [here; 2];
        match spot.test {
            Test::None => {}
            Test::Guard(guard) => {
                let id = self.guard(node, state, guard.register, guard.negated);
                self.tests[node as usize] = id;
                let vector = self.pool.get(id);
                let truths = lanes(vector.exact)
                    .filter(|&lane| vector.bits[lane] & 1 == 1)
                    .fold(0, |set: Lanes, lane| set | 1 << lane);
                split = [here & (truths | !vector.exact), here & !(truths & vector.exact)];
                let is_one = vector.is_splat(here);
                let warp = vector.warp && here & !vector.exact != 0;
                if !is_one {
                    self.wants_warp |= warp;
                    self.diverge(node);
                }
            }
            Test::Table(index, guard) => {
                let id = self.value(node, state, index);
                let id = if guard.is_some() { ValueId::UNKNOWN } else { id };
                self.tests[node as usize] = id;
                let vector = self.pool.get(id).clone();
                if !vector.is_splat(here) {
                    self.diverge(node);
                }
                for (place, edge) in edges.clone().enumerate() {
                    let taken = lanes(here)
                        .filter(|&lane| vector.at(lane).is_none_or(|value| value == place as u64))
                        .fold(0, |set: Lanes, lane| set | 1 << lane);
                    self.set_edge(edge, taken);
                }
                return;
            }
        }
        for (place, edge) in edges.enumerate() {
            self.set_edge(edge, if count == 2 { split[place] } else { here });
        }
    }

    fn set_edge(&mut self, edge: u32, lanes: Lanes) {
        let known = &mut self.edges[edge as usize];
        if *known != lanes {
            *known = lanes;
            self.is_dirty[self.graph.targets[edge as usize] as usize] = true;
        }
    }

    /// Marks what a branch whose lanes may disagree makes divergent: follows its ways until they are one again.
    ///
    /// Each way has a label, its first node; a node that two labels reach is a join, and its own label from there on.
    fn diverge(&mut self, branch: u32) {
        let graph = self.graph;
        if std::mem::replace(&mut self.is_followed[branch as usize], true) {
            return;
        }
        let mut walk = std::mem::take(&mut self.walk);
        walk.begin(graph.nodes.len());
        self.follow(branch, &mut walk);
        self.walk = walk;
    }

    fn follow(&mut self, branch: u32, walk: &mut Walk) {
        let graph = self.graph;
        for target in graph.successors(branch) {
            walk.pending.push((branch, target, target));
        }
        loop {
            while let Some((from, target, label)) = walk.pending.pop() {
                if target != graph.exit && !graph.is_end(target) {
                    self.reach(branch, walk, from, target, label);
                }
            }
            // One way is left: all lanes that are still here take it.
            if walk.heap.len() <= 1 {
                return;
            }
            let Some(std::cmp::Reverse((_, node))) = walk.heap.pop() else {
                return;
            };
            if self.steps_left == 0 {
                return self.give_up();
            }
            self.steps_left -= 1;
            let label = walk.label(node).unwrap_or(node);
            walk.pending
                .extend(graph.successors(node).map(|target| (node, target, label)));
        }
    }

    fn reach(&mut self, branch: u32, walk: &mut Walk, from: u32, target: u32, label: u32) {
        let order = self.order;
        let is_back = order.is_back(from, target);
        match walk.label(target) {
            None => {
                walk.set(target, label);
                if !is_back {
                    walk.heap
                        .push(std::cmp::Reverse((order.rank[target as usize], target)));
                }
            }
            Some(known) if known != label && known != target => {
                walk.set(target, target);
                self.mark_join(target);
            }
            Some(known) if known != label => self.mark_join(target),
            Some(_) => {}
        }
        for of in order.loops_of(branch) {
            if is_back && order.loops[of as usize].header == target {
                walk.backs.push(of);
            } else if !order.is_in(target, of) {
                walk.exits.push(of);
            }
            let is_left = walk.backs.contains(&of) && walk.exits.contains(&of);
            if is_left && !std::mem::replace(&mut self.is_divergent_loop[of as usize], true) {
                self.has_divergent_loop = true;
                self.is_dirty.fill(true);
                // Lanes that stay may leave anywhere later.
                for &node in &order.nodes {
                    if order.is_in(node, of) {
                        let left = self.graph.successors(node).filter(|&next| !order.is_in(next, of));
                        walk.pending.extend(left.map(|next| (node, next, next)));
                    }
                }
            }
        }
    }

    fn mark_join(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_divergent_join[node as usize], true) {
            self.is_dirty[node as usize] = true;
        }
    }

    fn give_up(&mut self) {
        self.is_divergent_join.fill(true);
        self.is_divergent_loop.fill(true);
        self.has_divergent_loop = true;
        self.is_dirty.fill(true);
    }

    /// The value of an operand of the instruction that a node is.
    pub fn operand(&mut self, node: u32, value: Value) -> ValueId {
        match self.input[node as usize].clone() {
            Some(state) => self.value(node, &state, value),
            None => ValueId::UNKNOWN,
        }
    }
}

const JOIN: u64 = 1 << 31;
const SPECIAL: u64 = 1 << 30;
const SYMBOL: u64 = 1 << 63;
const PARAM: u64 = 1 << 62;
const NEGATED: u64 = 1 << 61;
const GUARDED: u64 = 0x1000;
const CUT: u64 = 0x2000;
const SLOT: u64 = 0x4000;
