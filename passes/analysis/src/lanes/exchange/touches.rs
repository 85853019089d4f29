//! Accesses to shared memory, with the place that each lane accesses.
//!
//! An address is known where it is the begin of a variable plus a number that is known in each lane: the begin is an unknown value
//! that all threads of the block share, so that two such addresses are equal if variable and number are.

use rustc_hash::FxHashMap;

use crate::lanes::flow::Flow;
use crate::lanes::graph::NodeKind;
use crate::lanes::value::{Base, Lanes, ValueId, WARP};
use ptxcheck_ir::{Access, AccessKind, Body, Instruction, InstructionId, Op, Space, SymbolId, Value};

/// An access to shared memory of which the place is known in all lanes that may come there.
pub(super) struct Touch {
    /// The node it is in.
    pub node: u32,
    /// The number of orderings before it in its node.
    pub part: u32,
    /// The instruction.
    pub at: InstructionId,
    /// It writes.
    pub is_store: bool,
    /// It is volatile.
    pub is_volatile: bool,
    /// The variable.
    pub symbol: SymbolId,
    /// By lane, the offset in the variable, in bytes.
    pub places: [i64; WARP],
    /// Bytes that a lane accesses, 1 to 64.
    pub bytes: u8,
    /// The lanes that execute it if they come to its node.
    pub lanes: Lanes,
    /// The lanes that may execute it.
    pub may: Lanes,
    /// The value that a store of one element writes.
    pub stored: Option<ValueId>,
}

/// The accesses of one solution, in the order of its nodes.
#[derive(Default)]
pub(super) struct Touches {
    /// All of them.
    pub all: Vec<Touch>,
    /// By node, the range of those in it.
    by_node: FxHashMap<u32, (usize, usize)>,
    /// By node, the number of orderings in it, if there are any.
    orderings: FxHashMap<u32, u32>,
}

impl Touches {
    /// Those of a solution that follows addresses.
    pub(super) fn new(flow: &mut Flow<'_>) -> Self {
        let mut touches = Self::default();
        let symbols = shared_symbols(flow);
        let order = flow.order;
        let mut asked = Vec::new();
        for &node in &order.nodes {
            if flow.may[node as usize] == 0 || flow.graph.nodes[node as usize].kind != NodeKind::Plain {
                continue;
            }
            let first = touches.all.len();
            touches.node(flow, &symbols, node, &mut asked);
            if touches.all.len() > first {
                touches.by_node.insert(node, (first, touches.all.len()));
            }
        }
        touches
    }

    /// The accesses of a node.
    pub(super) fn of(&self, node: u32) -> std::ops::Range<usize> {
        let (first, end) = self.by_node.get(&node).copied().unwrap_or_default();
        first..end
    }

    /// The number of orderings in a node.
    pub(super) fn orderings(&self, node: u32) -> u32 {
        self.orderings.get(&node).copied().unwrap_or(0)
    }

    fn node(
        &mut self,
        flow: &mut Flow<'_>,
        symbols: &FxHashMap<u32, SymbolId>,
        node: u32,
        asked: &mut Vec<(InstructionId, Value)>,
    ) {
        let body = flow.graph.context(node).body;
        let range = flow.graph.nodes[node as usize].instructions.clone();
        let all = || range.clone().map(|number| InstructionId::new(number as usize));
        asked.clear();
        let mut orderings = 0;
        for at in all() {
            let instruction = body.instruction(at);
            orderings += u32::from(orders(body, instruction));
            if let Some((_, address, _)) = touched(body, instruction) {
                let stored = stored(body, instruction).unwrap_or(Value::Unknown);
                asked.extend([(at, address), (at, stored)]);
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
            part += u32::from(orders(body, instruction));
            let Some((access, address, past)) = touched(body, instruction) else {
                continue;
            };
            let (Some(place), Some(content)) = (values.next(), values.next()) else {
                break;
            };
            let vector = flow.pool.get(place);
            let Base::Uniform(begin) = vector.base else {
                continue;
            };
            let Some(&symbol) = symbols.get(&begin) else {
                continue;
            };
            if vector.exact & here != 0 {
                continue;
            }
            let is_narrow = address
                .register()
                .is_some_and(|register| body.registers[register.index()].bits == 32);
            let offset = |bits: u64| {
                if is_narrow {
                    i64::from(bits as i32)
                } else {
                    bits as i64
                }
            };
            let places = vector.bits.map(|bits| offset(bits).wrapping_add(past));
            let (lanes, may) = match instruction.guard {
                None => (here, here),
                Some(guard) => match (flow.truth(node, at, guard.register), guard.negated) {
                    ((holds, fails), false) => (here & holds, here & !fails),
                    ((holds, fails), true) => (here & fails, here & !holds),
                },
            };
            let is_one = stored(body, instruction).is_some();
            self.all.push(Touch {
                node,
                part,
                at,
                is_store: access.kind == AccessKind::Store,
                is_volatile: access.volatile,
                symbol,
                places,
                bytes: access.bytes() as u8,
                lanes,
                may,
                stored: is_one.then_some(content),
            });
        }
    }
}

/// The variables in shared memory that the code names, by the number of the unknown value that the begin of each is.
fn shared_symbols(flow: &mut Flow<'_>) -> FxHashMap<u32, SymbolId> {
    let graph = flow.graph;
    let module = flow.module.module;
    let mut functions: Vec<_> = graph.contexts.iter().map(|context| context.function).collect();
    functions.sort_unstable();
    functions.dedup();
    let bodies = functions
        .iter()
        .filter_map(|&function| module.function(function).body.as_ref());
    let named = bodies
        .flat_map(|body| &body.values)
        .filter_map(|value| match value {
            Value::Symbol(symbol, _) => Some(*symbol),
            _ => None,
        });
    let mut symbols: Vec<SymbolId> = named
        .filter(|&symbol| module.symbol(symbol).space == Space::Shared)
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
        .into_iter()
        .map(|symbol| (flow.begin_of(symbol), symbol))
        .collect()
}

/// The access of a load or store without an ordering of its own that may be to shared memory, its address, and the constant that is added to it.
pub(super) fn touched(body: &Body<'_>, instruction: &Instruction) -> Option<(Access, Value, i64)> {
    let Op::Access(access) = instruction.op else {
        return None;
    };
    let may_be = matches!(access.kind, AccessKind::Load | AccessKind::Store)
        && matches!(access.space, Space::Shared | Space::Generic)
        && (1..=64).contains(&access.bytes())
        && !access.orders;
    match body.uses(instruction) {
        &[address, Value::Integer(past), ..] if may_be => Some((access, address, past)),
        _ => None,
    }
}

/// The value that a store of one element writes.
pub(super) fn stored(body: &Body<'_>, instruction: &Instruction) -> Option<Value> {
    match (instruction.op, body.uses(instruction)) {
        (Op::Access(access), &[_, _, value]) if access.kind == AccessKind::Store => Some(value),
        _ => None,
    }
}

/// True if an instruction that is no collective may order what lanes do: `mma.sync` and its kin wait for all lanes, copies and
/// barriers in memory complete in their own ways, an acquire may read what a release has written, and what has no result may do anything.
pub(super) fn orders(body: &Body<'_>, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Access(access) => access.kind == AccessKind::Other || access.bits == 0 || access.orders,
        Op::Opaque => !(1..MATRIX_RESULTS).contains(&body.results(instruction).len()),
        _ => false,
    }
}

/// Results that a matrix operation has at least, and arithmetic has not.
const MATRIX_RESULTS: usize = 2;
