//! The memory that an address certainly points into: the common memory of all values that it may be computed from, through
//! moves, sums, selects, values kept on the stack and parameters that callers pass.

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    Body, FunctionId, InstructionId, Op, ParamPiece, Register, Space, SymbolId, SymbolKind, Value,
};
use rustc_hash::FxHashSet;

use crate::limits::MAX_POINTED_STEPS;
use crate::pointer_passthrough::argument_passed_through;
use crate::shared::Shared;

/// An object that an address points into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointed {
    /// The memory.
    pub(super) space: Space,
    /// The variable, if it is certain.
    pub(super) symbol: Option<SymbolId>,
    /// The instruction that takes its address.
    pub(super) origin: Option<(FunctionId, InstructionId)>,
}

/// The memory that a value of a function certainly points into, if it is a generic address or a number inside that memory:
/// an object in it, the first one if there are several.
pub(super) fn memory_pointed_to(module: &Shared<'_>, function: FunctionId, value: Value) -> Option<Pointed> {
    let mut search = PointsToSearch::new(module, None);
    search.visit_value(function, value, None)?;
    search.found
}

/// The memories that a value of a function may point into, if known: others may be missing.
pub(super) fn memories_possibly_pointed_to(
    module: &Shared<'_>,
    function: FunctionId,
    value: Value,
) -> Vec<Pointed> {
    let mut search = PointsToSearch::new(module, Some(Vec::new()));
    // Unknown values are left out.
    let _ = search.visit_value(function, value, None);
    search.all.unwrap_or_default()
}

/// The memory that an access is certainly to, likewise.
pub(super) fn memory_accessed_by(
    module: &Shared<'_>,
    function: FunctionId,
    access: InstructionId,
) -> Option<Pointed> {
    let body = module.module.function(function).body.as_ref()?;
    let &address = body.uses(body.instruction(access)).first()?;
    memory_pointed_to(module, function, address)
}

/// The variables that an access may be to; `None` if they are not all known.
pub(super) fn variables_accessed_by(
    module: &Shared<'_>,
    function: FunctionId,
    access: InstructionId,
) -> Option<Vec<SymbolId>> {
    memory_accessed_by(module, function, access)?;
    let body = module.module.function(function).body.as_ref()?;
    let &address = body.uses(body.instruction(access)).first()?;
    let all = memories_possibly_pointed_to(module, function, address);
    all.iter().map(|one| one.symbol).collect()
}

/// The variable that an access is certainly to.
pub(super) fn only_variable_accessed_by(
    module: &Shared<'_>,
    function: FunctionId,
    access: InstructionId,
) -> Option<SymbolId> {
    let all = variables_accessed_by(module, function, access)?;
    let &first = all.first()?;
    all.iter().all(|&other| other == first).then_some(first)
}

struct PointsToSearch<'a, 'm> {
    module: &'a Shared<'m>,
    seen: FxHashSet<(FunctionId, Register)>,
    left: usize,
    found: Option<Pointed>,
    /// All memories, if not only a certain one is requested: then nothing ends the search.
    all: Option<Vec<Pointed>>,
}

/// A value that may point elsewhere.
type Elsewhere = Option<()>;

impl<'a, 'm> PointsToSearch<'a, 'm> {
    fn new(module: &'a Shared<'m>, all: Option<Vec<Pointed>>) -> Self {
        Self {
            module,
            seen: FxHashSet::default(),
            left: MAX_POINTED_STEPS,
            found: None,
            all,
        }
    }

    /// `None` if a value may point elsewhere than the memory known so far.
    fn visit_value(&mut self, function: FunctionId, value: Value, at: Option<InstructionId>) -> Elsewhere {
        let body = self.module.module.function(function).body.as_ref()?;
        match value {
            Value::Symbol(symbol, _) => {
                let known = self.module.module.symbol(symbol);
                if matches!(known.kind, SymbolKind::Function(_)) {
                    return None;
                }
                self.note_memory(known.space, Some(symbol), at.map(|at| (function, at)))
            }
            Value::Register(register) => {
                if !self.seen.insert((function, register)) {
                    return Some(());
                }
                let definitions = self.module.function(function).definitions().writers_of(register);
                if definitions.is_empty() {
                    return None;
                }
                for &definition in definitions {
                    let known = self.visit_definition(function, body, definition);
                    if self.all.is_none() {
                        known?;
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    fn note_memory(
        &mut self,
        space: Space,
        symbol: Option<SymbolId>,
        origin: Option<(FunctionId, InstructionId)>,
    ) -> Elsewhere {
        let one = Pointed {
            space,
            symbol,
            origin,
        };
        if let Some(all) = &mut self.all {
            all.push(one);
            self.found = Some(one);
            return Some(());
        }
        let found = *self.found.get_or_insert(one);
        (found.space == space).then_some(())
    }

    fn visit_definition(&mut self, function: FunctionId, body: &Body<'_>, id: InstructionId) -> Elsewhere {
        self.left = self.left.checked_sub(1)?;
        let instruction = body.instruction(id);
        let form = Form::of(instruction.op, body.uses(instruction));
        if let Some((pointer, _)) = form.beside() {
            return self.visit_value(function, pointer, Some(id));
        }
        match (instruction.op, form) {
            (_, Form::Moved(from, change)) if change.keeps_address() => {
                self.visit_value(function, from, Some(id))
            }
            (_, Form::Choice(yes, no)) => {
                let known = self.visit_value(function, yes, Some(id));
                if self.all.is_none() {
                    known?;
                }
                self.visit_value(function, no, Some(id))
            }
            (_, Form::Sum(a, b)) => self.visit_sum(function, [a, b], id),
            (_, Form::Difference(pointer, by)) if self.is_multiple(function, by) => {
                self.visit_value(function, pointer, Some(id))
            }
            (_, Form::ProductSum(_, _, pointer)) => self.visit_value(function, pointer, Some(id)),
            (Op::StackAlloc, _) => self.note_memory(Space::Local, None, Some((function, id))),
            (Op::Access(_), _) => self.visit_load(function, body, id),
            (Op::CallResult(call), _) => self.visit_value(
                function,
                argument_passed_through(self.module, body, call)?,
                Some(id),
            ),
            _ => None,
        }
    }

    /// True for a product with a constant, which is no address.
    fn is_multiple(&self, function: FunctionId, value: Value) -> bool {
        let analyses = self.module.function(function);
        let Some(body) = &self.module.module.function(function).body else {
            return false;
        };
        let writer = analyses.only_writer(analyses.trace_value(value, Form::moved_number));
        let instruction = writer.map(|writer| body.instruction(writer));
        let form = instruction.map(|instruction| Form::of(instruction.op, body.uses(instruction)));
        matches!(form, Some(Form::Product(_, Value::Integer(2..))))
    }

    /// A sum of a pointer and an index: only one of them leads to an object.
    fn visit_sum(&mut self, function: FunctionId, parts: [Value; 2], id: InstructionId) -> Elsewhere {
        let before = (self.found, self.seen.clone());
        if self.visit_value(function, parts[0], Some(id)).is_some() && self.found.is_some() {
            return Some(());
        }
        (self.found, self.seen) = before;
        self.visit_value(function, parts[1], Some(id))
    }

    /// A value that was kept on the stack, or one that callers pass.
    fn visit_load(&mut self, function: FunctionId, body: &Body<'_>, id: InstructionId) -> Elsewhere {
        let analyses = self.module.function(function);
        if let Some(piece) = body.loaded_piece(body.instruction(id)) {
            return self.visit_arguments(function, piece);
        }
        let store = analyses.store_read_by(id)?;
        let stored = body.stored(body.instruction(store))?;
        self.visit_value(function, stored, Some(store))
    }

    fn visit_arguments(&mut self, function: FunctionId, piece: ParamPiece) -> Elsewhere {
        if self.module.module.function(function).is_kernel() {
            return None;
        }
        let calls = self.module.call_graph().calls_to(function);
        let mut is_called = false;
        for call in calls.iter().filter(|call| self.module.may_call(call)) {
            is_called = true;
            let body = self.module.module.function(call.caller).body.as_ref()?;
            let passed = body.passed(call.instruction, piece)?;
            self.visit_value(call.caller, passed, Some(call.instruction))?;
        }
        is_called.then_some(())
    }
}
