//! Assembly outside functions (`module asm`): PTX, whose declarations and definitions are the module's, too.
//!
//! The bodies of its functions are not followed.

use ptxcheck_ptx_parser::Span;

use super::debug::Locations;
use super::symbols::Symbols;
use crate::limits::MAX_ASSEMBLY_BYTES;
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};
use ptxcheck_ir::{DebugId, Function, FunctionId, Parameter, Slots, Symbol, SymbolId, SymbolKind};

/// The header of the PTX module that the text is parsed in, since it has none of its own.
const HEADER: &str = ".version 9.0\n.target sm_120a\n.address_size 64\n";

impl<'a, 'm> Symbols<'a, 'm> {
    /// Adds the symbols of the module's assembly. One that the module declares and the assembly defines is defined.
    /// Nothing of a text that is not PTX.
    pub(super) fn assembly(&mut self, locations: &mut Locations<'m>) {
        let text = self.module.assembly();
        if text.trim().is_empty() || text.len() > MAX_ASSEMBLY_BYTES {
            return;
        }
        let header = if text.contains(".version") { "" } else { HEADER };
        let source = format!("{header}{text}");
        let Ok(tree) = ptxcheck_ptx_parser::parse(source.as_bytes()) else {
            return;
        };
        if !tree.errors().is_empty() {
            return;
        }
        let origin = PtxOrigin::new(&tree);
        let module = ptx::declarations(&tree, &origin);
        for symbol in module.symbols.iter().filter(|symbol| symbol.owner.is_none()) {
            if let Some(known) = self.named(symbol.name) {
                let known = &mut self.all[known.index()];
                if known.is_undefined() {
                    known.linkage = symbol.linkage;
                }
                continue;
            }
            // It has no place of its own in the text.
            let span = locations.tickets.symbol("");
            let id = SymbolId::new(self.all.len());
            let kind = match symbol.kind {
                SymbolKind::Function(function) => {
                    let copy = self.copied(module.function(function), id, span);
                    self.functions.push(copy);
                    SymbolKind::Function(FunctionId::new(self.functions.len() - 1))
                }
                kind => kind,
            };
            let name: &'a str = self.names.alloc_str(symbol.name);
            self.name(
                id,
                Symbol {
                    name,
                    kind,
                    initializer: Slots::default(),
                    owner: None,
                    span,
                    ..*symbol
                },
            );
        }
    }

    /// A function without its body.
    fn copied(&self, function: &Function<'_>, symbol: SymbolId, header: Span) -> Function<'a> {
        let parameter = |one: &Parameter<'_>| -> Parameter<'a> {
            Parameter {
                name: self.names.alloc_str(one.name),
                span: Span::default(),
                ..*one
            }
        };
        Function {
            symbol,
            kind: function.kind,
            params: function.params.iter().map(parameter).collect(),
            results: function.results.iter().map(parameter).collect(),
            launch: function.launch,
            noreturn: function.noreturn,
            alias_of: None,
            body: None,
            is_imported: false,
            header,
            is_damaged: false,
            declared: DebugId::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_module;

    /// The symbols of the case: name, and whether the module leaves it open.
    fn symbols(text: &str) -> Vec<(String, bool)> {
        with_module(text.as_bytes(), |module| {
            module
                .symbols
                .iter()
                .map(|symbol| (symbol.name.to_owned(), symbol.is_undefined()))
                .collect()
        })
        .unwrap()
    }

    const CASE: &str = include_str!("../../../corpus/ir/lines_with_module_assembly.ll");

    #[test]
    fn what_assembly_defines_is_defined() {
        let found = symbols(CASE);
        let wanted = [
            ("counter", false),
            ("defined", false),
            ("later", true),
            ("k", false),
        ];
        assert_eq!(found, wanted.map(|(name, open)| (name.to_owned(), open)));
    }

    #[test]
    fn what_assembly_alone_declares_is_a_symbol() {
        let alone = "module asm \".extern .func (.param .b32 r) f(.param .b64 p);\"\nmodule asm \".shared .b8 buffer[8];\"\n";
        assert_eq!(
            symbols(alone),
            [("f".to_owned(), true), ("buffer".to_owned(), false)]
        );
        assert_eq!(symbols("module asm \"no PTX {\"\n"), []);
    }
}
