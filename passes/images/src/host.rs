//! The kernels and variables that host code registers with the CUDA runtime.
//!
//! * Objects: `__cudaRegisterFunction(handle, stub, name, name, …)` and `__cudaRegisterVar` are called in a row; between
//!   two calls stand the relocations of the arguments, one of which leads to the name in read-only data.
//! * Linked files: the arguments of the calls are read off the instructions (`launch_shapes/registered.rs`).
//! * Where that is not possible and there is a symbol table: the stub of a kernel is called `__device_stub_<name>` (nvcc: the mangled name without
//!   its first underscore; clang: the kernel's own mangled name with the prefix before its last part). nvcc names the stubs
//!   of `extern "C"` kernels as if they were C++, so a stub stands for either.
//! * Relocatable device code by clang: see `offload_entries.rs`.
//! * The same by nvcc: the sections `.nvHRKE`, `.nvHRDE`… list patterns of names for the linker. They name more
//!   than there is, so they prove nothing.

use std::collections::BTreeSet;

use memchr::memmem;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SectionKind, SymbolKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::{Budget, text};
use super::elf::{self, Elf};
use super::launch_shapes::{registered, registers_variables};
use super::named::{RegisteredName, constant_text};
use super::stubs::{STUB, kernel_of_stub};
use super::{launches, needed, offload_entries};
use crate::host_names::{HostKind, HostNames};
use crate::kinds::{Host, Registration};
use crate::limits::MAX_SYMBOL_BYTES;
use ptxcheck_common::names::{c_name, normalised};

/// The section of the records that lead the runtime to images.
const REGISTERED: &str = ".nvFatBinSegment";

/// Adds what an ELF file registers.
pub(super) fn read(elf: &Elf<'_>, member: Option<&str>, host: &mut Host) {
    host.is_linked |= !elf::is_object(elf);
    host.names.begin(member);
    let mut found: BTreeSet<RegisteredName> = offload_entries::names(elf).collect();
    let mut stubs: BTreeSet<String> = BTreeSet::new();
    let mut has_symbols = false;
    let mut calls: FxHashMap<usize, bool> = FxHashMap::default();
    let mut defined: Vec<(u64, bool)> = Vec::new();
    let mut budget = Budget::of(elf.data());
    for symbol in elf.symbols() {
        has_symbols = true;
        // A symbol beyond the budget is not reported as registered, either.
        if !budget.take(symbol.name_bytes().map_or(0, <[u8]>::len)) {
            break;
        }
        let Ok(name) = symbol.name_bytes() else { continue };
        note(&symbol, name, &mut host.names);
        if let Some(is_variable) = registers_variables(name) {
            if symbol.is_undefined() {
                calls.insert(symbol.index().0, is_variable);
            } else {
                defined.push((symbol.address(), is_variable));
            }
        } else if name.len() <= MAX_SYMBOL_BYTES && memmem::find(name, STUB.as_bytes()).is_some() {
            stubs.extend(std::str::from_utf8(name).ok().and_then(kernel_of_stub));
        }
    }
    host.is_stripped |= host.is_linked && !has_symbols;
    if !has_symbols {
        for symbol in elf.dynamic_symbols() {
            let Ok(name) = symbol.name_bytes() else { continue };
            if !budget.take(name.len()) {
                break;
            }
            note(&symbol, name, &mut host.names);
        }
    }
    let mut is_read = false;
    if !elf::is_object(elf) {
        host.needed.extend(needed::libraries(elf, &mut budget));
        let has_table = !found.is_empty();
        let has_images = has_images(elf);
        let read = has_images
            .then(|| registered(elf, &defined, &mut budget))
            .flatten();
        // Of a table of clang's, the one call registers each entry in turn.
        is_read = read.as_ref().is_some_and(|read| read.is_all || has_table);
        host.is_partial |= !is_read && (has_images || elf.sections().next().is_none());
        found.extend(read.into_iter().flat_map(|read| read.names));
    } else {
        arguments(elf, &calls, &mut found);
    }
    // The call names a static kernel of relocatable code with its prefix, the stub without; and one of C by its name.
    let called: FxHashSet<_> = found.iter().map(|named| normalised(&named.name)).collect();
    let is_registered = |name: &str| called.contains(name);
    let launchable = launches::unregistered(elf, member, is_registered);
    host.unregistered.extend(launchable);
    if is_read {
        stubs.clear();
    }
    stubs.retain(|stub| !is_registered(&normalised(stub)) && !c_name(stub).is_some_and(is_registered));
    found.extend(stubs.into_iter().map(|name| RegisteredName {
        name,
        is_variable: false,
        is_certain: true,
    }));
    for section in elf.sections() {
        let Some(kind) = section.name().ok().and_then(|name| name.strip_prefix(".nvHR")) else {
            continue;
        };
        let names = section.data().unwrap_or_default().split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty() && name.len() <= MAX_SYMBOL_BYTES);
        found.extend(names.map(|name| RegisteredName {
            name: text(name),
            is_variable: !kind.starts_with('K'),
            is_certain: false,
        }));
    }
    host.registered
        .extend(found.into_iter().map(|named| Registration {
            name: named.name,
            member: member.map(str::to_owned),
            is_variable: named.is_variable,
            is_certain: named.is_certain,
        }));
}

/// True if a linked file has a section with the images that its code registers.
fn has_images(elf: &Elf<'_>) -> bool {
    let mut names = elf.sections();
    names.any(|section| section.name().is_ok_and(|name| name == REGISTERED))
}

/// Notes what host code defines.
fn note<'a>(symbol: &impl object::ObjectSymbol<'a>, name: &[u8], names: &mut HostNames) {
    let kind = match symbol.kind() {
        SymbolKind::Data | SymbolKind::Tls => HostKind::Variable,
        SymbolKind::Text => HostKind::Function,
        _ => return,
    };
    if (symbol.is_definition() || symbol.is_common()) && !name.is_empty() && name.len() <= MAX_SYMBOL_BYTES {
        names.add(name, kind, symbol.is_local());
    }
}

/// The names in the arguments of the registering calls.
fn arguments(elf: &Elf<'_>, calls: &FxHashMap<usize, bool>, found: &mut BTreeSet<RegisteredName>) {
    for section in elf
        .sections()
        .filter(|section| section.kind() == SectionKind::Text)
    {
        let mut name: Option<String> = None;
        for (_, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            if let Some(is_variable) = calls.get(&index.0) {
                found.extend(name.take().map(|name| RegisteredName {
                    name,
                    is_variable: *is_variable,
                    is_certain: true,
                }));
                continue;
            }
            // Relative to the end of the instruction, which is where a 32-bit operand ends.
            let past = match relocation.kind() {
                object::RelocationKind::Relative | object::RelocationKind::PltRelative => {
                    i64::from(relocation.size()) / 8
                }
                _ => 0,
            };
            let Some(offset) = relocation.addend().checked_add(past) else {
                continue;
            };
            name = constant_text(elf, index, offset).or(name);
        }
    }
}
