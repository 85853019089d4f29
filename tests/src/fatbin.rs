//! Writers of the files that hold device code: fat binaries, ELF files, archives, objects and executables of Windows. They
//! write what the tests say, right or wrong.

use std::rc::Rc;

/// An image of a fat binary. Fields that are `None` are what they should be.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// 1 PTX, 2 machine code, 8 LTO-IR.
    pub kind: u16,
    /// 90
    pub sm: u32,
    /// Flags besides the packing; [`IS_64_BIT`] belongs here.
    pub flags: u64,
    /// PTX ISA version.
    pub isa: (u16, u16),
    /// The content.
    pub content: Vec<u8>,
    /// Its compression.
    pub packing: Packing,
    /// The unpacked size in the header.
    pub unpacked: Option<u64>,
    /// The size of the payload in the header.
    pub padded: Option<u64>,
    /// The size of the header in the header.
    pub header: Option<u32>,
    /// Bytes of the header after the first 64, where compilers keep options and names.
    pub more_header: usize,
}

/// The compression of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    #[default]
    None,
    /// As an LZ4 block of literals.
    Lz4,
    /// As a zstd frame of raw blocks.
    Zstd,
}

/// The flag of images for 64-bit hosts.
pub const IS_64_BIT: u64 = 1;
/// The flag of `-G` builds.
pub const IS_DEBUG: u64 = 2;
/// The flag of `sm_90a`.
pub const SPECIFIC: u64 = 0x10_0000;

impl Entry {
    /// PTX for a target.
    #[must_use]
    pub fn ptx(sm: u32, text: &str) -> Self {
        Self {
            kind: 1,
            sm,
            flags: IS_64_BIT,
            isa: (7, 8),
            content: text.as_bytes().to_vec(),
            ..Self::default()
        }
    }

    /// Machine code for a target.
    #[must_use]
    pub fn cubin(sm: u32, content: Vec<u8>) -> Self {
        Self {
            kind: 2,
            sm,
            flags: IS_64_BIT,
            content,
            ..Self::default()
        }
    }

    /// The entry with its content compressed.
    #[must_use]
    pub fn packed(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut payload, flag) = match self.packing {
            Packing::None => (self.content.clone(), 0),
            Packing::Lz4 => (lz4(&self.content), 0x2000),
            Packing::Zstd => (zstd(&self.content), 0x8000),
        };
        let packed = if self.packing == Packing::None {
            0
        } else {
            payload.len() as u32
        };
        payload.resize(payload.len().next_multiple_of(8), 0);
        let unpacked = match self.packing {
            Packing::None => 0,
            _ => self.content.len() as u64,
        };
        let mut bytes = Vec::new();
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(0x101_u16.to_le_bytes());
        bytes.extend(self.header.unwrap_or(64 + self.more_header as u32).to_le_bytes());
        bytes.extend(self.padded.unwrap_or(payload.len() as u64).to_le_bytes());
        bytes.extend(packed.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(self.isa.1.to_le_bytes());
        bytes.extend(self.isa.0.to_le_bytes());
        bytes.extend(self.sm.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend((self.flags | flag).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(self.unpacked.unwrap_or(unpacked).to_le_bytes());
        bytes.resize(bytes.len() + self.more_header, 0xff);
        bytes.extend(payload);
        bytes
    }
}

/// A fat binary with these images.
#[must_use]
pub fn container(entries: &[Entry]) -> Vec<u8> {
    let content: Vec<u8> = entries.iter().flat_map(Entry::bytes).collect();
    with_size(content.len() as u64, &content)
}

/// A fat binary that says it has `size` bytes.
#[must_use]
pub fn with_size(size: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x50\xed\x55\xba\x01\x00\x10\x00".to_vec();
    bytes.extend(size.to_le_bytes());
    bytes.extend(content);
    bytes
}

/// One LZ4 block of literals alone.
fn lz4(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![(content.len().min(15) as u8) << 4];
    if let Some(mut rest) = content.len().checked_sub(15) {
        while rest >= 255 {
            bytes.push(255);
            rest -= 255;
        }
        bytes.push(rest as u8);
    }
    bytes.extend(content);
    bytes
}

/// A zstd frame of raw blocks.
fn zstd(content: &[u8]) -> Vec<u8> {
    // Magic, then a descriptor: one segment, content size in 4 bytes.
    let mut bytes = b"\x28\xb5\x2f\xfd\xa0".to_vec();
    bytes.extend((content.len() as u32).to_le_bytes());
    let blocks: Vec<&[u8]> = content.chunks(1 << 16).collect();
    for (number, block) in blocks.iter().enumerate() {
        let is_last = u32::from(number + 1 == blocks.len());
        bytes.extend(&((block.len() as u32) << 3 | is_last).to_le_bytes()[..3]);
        bytes.extend(*block);
    }
    bytes
}

/// A zstd frame of `blocks` blocks that each stand for 128 KiB of zeros in four bytes: a bomb.
#[must_use]
pub fn zstd_bomb(blocks: usize) -> Vec<u8> {
    // A window of 128 KiB, no content size.
    let mut bytes = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
    for number in 0..blocks {
        let is_last = u32::from(number + 1 == blocks);
        bytes.extend(&((1_u32 << 17) << 3 | 1 << 1 | is_last).to_le_bytes()[..3]);
        bytes.push(0);
    }
    bytes
}

/// A symbol of an ELF file.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name. Many symbols may share a long one.
    pub name: Rc<str>,
    /// Binding and type.
    pub info: u8,
    /// 0x10 for kernels.
    pub other: u8,
    /// The 1-based number of its section; 0 if it is undefined.
    pub section: u16,
    /// Bytes.
    pub size: u64,
}

/// An ELF file.
#[derive(Clone, Debug)]
pub struct Elf {
    /// 62 x86-64, 190 CUDA.
    pub machine: u16,
    /// 1 object, 2 executable, 3 shared library.
    pub kind: u16,
    /// `0x41` for new cubins.
    pub os_abi: u8,
    /// `sm << 8` for new cubins.
    pub flags: u32,
    /// Names and contents.
    pub sections: Vec<(String, Vec<u8>)>,
    /// Symbols, besides the first.
    pub symbols: Vec<Symbol>,
}

/// The section with the names of needed libraries.
const DYNAMIC_STRINGS: &str = ".dynstr";

impl Elf {
    /// A host file.
    #[must_use]
    pub fn host(kind: u16) -> Self {
        Self {
            machine: 62,
            kind,
            os_abi: 0,
            flags: 0,
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Machine code with kernels: the name, and offset and size of each parameter.
    #[must_use]
    pub fn cubin(sm: u32, kernels: &[(&str, &[(u16, u32)])]) -> Self {
        let mut elf = Self {
            machine: 190,
            kind: 2,
            os_abi: 0x41,
            flags: sm << 8 | 2,
            sections: Vec::new(),
            symbols: Vec::new(),
        };
        for (name, params) in kernels {
            let mut info = vec![0x03, 0x19, 0, 0];
            for (number, (offset, size)) in params.iter().enumerate() {
                info.extend([0x04, 0x17, 12, 0, 0, 0, 0, 0]);
                info.extend((number as u16).to_le_bytes());
                info.extend(offset.to_le_bytes());
                info.extend((size << 18 | 0xf000).to_le_bytes());
            }
            elf.sections.push((format!(".nv.info.{name}"), info));
            elf.sections.push((format!(".text.{name}"), vec![0; 128]));
            elf.symbols.push(Symbol {
                name: (*name).into(),
                info: 0x12,
                other: 0x10,
                section: elf.sections.len() as u16,
                size: 128,
            });
        }
        elf
    }

    /// The file with one more section.
    #[must_use]
    pub fn section(mut self, name: &str, content: Vec<u8>) -> Self {
        self.sections.push((name.to_owned(), content));
        self
    }

    /// The file with these libraries as needed ones, and this version of the symbols of the first.
    #[must_use]
    pub fn needing(self, libraries: &[&str], version: &str) -> Self {
        const NEEDED: u64 = 1;
        let (mut strings, mut dynamic) = (vec![0], Vec::new());
        let mut first = None;
        for library in libraries {
            first.get_or_insert(strings.len() as u32);
            dynamic.extend(NEEDED.to_le_bytes());
            dynamic.extend((strings.len() as u64).to_le_bytes());
            strings.extend(library.bytes());
            strings.push(0);
        }
        dynamic.extend([0; 16]);
        // Verneed: version, count, file, offset of the first record, offset of the next library.
        let mut versions = [1_u16, 1].map(u16::to_le_bytes).concat();
        for word in [first.unwrap_or_default(), 16, 0, 0, 0, strings.len() as u32, 0] {
            versions.extend(word.to_le_bytes());
        }
        strings.extend(version.bytes());
        strings.push(0);
        self.section(DYNAMIC_STRINGS, strings)
            .section(".dynamic", dynamic)
            .section(".gnu.version_r", versions)
    }

    /// Type and linked section of a section.
    fn kind_and_link(&self, name: &str) -> (u32, u32) {
        let strings = || {
            let mut names = self.sections.iter();
            names
                .position(|(name, _)| name == DYNAMIC_STRINGS)
                .map_or(0, |at| at as u32 + 1)
        };
        match name {
            DYNAMIC_STRINGS => (3, 0),
            ".dynamic" => (6, strings()),
            ".gnu.version_r" => (0x6fff_fffe, strings()),
            _ => (1, 0),
        }
    }

    /// The file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        const HEADER: usize = 64;
        let (mut names, mut strings) = (vec![0], vec![0]);
        let mut symbols = vec![0; 24];
        let mut last: Option<(&str, u32)> = None;
        for symbol in &self.symbols {
            // Symbols in a row with one name share it.
            let known = last.filter(|(name, _)| *name == &*symbol.name);
            let offset = known.map_or(strings.len() as u32, |(_, offset)| offset);
            last = Some((&symbol.name, offset));
            symbols.extend(offset.to_le_bytes());
            symbols.extend([symbol.info, symbol.other]);
            symbols.extend(symbol.section.to_le_bytes());
            symbols.extend(0_u64.to_le_bytes());
            symbols.extend(symbol.size.to_le_bytes());
            if known.is_none() {
                strings.extend(symbol.name.bytes());
                strings.push(0);
            }
        }
        let strtab = self.sections.len() as u32 + 2;
        let mut body = Vec::new();
        let mut headers = vec![0; HEADER];
        let own = self.sections.iter().map(|(name, content)| {
            let (kind, link) = self.kind_and_link(name);
            (name.as_str(), content.as_slice(), kind, link, 0)
        });
        let made = [
            (".symtab", symbols.as_slice(), 2, strtab, 24),
            (".strtab", strings.as_slice(), 3, 0, 0),
        ];
        let mut add = |name: &str, content: &[u8], kind: u32, link: u32, entry: u64, names: &mut Vec<u8>| {
            body.resize(body.len().next_multiple_of(8), 0);
            headers.extend((names.len() as u32).to_le_bytes());
            headers.extend(kind.to_le_bytes());
            headers.extend([0; 16]);
            headers.extend(((HEADER + body.len()) as u64).to_le_bytes());
            headers.extend((content.len() as u64).to_le_bytes());
            headers.extend(link.to_le_bytes());
            headers.extend(0_u32.to_le_bytes());
            headers.extend(1_u64.to_le_bytes());
            headers.extend(entry.to_le_bytes());
            names.extend(name.bytes());
            names.push(0);
            body.extend(content);
        };
        for (name, content, kind, link, entry) in own.chain(made) {
            add(name, content, kind, link, entry, &mut names);
        }
        let mut all_names = names.clone();
        all_names.extend(b".shstrtab\0");
        add(".shstrtab", &all_names, 3, 0, 0, &mut names);
        body.resize(body.len().next_multiple_of(8), 0);

        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.push(self.os_abi);
        file.extend([0; 8]);
        file.extend(self.kind.to_le_bytes());
        file.extend(self.machine.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend([0; 16]);
        file.extend(((HEADER + body.len()) as u64).to_le_bytes());
        file.extend(self.flags.to_le_bytes());
        let count = (headers.len() / 64) as u16;
        for word in [64, 0, 0, 64, count, count - 1] {
            file.extend(word.to_le_bytes());
        }
        file.extend(body);
        file.extend(headers);
        file
    }
}

/// A static archive with these members, their names under 16 bytes.
#[must_use]
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let name = format!("{name}/");
        bytes.extend(
            format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                0,
                0,
                0,
                644,
                content.len()
            )
            .bytes(),
        );
        bytes.extend(*content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// A COFF object with these sections. Names over eight bytes lie in the table of strings.
#[must_use]
pub fn coff(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut headers, mut contents) = (Vec::new(), Vec::new());
    let mut strings = vec![0; 4];
    let start = 20 + 40 * sections.len();
    for (name, content) in sections {
        let mut field = name.as_bytes().to_vec();
        if field.len() > 8 {
            field = format!("/{}", strings.len()).into_bytes();
            strings.extend(name.bytes());
            strings.push(0);
        }
        field.resize(8, 0);
        headers.extend(section_header(&field, content.len(), start + contents.len()));
        contents.extend(*content);
    }
    let length = (strings.len() as u32).to_le_bytes();
    strings[..4].copy_from_slice(&length);
    let mut file = coff_header(sections.len(), start + contents.len(), 0);
    for part in [headers, contents, strings] {
        file.extend(part);
    }
    file
}

/// A PE executable for x86-64 with these sections, their names cut to eight bytes.
#[must_use]
pub fn pe(sections: &[(&str, &[u8])]) -> Vec<u8> {
    const PE_HEADER: usize = 64;
    const OPTIONAL_HEADER: usize = 112;
    let mut file = b"MZ".to_vec();
    file.resize(60, 0);
    file.extend((PE_HEADER as u32).to_le_bytes());
    file.extend(b"PE\0\0");
    file.extend(coff_header(sections.len(), 0, OPTIONAL_HEADER as u16));
    let optional = file.len();
    file.extend(0x20b_u16.to_le_bytes());
    file.resize(optional + OPTIONAL_HEADER, 0);
    let mut at = file.len() + 40 * sections.len();
    for (name, content) in sections {
        let mut field = name.as_bytes().to_vec();
        field.resize(8, 0);
        file.extend(section_header(&field, content.len(), at));
        at += content.len();
    }
    for (_, content) in sections {
        file.extend(*content);
    }
    file
}

fn coff_header(sections: usize, symbols: usize, optional: u16) -> Vec<u8> {
    let mut bytes = 0x8664_u16.to_le_bytes().to_vec();
    bytes.extend((sections as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend((symbols as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(optional.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn section_header(name: &[u8], size: usize, offset: usize) -> Vec<u8> {
    let mut bytes = name.to_vec();
    for word in [size, 0x1000, size, offset, 0, 0, 0, 0x4000_0040] {
        bytes.extend((word as u32).to_le_bytes());
    }
    bytes
}

/// One of clang's bundles with one image: 2 for bitcode, 5 for PTX.
#[must_use]
pub fn offloading(kind: u16, target: &str, image: &[u8]) -> Vec<u8> {
    const STRINGS: usize = 32 + 40 + 16;
    let strings = format!("arch\0{target}\0");
    let content = STRINGS + strings.len();
    let size = (content + image.len()).next_multiple_of(8);
    let mut bytes = b"\x10\xff\x10\xad".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    for number in [size, 32, 40] {
        bytes.extend((number as u64).to_le_bytes());
    }
    bytes.extend(kind.to_le_bytes());
    bytes.extend([2, 0, 0, 0, 0, 0]);
    for number in [72, 1, content, image.len(), STRINGS, STRINGS + 5] {
        bytes.extend((number as u64).to_le_bytes());
    }
    bytes.extend(strings.bytes());
    bytes.extend(image);
    bytes.resize(size, 0);
    bytes
}
