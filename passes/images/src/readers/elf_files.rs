//! ELF files: host code with images in its sections, or machine code of a GPU, which is an image itself.

use crate::kinds::ImageKind;
use crate::packed::PackedImage;
use crate::reader::{Found, Reader};
use crate::{elf, host, link_time};

pub(super) struct ElfFiles;

impl Reader for ElfFiles {
    fn noun(&self) -> &'static str {
        "an ELF file"
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(elf::MAGIC)
    }

    fn read<'a>(&self, bytes: &'a [u8], found: &mut Found<'a, '_>) {
        match elf::parse(bytes) {
            Ok(file) if elf::is_cubin(&file) => {
                found.image(PackedImage::whole(ImageKind::Cubin, bytes));
                found.is_all();
            }
            Ok(file) => {
                if link_time::is_object(&file) {
                    found.unsupported(format!("it is {}", link_time::MESSAGE));
                }
                add_object(&file, 0, None, found);
            }
            Err(error) => found.trouble(error.to_string()),
        }
    }
}

/// Adds the sections and the host code of an object that lies at `offset`.
pub(super) fn add_object(file: &elf::Elf<'_>, offset: u64, member: Option<&str>, found: &mut Found<'_, '_>) {
    let is_linked = !elf::is_object(file);
    found.sections.add(file, file.data(), offset, member, is_linked);
    host::read(file, member, found.host.get_or_insert_default());
}
