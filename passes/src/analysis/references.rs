//! Who refers to what the module does not define.

use rustc_hash::FxHashMap;

use crate::context::{Draft, Place};
use crate::ir::{FunctionId, InstructionId, Module, SymbolId};

/// The uses of one undefined symbol.
#[derive(Debug)]
pub struct UndefinedUse {
    /// The symbol.
    pub symbol: SymbolId,
    /// The first use in each function that has one, in the order of the input.
    pub uses: Vec<(FunctionId, InstructionId)>,
    /// Symbols whose initializers refer to it.
    pub initializers: Vec<SymbolId>,
}

impl UndefinedUse {
    /// The first use in code, else the first variable that is initialized with it.
    #[must_use]
    pub fn place(&self) -> Place {
        match (self.uses.first(), self.initializers.first()) {
            (Some(&(function, instruction)), _) => Place::instruction(function, instruction),
            (None, Some(&variable)) => Place::Symbol(variable),
            (None, None) => Place::Symbol(self.symbol),
        }
    }
}

/// The undefined symbols that are used, in the order of their first use.
#[must_use]
pub fn undefined(module: &Module<'_>) -> Vec<UndefinedUse> {
    let mut found: Vec<UndefinedUse> = Vec::new();
    let mut places: FxHashMap<SymbolId, usize> = FxHashMap::default();
    let mut entry = |symbol: SymbolId, found: &mut Vec<UndefinedUse>| {
        *places.entry(symbol).or_insert_with(|| {
            found.push(UndefinedUse {
                symbol,
                uses: Vec::new(),
                initializers: Vec::new(),
            });
            found.len() - 1
        })
    };
    for (function, _, body) in module.bodies() {
        for reference in &body.references {
            if module.symbol(reference.symbol).is_undefined() {
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
            if module.symbol(target).is_undefined() {
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

/// How many further places a finding names.
const NAMED: usize = 8;

/// Adds the uses after the first to a finding.
pub fn list_others(finding: &mut Draft, reference: &UndefinedUse, message: &str) {
    let code = reference
        .uses
        .iter()
        .map(|&(function, instruction)| Place::instruction(function, instruction));
    let data = reference.initializers.iter().map(|&symbol| Place::Symbol(symbol));
    let mut others = code.chain(data).skip(1);
    for place in others.by_ref().take(NAMED) {
        finding.related(place, message);
    }
    let rest = others.count();
    if rest > 0 {
        finding.note(format!("{rest} more functions and variables refer to it"));
    }
}
