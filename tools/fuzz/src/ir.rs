//! Mutants of LLVM IR, as text and as bitcode. LLVM reads them in this process, which a [`campaign`](crate::campaign)
//! starts anew when LLVM ends it.

use std::io::Write as _;
use std::path::Path;

use ptxcheck_frontend_llvm as llvm;
use ptxcheck_passes::check_module;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};

use crate::numbers::{BOUNDARIES, Numbers};
use crate::panics;
use crate::ptx::collect;
use crate::{child, measure};

/// Largest seed, in bytes.
const MAX_SEED_BYTES: usize = 1 << 18;

/// About as many compiled sources are seeds.
const MAX_SOURCES: usize = 24;

/// The material for mutants of IR.
pub struct Ir {
    /// The lines of texts.
    texts: Vec<Vec<Vec<u8>>>,
    /// Binary forms.
    bitcode: Vec<Vec<u8>>,
    /// Words that mean something in the language.
    words: &'static [&'static str],
}

impl Ir {
    /// Reads the seeds of the repository at `root`: texts that were written by hand, and what clang makes of some CUDA sources,
    /// optimised as text and unoptimised as bitcode.
    ///
    /// # Errors
    ///
    /// A sentence, if there are none.
    pub fn new(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        collect(&root.join("corpus/ir"), "ll", &mut files);
        files.sort();
        let mut texts: Vec<_> = files.iter().filter_map(|file| std::fs::read(file).ok()).collect();
        let folder = root.join("corpus/compilers/clang");
        texts.extend(of_clang(&folder, ".O2.ll.zst"));
        let unoptimised = of_clang(&folder, ".O0.ll.zst");
        let bitcode = unoptimised.iter().filter_map(|text| assembled(text)).collect();
        Self::of(texts, bitcode, &WORDS).map_err(|problem| format!("{problem} below {}", root.display()))
    }

    /// From texts and binary forms of a language with these words.
    ///
    /// # Errors
    ///
    /// A sentence, if there are no texts.
    pub fn of(
        texts: Vec<Vec<u8>>,
        mut bitcode: Vec<Vec<u8>>,
        words: &'static [&'static str],
    ) -> Result<Self, String> {
        let is_small = |bytes: &Vec<u8>| bytes.len() <= MAX_SEED_BYTES;
        let lines = |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        bitcode.retain(is_small);
        let texts: Vec<Vec<Vec<u8>>> = texts.into_iter().filter(is_small).map(lines).collect();
        if texts.is_empty() {
            return Err("there are no seeds".to_owned());
        }
        Ok(Self {
            texts,
            bitcode,
            words,
        })
    }

    /// The mutant of a run with this index.
    pub fn mutant(&self, numbers: &mut Numbers) -> Vec<u8> {
        if !self.bitcode.is_empty() && numbers.one_in(3) {
            let mut bytes = numbers.pick(&self.bitcode).clone();
            for _ in 0..=numbers.below(4) {
                flip(&mut bytes, numbers);
            }
            return bytes;
        }
        let mut text = numbers.pick(&self.texts).clone();
        for _ in 0..[1, 1, 2, 3][numbers.below(4)] {
            self.change(&mut text, numbers);
        }
        let mut bytes = text.join(&b'\n');
        if numbers.one_in(16) {
            flip(&mut bytes, numbers);
        }
        bytes
    }

    fn change(&self, text: &mut Vec<Vec<u8>>, numbers: &mut Numbers) {
        let length = text.len();
        let (a, b) = (numbers.below(length), numbers.below(length));
        if length == 0 {
            return;
        }
        match numbers.below(12) {
            0 => drop(text.remove(a)),
            1 => text.insert(b, text[a].clone()),
            2 => text.swap(a, b),
            3 => {
                let other = numbers.pick(&self.texts);
                text.insert(a, numbers.pick(other).clone());
            }
            4..=6 => {
                // A number at a boundary: widths, alignments, constants, spaces, metadata.
                let mut number = Vec::new();
                let _ = write!(number, "{}", numbers.pick(&BOUNDARIES));
                let line = &mut text[a];
                let places = runs(line, u8::is_ascii_digit);
                if let Some(place) = places.get(numbers.below(places.len())) {
                    line.splice(place.clone(), number);
                }
            }
            7..=9 => {
                // A word of another line in place of one of the same kind.
                let words_of = |line: &[u8]| {
                    runs(line, |byte| {
                        byte.is_ascii_alphanumeric() || b"%@!._#".contains(byte)
                    })
                };
                let others = words_of(&text[b]);
                let words = words_of(&text[a]);
                let Some(word) = words.get(numbers.below(words.len())).cloned() else {
                    return;
                };
                let first = text[a][word.start];
                let others: Vec<_> = others
                    .into_iter()
                    .filter(|other| text[b][other.start] == first)
                    .collect();
                if let Some(other) = others.get(numbers.below(others.len())) {
                    let other = text[b][other.clone()].to_vec();
                    text[a].splice(word, other);
                }
            }
            10 => {
                let replaced = *numbers.pick(self.words);
                let line = &mut text[a];
                let words = runs(line, u8::is_ascii_alphabetic);
                if let Some(word) = words.get(numbers.below(words.len())) {
                    line.splice(word.clone(), replaced.bytes());
                }
            }
            _ => {
                let end = (a + 1 + numbers.below(8)).min(length);
                drop(text.drain(a..end));
            }
        }
    }
}

/// Words of IR that mean something to an analysis.
const WORDS: [&str; 32] = [
    "undef",
    "poison",
    "null",
    "zeroinitializer",
    "i1",
    "i8",
    "i33",
    "i64",
    "i128",
    "i16777215",
    "ptr",
    "ptr addrspace(3)",
    "ptr addrspace(5)",
    "ptr addrspace(16777215)",
    "float",
    "<4 x i32>",
    "[0 x i8]",
    "[4294967296 x i64]",
    "{ i32, [2 x ptr] }",
    "sub",
    "mul",
    "shl",
    "udiv",
    "select",
    "freeze",
    "unreachable",
    "switch",
    "external",
    "weak_odr",
    "ptx_kernel",
    "llvm.nvvm.shfl.sync.down.i32",
    "llvm.nvvm.vote.ballot.sync",
];

fn runs(line: &[u8], is_in: impl Fn(&u8) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, byte) in line.iter().enumerate() {
        match found.last_mut() {
            _ if !is_in(byte) => {}
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

fn flip(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let at = numbers.below(bytes.len());
    match numbers.below(8) {
        0 => bytes.truncate(at),
        1 => {
            let end = (at + 4).min(bytes.len());
            bytes[at..end].fill(0xff);
        }
        2..=4 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = numbers.below(256) as u8;
            }
        }
    }
}

/// Of the IR of this level that is committed in `folder`, that of some sources, decompressed.
fn of_clang(folder: &Path, level: &str) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    collect(folder, "zst", &mut files);
    files.retain(|file| file.to_string_lossy().ends_with(level));
    files.sort();
    let step = (files.len() / MAX_SOURCES).max(1);
    let content = |file: &std::path::PathBuf| zstd::decode_all(std::fs::File::open(file).ok()?).ok();
    files.iter().step_by(step).filter_map(content).collect()
}

/// The bitcode of a text, if LLVM can read it.
fn assembled(text: &[u8]) -> Option<Vec<u8>> {
    Some(llvm::Memory::default().read(text).ok()?.bitcode())
}

/// Checks the outcome for a mutant. The error is the defect found. The campaign gets a message once LLVM has read it: a crash before that
/// is LLVM's.
pub fn check(index: u64, bytes: &[u8]) -> Result<(), String> {
    let settings = Settings {
        threads: 1,
        levels: if index.is_multiple_of(2) {
            Vec::new()
        } else {
            vec![LevelSetting {
                selector: Selector::POTENTIAL,
                level: Level::Warning,
                change: Change::Raise,
            }]
        },
        ..Settings::default()
    };
    let looked = std::panic::catch_unwind(|| {
        child::send("reading");
        let memory = llvm::Memory::default();
        let read = memory.read(bytes);
        child::send("read");
        let Ok(input) = read else {
            // LLVM frees its memory.
            child::send("reading");
            return Ok(());
        };
        measure::start();
        measure::reset_peak();
        let (before, _) = measure::memory();
        if input.is_device_code() {
            let _ = input.with_module(|module| check_module(module, &settings));
        }
        let within = child::within_memory(before);
        child::send("reading");
        within
    });
    looked.unwrap_or_else(|_| Err(format!("a panic{}", panics::place())))
}
