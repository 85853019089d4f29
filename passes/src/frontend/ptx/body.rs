//! Lowers one function's statements to blocks of device IR.

use rustc_hash::FxHashMap;

use ptxcheck_ptx_parser::Span;
use ptxcheck_ptx_parser::ast::{self, Indices, StateSpace, Statement, StatementKind, Tree};

use ptxcheck_ptx_parser::operand::{OperandRef, Operands};

use super::calls::Slot;
use super::malformed::Malformed;
use super::opcode::{Decoded, Opcodes, Shape};
use super::scope::{Binding, Registers, Scopes};
use super::symbols::{Symbols, register_bits};
use crate::ir::{
    Access, AccessKind, Block, BlockId, Body, DebugId, Guard, InstructionId, Op, Slots, Space, Unresolved,
    Value, fitting,
};
use crate::limits::MAX_UNDECLARED;

/// A label, in the scope that declares it.
struct Label {
    /// The block it begins, once that has been reached.
    block: Option<BlockId>,
    /// The statement after it: `.branchtargets` may stand there.
    next: usize,
}

/// An edge to a place that may lie ahead.
#[derive(Clone, Copy)]
enum Edge {
    Label(u32),
    Next,
}

/// The lowering of one body.
pub(super) struct Lowering<'a, 's> {
    pub(super) tree: &'s Tree<'s>,
    pub(super) symbols: &'a Symbols<'s>,
    pub(super) body: Body<'s>,
    pub(super) scopes: Scopes<'s>,
    pub(super) registers: Registers,
    pub(super) slots: Vec<Slot>,
    /// How many more pieces of arguments may be noted: a piece is stored before it is passed, so the text bounds them.
    pub(super) argument_pieces: usize,
    pub(super) slot_registers: FxHashMap<(u32, u32), crate::ir::Register>,
    pub(super) malformed: Malformed,
    /// The parser could read all of the function.
    pub(super) is_whole: bool,
    opcodes: &'a mut Opcodes<'s>,
    labels: Vec<Label>,
    label_of: FxHashMap<(u32, &'s [u8]), u32>,
    /// Scope numbers from the outermost in, and each scope's parent.
    open_scopes: Vec<u32>,
    next_scope: u32,
    edges: Vec<Edge>,
    debug: DebugId,
    block_start: usize,
    block_span: Option<Span>,
}

/// A body, its first debug location, and what is malformed in it.
pub(super) type Lowered<'s> = (Body<'s>, DebugId, Malformed);

impl<'a, 's> Lowering<'a, 's> {
    /// For a function of so many bytes, of which the parser could read all or not.
    pub(super) fn new(
        tree: &'s Tree<'s>,
        symbols: &'a Symbols<'s>,
        opcodes: &'a mut Opcodes<'s>,
        (bytes, is_whole): (u32, bool),
    ) -> Self {
        Self {
            tree,
            symbols,
            body: Body::default(),
            scopes: Scopes::default(),
            registers: Registers::new(bytes),
            slots: Vec::new(),
            argument_pieces: bytes as usize / 4 + 16,
            slot_registers: FxHashMap::default(),
            malformed: Malformed::default(),
            is_whole,
            opcodes,
            labels: Vec::new(),
            label_of: FxHashMap::default(),
            open_scopes: vec![0],
            next_scope: 1,
            edges: Vec::new(),
            debug: DebugId::NONE,
            block_start: 0,
            block_span: None,
        }
    }

    pub(super) fn lower(mut self, function: &ast::Function) -> Lowered<'s> {
        self.collect_labels(function.body);
        self.body.instructions.reserve(function.body.len());
        self.body.values.reserve(function.body.len() * 3);
        self.scopes.open();
        self.bind_parameters(function);
        let mut declared = DebugId::NONE;
        let range = function.body.range();
        for (place, statement) in range.clone().zip(&self.tree.statements[range]) {
            self.statement(place, statement);
            if declared == DebugId::NONE {
                declared = self.debug;
            }
        }
        self.finish_last_block(function.span.end);
        self.resolve_edges();
        self.body.registers = self.registers.all;
        (self.body, declared, self.malformed)
    }

    /// Labels may be used before they stand: one pass finds them, with the scope each belongs to.
    fn collect_labels(&mut self, body: Indices) {
        let mut open = vec![0_u32];
        let mut next_scope = 1;
        for place in body.range() {
            let statement = &self.tree.statements[place];
            match statement.kind() {
                StatementKind::BlockOpen => {
                    open.push(next_scope);
                    next_scope += 1;
                }
                StatementKind::BlockClose if open.len() > 1 => {
                    open.pop();
                }
                StatementKind::Label => {
                    let scope = open.last().copied().unwrap_or(0);
                    let name = self.tree.name(statement);
                    self.label_of.insert((scope, name), self.labels.len() as u32);
                    self.labels.push(Label {
                        block: None,
                        next: place + 1,
                    });
                }
                _ => {}
            }
        }
    }

    fn bind_parameters(&mut self, function: &ast::Function) {
        let tree = self.tree;
        for (number, variable) in tree.variables[function.results.range()].iter().enumerate() {
            let binding = match variable.space {
                StateSpace::Reg => {
                    Binding::Register(self.registers.make(register_bits(variable), variable.name))
                }
                _ => Binding::ReturnSlot(number.min(usize::from(u16::MAX)) as u16),
            };
            self.scopes.bind(tree.text(variable.name), binding);
        }
        for (number, variable) in tree.variables[function.params.range()].iter().enumerate() {
            let number = number.min(usize::from(u16::MAX)) as u16;
            let binding = if variable.space == StateSpace::Reg {
                // The calling convention of PTX 1.x: the parameter is a register, loaded on entry.
                let bits = register_bits(variable);
                let register = self.registers.make(bits, variable.name);
                let access = Access::one(AccessKind::Load, Space::Param, bits);
                self.emit(
                    Op::Access(access),
                    None,
                    variable.span,
                    &[Value::Register(register)],
                    &[Value::Param(number, 0), Value::Integer(0)],
                );
                Binding::Register(register)
            } else {
                Binding::Param(number)
            };
            self.scopes.bind(tree.text(variable.name), binding);
        }
    }

    fn statement(&mut self, place: usize, statement: &Statement) {
        match statement.kind() {
            StatementKind::Instruction => self.instruction(statement),
            StatementKind::Label => self.label(statement),
            StatementKind::Declaration => self.declaration(statement),
            StatementKind::BlockOpen => {
                self.scopes.open();
                self.open_scopes.push(self.next_scope);
                self.next_scope += 1;
            }
            StatementKind::BlockClose if self.open_scopes.len() > 1 => {
                self.scopes.close();
                self.open_scopes.pop();
            }
            StatementKind::Location => self.debug = DebugId::new(place),
            _ => {}
        }
    }

    fn declaration(&mut self, statement: &Statement) {
        let tree = self.tree;
        let first = statement.index();
        for (number, variable) in tree.declared(statement).iter().enumerate() {
            let name = tree.text(variable.name);
            let binding = match variable.space {
                StateSpace::Reg if variable.range != ast::NONE => self
                    .registers
                    .declare_range(variable.range, register_bits(variable)),
                StateSpace::Reg => {
                    Binding::Register(self.registers.make(register_bits(variable), variable.name))
                }
                StateSpace::Param => self.declare_slot(),
                _ => match self.symbols.of_variable(first + number) {
                    Some(symbol) => Binding::Symbol(symbol),
                    None => continue,
                },
            };
            self.scopes.bind(name, binding);
        }
    }

    fn label(&mut self, statement: &Statement) {
        if self.body.instructions.len() > self.block_start {
            self.end_block(&[Edge::Next]);
        }
        self.block_span.get_or_insert(statement.span());
        let scope = self.open_scopes.last().copied().unwrap_or(0);
        if let Some(&label) = self.label_of.get(&(scope, self.tree.name(statement))) {
            self.labels[label as usize].block = Some(BlockId::new(self.body.blocks.len()));
        }
    }

    fn find_label(&self, name: &[u8]) -> Option<u32> {
        // The lifetime of the key is that of the source; a shorter borrow finds the same entry.
        self.open_scopes
            .iter()
            .rev()
            .find_map(|&scope| self.label_of.get(&(scope, name)).copied())
    }

    /// Adds an instruction and, if it ends a block, nothing more: the caller says where control goes.
    pub(super) fn emit(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        results: &[Value],
        uses: &[Value],
    ) -> InstructionId {
        let start = self.body.values.len();
        self.body.values.extend_from_slice(results);
        self.body.values.extend_from_slice(uses);
        self.push(op, guard, span, start, results.len())
    }

    /// Adds an instruction whose values have been pushed since `start`.
    pub(super) fn push(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        start: usize,
        results: usize,
    ) -> InstructionId {
        let op = fitting(op, &self.body.values[start..], results, &self.registers.all);
        self.body.add(op, guard, (start, results), (self.debug, span))
    }

    fn instruction(&mut self, statement: &Statement) {
        let syntax = self.tree.instruction(statement);
        let (Decoded { op, shape }, least) = self.opcodes.decode(syntax.opcode);
        let span = statement.span();
        let guard = syntax.guard.map(|guard| self.guard(statement, &guard));
        if statement.operand_count() < usize::from(least) {
            return self.too_few_operands((shape, least), guard, span, syntax.operands);
        }
        match shape {
            Shape::Plain(results) => self.plain(op, guard, span, syntax.operands, usize::from(results)),
            Shape::Guess => {
                let results = usize::from(super::operands::begins_with_result(&syntax.operands));
                self.plain(op, guard, span, syntax.operands, results);
            }
            Shape::MaskLast => self.collective(op, guard, span, syntax.operands, true),
            Shape::MaskAbsent => self.collective(op, guard, span, syntax.operands, false),
            Shape::Memory { results, others } => {
                self.memory(op, guard, span, syntax.operands, usize::from(results), others);
            }
            Shape::Call => self.call(guard, span, syntax.operands),
            Shape::Branch => self.branch(op, guard, span, syntax.operands),
            Shape::BranchTable => self.branch_table(op, guard, span, syntax.operands),
        }
        if matches!(op, Op::Return | Op::Exit | Op::Trap) {
            let next: &[Edge] = if guard.is_some() { &[Edge::Next] } else { &[] };
            self.end_block(next);
        }
    }

    fn branch(&mut self, op: Op, guard: Option<Guard>, span: Span, mut operands: Operands<'s>) {
        let target = operands.next();
        let label = target.as_ref().and_then(|label| self.find_label(label.text()));
        let Some(label) = label else {
            self.unresolved(target.map_or(span, OperandRef::span), "a label of this function");
            return self.nowhere(guard, span);
        };
        self.emit(op, guard, span, &[], &[]);
        self.end_branch(guard, std::iter::once(label));
    }

    fn branch_table(&mut self, op: Op, guard: Option<Guard>, span: Span, mut operands: Operands<'s>) {
        let tree = self.tree;
        let index = operands
            .next()
            .map_or(Value::Unknown, |operand| self.value(&operand));
        let list = operands.next();
        let targets = list
            .as_ref()
            .and_then(|label| self.find_label(label.text()))
            .map(|label| self.labels[label as usize].next)
            .and_then(|place| tree.statements.get(place))
            .filter(|next| tree.name(next) == b".branchtargets");
        let Some(targets) = targets else {
            let place = list.map_or(span, OperandRef::span);
            self.unresolved(place, "the label of a list of branch targets");
            return self.nowhere(guard, span);
        };
        let mut labels = Vec::new();
        for target in tree.operands(targets) {
            match self.find_label(target.text()) {
                Some(label) => labels.push(label),
                None => self.unresolved(target.span(), "a label of this function"),
            }
        }
        if labels.is_empty() {
            return self.nowhere(guard, span);
        }
        let is_number = fitting(op, &[index], 0, &self.registers.all) == op;
        let index = if is_number { index } else { Value::Unknown };
        self.emit(op, guard, span, &[], &[index]);
        self.end_branch(guard, labels.into_iter());
    }

    pub(super) fn end_branch(&mut self, guard: Option<Guard>, targets: impl Iterator<Item = u32>) {
        let mut edges: Vec<Edge> = targets.map(Edge::Label).collect();
        if guard.is_some() {
            edges.push(Edge::Next);
        }
        self.end_block(&edges);
    }

    fn end_block(&mut self, edges: &[Edge]) {
        let end = self.body.instructions.len();
        let span = self
            .block_span
            .take()
            .or_else(|| {
                self.body
                    .instructions
                    .get(self.block_start)
                    .map(|first| first.span)
            })
            .unwrap_or_default();
        let first_edge = self.edges.len();
        self.edges.extend_from_slice(edges);
        self.body.blocks.push(Block {
            instructions: Slots::new(self.block_start, end),
            successors: Slots::new(first_edge, self.edges.len()),
            span,
        });
        self.block_start = end;
    }

    /// What follows the last terminator is a block only if it has a label or an instruction; the entry always is. Where lanes
    /// go on behind a guarded terminator and nothing stands there, they return, as the assembler has it.
    fn finish_last_block(&mut self, end: u32) {
        let open = self.body.instructions.len() > self.block_start || self.block_span.is_some();
        if open || self.body.blocks.is_empty() {
            return self.end_block(&[]);
        }
        if self
            .body
            .instructions
            .last()
            .is_some_and(|last| last.guard.is_some())
        {
            self.emit(Op::Return, None, Span::new(end.saturating_sub(1), end), &[], &[]);
            self.end_block(&[]);
        }
    }

    /// Edges from pending to those of the body.
    fn resolve_edges(&mut self) {
        let count = self.body.blocks.len();
        for number in 0..count {
            let pending = self.body.blocks[number].successors;
            let start = self.body.edges.len();
            for edge in &self.edges[pending.range()] {
                let target = match *edge {
                    Edge::Label(label) => self.labels[label as usize].block,
                    Edge::Next => Some(BlockId::new(number + 1)),
                };
                self.body
                    .edges
                    .extend(target.filter(|target| target.index() < count));
            }
            self.body.blocks[number].successors = Slots::new(start, self.body.edges.len());
        }
    }

    /// Notes a name that nothing declares.
    pub(super) fn undeclared(&mut self, name: Span) {
        let text = std::str::from_utf8(self.tree.text(name)).unwrap_or_default();
        let instruction = InstructionId::new(self.body.instructions.len());
        let room = self.body.undeclared.len() < MAX_UNDECLARED;
        if room && !text.is_empty() && !self.body.undeclared.iter().any(|known| known.name == text) {
            self.body.undeclared.push(Unresolved {
                name: text,
                instruction,
            });
        }
    }

    /// Whether a name is a label in scope: labels are no values, but they are declared.
    pub(super) fn is_label(&self, name: &[u8]) -> bool {
        self.find_label(name).is_some()
    }
}
