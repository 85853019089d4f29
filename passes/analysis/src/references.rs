//! Uses of symbols that the module does not define, or that only the host has.

use rustc_hash::FxHashMap;

use crate::place::Place;
use ptxcheck_ir::{FunctionId, InstructionId, Module, Symbol, SymbolId};

/// The uses of one symbol.
#[derive(Debug)]
pub struct Uses {
    /// The symbol.
    pub symbol: SymbolId,
    /// The first use in each function that has one, in the order of the input.
    pub uses: Vec<(FunctionId, InstructionId)>,
    /// Symbols whose initializers refer to it.
    pub initializers: Vec<SymbolId>,
}

impl Uses {
    /// The uses in code, then the variables that are initialized with it.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let code = self
            .uses
            .iter()
            .map(|&(function, instruction)| Place::of_instruction(function, instruction));
        code.chain(self.initializers.iter().copied().map(Place::Symbol))
    }
}

/// The undefined symbols that are used, in the order of their first use; without those that the module itself marks as
/// constants of the host.
#[must_use]
pub fn undefined_symbols(module: &Module<'_>) -> Vec<Uses> {
    used_symbols_where(module, |symbol| {
        symbol.is_undefined() && symbol.host_constant.is_none()
    })
}

/// The symbols for which `is_wanted` holds that are used, in the order of their first use. The uses in code are those in
/// [`ptxcheck_ir::Body::references`].
#[must_use]
pub fn used_symbols_where(module: &Module<'_>, is_wanted: impl Fn(&Symbol<'_>) -> bool) -> Vec<Uses> {
    let mut found: Vec<Uses> = Vec::new();
    let mut places: FxHashMap<SymbolId, usize> = FxHashMap::default();
    let mut entry = |symbol: SymbolId, found: &mut Vec<Uses>| {
        *places.entry(symbol).or_insert_with(|| {
            found.push(Uses {
                symbol,
                uses: Vec::new(),
                initializers: Vec::new(),
            });
            found.len() - 1
        })
    };
    for (function, _, body) in module.bodies() {
        for reference in &body.references {
            if is_wanted(module.symbol(reference.symbol)) {
                let place = entry(reference.symbol, &mut found);
                let uses = &mut found[place].uses;
                if uses.last().is_none_or(|(last, _)| *last != function) {
                    uses.push((function, reference.instruction));
                }
            }
        }
    }
    for (number, symbol) in module.symbols.iter().enumerate() {
        for &target in module.initializer(symbol) {
            if is_wanted(module.symbol(target)) {
                let place = entry(target, &mut found);
                found[place].initializers.push(SymbolId::new(number));
            }
        }
    }
    // Functions come in the order of their first declaration, which need not be that of their bodies.
    let at =
        |&(function, instruction): &(FunctionId, InstructionId)| module.span_of(function, instruction).start;
    for reference in &mut found {
        reference.uses.sort_by_key(at);
    }
    found
}
