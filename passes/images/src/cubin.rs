//! The declarations of machine code: kernels with their parameters and launch bounds, variables, weak functions.
//!
//! A cubin is an ELF file. Kernels are function symbols with bit 4 of `st_other`.

mod bodies;
mod code;
mod header;
mod info;
mod linkage;
mod ptx;
mod sizes;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use object::read::elf::Sym as _;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget};
use ptxcheck_common::maps::NameMap;

pub use bodies::digest_kernels;
pub use ptx::DEBUG_PTX;

use self::header::Notes;
use self::info::Usage;
use super::bytes::{Budget, slice};
use super::debug_paths;
use super::elf::{self, RELOCATION_BYTES};
use crate::errors::BadFile;
use ptxcheck_common::names;
use ptxcheck_ir::facts::{CompilerOptions, Facts, Resources, Variable, WeakFunction};

/// From this architecture on the shared memory of a kernel begins with what the driver keeps for itself.
const FIRST_WITH_RESERVED_SHARED: u32 = 90;
const RESERVED_SHARED_BYTES: u64 = 1024;

/// The header and declarations of a cubin.
#[derive(Debug)]
pub struct Cubin {
    /// `sm_90a`; empty for versions of the format that this release does not know.
    pub target: String,
    /// The number of the virtual architecture that it was compiled for, 80 of `compute_80`, where its note says so.
    pub virtual_number: Option<u32>,
    /// It is to be linked.
    pub is_relocatable: bool,
    /// Its declarations.
    pub facts: Facts,
    /// The PTX it was made from, for debuggers and profilers: a text for each object that was linked. Lines of comments and `.loc` are
    /// empty in it.
    pub ptx: Vec<Vec<u8>>,
}

/// Reads a cubin.
///
/// # Errors
///
/// [`BadFile`], if it is no machine code for a GPU, or its headers are broken.
pub fn read(bytes: &[u8]) -> Result<Cubin, BadFile> {
    if !bytes.starts_with(elf::MAGIC) {
        return Err(BadFile::NoElf);
    }
    let file = elf::parse(bytes)?;
    if !elf::is_cubin(&file) {
        return Err(BadFile::OtherMachine);
    }
    let mut facts = Facts::default();
    let sections = Sections::of(&file, &mut facts);
    let header = header::read(&file, sections.notes);
    facts.paths = sections.debug.paths();
    facts.producer = header::producer(sections.notes.tool);
    facts.code_class = header.class;
    facts.sections = Some(sizes::sections(&file));
    symbols(&file, header.sm, &sections, &mut facts);
    facts.symbols = (!facts.is_damaged).then(|| linkage::symbols(&file)).flatten();
    Ok(Cubin {
        target: header.target(),
        virtual_number: header.virtual_number,
        is_relocatable: elf::is_object(&file),
        ptx: ptx::texts(&sections.ptx, bytes.len()),
        facts,
    })
}

/// The sections that are read.
#[derive(Default)]
struct Sections<'a> {
    notes: Notes<'a>,
    debug: debug_paths::Sections<'a>,
    /// The PTX for debuggers.
    ptx: Vec<&'a [u8]>,
    /// `.nv.info`
    info: &'a [u8],
    /// By kernel.
    kernels: NameMap<&'a str, KernelSections<'a>>,
}

/// The sections of a kernel.
#[derive(Clone, Copy, Default)]
struct KernelSections<'a> {
    /// `.nv.info.<kernel>`
    info: &'a [u8],
    /// Bytes of `.nv.shared.<kernel>`
    shared: u64,
    /// Bytes of `.nv.constant0.<kernel>`
    constant: u64,
}

impl<'a> Sections<'a> {
    /// Those of a file. Writes into the facts if it is for a debugger, and if some of it cannot be read.
    fn of(file: &elf::Elf<'a>, facts: &mut Facts) -> Self {
        let mut sections = Self::default();
        let mut budget = Budget::of(file.data());
        for section in file.sections() {
            let Ok(name) = section.name() else {
                facts.is_damaged = true;
                continue;
            };
            if !budget.take(name.len()) {
                facts.is_damaged = true;
                break;
            }
            let mut data = || {
                section.data().unwrap_or_else(|_| {
                    facts.is_damaged = true;
                    &[]
                })
            };
            if let Some(kernel) = name.strip_prefix(".nv.info.") {
                sections.kernels.entry(kernel).or_default().info = data();
            } else if let Some(kernel) = name.strip_prefix(".nv.shared.") {
                sections.kernels.entry(kernel).or_default().shared = section.size();
            } else if let Some(kernel) = name.strip_prefix(".nv.constant0.") {
                sections.kernels.entry(kernel).or_default().constant = section.size();
            } else if let Some(part) = sections.debug.named(name) {
                *part = data();
            } else {
                match name {
                    ".nv.info" => sections.info = data(),
                    ".nv.compat" => sections.notes.compat = data(),
                    ".note.nv.tkinfo" => sections.notes.tool = data(),
                    ".note.nv.cuinfo" => sections.notes.cuda = data(),
                    ".nv_debug_info_reg_type" => facts.is_debug = true,
                    name if ptx::is_ptx(name) => sections.ptx.push(data()),
                    _ => {}
                }
            }
        }
        sections
    }
}

fn symbols(file: &elf::Elf<'_>, sm: Option<u32>, sections: &Sections<'_>, facts: &mut Facts) {
    let mut budget = Budget::of(file.data());
    let usage = Usage::read(sections.info);
    for symbol in file.symbols() {
        let raw = symbol.elf_symbol();
        if symbol.is_undefined() {
            continue;
        }
        let Ok(name) = symbol.name() else {
            facts.is_damaged = true;
            continue;
        };
        if !budget.take(name.len()) {
            facts.is_damaged = true;
            return;
        }
        match symbol.kind() {
            object::SymbolKind::Text if elf::is_kernel(raw) => {
                let mut own = sections.kernels.get(name).copied().unwrap_or_default();
                if !budget.take(own.info.len()) {
                    own.info = &[];
                }
                let mut kernel = info::kernel(name, own.info, symbol.size());
                let body = code(file, &symbol).filter(|body| budget.take(body.len()));
                kernel.stub = sm.zip(body).and_then(|(sm, body)| code::stub(sm, body));
                kernel.waits_for_grids = sm
                    .zip(body)
                    .and_then(|(sm, body)| code::waits_for_grids(sm, body));
                kernel.resources = Some(resources(sm, &usage, symbol.index().0, &own));
                facts.kernels.push(kernel);
            }
            // Local copies of functions that were not inlined have a `$` in their names.
            object::SymbolKind::Text if !name.starts_with('$') => facts.functions += 1,
            _ if elf::is_cuda_variable(raw) && is_in_memory(file, &symbol) && !name.contains('$') => {
                facts.variables.push(Variable {
                    name: name.to_owned(),
                    identity: names::normalised(name).into_owned(),
                    size: symbol.size(),
                });
            }
            _ => {}
        }
        if symbol.kind() == object::SymbolKind::Text && raw.is_weak() {
            facts.weak.extend(weak(file, &symbol, name, &mut budget));
        }
    }
}

/// True if a symbol lies in global or constant memory.
fn is_in_memory<'a>(file: &elf::Elf<'a>, symbol: &impl object::ObjectSymbol<'a>) -> bool {
    let section = symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok());
    section.is_some_and(|section| {
        section
            .name()
            .is_ok_and(|name| name.starts_with(".nv.global") || name.starts_with(".nv.constant3"))
    })
}

/// Registers and memory of the kernel with this symbol, on `sm_NN`.
fn resources(sm: Option<u32>, usage: &Usage, symbol: usize, sections: &KernelSections<'_>) -> Resources {
    let reserved = match sm {
        Some(FIRST_WITH_RESERVED_SHARED..) => RESERVED_SHARED_BYTES,
        _ => 0,
    };
    Resources {
        registers: usage.registers(symbol),
        stack: usage.stack(symbol),
        shared: u32::try_from(sections.shared.saturating_sub(reserved)).ok(),
        constant: u32::try_from(sections.constant).ok(),
    }
}

/// The code of a function in its section.
fn code<'a>(file: &elf::Elf<'a>, symbol: &impl object::ObjectSymbol<'a>) -> Option<&'a [u8]> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    slice(section.data().ok()?, symbol.address(), symbol.size())
}

/// A weak function: its bytes, and what they are relocated to.
fn weak<'a>(
    file: &elf::Elf<'a>,
    symbol: &impl object::ObjectSymbol<'a>,
    name: &str,
    budget: &mut Budget,
) -> Option<WeakFunction> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let start = usize::try_from(symbol.address()).ok()?;
    let size = usize::try_from(symbol.size()).ok()?;
    let code = section.data().ok()?.get(start..start.checked_add(size)?)?;
    let all_code = section.data().ok()?.len();
    if !budget.take(all_code) {
        return None;
    }
    let mut body = DefaultHasher::new();
    code.hash(&mut body);
    let mut calls = DefaultHasher::new();
    for (offset, relocation) in section.relocations() {
        if !budget.take(RELOCATION_BYTES) {
            return None;
        }
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        if (symbol.address()..symbol.address() + symbol.size()).contains(&offset) {
            let target = file.symbol_by_index(index).ok();
            let name = target.and_then(|target| target.name_bytes().ok());
            if !budget.take(name.map_or(0, <[u8]>::len)) {
                return None;
            }
            name.hash(&mut calls);
        }
    }
    Some(WeakFunction {
        name: name.to_owned(),
        signature: 0,
        body: body.finish(),
        calls: calls.finish(),
        options: CompilerOptions::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_cubin_is_refused() {
        assert!(read(b"not ELF").is_err());
        assert!(read(b"\x7fELF\x02\x01\x01").is_err());
    }
}
