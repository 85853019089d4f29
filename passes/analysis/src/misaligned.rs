//! Accesses at addresses whose known low bits, for any values of the other bits, violate the alignment of the access:
//! `b[n * 16 + 8]` read as 16 bytes.
//!
//! ```text
//! wrong     low bits of the address known (see `low_bits`), as many as the access has to be aligned to, and not all 0
//! reached   some path from the entry leads there without an edge that constants or low bits exclude
//! definite  no branch on a path to it depends on a value that may be a test of the same address: the address of an object, or
//!           the result of a function
//! ```
//!
//! The sides of the block are known where a launch states them. The rows of a matrix have to be aligned to 16 bytes, or to what a lane gets.
//!
//! The last condition distinguishes a wrong access from code that a compiler has kept after a test for alignment.

use rustc_hash::FxHashSet;

use crate::function::Analyses;
use crate::lanes::{Launch, ShapeSource, launches_of};
use crate::limits::{MAX_ALIGNMENT_BLOCKS, MAX_ALIGNMENT_STEPS};
use crate::reached;
use crate::shared::Shared;
use crate::value::{Bits, KnownBits};
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::paths::{reached, taken};
use ptxcheck_ir::{
    Access, AccessKind, AsyncOp, Asynchronous, BlockId, Body, Function, FunctionId, InstructionId, Op,
    Register, Space, Special, SymbolId, SymbolKind, Value,
};

/// An access at an address that is not aligned to its size, for any values of the unknown bits.
#[derive(Clone, Copy, Debug)]
pub struct Misaligned {
    /// The function.
    pub function: FunctionId,
    /// The access.
    pub instruction: InstructionId,
    /// The variable that contains the address, if that is simple.
    pub symbol: Option<SymbolId>,
    /// The alignment in bytes that the address must have.
    pub unit: u32,
    /// The address is known to be `past` bytes more than a multiple of this number: `unit`, or less if fewer bits are known.
    pub of: u32,
    /// Bytes by which it is more than such a multiple.
    pub past: u32,
    /// It is wrong in each execution, and nothing keeps it from being executed.
    pub is_definite: bool,
    /// Nothing calls the function.
    pub is_uncalled: bool,
    /// The launch that says so, if the sides of the block make the address what it is.
    pub launch: Option<Launch>,
}

/// All misaligned accesses of a module, in the order of the input.
pub(crate) fn find_misaligned_accesses(module: &Shared<'_>) -> Vec<Misaligned> {
    let of_function = |id, function: &Function<'_>, body: &Body<'_>| {
        let mut found = Vec::new();
        let is_source = |value: &Value| is_source_of_alignment(module, *value);
        if function.is_damaged || !body.values.iter().any(is_source) || module.deadline.is_over_at_step() {
            return found;
        }
        let Some(mut search) = AlignmentSearch::new(module, id) else {
            return found;
        };
        for (number, instruction) in body.instructions.iter().enumerate() {
            let at = InstructionId::new(number);
            if let Op::Access(access) = instruction.op
                && let &[Value::Register(address), Value::Integer(past), ..] = body.uses(instruction)
            {
                let access = body.row_access_at(at).map_or(access, |(row, _)| row);
                if access.unit() > 1 {
                    found.extend(search.judge_access(at, &access, (address, past)));
                }
            }
        }
        found
    };
    let mut found = module.map_bodies(of_function).concat();
    make_uncalled_potential(module, &mut found);
    found
}

/// Accesses of functions that nothing calls are not definite.
fn make_uncalled_potential(module: &Shared<'_>, found: &mut [Misaligned]) {
    if found.iter().any(|one| one.is_definite) {
        let is_reached = reached::callable_functions(module);
        for one in found {
            one.is_uncalled = !is_reached[one.function.index()];
            one.is_definite &= !one.is_uncalled;
        }
    }
}

/// The same for the addresses of asynchronous operations, whose alignment differs from their size. Only operations for which
/// `unit` gives an alignment, with the operations, in the order of the input.
pub(crate) fn misaligned_async_addresses(
    module: &Shared<'_>,
    unit: impl Fn(&Asynchronous, InstructionId) -> Option<u32>,
) -> Vec<(AsyncOp, Misaligned)> {
    let (mut operations, mut found) = (Vec::new(), Vec::new());
    for (id, function, body) in module.module.bodies() {
        let is_source = |value: &Value| is_source_of_alignment(module, *value);
        if body.asynchronous.is_empty()
            || function.is_damaged
            || !body.values.iter().any(is_source)
            || module.deadline.is_over_at_step()
        {
            continue;
        }
        let Some(mut search) = AlignmentSearch::new(module, id) else {
            continue;
        };
        for one in &body.asynchronous {
            let addresses = [one.destination(), one.source(), one.barrier()];
            for at in addresses.into_iter().flatten() {
                let &[address, Value::Integer(past), ..] = body.uses(body.instruction(at)) else {
                    continue;
                };
                if let Some(unit) = unit(one, at) {
                    found.extend(search.judge_address_alignment(at, unit, (address, past)));
                    operations.resize(found.len(), one.op);
                }
            }
        }
    }
    make_uncalled_potential(module, &mut found);
    operations.into_iter().zip(found).collect()
}

/// True for a possible source of known low bits of an address: a variable, or a mask that rounds down. Addresses of
/// parameters are not included, because all kernels read those.
fn is_source_of_alignment(module: &Shared<'_>, value: Value) -> bool {
    match value {
        Value::Symbol(symbol, _) => !matches!(module.module.symbol(symbol).kind, SymbolKind::Function(_)),
        Value::Integer(mask) => (-128..0).contains(&mask) && mask & 1 == 0,
        _ => false,
    }
}

/// The launches of a kernel that reads the sides of the block, if all of them state those.
fn launches_that_state_block(module: &Shared<'_>, id: FunctionId, body: &Body<'_>) -> Vec<Launch> {
    let reads_side = |value: &Value| matches!(value, Value::Special(Special::Ntid(_)));
    if !module.module.function(id).is_kernel() || !body.values.iter().any(reads_side) {
        return Vec::new();
    }
    let launches = launches_of(module, id, false);
    // Blocks may have fewer threads than allowed.
    let is_stated = |launch: &Launch| launch.shape.is_some() && launch.source != ShapeSource::Bound;
    match launches.iter().all(is_stated) {
        true => launches,
        false => Vec::new(),
    }
}

/// The bits of the three sides that all of these launches have.
fn sides_of_blocks(launches: &[Launch]) -> [Bits; 3] {
    let shapes = launches.iter().filter_map(|launch| launch.shape);
    let sides = shapes.map(|shape| shape.map(|side| Bits::of_number(side.into())));
    let common =
        |one: [Bits; 3], other: [Bits; 3]| std::array::from_fn(|side| one[side].common_to_both(other[side]));
    sides.reduce(common).unwrap_or([Bits::UNKNOWN; 3])
}

struct AlignmentSearch<'a, 'm> {
    module: &'a Shared<'m>,
    id: FunctionId,
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    known_bits: KnownBits<'a, 'm>,
    /// The launch that states the sides of the block, if the function is a kernel that reads them.
    launch: Option<Launch>,
    /// The known bits in blocks of any size; computed on first use.
    bits_of_any_block: Option<KnownBits<'a, 'm>>,
    /// For each block: true if some path reaches it without an excluded edge; computed on first use.
    is_reached: Option<Vec<bool>>,
}

impl<'a, 'm> AlignmentSearch<'a, 'm> {
    /// In a function; `None` if it has no body.
    fn new(module: &'a Shared<'m>, id: FunctionId) -> Option<Self> {
        let function = module.module.function(id);
        let body = function.body.as_ref()?;
        let launches = launches_that_state_block(module, id, body);
        Some(Self {
            module,
            id,
            body,
            analyses: module.function(id),
            known_bits: KnownBits::of_function(module, id, sides_of_blocks(&launches))?,
            launch: (!launches.is_empty()).then(|| Launch::common_launch(&function.launch, &launches)),
            bits_of_any_block: None,
            is_reached: None,
        })
    }

    /// The launch that decides so many low bits of an address; `None` if they are known in blocks of any size.
    fn launch_that_decides(&mut self, address: Value, low_bits: u32) -> Option<Launch> {
        let launch = self.launch?;
        if self.bits_of_any_block.is_none() {
            self.bits_of_any_block = KnownBits::of_function(self.module, self.id, [Bits::UNKNOWN; 3]);
        }
        let known = self.bits_of_any_block.as_mut()?;
        let known = known.bits_of_value(address).known_low_bit_count();
        (u32::from(known) < low_bits).then_some(launch)
    }

    /// Judges an access to an address, `past` bytes past a register.
    fn judge_access(
        &mut self,
        at: InstructionId,
        access: &Access,
        (address, past): (Register, i64),
    ) -> Option<Misaligned> {
        if access.kind == AccessKind::Other || access.space == Space::Tensor {
            return None;
        }
        let address = Value::Register(address);
        if u32::from(self.known_bits.bits_of_value(address).known_low_bit_count())
            < access.unit().trailing_zeros()
        {
            return None;
        }
        self.judge_address_alignment(at, access.unit(), (address, past))
    }

    /// Judges an address that has to be a multiple of `unit` bytes.
    fn judge_address_alignment(
        &mut self,
        at: InstructionId,
        unit: u32,
        (address, past): (Value, i64),
    ) -> Option<Misaligned> {
        let bits = self.known_bits.bits_of_value(address);
        // A constant is an address that the program intends, or no address.
        if bits.known_number().is_some() {
            return None;
        }
        let of = unit.min(1 << bits.known_low_bit_count().min(16));
        let past = bits.ones.wrapping_add(past as u64) & u64::from(of - 1);
        if past == 0 || !self.may_be_executed(at) {
            return None;
        }
        Some(Misaligned {
            function: self.id,
            instruction: at,
            symbol: self.object_of_address(address),
            unit,
            of,
            past: past as u32,
            is_definite: !self.may_follow_address_test(at),
            is_uncalled: false,
            launch: self.launch_that_decides(address, of.trailing_zeros()),
        })
    }

    /// False for instructions that constants or low bits keep from being executed.
    fn may_be_executed(&mut self, at: InstructionId) -> bool {
        if self.is_reached.is_none() {
            self.is_reached = Some(self.reached_blocks());
        }
        let block = self.body.block_of(at).index();
        let is_block_reached = self.is_reached.as_ref().is_some_and(|reached| reached[block]);
        is_block_reached && self.outcome_of_guard(at) != Some(false) && self.analyses.is_reached(at)
    }

    /// True or false if low bits decide the guard of an instruction; true without one.
    fn outcome_of_guard(&mut self, at: InstructionId) -> Option<bool> {
        let Some(guard) = self.body.instruction(at).guard else {
            return Some(true);
        };
        let bits = self.known_bits.bits_of_value(Value::Register(guard.register));
        bits.known_truth().map(|holds| holds != guard.negated)
    }

    fn reached_blocks(&mut self) -> Vec<bool> {
        let body = self.body;
        reached(body, [BlockId::new(0)], |block| {
            taken(body, block, self.outcome_of_branch(block))
        })
    }

    /// True if the branch at the end of a block certainly goes to its first successor, false if to its second.
    fn outcome_of_branch(&mut self, block: BlockId) -> Option<bool> {
        let (last, instruction) = self.body.block(block).next_back()?;
        if instruction.op != Op::Branch || instruction.guard.is_none() {
            return None;
        }
        self.outcome_of_guard(last)
    }

    /// True if a branch on a path to an instruction, or its guard, may be a test of an address.
    fn may_follow_address_test(&mut self, at: InstructionId) -> bool {
        let block = self.body.block_of(at);
        let (cfg, post) = (self.analyses.cfg(), self.analyses.post_dominators());
        let mut conditions: Vec<Value> = Vec::new();
        let guard = self.body.instruction(at).guard;
        conditions.extend(guard.map(|guard| Value::Register(guard.register)));
        let (mut open, mut seen) = (vec![block], FxHashSet::default());
        while let Some(before) = open.pop() {
            for &block_before in cfg.predecessors(before) {
                if !seen.insert(block_before) {
                    continue;
                }
                if seen.len() > MAX_ALIGNMENT_BLOCKS {
                    return true;
                }
                open.push(block_before);
                if post.dominates(block, block_before) || self.outcome_of_branch(block_before).is_some() {
                    continue;
                }
                let Some((_, last)) = self.body.block(block_before).next_back() else {
                    continue;
                };
                conditions.extend(last.guard.map(|guard| Value::Register(guard.register)));
                if last.op == Op::BranchTable {
                    conditions.extend(self.body.uses(last));
                }
            }
        }
        self.are_computed_from_addresses(conditions)
    }

    /// True if values are computed from the address of an object, or from results of functions.
    fn are_computed_from_addresses(&self, mut open: Vec<Value>) -> bool {
        let mut seen: FxHashSet<Register> = FxHashSet::default();
        while let Some(value) = open.pop() {
            let register = match value {
                Value::Register(register) | Value::Not(register) => register,
                Value::Symbol(symbol, _) if !self.is_function(symbol) => return true,
                Value::Param(..) => return true,
                _ => continue,
            };
            if !seen.insert(register) {
                continue;
            }
            if seen.len() > MAX_ALIGNMENT_STEPS {
                return true;
            }
            for &definition in self.analyses.definitions().writers_of(register) {
                let instruction = self.body.instruction(definition);
                match instruction.op {
                    Op::Call(_) | Op::CallResult(_) => return true,
                    // A value in memory is not an address that is computed here, unless it was stored on the stack.
                    Op::Access(_) => {
                        if let Some(slot) = self.analyses.loaded_slot(definition, instruction) {
                            open.extend(self.analyses.values_stored_in(slot));
                        }
                    }
                    _ => open.extend(self.body.uses(instruction)),
                }
            }
        }
        false
    }

    fn is_function(&self, symbol: SymbolId) -> bool {
        matches!(self.module.module.symbol(symbol).kind, SymbolKind::Function(_))
    }

    /// The variable that an address is computed from, if that is simple.
    fn object_of_address(&self, address: Value) -> Option<SymbolId> {
        let end = self.analyses.trace_value(address, |form| match form {
            Form::Sum(a, b) => [a, b]
                .into_iter()
                .find(|&value| self.is_computed_from_object(value)),
            Form::ProductSum(_, _, from) | Form::Moved(from, _) => Some(from),
            Form::Difference(from, _) | Form::Bits(from, _) => Some(from),
            _ => None,
        });
        match end {
            Value::Symbol(symbol, _) if !self.is_function(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// True if an operand of a sum is computed from the address of a variable by moves, conversions and constants.
    fn is_computed_from_object(&self, value: Value) -> bool {
        let end = self.analyses.trace_value(value, |form| match form {
            Form::Sum(from, _) | Form::Moved(from, _) => Some(from),
            _ => None,
        });
        matches!(end, Value::Symbol(symbol, _) if !self.is_function(symbol))
    }
}
