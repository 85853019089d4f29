//! The results of functions, in terms of their arguments.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::origin::{Loads, Origin, Origins};
use crate::shared::Shared;
use crate::value::{Evaluator, Source};
use ptxcheck_ir::{Body, FunctionId, SymbolId};

/// The origins of the results of functions, each computed once.
pub(super) struct Summaries<'a, 'm> {
    module: &'a Shared<'m>,
    /// By function; `None` while it is computed, and for one of which nothing is known.
    results: RefCell<FxHashMap<FunctionId, Option<Origin>>>,
}

impl<'a, 'm> Summaries<'a, 'm> {
    pub(super) fn new(module: &'a Shared<'m>) -> Self {
        Self {
            module,
            results: RefCell::default(),
        }
    }

    /// The origin of the result of a call, with these arguments; `None` if it is unknown.
    pub(super) fn result_of(&self, symbol: SymbolId, arguments: &[Option<Origin>]) -> Option<Origin> {
        let function = self.module.module.called(symbol)?;
        self.summary_of(function)?.with_arguments(arguments)
    }

    fn summary_of(&self, function: FunctionId) -> Option<Origin> {
        if let Some(known) = self.results.borrow().get(&function) {
            return known.clone();
        }
        self.results.borrow_mut().insert(function, None);
        let summary = self.compute_summary(function);
        self.results.borrow_mut().insert(function, summary.clone());
        summary
    }

    fn compute_summary(&self, function: FunctionId) -> Option<Origin> {
        let body = self.module.module.function(function).body.as_ref()?;
        if self.module.deadline.is_over_after(body.instructions.len()) {
            return None;
        }
        let result_of = |symbol: SymbolId, arguments: &[Option<Origin>]| self.result_of(symbol, arguments);
        let mut values = origin_evaluator(self.module, function, body, &result_of);
        let mut all: Option<Origin> = None;
        for (at, instruction) in body.iter() {
            let Some((_, value)) = body.returned(instruction) else {
                continue;
            };
            let mut origin = values.description_at_read(value, at)?;
            // The numbers of instructions mean nothing in another function.
            origin.loads = Loads::new();
            all = Some(match all {
                Some(all) => all.join(&origin),
                None => origin,
            });
        }
        all
    }
}

/// The evaluator of the origins in a function.
pub(super) fn origin_evaluator<'a, 'm>(
    module: &'a Shared<'m>,
    function: FunctionId,
    body: &'a Body<'m>,
    result_of: super::origin::ResultOf<'a>,
) -> Evaluator<'a, 'm, Origins<'a, 'm>> {
    let source = Source {
        module: Some(module),
        ..Source::within_body(body, module.function(function))
    };
    let domain = Origins {
        body,
        module,
        is_kernel: module.module.function(function).is_kernel(),
        result_of,
    };
    Evaluator::new(source, domain)
}
