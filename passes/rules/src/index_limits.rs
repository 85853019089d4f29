//! The indexes of kernels that wrap in 32 bits, as facts about the kernels.

use rustc_hash::FxHashMap;

use crate::analysis::capacity::{self, Quantity};
use crate::context::{ModuleContext, Place};
use crate::inventory::Facts;
use crate::ir::index_limits::{IndexFactor, IndexLimit, IndexTerm};
use crate::ir::{FunctionId, Op, Register};
use crate::locate::Locator;

/// Adds the indexes to the kernels of `facts`.
pub(crate) fn add(context: &ModuleContext<'_>, locator: &Locator<'_>, facts: &mut Facts) {
    let module = context.module;
    let assumed = std::cell::RefCell::new(FxHashMap::default());
    let stated = |kernel: FunctionId, number: u16, offset: i32| {
        let mut assumed = assumed.borrow_mut();
        let of_kernel = assumed
            .entry(kernel)
            .or_insert_with(|| context.settings.assumptions.of_function(module, kernel));
        of_kernel.range_of_piece(number, u32::try_from(offset).ok()?)
    };
    let limits = context.index_limits(&stated);
    if limits.is_empty() {
        return;
    }
    let mut by_kernel: FxHashMap<&str, Vec<IndexLimit>> = FxHashMap::default();
    for limit in &limits {
        let names = module.parameter_names(limit.function);
        let limited = Limited {
            context,
            locator,
            kernel: limit.function,
            names: &names,
        };
        let of_kernel = by_kernel.entry(module.function_name(limit.function)).or_default();
        of_kernel.push(limited.looked_up(limit));
    }
    for kernel in &mut facts.kernels {
        if let Some(limits) = by_kernel.remove(kernel.name.as_str()) {
            kernel.index_limits = limits;
        }
    }
}

/// A kernel with such an index.
struct Limited<'a> {
    context: &'a ModuleContext<'a>,
    locator: &'a Locator<'a>,
    kernel: FunctionId,
    names: &'a [Option<String>],
}

impl Limited<'_> {
    fn looked_up(&self, limit: &capacity::IndexLimit) -> IndexLimit {
        let at = |instruction| {
            self.locator
                .located(&Place::of_instruction(self.kernel, instruction))
        };
        let terms = limit.largest.iter().map(|(factors, by)| IndexTerm {
            by: i64::try_from(*by).unwrap_or(i64::MAX),
            factors: factors.iter().map(|factor| self.factor(*factor)).collect(),
        });
        IndexLimit {
            index: at(limit.index),
            access: at(limit.access),
            largest: terms.collect(),
            limit: limit.limit,
            least: limit.least.map(|(open, least)| (self.factor(open), least)),
            element_bytes: limit.element_bytes,
            elements: limit.elements,
        }
    }

    fn factor(&self, quantity: Quantity) -> IndexFactor {
        match quantity {
            Quantity::BlockIndex(dimension) => IndexFactor::BlockIndex(dimension),
            Quantity::GridSide(dimension) => IndexFactor::GridSide(dimension),
            Quantity::ThreadIndex(dimension) => IndexFactor::ThreadIndex(dimension),
            Quantity::BlockSide(dimension) => IndexFactor::BlockSide(dimension),
            Quantity::Param { number, offset, .. } => IndexFactor::Param {
                number,
                offset: u32::try_from(offset).unwrap_or_default(),
                name: self.names.get(usize::from(number)).cloned().flatten(),
            },
            Quantity::Register(register) => self.held(register),
            Quantity::Returned => IndexFactor::Computed(Box::default()),
        }
    }

    fn held(&self, register: Register) -> IndexFactor {
        let analyses = self.context.function(self.kernel);
        let Some(&definition) = analyses.definitions().writers_of(register).first() else {
            return IndexFactor::Computed(Box::default());
        };
        let place = Box::new(
            self.locator
                .located(&Place::of_instruction(self.kernel, definition)),
        );
        let body = self.context.module.function(self.kernel).body.as_ref();
        match body.map(|body| body.instruction(definition).op) {
            Some(Op::Access(_)) if !analyses.loads_slot(definition) => IndexFactor::Loaded(place),
            _ => IndexFactor::Computed(place),
        }
    }
}
