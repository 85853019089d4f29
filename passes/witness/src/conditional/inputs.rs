//! Inputs that decide a finding: the parameters and the loaded values that a branch, a mask or a lane number is computed from.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::analysis::ModuleAnalyses;
use crate::analysis::call_graph::CallSite;
use crate::analysis::lanes::Site;
use crate::ir::evaluate::is_interpreted;
use crate::ir::{
    AccessKind, BinaryOp, Collective, FunctionId, InstructionId, Op, Register, Space, Special, UnaryOp, Value,
};
use crate::limits::{MAX_CONDITIONAL_INPUTS, MAX_INPUT_STEPS, MAX_SITE_CLASSES};

/// A piece of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub number: u16,
    pub offset: u32,
    pub bytes: u8,
}

/// The inputs of some places of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    /// Integer parameters.
    pub params: BTreeSet<Piece>,
    /// Loads from memory that threads share.
    pub loads: BTreeSet<Site>,
    /// The constants that something is compared with on the way.
    pub constants: BTreeSet<i64>,
    /// The sides of the block, x, y and z, that are read on the way (`%ntid`).
    pub sides: [bool; 3],
}

impl Inputs {
    /// Number of inputs.
    pub(super) fn len(&self) -> usize {
        self.params.len() + self.loads.len()
    }

    /// These; where they are too many, those `near` the place, and where these are, too, the sides of the block alone.
    pub(super) fn limited_to_few(self, near: Self) -> Self {
        let sides = self.sides;
        let few = [self, near]
            .into_iter()
            .find(|inputs| inputs.len() <= MAX_CONDITIONAL_INPUTS);
        few.unwrap_or_else(|| Self {
            sides,
            ..Self::default()
        })
    }

    /// These and the others.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self {
            params: self.params.union(&other.params).copied().collect(),
            loads: self.loads.union(&other.loads).cloned().collect(),
            constants: self.constants.union(&other.constants).copied().collect(),
            sides: std::array::from_fn(|side| self.sides[side] || other.sides[side]),
        }
    }
}

/// Places that are searched for together: they depend on the same sides of the block, and on not too many inputs.
pub(super) struct InputClass<T> {
    pub members: BTreeSet<T>,
    /// The members that some input decides: the others go the same way in all scenarios with one block.
    pub decided: BTreeSet<T>,
    pub inputs: Inputs,
}

impl<T> Default for InputClass<T> {
    fn default() -> Self {
        Self {
            members: BTreeSet::new(),
            decided: BTreeSet::new(),
            inputs: Inputs::default(),
        }
    }
}

impl<T: Ord + Clone> InputClass<T> {
    /// Adds a member with its inputs to the first class that it fits in, or to a new one; false if there are too many.
    pub(super) fn join(classes: &mut Vec<Self>, member: T, own: &Inputs) -> bool {
        let fits = |class: &Self| {
            class.inputs.sides == own.sides && class.inputs.with(own).len() <= MAX_CONDITIONAL_INPUTS
        };
        let number = match classes.iter().position(fits) {
            Some(number) => number,
            None if classes.len() >= MAX_SITE_CLASSES => return false,
            None => {
                classes.push(Self::default());
                classes.len() - 1
            }
        };
        let class = &mut classes[number];
        class.inputs = class.inputs.with(own);
        if own.len() > 0 {
            class.decided.insert(member.clone());
        }
        class.members.insert(member);
        true
    }
}

/// A register, in a function that is called so (innermost first).
type Asked = (FunctionId, Vec<CallSite>, Register);

/// The origin of a member mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskOrigin {
    /// Constants alone.
    Constant,
    /// It has bits of a parameter or of a value from memory. Somebody else has chosen them, and may have chosen right.
    Given,
    /// It is computed: from thread numbers, comparisons, votes.
    Computed,
}

/// The operands that an input search follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    /// All that a value depends on.
    Everything,
    /// The values whose bits it has, in other places perhaps.
    Bits,
}

/// Search for the inputs of a kernel.
#[derive(Clone)]
pub(super) struct InputSearch<'m> {
    module: &'m ModuleAnalyses<'m>,
    follow: Follow,
    /// Slots of the stack with several stores are followed, too.
    with_all_stores: bool,
    /// Some of the bits are computed: by arithmetic, a comparison, a vote.
    is_computed: bool,
    found: Inputs,
    seen: FxHashSet<Asked>,
    open: Vec<Asked>,
    steps_left: usize,
}

impl<'m> InputSearch<'m> {
    pub(super) fn new(module: &'m ModuleAnalyses<'m>) -> Self {
        Self {
            module,
            follow: Follow::Everything,
            with_all_stores: false,
            is_computed: false,
            found: Inputs::default(),
            seen: FxHashSet::default(),
            open: Vec::new(),
            steps_left: MAX_INPUT_STEPS,
        }
    }

    /// The same search, which follows all values that are stored in a slot of the stack.
    pub(super) fn with_all_stores(self) -> Self {
        Self {
            with_all_stores: true,
            ..self
        }
    }

    /// Adds what an instruction depends on: its guard, and for a collective its mask and the lanes that it names.
    pub(super) fn add(&mut self, site: &Site) {
        let Some(body) = self.module.module.function(site.function).body.as_ref() else {
            return;
        };
        let instruction = body.instruction(site.instruction);
        let uses = body.uses(instruction);
        let asked: &[usize] = match instruction.op {
            Op::Collective(Collective::Shuffle(_), _) => &[0, 2],
            Op::Collective(..) | Op::BranchTable => &[0],
            _ => &[],
        };
        let operands = asked.iter().filter_map(|&place| uses.get(place).copied());
        let guard = instruction.guard.map(|guard| Value::Register(guard.register));
        for value in operands.chain(guard) {
            self.follow_value(site.function, &site.callers, value);
        }
        self.follow();
    }

    /// Adds what some operands of an instruction depend on.
    pub(super) fn add_values(&mut self, site: &Site, values: &[Value]) {
        for &value in values {
            self.follow_value(site.function, &site.callers, value);
        }
        self.follow();
    }

    /// True if the search has followed all that it has been asked for.
    pub(super) fn is_complete(&self) -> bool {
        self.open.is_empty() && self.steps_left > 0
    }

    /// The origin of a collective's mask; `None` for other instructions.
    pub(super) fn mask_origin(module: &'m ModuleAnalyses<'m>, site: &Site) -> Option<MaskOrigin> {
        let body = module.module.function(site.function).body.as_ref()?;
        let instruction = body.instruction(site.instruction);
        let &mask = body.uses(instruction).first()?;
        if !matches!(instruction.op, Op::Collective(..)) {
            return None;
        }
        let mut search = Self {
            follow: Follow::Bits,
            ..Self::new(module)
        };
        search.follow_value(site.function, &site.callers, mask);
        search.follow();
        Some(if search.found.len() > 0 {
            MaskOrigin::Given
        } else if search.is_computed {
            MaskOrigin::Computed
        } else {
            MaskOrigin::Constant
        })
    }

    /// Adds what the place of an access to memory depends on.
    pub(super) fn add_address(&mut self, site: &Site) {
        let Some(body) = self.module.module.function(site.function).body.as_ref() else {
            return;
        };
        // The address and the offset.
        let uses = body.uses(body.instruction(site.instruction));
        for &value in uses.iter().take(2) {
            self.follow_value(site.function, &site.callers, value);
        }
        self.follow();
    }

    /// Adds the conditions that decide whether, and how often, threads reach an instruction: those of the branches that lead there or
    /// elsewhere, in its function and in its callers.
    pub(super) fn add_controls(&mut self, site: &Site) {
        let mut callers = &site.callers[..];
        let (mut function, mut instruction) = (site.function, site.instruction);
        loop {
            self.add_controls_of(function, instruction, callers);
            let Some((call, outer)) = callers.split_first() else {
                break;
            };
            (function, instruction, callers) = (call.caller, call.instruction, outer);
        }
        self.follow();
    }

    fn add_controls_of(&mut self, function: FunctionId, instruction: InstructionId, callers: &[CallSite]) {
        let module = self.module;
        let Some(body) = module.module.function(function).body.as_ref() else {
            return;
        };
        let analyses = module.function(function);
        let (cfg, post) = (analyses.cfg(), analyses.post_dominators());
        let to = body.block_of(instruction);
        let mut seen = vec![false; body.blocks.len()];
        let mut open = vec![to];
        while let Some(block) = open.pop() {
            for &from in cfg.predecessors(block) {
                if std::mem::replace(&mut seen[from.index()], true) {
                    continue;
                }
                open.push(from);
                if post.dominates(to, from) {
                    continue;
                }
                let ends = body.block(from).filter_map(|(_, last)| {
                    let is_way = matches!(last.op, Op::Branch | Op::BranchTable | Op::Return | Op::Exit);
                    is_way.then_some(last)
                });
                for end in ends {
                    if let Some(guard) = end.guard {
                        self.follow_value(function, callers, Value::Register(guard.register));
                    }
                    if end.op == Op::BranchTable
                        && let Some(&index) = body.uses(end).first()
                    {
                        self.follow_value(function, callers, index);
                    }
                }
            }
        }
    }

    pub(super) fn finish(self) -> Inputs {
        self.found
    }

    fn follow_value(&mut self, function: FunctionId, callers: &[CallSite], value: Value) {
        let register = match value {
            Value::Register(register) | Value::Not(register) => register,
            Value::Special(Special::Ntid(side)) => {
                if let Some(read) = self.found.sides.get_mut(usize::from(side)) {
                    *read = true;
                }
                return;
            }
            _ => return,
        };
        let asked = (function, callers.to_vec(), register);
        if self.seen.insert(asked.clone()) {
            self.open.push(asked);
        }
    }

    fn follow(&mut self) {
        while let Some((function, callers, register)) = self.open.pop() {
            let Some(left) = self.steps_left.checked_sub(1) else {
                return;
            };
            self.steps_left = left;
            let module = self.module;
            let analyses = module.function(function);
            for &definition in analyses.definitions().writers_of(register) {
                self.follow_definition((function, &callers), register, definition);
            }
        }
    }

    fn follow_definition(
        &mut self,
        (function, callers): (FunctionId, &[CallSite]),
        register: Register,
        id: InstructionId,
    ) {
        let module = self.module;
        let Some(body) = module.module.function(function).body.as_ref() else {
            return;
        };
        let instruction = body.instruction(id);
        let uses = body.uses(instruction);
        if let Some(guard) = instruction.guard
            && self.follow == Follow::Everything
        {
            self.follow_value(function, callers, Value::Register(guard.register));
        }
        match instruction.op {
            op if self.follow == Follow::Bits && is_interpreted(op) => {
                let bits = bits_of(op, uses);
                self.is_computed |= bits.is_empty() || op == Op::Select;
                for &value in bits {
                    self.follow_value(function, callers, value);
                }
            }
            op if is_interpreted(op) => {
                if is_comparison(op) {
                    let constants = uses.iter().filter_map(|value| match value {
                        Value::Integer(constant) => Some(*constant),
                        _ => None,
                    });
                    self.found.constants.extend(constants);
                }
                for &value in uses {
                    self.follow_value(function, callers, value);
                }
            }
            Op::Collective(Collective::Vote(_) | Collective::Shuffle(_) | Collective::Match(..), _)
                if self.follow == Follow::Everything =>
            {
                if let Some(&value) = uses.get(1) {
                    self.follow_value(function, callers, value);
                }
            }
            Op::Access(access) if access.kind == AccessKind::Load => {
                if let Some((number, first, bytes)) = body.loaded_param_pieces(instruction) {
                    let results = body.results(instruction).iter();
                    let pieces = (0_i32..).zip(results);
                    let own = pieces.filter(|(_, result)| result.register() == Some(register));
                    for (piece, _) in own.collect::<Vec<_>>() {
                        let offset = first.saturating_add(piece.saturating_mul(bytes.into()));
                        self.add_param(function, callers, (number, offset), bytes);
                    }
                } else if access.space == Space::Local || module.function(function).loads_slot(id) {
                    let analyses = module.function(function);
                    if let Some(value) = analyses.stored_value_read_by(id) {
                        self.follow_value(function, callers, value);
                    } else if self.with_all_stores {
                        for value in analyses.stored_values_for(id) {
                            self.follow_value(function, callers, value);
                        }
                    }
                } else if access.space != Space::Param && access.count == 1 {
                    self.found.loads.insert(Site {
                        function,
                        instruction: id,
                        callers: callers.to_vec(),
                    });
                }
            }
            _ => self.is_computed = true,
        }
    }

    /// A piece of a parameter: of a kernel, an input; of another function, the arguments of its caller.
    fn add_param(
        &mut self,
        function: FunctionId,
        callers: &[CallSite],
        (number, offset): (u16, i32),
        bytes: u8,
    ) {
        if let Some((call, outer)) = callers.split_first() {
            let Some(caller) = self.module.module.function(call.caller).body.as_ref() else {
                return;
            };
            let Op::Call(number_of_call) = caller.instruction(call.instruction).op else {
                return;
            };
            let arguments = caller.arguments(caller.call(number_of_call)).iter();
            let passed = arguments
                .filter(|argument| {
                    argument.param == u32::from(number) && i32::try_from(argument.offset) == Ok(offset)
                })
                .map(|argument| argument.value);
            for value in passed.collect::<Vec<_>>() {
                self.follow_value(call.caller, outer, value);
            }
        } else if self.module.module.function(function).is_kernel()
            && let (Ok(offset), 1..=8) = (u32::try_from(offset), bytes)
        {
            self.found.params.insert(Piece {
                number,
                offset,
                bytes,
            });
        }
    }
}

/// The operands whose bits the result of an integer operation has.
fn bits_of(op: Op, uses: &[Value]) -> &[Value] {
    use BinaryOp::{And, Or, Xor};
    match op {
        Op::Copy
        | Op::Convert { .. }
        | Op::Unary(UnaryOp::Not | UnaryOp::ReverseBits, _)
        | Op::Binary(And | Or | Xor, _)
        | Op::Lop3(..)
        | Op::Pack(..)
        | Op::Unpack(..)
        | Op::InsertBits(..) => uses,
        Op::Binary(op, _) if op.is_shift() => uses.get(..1).unwrap_or_default(),
        Op::ExtractBits(..) => uses.get(..1).unwrap_or_default(),
        Op::FunnelShift { .. } => uses.get(..2).unwrap_or_default(),
        // The predicate is the last.
        Op::Select => uses.get(..2).unwrap_or_default(),
        _ => &[],
    }
}

const fn is_comparison(op: Op) -> bool {
    use BinaryOp::{MaxSigned, MaxUnsigned, MinSigned, MinUnsigned};
    let is_least_or_most = matches!(
        op,
        Op::Binary(MinSigned | MinUnsigned | MaxSigned | MaxUnsigned, _)
    );
    is_least_or_most || matches!(op, Op::Compare(..))
}
