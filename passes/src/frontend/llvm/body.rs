//! Lowers one function: blocks, edges and phis. `instructions.rs` says what becomes of a single instruction.
//!
//! A phi is a copy at the end of each block that leads to it, into a register of its own, and a copy from there where the
//! phi stands: so what it defines is defined once, and the copies of one edge do not overwrite what others of them read.
//! Where the block that leads to it has other successors, the copies get a block of their own on the edge.

use ptxcheck_ptx_parser::Span;
use rustc_hash::FxHashMap;

use super::assembly::Assembly;
use super::debug::Locations;
use super::instructions::is_terminator;
use super::raw::{Block as LlvmBlock, Opcode, Type, Value as LlvmValue};
use super::symbols::Symbols;
use crate::ir::{
    Access, AccessKind, Argument, Block, BlockId, Body, DebugId, Function, FunctionId, Guard, Instruction,
    InstructionId, Op, Register, RegisterInfo, Slots, Space, Value,
};
use crate::limits::{MAX_CONSTANT_DEPTH, MAX_PARAMETER_USES};

/// A place that edges lead to: a block of the function, or one that the lowering makes.
pub(super) type Label = u32;

/// What the lowering of one body knows of its values: empty at its start, with the memory of those before.
#[derive(Default)]
pub(super) struct Scratch<'m> {
    registers: FxHashMap<LlvmValue<'m>, Register>,
    /// The elements of structures, where they are followed one by one.
    pub(super) parts: FxHashMap<LlvmValue<'m>, Vec<Value>>,
    label_of: FxHashMap<LlvmBlock<'m>, Label>,
    /// Where edges leave what a phi takes.
    landings: FxHashMap<LlvmValue<'m>, Register>,
    /// The same for each element, where a phi is an aggregate.
    pub(super) landing_parts: FxHashMap<LlvmValue<'m>, Vec<Register>>,
    /// What each phi takes from each block that leads to it.
    incoming: FxHashMap<(LlvmValue<'m>, LlvmBlock<'m>), LlvmValue<'m>>,
    /// Lists of one instruction's operands and arguments.
    pub(super) uses: Vec<Value>,
    pub(super) arguments: Vec<Argument>,
}

impl Scratch<'_> {
    fn clear(&mut self) {
        emptied(&mut self.registers);
        emptied(&mut self.parts);
        emptied(&mut self.label_of);
        emptied(&mut self.landings);
        emptied(&mut self.landing_parts);
        emptied(&mut self.incoming);
    }
}

/// Empties a map. A large one goes: few functions need it, and the others would be spread over more memory than is near
/// to the processor.
fn emptied<Key, Value>(map: &mut FxHashMap<Key, Value>) {
    const KEPT: usize = 1_024;
    if map.capacity() > KEPT {
        *map = FxHashMap::default();
    } else {
        map.clear();
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
    pub(super) scratch: &'l mut Scratch<'m>,
    labels: Vec<Option<BlockId>>,
    edges: Vec<Label>,
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
        scratch: &'l mut Scratch<'m>,
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
            body: Body::default(),
            scratch,
            labels: Vec::new(),
            edges: Vec::new(),
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
            self.scratch.label_of.insert(block, label);
            for phi in phis(block) {
                self.scratch
                    .incoming
                    .extend(phi.incoming().map(|(value, from)| ((phi, from), value)));
            }
        }
        for (number, block) in self.function.blocks().enumerate() {
            let label = self.scratch.label_of[&block];
            self.begin(label);
            if number == 0 {
                self.parameters();
            }
            self.block(block);
        }
        self.resolve_edges();
        self.body
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
            match current.opcode()? {
                Opcode::LLVMGetElementPtr => {
                    let (offset, dynamic) = self.offsets(current)?;
                    if !dynamic.is_empty() {
                        return None;
                    }
                    at = at.checked_add(offset)?;
                }
                Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {}
                _ => return None,
            }
            current = current.operand(0)?;
        }
        None
    }

    fn block(&mut self, block: LlvmBlock<'m>) {
        let mut queued = Vec::new();
        self.locations.tickets.block();
        for instruction in block.instructions() {
            self.place = self.locations.tickets.instruction();
            let Some(opcode) = instruction.opcode() else {
                continue;
            };
            if opcode == Opcode::LLVMPHI {
                let landing = self.landing(instruction);
                let result = self.register(instruction);
                self.emit(Op::Copy, &[Value::Register(result)], &[Value::Register(landing)]);
                self.land_parts(instruction);
                continue;
            }
            if let Some(node) = instruction.debug_location() {
                self.debug = self.locations.of(node);
            }
            if is_terminator(opcode) {
                self.terminator(block, instruction, opcode, &mut queued);
                break;
            }
            if !self.instruction(instruction, opcode) {
                // What follows a trap is never reached.
                self.end_block(&[]);
                break;
            }
        }
        for (from, to, label) in queued {
            self.begin(label);
            self.copies(from, to);
            self.emit(Op::Branch, &[], &[]);
            let target = self.scratch.label_of.get(&to).copied();
            self.end_block(target.as_slice());
        }
        if self.body.instructions.len() > self.block_start {
            // A block without a terminator is malformed; it leads nowhere.
            self.end_block(&[]);
        }
    }

    pub(super) fn new_label(&mut self) -> Label {
        self.labels.push(None);
        self.labels.len() as Label - 1
    }

    /// Begins a block here.
    pub(super) fn begin(&mut self, label: Label) {
        self.labels[label as usize] = Some(BlockId::new(self.body.blocks.len()));
    }

    /// The target of an edge. Where the block needs copies that others of `from`'s successors do not, a block of the
    /// edge's own is queued; with a single successor, the copies are added here.
    pub(super) fn edge(
        &mut self,
        from: LlvmBlock<'m>,
        to: LlvmBlock<'m>,
        alone: bool,
        queued: &mut Vec<(LlvmBlock<'m>, LlvmBlock<'m>, Label)>,
    ) -> Option<Label> {
        let own = self.scratch.label_of.get(&to).copied()?;
        if phis(to).next().is_none() {
            return Some(own);
        }
        if alone {
            self.copies(from, to);
            return Some(own);
        }
        if let Some((.., label)) = queued.iter().rev().take(8).find(|(_, known, _)| *known == to) {
            return Some(*label);
        }
        let label = self.new_label();
        queued.push((from, to, label));
        Some(label)
    }

    /// The copies that the phis of `to` want on the edge from `from`.
    fn copies(&mut self, from: LlvmBlock<'m>, to: LlvmBlock<'m>) {
        for phi in phis(to) {
            if let Some(&source) = self.scratch.incoming.get(&(phi, from)) {
                let landing = self.landing(phi);
                let whole = self.value(source);
                self.emit(Op::Copy, &[Value::Register(landing)], &[whole]);
                self.leave_parts(phi, source);
            }
        }
    }

    fn landing(&mut self, phi: LlvmValue<'m>) -> Register {
        if let Some(known) = self.scratch.landings.get(&phi) {
            return *known;
        }
        let bits = self.bits(phi.ty());
        let register = self.fresh(bits);
        self.scratch.landings.insert(phi, register);
        register
    }

    /// Bits of a value that is one number; 0 for anything else.
    pub(super) fn bits(&self, ty: Type<'m>) -> u8 {
        ty.number_bits(|space| self.symbols.module.pointer_bits(space))
    }

    /// The register that holds an instruction's or argument's value.
    pub(super) fn register(&mut self, value: LlvmValue<'m>) -> Register {
        let next = Register::new(self.body.registers.len());
        let register = *self.scratch.registers.entry(value).or_insert(next);
        if register == next {
            let bits = self.bits(value.ty());
            self.fresh(bits);
        }
        register
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
        self.body.values.extend_from_slice(results);
        self.body.values.extend_from_slice(uses);
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
        let first = self.edges.len();
        self.edges.extend_from_slice(targets);
        let span = self
            .body
            .instructions
            .get(self.block_start)
            .map(|first| first.span)
            .unwrap_or_default();
        self.body.blocks.push(Block {
            instructions: Slots::new(self.block_start, end),
            successors: Slots::new(first, self.edges.len()),
            span,
        });
        self.block_start = end;
    }

    fn resolve_edges(&mut self) {
        for number in 0..self.body.blocks.len() {
            let pending = self.body.blocks[number].successors;
            let start = self.body.edges.len();
            let targets = self.edges[pending.range()]
                .iter()
                .filter_map(|label| self.labels[*label as usize]);
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
            match user.opcode() {
                _ if left == 0 => return false,
                Some(Opcode::LLVMLoad) => {}
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast) => {
                    open.push(user);
                }
                // The source of a copy, not its target.
                Some(Opcode::LLVMCall)
                    if user.operand(1) == Some(pointer)
                        && user.operand(0) != Some(pointer)
                        && user.called().is_some_and(|(called, _)| {
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

fn phis<'m>(block: LlvmBlock<'m>) -> impl Iterator<Item = LlvmValue<'m>> {
    block
        .instructions()
        .take_while(|instruction| instruction.opcode() == Some(Opcode::LLVMPHI))
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
