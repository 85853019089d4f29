//! The symbols of machine code that a linker sees: its symbol table, and the uses of the symbols that it leaves undefined.
//!
//! The code of a function is the section `.text.<function>`, its relocations stand in `.rela.text.<function>`.

use object::read::SymbolIndex;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SymbolKind, elf as raw};
use ptxcheck_common::callers::Callers;
use ptxcheck_common::maps::NameMap;
use rustc_hash::FxHashMap;

use super::super::bytes::Budget;
use super::super::elf::{self, Elf, RELOCATION_BYTES};
use ptxcheck_common::externs;
use ptxcheck_ir::facts::{Open, SymbolClass, Symbols};
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
        // Weak ones may stay open: ptxas adds a dozen of its own. Nobody defines dynamic shared memory.
        } else if elf::is_object(file)
            && !symbol.is_weak()
            && !elf::is_cuda_shared(symbol.elf_symbol())
            && !externs::is_provided(name)
        {
            let what = if symbol.elf_symbol().st_type() == raw::STT_FUNC {
                SymbolClass::Function
            } else {
                SymbolClass::Variable
            };
            open.insert(symbol.index().0, symbols.open.len());
            symbols.open.push(Open {
                name: name.to_owned(),
                what,
                runtime: externs::host_runtime(name).map(Into::into),
                uses: Vec::new(),
                more: 0,
                needed_through: None,
            });
        }
    }
    if !open.is_empty() {
        uses(file, &open, &mut symbols.open, &mut budget)?;
    }
    Some(symbols)
}

/// The uses of the undefined symbols. Those without a use are dropped.
fn uses(
    file: &Elf<'_>,
    open: &FxHashMap<usize, usize>,
    found: &mut Vec<Open>,
    budget: &mut Budget,
) -> Option<()> {
    // By symbol: the number of the last section that refers to it, counted from 1.
    let mut last_user = vec![0_usize; found.len()];
    // By symbol: the functions that refer to it, by the number of their section, and whether a variable does.
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); found.len()];
    let mut is_held = vec![false; found.len()];
    let code = Code::of(file, budget)?;
    let mut references = Vec::new();
    let mut is_needed = code.is_kernel.clone();
    for (number, section) in (1..).zip(file.sections()) {
        let name = section.name().ok()?;
        let function = name.strip_prefix(".text.");
        // Debug information and tables of the tools refer to what the code does not.
        if function.is_none() && !name.starts_with(".nv.global") && !name.starts_with(".nv.constant") {
            continue;
        }
        // The constants of a function lie in sections that are named after it.
        let of_function = function.or_else(|| Some(name.strip_prefix(".nv.constant")?.split_once('.')?.1));
        let user = of_function
            .and_then(|function| code.functions.get(function))
            .copied();
        for (_, relocation) in section.relocations() {
            if !budget.take(RELOCATION_BYTES) {
                return None;
            }
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let Some(&place) = open.get(&index.0) else {
                let callee = code.function_of(file, index);
                match (user, callee) {
                    (Some(user), Some(callee)) => references.push((user, callee)),
                    (None, Some(callee)) => is_needed[callee as usize] = true,
                    (_, None) => {}
                }
                continue;
            };
            if last_user[place] == number {
                continue;
            }
            last_user[place] = number;
            match user {
                Some(user) => users[place].push(user),
                None => is_held[place] = true,
            }
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
    let mut callers = Callers::new(is_needed, &references);
    for ((open, users), is_held) in found.iter_mut().zip(users).zip(is_held) {
        let leading = if is_held { None } else { callers.leading_to(users) };
        open.needed_through = leading.map(|functions| code.shown(&functions));
    }
    let mut last_user = last_user.into_iter();
    found.retain(|_| last_user.next().is_some_and(|last| last > 0));
    Some(())
}

/// The functions of machine code, by number: each has a section of its own.
struct Code<'a> {
    functions: NameMap<&'a str, u32>,
    names: Vec<&'a str>,
    by_section: FxHashMap<usize, u32>,
    is_kernel: Vec<bool>,
    /// Other images can call it.
    is_shown: Vec<bool>,
}

impl<'a> Code<'a> {
    fn of(file: &Elf<'a>, budget: &mut Budget) -> Option<Self> {
        let mut code = Self {
            functions: NameMap::default(),
            names: Vec::new(),
            by_section: FxHashMap::default(),
            is_kernel: Vec::new(),
            is_shown: Vec::new(),
        };
        for section in file.sections() {
            let function = section.name().ok().and_then(|name| name.strip_prefix(".text."));
            if let Some(function) = function {
                // Its name is read again where its relocations are gone over.
                if !budget.take(2 * function.len()) {
                    return None;
                }
                let number = code.names.len() as u32;
                code.names.push(function);
                code.functions.insert(function, number);
                code.by_section.insert(section.index().0, number);
            }
        }
        code.is_kernel = vec![false; code.names.len()];
        code.is_shown = vec![false; code.names.len()];
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
            if let Some(&number) = symbol
                .section_index()
                .and_then(|index| code.by_section.get(&index.0))
            {
                let is_kernel = elf::is_kernel(symbol.elf_symbol());
                code.is_kernel[number as usize] |= is_kernel;
                code.is_shown[number as usize] |= !symbol.is_local();
            }
        }
        Some(code)
    }

    fn function_of(&self, file: &Elf<'a>, symbol: SymbolIndex) -> Option<u32> {
        let section = file.symbol_by_index(symbol).ok()?.section_index()?;
        self.by_section.get(&section.0).copied()
    }

    fn shown(&self, functions: &[u32]) -> Vec<String> {
        let shown = functions.iter().filter(|number| self.is_shown[**number as usize]);
        shown
            .map(|number| self.names[*number as usize].to_owned())
            .collect()
    }
}
