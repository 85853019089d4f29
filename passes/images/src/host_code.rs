//! Host code for x86-64: its functions, and the places in code that refer to a place.

use object::read::SectionIndex;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, elf as raw};
use rustc_hash::FxHashSet;

use super::bytes::Budget;
use super::elf::{self, Elf, RELOCATION_BYTES};
use crate::limits::MAX_SYMBOL_BYTES;

/// Bytes of a displacement.
const DISPLACEMENT: usize = 4;

/// A place in a file: of an object, section and offset; of a linked file, 0 and the address.
pub(super) type CodeAddress = (usize, u64);

pub(super) struct Code<'a> {
    pub(super) start: CodeAddress,
    pub(super) size: u64,
    pub(super) name: &'a str,
    pub(super) is_local: bool,
}

/// The functions, sorted by place; `None` if they are more than a file of this size has.
pub(super) fn functions<'a>(elf: &Elf<'a>, budget: &mut Budget) -> Option<Vec<Code<'a>>> {
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

pub(super) const fn code_address(is_object: bool, section: SectionIndex, address: u64) -> CodeAddress {
    (if is_object { section.0 } else { 0 }, address)
}

/// The function in which a place lies.
pub(super) fn covering<'f, 'a>(
    functions: &'f [Code<'a>],
    (section, at): CodeAddress,
) -> Option<&'f Code<'a>> {
    let after = functions.partition_point(|code| code.start <= (section, at));
    let code = functions.get(after.checked_sub(1)?)?;
    (code.start.0 == section && at - code.start.1 < code.size).then_some(code)
}

/// Calls `found` with each place in code that refers to a place that is wanted, and that place. Whether all code was looked
/// at.
pub(super) fn references(
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
pub(super) fn target(elf: &Elf<'_>, relocation: &object::Relocation) -> Option<CodeAddress> {
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
pub(super) fn displacements(code: &[u8]) -> impl Iterator<Item = (usize, u64)> + '_ {
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

#[cfg(test)]
mod tests {
    use super::displacements;

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
