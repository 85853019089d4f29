//! Static archives: objects, machine code and bitcode.

use super::elf_files::add_object;
use crate::kinds::ImageKind;
use crate::packed::PackedImage;
use crate::reader::{Found, Reader};
use crate::{archive, bitcode, elf, link_time, windows};

pub(super) struct Archives;

impl Reader for Archives {
    fn noun(&self) -> &'static str {
        "a static archive"
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        [b"!<arch>\n", b"!<thin>\n"]
            .iter()
            .any(|magic| bytes.starts_with(*magic))
    }

    fn read<'a>(&self, bytes: &'a [u8], found: &mut Found<'a, '_>) {
        let (members, trouble) = match archive::members(bytes) {
            Ok(members) => members,
            Err(error) => return found.trouble(error.to_string()),
        };
        let mut uncompiled = 0;
        for member in members {
            if found.is_late() {
                return;
            }
            if member.bytes.starts_with(bitcode::MAGIC) {
                uncompiled += u32::from(link_time::is_bitcode(member.bytes));
                continue;
            }
            let name = Some(&*member.name);
            if !member.bytes.starts_with(elf::MAGIC) {
                if let Err(error) = windows::add(member.bytes, member.offset, name, &mut found.sections) {
                    found.trouble(format!("`{}` in the archive: {error}", member.name));
                }
                continue;
            }
            match elf::parse(member.bytes) {
                Ok(file) if elf::is_cubin(&file) => found.image(PackedImage {
                    offset: member.offset,
                    member: Some(member.name),
                    ..PackedImage::whole(ImageKind::Cubin, member.bytes)
                }),
                Ok(file) => {
                    uncompiled += u32::from(link_time::is_object(&file));
                    add_object(&file, member.offset, name, found);
                }
                Err(error) => found.trouble(format!("`{}` in the archive: {error}", member.name)),
            }
        }
        if uncompiled > 0 {
            let members = if uncompiled == 1 { "member" } else { "members" };
            found.unsupported(format!("it has {uncompiled} {members} of {}", link_time::MESSAGE));
        }
        if let Some(trouble) = trouble {
            found.trouble(trouble.to_string());
        }
    }
}
