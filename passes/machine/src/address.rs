//! Addresses: where symbols lie, and the windows of generic addresses (PTX ISA, Generic Addressing). All that is in no window is
//! global memory. The numbers are the machine's own; no code may depend on them.

use ptxcheck_ir::{FunctionId, Module, Space, SymbolId, SymbolKind};
use rustc_hash::FxHashMap;

/// Bytes of each window.
const WINDOW: u64 = 1 << 40;
const PARAM_WINDOW: u64 = 0x7c00_0000_0000;
const CONST_WINDOW: u64 = PARAM_WINDOW + WINDOW;
const LOCAL_WINDOW: u64 = CONST_WINDOW + WINDOW;
const SHARED_WINDOW: u64 = LOCAL_WINDOW + WINDOW;
const TENSOR_WINDOW: u64 = SHARED_WINDOW + WINDOW;

/// Bytes of shared memory's window that belong to one CTA of a cluster; the first are those of the CTA that runs.
pub(crate) const CTA: u64 = 1 << 24;

/// Where global variables begin.
const GLOBALS: u64 = 0x7000_0000_0000;
/// Where functions begin.
const CODE: u64 = 0x6000_0000_0000;
/// Where memory of other spaces begins: 0 is not an address of an object.
const FIRST: u64 = 0x400;

/// Bytes of local memory, and of parameters, of each frame of a thread.
pub(crate) const FRAME: u64 = 1 << 30;
/// Where memory that a frame asks for begins in its local memory.
pub(crate) const STACK: u64 = 1 << 29;

/// The generic address at which the window of a space begins; 0 for global memory.
pub(crate) const fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global => 0,
        Space::Shared | Space::SharedCluster => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Const => CONST_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Tensor => TENSOR_WINDOW,
    }
}

/// The space that a generic address lies in.
pub(crate) const fn space_of(generic: u64) -> Space {
    match generic {
        PARAM_WINDOW..CONST_WINDOW => Space::Param,
        CONST_WINDOW..LOCAL_WINDOW => Space::Const,
        LOCAL_WINDOW..SHARED_WINDOW => Space::Local,
        SHARED_WINDOW..TENSOR_WINDOW if generic - SHARED_WINDOW < CTA => Space::Shared,
        SHARED_WINDOW..TENSOR_WINDOW => Space::SharedCluster,
        TENSOR_WINDOW..0x8100_0000_0000 => Space::Tensor,
        _ => Space::Global,
    }
}

/// The generic address of an address in a space; `None` if it is none of that space.
pub(crate) fn to_generic(space: Space, raw: u64) -> Option<u64> {
    let generic = window(space).wrapping_add(raw);
    is_in(space, generic).then_some(generic)
}

/// The address in a space of a generic address; `None` if that lies in another.
pub(crate) fn from_generic(space: Space, generic: u64) -> Option<u64> {
    is_in(space, generic).then(|| generic.wrapping_sub(window(space)))
}

/// True if a generic address lies in a space; shared memory of the CTA is part of that of the cluster.
pub(crate) fn is_in(space: Space, generic: u64) -> bool {
    let found = space_of(generic);
    space == Space::Generic || found == space || space == Space::SharedCluster && found == Space::Shared
}

/// Where the symbols of a module lie.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By symbol: its address in its own space.
    addresses: Vec<u64>,
}

impl Layout {
    pub(crate) fn new(module: &Module<'_>) -> Self {
        let mut ends: FxHashMap<(Space, Option<FunctionId>), u64> = FxHashMap::default();
        let mut addresses = Vec::with_capacity(module.symbols.len());
        for (number, symbol) in module.symbols.iter().enumerate() {
            if !matches!(symbol.kind, SymbolKind::Variable) {
                addresses.push(CODE + 16 * number as u64);
                continue;
            }
            let space = match symbol.space {
                Space::Generic => Space::Global,
                space => space,
            };
            // Each frame has its own local memory.
            let owner = symbol.owner.filter(|_| space == Space::Local);
            let first = if space == Space::Global { GLOBALS } else { FIRST };
            let end = ends.entry((space, owner)).or_insert(first);
            let align = u64::from(symbol.align.max(1));
            let start = end.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            addresses.push(start);
            // Those without a size get a page each.
            *end = start.saturating_add(symbol.size.unwrap_or(0x1000).max(1));
        }
        // Dynamic shared memory begins after the rest, at one address for all.
        let shared = ends.get(&(Space::Shared, None)).copied().unwrap_or(FIRST);
        let dynamic = shared.checked_next_multiple_of(1_024).unwrap_or(u64::MAX);
        for (address, symbol) in addresses.iter_mut().zip(&module.symbols) {
            if symbol.is_dynamic_shared() {
                *address = dynamic;
            }
        }
        Self { addresses }
    }

    /// The address of a symbol in its own space.
    pub(crate) fn of(&self, symbol: SymbolId) -> u64 {
        self.addresses.get(symbol.index()).copied().unwrap_or(u64::MAX)
    }

    /// The function at an address.
    pub(crate) fn function_at(&self, module: &Module<'_>, address: u64) -> Option<FunctionId> {
        let number = address.checked_sub(CODE)? / 16;
        let symbol = SymbolId::new(
            usize::try_from(number)
                .ok()
                .filter(|&one| one < self.addresses.len())?,
        );
        (self.of(symbol) == address)
            .then(|| module.called(symbol))
            .flatten()
    }
}
