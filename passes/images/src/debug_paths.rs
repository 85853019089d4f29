//! Absolute paths in the debug information of machine code: the files of its line programs (`.debug_line`), and what its
//! compilation units say of their source (`.debug_info`).

use std::collections::BTreeSet;

use gimli::{
    AttributeValue, DebugAbbrev, DebugInfo, DebugLine, DebugLineOffset, DebugStr, EndianSlice, LittleEndian,
};

use crate::limits::{MAX_ABBREVIATION_BYTES, MAX_DEBUG_BYTES, MAX_DEBUG_UNITS};
use ptxcheck_ir::facts::is_absolute;
use ptxcheck_ir::limits::SHOWN_PATHS;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The size of addresses that line programs are read with: addresses do not matter here.
const ADDRESS_BYTES: u8 = 8;

/// The sections with debug information; empty where there are none.
#[derive(Default)]
pub(super) struct Sections<'a> {
    pub(super) line: &'a [u8],
    pub(super) info: &'a [u8],
    pub(super) abbreviations: &'a [u8],
    pub(super) strings: &'a [u8],
}

impl<'a> Sections<'a> {
    /// The place for the section with this name.
    pub(super) fn named(&mut self, name: &str) -> Option<&mut &'a [u8]> {
        match name {
            ".debug_line" => Some(&mut self.line),
            ".debug_info" => Some(&mut self.info),
            ".debug_abbrev" => Some(&mut self.abbreviations),
            ".debug_str" => Some(&mut self.strings),
            _ => None,
        }
    }

    /// The paths, sorted, each once; at most [`SHOWN_PATHS`]. What is malformed has none.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = BTreeSet::new();
        self.line_programs(&mut paths);
        self.units(&mut paths);
        paths.into_iter().take(SHOWN_PATHS).collect()
    }

    fn line_programs(&self, paths: &mut BTreeSet<String>) {
        let bytes = head(self.line, MAX_DEBUG_BYTES);
        let lines = DebugLine::new(bytes, LittleEndian);
        let mut at = 0;
        for _ in 0..MAX_DEBUG_UNITS {
            if at >= bytes.len() || paths.len() >= SHOWN_PATHS {
                return;
            }
            let Ok(program) = lines.program(DebugLineOffset(at), ADDRESS_BYTES, None, None) else {
                return;
            };
            let header = program.header();
            for file in header.file_names() {
                let directory = file.directory(header).and_then(|directory| self.text(&directory));
                if let Some(name) = self.text(&file.path_name()) {
                    add(directory, name, paths);
                }
            }
            // 32-bit DWARF: the length does not count itself.
            at += header.unit_length() + 4;
        }
    }

    fn units(&self, paths: &mut BTreeSet<String>) {
        let abbreviations = DebugAbbrev::new(head(self.abbreviations, MAX_ABBREVIATION_BYTES), LittleEndian);
        let mut units = DebugInfo::new(head(self.info, MAX_DEBUG_BYTES), LittleEndian).units();
        for _ in 0..MAX_DEBUG_UNITS {
            let Ok(Some(unit)) = units.next() else { return };
            let Ok(abbreviations) = unit.abbreviations(&abbreviations) else {
                continue;
            };
            let mut entries = unit.entries(&abbreviations);
            let Ok(Some(root)) = entries.next_dfs() else {
                continue;
            };
            let text = |name| root.attr_value(name).and_then(|value| self.text(&value));
            let directory = text(gimli::DW_AT_comp_dir);
            if let Some(name) = text(gimli::DW_AT_name) {
                add(directory, name, paths);
            }
        }
    }

    fn text(&self, value: &AttributeValue<Bytes<'a>>) -> Option<&'a [u8]> {
        match value {
            AttributeValue::String(text) => Some(text.slice()),
            AttributeValue::DebugStrRef(offset) => {
                let strings = DebugStr::new(self.strings, LittleEndian);
                strings.get_str(*offset).ok().map(|text| text.slice())
            }
            _ => None,
        }
    }
}

/// The first bytes, at most `limit`.
fn head(bytes: &[u8], limit: usize) -> &[u8] {
    &bytes[..bytes.len().min(limit)]
}

fn add(directory: Option<&[u8]>, name: &[u8], paths: &mut BTreeSet<String>) {
    let path = match directory {
        Some(directory) if !is_absolute(name) => [directory, b"/", name].concat(),
        _ => name.to_vec(),
    };
    if is_absolute(&path) && paths.len() < SHOWN_PATHS {
        paths.insert(ptxcheck_common::shown::source(&path).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line program of version 3, as ptxas writes it, without any lines.
    fn program(directories: &[&str], files: &[(&str, u8)]) -> Vec<u8> {
        let mut header = vec![1, 1, 0xfb, 0x0e, 0x0d, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
        for directory in directories {
            header.extend(directory.bytes());
            header.push(0);
        }
        header.push(0);
        for (name, directory) in files {
            header.extend(name.bytes());
            header.extend([0, *directory, 0, 0]);
        }
        header.push(0);
        let mut body = 3_u16.to_le_bytes().to_vec();
        body.extend((header.len() as u32).to_le_bytes());
        body.extend(header);
        [(body.len() as u32).to_le_bytes().to_vec(), body].concat()
    }

    fn paths(line: &[u8]) -> Vec<String> {
        let sections = Sections {
            line,
            ..Sections::default()
        };
        sections.paths()
    }

    #[test]
    fn files_lie_in_directories() {
        let line = [
            program(
                &["/home/me", "include"],
                &[("a.cu", 1), ("b.h", 2), ("c.h", 0), ("/d.h", 2)],
            ),
            program(&[], &[("/home/me/e.cu", 0)]),
        ]
        .concat();
        assert_eq!(paths(&line), ["/d.h", "/home/me/a.cu", "/home/me/e.cu"]);
        for end in 0..line.len() {
            let _ = paths(&line[..end]);
        }
        for at in 0..line.len() {
            let mut mutant = line.clone();
            mutant[at] = 0xff;
            let _ = paths(&mutant);
        }
    }

    #[test]
    fn units_name_their_source() {
        // One entry without children: DW_AT_name and DW_AT_comp_dir, both as strings in place.
        let abbreviations = b"\x01\x11\x00\x03\x08\x1b\x08\x00\x00\x00";
        let unit = [&b"\x02\x00\0\0\0\0\x08\x01"[..], b"k.cu\0/home/me\0"].concat();
        let info = [(unit.len() as u32).to_le_bytes().to_vec(), unit].concat();
        let sections = Sections {
            info: &info,
            abbreviations,
            ..Sections::default()
        };
        assert_eq!(sections.paths(), ["/home/me/k.cu"]);
    }
}
