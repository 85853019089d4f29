//! Lowers one function, block by block. `edges.rs` says how blocks lead to each other, `instructions.rs` what becomes of a
//! single instruction.

use ptxcheck_ptx_parser::Span;
use rustc_hash::FxHashMap;

use super::assembly::Assembly;
use super::callees::Callees;
use super::debug::Locations;
use super::edges::{NOWHERE, Phi, PhiSources};
use super::numbers::Numbers;
use super::opcodes::is_terminator;
use super::raw::{Block as LlvmBlock, Opcode, Type, User, Value as LlvmValue};
use super::symbols::Symbols;
use super::types::{Shape, Types};
use ptxcheck_ir::{
    Argument, Block, BlockId, Body, DebugId, Function, FunctionId, Guard, InstructionId, Op, Register, Slots,
    SourcePlace, Value, fitting, settle,
};

/// A place that edges lead to: a block of the function by its number, or one that the lowering makes.
pub(super) type Label = u32;

/// Caches of the lowering: for a module, its types, constants and callees; for a body, its values, which are cleared for each body
/// and keep their memory.
pub(super) struct Scratch<'m> {
    types: Types<'m>,
    pub(super) callees: Callees<'m>,
    /// The numbers of constants that are the same wherever they stand.
    constant_of: Numbers,
    constants: Vec<Value>,
    register_of: Numbers,
    pub(super) label_of: Numbers,
    /// The elements of structures, where they are followed one by one.
    pub(super) parts: FxHashMap<LlvmValue<'m>, Vec<Value>>,
    pub(super) blocks: Vec<LlvmBlock<'m>>,
    pub(super) phis: Vec<Phi<'m>>,
    /// The first phi of each block, and one past the last of all.
    pub(super) first_phis: Vec<usize>,
    /// The registers that edges copy the elements of aggregate phis to.
    pub(super) landing_parts: Vec<Register>,
    pub(super) phi_sources: PhiSources<'m>,
    /// Blocks that edges want of their own: from, to, and their label.
    pub(super) queued: Vec<(Label, Label, Label)>,
    /// Lists of one instruction's operands, arguments, targets and indices.
    pub(super) uses: Vec<Value>,
    pub(super) arguments: Vec<Argument>,
    pub(super) targets: Vec<Label>,
    pub(super) indices: Vec<(LlvmValue<'m>, i64)>,
    labels: Vec<Option<BlockId>>,
    edges: Vec<Label>,
}

impl<'m> Scratch<'m> {
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
            phi_sources: PhiSources::default(),
            queued: Vec::new(),
            uses: Vec::new(),
            arguments: Vec::new(),
            targets: Vec::new(),
            indices: Vec::new(),
            labels: Vec::new(),
            edges: Vec::new(),
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
        self.phi_sources.clear();
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
    pub(super) body: &'l mut Body<'a>,
    pub(super) scratch: &'l mut Scratch<'m>,
    /// Pointers into the parameters that are passed by value and only read: the parameter's number, and how far into it.
    pub(super) by_value: FxHashMap<LlvmValue<'m>, (u16, i32)>,
    debug: DebugId,
    /// The current instruction, or the function while there is none.
    pub(super) place: Span,
    block_start: usize,
    /// Number of constant expressions that may still be lowered, and the depth of the current one.
    pub(super) constants_left: usize,
    pub(super) depth: usize,
    /// A branch goes one way only.
    pub(super) has_unreached: bool,
}

impl<'l, 'a, 'm> Lowering<'l, 'a, 'm> {
    pub(super) fn new(
        symbols: &'l mut Symbols<'a, 'm>,
        locations: &'l mut Locations<'m>,
        assembly: &'l mut Assembly<'m>,
        scratch: &'l mut Scratch<'m>,
        body: &'l mut Body<'a>,
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
            body,
            scratch,
            by_value: FxHashMap::default(),
            debug: DebugId::NONE,
            place,
            block_start: 0,
            constants_left: crate::limits::MAX_INITIALIZER_NODES,
            depth: 0,
            has_unreached: false,
        }
    }

    /// Into the body that it was given, which is empty.
    pub(super) fn lower(mut self) {
        // A block without instructions is malformed, and bitcode of a few bytes can declare millions: a branch to one leads
        // nowhere. The first block stays, as the entry.
        for (number, block) in self.function.blocks().enumerate() {
            if number > 0 && block.is_empty() {
                continue;
            }
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
        self.scratch.phi_sources.sort(count);
        for number in 0..count {
            self.begin(number as Label);
            if number == 0 {
                self.parameters();
            }
            self.block(number);
        }
        self.resolve_edges();
        if self.has_unreached {
            self.forget_unreached();
        }
        settle(self.body);
    }

    fn block(&mut self, number: usize) {
        let label = number as Label;
        self.locations.tickets.block();
        let mut is_ended = false;
        let mut phi = self.scratch.first_phis[number];
        for instruction in self.scratch.blocks[number].instructions() {
            self.place = self.locations.tickets.instruction();
            let opcode = instruction.opcode();
            if opcode == Opcode::LLVMPHI {
                // Phis after other instructions are malformed, and take nothing.
                if phi < self.scratch.first_phis[number + 1] {
                    self.lower_phi(phi);
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
                is_ended = true;
                break;
            }
            if !self.instruction(instruction) {
                // Code after a trap is never reached.
                self.end_block(&[]);
                is_ended = true;
                break;
            }
        }
        if !is_ended {
            // A block without a terminator is malformed; it leads nowhere.
            self.end_block(&[]);
        }
        for at in 0..self.scratch.queued.len() {
            let (from, to, label) = self.scratch.queued[at];
            self.begin(label);
            if to == NOWHERE {
                self.emit(Op::Trap, &[], &[]);
                self.end_block(&[]);
            } else {
                self.copies(from, to);
                self.emit(Op::Branch, &[], &[]);
                self.end_block(&[to]);
            }
        }
        self.scratch.queued.clear();
    }

    pub(super) fn new_label(&mut self) -> Label {
        self.scratch.labels.push(None);
        self.scratch.labels.len() as Label - 1
    }

    /// Begins a block here.
    pub(super) fn begin(&mut self, label: Label) {
        self.scratch.labels[label as usize] = Some(BlockId::new(self.body.blocks.len()));
    }

    pub(super) fn shape(&self, ty: Type<'m>) -> Shape {
        self.scratch.types.shape(ty)
    }

    /// Bits of a value that is one number; 0 for anything else.
    pub(super) fn bits(&self, ty: Type<'m>) -> u8 {
        self.shape(ty).bits
    }

    /// The width of an operand that has been lowered to `value`.
    pub(super) fn width(&self, operand: LlvmValue<'m>, value: Value) -> u8 {
        match value {
            Value::Register(register) => self.body.registers.bits(register),
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
        self.body.registers.add(bits, Span::default())
    }

    /// Inlined, as is the next: lists of a length that is known here take no loop.
    #[inline]
    pub(super) fn emit<const R: usize, const U: usize>(
        &mut self,
        op: Op,
        results: &[Value; R],
        uses: &[Value; U],
    ) -> InstructionId {
        self.emit_guarded(op, None, results, uses)
    }

    #[inline]
    pub(super) fn emit_guarded<const R: usize, const U: usize>(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        results: &[Value; R],
        uses: &[Value; U],
    ) -> InstructionId {
        let start = self.body.values.len();
        self.body.values.reserve(R + U);
        self.body.values.extend_from_slice(results);
        self.body.values.extend_from_slice(uses);
        self.add(op, guard, start, R)
    }

    /// Appends an instruction with lists of results and uses of any length.
    pub(super) fn emit_lists(&mut self, op: Op, results: &[Value], uses: &[Value]) -> InstructionId {
        let start = self.body.values.len();
        self.body.values.extend_from_slice(results);
        self.body.values.extend_from_slice(uses);
        self.add(op, None, start, results.len())
    }

    /// Adds an instruction whose values, from this one on, are there.
    fn add(&mut self, op: Op, guard: Option<Guard>, start: usize, results: usize) -> InstructionId {
        let op = fitting(
            op,
            &self.body.values[start..],
            results,
            self.body.registers.all_bits(),
        );
        let place = SourcePlace {
            debug: self.debug,
            span: self.place,
        };
        self.body.add(op, guard, (start, results), place)
    }

    pub(super) fn end_block(&mut self, targets: &[Label]) {
        let end = self.body.instructions.len();
        let first = self.scratch.edges.len();
        self.scratch.edges.extend_from_slice(targets);
        let span = self
            .body
            .places
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

/// The first debug location of a body, for functions that have no subprogram.
pub(super) fn declared(function: &Function<'_>, body: &Body<'_>) -> DebugId {
    if function.declared == DebugId::NONE {
        body.places.first().map_or(DebugId::NONE, |first| first.debug)
    } else {
        function.declared
    }
}
