//! Registrations of clang's offloading driver: a table in the section `llvm_offload_entries` of relocatable objects
//! (`-fgpu-rdc`), which the linker puts together for one call.
//!
//! ```text
//! entry  0 u64 reserved   8 u16 version, 1   10 u16 offload kind   12 u32 flags   16 u64 address of the stub or variable
//!       24 u64 address of the name   32 u64 size, 0 for kernels   40 u64 data   48 u64 auxiliary address
//! ```
//!
//! As LLVM writes it since version 20. Addresses are relocations.

use object::{Object as _, ObjectSection as _, RelocationTarget};

use super::bytes::{u16_at, u32_at, u64_at};
use super::elf::Elf;
use super::named::{RegisteredName, constant_text};

const SECTION: &str = "llvm_offload_entries";
const ENTRY_BYTES: usize = 56;
const VERSION: u16 = 1;
const CUDA: u16 = 2;

/// Bits of the flags: the kind of a variable, of which 0 is a plain and 1 a managed one, and that another object defines it.
const VARIABLE_KIND: u32 = 7;
const MANAGED: u32 = 1;
const EXTERN: u32 = 8;

/// The names that the table registers.
pub(super) fn names<'e>(elf: &'e Elf<'_>) -> impl Iterator<Item = RegisteredName> + 'e {
    let sections = elf
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name == SECTION));
    sections.flat_map(move |section| {
        let data = section.data().unwrap_or_default();
        section.relocations().filter_map(move |(offset, relocation)| {
            let at = usize::try_from(offset).ok()?;
            let entry = data.get(at - at % ENTRY_BYTES..)?.get(..ENTRY_BYTES)?;
            let is_name =
                at % ENTRY_BYTES == 24 && u16_at(entry, 8)? == VERSION && u16_at(entry, 10)? == CUDA;
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return None;
            };
            let name = is_name.then(|| constant_text(elf, symbol, relocation.addend()))??;
            let flags = u32_at(entry, 12)?;
            Some(RegisteredName {
                name,
                is_variable: u64_at(entry, 32)? > 0,
                // References to textures and surfaces are symbols of another kind.
                is_certain: flags & EXTERN == 0 && flags & VARIABLE_KIND <= MANAGED,
            })
        })
    })
}
