//! Host files in ELF: where their sections lie, and whether a linker is done with them.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _};

use super::bytes::Budget;

/// A 64-bit little-endian file: CUDA knows no other host.
pub(super) type Elf<'a> = ElfFile64<'a, LittleEndian, &'a [u8]>;

/// What every ELF file begins with.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// Reads the headers.
///
/// # Errors
///
/// A sentence about what is wrong with them.
pub(super) fn parse(bytes: &[u8]) -> Result<Elf<'_>, String> {
    Elf::parse(bytes).map_err(|error| format!("its ELF headers are broken: {error}"))
}

/// Whether it is machine code for a GPU, not a host file.
pub(super) fn is_cubin(elf: &Elf<'_>) -> bool {
    elf.elf_header().e_machine(LittleEndian) == elf::EM_CUDA
}

/// Whether it is an object that a linker has yet to read.
pub(super) fn is_object(elf: &Elf<'_>) -> bool {
    elf.elf_header().e_type(LittleEndian) == elf::ET_REL
}

/// A section of a host file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: String,
    /// The member of the archive it is in.
    pub(super) member: Option<String>,
    /// Its file is an executable or shared library.
    pub(super) is_linked: bool,
}

/// The sections of a file, by their offset in it.
#[derive(Debug, Default)]
pub(super) struct Sections(Vec<Section>);

impl Sections {
    /// Adds those of an ELF file that lies at `base` of the input.
    pub(super) fn add(&mut self, elf: &Elf<'_>, base: u64, member: Option<&str>) {
        let is_linked = !is_object(elf);
        let mut budget = Budget::of(elf.data());
        for section in elf.sections() {
            let Some((start, size)) = section.file_range() else {
                continue;
            };
            let (Ok(name), Some(start)) = (section.name(), base.checked_add(start)) else {
                continue;
            };
            if !budget.take(name.len()) {
                break;
            }
            let Some(end) = start.checked_add(size).filter(|end| *end > start) else {
                continue;
            };
            self.0.push(Section {
                start,
                end,
                name: name.to_owned(),
                member: member.map(str::to_owned),
                is_linked,
            });
        }
    }

    /// To be called after the last [`Sections::add`].
    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|section| (section.start, section.end));
    }

    /// The section that holds an offset.
    pub(super) fn at(&self, offset: u64) -> Option<&Section> {
        let next = self.0.partition_point(|section| section.start <= offset);
        let section = &self.0[next.checked_sub(1)?];
        (offset < section.end).then_some(section)
    }

    /// The sections with this name.
    pub(super) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Section> {
        self.0.iter().filter(move |section| section.name == name)
    }
}
