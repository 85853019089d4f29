//! Lowers one function: blocks, edges and phis. `instructions.rs` says what becomes of a single instruction.
//!
//! A phi is a copy at the end of each block that leads to it, into a register of its own, and a copy from there where the
//! phi stands: so what it defines is defined once, and the copies of one edge do not overwrite what others of them read.
//! Where the block that leads to it has other successors, the copies get a block of their own on the edge.

use ptxcheck_ptx_parser::Span;
use rustc_hash::FxHashMap;

use super::assembly::Assembly;
use super::callees::Callees;
use super::debug::Locations;
use super::instructions::is_terminator;
use super::numbers::Numbers;
use super::raw::{Block as LlvmBlock, Opcode, Type, User, Value as LlvmValue};
use super::symbols::Symbols;
use super::types::{Shape, Types};
use crate::ir::{
    Access, AccessKind, Argument, Block, BlockId, Body, DebugId, Function, FunctionId, Guard, Instruction,
    InstructionId, Op, Register, RegisterInfo, Slots, Space, Value,
};
use crate::limits::{MAX_CONSTANT_DEPTH, MAX_PARAMETER_USES};

/// A place that edges lead to: a block of the function by its number, or one that the lowering makes.
pub(super) type Label = u32;

/// What the lowering knows of a module's types, constants and callees, and of the values of one body: the latter empty at
/// its start, with the memory of those before.
pub(super) struct Scratch<'a, 'm> {
    types: Types<'m>,
    pub(super) callees: Callees<'m>,
    /// The numbers of constants that are the same wherever they stand.
    constant_of: Numbers,
    constants: Vec<Value>,
    register_of: Numbers,
    label_of: Numbers,
    /// The elements of structures, where they are followed one by one.
    pub(super) parts: FxHashMap<LlvmValue<'m>, Vec<Value>>,
    blocks: Vec<LlvmBlock<'m>>,
    phis: Vec<Phi<'m>>,
    /// The first phi of each block, and one past the last of all.
    first_phis: Vec<usize>,
    /// Where edges leave the elements of phis that are aggregates.
    landing_parts: Vec<Register>,
    /// What edges leave for phis, by the blocks at their ends.
    leaving: Vec<Leaving<'m>>,
    /// Blocks that edges want of their own: from, to, and their label.
    queued: Vec<(Label, Label, Label)>,
    /// Lists of one instruction's operands, arguments, targets and indices.
    pub(super) uses: Vec<Value>,
    pub(super) arguments: Vec<Argument>,
    pub(super) targets: Vec<Label>,
    pub(super) indices: Vec<(LlvmValue<'m>, i64)>,
    labels: Vec<Option<BlockId>>,
    edges: Vec<Label>,
    body: Body<'a>,
}

/// A phi, and where edges leave what it takes.
#[derive(Clone, Copy)]
struct Phi<'m> {
    user: User<'m>,
    shape: Shape,
    landing: Register,
    /// In [`Scratch::landing_parts`].
    parts: Slots,
}

/// What an edge leaves for a phi.
#[derive(Clone, Copy)]
struct Leaving<'m> {
    from: Label,
    to: Label,
    phi: u32,
    source: LlvmValue<'m>,
}

impl<'m> Scratch<'_, 'm> {
    pub(super) fn new(module: super::raw::Module<'m>) -> Self {
        Self {
            types: Types::new(module),
            callees: Callees::default(),
            constant_of: Numbers::default(),
            constants: Vec::new(),
            register_of: Numbers::default(),
            label_of: Numbers::default(),
            parts: FxHashMap::default(),
            blocks: Vec::new(),
            phis: Vec::new(),
            first_phis: Vec::new(),
            landing_parts: Vec::new(),
            leaving: Vec::new(),
            queued: Vec::new(),
            uses: Vec::new(),
            arguments: Vec::new(),
            targets: Vec::new(),
            indices: Vec::new(),
            labels: Vec::new(),
            edges: Vec::new(),
            body: Body::default(),
        }
    }

    fn clear(&mut self) {
        /// Most entries of a map whose memory is kept: few functions need more.
        const KEPT: usize = 1_024;
        self.register_of.clear();
        self.label_of.clear();
        if self.parts.capacity() > KEPT {
            self.parts = FxHashMap::default();
        } else {
            self.parts.clear();
        }
        self.blocks.clear();
        self.phis.clear();
        self.first_phis.clear();
        self.landing_parts.clear();
        self.leaving.clear();
        self.queued.clear();
        self.labels.clear();
        self.edges.clear();
    }
}

/// The lowering of one body.
pub(super) struct Lowering<'l, 'a, 'm> {
    pub(super) symbols: &'l mut Symbols<'a, 'm>,
    pub(super) locations: &'l mut Locations<'m>,
    pub(super) assembly: &'l mut Assembly<'m>,
    pub(super) id: FunctionId,
    pub(super) function: LlvmValue<'m>,
    pub(super) body: Body<'a>,
    pub(super) scratch: &'l mut Scratch<'a, 'm>,
    /// The parameters that are passed by value and only read, by their number.
    by_value: FxHashMap<LlvmValue<'m>, u16>,
    debug: DebugId,
    /// The instruction that is looked at, or the function while there is none.
    pub(super) place: Span,
    block_start: usize,
    /// What is left of the constant expressions that may be looked at, and how deep the current one is.
    pub(super) constants_left: usize,
    pub(super) depth: usize,
}

impl<'l, 'a, 'm> Lowering<'l, 'a, 'm> {
    pub(super) fn new(
        symbols: &'l mut Symbols<'a, 'm>,
        locations: &'l mut Locations<'m>,
        assembly: &'l mut Assembly<'m>,
        scratch: &'l mut Scratch<'a, 'm>,
        (id, function): (FunctionId, LlvmValue<'m>),
    ) -> Self {
        scratch.clear();
        let place = symbols.functions[id.index()].header;
        locations.tickets.function(function, place);
        Self {
            symbols,
            locations,
            assembly,
            id,
            function,
            body: std::mem::take(&mut scratch.body),
            scratch,
            by_value: FxHashMap::default(),
            debug: DebugId::NONE,
            place,
            block_start: 0,
            constants_left: crate::limits::MAX_INITIALIZER_NODES,
            depth: 0,
        }
    }

    pub(super) fn lower(mut self) -> Body<'a> {
        for block in self.function.blocks() {
            let label = self.new_label();
            self.scratch.label_of.get_or_insert(block.address(), label);
            self.scratch.blocks.push(block);
        }
        let count = self.scratch.blocks.len();
        for number in 0..count {
            self.scratch.first_phis.push(self.scratch.phis.len());
            self.phis(number);
        }
        self.scratch.first_phis.push(self.scratch.phis.len());
        self.scratch
            .leaving
            .sort_unstable_by_key(|one| (one.from, one.to, one.phi));
        self.scratch
            .leaving
            .dedup_by_key(|one| (one.from, one.to, one.phi));
        for number in 0..count {
            self.begin(number as Label);
            if number == 0 {
                self.parameters();
            }
            self.block(number);
        }
        self.resolve_edges();
        // The memory that it grew in serves the next body.
        let body = self.body.clone();
        self.body.clear();
        self.scratch.body = self.body;
        body
    }

    /// Gives the phis of a block places where edges leave what they take, and notes what that is.
    fn phis(&mut self, number: usize) {
        for phi in self.scratch.blocks[number].phis() {
            let shape = self.shape(phi.ty());
            let landing = self.fresh(shape.bits);
            let first = self.scratch.landing_parts.len();
            if let Some(elements) = Some(phi.ty())
                .filter(|_| shape.is_aggregate)
                .and_then(|ty| self.elements(ty))
            {
                for (ty, _) in elements {
                    let bits = self.bits(ty);
                    let part = self.fresh(bits);
                    self.scratch.landing_parts.push(part);
                }
            }
            for (source, from) in phi.incoming() {
                if let Some(from) = self.scratch.label_of.get(from.address()) {
                    self.scratch.leaving.push(Leaving {
                        from,
                        to: number as Label,
                        phi: self.scratch.phis.len() as u32,
                        source,
                    });
                }
            }
            self.scratch.phis.push(Phi {
                user: phi,
                shape,
                landing,
                parts: Slots::new(first, self.scratch.landing_parts.len()),
            });
        }
    }

    /// Parameters are loaded on entry, as in PTX. What is passed by value lies in memory of the callee's own.
    fn parameters(&mut self) {
        for (number, param) in self.function.params().enumerate() {
            let register = Value::Register(self.register(param));
            let bits = self.bits(param.ty());
            let number = number.min(usize::from(u16::MAX)) as u16;
            let is_by_value = self.function.by_value(u32::from(number)).is_some();
            if is_by_value && is_only_read(param) {
                self.by_value.insert(param, number);
            }
            if bits == 0 || is_by_value {
                self.emit(Op::Opaque, &[register], &[]);
                continue;
            }
            let access = Access {
                kind: AccessKind::Load,
                space: Space::Param,
                bits,
                signed: false,
                count: 1,
                volatile: false,
            };
            self.emit(
                Op::Access(access),
                &[register],
                &[Value::Param(number, 0), Value::Integer(0)],
            );
        }
    }

    /// The parameter that a pointer points into, and how far, if it is one that is passed by value.
    pub(super) fn parameter_address(&mut self, pointer: LlvmValue<'m>) -> Option<(u16, i32)> {
        if self.by_value.is_empty() {
            return None;
        }
        let (mut current, mut at) = (pointer, 0_i64);
        for _ in 0..MAX_CONSTANT_DEPTH {
            if let Some(&number) = self.by_value.get(&current) {
                return Some((number, i32::try_from(at).ok()?));
            }
            let user = current.user()?;
            match user.opcode() {
                Opcode::LLVMGetElementPtr => {
                    let mut dynamic = Vec::new();
                    let offset = self.offsets(user, &mut dynamic)?;
                    if !dynamic.is_empty() {
                        return None;
                    }
                    at = at.checked_add(offset)?;
                }
                Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {}
                _ => return None,
            }
            current = user.operand(0)?;
        }
        None
    }

    fn block(&mut self, number: usize) {
        let label = number as Label;
        self.locations.tickets.block();
        let mut phi = self.scratch.first_phis[number];
        for instruction in self.scratch.blocks[number].instructions() {
            self.place = self.locations.tickets.instruction();
            let opcode = instruction.opcode();
            if opcode == Opcode::LLVMPHI {
                // Those behind other instructions are malformed, and take nothing.
                if phi < self.scratch.first_phis[number + 1] {
                    self.land(phi);
                } else {
                    let result = self.register(instruction.value());
                    self.emit(Op::Opaque, &[Value::Register(result)], &[]);
                }
                phi += 1;
                continue;
            }
            if let Some(node) = instruction.debug_location() {
                self.debug = self.locations.of(node);
            }
            if is_terminator(opcode) {
                self.terminator(label, instruction);
                break;
            }
            if !self.instruction(instruction) {
                // What follows a trap is never reached.
                self.end_block(&[]);
                break;
            }
        }
        for at in 0..self.scratch.queued.len() {
            let (from, to, label) = self.scratch.queued[at];
            self.begin(label);
            self.copies(from, to);
            self.emit(Op::Branch, &[], &[]);
            self.end_block(&[to]);
        }
        self.scratch.queued.clear();
        if self.body.instructions.len() > self.block_start {
            // A block without a terminator is malformed; it leads nowhere.
            self.end_block(&[]);
        }
    }

    pub(super) fn new_label(&mut self) -> Label {
        self.scratch.labels.push(None);
        self.scratch.labels.len() as Label - 1
    }

    /// Begins a block here.
    pub(super) fn begin(&mut self, label: Label) {
        self.scratch.labels[label as usize] = Some(BlockId::new(self.body.blocks.len()));
    }

    /// The target of an edge. Where the block needs copies that others of `from`'s successors do not, a block of the
    /// edge's own is queued; with a single successor, the copies are added here.
    pub(super) fn edge(&mut self, from: Label, to: LlvmBlock<'m>, alone: bool) -> Option<Label> {
        let to = self.scratch.label_of.get(to.address())?;
        let firsts = &self.scratch.first_phis[to as usize..];
        if firsts[0] == firsts[1] {
            return Some(to);
        }
        if alone {
            self.copies(from, to);
            return Some(to);
        }
        let mut nearest = self.scratch.queued.iter().rev().take(8);
        if let Some((.., label)) = nearest.find(|(_, known, _)| *known == to) {
            return Some(*label);
        }
        let label = self.new_label();
        self.scratch.queued.push((from, to, label));
        Some(label)
    }

    /// The copies that the phis of `to` want on the edge from `from`.
    fn copies(&mut self, from: Label, to: Label) {
        let first = self
            .scratch
            .leaving
            .partition_point(|one| (one.from, one.to) < (from, to));
        for at in first..self.scratch.leaving.len() {
            let one = self.scratch.leaving[at];
            if (one.from, one.to) != (from, to) {
                break;
            }
            let phi = self.scratch.phis[one.phi as usize];
            let whole = self.value(one.source);
            self.emit(Op::Copy, &[Value::Register(phi.landing)], &[whole]);
            if !phi.parts.range().is_empty() {
                let parts = self.parts(one.source).unwrap_or_default();
                for (number, place) in phi.parts.range().enumerate() {
                    let landing = Value::Register(self.scratch.landing_parts[place]);
                    let part = parts.get(number).copied().unwrap_or(Value::Unknown);
                    self.emit(Op::Copy, &[landing], &[part]);
                }
            }
        }
    }

    /// What a phi takes, from where the edges left it.
    fn land(&mut self, number: usize) {
        let phi = self.scratch.phis[number];
        let result = self.defined(phi.user, phi.shape.bits);
        self.emit(
            Op::Copy,
            &[Value::Register(result)],
            &[Value::Register(phi.landing)],
        );
        if phi.parts.range().is_empty() {
            return;
        }
        let mut parts = Vec::new();
        for place in phi.parts.range() {
            let landing = self.scratch.landing_parts[place];
            let part = Value::Register(self.fresh(self.body.registers[landing.index()].bits));
            self.emit(Op::Copy, &[part], &[Value::Register(landing)]);
            parts.push(part);
        }
        self.scratch.parts.insert(phi.user.value(), parts);
    }

    pub(super) fn shape(&self, ty: Type<'m>) -> Shape {
        self.scratch.types.shape(ty)
    }

    /// Bits of a value that is one number; 0 for anything else.
    pub(super) fn bits(&self, ty: Type<'m>) -> u8 {
        self.shape(ty).bits
    }

    /// The same, for an operand that has become `value`.
    pub(super) fn width(&self, operand: LlvmValue<'m>, value: Value) -> u8 {
        match value {
            Value::Register(register) => self.body.registers[register.index()].bits,
            _ => self.bits(operand.ty()),
        }
    }

    /// Bytes that a value of this type takes in memory.
    pub(super) fn size(&self, ty: Type<'m>) -> u64 {
        self.scratch.types.size(ty)
    }

    /// The register that holds an instruction's or argument's value.
    pub(super) fn register(&mut self, value: LlvmValue<'m>) -> Register {
        match self.known_register(value) {
            Some(known) => known,
            None => self.new_register(value, self.bits(value.ty())),
        }
    }

    /// The register that an instruction writes, whose value has so many bits.
    pub(super) fn defined(&mut self, user: User<'m>, bits: u8) -> Register {
        self.new_register(user.value(), bits)
    }

    fn new_register(&mut self, value: LlvmValue<'m>, bits: u8) -> Register {
        let next = self.body.registers.len();
        let number = self
            .scratch
            .register_of
            .get_or_insert(value.address(), next as u32) as usize;
        if number == next {
            self.fresh(bits);
        }
        Register::new(number)
    }

    pub(super) fn known_register(&self, value: LlvmValue<'m>) -> Option<Register> {
        let number = self.scratch.register_of.get(value.address())?;
        Some(Register::new(number as usize))
    }

    /// The constant that was kept for a value.
    pub(super) fn known_constant(&self, value: LlvmValue<'m>) -> Option<Value> {
        let number = self.scratch.constant_of.get(value.address())?;
        self.scratch.constants.get(number as usize).copied()
    }

    /// Keeps a constant that is the same wherever it stands.
    pub(super) fn keep(&mut self, value: LlvmValue<'m>, constant: Value) -> Value {
        let next = self.scratch.constants.len();
        self.scratch.constants.push(constant);
        self.scratch
            .constant_of
            .get_or_insert(value.address(), next as u32);
        constant
    }

    /// A register of the lowering's own.
    pub(super) fn fresh(&mut self, bits: u8) -> Register {
        self.body.registers.push(RegisterInfo {
            bits,
            name: Span::default(),
        });
        Register::new(self.body.registers.len() - 1)
    }

    pub(super) fn emit(&mut self, op: Op, results: &[Value], uses: &[Value]) -> InstructionId {
        self.emit_guarded(op, None, results, uses)
    }

    pub(super) fn emit_guarded(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        results: &[Value],
        uses: &[Value],
    ) -> InstructionId {
        let id = InstructionId::new(self.body.instructions.len());
        let start = self.body.values.len();
        // Two or three: a loop is faster than copying memory.
        for &value in results.iter().chain(uses) {
            self.body.values.push(value);
        }
        self.body.instructions.push(Instruction {
            op,
            guard,
            values: Slots::new(start, self.body.values.len()),
            results: results.len() as u16,
            debug: self.debug,
            span: self.place,
        });
        if matches!(op, Op::Collective(..)) {
            self.body.collectives.push(id);
        }
        id
    }

    pub(super) fn end_block(&mut self, targets: &[Label]) {
        let end = self.body.instructions.len();
        let first = self.scratch.edges.len();
        self.scratch.edges.extend_from_slice(targets);
        let span = self
            .body
            .instructions
            .get(self.block_start)
            .map(|first| first.span)
            .unwrap_or_default();
        self.body.blocks.push(Block {
            instructions: Slots::new(self.block_start, end),
            successors: Slots::new(first, self.scratch.edges.len()),
            span,
        });
        self.block_start = end;
    }

    fn resolve_edges(&mut self) {
        for number in 0..self.body.blocks.len() {
            let pending = self.body.blocks[number].successors;
            let start = self.body.edges.len();
            let targets = self.scratch.edges[pending.range()]
                .iter()
                .filter_map(|label| self.scratch.labels[*label as usize]);
            self.body
                .edges
                .extend(targets.filter(|target| target.index() < self.body.blocks.len()));
            self.body.blocks[number].successors = Slots::new(start, self.body.edges.len());
        }
    }
}

/// Whether all that is done with the memory at a pointer is to load from it.
fn is_only_read(pointer: LlvmValue<'_>) -> bool {
    let mut open = vec![pointer];
    let mut left = MAX_PARAMETER_USES;
    while let Some(pointer) = open.pop() {
        for user in pointer.users() {
            left -= 1;
            let Some(user) = user.user().filter(|_| left > 0) else {
                return false;
            };
            match user.opcode() {
                Opcode::LLVMLoad => {}
                Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {
                    open.push(user.value());
                }
                // The source of a copy, not its target.
                Opcode::LLVMCall
                    if user.operand(1) == Some(pointer)
                        && user.operand(0) != Some(pointer)
                        && user.called().is_some_and(|called| {
                            ["llvm.memcpy.", "llvm.memmove."]
                                .iter()
                                .any(|name| called.name().starts_with(name))
                        }) => {}
                _ => return false,
            }
        }
    }
    true
}

/// The first debug location of a body, for functions that have no subprogram.
pub(super) fn declared(function: &Function<'_>, body: &Body<'_>) -> DebugId {
    if function.declared == DebugId::NONE {
        body.instructions
            .first()
            .map_or(DebugId::NONE, |first| first.debug)
    } else {
        function.declared
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_module;
    use crate::ir::{Access, AccessKind, Op, Space, Value};

    /// The loads of the first body: the space that each names, and its address.
    fn loads(text: &str) -> Vec<(Space, Value)> {
        with_module(text.as_bytes(), |module| {
            let (_, _, body) = module.bodies().next().unwrap();
            body.instructions
                .iter()
                .filter_map(|instruction| match instruction.op {
                    Op::Access(Access {
                        kind: AccessKind::Load,
                        space,
                        ..
                    }) => Some((space, body.uses(instruction)[0])),
                    _ => None,
                })
                .collect()
        })
        .unwrap()
    }

    const KERNEL: &str = "target triple = \"nvptx64-nvidia-cuda\"
%S = type { ptr, i32, i32 }
define ptx_kernel void @k(ptr byval(%S) align 8 %s) {
  %field = getelementptr inbounds %S, ptr %s, i32 0, i32 2
  %value = load i32, ptr %field, align 4
  %out = load ptr, ptr %s, align 8
  store i32 %value, ptr %out, align 4
  ret void
}
";

    #[test]
    fn a_kernels_structure_is_read_as_a_parameter() {
        let parameter = |at| (Space::Param, Value::Param(0, at));
        assert_eq!(loads(KERNEL), [parameter(12), parameter(0)]);
    }

    #[test]
    fn one_that_is_written_is_memory() {
        let written = KERNEL.replace("  ret void", "  store i32 1, ptr %field, align 4\n  ret void");
        assert!(loads(&written).iter().all(|(space, _)| *space == Space::Generic));
    }
}
