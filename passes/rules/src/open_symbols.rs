//! The symbols that one module defines for a linker, and those that it leaves undefined.

use crate::analysis::Place;
use crate::analysis::references::{self, Uses};
use crate::externs;
use crate::ir::{Function, Linkage, Module, Producer, SymbolKind};
use crate::link::{Open, SymbolClass, Symbols, shapes_of_module};
use crate::locate::Locator;
use ptxcheck_common::callers::Callers;
use ptxcheck_ir::limits::SHOWN_USES;

/// The symbols of a module; `None` where some of it could not be read: the lost part may contain the definition.
#[must_use]
pub(crate) fn symbols_of_module(module: &Module<'_>) -> Option<Symbols> {
    if module.is_damaged {
        return None;
    }
    let is_kernel = |kind| match kind {
        SymbolKind::Function(id) => module.function(id).is_kernel(),
        SymbolKind::Variable | SymbolKind::TextureReference => false,
    };
    let defined = module.symbols.iter().filter(|symbol| {
        symbol.owner.is_none() && is_visible_to_linker(symbol.linkage) && !is_kernel(symbol.kind)
    });
    // The driver or ptxas provides these: no image has to define them, and their uses need not be located.
    let is_open = |uses: &&Uses| {
        let symbol = module.symbol(uses.symbol);
        !symbol.is_dynamic_shared() && !externs::is_provided(symbol.name)
    };
    Some(Symbols {
        defined: defined.map(|symbol| symbol.name.to_owned()).collect(),
        open: open_symbols_of(
            module,
            references::undefined_symbols(module).iter().filter(is_open),
        ),
        shapes: shapes_of_module(module),
    })
}

fn open_symbols_of<'u>(module: &Module<'_>, uses: impl Iterator<Item = &'u Uses>) -> Vec<Open> {
    let mut callers = None;
    uses.map(|uses| {
        let callers = callers.get_or_insert_with(|| callers_in(module));
        open_symbol_of(module, uses, callers)
    })
    .collect()
}

/// The functions of a module, and who refers to them in code; a variable that holds the address of one needs it.
fn callers_in(module: &Module<'_>) -> Callers {
    let mut is_needed: Vec<bool> = module.functions.iter().map(Function::is_kernel).collect();
    for symbol in &module.symbols {
        for function in module
            .initializer(symbol)
            .iter()
            .filter_map(|held| module.called(*held))
        {
            is_needed[function.index()] = true;
        }
    }
    let references: Vec<(u32, u32)> = module
        .bodies()
        .flat_map(|(from, _, body)| {
            let referred = body.references.iter();
            let functions = referred.filter_map(|reference| module.called(reference.symbol));
            functions.map(move |to| (from.index() as u32, to.index() as u32))
        })
        .collect();
    Callers::new(is_needed, &references)
}

/// The functions through which other images need the symbols used here; `None` if this module needs them itself.
fn needed_through(module: &Module<'_>, uses: &Uses, callers: &mut Callers) -> Option<Vec<String>> {
    if !uses.initializers.is_empty() {
        return None;
    }
    let users = uses.uses.iter().map(|(function, _)| function.index() as u32);
    let leading = callers.leading_to(users)?;
    let symbols = leading
        .into_iter()
        .map(|function| module.symbol(module.functions[function as usize].symbol));
    let shown = symbols.filter(|symbol| is_visible_to_linker(symbol.linkage));
    Some(shown.map(|symbol| symbol.name.to_owned()).collect())
}

fn is_visible_to_linker(linkage: Linkage) -> bool {
    matches!(linkage, Linkage::External | Linkage::Weak | Linkage::Common)
}

fn open_symbol_of(module: &Module<'_>, uses: &Uses, callers: &mut Callers) -> Open {
    let locator = Locator::unplaced(module);
    let symbol = module.symbol(uses.symbol);
    let all: Vec<Place> = uses.places().collect();
    Open {
        name: symbol.name.to_owned(),
        what: match symbol.kind {
            SymbolKind::Function(_) => SymbolClass::Function,
            SymbolKind::Variable | SymbolKind::TextureReference => SymbolClass::Variable,
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
        needed_through: needed_through(module, uses, callers),
    }
}
