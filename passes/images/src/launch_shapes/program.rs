//! A file of host code: what its instructions refer to.

use iced_x86::{ConstantOffsets, Instruction};
use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, elf as raw,
};
use rustc_hash::FxHashMap;

use crate::bytes::Budget;
use crate::elf::{self, Elf, RELOCATION_BYTES};
use crate::host_code::{Code, CodeAddress, code_address, functions};
use crate::limits::MAX_SYMBOL_BYTES;

/// The mark of a part that is seldom executed, which gcc and clang keep apart, after the name of its function.
pub(super) const COLD: &str = ".cold";

/// Bytes of an entry of a procedure linkage table.
const PLT_ENTRY: usize = 16;

/// The instruction `jmp *d(%rip)`.
const JUMP_THROUGH_SLOT: [u8; 2] = [0xff, 0x25];

/// The symbol or place that an operand refers to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target<'a> {
    /// The name of the symbol, where the file has one for the operand alone.
    pub(super) name: Option<&'a str>,
    /// The place, of what the file defines.
    pub(super) place: Option<CodeAddress>,
    /// The operand is a slot with the address of it.
    pub(super) is_slot: bool,
}

/// A relocation of code.
#[derive(Clone, Copy)]
struct Reference<'a> {
    name: Option<&'a str>,
    section: Option<usize>,
    /// Of the symbol, with the addend.
    address: u64,
    is_relative: bool,
    is_slot: bool,
}

/// A section with its bytes.
struct Bytes<'a> {
    /// See [`CodeAddress`].
    start: CodeAddress,
    data: &'a [u8],
    /// Its bytes are those that the program has at run time.
    is_constant: bool,
}

fn flags<'s>(section: &impl object::ObjectSection<'s>) -> raw::SectionFlags {
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags,
        _ => raw::SectionFlags::default(),
    }
}

/// A file of host code.
pub(super) struct Program<'e, 'a> {
    pub(super) elf: &'e Elf<'a>,
    pub(super) is_object: bool,
    /// It is a program that is loaded at the addresses that it names.
    pub(super) is_fixed: bool,
    /// Sorted by place.
    pub(super) functions: Vec<Code<'a>>,
    /// The parts that are seldom executed, by the name of their function.
    cold: FxHashMap<&'a str, Vec<usize>>,
    /// Of objects: the relocations of code.
    references: FxHashMap<CodeAddress, Reference<'a>>,
    /// Of linked files: the symbol that an entry of the procedure linkage table, or a slot with an address, is for.
    imports: FxHashMap<u64, &'a str>,
    /// Sections that are in memory, sorted by place.
    sections: Vec<Bytes<'a>>,
}

impl<'e, 'a> Program<'e, 'a> {
    /// `None` for code of another architecture, and for a file that claims to hold more than a file of its size can.
    pub(super) fn of(elf: &'e Elf<'a>, budget: &mut Budget) -> Option<Self> {
        let program = Self::without_functions(elf)?;
        let functions = functions(elf, budget)?;
        let mut cold: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (number, code) in functions.iter().enumerate() {
            if let Some((name, _)) = code.name.split_once(COLD) {
                cold.entry(name).or_default().push(number);
            }
        }
        Some(Self {
            cold,
            functions,
            ..program
        })
    }

    /// A program whose functions are not asked for; `None` for code of another architecture.
    pub(super) fn without_functions(elf: &'e Elf<'a>) -> Option<Self> {
        if elf.elf_header().e_machine.get(LittleEndian) != raw::EM_X86_64 {
            return None;
        }
        Some(Self {
            cold: FxHashMap::default(),
            elf,
            is_object: elf::is_object(elf),
            is_fixed: elf.elf_header().e_type.get(LittleEndian) == raw::ET_EXEC,
            functions: Vec::new(),
            references: FxHashMap::default(),
            imports: FxHashMap::default(),
            sections: Vec::new(),
        })
    }

    /// The variables whose names end like this, with their places. True for local symbols.
    pub(super) fn variables(&self, end: &str, budget: &mut Budget) -> Vec<(&'a str, CodeAddress, bool)> {
        let mut found = Vec::new();
        for symbol in self.elf.symbols() {
            let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name_bytes()) else {
                continue;
            };
            if symbol.kind() != object::SymbolKind::Data || !name.ends_with(end.as_bytes()) {
                continue;
            }
            if name.len() <= MAX_SYMBOL_BYTES
                && budget.take(name.len())
                && let Ok(name) = std::str::from_utf8(name)
            {
                let place = code_address(self.is_object, section, symbol.address());
                found.push((name, place, symbol.is_local()));
            }
        }
        found
    }

    /// With what operands are resolved by. `None` if the file claims to hold more than a file of its size can.
    pub(super) fn resolved(mut self, budget: &mut Budget) -> Option<Self> {
        for section in self.elf.sections() {
            let flags = flags(&section);
            if !flags.contains(raw::SHF_ALLOC) {
                continue;
            }
            let is_constant = !flags.contains(raw::SHF_WRITE) && section.relocations().next().is_none();
            self.sections.push(Bytes {
                start: code_address(self.is_object, section.index(), section.address()),
                data: section.data().unwrap_or_default(),
                is_constant,
            });
        }
        self.sections.sort_by_key(|section| section.start);
        let is_whole = if self.is_object {
            self.relocations(budget)
        } else {
            self.imports(budget)
        };
        is_whole.then_some(self)
    }

    fn relocations(&mut self, budget: &mut Budget) -> bool {
        let code = self.elf.sections();
        for section in code.filter(|section| section.kind() == object::SectionKind::Text) {
            for (offset, relocation) in section.relocations() {
                if !budget.take(RELOCATION_BYTES) {
                    return false;
                }
                if let Some(reference) = self.reference(&relocation, budget) {
                    self.references.insert((section.index().0, offset), reference);
                }
            }
        }
        true
    }

    /// True for a section in memory that can hold addresses: in a file that can be loaded anywhere, one that is written to when it is
    /// loaded, or says what is written.
    pub(super) fn can_have_addresses<'s>(&self, section: &impl object::ObjectSection<'s>) -> bool {
        const TABLES: [&str; 3] = [".rela", ".relr", ".dynsym"];
        let flags = flags(section);
        let name = section.name().unwrap_or_default();
        flags.contains(raw::SHF_ALLOC)
            && (self.is_object
                || self.is_fixed
                || flags.contains(raw::SHF_WRITE)
                || TABLES.iter().any(|table| name.starts_with(table)))
    }

    /// The place that a relocation of data refers to.
    pub(super) fn data_target(&self, relocation: &object::Relocation) -> Option<CodeAddress> {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let symbol = self.elf.symbol_by_index(index).ok()?;
        let address = symbol.address().wrapping_add_signed(relocation.addend());
        Some((symbol.section_index()?.0, address))
    }

    fn reference(&self, relocation: &object::Relocation, budget: &mut Budget) -> Option<Reference<'a>> {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let symbol = self.elf.symbol_by_index(index).ok()?;
        let name = symbol.name_bytes().ok().filter(|name| !name.is_empty());
        let name = name.filter(|name| name.len() <= MAX_SYMBOL_BYTES && budget.take(name.len()));
        Some(Reference {
            name: name.and_then(|name| std::str::from_utf8(name).ok()),
            section: symbol.section_index().map(|section| section.0),
            address: symbol.address().wrapping_add_signed(relocation.addend()),
            is_relative: relocation.kind() != object::RelocationKind::Absolute,
            is_slot: relocation.kind() == object::RelocationKind::GotRelative,
        })
    }

    fn imports(&mut self, budget: &mut Budget) -> bool {
        let Some(relocations) = self.elf.dynamic_relocations() else {
            return true;
        };
        for (slot, relocation) in relocations {
            if !budget.take(RELOCATION_BYTES) {
                return false;
            }
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let table = self.elf.dynamic_symbol_table();
            let symbol =
                table.and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok());
            let Some(Ok(name)) = symbol.map(|symbol| symbol.name_bytes()) else {
                continue;
            };
            if name.len() > MAX_SYMBOL_BYTES || !budget.take(name.len()) {
                continue;
            }
            if let Ok(name) = std::str::from_utf8(name) {
                self.imports.insert(slot, name);
            }
        }
        let mut entries = Vec::new();
        let tables = self.elf.sections();
        for table in tables.filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt"))) {
            let data = table.data().unwrap_or_default();
            for jump in memchr::memmem::find_iter(data, &JUMP_THROUGH_SLOT) {
                let after = jump + JUMP_THROUGH_SLOT.len();
                let Some(displacement) = data.get(after..).and_then(|rest| rest.first_chunk::<4>()) else {
                    break;
                };
                let next = table.address().wrapping_add(after as u64 + 4);
                let slot = next.wrapping_add_signed(i32::from_le_bytes(*displacement).into());
                if let Some(name) = self.imports.get(&slot) {
                    let entry = table.address().wrapping_add((jump - jump % PLT_ENTRY) as u64);
                    entries.push((entry, *name));
                }
            }
        }
        self.imports.extend(entries);
        true
    }

    /// The parts of a function that are kept apart as they are seldom executed.
    pub(super) fn cold_parts(&self, function: &Code<'_>) -> impl Iterator<Item = &Code<'a>> {
        let parts = self.cold.get(function.name).map_or(&[][..], Vec::as_slice);
        parts.iter().map(|number| &self.functions[*number])
    }

    /// The places of entries that lead to a symbol of this name, in whichever file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (CodeAddress, &'a str)> + '_ {
        self.imports.iter().map(|(address, name)| ((0, *address), *name))
    }

    /// The places of relocations of code, with what they refer to.
    pub(super) fn references(&self) -> impl Iterator<Item = (CodeAddress, Target<'a>)> + '_ {
        let references = self.references.iter();
        references.map(|(at, reference)| (*at, self.target_of(reference, 4)))
    }

    /// True if a relocation says what stands at this place in code.
    pub(super) fn is_relocated(&self, at: CodeAddress) -> bool {
        self.references.contains_key(&at)
    }

    /// The target of a near branch at this place.
    pub(super) fn branch(&self, at: CodeAddress, code: &Instruction, offsets: ConstantOffsets) -> Target<'a> {
        self.target(at, code, offsets.immediate_offset(), code.near_branch_target())
    }

    /// The target of a memory operand that is relative to the next instruction.
    pub(super) fn operand(
        &self,
        at: CodeAddress,
        code: &Instruction,
        offsets: ConstantOffsets,
    ) -> Target<'a> {
        self.target(
            at,
            code,
            offsets.displacement_offset(),
            code.ip_rel_memory_address(),
        )
    }

    /// The symbol or place that an immediate is the address of, by its relocation.
    pub(super) fn immediate(&self, at: CodeAddress, offsets: ConstantOffsets) -> Option<Target<'a>> {
        let field = (at.0, at.1.wrapping_add(offsets.immediate_offset() as u64));
        let reference = self.references.get(&field).filter(|_| offsets.has_immediate())?;
        Some(self.target_of(reference, 0))
    }

    /// True if a function begins at a place.
    pub(super) fn begins(&self, place: CodeAddress) -> bool {
        self.functions
            .binary_search_by_key(&place, |code| code.start)
            .is_ok()
    }

    fn target(&self, at: CodeAddress, code: &Instruction, field: usize, address: u64) -> Target<'a> {
        let place = (at.0, at.1.wrapping_add(field as u64));
        if let Some(reference) = self.references.get(&place) {
            return self.target_of(reference, code.len().saturating_sub(field) as u64);
        }
        Target {
            name: self.imports.get(&address).copied().filter(|_| !self.is_object),
            place: Some((at.0, address)),
            is_slot: false,
        }
    }

    /// `past`: bytes from the operand to the next instruction.
    fn target_of(&self, reference: &Reference<'a>, past: u64) -> Target<'a> {
        let past = if reference.is_relative { past } else { 0 };
        let place = reference
            .section
            .map(|section| (section, reference.address.wrapping_add(past)));
        Target {
            name: reference.name,
            place,
            is_slot: reference.is_slot,
        }
    }

    /// The names of what is called: the symbol's, and those of functions that begin there.
    pub(super) fn names(&self, target: Target<'a>) -> impl Iterator<Item = &'a str> + '_ {
        let place = target.place;
        let first = place.map_or(self.functions.len(), |place| {
            self.functions.partition_point(|code| code.start < place)
        });
        let defined = self.functions[first..].iter();
        let defined = defined.take_while(move |code| Some(code.start) == place);
        let all = target.name.into_iter().chain(defined.map(|code| code.name));
        // The linker writes the version of a symbol after its name.
        all.map(|name| name.split_once('@').map_or(name, |(name, _)| name))
    }

    /// The bytes from a place to the end of its section.
    pub(super) fn bytes_at(&self, place: CodeAddress) -> Option<&'a [u8]> {
        self.section_at(place).map(|(_, bytes)| bytes)
    }

    fn section_at(&self, place: CodeAddress) -> Option<(&Bytes<'a>, &'a [u8])> {
        let after = self.sections.partition_point(|section| section.start <= place);
        let section = self.sections.get(after.checked_sub(1)?)?;
        if section.start.0 != place.0 {
            return None;
        }
        let offset = usize::try_from(place.1 - section.start.1).ok()?;
        Some((
            section,
            section.data.get(offset..).filter(|bytes| !bytes.is_empty())?,
        ))
    }

    /// The number of `width` bytes that a constant has.
    pub(super) fn constant(&self, place: CodeAddress, width: usize) -> Option<u64> {
        let (section, bytes) = self.section_at(place)?;
        let bytes = bytes.get(..width).filter(|_| section.is_constant && width <= 8)?;
        let mut number = [0; 8];
        number[..width].copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }
}
