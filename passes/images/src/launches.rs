//! Kernels that host code can launch and never registers.
//!
//! nvcc's host code has, for each instance of a kernel template that it mentions, a function with the kernel's own mangled
//! name, which calls `__wrapper__device_stub_<name>`. Its last device pass says which of them are registered: for those
//! `__cudaRegisterAll` or `__nv_cudaEntityRegisterCallback` takes the address of that function. The wrapper of any other
//! passes 0 to `cudaLaunchKernel`, which fails on every device. (A kernel that is no template has no stub without its
//! registration, so the host linker reports it. clang registers all that it makes stubs for.)
//!
//! Read off x86-64 alone: relocations, and in code `call`, `jmp` and `lea` of a place relative to the next instruction.

use object::read::SectionIndex;
use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, elf as raw,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::Budget;
use super::elf::{self, Elf, RELOCATION_BYTES};
use crate::kinds::Launchable;
use crate::limits::MAX_SYMBOL_BYTES;
use ptxcheck_common::names::normalised;

const WRAPPER: &str = "__wrapper__device_stub_";

/// Functions that register kernels.
const REGISTERING: [&str; 2] = ["__sti____cudaRegisterAll", "__nv_cudaEntityRegisterCallback"];

/// The section with the texts of host code. (Fat binaries are in read-only sections of their own.)
const CONSTANTS: &str = ".rodata";

/// Bytes of a displacement.
const DISPLACEMENT: usize = 4;

/// A place in a file: of an object, section and offset; of a linked file, 0 and the address.
type CodeAddress = (usize, u64);

struct Code<'a> {
    start: CodeAddress,
    size: u64,
    name: &'a str,
    is_local: bool,
}

/// The kernels that the code of this file launches and that it does not register. `is_registered`: whether a kernel of this
/// name is known to be.
pub(super) fn unregistered(
    elf: &Elf<'_>,
    member: Option<&str>,
    is_registered: impl Fn(&str) -> bool,
) -> Vec<Launchable> {
    if elf.elf_header().e_machine.get(LittleEndian) != raw::EM_X86_64 {
        return Vec::new();
    }
    let mut budget = Budget::of(elf.data());
    let Some(functions) = functions(elf, &mut budget) else {
        return Vec::new();
    };
    let wrapped: FxHashMap<CodeAddress, &str> = functions
        .iter()
        .filter_map(|code| Some((code.start, template(code.name)?)))
        .collect();
    if wrapped.is_empty() {
        return Vec::new();
    }
    let mut launching: FxHashMap<CodeAddress, &Code<'_>> = FxHashMap::default();
    references(
        elf,
        &mut budget,
        |target| wrapped.contains_key(&target),
        |from, to| {
            let template = wrapped[&to];
            if let Some(code) = covering(&functions, from)
                && code.name.contains(template)
                && !code.name.contains(WRAPPER)
            {
                launching.insert(code.start, code);
            }
        },
    );
    launching.retain(|_, code| !is_registered(&normalised(code.name)) && !is_text(elf, code.name));
    if launching.is_empty() {
        return Vec::new();
    }
    let (mut known, mut called) = (FxHashSet::default(), FxHashSet::default());
    let is_whole = references(
        elf,
        &mut budget,
        |target| launching.contains_key(&target),
        |from, to| {
            let name = covering(&functions, from).map_or("", |code| code.name);
            if REGISTERING.iter().any(|part| name.contains(part)) {
                known.insert(to);
            } else {
                called.insert(to);
            }
        },
    );
    if !is_whole {
        return Vec::new();
    }
    launching
        .into_iter()
        .filter(|(start, _)| !known.contains(start))
        .map(|(start, code)| Launchable {
            name: code.name.to_owned(),
            member: member.map(str::to_owned),
            is_called: called.contains(&start),
            is_settled: code.is_local,
        })
        .collect()
}

/// The functions, sorted by place; `None` if they are more than a file of this size has.
fn functions<'a>(elf: &Elf<'a>, budget: &mut Budget) -> Option<Vec<Code<'a>>> {
    let is_object = elf::is_object(elf);
    let mut found = Vec::new();
    for symbol in elf.symbols() {
        if symbol.is_undefined() || symbol.elf_symbol().st_type() != raw::STT_FUNC {
            continue;
        }
        let (Some(section), Ok(bytes)) = (symbol.section_index(), symbol.name_bytes()) else {
            continue;
        };
        if bytes.len() > MAX_SYMBOL_BYTES {
            continue;
        }
        if !budget.take(bytes.len()) {
            return None;
        }
        let Ok(name) = std::str::from_utf8(bytes) else {
            continue;
        };
        found.push(Code {
            start: code_address(is_object, section, symbol.address()),
            size: symbol.size(),
            name,
            is_local: symbol.is_local(),
        });
    }
    found.sort_by_key(|code| code.start);
    Some(found)
}

const fn code_address(is_object: bool, section: SectionIndex, address: u64) -> CodeAddress {
    (if is_object { section.0 } else { 0 }, address)
}

/// `kernel` with its length, `6kernel`, and `I`, with which its arguments begin, of
/// `_Z29__wrapper__device_stub_kernelIiEvRPi`: where the name of the kernel differs from that of its wrapper.
fn template(symbol: &str) -> Option<&str> {
    let at = symbol.find(WRAPPER)?;
    let digits = symbol[..at].rfind(|letter: char| !letter.is_ascii_digit())? + 1;
    let length: usize = symbol[digits..at].parse().ok()?;
    symbol.get(at + WRAPPER.len()..at.checked_add(length)?)
}

/// The function in which a place lies.
fn covering<'f, 'a>(functions: &'f [Code<'a>], (section, at): CodeAddress) -> Option<&'f Code<'a>> {
    let after = functions.partition_point(|code| code.start <= (section, at));
    let code = functions.get(after.checked_sub(1)?)?;
    (code.start.0 == section && at - code.start.1 < code.size).then_some(code)
}

/// Calls `found` with each place in code that refers to a place that is wanted, and that place. Whether all code was looked
/// at.
fn references(
    elf: &Elf<'_>,
    budget: &mut Budget,
    is_wanted: impl Fn(CodeAddress) -> bool,
    mut found: impl FnMut(CodeAddress, CodeAddress),
) -> bool {
    let is_object = elf::is_object(elf);
    for section in elf.sections() {
        if section.kind() != object::SectionKind::Text {
            continue;
        }
        let Ok(code) = section.data() else { continue };
        if !budget.take(code.len()) {
            return false;
        }
        let mut relocated = FxHashSet::default();
        for (offset, relocation) in section.relocations().filter(|_| is_object) {
            if !budget.take(RELOCATION_BYTES) {
                return false;
            }
            relocated.insert(offset);
            if let Some(to) = target(elf, &relocation).filter(|to| is_wanted(*to)) {
                found((section.index().0, offset), to);
            }
        }
        for (at, to) in displacements(code) {
            if relocated.contains(&(at as u64)) {
                continue;
            }
            let place = |offset: u64| {
                code_address(is_object, section.index(), section.address().wrapping_add(offset))
            };
            let to = place(to);
            if is_wanted(to) {
                found(place(at as u64), to);
            }
        }
    }
    true
}

/// The address that a relocation of an object refers to.
fn target(elf: &Elf<'_>, relocation: &object::Relocation) -> Option<CodeAddress> {
    let RelocationTarget::Symbol(index) = relocation.target() else {
        return None;
    };
    let symbol = elf.symbol_by_index(index).ok()?;
    let section = symbol.section_index()?;
    // Relative to the end of the displacement.
    let past = match relocation.kind() {
        object::RelocationKind::Absolute => 0,
        _ => DISPLACEMENT as i64,
    };
    let address = symbol
        .address()
        .checked_add_signed(relocation.addend().checked_add(past)?)?;
    Some((section.0, address))
}

/// The offsets at which displacements of `call`, `jmp` and `lea r, [rip + d]` may stand, and the offsets that they lead to.
fn displacements(code: &[u8]) -> impl Iterator<Item = (usize, u64)> + '_ {
    memchr::memchr3_iter(0xe8, 0xe9, 0x8d, code).filter_map(|opcode| {
        let at = match code[opcode] {
            0x8d => {
                let is_wide = opcode
                    .checked_sub(1)
                    .is_some_and(|prefix| matches!(code[prefix], 0x48 | 0x4c));
                let is_relative = code.get(opcode + 1).is_some_and(|form| form & 0xc7 == 0x05);
                (is_wide && is_relative).then_some(opcode + 2)?
            }
            _ => opcode + 1,
        };
        let bytes: [u8; DISPLACEMENT] = code.get(at..)?.first_chunk().copied()?;
        let next = (at + DISPLACEMENT) as u64;
        Some((at, next.wrapping_add_signed(i32::from_le_bytes(bytes).into())))
    })
}

/// True if constants of host code hold the name as a text, as registering it takes.
fn is_text(elf: &Elf<'_>, name: &str) -> bool {
    let wanted = [name.as_bytes(), b"\0"].concat();
    elf.sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(CONSTANTS)))
        .any(|section| {
            let data = section.data().unwrap_or_default();
            memchr::memmem::find_iter(data, &wanted).any(|at| at == 0 || data[at - 1] == 0)
        })
}

#[cfg(test)]
mod tests {
    use super::{displacements, template};

    #[test]
    fn wrappers_name_their_templates() {
        let cases = [
            ("_Z29__wrapper__device_stub_kernelI4HostEvRPi", Some("kernel")),
            ("_ZN2nsL28__wrapper__device_stub_namedIiEEvRPT_", Some("named")),
            ("_ZN2nsL999__wrapper__device_stub_namedIiEEvRPT_", None),
            ("__wrapper__device_stub_named", None),
            ("_Z2__wrapper__device_stub_", None),
            ("_Z23__device_stub__Z2k1PiPi", None),
        ];
        for (symbol, name) in cases {
            assert_eq!(template(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn calls_and_addresses_are_seen_in_code() {
        let code = [
            0x90, 0xe8, 0x02, 0, 0, 0, // call 8
            0xc3, 0xe9, 0xf4, 0xff, 0xff, 0xff, // jmp 0
            0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, // lea 35, %rdi
            0x8d, 0x05, 0, 0, 0, 0, // not wide
            0xe8, 0x01,
        ];
        let seen: Vec<_> = displacements(&code).collect();
        assert_eq!(seen, [(2, 8), (8, 0), (15, 35)]);
    }
}
