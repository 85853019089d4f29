//! Lowers one function's statements to blocks of device IR.

use rustc_hash::FxHashMap;

use ptxcheck_ptx_parser::Span;
use ptxcheck_ptx_parser::ast::{self, Indices, StateSpace, Statement, StatementKind, Tree};

use ptxcheck_ptx_parser::operand::{OperandRef, Operands};

use super::asynchronous::{async_op, operands};
use super::calls::Slot;
use super::labels::{LabelNames, LabelsAhead};
use super::malformed::Malformed;
use super::matrices::matrix_rows;
use super::opcode::{Decoded, Listed, Shape};
use super::opcodes::{Opcode, OpcodeId, Opcodes};
use super::origin::debug_id;
use super::scope::{Binding, Registers, Scopes};
use super::symbols::{Symbols, register_bits};
use crate::limits::MAX_COPIED_TARGETS;
use ptxcheck_ir::limits::MAX_UNDECLARED;
use ptxcheck_ir::{
    Access, AccessKind, Asynchronous, Block, BlockId, Body, DebugId, Guard, InstructionId, Matrix, Op, Slots,
    SourcePlace, Space, Unresolved, Value, fitting,
};

/// A label, in the scope that declares it.
struct Label {
    /// The block it begins, once that has been reached.
    block: Option<BlockId>,
    /// The statement after it: `.branchtargets` may stand there.
    next: usize,
}

/// An edge to a place that may lie ahead.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    Label(u32),
    Next,
    /// The label of a name in [`LabelsAhead`], by the index of the name.
    Ahead(u32),
    /// The block that stands for all jumps through this table but the first.
    Hub(u32),
}

/// A table of labels that some jump goes through.
struct Table {
    /// The labels.
    targets: Vec<u32>,
    directive: Span,
    hub: Option<u32>,
}

/// The lowering of one body.
pub(super) struct Lowering<'a, 's> {
    pub(super) source: &'s [u8],
    pub(super) symbols: &'a Symbols<'s>,
    pub(super) body: Body<'s>,
    pub(super) scopes: Scopes<'s>,
    pub(super) registers: Registers,
    pub(super) slots: Vec<Slot>,
    /// Number of pieces of arguments that may still be noted: a piece is stored before it is passed, so the text bounds them.
    pub(super) argument_pieces: usize,
    pub(super) slot_registers: FxHashMap<(u32, u32), ptxcheck_ir::Register>,
    pub(super) malformed: Malformed,
    /// The parser could read all of the function.
    pub(super) is_whole: bool,
    opcodes: &'a mut Opcodes<'s>,
    labels: Vec<Label>,
    /// The labels that branches name, where they have not been collected before.
    ahead: Option<LabelsAhead<'s>>,
    needs_whole_tree: bool,
    /// Labels that have been passed.
    labels_passed: usize,
    label_names: LabelNames<'s>,
    /// Scope numbers from the outermost in, and each scope's parent.
    open_scopes: Vec<u32>,
    next_scope: u32,
    edges: Vec<Edge>,
    /// By the label of each.
    tables: FxHashMap<u32, Table>,
    /// The labels of tables with a block of their own.
    hubs: Vec<u32>,
    debug: DebugId,
    /// The first debug location.
    declared: DebugId,
    block_start: usize,
    block_span: Option<Span>,
}

/// The lowered body of a function.
pub(super) struct Lowered<'s> {
    pub(super) body: Body<'s>,
    /// Its first debug location.
    pub(super) declared: DebugId,
    pub(super) malformed: Malformed,
}

impl<'a, 's> Lowering<'a, 's> {
    /// For a function of so many bytes, of which the parser could read all or not.
    pub(super) fn new(
        source: &'s [u8],
        symbols: &'a Symbols<'s>,
        opcodes: &'a mut Opcodes<'s>,
        (bytes, is_whole): (u32, bool),
    ) -> Self {
        Self {
            source,
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
            ahead: None,
            needs_whole_tree: false,
            labels_passed: 0,
            label_names: LabelNames::default(),
            open_scopes: vec![0],
            next_scope: 1,
            edges: Vec::new(),
            tables: FxHashMap::default(),
            hubs: Vec::new(),
            debug: DebugId::NONE,
            declared: DebugId::NONE,
            block_start: 0,
            block_span: None,
        }
    }

    pub(super) fn lower(mut self, tree: &Tree<'s>, function: &ast::Function) -> Lowered<'s> {
        self.collect_labels(tree, function.body);
        self.begin(tree, function, function.body.len());
        for statement in tree.body(function) {
            self.statement(tree, statement);
        }
        self.finish(function.span.end)
    }

    /// Begins a body of about so many statements.
    pub(super) fn begin(&mut self, tree: &Tree<'s>, function: &ast::Function, statements: usize) {
        self.body.instructions.reserve(statements);
        self.body.values.reserve(statements * 3);
        self.scopes.open();
        self.bind_parameters(tree, function);
    }

    /// Ends the body, whose text ends at an offset.
    pub(super) fn finish(mut self, end: u32) -> Lowered<'s> {
        self.finish_last_block(end);
        let count = self.body.blocks.len();
        self.add_hubs();
        self.resolve_edges(count);
        self.body.registers = self.registers.all;
        Lowered {
            body: self.body,
            declared: self.declared,
            malformed: self.malformed,
        }
    }

    /// Labels may be used before they stand: one pass finds them, with the scope each belongs to.
    fn collect_labels(&mut self, tree: &Tree<'s>, body: Indices) {
        let mut open = vec![0_u32];
        let mut next_scope = 1;
        let mut names = Vec::new();
        for place in body.range() {
            let statement = &tree.statements()[place];
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
                    names.push((scope, tree.name(statement)));
                    self.labels.push(Label {
                        block: None,
                        next: place + 1,
                    });
                }
                _ => {}
            }
        }
        self.label_names = LabelNames::new(names);
    }

    fn bind_parameters(&mut self, tree: &Tree<'s>, function: &ast::Function) {
        for (number, variable) in tree.variables()[function.results.range()].iter().enumerate() {
            let binding = match variable.space {
                StateSpace::Reg => {
                    Binding::Register(self.registers.make(register_bits(variable), variable.name))
                }
                _ => Binding::ReturnSlot(number.min(usize::from(u16::MAX)) as u16),
            };
            self.scopes.bind(tree.text(variable.name), binding);
        }
        for (number, variable) in tree.variables()[function.params.range()].iter().enumerate() {
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

    pub(super) fn statement(&mut self, tree: &Tree<'s>, statement: &Statement) {
        match statement.kind() {
            StatementKind::Instruction => self.instruction(tree, statement),
            StatementKind::Label => self.label(statement.span()),
            StatementKind::Declaration => self.declaration(tree, statement),
            StatementKind::BlockOpen => self.open_scope(),
            StatementKind::BlockClose if self.open_scopes.len() > 1 => self.close_scope(),
            StatementKind::Location => {
                self.debug = debug_id(statement);
                if self.declared == DebugId::NONE {
                    self.declared = self.debug;
                }
            }
            _ => {}
        }
    }

    pub(super) fn open_scope(&mut self) {
        self.scopes.open();
        self.open_scopes.push(self.next_scope);
        self.next_scope += 1;
    }

    pub(super) fn close_scope(&mut self) {
        self.scopes.close();
        self.open_scopes.pop();
    }

    fn declaration(&mut self, tree: &Tree<'s>, statement: &Statement) {
        let first = statement.index();
        for (number, variable) in tree.declared(statement).iter().enumerate() {
            let name = tree.text(variable.name);
            let binding = match variable.space {
                StateSpace::Reg => match variable.registers() {
                    Some(count) => self.registers.declare_range(count, register_bits(variable)),
                    None => Binding::Register(self.registers.make(register_bits(variable), variable.name)),
                },
                StateSpace::Param => self.declare_slot(),
                _ => match self.symbols.of_variable(first + number) {
                    Some(symbol) => match variable.registers() {
                        Some(count) => Binding::Symbols(symbol, count),
                        None => Binding::Symbol(symbol),
                    },
                    None => continue,
                },
            };
            self.scopes.bind(name, binding);
        }
    }

    fn label(&mut self, span: Span) {
        if self.body.instructions.len() > self.block_start {
            self.end_block([Edge::Next]);
        }
        self.block_span.get_or_insert(span);
        // They come in the order in which they were collected.
        if let Some(label) = self.labels.get_mut(self.labels_passed) {
            label.block = Some(BlockId::new(self.body.blocks.len()));
        }
        self.labels_passed += 1;
    }

    /// Has labels found where all of the body has been read.
    pub(super) fn expect_labels_ahead(&mut self) {
        self.ahead = Some(LabelsAhead::default());
    }

    /// A label of this name and place, where labels have not been collected.
    pub(super) fn label_ahead(&mut self, name: Span, span: Span) {
        if let Some(ahead) = &mut self.ahead {
            ahead.declare(&self.open_scopes, name.of(self.source));
        }
        self.labels.push(Label {
            block: None,
            next: usize::MAX,
        });
        self.label(span);
    }

    /// A branch to a label, where labels have not been collected.
    pub(super) fn branch_ahead(&mut self, op: Op, guard: Option<Guard>, span: Span, label: Span) {
        let name = label.of(self.source);
        let ahead = self.ahead.get_or_insert_default();
        let label = ahead.name(&self.open_scopes, name);
        self.emit(op, guard, span, &[], &[]);
        self.end_branch(guard, std::iter::once(Edge::Ahead(label)));
    }

    /// Finds the labels that branches have named; `None` if one is not there.
    pub(super) fn resolve_labels_ahead(&mut self) -> Option<()> {
        let labels = self.ahead.take()?.resolve()?;
        for edge in &mut self.edges {
            if let Edge::Ahead(name) = *edge {
                *edge = Edge::Label(labels[name as usize]);
            }
        }
        Some(())
    }

    fn find_label(&self, name: &[u8]) -> Option<u32> {
        self.label_names.find(&self.open_scopes, name)
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
        let op = fitting(
            op,
            &self.body.values[start..],
            results,
            self.registers.all.all_bits(),
        );
        let debug = self.debug;
        self.body
            .add(op, guard, (start, results), SourcePlace { debug, span })
    }

    /// The opcode at a place of the source.
    #[inline(always)]
    pub(super) fn decode(&mut self, opcode: Span) -> OpcodeId {
        self.opcodes.decode(self.source, opcode)
    }

    /// A decoded opcode.
    #[inline(always)]
    pub(super) fn opcode(&self, id: OpcodeId) -> &Opcode {
        self.opcodes.get(id)
    }

    /// The opcode that a text begins with, and its length; `None` for one that has not been decoded lately.
    #[inline(always)]
    pub(super) fn known_opcode(&self, text: &[u8]) -> Option<(OpcodeId, usize)> {
        self.opcodes.known(text)
    }

    /// True if the meaning of a statement depends on the whole tree.
    pub(super) const fn needs_whole_tree(&self) -> bool {
        self.needs_whole_tree
    }

    fn instruction(&mut self, tree: &Tree<'s>, statement: &Statement) {
        let id = self.decode(statement.name());
        let &Opcode { decoded, least, .. } = self.opcode(id);
        let Decoded { op, shape, listed } = decoded;
        let first = self.body.instructions.len();
        let span = statement.span();
        let guard = self.guard(tree, statement);
        let operands = tree.operands(statement);
        if statement.operand_count() < usize::from(least) {
            return self.too_few_operands((shape, least), guard, span, operands);
        }
        match shape {
            Shape::Plain(results) => self.plain(op, guard, span, operands, usize::from(results)),
            Shape::Guess => {
                let results = usize::from(super::operands::begins_with_result(&operands));
                self.plain(op, guard, span, operands, results);
            }
            Shape::MaskLast => self.collective(op, guard, span, operands, true),
            Shape::MaskAbsent => self.collective(op, guard, span, operands, false),
            Shape::Memory { results, others } => {
                self.memory(op, guard, span, operands, usize::from(results), others);
            }
            Shape::Call => self.call(guard, span, operands),
            Shape::Branch => self.branch(op, guard, span, operands),
            Shape::BranchTable => self.branch_table(tree, op, guard, span, operands),
        }
        match listed {
            Listed::Asynchronous => self.note_asynchronous(tree, statement, first),
            Listed::Matrix => self.note_matrix(tree, statement, first),
            Listed::No if matches!(op, Op::Return | Op::Exit | Op::Trap) => {
                self.end_block(guard.map(|_| Edge::Next));
            }
            Listed::No => {}
        }
    }

    /// Lists a statement among the asynchronous operations, whose instructions have been added from `first` on.
    #[cold]
    fn note_asynchronous(&mut self, tree: &Tree<'s>, statement: &Statement, first: usize) {
        let opcode = tree.name(statement);
        // Only an opcode without a row gets here if nothing else is known of it.
        let Some(op) = async_op(opcode, false) else { return };
        let Some(instruction) = self.body.instructions.get(first) else {
            return;
        };
        let uses = self.body.uses(instruction).len();
        let (addresses, values) = operands(op, opcode, uses);
        self.body.note_asynchronous(Asynchronous {
            op,
            instruction: InstructionId::new(first),
            addresses,
            values,
        });
    }

    /// Lists a statement among the loads and stores of matrices, whose instruction is that at `first`.
    #[cold]
    fn note_matrix(&mut self, tree: &Tree<'s>, statement: &Statement, first: usize) {
        // `r, [p], stride` or `[p], r, stride`.
        let has_stride = statement.operand_count() > 2;
        if let Some(rows) = matrix_rows(tree.name(statement), has_stride) {
            let instruction = InstructionId::new(first);
            self.body.note_matrix(Matrix { instruction, rows });
        }
    }

    fn branch(&mut self, op: Op, guard: Option<Guard>, span: Span, mut operands: Operands<'_>) {
        let target = operands.next();
        if let (Some(target), true) = (&target, self.ahead.is_some()) {
            return self.branch_ahead(op, guard, span, target.span());
        }
        let label = target.as_ref().and_then(|label| self.find_label(label.text()));
        let Some(label) = label else {
            self.unresolved(target.map_or(span, OperandRef::span), "a label of this function");
            return self.nowhere(span);
        };
        self.emit(op, guard, span, &[], &[]);
        self.end_branch(guard, std::iter::once(Edge::Label(label)));
    }

    /// A jump through a table. Of many through a large one, all but the first lead to a block that jumps to any of its
    /// labels: edges are as many as the text is long.
    fn branch_table(
        &mut self,
        tree: &Tree<'s>,
        op: Op,
        guard: Option<Guard>,
        span: Span,
        mut operands: Operands<'_>,
    ) {
        self.needs_whole_tree |= self.ahead.is_some();
        let index = operands
            .next()
            .map_or(Value::Unknown, |operand| self.value(&operand));
        let is_number = fitting(op, &[index], 0, self.registers.all.all_bits()) == op;
        let index = if is_number { index } else { Value::Unknown };
        let list = operands.next();
        let label = list.as_ref().and_then(|label| self.find_label(label.text()));
        if let Some(label) = label
            && let Some(table) = self.tables.get_mut(&label)
            && table.targets.len() > MAX_COPIED_TARGETS
        {
            let hub = *table.hub.get_or_insert_with(|| {
                self.hubs.push(label);
                self.hubs.len() as u32 - 1
            });
            self.emit(Op::Branch, guard, span, &[], &[index]);
            return self.end_branch(guard, std::iter::once(Edge::Hub(hub)));
        }
        let Some(targets) = label.and_then(|label| self.targets(tree, label)) else {
            let place = list.map_or(span, OperandRef::span);
            self.unresolved(place, "the label of a list of branch targets");
            return self.nowhere(span);
        };
        if targets.is_empty() {
            return self.nowhere(span);
        }
        self.emit(op, guard, span, &[], &[index]);
        self.end_branch(guard, targets.into_iter().map(Edge::Label));
    }

    /// The labels of the table that a label names; `None` if it names no table. Those that do not exist are errors.
    fn targets(&mut self, tree: &Tree<'s>, label: u32) -> Option<Vec<u32>> {
        let directive = tree
            .statements()
            .get(self.labels[label as usize].next)
            .filter(|next| tree.name(next) == b".branchtargets")?;
        let mut targets = Vec::new();
        for target in tree.operands(directive) {
            match self.find_label(target.text()) {
                Some(label) => targets.push(label),
                None => self.unresolved(target.span(), "a label of this function"),
            }
        }
        self.tables.insert(
            label,
            Table {
                targets: targets.clone(),
                directive: directive.span(),
                hub: None,
            },
        );
        Some(targets)
    }

    /// The blocks of tables that several jumps go through, after all others.
    fn add_hubs(&mut self) {
        self.debug = DebugId::NONE;
        for label in std::mem::take(&mut self.hubs) {
            if let Some(table) = self.tables.remove(&label) {
                self.emit(Op::BranchTable, None, table.directive, &[], &[Value::Unknown]);
                self.end_branch(None, table.targets.into_iter().map(Edge::Label));
            }
        }
    }

    pub(super) fn end_branch(&mut self, guard: Option<Guard>, targets: impl Iterator<Item = Edge>) {
        let next = guard.map(|_| Edge::Next);
        self.end_block(targets.chain(next));
    }

    pub(super) fn end_block(&mut self, edges: impl IntoIterator<Item = Edge>) {
        let end = self.body.instructions.len();
        let span = self
            .block_span
            .take()
            .or_else(|| self.body.places.get(self.block_start).map(|first| first.span))
            .unwrap_or_default();
        let first_edge = self.edges.len();
        self.edges.extend(edges);
        self.body.blocks.push(Block {
            instructions: Slots::new(self.block_start, end),
            successors: Slots::new(first_edge, self.edges.len()),
            span,
        });
        self.block_start = end;
    }

    /// Ends the last block. The text after the last terminator is a block only if it has a label or an instruction; the entry always is
    /// one. Lanes that continue after a guarded terminator at the end of the text return, as in the assembler.
    fn finish_last_block(&mut self, end: u32) {
        let open = self.body.instructions.len() > self.block_start || self.block_span.is_some();
        if open || self.body.blocks.is_empty() {
            return self.end_block([]);
        }
        if self
            .body
            .instructions
            .last()
            .is_some_and(|last| last.guard.is_some())
        {
            self.emit(Op::Return, None, Span::new(end.saturating_sub(1), end), &[], &[]);
            self.end_block([]);
        }
    }

    /// Edges from pending to those of the body; `count`: blocks of the text, which those of tables follow.
    fn resolve_edges(&mut self, count: usize) {
        for number in 0..self.body.blocks.len() {
            let pending = self.body.blocks[number].successors;
            let start = self.body.edges.len();
            for edge in &self.edges[pending.range()] {
                let target = match *edge {
                    Edge::Label(label) => self.labels[label as usize].block,
                    Edge::Next => Some(BlockId::new(number + 1)),
                    Edge::Ahead(_) | Edge::Hub(_) => None,
                };
                let hub = match *edge {
                    Edge::Hub(hub) => Some(BlockId::new(count + hub as usize)),
                    _ => None,
                };
                let target = target.filter(|target| target.index() < count).or(hub);
                self.body.edges.extend(target);
            }
            self.body.blocks[number].successors = Slots::new(start, self.body.edges.len());
        }
    }

    /// Notes a name that nothing declares.
    fn undeclared(&mut self, name: Span) {
        let text = std::str::from_utf8(name.of(self.source)).unwrap_or_default();
        let instruction = InstructionId::new(self.body.instructions.len());
        let room = self.body.undeclared.len() < MAX_UNDECLARED;
        if room && !text.is_empty() && !self.body.undeclared.iter().any(|known| known.name == text) {
            self.body.undeclared.push(Unresolved {
                name: text,
                instruction,
            });
        }
    }

    /// Notes a name that is no value, and that nothing declares unless it is a label.
    pub(super) fn label_or_undeclared(&mut self, name: Span, text: &[u8]) {
        if self.ahead.is_some() {
            self.needs_whole_tree = true;
        } else if self.find_label(text).is_none() {
            self.undeclared(name);
        }
    }
}
