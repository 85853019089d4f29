//! The kernels and variables that host code registers with the CUDA runtime, found without disassembly.
//!
//! * Objects: `__cudaRegisterFunction(handle, stub, name, name, …)` and `__cudaRegisterVar` are called in a row; between
//!   two calls stand the relocations of the arguments, one of which leads to the name in read-only data.
//! * Whatever has a symbol table: the stub of a kernel is called `__device_stub_<name>` (nvcc: the mangled name without
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
use super::named::{RegisteredName, constant_text};
use super::{launches, offload_entries};
use crate::host_names::{HostKind, HostNames};
use crate::kinds::{Host, Registration};
use crate::limits::MAX_SYMBOL_BYTES;
use ptxcheck_common::names::{c_name, demangle, normalised};

const STUB: &str = "__device_stub__";

/// The parts of a stub's name that stand for an extended lambda: `__device__`, with a trailing return type, `__host__
/// __device__`.
const LAMBDAS: &[&str] = &["Unvdl", "Unvdtl", "Unvhdl"];

/// Adds what an ELF file registers.
pub(super) fn read(elf: &Elf<'_>, member: Option<&str>, host: &mut Host) {
    host.is_linked |= !elf::is_object(elf);
    host.names.begin(member);
    let mut found: BTreeSet<RegisteredName> = offload_entries::names(elf).collect();
    let mut stubs: BTreeSet<String> = BTreeSet::new();
    let mut has_symbols = false;
    let mut calls: FxHashMap<usize, bool> = FxHashMap::default();
    let mut budget = Budget::of(elf.data());
    for symbol in elf.symbols() {
        has_symbols = true;
        // A symbol beyond the budget is not reported as registered, either.
        if !budget.take(symbol.name_bytes().map_or(0, <[u8]>::len)) {
            break;
        }
        let Ok(name) = symbol.name_bytes() else { continue };
        note(&symbol, name, &mut host.names);
        if symbol.is_undefined() {
            match name {
                b"__cudaRegisterFunction" => {
                    calls.insert(symbol.index().0, false);
                }
                b"__cudaRegisterVar" | b"__cudaRegisterManagedVar" => {
                    calls.insert(symbol.index().0, true);
                }
                _ => {}
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
    if !calls.is_empty() {
        arguments(elf, &calls, &mut found);
    }
    // The call names a static kernel of relocatable code with its prefix, the stub without; and one of C by its name.
    let called: FxHashSet<_> = found.iter().map(|named| normalised(&named.name)).collect();
    let is_registered = |name: &str| called.contains(name);
    let launchable = launches::unregistered(elf, member, is_registered);
    host.unregistered.extend(launchable);
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

/// The kernel that a stub launches: `_Z2k1Pi` for nvcc's `_Z23__device_stub__Z2k1PiPi` and clang's
/// `_Z17__device_stub__k1Pi`. `None` for what only mentions a stub, such as its local variables, and for stubs of kernels
/// with an extended lambda in their type: nvcc names those stubs after the placeholder that host code has for the lambda
/// (`Unvdl0_PFvPiE…` in `_Z5applyIZ3runPiEUnvdl0_PFvS_E…`), and the kernel after the lambda (`_Z5applyIZ3runPiEUliE_EvS0_T_`).
fn kernel_of_stub(symbol: &str) -> Option<String> {
    let at = symbol.find(STUB)?;
    if LAMBDAS.iter().any(|placeholder| symbol.contains(placeholder)) {
        return None;
    }
    let (head, length) = length_before(symbol, at)?;
    let identifier = symbol.get(at..at.checked_add(length)?)?;
    let after = &symbol[at + length..];
    // A length that ends inside the prefix names no stub.
    let name = identifier.strip_prefix(STUB)?;
    match head {
        "_Z" | "_ZL" if name.starts_with('Z') => Some(format!("_{name}")),
        // A local of the stub.
        _ if head.starts_with("_ZZ") || head.starts_with("_ZGVZ") => None,
        _ if head.starts_with("_Z") && !name.is_empty() => Some(format!("{head}{}{name}{after}", name.len())),
        _ => None,
    }
}

/// The text before the length of the identifier at `at`, and that length. The scope before it may end with digits, too:
/// `_ZN12_GLOBAL__N_124__device_stub__k…` is `_GLOBAL__N_1` and 24. Where more than one length fits, the whole name decides.
fn length_before(symbol: &str, at: usize) -> Option<(&str, usize)> {
    let before = &symbol[..at];
    let digits = before
        .trim_end_matches(|letter: char| letter.is_ascii_digit())
        .len();
    let fitting = |start: &usize| {
        let length: usize = before[*start..].parse().ok()?;
        let is_length = !before[*start..].starts_with('0') && length > STUB.len();
        (is_length && symbol.is_char_boundary(at.checked_add(length)?)).then_some((&before[..*start], length))
    };
    if ["_Z", "_ZL"].contains(&&before[..digits]) {
        return fitting(&digits);
    }
    let mut all = (digits..at).filter_map(|start| fitting(&start));
    let first = all.next()?;
    if all.next().is_none() {
        return Some(first);
    }
    let readable = demangle(symbol)?;
    let identifier = &readable[readable.find(STUB)?..];
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let length = identifier
        .find(|letter| !is_letter(letter))
        .unwrap_or(identifier.len());
    (digits..at)
        .filter_map(|start| fitting(&start))
        .find(|(_, fits)| *fits == length)
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

#[cfg(test)]
mod tests {
    use super::kernel_of_stub;

    #[test]
    fn stubs_name_their_kernels() {
        let cases = [
            ("_Z24__device_stub__Z2k1Pi1PcPiR1Pc", Some("_Z2k1Pi1Pc")),
            ("_ZL21__device_stub__Z2ksPiPi", Some("_Z2ksPi")),
            ("_ZL29__device_stub__Z2ktIfEvT_PS0_fPf", Some("_Z2ktIfEvT_PS0_")),
            ("_Z17__device_stub__k1Pi", Some("_Z2k1Pi")),
            ("_Z17__device_stub__ktIfEvT_PS0_", Some("_Z2ktIfEvT_PS0_")),
            ("_ZN2ns16__device_stub__kEPi", Some("_ZN2ns1kEPi")),
            ("_ZGVZ21__device_stub__Z2kwPiPiE5__tmp", None),
            ("_ZZ21__device_stub__Z2kwPiPiE3__f", None),
            ("_Z25__wrapper__device_stub_ktIfEvRT_RPS0_", None),
            (
                "_ZL62__device_stub__Z5applyIZ5plainPiEUnvdl0_PFvS0_E5plain1_EvS0_T_PiR1T",
                None,
            ),
            (
                "_ZN12_GLOBAL__N_116__device_stub__kEPi",
                Some("_ZN12_GLOBAL__N_11kEPi"),
            ),
            (
                "_ZN12_GLOBAL__N_124__device_stub__transformIfEEvT_PKS1_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
                Some(
                    "_ZN12_GLOBAL__N_19transformIfEEvT_PKS1_iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
                ),
            ),
            ("_ZN2v216__device_stub__kEPi", Some("_ZN2v21kEPi")),
            (
                "_ZN3BoxIiLi12EE16__device_stub__kEPi",
                Some("_ZN3BoxIiLi12EE1kEPi"),
            ),
            ("__device_stub__", None),
            ("_Z99__device_stub__x", None),
            ("_Z5__device_stub__k", None),
            ("_Z0__device_stub__k", None),
            ("_Z15__device_stub__k", None),
            ("_ZL14__device_stub__Z1kPi", None),
            ("_Z16__device_stub__ék", None),
            ("_Z18446744073709551615__device_stub__k", None),
            ("é1__device_stub__k", None),
        ];
        for (symbol, kernel) in cases {
            assert_eq!(kernel_of_stub(symbol).as_deref(), kernel, "{symbol}");
        }
    }
}
