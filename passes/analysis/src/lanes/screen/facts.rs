//! Facts about a module that the screen needs before it searches any function.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::calls::Calls;
use crate::shared::Shared;
use crate::thread_ends::functions_that_may_end_threads;
use ptxcheck_common::externs;
use ptxcheck_ir::{Body, Callee, FunctionId, Instruction, InstructionId, Special, Value};

/// Facts about a module that hold for all functions.
pub(super) struct ModuleFacts<'a, 'm> {
    pub(super) module: &'a Shared<'m>,
    /// By function: lanes may not return from a call of it.
    pub(super) ends: Arc<[bool]>,
    /// The shape of some CTA is known.
    pub(super) has_shape: bool,
    /// Some kernel may be analysed with names of its values: some mask is computed, or coordinates are read.
    names_values: OnceCell<bool>,
    /// Operations that may give 0 because their operands are one value; filled on demand.
    cancels: RefCell<FxHashMap<(FunctionId, InstructionId), bool>>,
    pub(super) calls: Calls,
}

impl<'a, 'm> ModuleFacts<'a, 'm> {
    /// Facts about a module. `has_shape`: the shape of some CTA is known.
    pub(super) fn new(module: &'a Shared<'m>, has_shape: bool) -> Self {
        Self {
            module,
            ends: functions_that_may_end_threads(module).into(),
            has_shape,
            names_values: OnceCell::new(),
            cancels: RefCell::default(),
            calls: Calls::default(),
        }
    }

    /// The same facts, for a search that shares nothing with others.
    pub(super) fn unshared_copy(&self) -> Self {
        Self {
            ends: Arc::clone(&self.ends),
            names_values: OnceCell::new(),
            cancels: RefCell::default(),
            calls: Calls::default(),
            ..*self
        }
    }

    /// True if some kernel may be analysed with names of its values.
    pub(super) fn may_name_values(&self) -> bool {
        *self.names_values.get_or_init(|| may_name_values(self.module))
    }

    /// The cached answer to a question about an operation.
    pub(super) fn may_operands_cancel(
        &self,
        operation: (FunctionId, InstructionId),
        find: impl FnOnce() -> bool,
    ) -> bool {
        *self.cancels.borrow_mut().entry(operation).or_insert_with(find)
    }

    /// True for a function that calls no function with a body, and that no function calls: the search needs no results about
    /// other functions.
    pub(super) fn is_outside_call_graph(&self, function: FunctionId) -> bool {
        let graph = self.module.call_graph();
        let has_body = |callee: FunctionId| {
            let callee = self.module.module.function(callee);
            callee.body.is_some() || callee.alias_of.is_some()
        };
        graph.calls_to(function).is_empty()
            && !graph.calls_of(function).iter().any(|site| has_body(site.callee))
    }

    /// The function that an instruction calls, if it has a name here.
    pub(super) fn direct_callee(&self, body: &Body<'_>, instruction: &Instruction) -> Option<FunctionId> {
        let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
            return None;
        };
        self.module.module.called(symbol)
    }

    /// True for a call of a failed assertion, and for a call of a function that is known to only return.
    pub(super) fn is_call_without_effect_on_lanes(&self, body: &Body<'_>, call: &Instruction) -> bool {
        let module = self.module.module;
        self.direct_callee(body, call).is_some_and(|callee| {
            let name = module.function_name(callee);
            module.function(callee).body.is_none()
                && (name == externs::ASSERT_FAIL || externs::is_provided(name))
        })
    }

    /// True if lanes may not return from a call.
    pub(super) fn may_end_lanes(&self, body: &Body<'_>, call: &Instruction) -> bool {
        self.direct_callee(body, call)
            .is_some_and(|callee| self.ends[callee.index()])
    }
}

/// True if some mask is computed, or some code reads `%tid.y` or `%tid.z`.
fn may_name_values(module: &Shared<'_>) -> bool {
    let computes_mask = |body: &Body<'_>| {
        let mask = |id: &InstructionId| body.uses(body.instruction(*id)).first();
        let mut masks = body.collectives.iter().filter_map(mask);
        masks.any(|mask| !matches!(mask, Value::Integer(_)))
    };
    let reads = |value: &Value| matches!(value, Value::Special(Special::Tid(1 | 2)));
    let mut bodies = module.module.bodies();
    bodies.any(|(.., body)| computes_mask(body) || body.values.iter().any(reads))
}
