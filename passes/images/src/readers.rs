//! The formats of files that hold images: a file for each, and its line here.

mod archives;
mod elf_files;
mod fat_binaries;
mod windows_files;

use std::fmt;

use super::reader::Reader;

/// All readers, in the order in which they are asked.
pub static READERS: [&dyn Reader; 4] = [
    &elf_files::ElfFiles,
    &archives::Archives,
    &fat_binaries::FatBinaries,
    &windows_files::WindowsFiles,
];

/// A format of files that hold images, by its reader.
#[derive(Clone, Copy)]
pub struct Container(pub &'static dyn Reader);

impl Container {
    /// ELF objects, executables, shared libraries and cubins.
    pub(super) const ELF: Self = Self(&elf_files::ElfFiles);
    /// Static archives.
    pub(super) const ARCHIVE: Self = Self(&archives::Archives);
    /// Fat binaries on their own.
    pub(super) const FAT_BINARY: Self = Self(&fat_binaries::FatBinaries);

    /// The format of a file that begins so.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let mut readers = READERS.iter();
        readers
            .find(|reader| reader.begins(bytes))
            .map(|reader| Self(*reader))
    }
}

impl PartialEq for Container {
    fn eq(&self, other: &Self) -> bool {
        self.0.noun() == other.0.noun()
    }
}

impl Eq for Container {}

impl fmt::Debug for Container {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.noun())
    }
}
