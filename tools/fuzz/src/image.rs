//! Mutants of files that hold images: fat binaries, machine code, objects, executables, archives.

use std::path::Path;

use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::image;
use ptxcheck_passes::image::decompress::unpack;
use ptxcheck_passes::policy::{Driver, Policy, StubPolicy};
use ptxcheck_passes::rule::{Family, Level};
use ptxcheck_passes::rules;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};

use crate::fatbin::{self, Elf, Entry, IS_64_BIT, IS_DEBUG, Packing, SPECIFIC, Symbol};
use crate::numbers::{BOUNDARIES, Numbers};
use crate::ptx::collect;
use crate::verdict;

/// Largest mutant, in bytes.
const MAX_BYTES: usize = 1 << 18;

/// Largest seed, in bytes.
const MAX_SEED_BYTES: usize = 1 << 14;

/// The material for mutants of images.
pub struct Images {
    /// PTX to put into images.
    texts: Vec<String>,
    /// Images that nvcc wrote.
    files: Vec<Vec<u8>>,
}

impl Images {
    /// Reads the seeds below `corpus`.
    ///
    /// # Errors
    ///
    /// A sentence, if there are none.
    pub fn new(corpus: &Path) -> Result<Self, String> {
        let read = |folder: &str, endings: &[&str]| {
            let mut files = Vec::new();
            for ending in endings {
                collect(&corpus.join(folder), ending, &mut files);
            }
            files.sort();
            let bytes = files.iter().filter_map(|file| std::fs::read(file).ok());
            bytes
                .filter(|bytes| bytes.len() <= MAX_SEED_BYTES)
                .collect::<Vec<_>>()
        };
        let texts = read("rules/PTX407", &["ptx"]).into_iter();
        let texts: Vec<_> = texts.filter_map(|text| String::from_utf8(text).ok()).collect();
        let files = read("images", &["fatbin", "cubin", "o"]);
        if texts.is_empty() || files.is_empty() {
            return Err(format!("there are no images below {}", corpus.display()));
        }
        Ok(Self { texts, files })
    }

    /// The mutant of a run with this index.
    pub fn mutant(&self, numbers: &mut Numbers) -> Vec<u8> {
        let mut bytes = self.file(numbers, 0);
        // One in eight lies in its headers alone.
        if !numbers.one_in(8) {
            for _ in 0..[1, 1, 1, 2, 2, 3, 4, 8][numbers.below(8)] {
                self.damage(&mut bytes, numbers);
            }
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    /// A file, right except for the header fields that a writer is asked to get wrong.
    fn file(&self, numbers: &mut Numbers, depth: usize) -> Vec<u8> {
        if depth > 2 {
            return b"\x7fELF".to_vec();
        }
        match numbers.below(12) {
            0..=2 => self.container(numbers),
            3 | 4 => {
                let section = *numbers.pick(&[".nv_fatbin", "__nv_relfatbin", ".data", ".nvFatBinSegment"]);
                let mut elf =
                    Elf::host(1 + numbers.below(3) as u16).section(section, self.container(numbers));
                if numbers.one_in(3) {
                    elf = elf.section(".llvm.offloading", self.bundle(numbers));
                }
                elf.symbols = (0..numbers.below(5)).map(|_| symbol(numbers)).collect();
                elf.bytes()
            }
            5 | 6 => cubin(numbers).bytes(),
            7 => {
                let content = self.container(numbers);
                let more = self.bundle(numbers);
                let sections: [(&str, &[u8]); 3] = [
                    (".nv_fatb", &content),
                    ("__nv_relfatbin", &more),
                    (".llvm.offloading", &more),
                ];
                let sections = &sections[..1 + numbers.below(3)];
                if numbers.one_in(2) {
                    fatbin::coff(sections)
                } else {
                    fatbin::pe(sections)
                }
            }
            8 => {
                let (a, b) = (self.file(numbers, depth + 1), self.file(numbers, depth + 1));
                fatbin::archive(&[("a.o", &a), ("b.o", &b), ("a.o", &a)])
            }
            9 => self.bundle(numbers),
            10 => [self.file(numbers, depth + 1), self.file(numbers, depth + 1)].concat(),
            _ => numbers.pick(&self.files).clone(),
        }
    }

    fn bundle(&self, numbers: &mut Numbers) -> Vec<u8> {
        let image = match numbers.below(3) {
            0 => self.container(numbers),
            1 => cubin(numbers).bytes(),
            _ => numbers.pick(&self.texts).clone().into_bytes(),
        };
        let target = *numbers.pick(&["sm_90", "sm_90a", "", "gfx90a", "sm_4294967296"]);
        fatbin::offloading(numbers.below(7) as u16, target, &image)
    }

    fn container(&self, numbers: &mut Numbers) -> Vec<u8> {
        let count = [1, 1, 2, 3][numbers.below(4)];
        let entries: Vec<Entry> = (0..count).map(|_| self.entry(numbers)).collect();
        if numbers.one_in(12) {
            return fatbin::with_size(*numbers.pick(&BOUNDARIES), &fatbin::container(&entries));
        }
        fatbin::container(&entries)
    }

    fn entry(&self, numbers: &mut Numbers) -> Entry {
        let sm = *numbers.pick(&[90, 90, 80, 120, 0, u32::MAX]);
        let mut entry = match numbers.below(4) {
            0 => Entry::cubin(sm, cubin(numbers).bytes()),
            1 => Entry::cubin(sm, numbers.pick(&self.files).clone()),
            _ => Entry::ptx(sm, numbers.pick(&self.texts[..]).as_str()),
        };
        let packing = *numbers.pick(&[Packing::None, Packing::Lz4, Packing::Zstd]);
        entry = entry.packed(packing);
        if numbers.one_in(20) {
            // Blocks of zeros that take four bytes each.
            entry.content = fatbin::zstd_bomb(1 + numbers.below(64));
            entry.packing = Packing::None;
            entry.flags |= 0x8000;
        }
        let mut wrong = || numbers.one_in(10).then(|| *numbers.pick(&BOUNDARIES));
        entry.unpacked = wrong();
        entry.padded = wrong();
        entry.header = wrong().map(|header| header as u32);
        if let Some(flags) = wrong() {
            entry.flags ^= flags;
        }
        if let Some(kind) = wrong() {
            entry.kind = kind as u16;
        }
        if let Some(isa) = wrong() {
            entry.isa = (isa as u16, (isa >> 16) as u16);
        }
        entry.more_header = wrong().map_or(0, |size| (size % 512) as usize);
        entry.flags |= *numbers.pick(&[0, IS_64_BIT, IS_DEBUG, SPECIFIC]);
        entry
    }

    /// Changes some bytes, mostly whole fields.
    fn damage(&self, bytes: &mut Vec<u8>, numbers: &mut Numbers) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        // Headers are at the start or the end, or wherever a magic number is.
        let at = match numbers.below(4) {
            0 => numbers.below(length.min(256)),
            1 => length - 1 - numbers.below(length.min(1_024)),
            _ => numbers.below(length),
        };
        match numbers.below(10) {
            0 => bytes[at] = numbers.below(256) as u8,
            1 => bytes[at] ^= 1 << numbers.below(8),
            2..=4 => {
                let size = [1, 2, 4, 8][numbers.below(4)];
                let at = at - at % size;
                let number = match numbers.below(3) {
                    0 => numbers.below(length + 16) as u64,
                    _ => *numbers.pick(&BOUNDARIES),
                };
                let end = (at + size).min(length);
                bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
            }
            5 => bytes.truncate(at),
            6 => {
                let end = (at + 1 + numbers.below(64)).min(length);
                let part = bytes[at..end].to_vec();
                let to = numbers.below(length);
                let end = (to + part.len()).min(length);
                bytes[to..end].copy_from_slice(&part[..end - to]);
            }
            7 => {
                let other = self.file(numbers, 1);
                let from = numbers.below(other.len());
                let end = (from + 1 + numbers.below(512)).min(other.len());
                bytes.splice(at..at, other[from.min(end)..end].iter().copied());
            }
            8 => {
                let end = (at + 1 + numbers.below(128)).min(length);
                drop(bytes.drain(at..end));
            }
            _ => {
                let end = (at + 8).min(length);
                bytes[at..end].fill(if numbers.one_in(2) { 0xff } else { 0 });
            }
        }
    }
}

fn cubin(numbers: &mut Numbers) -> Elf {
    let size = *numbers.pick(&BOUNDARIES) as u32;
    let params = [(0, 8), (8, size), (size as u16, 4)];
    let kernels: [(&str, &[(u16, u32)]); 2] = [("_Z1kPi", &params[..numbers.below(4)]), ("k", &[])];
    let mut elf = Elf::cubin(*numbers.pick(&[90, 80, 0, 255]), &kernels[..1 + numbers.below(2)]);
    for _ in 0..numbers.below(3) {
        let name = *numbers.pick(&[
            ".nv.info",
            ".nv.constant0._Z1kPi",
            ".nv.global",
            ".nv_debug_ptx_txt",
            ".nv_debug_ptx_txt.7",
            ".nv_debug_line_sass",
            ".debug_line",
            ".debug_info",
            ".debug_abbrev",
            ".nv.shared._Z1kPi",
            ".rel.text._Z1kPi",
            ".note.nv.cuver",
        ]);
        let content = match numbers.below(3) {
            0 => b".version 9.2\n.target sm_90\n.address_size 64\n.entry k() { bar.warp.sync 0; }\n".to_vec(),
            _ => (0..numbers.below(96)).map(|_| numbers.below(256) as u8).collect(),
        };
        elf = elf.section(name, content);
    }
    elf.symbols
        .extend((0..numbers.below(4)).map(|_| symbol(numbers)).collect::<Vec<_>>());
    elf
}

fn symbol(numbers: &mut Numbers) -> Symbol {
    let name = *numbers.pick(&[
        "_Z1kPi",
        "_Z17__device_stub__kPi",
        "_Z16__device_stub__k",
        "_Z99__device_stub__k",
        "_Z18__device_stub__",
        "_Z18446744073709551616__device_stub__k",
        "__device_stub__k",
        "__cudaRegisterFunction",
        "_ZN1a16__device_stub__kEv",
        "_Z",
        "",
        "$k$f",
        "\u{fffd}",
    ]);
    Symbol {
        name: name.into(),
        info: *numbers.pick(&[0x12, 0x22, 0x11, 0x03, 0xff]),
        other: *numbers.pick(&[0, 0x10, 0xff]),
        section: *numbers.pick(&[0, 1, 2, 3, 0xffff, 0xfff1]),
        size: *numbers.pick(&BOUNDARIES),
    }
}

/// Makes the sentences about the GPUs that load the packages of a run.
pub fn sentences(outcome: &Outcome) {
    for bundle in outcome.bundles() {
        drop(bundle.reach.to_string());
    }
}

/// Settings of an audit with all rules about images.
pub fn auditing(settings: Settings) -> Settings {
    let of_images = rules::ALL.iter().filter(|rule| rule.family == Family::Image);
    Settings {
        levels: of_images
            .map(|rule| LevelSetting {
                selector: Selector::rule(rule),
                level: Level::Warning,
                change: Change::Raise,
            })
            .collect(),
        images_only: true,
        ..settings
    }
}

/// Checks a mutant as `check`, `audit` and `extract` do. The error is the defect found.
pub fn check(index: u64, bytes: &[u8]) -> Result<(), String> {
    let checked = Settings {
        threads: 1,
        link_set: index % 4 == 1,
        ..verdict::reading_ir()
    };
    verdict::of_outcome(&verdict::outcome("mutant.bin", bytes, &checked))?;
    let audited = Settings {
        policy: Policy {
            require_sm: vec!["90".to_owned()],
            require_ptx: vec!["80".to_owned()],
            min_driver: Some(Driver(550, 54, 14)),
            max_target_bytes: Some(1_000),
            forbid_duplicates: true,
            gpus: Gpu::of_cuda_13().collect(),
            allow_jit: Some(Vec::new()),
            max_jit_bytes: Some(1_000),
            stubs: StubPolicy::Deny,
            same_virtual_target: true,
            check_variants: true,
            ..Policy::default()
        },
        ..auditing(checked)
    };
    let outcome = verdict::outcome("mutant.bin", bytes, &audited);
    verdict::of_outcome(&outcome)?;
    let loads = std::panic::catch_unwind(|| sentences(&outcome));
    loads.map_err(|_| format!("a panic where loading GPUs are counted{}", crate::panics::place()))?;
    // A policy that names GPUs silences the rule about GPUs that load nothing.
    let without_policy = Settings {
        policy: Policy::default(),
        ..audited
    };
    verdict::of_outcome(&verdict::outcome("mutant.bin", bytes, &without_policy))?;
    // As `extract` does. A panic here is no finding: nobody catches it.
    let extracted = std::panic::catch_unwind(|| {
        for found in &image::scan("mutant.bin", bytes, &|| false).images {
            drop(unpack(found.compression, found.payload, found.unpacked));
        }
    });
    extracted.map_err(|_| format!("a panic where images are extracted{}", crate::panics::place()))
}
