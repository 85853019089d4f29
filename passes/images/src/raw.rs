//! PTX and machine code that lie in the data of host files as they are: texts in string literals, files taken in by `.incbin`
//! or `xxd`, for `cuModuleLoadData`. They are found by their first bytes.
//!
//! Many files hold texts that only begin like a module: templates, and pieces that a program puts together. A text is a module if the
//! parser accepts it; it ends with a NUL.

use memchr::memmem;
use object::read::elf::FileHeader as _;
use object::{LittleEndian, Object as _, ObjectSection as _};

use super::cubin;
use super::elf;
use super::sections::{Section, Sections};
use crate::kinds::ImageKind;
use crate::limits::MAX_RAW_HEAD_BYTES;

/// The beginnings of the names of sections without data of the program: debug information, tables of names, and those in which
/// images are found otherwise.
const PASSED_OVER: [&str; 9] = [
    ".debug",
    ".zdebug",
    ".symtab",
    ".strtab",
    ".shstrtab",
    ".dynstr",
    ".nv_fatbin",
    "__nv_rel",
    ".llvm.",
];

/// 64 bits, little endian, version 1.
const CUBIN: &[u8] = b"\x7fELF\x02\x01\x01";
const VERSION: &[u8] = b".version";
const TARGET: &[u8] = b".target";

/// An image in the data of a host file.
pub(super) struct RawImage<'a, 's> {
    pub(super) kind: ImageKind,
    pub(super) offset: usize,
    pub(super) payload: &'a [u8],
    pub(super) section: &'s Section,
}

/// The input of the search.
pub(super) struct Search<'s> {
    pub(super) sections: &'s Sections,
    /// The ranges of images that are known, sorted.
    pub(super) known: Vec<(usize, usize)>,
    /// True if a text is a module.
    pub(super) is_module: &'s dyn Fn(&[u8]) -> bool,
    pub(super) is_late: &'s dyn Fn() -> bool,
}

impl<'s> Search<'s> {
    /// Searches `bytes`; each byte is read only a few times. Returns true if the search reached the end in time.
    pub(super) fn run<'a>(&self, bytes: &'a [u8], mut found: impl FnMut(RawImage<'a, 's>)) -> bool {
        let mut done = 0;
        for section in self.sections.all().filter(|section| !is_passed_over(section)) {
            if (self.is_late)() {
                return false;
            }
            let end = usize::try_from(section.end)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            let start = usize::try_from(section.start).unwrap_or(usize::MAX).max(done);
            let Some(data) = bytes.get(start..end) else {
                continue;
            };
            done = end;
            let mut cubins = Vec::new();
            for hit in memmem::find_iter(data, CUBIN) {
                let is_inside = cubins.last().is_some_and(|(_, end)| start + hit < *end);
                if is_inside || self.is_known(start + hit) {
                    continue;
                }
                if let Some(payload) = whole_cubin(&data[hit..]) {
                    cubins.push((start + hit, start + hit + payload.len()));
                    found(RawImage {
                        kind: ImageKind::Cubin,
                        offset: start + hit,
                        payload,
                        section,
                    });
                }
            }
            let is_taken = |at: usize| self.is_known(at) || holds(&cubins, at);
            let mut at = 0;
            while let Some(hit) = memmem::find(&data[at..], VERSION).map(|hit| at + hit) {
                at = hit + VERSION.len();
                let is_start = hit == 0 || !data[hit - 1].is_ascii_graphic();
                if !is_start || is_taken(start + hit) || !is_head(&data[hit..]) {
                    continue;
                }
                let first = begin(data, hit);
                at = memchr::memchr(0, &data[hit..]).map_or(data.len(), |end| hit + end);
                let payload = &data[first..at];
                if (self.is_module)(payload) {
                    found(RawImage {
                        kind: ImageKind::Ptx,
                        offset: start + first,
                        payload,
                        section,
                    });
                }
                if (self.is_late)() {
                    return false;
                }
            }
        }
        true
    }

    fn is_known(&self, at: usize) -> bool {
        holds(&self.known, at)
    }
}

/// True if one of the ranges, which are sorted, holds `at`.
fn holds(ranges: &[(usize, usize)], at: usize) -> bool {
    let next = ranges.partition_point(|(start, _)| *start <= at);
    next.checked_sub(1).is_some_and(|last| at < ranges[last].1)
}

fn is_passed_over(section: &Section) -> bool {
    section.is_code || PASSED_OVER.iter().any(|name| section.name.starts_with(name))
}

/// The machine code that begins here, if all of it is there.
fn whole_cubin(data: &[u8]) -> Option<&[u8]> {
    let file = elf::parse(data).ok().filter(elf::is_cubin)?;
    let header = file.elf_header();
    let table = |start: u64, count: u16, size: u16| start.checked_add(u64::from(count) * u64::from(size));
    let sections = table(
        header.e_shoff(LittleEndian),
        header.e_shnum(LittleEndian),
        header.e_shentsize(LittleEndian),
    )?;
    let segments = table(
        header.e_phoff(LittleEndian),
        header.e_phnum(LittleEndian),
        header.e_phentsize(LittleEndian),
    )?;
    let ends = file.sections().filter_map(|section| section.file_range());
    let end = ends
        .filter_map(|(start, size)| start.checked_add(size))
        .fold(sections.max(segments), u64::max);
    let whole = data.get(..usize::try_from(end).ok()?)?;
    cubin::read(whole).ok().map(|_| whole)
}

/// True if `.version 8.5`, white space or comments, and `.target sm_90` stand here.
fn is_head(data: &[u8]) -> bool {
    let head = &data[..data.len().min(MAX_RAW_HEAD_BYTES)];
    let number = head[VERSION.len()..].trim_ascii_start();
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let digits = number.iter().take_while(|byte| is_number(byte)).count();
    if digits < 3 || number.len() == head.len() - VERSION.len() {
        return false;
    }
    let mut rest = number[digits..].trim_ascii_start();
    while rest.starts_with(b"//") {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        rest = rest[end..].trim_ascii_start();
    }
    let target = rest.strip_prefix(TARGET).map(<[u8]>::trim_ascii_start);
    let number = target.and_then(|target| target.strip_prefix(b"sm_"));
    number.is_some_and(|number| number.first().is_some_and(u8::is_ascii_digit))
}

/// The beginning of the text whose `.version` stands at `at`: with the comments and empty lines before it.
fn begin(data: &[u8], at: usize) -> usize {
    let mut first = at;
    let floor = at.saturating_sub(MAX_RAW_HEAD_BYTES);
    loop {
        let before = &data[floor..first];
        let line = match before {
            [others @ .., b'\n'] => memchr::memrchr2(b'\n', 0, others).map_or(0, |end| end + 1),
            _ => break,
        };
        let text = before[line..].trim_ascii();
        let is_text = text
            .iter()
            .all(|byte| *byte == b'\t' || (b' '..=b'~').contains(byte));
        if !is_text || !(text.is_empty() || text.starts_with(b"//")) {
            break;
        }
        first = floor + line;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_like_a_module_is_one() {
        for (text, is_one) in [
            (".version 8.5\n.target sm_90\n", true),
            (".version\t8.5\r\n// c\n\n.target  sm_90a, debug", true),
            (".version 8.5 .target sm_90", true),
            (".version %d.%d\n.target sm_90\n", false),
            (".version 8.5\n.target sm_%d\n", false),
            (".version 8.5\n.address_size 64\n", false),
            (".version8.5\n.target sm_90\n", false),
            (".version ", false),
            (".version", false),
        ] {
            assert_eq!(is_head(text.as_bytes()), is_one, "{text}");
        }
    }

    #[test]
    fn comments_above_belong_to_a_text() {
        let at = |before: &str| {
            let text = format!("{before}.version 8.5\n");
            begin(text.as_bytes(), before.len())
        };
        assert_eq!(at(""), 0);
        assert_eq!(at("other\0//\n// a\n\n"), 6);
        assert_eq!(at("other\n// a\n"), 6);
        assert_eq!(at("x\0"), 2);
        assert_eq!(at("no comment\n"), 11);
        assert_eq!(at("\x01\n"), 2);
    }
}
