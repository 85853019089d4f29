//! Tables of virtual functions: which words of their initializers are 0. They are rows of words, or of bytes with masked
//! addresses; what an initializer leaves out is 0 (PTX ISA, Initializers).

use ptxcheck_ptx_parser::Element;
use ptxcheck_ptx_parser::ast::{Extent, Tree};
use ptxcheck_ptx_parser::operand::constant;

use super::symbols::Symbols;
use ptxcheck_ir::limits::MAX_TABLE_WORDS;
use ptxcheck_ir::{TableWord, VirtualTable};

/// Mangled names of such tables begin with this (Itanium C++ ABI, Virtual Tables and RTTI).
const PREFIX: &[u8] = b"_ZTV";

const WORD_BYTES: u64 = 8;

/// The tables that a module defines.
pub(super) fn tables(tree: &Tree<'_>, symbols: &Symbols<'_>) -> Vec<VirtualTable> {
    let mut tables = Vec::new();
    for (place, variable) in tree.variables().iter().enumerate() {
        if !variable.name.of(tree.source()).starts_with(PREFIX) {
            continue;
        }
        let (Some(symbol), Extent::Elements(_)) = (symbols.of_variable(place), variable.extent) else {
            continue;
        };
        let (Some(element), Some(size)) = (variable.element_bytes(), variable.bytes()) else {
            continue;
        };
        if size % WORD_BYTES != 0 || size / WORD_BYTES > MAX_TABLE_WORDS {
            continue;
        }
        if symbols.all[symbol.index()].is_undefined() {
            continue;
        }
        let mut words = vec![TableWord::Zero; (size / WORD_BYTES) as usize];
        let elements = tree
            .initializer(variable)
            .filter(|element| !matches!(element, Element::Open | Element::Close));
        for (number, part) in (0_u64..).zip(elements) {
            let at = number.saturating_mul(element) / WORD_BYTES;
            let Some(word) = usize::try_from(at).ok().and_then(|at| words.get_mut(at)) else {
                break;
            };
            match part {
                Element::Constant(text) if constant(text) == Some(0) => {}
                Element::Constant(_) | Element::String(_) if *word == TableWord::Zero => {
                    *word = TableWord::Number;
                }
                Element::Address(_) => *word = TableWord::Address,
                _ => {}
            }
        }
        tables.push(VirtualTable { symbol, words });
    }
    tables
}
