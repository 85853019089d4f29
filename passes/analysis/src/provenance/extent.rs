//! Sizes of objects, and accesses outside them.

use super::judge::ViolationKind;
use crate::shared::Shared;
use ptxcheck_ir::{Access, Function, Linkage, SymbolId};

/// An object that an address can point into.
#[derive(Clone, Copy)]
pub(crate) enum Object<'a> {
    /// A variable.
    Symbol(SymbolId),
    /// Dynamic shared memory that is certainly no larger than this in bytes, by an array that begins with it.
    DynamicShared(SymbolId, u64),
    /// The parameter with this index of this kernel.
    Param(&'a Function<'a>, u16),
}

/// The size of a variable in bytes, if that is certain.
pub(crate) fn certain_size(module: &Shared<'_>, symbol: SymbolId) -> Option<u64> {
    let symbol = module.module.symbol(symbol);
    // Another module's definition may be larger.
    let is_final = matches!(symbol.linkage, Linkage::Local | Linkage::External) && !symbol.is_undefined();
    symbol.size.filter(|_| is_final)
}

/// The violation of an access at byte offset `start` of an object: out of bounds, misaligned, or none. Of an object whose size is not
/// certain, the alignment is.
pub(crate) fn bounds_violation(
    module: &Shared<'_>,
    object: Object<'_>,
    start: i64,
    access: &Access,
) -> Option<ViolationKind> {
    let (size, align) = match object {
        Object::Symbol(symbol) => (certain_size(module, symbol), module.module.symbol(symbol).align),
        Object::DynamicShared(symbol, size) => {
            // Static arrays lie before it.
            let size = Some(size).filter(|_| start >= 0);
            (size, module.module.symbol(symbol).align)
        }
        Object::Param(function, number) => {
            let parameter = function.params.get(usize::from(number))?;
            if parameter.size == 0 {
                return None;
            }
            (Some(parameter.size), parameter.align)
        }
    };
    let end = start.checked_add(i64::from(access.bytes()))?;
    if let Some(size) = size
        && (start < 0 || end > i64::try_from(size).ok()?)
    {
        return Some(ViolationKind::OutOfBounds);
    }
    // A power of two.
    let past = access.unit().saturating_sub(1);
    let is_known_to_be_aligned = align & past == 0;
    (is_known_to_be_aligned && start & i64::from(past) != 0).then_some(ViolationKind::Misaligned)
}
