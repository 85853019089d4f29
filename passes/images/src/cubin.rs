//! The declarations of machine code: kernels with their parameters and launch bounds, variables, weak functions.
//!
//! A cubin is an ELF file. Kernels are function symbols with bit 4 of `st_other`; `.nv.info.<kernel>` lists
//! attributes of a format byte, an attribute byte and two bytes (format 4: the size of what follows).

mod bodies;
mod linkage;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use object::read::elf::{FileHeader as _, Sym as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget};
use ptxcheck_common::maps::NameMap;

pub use bodies::digest_kernels;

use super::bytes::{Budget, text, u16_at, u32_at};
use super::debug_paths;
use super::elf::{self, RELOCATION_BYTES};
use crate::errors::BadFile;
use ptxcheck_common::names;
use ptxcheck_ir::LaunchBounds;
use ptxcheck_ir::facts::{CompilerOptions, Facts, Kernel, Variable, WeakFunction};

/// The format of attributes that are followed by bytes.
const SIZED: u8 = 4;
const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const PARAMETER: u8 = 0x17;

/// Bytes before the name in a note.
const CUINFO_NAME: usize = 12;

/// The size field of a parameter has 14 bits.
const MAX_PARAMETER_BYTES: u32 = (1 << 14) - 1;

/// The section with the machine code's own PTX, in `-G` builds: lines that end with a NUL.
pub const DEBUG_PTX: &str = ".nv_debug_ptx_txt";

/// The header and declarations of a cubin.
#[derive(Debug)]
pub struct Cubin {
    /// `sm_90a`; empty for versions of the format that this release does not know.
    pub target: String,
    /// The number of the virtual architecture that it was compiled for, 80 of `compute_80`, where its note says so.
    pub virtual_number: Option<u32>,
    /// It is to be linked.
    pub is_relocatable: bool,
    /// Its declarations.
    pub facts: Facts,
    /// The PTX it was made from, for debuggers; without comments and `.loc`.
    pub ptx: Option<Vec<u8>>,
}

/// Reads a cubin.
///
/// # Errors
///
/// [`BadFile`], if it is no machine code for a GPU, or its headers are broken.
pub fn read(bytes: &[u8]) -> Result<Cubin, BadFile> {
    if !bytes.starts_with(elf::MAGIC) {
        return Err(BadFile::NoElf);
    }
    let file = elf::parse(bytes)?;
    if !elf::is_cubin(&file) {
        return Err(BadFile::OtherMachine);
    }
    let mut facts = Facts::default();
    let mut infos: NameMap<&str, &[u8]> = NameMap::default();
    let mut debug = debug_paths::Sections::default();
    let mut ptx = None;
    let mut command = String::new();
    let mut virtual_number = None;
    for section in file.sections() {
        let Ok(name) = section.name() else {
            facts.is_damaged = true;
            continue;
        };
        let mut data = || {
            section.data().unwrap_or_else(|_| {
                facts.is_damaged = true;
                &[]
            })
        };
        if let Some(kernel) = name.strip_prefix(".nv.info.") {
            infos.insert(kernel, data());
        } else if name == DEBUG_PTX {
            ptx = Some(data());
        } else if let Some(part) = debug.named(name) {
            *part = data();
        } else if name == ".note.nv.tkinfo" {
            let note = data();
            facts.producer = producer(note);
            command = String::from_utf8_lossy(note).into_owned();
        } else if name == ".note.nv.cuinfo" {
            virtual_number = compiled_for(data());
        } else if name == ".nv_debug_info_reg_type" {
            facts.is_debug = true;
        }
    }
    facts.paths = debug.paths();
    symbols(&file, &infos, &mut facts);
    facts.symbols = (!facts.is_damaged).then(|| linkage::symbols(&file)).flatten();
    let mut target = target(&file);
    if !target.is_empty() && target.ends_with(|letter: char| letter.is_ascii_digit()) {
        let suffix = suffix(&command, &target).to_owned();
        target.push_str(&suffix);
    }
    Ok(Cubin {
        target,
        virtual_number,
        is_relocatable: elf::is_object(&file),
        ptx: ptx.filter(|_| facts.is_debug).map(|text| {
            text.iter()
                .map(|byte| if *byte == 0 { b'\n' } else { *byte })
                .collect()
        }),
        facts,
    })
}

/// The architecture-specific suffix that the assembler was called with (`-arch sm_90a` in its note): the flags of the
/// file say it only where the code needs it.
fn suffix<'a>(note: &'a str, target: &str) -> &'a str {
    note.split_once(target)
        .map(|(_, rest)| {
            rest.split(|letter: char| !letter.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default()
        })
        .filter(|suffix| ["a", "f"].contains(suffix))
        .unwrap_or_default()
}

/// ABI 7 (OSABI 0x33) keeps the architecture in the low byte of the flags, ABI 8 (0x41) in the second.
fn target(file: &elf::Elf<'_>) -> String {
    let header = file.elf_header();
    let flags = header.e_flags(LittleEndian).0;
    let (sm, is_specific) = match header.e_ident().os_abi.0 {
        0x33 => (flags & 0xff, flags & 0x800 != 0),
        0x41 => (flags >> 8 & 0xff, flags & 0x8 != 0),
        _ => return String::new(),
    };
    format!("sm_{sm}{}", if is_specific { "a" } else { "" })
}

fn symbols(file: &elf::Elf<'_>, infos: &NameMap<&str, &[u8]>, facts: &mut Facts) {
    let mut budget = Budget::of(file.data());
    for symbol in file.symbols() {
        let raw = symbol.elf_symbol();
        if symbol.is_undefined() {
            continue;
        }
        let Ok(name) = symbol.name() else {
            facts.is_damaged = true;
            continue;
        };
        if !budget.take(name.len()) {
            facts.is_damaged = true;
            return;
        }
        match symbol.kind() {
            object::SymbolKind::Text if elf::is_kernel(raw) => {
                let info = infos.get(name).copied().filter(|info| budget.take(info.len()));
                let info = info.unwrap_or_default();
                facts.kernels.push(kernel(name, info, symbol.size()));
            }
            // Local copies of functions that were not inlined have a `$` in their names.
            object::SymbolKind::Text if !name.starts_with('$') => facts.functions += 1,
            _ if elf::is_cuda_variable(raw) && is_in_memory(file, &symbol) && !name.contains('$') => {
                facts.variables.push(Variable {
                    name: name.to_owned(),
                    identity: names::normalised(name).into_owned(),
                    size: symbol.size(),
                });
            }
            _ => {}
        }
        if symbol.kind() == object::SymbolKind::Text && raw.is_weak() {
            facts.weak.extend(weak(file, &symbol, name, &mut budget));
        }
    }
}

/// True if a symbol lies in global or constant memory.
fn is_in_memory<'a>(file: &elf::Elf<'a>, symbol: &impl object::ObjectSymbol<'a>) -> bool {
    let section = symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok());
    section.is_some_and(|section| {
        section
            .name()
            .is_ok_and(|name| name.starts_with(".nv.global") || name.starts_with(".nv.constant3"))
    })
}

fn kernel(name: &str, info: &[u8], code_bytes: u64) -> Kernel {
    let mut launch = LaunchBounds::default();
    let mut params: Vec<(u16, u32, u32)> = Vec::new();
    let mut is_known = !info.is_empty();
    let mut at = 0;
    while let (Some(&[format, attribute]), Some(word)) = (
        info.get(at..).and_then(<[u8]>::first_chunk::<2>),
        u16_at(info, at + 2),
    ) {
        at += 4;
        if format != SIZED {
            continue;
        }
        let Some(value) = info.get(at..at + usize::from(word)) else {
            is_known = false;
            break;
        };
        at += value.len();
        let triple = || Some([u32_at(value, 0)?, u32_at(value, 4)?, u32_at(value, 8)?]);
        match attribute {
            MAX_THREADS => launch.max_threads = triple(),
            REQUIRED_THREADS => launch.required_threads = triple(),
            PARAMETER => match (u16_at(value, 4), u16_at(value, 6), u32_at(value, 8)) {
                (Some(ordinal), Some(offset), Some(word)) => {
                    params.push((ordinal, offset.into(), word >> 18));
                }
                _ => is_known = false,
            },
            _ => {}
        }
    }
    params.sort_unstable();
    is_known &= params.iter().all(|(.., size)| *size < MAX_PARAMETER_BYTES);
    Kernel {
        name: name.to_owned(),
        identity: names::normalised(name).into_owned(),
        params: is_known.then(|| params.iter().map(|(_, offset, size)| (*offset, *size)).collect()),
        launch,
        code_bytes: Some(code_bytes),
        stub: None,
        resources: None,
        body: None,
        source: None,
    }
}

/// A weak function: its bytes, and what they are relocated to.
fn weak<'a>(
    file: &elf::Elf<'a>,
    symbol: &impl object::ObjectSymbol<'a>,
    name: &str,
    budget: &mut Budget,
) -> Option<WeakFunction> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let start = usize::try_from(symbol.address()).ok()?;
    let size = usize::try_from(symbol.size()).ok()?;
    let code = section.data().ok()?.get(start..start.checked_add(size)?)?;
    let all_code = section.data().ok()?.len();
    if !budget.take(all_code) {
        return None;
    }
    let mut body = DefaultHasher::new();
    code.hash(&mut body);
    let mut calls = DefaultHasher::new();
    for (offset, relocation) in section.relocations() {
        if !budget.take(RELOCATION_BYTES) {
            return None;
        }
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        if (symbol.address()..symbol.address() + symbol.size()).contains(&offset) {
            let target = file.symbol_by_index(index).ok();
            let name = target.and_then(|target| target.name_bytes().ok());
            if !budget.take(name.map_or(0, <[u8]>::len)) {
                return None;
            }
            name.hash(&mut calls);
        }
    }
    Some(WeakFunction {
        name: name.to_owned(),
        signature: 0,
        body: body.finish(),
        calls: calls.finish(),
        options: CompilerOptions::default(),
    })
}

/// The virtual architecture in the note `.note.nv.cuinfo`: a header of 12 bytes, the 12 of the vendor's name, then the version
/// of the note (2), the number of the architecture, and the version of the toolkit, as ptxas of CUDA 12 and 13 writes it.
fn compiled_for(note: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"NVIDIA Corp\0";
    let name = note.get(CUINFO_NAME..)?;
    let is_known = name.starts_with(NAME) && u16_at(note, CUINFO_NAME + NAME.len()) == Some(2);
    let number = u16_at(note, CUINFO_NAME + NAME.len() + 2).filter(|_| is_known)?;
    (number > 0).then_some(u32::from(number))
}

/// The tool and its version from the note: the text after the name of the tool in the third and following strings.
fn producer(note: &[u8]) -> Option<String> {
    // 12 bytes of header, the name of the vendor, then six words of which the third and fourth are offsets into the
    // strings behind them: too loose a layout to trust, so the texts are taken as they come.
    let texts: Vec<String> = note
        .get(12..)?
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

    fn attribute(number: u8, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![SIZED, number];
        bytes.extend((value.len() as u16).to_le_bytes());
        bytes.extend(value);
        bytes
    }

    /// As ptxas writes it for `k(int *, struct of 32 bytes, char)` with `__launch_bounds__(128)`.
    #[test]
    fn parameters_and_bounds_come_from_attributes() {
        let param = |ordinal: u8, offset: u8, word: u32| {
            let mut value = vec![0, 0, 0, 0, ordinal, 0, offset, 0];
            value.extend(word.to_le_bytes());
            attribute(PARAMETER, &value)
        };
        let mut info = vec![0x03, 0x19, 0x29, 0x00];
        info.extend(param(2, 0x28, 0x0005_f000));
        info.extend(param(1, 0x08, 0x0081_f000));
        info.extend(param(0, 0x00, 0x0021_f500));
        let bounds: Vec<u8> = [128_u32, 1, 1]
            .iter()
            .flat_map(|size| size.to_le_bytes())
            .collect();
        info.extend(attribute(MAX_THREADS, &bounds));
        let read = kernel("k", &info, 128);
        assert_eq!(read.params, Some(vec![(0, 8), (8, 32), (0x28, 1)]));
        assert_eq!(read.launch.max_threads, Some([128, 1, 1]));
        for length in 1..info.len() {
            let _ = kernel("k", &info[..length], 128);
        }
        assert_eq!(kernel("k", &[], 0).params, None);
    }

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

    #[test]
    fn what_is_no_cubin_is_refused() {
        assert!(read(b"not ELF").is_err());
        assert!(read(b"\x7fELF\x02\x01\x01").is_err());
    }
}
