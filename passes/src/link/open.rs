//! What one module shows to a linker.

use super::{Open, Symbols, What, shapes};
use crate::analysis::references::{self, Uses};
use crate::context::Place;
use crate::externs;
use crate::ir::{Linkage, Module, Producer, SymbolKind};
use crate::locate::Locator;
use ptxcheck_ir::limits::SHOWN_USES;

/// The symbols of a module; `None` where some of it could not be read: the definition may be what was lost.
#[must_use]
pub(crate) fn symbols(module: &Module<'_>) -> Option<Symbols> {
    if module.is_damaged {
        return None;
    }
    let is_kernel = |kind| match kind {
        SymbolKind::Function(id) => module.function(id).is_kernel(),
        SymbolKind::Variable | SymbolKind::TextureReference => false,
    };
    let defined = module.symbols.iter().filter(|symbol| {
        symbol.owner.is_none()
            && matches!(
                symbol.linkage,
                Linkage::External | Linkage::Weak | Linkage::Common
            )
            && !is_kernel(symbol.kind)
    });
    // What the driver or ptxas provides is nobody else's to define, and its uses need not be located.
    let is_open = |uses: &&Uses| {
        let symbol = module.symbol(uses.symbol);
        !symbol.is_dynamic_shared() && !externs::is_provided(symbol.name)
    };
    Some(Symbols {
        defined: defined.map(|symbol| symbol.name.to_owned()).collect(),
        open: references::undefined(module)
            .iter()
            .filter(is_open)
            .map(|uses| open(module, uses))
            .collect(),
        shapes: shapes::of(module),
    })
}

fn open(module: &Module<'_>, uses: &Uses) -> Open {
    let locator = Locator::unplaced(module);
    let symbol = module.symbol(uses.symbol);
    let all: Vec<Place> = uses.places().collect();
    Open {
        name: symbol.name.to_owned(),
        what: match symbol.kind {
            SymbolKind::Function(_) => What::Function,
            SymbolKind::Variable | SymbolKind::TextureReference => What::Variable,
        },
        // GCC comes with a C library and a C++ runtime for devices.
        runtime: match module.producer {
            Producer::Gcc => None,
            Producer::Nvvm | Producer::Llvm | Producer::Unknown => {
                externs::host_runtime(symbol.name).map(Into::into)
            }
        },
        uses: all
            .iter()
            .take(SHOWN_USES)
            .map(|place| locator.located(place))
            .collect(),
        more: all.len().saturating_sub(SHOWN_USES) as u32,
    }
}
