//! Repeated passes over a body, until no cell grows: registers, tests, null addresses.

use rustc_hash::FxHashMap;

use super::cell::{Cell, Kinds, PackedLocation, Window};
use super::reportable::Reportable;
use super::summary::ScreenSummary;
use crate::limits::MAX_PROVENANCE_ROUNDS;
use crate::provenance::aliases::representative_of;
use crate::provenance::extent;
use crate::provenance::guards;
use crate::provenance::judge::{Use, use_of};
use crate::shared::Shared;
use ptxcheck_ir::{
    Body, Call, Callee, Function, FunctionId, Instruction, InstructionId, Op, Rare, Register, Space,
    SymbolId, SymbolKind, Value, registers,
};

/// Limit on the moves that are followed to find other values of a register.
const MAX_MOVES: usize = 2;

/// Pieces that have a bit of their own in [`Cell::formals`].
pub(super) const MAX_PIECES: usize = 31;

/// The state of a pass over a body; its allocations are kept for the next body.
#[derive(Default)]
pub(super) struct Memory {
    cells: Vec<Cell>,
    /// The cells of words stored at constant offsets in variables, by symbol and offset.
    pub(super) stored: FxHashMap<(SymbolId, i32), Cell>,
    /// Registers with constants that are used as addresses.
    nulls: Vec<(Register, InstructionId)>,
    /// Moves and sums of constants: source and target register.
    moves: Vec<(Register, Register)>,
}

/// Adds to a cell the possible values of another.
pub(super) fn join_cells(module: &Shared<'_>, cell: &mut Cell, other: Cell) {
    cell.join(other, |symbol| {
        Window::of_size(extent::certain_size(module, symbol))
    });
}

/// A pass over a body.
pub(super) struct ScreenPass<'a> {
    pub(super) module: &'a Shared<'a>,
    id: FunctionId,
    pub(super) function: &'a Function<'a>,
    pub(super) body: &'a Body<'a>,
    /// The current instruction.
    at: InstructionId,
    pub(super) known: &'a [ScreenSummary],
    pub(super) reportable: &'a Reportable,
    pub(super) memory: &'a mut Memory,
    pub(super) summary: ScreenSummary,
    /// The tested spaces, as generic addresses: a register that may hold anything may hold one where the test holds.
    pub(super) tested: Kinds,
    /// For each block: true if a test may hold there. Empty if nothing is tested.
    holding: Vec<bool>,
    /// A test may hold at the current instruction.
    is_held: bool,
    /// A cell has grown that was read before.
    pub(super) is_stale: bool,
}

/// Passes over a function until no cell grows; `known` are the summaries of its callees.
pub(super) fn screen_function(
    module: &Shared<'_>,
    id: FunctionId,
    known: &[ScreenSummary],
    reportable: &Reportable,
    memory: &mut Memory,
) -> ScreenSummary {
    let function = module.module.function(id);
    // The unreadable parts of a damaged body may write any register.
    let Some(body) = function.body.as_ref().filter(|_| !function.is_damaged) else {
        return ScreenSummary::default();
    };
    memory.cells.clear();
    memory.cells.resize(body.registers.len(), Cell::default());
    memory.stored.clear();
    memory.nulls.clear();
    memory.moves.clear();
    let mut pass = ScreenPass {
        module,
        id,
        function,
        body,
        at: InstructionId::new(0),
        known,
        reportable,
        memory,
        summary: ScreenSummary::default(),
        tested: Kinds::NONE,
        holding: Vec::new(),
        is_held: false,
        is_stale: false,
    };
    pass.note_tests();
    let is_settled = (0..MAX_PROVENANCE_ROUNDS).any(|_| {
        pass.is_stale = false;
        for (number, block) in body.blocks.iter().enumerate() {
            let is_held = pass.holding.get(number) == Some(&true);
            for at in block.instructions.range() {
                let instruction = &body.instructions[at];
                pass.at = InstructionId::new(at);
                pass.is_held = is_held || instruction.guard.is_some();
                pass.screen_instruction(instruction);
            }
        }
        let is_stale = pass.is_stale | pass.note_unwritten();
        if is_stale {
            pass.reset_for_next_pass();
        }
        !is_stale
    });
    pass.judge_nulls();
    let mut summary = pass.summary;
    summary.is_known = true;
    summary.is_unsettled = !is_settled;
    summary.suspects.instructions.sort_unstable();
    summary.suspects.instructions.dedup();
    let is_asked = summary
        .results
        .iter()
        .any(|(_, cell)| cell.kinds.intersects(Kinds::TRUTH));
    summary.tested = pass.tested.kinds_if(is_asked);
    summary
}

impl<'a> ScreenPass<'a> {
    /// Clears the state of one pass.
    fn reset_for_next_pass(&mut self) {
        self.memory.nulls.clear();
        self.memory.moves.clear();
        let cells = self.memory.cells.iter_mut();
        for cell in cells.chain(self.memory.stored.values_mut()) {
            cell.kinds = cell.kinds.difference(Kinds::OF_PASS);
        }
    }

    /// Notes which registers nothing writes; true if there are any for the first time.
    fn note_unwritten(&mut self) -> bool {
        let mut has_found = false;
        let registers = &self.body.registers;
        let all = (0..registers.len()).map(Register::new);
        for (cell, register) in self.memory.cells.iter_mut().zip(all) {
            if !cell.kinds.intersects(Kinds::WRITTEN) {
                // Such a register has a name in the source: the front ends define the registers that they make.
                let is_told = registers.bits(register) >= 32 && !registers.name(register).is_empty();
                let kinds = Kinds::UNDEFINED
                    .union(Kinds::ALONE)
                    .kinds_if(is_told)
                    .union(Kinds::OTHER);
                cell.kinds = cell.kinds.union(kinds).union(Kinds::WRITTEN);
                has_found |= is_told;
            }
        }
        has_found
    }

    fn cell_of_register(&mut self, register: Register) -> Cell {
        let cell = &mut self.memory.cells[register.index()];
        cell.kinds = cell.kinds.union(Kinds::READ);
        let flags = Kinds::READ.union(Kinds::ASKED).union(Kinds::WRITTEN);
        // A register that may hold anything holds an address where a test says so.
        let found = self.tested.union(Kinds::ALONE);
        let found = found.kinds_if(self.is_held && cell.kinds.intersects(Kinds::TESTED));
        Cell {
            kinds: cell.kinds.difference(flags).union(found),
            ..*cell
        }
    }

    /// [`Kinds::TRUTH`] if an operand may be the outcome of a test, else nothing.
    pub(super) fn truth_kind_of(&mut self, value: Value) -> Kinds {
        value.register().map_or(Kinds::NONE, |register| {
            let cell = &mut self.memory.cells[register.index()];
            cell.kinds = cell.kinds.union(Kinds::ASKED);
            cell.kinds.intersection(Kinds::TRUTH)
        })
    }

    /// The cell of an operand.
    #[inline]
    pub(super) fn cell_of_operand(&mut self, value: Value) -> Cell {
        match value {
            Value::Register(register) => self.cell_of_register(register),
            Value::Integer(number) => Cell::of_constant(number),
            _ => self.cell_of_named_operand(value),
        }
    }

    /// The cell of an operand that is neither a register nor a number.
    fn cell_of_named_operand(&mut self, value: Value) -> Cell {
        match value {
            Value::Not(_) => Cell::of_kinds(self.truth_kind_of(value).union(Kinds::OTHER)),
            Value::Symbol(symbol, offset) => {
                let known = self.module.module.symbol(symbol);
                if known.kind != SymbolKind::Variable || known.space == Space::Generic {
                    return Cell::OTHER;
                }
                Cell {
                    kinds: Kinds::raw_in(known.space).union(Kinds::NAMED).union(Kinds::ALONE),
                    formals: 0,
                    location: PackedLocation::of_symbol(symbol, offset),
                }
            }
            Value::Param(number, offset) if self.function.is_kernel() => Cell {
                kinds: Kinds::raw_in(Space::Param)
                    .union(Kinds::NAMED)
                    .union(Kinds::ALONE),
                formals: 0,
                location: PackedLocation::of_param(number, offset),
            },
            _ => Cell::OTHER,
        }
    }

    pub(super) fn write_register(&mut self, register: Register, cell: Cell) {
        let is_mixed = cell.kinds.intersects(Kinds::MIXED) || cell.has_value_but_no_constant();
        let flags = Kinds::WRITTEN.union(Kinds::MIXED.kinds_if(is_mixed));
        let cell = cell.without_register_flags();
        let known = &mut self.memory.cells[register.index()];
        if known.kinds == Kinds::NONE {
            // The first definition, and the register has not been read yet: the most common case.
            *known = Cell {
                kinds: cell.kinds.union(flags),
                ..cell
            };
            return;
        }
        if !known.is_upper_bound_of(cell) {
            let before = *known;
            join_cells(self.module, known, cell);
            let more = known.kinds.difference(before.kinds);
            self.is_stale |= before.kinds.intersects(Kinds::ASKED) && more.intersects(Kinds::TRUTH)
                || before.kinds.intersects(Kinds::READ) && known.requires_reevaluation(before);
        }
        known.kinds = known.kinds.union(flags);
    }

    /// Writes one value to all results.
    #[inline]
    pub(super) fn write_results(&mut self, results: &[Value], cell: Cell) {
        for register in registers(results) {
            self.write_register(register, cell);
        }
    }

    /// The bit of a piece of the parameters.
    pub(super) fn bit_of_piece(&mut self, piece: (u16, u32)) -> u32 {
        let pieces = &mut self.summary.pieces;
        let known = pieces.iter().position(|(known, _)| *known == piece);
        let number = known.unwrap_or_else(|| {
            if pieces.len() < MAX_PIECES {
                pieces.push((piece, Kinds::NONE));
                pieces.len() - 1
            } else {
                MAX_PIECES
            }
        });
        1 << number
    }

    /// Records that arguments for these pieces must not be of these kinds.
    pub(super) fn record_demand(&mut self, formals: u32, wrong: Kinds) {
        if formals == 0 || wrong == Kinds::NONE {
            return;
        }
        let mut left = formals & !(1 << MAX_PIECES);
        while left != 0 {
            let (_, wrong_here) = &mut self.summary.pieces[left.trailing_zeros() as usize];
            *wrong_here = wrong_here.union(wrong);
            left &= left - 1;
        }
        if formals >> MAX_PIECES & 1 == 1 {
            self.summary.rest = self.summary.rest.union(wrong);
        }
    }

    /// Records the tests of the body, because a pass that finds them later would have to start again, and the blocks where
    /// they may hold.
    fn note_tests(&mut self) {
        let body = self.body;
        let has_tests = body.has(Rare::IS_SPACE);
        if has_tests {
            for instruction in &body.instructions {
                if let (Op::IsSpace(space), Some(&operand)) = (instruction.op, body.uses(instruction).first())
                {
                    self.note_test(operand, Kinds::generic_in(space));
                }
            }
        }
        if has_tests || body.calls.iter().any(|call| self.may_return_test_outcome(call)) {
            let analyses = self.module.function(self.id);
            let answers = |call: InstructionId| {
                let Op::Call(call) = body.instruction(call).op else {
                    return None;
                };
                let is_asked = |value: &Value| match value {
                    Value::Register(register) => analyses.definitions().writers_of(*register).len() == 1,
                    _ => false,
                };
                let call = body.call(call);
                let mut values = body.arguments(call).iter().map(|argument| argument.value);
                let asked = values.find(is_asked)?;
                self.may_return_test_outcome(call)
                    .then_some((asked, Space::Generic))
            };
            self.holding = guards::blocks_where_tests_may_hold(body, analyses, &answers);
        }
    }

    /// True if a call may return the outcome of a test.
    fn may_return_test_outcome(&self, call: &Call) -> bool {
        match call.callee {
            Callee::Direct(symbol) => self
                .summary_of(symbol)
                .is_some_and(|summary| summary.tested != Kinds::NONE),
            Callee::Indirect(_) => false,
        }
    }

    /// Records a test of a value for these spaces: it holds for all registers with the same value.
    pub(super) fn note_test(&mut self, value: Value, spaces: Kinds) {
        self.is_stale |= self.tested.union(spaces) != self.tested;
        self.tested = self.tested.union(spaces);
        if let Value::Register(register) = value {
            let root = representative_of(self.body, self.module.function(self.id), register);
            let cell = &mut self.memory.cells[root.index()];
            self.is_stale |= !cell.kinds.intersects(Kinds::TESTED);
            cell.kinds = cell.kinds.union(Kinds::TESTED);
        }
    }

    /// Records that the current instruction has to be analysed, if the condition holds.
    pub(super) fn mark_suspect_if(&mut self, holds: bool) {
        let known = &mut self.summary.suspects.instructions;
        if holds && known.last() != Some(&self.at) {
            known.push(self.at);
        }
    }

    /// Records that the current instruction has to be analysed for null addresses, if the condition holds.
    fn mark_null_suspect_if(&mut self, holds: bool) {
        self.mark_suspect_if(holds);
        self.summary.suspects.has_nulls |= holds;
    }

    fn screen_instruction(&mut self, instruction: &Instruction) {
        let body = self.body;
        let (results, uses) = body.operands(instruction);
        match instruction.op {
            Op::Access(access) => self.screen_access(&access, results, uses),
            Op::Call(call) => {
                let call = body.call(call);
                match call.callee {
                    Callee::Indirect(value) => {
                        let cell = self.cell_of_operand(value);
                        self.note_null(value, cell);
                    }
                    Callee::Direct(symbol) => self.check_arguments(symbol, body.arguments(call)),
                }
                self.write_results(results, Cell::OTHER);
            }
            Op::CallResult(call) => self.write_call_results(call, results, uses),
            op @ (Op::ToGeneric(..) | Op::FromGeneric(..) | Op::IsSpace(_) | Op::MapShared(_)) => {
                if let (Some(used), Some(&operand)) = (use_of(op), uses.first()) {
                    let cell = self.cell_of_operand(operand);
                    self.judge_use(used, cell);
                }
                self.write_operation_results(op, results, uses);
            }
            op => self.write_operation_results(op, results, uses),
        }
    }

    /// Records a use that is wrong for null addresses.
    pub(super) fn note_null(&mut self, base: Value, cell: Cell) {
        if self.reportable.nulls.is_none() {
            return;
        }
        self.record_demand(cell.formals, Kinds::CONSTANT);
        match base {
            // Its other definitions may come later in the text.
            Value::Register(register)
                if cell.has_no_value_yet()
                    || self
                        .reportable
                        .may_be_reported_null(cell.kinds.difference(Kinds::MIXED)) =>
            {
                self.memory.nulls.push((register, self.at));
            }
            _ => self.mark_null_suspect_if(self.reportable.may_be_reported_null(cell.kinds)),
        }
    }

    /// Records the registers that a possible constant, `cell`, is moved or computed from.
    #[inline]
    pub(super) fn record_moved_constant(&mut self, cell: Cell, from: &[Value], results: &[Value]) {
        if self.reportable.nulls.is_none() || !cell.kinds.intersects(Kinds::CONSTANT) {
            return;
        }
        for from in registers(from) {
            self.memory.moves.extend(registers(results).map(|to| (from, to)));
        }
    }

    /// Judges the recorded uses, after all possible values of their registers are known.
    fn judge_nulls(&mut self) {
        if self.memory.nulls.is_empty() {
            return;
        }
        // Further definitions of a register may come later in the text than the moves from it.
        for _ in 0..MAX_MOVES {
            let Memory { cells, moves, .. } = &mut *self.memory;
            moves.retain(|(from, to)| {
                let is_mixed = cells[from.index()].kinds.intersects(Kinds::MIXED);
                let known = &mut cells[to.index()].kinds;
                *known = known.union(Kinds::MIXED.kinds_if(is_mixed));
                !is_mixed
            });
        }
        let nulls = std::mem::take(&mut self.memory.nulls);
        for &(register, at) in &nulls {
            let kinds = self.memory.cells[register.index()].kinds;
            self.at = at;
            self.mark_null_suspect_if(self.reportable.may_be_reported_null(kinds));
        }
        self.memory.nulls = nulls;
    }

    pub(super) fn judge_use(&mut self, used: Use, cell: Cell) {
        let wrong = self.reportable.wrong_kinds(used);
        self.mark_suspect_if(self.reportable.is_wrong(cell, wrong));
        self.record_demand(cell.formals, wrong);
    }
}
