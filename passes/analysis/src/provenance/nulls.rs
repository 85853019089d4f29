//! Address 0, which a compiler emits where device code names an entity that only the host has (PTX106).
//!
//! ```text
//! null       an integer n from 0 up, with the offset of the access under `NULL_PAGE`
//! definite   every element of the address is null, the register and those that it is moved, computed or chosen from hold
//!            nothing else anywhere in the body, the use is on every path from the point where null enters it (for an access to a
//!            number, from the entry of the function), and the code compares no such address with 0
//! potential  some element is, or the register is null on this path alone (a search that found nothing, its result
//!            used without a test: the compiler gives each outcome a path of its own); or the access is a deliberate
//!            crash, a volatile store or one with a `trap` after it, which is how GCC ends a path on which it has seen
//!            that a pointer is null; or the address is an index that was shifted or multiplied to the size of an
//!            element and never added to a base
//! ```

use super::function::Judge;
use super::judge::{Effect, Use, ViolationKind, faults_at_null};
use super::solver::Variable;
use super::summary::{Demand, Violation, formal_elements};
use super::survey::Survey;
use super::value::{Base, Element, ElementKind, Provenance, Trust};
use crate::call_graph::CallSite;
use crate::definitions::Definitions;
use crate::entered_function::Executed;
use crate::limits::{MAX_PREDICATE_STEPS, NULL_PAGE};
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    Access, AccessKind, Argument, BinaryOp, BlockId, Body, Callee, InstructionId, Op, Register, UnaryOp,
    Value,
};

/// For each register, including predicates: true if an operation other than a move depends on it. In a debug build nvcc
/// compares `this` with 0 at the start of each member function and branches to the same block on both outcomes: nothing
/// depends on that.
fn registers_with_dependents(body: &Body<'_>, definitions: &Definitions) -> Vec<bool> {
    let mut found = vec![false; body.registers.len()];
    let mut moved: Vec<Register> = Vec::new();
    let is_moved = |op| matches!(op, Op::Unary(UnaryOp::Not, 1) | Op::Copy);
    for (number, block) in body.blocks.iter().enumerate() {
        let id = BlockId::new(number);
        let is_idle = match body.successors(id) {
            &[a, b] => block_after_empty_blocks(body, a) == block_after_empty_blocks(body, b),
            _ => false,
        };
        for at in block.instructions.range() {
            let instruction = body.instruction(InstructionId::new(at));
            if let Some(guard) = instruction.guard
                && (!is_idle || !matches!(instruction.op, Op::Branch))
            {
                found[guard.register.index()] = true;
            }
            if is_moved(instruction.op) {
                moved.extend(body.defined(instruction));
                continue;
            }
            for register in body.uses(instruction).iter().filter_map(|value| value.register()) {
                found[register.index()] = true;
            }
        }
    }
    for argument in body.calls.iter().flat_map(|call| body.arguments(call)) {
        if let Some(register) = argument.value.register() {
            found[register.index()] = true;
        }
    }
    // Sources of moves into such registers; each register is followed once.
    let mut open: Vec<Register> = moved.into_iter().filter(|to| found[to.index()]).collect();
    open.sort_unstable();
    open.dedup();
    while let Some(register) = open.pop() {
        for &definition in definitions.writers_of(register) {
            let instruction = body.instruction(definition);
            if is_moved(instruction.op) {
                for from in body.uses(instruction).iter().filter_map(|value| value.register()) {
                    if !std::mem::replace(&mut found[from.index()], true) {
                        open.push(from);
                    }
                }
            }
        }
    }
    found
}

/// The block that control reaches from a block, after blocks that only branch on.
fn block_after_empty_blocks(body: &Body<'_>, block: BlockId) -> BlockId {
    let mut block = block;
    for _ in 0..MAX_PREDICATE_STEPS {
        let mut instructions = body.block(block);
        let is_bare = match (instructions.next(), instructions.next()) {
            (Some((_, only)), None) => only.op == Op::Branch && only.guard.is_none(),
            (None, None) => true,
            _ => false,
        };
        match body.successors(block) {
            &[next] if is_bare => block = next,
            _ => break,
        }
    }
    block
}

/// True if an access is a deliberate crash: a volatile store, or one with only a `trap` after it.
fn is_deliberate_crash(body: &Body<'_>, at: InstructionId, access: &Access) -> bool {
    let is_volatile_store = access.is_volatile() && access.kind == AccessKind::Store;
    let next = || body.instructions.get(at.index() + 1);
    is_volatile_store || next().is_some_and(|next| next.op == Op::Trap && next.guard.is_none())
}

/// True if an element plus `by` bytes is null; its trust is ignored.
fn is_null(element: &Element, by: i64) -> bool {
    let at = element.offset.and_then(|offset| offset.checked_add(by));
    element.kind == ElementKind::Number && at.is_some_and(|at| (0..NULL_PAGE).contains(&at))
}

/// The first element that is null `by` bytes further, and whether it is the only element.
fn find_null(value: &Provenance, by: i64) -> Option<(Element, bool)> {
    let elements = value.elements();
    let first = elements.iter().find(|element| is_null(element, by))?;
    let is_all = elements
        .iter()
        .all(|element| is_null(element, by) && element.trust == Trust::Certain);
    Some((*first, is_all))
}

impl Judge<'_> {
    /// Records the values that are compared with 0: code that does so handles null pointers.
    pub(super) fn note_null_tests(&mut self, survey: &Survey) {
        let deciding = if survey.null_tests.is_empty() {
            Vec::new()
        } else {
            registers_with_dependents(self.body, self.module.function(self.id).definitions())
        };
        for &at in &survey.null_tests {
            let mut results = self.body.defined(self.body.instruction(at));
            if !results.any(|result| deciding[result.index()]) {
                continue;
            }
            for &operand in self.body.uses(self.body.instruction(at)).iter().take(2) {
                if !matches!(operand, Value::Integer(_)) {
                    let (value, _) = self.solver.value_at(operand, at);
                    self.note_null_test(&value);
                }
            }
        }
        for &at in &survey.calls {
            let Some((summary, arguments)) = self.solver.callee_summary(at) else {
                continue;
            };
            for piece in &summary.null_tested {
                let passed = arguments.iter().find(|argument| argument.passes(*piece));
                if let Some(argument) = passed {
                    let (value, _) = self.solver.value_at(argument.value, at);
                    self.note_null_test(&value);
                }
            }
        }
        self.summary.null_tested.sort_unstable();
        self.summary.null_tested.dedup();
    }

    fn note_null_test(&mut self, value: &Provenance) {
        for element in value.elements() {
            match (element.kind, element.base) {
                (ElementKind::Number, _) => self.is_null_tested = true,
                (ElementKind::Formal, Base::Param(number, piece)) => {
                    self.summary.null_tested.push((number, piece));
                }
                _ => {}
            }
        }
    }

    /// Judges an access in this body.
    pub(super) fn judge_null_access(
        &mut self,
        at: InstructionId,
        access: &Access,
        uses: &[Value],
        value: &Provenance,
    ) {
        if self.is_null_tested || !faults_at_null(access) {
            return;
        }
        let (Some(&base), Some(&Value::Integer(by))) = (uses.first(), uses.get(1)) else {
            return;
        };
        let used = Use::Access(access.space, Effect::of_kind(access.kind));
        if let Some((element, is_all)) = find_null(value, by) {
            let offset = element.offset.and_then(|offset| offset.checked_add(by));
            let element = Element { offset, ..element };
            let is_definite =
                is_all && !is_deliberate_crash(self.body, at, access) && self.is_always_null(base, at);
            self.report_violation(at, ViolationKind::Null, used, element, is_definite, None);
        } else if self.is_index_without_base(base, value) {
            self.report_violation(
                at,
                ViolationKind::Baseless,
                used,
                Element::of_number(None),
                false,
                None,
            );
        }
    }

    /// True if all definitions of an address give null, including those that do not reach this use and those of the
    /// registers it was moved from, chosen from or is a constant distance from; and the use is executed whenever one of them
    /// is.
    fn is_always_null(&self, value: Value, at: InstructionId) -> bool {
        let is_call = matches!(self.body.instruction(at).op, Op::Call(_));
        let mut open = vec![value];
        for _ in 0..MAX_PREDICATE_STEPS {
            let Some(value) = open.pop() else { return true };
            let Value::Register(register) = value else {
                continue;
            };
            let variable = Variable::Register(register);
            for &definition in self.module.function(self.id).definitions().writers_of(register) {
                if find_null(&self.solver.written_value(definition, variable), 0)
                    .is_none_or(|(_, is_all)| !is_all)
                {
                    return false;
                }
                let instruction = self.body.instruction(definition);
                let uses = self.body.uses(instruction);
                match instruction.op {
                    Op::Copy | Op::Binary(BinaryOp::Add | BinaryOp::Sub, _) | Op::Select
                        if uses.iter().any(|used| used.register().is_some()) =>
                    {
                        open.extend(uses.iter().take(2));
                    }
                    Op::Access(_) => match self.stores_for_load(definition) {
                        Some(stores) if stores.iter().all(|&store| self.execution_implies(store, at)) => {}
                        _ => return false,
                    },
                    Op::CallResult(call) if self.execution_implies(call, at) => {}
                    Op::CallResult(_) => return false,
                    // A compiler writes a number where it is used, regardless of its origin. If a number is called, or
                    // passed to a call, the source has it at that place.
                    _ if is_call && self.execution_implies(definition, at) || self.is_always_executed(at) => {
                    }
                    _ => return false,
                }
            }
        }
        false
    }

    /// The stores to the stack slot that a load reads.
    pub(super) fn stores_for_load(&self, load: InstructionId) -> Option<&[InstructionId]> {
        let analyses = self.module.function(self.id);
        let slot = analyses.loaded_slot(load, self.body.instruction(load))?;
        Some(analyses.slots().stores_to(slot))
    }

    /// True if an address is an index alone, scaled to the size of an element.
    fn is_index_without_base(&self, base: Value, value: &Provenance) -> bool {
        let (Value::Register(register), true) = (base, value.is_number()) else {
            return false;
        };
        let &[definition] = self.module.function(self.id).definitions().writers_of(register) else {
            return false;
        };
        let instruction = self.body.instruction(definition);
        match (instruction.op, self.body.uses(instruction)) {
            (Op::CallResult(call), &[Value::Integer(offset)]) => self.returns_moved_null(call, offset),
            (op @ Op::Binary(of, 64), uses) => match Form::of(op, uses) {
                Form::Product(_, Value::Integer(by)) => match of {
                    BinaryOp::MulLow => false,
                    BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned => true,
                    _ => (2..=16).contains(&by),
                },
                _ => false,
            },
            _ => false,
        }
    }

    /// True if a call returns one of its arguments, moved, and that argument is address 0: a reference to an element of an
    /// object there.
    fn returns_moved_null(&self, call: InstructionId, offset: i64) -> bool {
        let (Some((summary, arguments)), Ok(offset)) =
            (self.solver.callee_summary(call), u32::try_from(offset))
        else {
            return false;
        };
        let passed = |piece: (u16, u32)| {
            let argument = arguments.iter().find(|argument| argument.passes(piece))?;
            Some(self.solver.value_at(argument.value, call).0)
        };
        let mut returned = summary.result_at(offset).into_iter().flat_map(formal_elements);
        returned
            .any(|one| one.is_sole && passed(one.piece).is_some_and(|value| find_null(&value, 0).is_some()))
    }

    /// Judges a call through a register.
    pub(super) fn judge_indirect_call(&mut self, at: InstructionId) {
        let Some(Callee::Indirect(callee)) = self.body.callee(self.body.instruction(at)) else {
            return;
        };
        let (value, _) = self.solver.value_at(callee, at);
        if let Some((element, is_all)) = find_null(&value, 0).filter(|_| !self.is_null_tested) {
            let is_definite = is_all && self.is_always_null(callee, at);
            self.report_violation(at, ViolationKind::Null, Use::Call, element, is_definite, None);
        }
        for passed in formal_elements(&value).collect::<Vec<_>>() {
            self.record_demand(Demand {
                piece: passed.piece,
                used: Use::Call,
                excluded: passed.excluded,
                is_sole: passed.is_sole,
                reach: passed.offset,
                is_certain: self.is_always_executed(at),
                decided: self.condition_of_execution(at),
                function: self.id,
                instruction: at,
                callers: Vec::new(),
            });
        }
    }

    /// Judges a null address that a call passes to a function that accesses it.
    pub(super) fn judge_null_argument(
        &mut self,
        demand: &Demand,
        arguments: &[Argument],
        argument: Value,
        value: &Provenance,
        callers: &[CallSite],
    ) {
        let Some(by) = demand.reach.filter(|_| !self.is_null_tested) else {
            return;
        };
        let Some((element, is_all)) = find_null(value, by) else {
            return;
        };
        let Some(call) = callers.last().map(|site| site.instruction) else {
            return;
        };
        let executed = self.execution_of_demand(demand, arguments, call);
        if !executed.is_wrong_use_reportable() {
            return;
        }
        let offset = element.offset.and_then(|offset| offset.checked_add(by));
        self.summary.violations.push(Violation {
            function: demand.function,
            instruction: demand.instruction,
            wrong: ViolationKind::Null,
            used: demand.used,
            element: Element { offset, ..element },
            of: self.id,
            is_definite: is_all
                && demand.is_sole
                && executed == Executed::Always
                && self.is_always_null(argument, call),
            alternative: None,
            is_uncalled: false,
            callers: callers.to_vec(),
        });
    }
}
