//! Kernels that take parameters and do nothing.

use crate::context::Place;
use crate::finding::Located;
use crate::ir::{Function, Module, Op};
use crate::locate::Locator;

/// The kernels with parameters whose code is one return.
pub(crate) fn kernels(module: &Module<'_>) -> Vec<Located> {
    let is_bare = |function: &Function<'_>| {
        let body = function.body.as_ref();
        let only = body.and_then(|body| match body.instructions.as_slice() {
            [only] => Some(only),
            _ => None,
        });
        function.is_kernel()
            && !function.is_damaged
            && !function.params.is_empty()
            && only.is_some_and(|only| only.op == Op::Return && only.guard.is_none())
    };
    let locator = Locator::unplaced(module);
    module
        .bodies()
        .filter(|(_, function, _)| is_bare(function))
        .map(|(id, ..)| locator.located(&Place::Function(id)))
        .collect()
}
