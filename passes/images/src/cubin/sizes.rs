//! The bytes of machine code by their use.

use object::{Object as _, ObjectSection as _};
use ptxcheck_ir::facts::SectionBytes;

use super::ptx::is_ptx;
use crate::elf::Elf;

/// The sections of a cubin. Sections that share bytes count each, up to the size of the file together.
pub(super) fn sections(file: &Elf<'_>) -> SectionBytes {
    let mut sizes = SectionBytes::default();
    let mut left = file.data().len() as u64;
    for section in file.sections() {
        let (Ok(name), Some((_, bytes))) = (section.name(), section.file_range()) else {
            continue;
        };
        let Some(use_of) = use_of(name) else { continue };
        let bytes = bytes.min(left);
        left -= bytes;
        let sum = match use_of {
            Use::Code => &mut sizes.code,
            Use::Lines => &mut sizes.lines,
            Use::Debug => &mut sizes.debug,
            Use::Constants => &mut sizes.constants,
            Use::Ptx => &mut sizes.ptx,
        };
        *sum += bytes;
    }
    sizes
}

/// A use of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Code,
    Lines,
    Debug,
    Constants,
    Ptx,
}

/// The use of a section, by its name. The assembler of CUDA 13 keeps some sections a second time, as `.nv.merc.debug_line`.
fn use_of(name: &str) -> Option<Use> {
    let plain = name.strip_prefix(".nv.merc").unwrap_or(name);
    match plain {
        ".debug_line" => Some(Use::Lines),
        _ if plain.starts_with(".nv_debug_line_sass") => Some(Use::Lines),
        _ if is_ptx(plain) => Some(Use::Ptx),
        _ if plain.starts_with(".debug_") || plain.starts_with(".nv_debug_") => Some(Use::Debug),
        _ if plain.starts_with(".text") => Some(Use::Code),
        _ if plain.starts_with(".nv.constant") => Some(Use::Constants),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Use, use_of};

    #[test]
    fn sections_have_a_use_by_their_names() {
        for (name, wanted) in [
            (".text._Z1kPi", Some(Use::Code)),
            (".debug_line", Some(Use::Lines)),
            (".nv_debug_line_sass.12", Some(Use::Lines)),
            (".nv.merc.debug_line", Some(Use::Lines)),
            (".debug_frame", Some(Use::Debug)),
            (".nv_debug_info_reg_type", Some(Use::Debug)),
            (".nv_debug_ptx_txt.3196620639", Some(Use::Ptx)),
            (".nv.constant0._Z1kPi", Some(Use::Constants)),
            (".symtab", None),
            (".rela.debug_line", None),
        ] {
            assert_eq!(use_of(name), wanted, "{name}");
        }
    }
}
