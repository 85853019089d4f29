//! The target of machine code, from its header, its notes and its section `.nv.compat`.
//!
//! | toolkit | OSABI | architecture | virtual architecture | `a` |
//! | --- | --- | --- | --- | --- |
//! | before 12.8, and later ones below sm_100 up to 12.9 | 0x33 | `e_flags`, bits 0 to 7 | `e_flags`, bits 16 to 23 | `e_flags`, 0x800 |
//! | 12.8 and 12.9 from sm_100 on | 0x41 | bits 8 to 15 | not there | 0x8 |
//! | 13 | 0x41 | bits 8 to 15 | `.note.nv.cuinfo` | `.nv.compat`, attribute 0x09 |
//!
//! Nothing in the file says `f`, but for the options in `.note.nv.tkinfo`.

use object::LittleEndian;
use object::read::elf::FileHeader as _;
use ptxcheck_ir::facts::CodeClass;

use super::super::bytes::{text, u16_at};
use super::super::elf::Elf;
use super::info;

/// Bytes before the name in a note.
const NOTE_NAME: usize = 12;
const VENDOR: &[u8] = b"NVIDIA Corp\0";

const OSABI_7: u8 = 0x33;
const OSABI_8: u8 = 0x41;

/// Attributes of `.nv.compat`.
const ISA_CLASS: u8 = 0x02;
const ACCELERATOR_TARGET: u8 = 0x09;

/// The target, as the parts of the file say it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// 90 of `sm_90a`.
    pub(super) sm: Option<u32>,
    /// The letter of `sm_90a`, or nothing.
    pub(super) suffix: &'static str,
    /// 80 of `compute_80`.
    pub(super) virtual_number: Option<u32>,
    /// The instructions that its code has.
    pub(super) class: Option<CodeClass>,
}

impl Header {
    /// `sm_90a`; empty where the architecture is not known.
    pub(super) fn target(&self) -> String {
        self.sm
            .map_or_else(String::new, |sm| format!("sm_{sm}{}", self.suffix))
    }
}

/// The parts of a file that speak of its target; empty ones are not there.
#[derive(Clone, Copy, Default)]
pub(super) struct Notes<'a> {
    /// `.note.nv.tkinfo`
    pub(super) tool: &'a [u8],
    /// `.note.nv.cuinfo`
    pub(super) cuda: &'a [u8],
    /// `.nv.compat`
    pub(super) compat: &'a [u8],
}

/// Reads them.
pub(super) fn read(file: &Elf<'_>, notes: Notes<'_>) -> Header {
    let header = file.elf_header();
    let flags = header.e_flags(LittleEndian).0;
    of(header.e_ident().os_abi.0, flags, notes)
}

fn of(osabi: u8, flags: u32, notes: Notes<'_>) -> Header {
    let (sm, flagged, virtual_number) = match osabi {
        OSABI_7 => {
            let number = flags >> 16 & 0xff;
            (flags & 0xff, flags & 0x800 != 0, (number > 0).then_some(number))
        }
        OSABI_8 => (flags >> 8 & 0xff, flags & 0x8 != 0, compiled_for(notes.cuda)),
        _ => return Header::default(),
    };
    let compat = Compat::read(notes.compat);
    let suffix = if flagged || compat.is_specific {
        "a"
    } else {
        suffix(&String::from_utf8_lossy(notes.tool), &format!("sm_{sm}"))
    };
    Header {
        sm: Some(sm),
        suffix,
        virtual_number,
        class: compat.class,
    }
}

/// The attributes in `.nv.compat`.
#[derive(Default)]
struct Compat {
    class: Option<CodeClass>,
    is_specific: bool,
}

impl Compat {
    fn read(section: &[u8]) -> Self {
        let mut compat = Self::default();
        for attribute in info::attributes(section) {
            match (attribute.number, attribute.byte()) {
                (ISA_CLASS, Some(class)) => {
                    compat.class = match class {
                        1 => Some(CodeClass::Baseline),
                        2 => Some(CodeClass::FamilySpecific),
                        3 => Some(CodeClass::ArchitectureSpecific),
                        _ => None,
                    };
                }
                (ACCELERATOR_TARGET, Some(target)) => compat.is_specific = target == 1,
                _ => {}
            }
        }
        compat
    }
}

/// The architecture-specific suffix that the assembler was called with (`-arch sm_100f` in its note).
fn suffix(note: &str, target: &str) -> &'static str {
    let written = note.split_once(target).map(|(_, rest)| {
        rest.split(|letter: char| !letter.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default()
    });
    ["a", "f"]
        .into_iter()
        .find(|known| written == Some(*known))
        .unwrap_or_default()
}

/// The virtual architecture in the note `.note.nv.cuinfo`: a header of 12 bytes, the 12 of the vendor's name, then the version
/// of the note (2), the number of the architecture, and the version of the toolkit, as ptxas of CUDA 12 and 13 writes it.
fn compiled_for(note: &[u8]) -> Option<u32> {
    let name = note.get(NOTE_NAME..)?;
    let is_known = name.starts_with(VENDOR) && u16_at(note, NOTE_NAME + VENDOR.len()) == Some(2);
    let number = u16_at(note, NOTE_NAME + VENDOR.len() + 2).filter(|_| is_known)?;
    (number > 0).then_some(u32::from(number))
}

/// The tool and its version from the note: the text after the name of the tool in the third and following strings.
pub(super) fn producer(note: &[u8]) -> Option<String> {
    // 12 bytes of header, the name of the vendor, then six words of which the third and fourth are offsets into the strings after them. The
    // layout is not documented, so the strings are read in order.
    let texts: Vec<String> = note
        .get(NOTE_NAME..)?
        .split(|byte| *byte == 0)
        .filter(|part| part.len() > 3 && part.iter().all(|byte| (b' '..=b'~').contains(byte)))
        .map(text)
        .collect();
    let release = texts.iter().find(|part| part.contains("release"))?;
    let version = release
        .rsplit_once(", V")
        .map_or(release.as_str(), |(_, version)| version);
    let tool = texts
        .iter()
        .find(|part| ["ptxas", "nvlink"].contains(&part.as_str()));
    Some(format!("{} {version}", tool.map_or("CUDA tools", String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_the_virtual_architecture() {
        let mut note = vec![12, 0, 0, 0, 8, 0, 0, 0, 0xe8, 3, 0, 0];
        note.extend(b"NVIDIA Corp\0");
        note.extend([2, 0, 80, 0, 0x87, 0, 0, 0]);
        assert_eq!(compiled_for(&note), Some(80));
        for length in 0..28 {
            assert_eq!(compiled_for(&note[..length]), None, "{length}");
        }
        note[24] = 3;
        assert_eq!(compiled_for(&note), None);
    }

    #[test]
    fn the_note_says_how_the_assembler_was_called() {
        assert_eq!(suffix("ptxas\0 -arch sm_120a -m 64 ", "sm_120"), "a");
        assert_eq!(suffix("-arch sm_90 -m 64", "sm_90"), "");
        assert_eq!(suffix("-arch sm_100f", "sm_100"), "f");
        assert_eq!(suffix("-arch sm_100", "sm_10"), "");
    }

    /// `e_flags` of ptxas 12.4 for sm_86 from compute_80 and sm_90a, of ptxas 12.9 for sm_100a, and of ptxas 13.5.
    #[test]
    fn flags_say_the_target() {
        let read = |osabi, flags, compat| {
            let notes = Notes {
                compat,
                ..Notes::default()
            };
            let header = of(osabi, flags, notes);
            (header.target(), header.virtual_number)
        };
        assert_eq!(read(OSABI_7, 0x50_0556, &[]), ("sm_86".to_owned(), Some(80)));
        assert_eq!(read(OSABI_7, 0x5a_0d5a, &[]), ("sm_90a".to_owned(), Some(90)));
        assert_eq!(read(OSABI_8, 0x600_640a, &[]), ("sm_100a".to_owned(), None));
        assert_eq!(read(OSABI_8, 0x600_6402, &[]), ("sm_100".to_owned(), None));
        let compat = &[2, 9, 1, 0, 2, 2, 1, 0];
        assert_eq!(read(OSABI_8, 0x600_5a04, compat), ("sm_90a".to_owned(), None));
        assert_eq!(read(7, 0x600_5a04, compat), (String::new(), None));
    }

    #[test]
    fn the_class_of_the_code_is_an_attribute() {
        for (number, class) in [
            (0, None),
            (1, Some(CodeClass::Baseline)),
            (2, Some(CodeClass::FamilySpecific)),
            (3, Some(CodeClass::ArchitectureSpecific)),
            (4, None),
        ] {
            // As ptxas 13.5 writes it for sm_100a: attributes of one byte, of two, and with bytes after them.
            let mut section = vec![2, 9, 1, 0, 2, 0x0c, 0, 0];
            section.extend([2, 2, number, 0, 3, 0x0d, 1, 1]);
            section.extend([4, 0x0b, 8, 0, 2, 2, 3, 0, 0, 0, 0, 0, 3, 0x0e, 0x40, 4]);
            assert_eq!(Compat::read(&section).class, class);
            assert!(Compat::read(&section).is_specific);
            for length in 0..section.len() {
                let _ = Compat::read(&section[..length]);
            }
        }
    }
}
