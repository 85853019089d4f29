//! Kernels that take parameters and do nothing.

use crate::context::Place;
use crate::finding::Located;
use crate::inventory::Stub;
use crate::ir::{Function, Module};
use crate::locate::Locator;

/// The kernels with parameters that return and do nothing else.
pub(crate) fn kernels(module: &Module<'_>) -> Vec<Located> {
    let is_bare =
        |function: &Function<'_>| !function.params.is_empty() && Stub::of(function) == Some(Stub::Returning);
    let locator = Locator::unplaced(module);
    module
        .bodies()
        .filter(|(_, function, _)| is_bare(function))
        .map(|(id, ..)| locator.located(&Place::Function(id)))
        .collect()
}
