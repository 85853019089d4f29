//! What machine code shows to a linker: its symbol table, and who refers to what it leaves open.
//!
//! The code of a function is the section `.text.<function>`, its relocations stand in `.rela.text.<function>`.

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, elf as raw};
use rustc_hash::FxHashMap;

use super::super::bytes::Budget;
use super::super::elf::{self, Elf, RELOCATION_BYTES};
use ptxcheck_common::externs;
use ptxcheck_ir::facts::{Open, Symbols, What};
use ptxcheck_ir::limits::SHOWN_USES;
use ptxcheck_ir::places::Located;

/// The symbols; `None` where some cannot be read.
pub(super) fn symbols(file: &Elf<'_>) -> Option<Symbols> {
    let mut budget = Budget::of(file.data());
    let mut symbols = Symbols::default();
    let mut open: FxHashMap<usize, usize> = FxHashMap::default();
    for symbol in file.symbols() {
        if symbol.is_local() {
            continue;
        }
        let name = symbol.name().ok()?;
        if !budget.take(name.len()) {
            return None;
        }
        if !symbol.is_undefined() {
            symbols.defined.push(name.to_owned());
        // Weak ones may stay open: ptxas adds a dozen of its own.
        } else if elf::is_object(file) && !symbol.is_weak() && !externs::is_provided(name) {
            let what = if symbol.elf_symbol().st_type() == raw::STT_FUNC {
                What::Function
            } else {
                What::Variable
            };
            open.insert(symbol.index().0, symbols.open.len());
            symbols.open.push(Open {
                name: name.to_owned(),
                what,
                runtime: externs::host_runtime(name).map(Into::into),
                uses: Vec::new(),
                more: 0,
            });
        }
    }
    if !open.is_empty() {
        uses(file, &open, &mut symbols.open, &mut budget)?;
    }
    Some(symbols)
}

/// Who refers to the open symbols. Those that nobody refers to are no longer open.
fn uses(
    file: &Elf<'_>,
    open: &FxHashMap<usize, usize>,
    found: &mut Vec<Open>,
    budget: &mut Budget,
) -> Option<()> {
    // By symbol: the number of the last section that refers to it, counted from 1.
    let mut last_user = vec![0_usize; found.len()];
    for (number, section) in (1..).zip(file.sections()) {
        let name = section.name().ok()?;
        let function = name.strip_prefix(".text.");
        // Debug information and tables of the tools refer to what the code does not.
        if function.is_none() && !name.starts_with(".nv.global") && !name.starts_with(".nv.constant") {
            continue;
        }
        for (_, relocation) in section.relocations() {
            if !budget.take(RELOCATION_BYTES) {
                return None;
            }
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let Some(&place) = open.get(&index.0).filter(|place| last_user[**place] != number) else {
                continue;
            };
            last_user[place] = number;
            let Some(function) = function else { continue };
            let open = &mut found[place];
            if open.uses.len() < SHOWN_USES {
                open.uses.push(Located {
                    function: Some(function.to_owned()),
                    ..Located::default()
                });
            } else {
                open.more += 1;
            }
        }
    }
    let mut users = last_user.into_iter();
    found.retain(|_| users.next().is_some_and(|last| last > 0));
    Some(())
}
