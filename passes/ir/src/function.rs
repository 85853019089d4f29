//! Functions, their bodies, and what bodies are made of.

use ptxcheck_ptx_parser::Span;

use super::asynchronous::{AsyncKinds, Asynchronous};
use super::index::{BlockId, CallId, DebugId, FunctionId, InstructionId, Register, Slots, SymbolId};
use super::instruction::{Guard, Instruction, SourcePlace, Value, registers};
use super::matrix::Matrix;
use super::op::{Access, AccessKind, Op, Rare, Space};
use super::symbol::Symbol;

/// Kernel or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Launched from the host (or the device).
    Kernel,
    /// Called from device code.
    Device,
}

/// The launch bounds that a kernel declares (PTX ISA, Performance-Tuning Directives).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LaunchBounds {
    /// `.maxntid`: most threads a CTA; missing dimensions are 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: exactly so many threads a CTA.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_ctas: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: exactly so many CTAs a cluster.
    pub cluster: Option<[u32; 3]>,
}

/// A parameter or return value.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'s> {
    /// Its name; empty where the front end has none, as for functions in LLVM IR that are not kernels.
    pub name: &'s str,
    /// Bytes; 0 for textures, samplers and surfaces, and for `foo[]`.
    pub size: u64,
    /// Alignment in bytes, at least 1.
    pub align: u32,
    /// The space it is declared to point into, where it is.
    pub points_to: Option<Space>,
    /// Its declaration in the input.
    pub span: Span,
}

/// The number of a parameter in the name that compilers make up for it from its kernel's: 1 for `k_param_1`.
#[must_use]
pub fn parameter_number(kernel: &str, name: &str) -> Option<u16> {
    let digits = name.strip_prefix(kernel)?.strip_prefix("_param_")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// A function or kernel.
#[derive(Debug)]
pub struct Function<'s> {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// Parameters, in order.
    pub params: Vec<Parameter<'s>>,
    /// Return values, in order.
    pub results: Vec<Parameter<'s>>,
    /// Launch bounds, for kernels.
    pub launch: LaunchBounds,
    /// It never returns.
    pub noreturn: bool,
    /// The function that it is another name of, if it is.
    pub alias_of: Option<FunctionId>,
    /// Its code; `None` for a declaration.
    pub body: Option<Body<'s>>,
    /// Its header in the input.
    pub header: Span,
    /// Some of its text could not be read: what is missing from it proves nothing.
    pub is_damaged: bool,
    /// Another module defines it, or declares it: see [`super::linked`].
    pub is_imported: bool,
    /// The first debug location of its body, which compilers give the line of its declaration, or [`DebugId::NONE`].
    pub declared: DebugId,
}

/// A straight run of instructions.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The instructions, a terminator at most at the end.
    pub instructions: Slots,
    /// In [`Body::edges`]. Branch: the target, then, if guarded, the next block. None at the end of a path.
    pub successors: Slots,
    /// Its label or first instruction in the input.
    pub span: Span,
}

/// The virtual registers of a body.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    bits: Vec<u8>,
    names: Vec<Span>,
}

impl Registers {
    /// Of no register.
    pub const EMPTY: Self = Self {
        bits: Vec::new(),
        names: Vec::new(),
    };

    /// Number of registers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bits.len()
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Adds a register of so many bits (1 for predicates, 0 where not known). `name`: its name where it first appears in the input;
    /// empty for registers that the front end made.
    pub fn add(&mut self, bits: u8, name: Span) -> Register {
        self.bits.push(bits);
        self.names.push(name);
        Register::new(self.bits.len() - 1)
    }

    /// The bits of a register; 1 for predicates, 0 where not known.
    #[inline]
    #[must_use]
    pub fn bits(&self, register: Register) -> u8 {
        self.bits[register.index()]
    }

    /// The bits of all registers, in order.
    #[must_use]
    pub fn all_bits(&self) -> &[u8] {
        &self.bits
    }

    /// The name of a register where it first appears in the input; empty for one that the front end made.
    #[must_use]
    pub fn name(&self, register: Register) -> Span {
        self.names[register.index()]
    }

    /// The names of all registers, in order.
    pub fn names_mut(&mut self) -> &mut [Span] {
        &mut self.names
    }

    fn clear(&mut self) {
        self.bits.clear();
        self.names.clear();
    }

    fn shrink_to_fit(&mut self) {
        self.bits.shrink_to_fit();
        self.names.shrink_to_fit();
    }
}

/// The callee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// This function.
    Direct(SymbolId),
    /// The function at this address.
    Indirect(Value),
}

/// A piece of an argument: scalars have one, structures one per stored element.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Number of the parameter.
    pub param: u32,
    /// Byte offset in the parameter.
    pub offset: u32,
    /// The value passed.
    pub value: Value,
}

/// A piece of a parameter: its number, and the offset of the piece in bytes.
pub type ParamPiece = (u16, u32);

impl Argument {
    /// The piece that it passes a value for; `None` beyond the parameters that there can be.
    #[must_use]
    pub fn piece(&self) -> Option<ParamPiece> {
        Some((u16::try_from(self.param).ok()?, self.offset))
    }

    /// True if it passes this piece.
    #[must_use]
    pub fn passes(&self, (param, offset): ParamPiece) -> bool {
        (self.param, self.offset) == (u32::from(param), offset)
    }
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The instruction that makes it.
    pub instruction: InstructionId,
    /// The callee.
    pub callee: Callee,
    /// In [`Body::arguments`].
    pub arguments: Slots,
}

/// A use of a symbol that the module does not define, of one that lies on the host, or of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The symbol.
    pub symbol: SymbolId,
    /// Where.
    pub instruction: InstructionId,
    /// It is called there (else its address is taken, or it is accessed).
    pub is_call: bool,
}

/// A name that nothing in the module declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved<'s> {
    /// The name.
    pub name: &'s str,
    /// The first instruction that has it.
    pub instruction: InstructionId,
}

/// A function's code. Block 0 is the entry.
#[derive(Clone, Debug, Default)]
pub struct Body<'s> {
    /// Blocks, in the order of the input.
    pub blocks: Vec<Block>,
    /// Instructions, in the order of the input.
    pub instructions: Vec<Instruction>,
    /// The place of each instruction.
    pub places: Vec<SourcePlace>,
    /// Registers.
    pub registers: Registers,
    /// Calls.
    pub calls: Vec<Call>,
    /// Uses of functions, of undefined symbols and of those on the host, in the order of the input.
    pub references: Vec<Reference>,
    /// Names that nothing in the module declares, each once.
    pub undeclared: Vec<Unresolved<'s>>,
    /// Instructions that are warp collectives.
    pub collectives: Vec<InstructionId>,
    /// Those of them that stand in inline assembly, where the front end takes that apart, in the order of the input.
    pub in_assembly: Vec<InstructionId>,
    /// Rare operations that some instruction is; see [`Self::has`].
    pub rare: Rare,
    /// Asynchronous copies, and what orders and completes them, in the order of the input.
    pub asynchronous: Vec<Asynchronous>,
    /// The kinds of those; see [`Self::has_async`].
    pub async_kinds: AsyncKinds,
    /// The matrices that warps load and store, in the order of the input.
    pub matrices: Vec<Matrix>,
    /// Operands; each instruction has a range of them: see [`super::Instruction::values`].
    pub values: Vec<Value>,
    /// Successors of blocks; each block has a range of them.
    pub edges: Vec<BlockId>,
    /// Arguments; each call has a range of them.
    pub arguments: Vec<Argument>,
}

impl Body<'_> {
    /// A body without code.
    pub const EMPTY: Body<'static> = Body {
        blocks: Vec::new(),
        instructions: Vec::new(),
        places: Vec::new(),
        registers: Registers::EMPTY,
        calls: Vec::new(),
        references: Vec::new(),
        undeclared: Vec::new(),
        collectives: Vec::new(),
        in_assembly: Vec::new(),
        rare: Rare::empty(),
        asynchronous: Vec::new(),
        async_kinds: AsyncKinds::empty(),
        matrices: Vec::new(),
        values: Vec::new(),
        edges: Vec::new(),
        arguments: Vec::new(),
    };

    /// Takes the content out, in no more memory than it needs. This is empty then, and keeps its memory for the next body
    /// unless that is unusually large.
    pub fn finish(&mut self) -> Self {
        const KEPT: usize = 65_536;
        if self.instructions.len() > KEPT {
            let mut all = std::mem::take(self);
            all.shrink_to_fit();
            return all;
        }
        let all = self.clone();
        self.blocks.clear();
        self.instructions.clear();
        self.places.clear();
        self.registers.clear();
        self.calls.clear();
        self.references.clear();
        self.undeclared.clear();
        self.collectives.clear();
        self.in_assembly.clear();
        self.rare = Rare::empty();
        self.asynchronous.clear();
        self.async_kinds = AsyncKinds::empty();
        self.matrices.clear();
        self.values.clear();
        self.edges.clear();
        self.arguments.clear();
        all
    }

    fn shrink_to_fit(&mut self) {
        self.blocks.shrink_to_fit();
        self.instructions.shrink_to_fit();
        self.places.shrink_to_fit();
        self.registers.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.references.shrink_to_fit();
        self.undeclared.shrink_to_fit();
        self.collectives.shrink_to_fit();
        self.in_assembly.shrink_to_fit();
        self.asynchronous.shrink_to_fit();
        self.matrices.shrink_to_fit();
        self.values.shrink_to_fit();
        self.edges.shrink_to_fit();
        self.arguments.shrink_to_fit();
    }

    /// Adds an instruction whose results and uses are the values from `start` on.
    #[inline]
    pub fn add(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        (start, results): (usize, usize),
        place: SourcePlace,
    ) -> InstructionId {
        let id = InstructionId::new(self.instructions.len());
        self.instructions.push(Instruction {
            op,
            guard,
            values: Slots::new(start, self.values.len()),
            results: results as u16,
        });
        self.places.push(place);
        self.rare = self.rare.union(Rare::of(op));
        if matches!(op, Op::Collective(..)) {
            self.collectives.push(id);
        }
        id
    }

    /// True if one of these operations is among the instructions; takes no pass over them.
    #[must_use]
    pub const fn has(&self, rare: Rare) -> bool {
        self.rare.intersects(rare)
    }

    /// Notes that the instruction about to be added uses a symbol, if references to it are kept.
    pub fn refer(&mut self, symbol: SymbolId, known: &Symbol<'_>, is_call: bool) {
        let reference = Reference {
            symbol,
            instruction: InstructionId::new(self.instructions.len()),
            is_call,
        };
        if known.has_references() && self.references.last() != Some(&reference) {
            self.references.push(reference);
        }
    }

    /// All instructions, in the order of the input.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (InstructionId, &Instruction)> {
        let numbered = self.instructions.iter().enumerate();
        numbered.map(|(number, instruction)| (InstructionId::new(number), instruction))
    }

    /// The instruction with this index.
    #[inline]
    #[must_use]
    pub fn instruction(&self, id: InstructionId) -> &Instruction {
        &self.instructions[id.index()]
    }

    /// The place of the instruction with this index.
    #[inline]
    #[must_use]
    pub fn place(&self, id: InstructionId) -> SourcePlace {
        self.places[id.index()]
    }

    /// The place of that instruction in the input.
    #[inline]
    #[must_use]
    pub fn span_of(&self, id: InstructionId) -> Span {
        self.place(id).span
    }

    /// The registers it writes; [`Value::Unknown`] for a sink.
    #[inline]
    #[must_use]
    pub fn results(&self, instruction: &Instruction) -> &[Value] {
        &self.values[instruction.values.range()][..usize::from(instruction.results)]
    }

    /// The number, among an instruction's results, of the one in a register.
    #[must_use]
    pub fn result_number(&self, instruction: &Instruction, register: Register) -> Option<usize> {
        let results = self.results(instruction).iter();
        results
            .copied()
            .position(|result| result == Value::Register(register))
    }

    /// The registers it writes.
    #[inline]
    pub fn defined(&self, instruction: &Instruction) -> impl Iterator<Item = Register> + Clone + '_ {
        registers(self.results(instruction))
    }

    /// The operands it reads, without its guard.
    #[inline]
    #[must_use]
    pub fn uses(&self, instruction: &Instruction) -> &[Value] {
        &self.values[instruction.values.range()][usize::from(instruction.results)..]
    }

    /// Both: [`Self::results`] and [`Self::uses`].
    #[inline]
    #[must_use]
    pub fn operands(&self, instruction: &Instruction) -> (&[Value], &[Value]) {
        self.values[instruction.values.range()].split_at(usize::from(instruction.results))
    }

    /// The piece of a parameter that an instruction loads: the parameter's number, and the byte offset in it.
    #[must_use]
    pub fn loaded_param(&self, instruction: &Instruction) -> Option<(u16, i32)> {
        let (number, offset, access) = self.param_load(instruction)?;
        (access.count == 1).then_some((number, offset))
    }

    /// The same; `None` also for a piece before the start of the parameter.
    #[must_use]
    pub fn loaded_piece(&self, instruction: &Instruction) -> Option<ParamPiece> {
        let (number, offset) = self.loaded_param(instruction)?;
        Some((number, u32::try_from(offset).ok()?))
    }

    /// The value that a call passes for a piece of a parameter.
    #[must_use]
    pub fn passed(&self, call: InstructionId, piece: ParamPiece) -> Option<Value> {
        let Op::Call(number) = self.instruction(call).op else {
            return None;
        };
        let mut arguments = self.arguments(self.call(number)).iter();
        Some(arguments.find(|argument| argument.passes(piece))?.value)
    }

    /// The pieces of a parameter that an instruction loads, one for each of its results: the number of the parameter, the byte offset
    /// of the first one, and the bytes of each.
    #[must_use]
    pub fn loaded_param_pieces(&self, instruction: &Instruction) -> Option<(u16, i32, u8)> {
        let (number, offset, access) = self.param_load(instruction)?;
        (access.bits <= 64).then_some((number, offset, access.bits.div_ceil(8)))
    }

    /// The parameter that an instruction loads from, the byte offset, and the access.
    fn param_load(&self, instruction: &Instruction) -> Option<(u16, i32, Access)> {
        match (instruction.op, self.uses(instruction)) {
            (Op::Access(access), &[Value::Param(number, offset), Value::Integer(0), ..])
                if access.kind == AccessKind::Load && access.space == Space::Param =>
            {
                Some((number, offset, access))
            }
            _ => None,
        }
    }

    /// The value that an access stores, or the first of several.
    #[must_use]
    pub fn stored(&self, instruction: &Instruction) -> Option<Value> {
        match (instruction.op, self.uses(instruction)) {
            (Op::Access(_), &[_, _, stored, ..]) => Some(stored),
            _ => None,
        }
    }

    /// The piece of the return value that an instruction stores: its byte offset, and the value.
    #[must_use]
    pub fn returned(&self, instruction: &Instruction) -> Option<(i32, Value)> {
        match (instruction.op, self.uses(instruction)) {
            (Op::Access(access), &[Value::ReturnSlot(_, offset), Value::Integer(0), value, ..])
                if access.kind == AccessKind::Store && access.count == 1 =>
            {
                Some((offset, value))
            }
            _ => None,
        }
    }

    /// The instructions of a block, with their indices.
    #[inline]
    pub fn block(&self, id: BlockId) -> impl DoubleEndedIterator<Item = (InstructionId, &Instruction)> + '_ {
        let range = self.blocks[id.index()].instructions.range();
        range
            .clone()
            .map(InstructionId::new)
            .zip(&self.instructions[range])
    }

    /// The successors of a block.
    #[inline]
    #[must_use]
    pub fn successors(&self, id: BlockId) -> &[BlockId] {
        &self.edges[self.blocks[id.index()].successors.range()]
    }

    /// The last instruction of a block, if it ends one.
    #[inline]
    #[must_use]
    pub fn terminator(&self, id: BlockId) -> Option<&Instruction> {
        let (_, last) = self.block(id).next_back()?;
        last.op.is_terminator().then_some(last)
    }

    /// The block that holds an instruction.
    #[inline]
    #[must_use]
    pub fn block_of(&self, instruction: InstructionId) -> BlockId {
        let number = instruction.index() as u32;
        BlockId::new(
            self.blocks
                .partition_point(|block| block.instructions.end <= number),
        )
    }

    /// The call with this index.
    #[must_use]
    pub fn call(&self, id: CallId) -> &Call {
        &self.calls[id.index()]
    }

    /// The pieces of a call's arguments, by parameter.
    #[must_use]
    pub fn arguments(&self, call: &Call) -> &[Argument] {
        &self.arguments[call.arguments.range()]
    }

    /// The callee of an instruction, if it is a call.
    #[must_use]
    pub fn callee(&self, instruction: &Instruction) -> Option<Callee> {
        match instruction.op {
            Op::Call(call) => Some(self.call(call).callee),
            _ => None,
        }
    }
}

impl Function<'_> {
    /// True if it is launched, not called.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.kind == FunctionKind::Kernel
    }
}
