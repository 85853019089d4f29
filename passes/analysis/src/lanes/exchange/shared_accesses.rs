//! Accesses to memory that threads share, with the address that each lane accesses.
//!
//! An address is known if it is the sum of an unknown value that all threads of the block share whenever they compute it
//! (the base address of a variable, a parameter of the kernel, and values computed from these and the block index), and a
//! number that is known in each lane. Two such addresses are equal if both parts are equal. No thread has private memory at
//! such an address.

use rustc_hash::FxHashMap;

use super::found::Object;
use super::orderings::{Among, Orderings, relaxed_atomic, stored_value, unordered_access};
use super::variables::{Own, variable_of_address};
use super::waits;
use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::launch::Launch;
use crate::lanes::rows::LaneRows;
use crate::lanes::value::{Lanes, Rest, ValueId, WARP, lanes_in_set};
use crate::shared::Shared;
use crate::value::{Interval, IntervalDomain, Intervals, Source, ThreadNumbers};
use ptxcheck_ir::{
    Access, AccessKind, Body, FunctionId, Instruction, InstructionId, RowAddress, Scope, Semantics, Space,
    SymbolId, Value,
};

/// Pairs of lanes: by lane, the other lanes.
pub(super) type ByLane = [Lanes; WARP];

/// A word of memory: the object, and its number there.
pub(super) type Word = (Object, i64);

/// An access to shared or global memory whose address is known in all lanes that may reach it.
pub(super) struct Touch {
    /// The node it is in.
    pub node: u32,
    /// The number of orderings before it in its node.
    pub part: u32,
    /// The instruction.
    pub at: InstructionId,
    /// It writes.
    pub is_store: bool,
    /// It reads and writes at once.
    pub is_atomic: bool,
    /// Its guarantees to other threads.
    pub semantics: Semantics,
    /// It is strong, and the threads of the block are in its scope.
    pub is_strong: bool,
    /// The object that the offsets count from.
    pub object: Object,
    /// The space that the access names.
    pub space: Space,
    /// It accesses shared memory, as far as is known.
    pub is_shared: bool,
    /// By lane: the offset in the object, in bytes.
    pub places: [i64; WARP],
    /// Bytes that a lane accesses, 1 to 128.
    pub bytes: u8,
    /// The lanes that execute it if they reach its node.
    pub lanes: Lanes,
    /// The lanes that may execute it.
    pub may: Lanes,
    /// The value that a store of one element writes.
    pub stored: Option<ValueId>,
}

impl Touch {
    /// True if an access by one lane and another access by another lane have bytes in common.
    pub(super) fn overlaps(&self, lane: usize, other: &Self, of: usize) -> bool {
        let (own, place) = (self.places[lane], other.places[of]);
        own < place.saturating_add(i64::from(other.bytes))
            && place < own.saturating_add(i64::from(self.bytes))
    }

    /// True if no lane accesses bytes that a lane of another access does, as the least and the greatest places show.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        let range = |touch: &Self| {
            let (first, last) = touch
                .places
                .iter()
                .fold((i64::MAX, i64::MIN), |(first, last), &place| {
                    (first.min(place), last.max(place))
                });
            (first, last.saturating_add(i64::from(touch.bytes)))
        };
        let ((first, end), (other_first, other_end)) = (range(self), range(other));
        end <= other_first || other_end <= first
    }

    /// The words of `granule` bytes that a lane accesses.
    pub(super) fn touched_words(&self, lane: usize, granule: i64) -> impl Iterator<Item = Word> + use<> {
        let (object, first) = (self.object, self.places[lane]);
        let last = first.saturating_add(i64::from(self.bytes) - 1);
        (first.div_euclid(granule)..=last.div_euclid(granule)).map(move |word| (object, word))
    }

    /// True if some lane that may execute it accesses bytes that the writes of a clash access.
    pub(super) fn may_overlap_writes(&self, write: &Self, clash: &ByLane) -> bool {
        let mut writers = (0..WARP).filter(|&lane| clash[lane] != 0);
        writers.any(|writer| lanes_in_set(self.may).any(|lane| self.overlaps(lane, write, writer)))
    }
}

/// An access to a variable in shared memory whose address is not known in some lane that may reach it.
pub(super) struct LooseAccess {
    /// The node it is in.
    pub node: u32,
    /// The number of orderings before it in its node.
    pub part: u32,
    /// The instruction.
    pub at: InstructionId,
    /// It writes.
    pub is_store: bool,
    /// It reads and writes at once.
    pub is_atomic: bool,
    /// The variable.
    pub object: Object,
    /// The lanes that may execute it.
    pub may: Lanes,
    /// The address.
    pub address: ValueId,
    /// The bytes of the variable that it may access: the first one, and the end; `None` if that is not known.
    pub extent: Option<(i64, i64)>,
    /// The values with a different number in each lane that the address is computed from.
    pub own: Vec<Own>,
}

/// True if two ranges of bytes have none in common.
const fn are_disjoint(one: (i64, i64), other: (i64, i64)) -> bool {
    one.1 <= other.0 || other.1 <= one.0
}

impl LooseAccess {
    /// True if it certainly has no bytes in common with another access to the variable that may be made at any address of this extent.
    pub(super) fn is_disjoint_from_loose(&self, other: &Self) -> bool {
        match (self.extent, other.extent) {
            (Some(one), Some(other)) => are_disjoint(one, other),
            _ => false,
        }
    }

    /// The same for an access of which the address is known.
    pub(super) fn is_disjoint_from(&self, other: &Touch) -> bool {
        self.extent.is_some_and(|extent| {
            lanes_in_set(other.may).all(|lane| {
                let place = other.places[lane];
                are_disjoint(extent, (place, place.saturating_add(i64::from(other.bytes))))
            })
        })
    }
}

/// The intervals of the values of a solution, by function.
struct IntervalsOfFlow<'a, 'm> {
    module: &'a Shared<'m>,
    threads: ThreadNumbers,
    by_function: FxHashMap<FunctionId, Option<Intervals<'a, 'm>>>,
}

impl<'a, 'm> IntervalsOfFlow<'a, 'm> {
    fn new(module: &'a Shared<'m>, launch: Launch) -> Self {
        Self {
            module,
            threads: launch.thread_numbers(),
            by_function: FxHashMap::default(),
        }
    }

    /// The bytes of a variable that an access may access; `None` if they are not known.
    fn extent(
        &mut self,
        function: FunctionId,
        (object, address): (Object, Value),
        (past, bytes): (i64, u32),
    ) -> Option<(i64, i64)> {
        let threads = self.threads;
        let module = self.module;
        let intervals = self.by_function.entry(function).or_insert_with(|| {
            Source::of_function(module, function)
                .map(|source| Intervals::new(source, IntervalDomain(threads)))
        });
        let found: Interval = intervals.as_mut()?.description_of(address)?;
        let is_of_object =
            matches!((object, found.base), (Object::Variable(one), Some(other)) if one == other);
        (is_of_object && found.has_bound())
            .then(|| (found.least + past, found.most + past + i64::from(bytes)))
    }
}

/// The accesses of one solution, in the order of its nodes.
#[derive(Default)]
pub(super) struct Touches {
    /// All accesses with a known address.
    pub all: Vec<Touch>,
    /// It has a write that may be to global memory, at an address of which the object and the offset are not known.
    pub has_unplaced_global_write: bool,
    /// By node: the range of its accesses.
    by_node: FxHashMap<u32, (usize, usize)>,
    /// The accesses with an unknown address, if these are collected.
    pub loose: Vec<LooseAccess>,
    loose_by_node: FxHashMap<u32, (usize, usize)>,
    looks_for_loose: bool,
    /// Atomics are accesses, too.
    has_atomics: bool,
    rules: Orderings,
    /// By node: the number of its orderings, if there are any.
    orderings: FxHashMap<u32, u32>,
}

impl Touches {
    /// The accesses of a solution whose slices include addresses.
    pub(super) fn new(flow: &mut Flow<'_>) -> Self {
        Self::default().collect_accesses(flow, Among::Lanes)
    }

    /// The same, where only the orderings between all threads of the block count.
    pub(super) fn of_block(flow: &mut Flow<'_>) -> Self {
        Self::default().collect_accesses(flow, Among::Warps)
    }

    /// The same, with atomics, and the accesses whose address is unknown.
    pub(super) fn of_block_with_loose(flow: &mut Flow<'_>) -> Self {
        let touches = Self {
            looks_for_loose: true,
            has_atomics: true,
            ..Self::default()
        };
        touches.collect_accesses(flow, Among::Warps)
    }

    /// The accesses of a warp, with those whose address is unknown.
    pub(super) fn with_loose(flow: &mut Flow<'_>) -> Self {
        let touches = Self {
            looks_for_loose: true,
            ..Self::default()
        };
        touches.collect_accesses(flow, Among::Lanes)
    }

    fn collect_accesses(self, flow: &mut Flow<'_>, among: Among) -> Self {
        let mut touches = Self {
            rules: waits::orderings_among(flow, among),
            ..self
        };
        let objects = objects_by_address(flow);
        let mut intervals = IntervalsOfFlow::new(flow.module, flow.launch);
        let order = flow.order;
        let mut asked = Vec::new();
        for &node in &order.nodes {
            if flow.may[node as usize] == 0 || flow.graph.nodes[node as usize].kind != NodeKind::Plain {
                continue;
            }
            let (first, first_loose) = (touches.all.len(), touches.loose.len());
            touches.add_node(flow, (&objects, &mut intervals), node, &mut asked);
            if touches.all.len() > first {
                touches.by_node.insert(node, (first, touches.all.len()));
            }
            if touches.loose.len() > first_loose {
                touches
                    .loose_by_node
                    .insert(node, (first_loose, touches.loose.len()));
            }
        }
        touches
    }

    /// The accesses of a node.
    pub(super) fn accesses_in_node(&self, node: u32) -> std::ops::Range<usize> {
        let (first, end) = self.by_node.get(&node).copied().unwrap_or_default();
        first..end
    }

    /// The accesses of a node with an unknown address.
    pub(super) fn loose_accesses_in_node(&self, node: u32) -> std::ops::Range<usize> {
        let (first, end) = self.loose_by_node.get(&node).copied().unwrap_or_default();
        first..end
    }

    /// The number of orderings in a node.
    pub(super) fn ordering_count(&self, node: u32) -> u32 {
        self.orderings.get(&node).copied().unwrap_or(0)
    }

    fn access_of(
        &self,
        body: &Body<'_>,
        at: InstructionId,
        instruction: &Instruction,
    ) -> Option<(Access, Value, i64)> {
        let plain = unordered_access(body, at, instruction, self.rules.among);
        plain.or_else(|| relaxed_atomic(body, instruction).filter(|_| self.has_atomics))
    }

    fn add_node(
        &mut self,
        flow: &mut Flow<'_>,
        (objects, intervals): (&FxHashMap<u32, Object>, &mut IntervalsOfFlow<'_, '_>),
        node: u32,
        asked: &mut Vec<(InstructionId, Value)>,
    ) {
        let context = flow.graph.context_of_node(node);
        let (body, function) = (context.body, context.function);
        let range = flow.graph.nodes[node as usize].instructions.clone();
        let all = || range.clone().map(|number| InstructionId::new(number as usize));
        asked.clear();
        let mut orderings = 0;
        for at in all() {
            let instruction = body.instruction(at);
            orderings += u32::from(self.rules.may_order(body, at, instruction));
            if let Some((_, address, _)) = self.access_of(body, at, instruction) {
                let stored = stored_value(body, instruction).unwrap_or(Value::Unknown);
                asked.extend([(at, address), (at, stored)]);
                asked.extend(row_stride(body, at).map(|stride| (at, stride)));
            }
        }
        if orderings > 0 {
            self.orderings.insert(node, orderings);
        }
        if asked.is_empty() {
            return;
        }
        let here = flow.may[node as usize];
        let mut values = flow.values_before(node, asked).into_iter();
        let mut part = 0;
        for at in all() {
            let instruction = body.instruction(at);
            part += u32::from(self.rules.may_order(body, at, instruction));
            let Some((access, address, past)) = self.access_of(body, at, instruction) else {
                continue;
            };
            let is_store = access.kind != AccessKind::Load;
            let is_atomic = access.kind.is_atomic();
            let (Some(place), Some(content)) = (values.next(), values.next()) else {
                break;
            };
            let stride = row_stride(body, at).and_then(|_| values.next());
            let rows = LaneRows::of_access(body, at, |_| {
                let stride = flow.pool.get(stride?);
                let lane = lanes_in_set(here)
                    .next()
                    .filter(|_| stride.is_uniform_among(here))?;
                stride.value_in_lane(lane)
            });
            let has_rows = rows.map_or(Lanes::MAX, |rows| rows.lanes);
            let (lanes, may) = match instruction.guard {
                None => (here, here),
                Some(guard) => match (flow.lanes_true_and_false(node, at, guard.register), guard.negated) {
                    ((holds, fails), false) => (here & holds, here & !fails),
                    ((holds, fails), true) => (here & fails, here & !holds),
                },
            };
            let (lanes, may) = (lanes & has_rows, may & has_rows);
            let mut loose = |touches: &mut Self, flow: &mut Flow<'_>| {
                if touches.looks_for_loose
                    && let Some((object, own)) = variable_of_address(flow, node, at, address)
                {
                    touches.loose.push(LooseAccess {
                        node,
                        part,
                        at,
                        is_store,
                        is_atomic,
                        object,
                        may,
                        address: place,
                        extent: match body.rows_at(at) {
                            Some(rows) if rows.address != RowAddress::OfLane => None,
                            _ => intervals.extent(function, (object, address), (past, access.bytes())),
                        },
                        own,
                    });
                }
            };
            let vector = flow.pool.get(place);
            let begin = match (vector.rest, rows) {
                (Rest::Uniform(begin), Some(_))
                    if vector.exact & here == 0 && flow.pool.of_block.contains(&begin) =>
                {
                    begin
                }
                _ => {
                    self.has_unplaced_global_write |= is_store && access.space != Space::Shared;
                    loose(self, flow);
                    continue;
                }
            };
            let object = objects.get(&begin).copied().unwrap_or(Object::Part(begin));
            let is_shared = match object {
                Object::Variable(symbol) => flow.module.module.symbol(symbol).space == Space::Shared,
                Object::Parameter(_) | Object::Part(_) => access.space == Space::Shared,
            };
            let is_narrow = address
                .register()
                .is_some_and(|register| body.registers.bits(register) == 32);
            let offset = |bits: u64| {
                if is_narrow {
                    i64::from(bits as i32)
                } else {
                    bits as i64
                }
            };
            let places = vector.bits.map(|bits| offset(bits).wrapping_add(past));
            let places = rows.map_or(places, |rows| rows.places(places));
            let is_one = stored_value(body, instruction).is_some();
            self.all.push(Touch {
                node,
                part,
                at,
                is_store,
                is_atomic,
                semantics: access.semantics,
                is_strong: access.is_strong() && access.scope >= Scope::Cta,
                object,
                space: access.space,
                is_shared,
                places,
                bytes: access.bytes() as u8,
                lanes,
                may,
                stored: is_one.then_some(content),
            });
            if matches!(object, Object::Part(_)) {
                self.has_unplaced_global_write |= is_store && !is_shared;
                // The distance to other accesses to the variable is not known.
                loose(self, flow);
            }
        }
    }
}

/// The operand of a matrix that is the distance between its rows.
fn row_stride(body: &Body<'_>, at: InstructionId) -> Option<Value> {
    let rows = body.rows_at(at)?;
    body.row_stride(at, rows).map(|(stride, _)| stride)
}

/// The variables and parameters that the code names, by the value number of their address.
fn objects_by_address(flow: &mut Flow<'_>) -> FxHashMap<u32, Object> {
    let graph = flow.graph;
    let module = flow.module.module;
    let mut functions: Vec<_> = graph.contexts.iter().map(|context| context.function).collect();
    functions.sort_unstable();
    functions.dedup();
    let bodies = functions
        .iter()
        .filter_map(|&function| module.function(function).body.as_ref());
    let named = bodies.flat_map(|body| &body.values);
    let mut symbols: Vec<SymbolId> = named
        .filter_map(|value| match value {
            Value::Symbol(symbol, _) => Some(*symbol),
            _ => None,
        })
        .filter(|&symbol| matches!(module.symbol(symbol).space, Space::Shared | Space::Global))
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    let params = module.function(graph.contexts[0].function).params.len();
    let params: Vec<u16> = (0..u16::try_from(params).unwrap_or(u16::MAX)).collect();
    let variables = symbols
        .into_iter()
        .map(|symbol| (flow.base_address_number_of(symbol), Object::Variable(symbol)));
    let mut objects: FxHashMap<u32, Object> = variables.collect();
    objects.extend(
        params
            .into_iter()
            .map(|param| (flow.param_address_number(param), Object::Parameter(param))),
    );
    objects
}
