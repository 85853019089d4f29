//! Changes to a module that keep most of its structure: lines move, operands change places, numbers go to a boundary.

use super::grammar::{Names, boundary};
use super::module::Generator;
use crate::numbers::Numbers;

/// Most lines of a mutant: longer ones only measure the size of the seeds.
const MAX_LINES: usize = 400;

/// Parts of opcodes that a mutant may have more or fewer of.
const MODIFIERS: [&str; 48] = [
    "sync",
    "aligned",
    "uni",
    "u32",
    "s32",
    "b32",
    "u64",
    "b64",
    "u16",
    "u8",
    "b128",
    "pred",
    "f32",
    "global",
    "shared",
    "local",
    "const",
    "param",
    "shared::cluster",
    "shared::cta",
    "to",
    "volatile",
    "v2",
    "v4",
    "v8",
    "up",
    "down",
    "bfly",
    "idx",
    "all",
    "any",
    "ballot",
    "warp",
    "arrive",
    "red",
    "popc",
    "cluster",
    "wide",
    "lo",
    "hi",
    "sat",
    "cc",
    "eq",
    "lt",
    "and",
    "or",
    "nc",
    "add",
];

/// Words that stand where an opcode or a directive stands.
const OPCODES: [&str; 40] = [
    "add.s32",
    "mov.u32",
    "mov.u64",
    "selp.b32",
    "setp.eq.s32",
    "setp.lt.u32",
    "and.b32",
    "shl.b32",
    "cvta.to.shared.u64",
    "cvta.shared.u64",
    "cvta.to.global.u64",
    "ld.u32",
    "st.u32",
    "ld.shared.u32",
    "st.local.u64",
    "ld.param.u64",
    "shfl.sync.idx.b32",
    "shfl.sync.down.b32",
    "vote.sync.ballot.b32",
    "vote.sync.any.pred",
    "bar.warp.sync",
    "bar.sync",
    "activemask.b32",
    "match.any.sync.b32",
    "redux.sync.add.s32",
    "elect.sync",
    "isspacep.shared",
    "mapa.u64",
    "bra",
    "bra.uni",
    "ret",
    "exit",
    "trap",
    "call.uni",
    "brx.idx",
    "mad.lo.s32",
    "bfe.u32",
    "not.pred",
    "atom.add.u32",
    "alloca.u64",
];

/// Seeds, split into lines.
pub struct Seeds {
    seeds: Vec<Vec<Vec<u8>>>,
}

impl Seeds {
    /// Of the texts of modules.
    pub fn new(texts: impl Iterator<Item = Vec<u8>>) -> Self {
        let seeds = texts.map(|text| lines(&text)).collect();
        Self { seeds }
    }

    /// Number of them.
    pub const fn len(&self) -> usize {
        self.seeds.len()
    }

    fn any<'s>(&'s self, numbers: &mut Numbers) -> &'s [Vec<u8>] {
        numbers.pick(&self.seeds[..]).as_slice()
    }

    /// A mutant of one of the seeds.
    pub fn mutant(&self, generator: &Generator, numbers: &mut Numbers) -> Vec<u8> {
        let seed = self.any(numbers).to_vec();
        self.mutated(seed, generator, numbers)
    }

    /// A mutant of a text.
    pub fn mutant_of(&self, text: &[u8], generator: &Generator, numbers: &mut Numbers) -> Vec<u8> {
        self.mutated(lines(text), generator, numbers)
    }

    fn mutated(&self, mut text: Vec<Vec<u8>>, generator: &Generator, numbers: &mut Numbers) -> Vec<u8> {
        let changes = [1, 1, 2, 2, 3, 4, 6, 10][numbers.below(8)];
        for _ in 0..changes {
            if numbers.one_in(3) {
                self.move_lines(&mut text, generator, numbers);
            } else {
                let at = numbers.below(text.len());
                let words = words_of(&text, numbers);
                if let Some(line) = text.get_mut(at) {
                    change(line, &words, numbers);
                }
            }
        }
        text.truncate(MAX_LINES);
        let mut mutant = text.join(&b'\n');
        if numbers.one_in(40) {
            garble(&mut mutant, numbers);
        }
        mutant
    }

    fn move_lines(&self, text: &mut Vec<Vec<u8>>, generator: &Generator, numbers: &mut Numbers) {
        let length = text.len();
        let (a, b) = (numbers.below(length), numbers.below(length));
        if length == 0 {
            return text.push(b"ret;".to_vec());
        }
        match numbers.below(13) {
            0 | 1 => drop(text.remove(a)),
            2 => text.insert(b, text[a].clone()),
            3 => text.swap(a, b),
            4 => {
                let line = text.remove(a);
                text.insert(b.min(text.len()), line);
            }
            5 => {
                let end = (a + 1 + numbers.below(6)).min(length);
                drop(text.drain(a..end));
            }
            6 => {
                let end = (a + 1 + numbers.below(8)).min(length);
                let copied = text[a..end].to_vec();
                text.splice(b..b, copied);
            }
            // Lines of another seed, in place of some or between.
            7 | 8 => {
                let other = self.any(numbers);
                let from = numbers.below(other.len());
                let end = (from + 1 + numbers.below(10)).min(other.len());
                let replaced = if numbers.one_in(2) { 0 } else { numbers.below(6) };
                text.splice(a..(a + replaced).min(length), other[from..end].iter().cloned());
            }
            // The functions of another seed.
            9 => {
                let other = self.any(numbers);
                text.extend(other.iter().filter(|line| !line.starts_with(b".")).cloned());
                text.extend(other.iter().cloned());
            }
            10 => text.insert(a, format!("L{}:", numbers.below(4)).into_bytes()),
            11 => {
                text.insert(a.max(b), b"}".to_vec());
                text.insert(a.min(b), b"{".to_vec());
            }
            _ => {
                let mut names = Names::new();
                (names.labels, names.symbols, names.functions, names.params) = (4, 2, 2, 2);
                let mut line = Vec::new();
                generator.instruction(&mut names, numbers, &mut line);
                text.insert(a, line);
            }
        }
    }
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    // Comments say what a seed is about, and make a mutant no other.
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii_start().starts_with(b"//"))
        .map(<[u8]>::to_vec)
        .collect()
}

/// A word of a line, by its bytes.
type Word = std::ops::Range<usize>;

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'%' | b'_' | b'$' | b'.' | b':') || byte >= 0x80
}

fn words(line: &[u8]) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    for (at, byte) in line.iter().enumerate() {
        match found.last_mut() {
            _ if !is_word(*byte) => {}
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Words of a few lines of the same text: registers, labels and names that exist.
fn words_of(text: &[Vec<u8>], numbers: &mut Numbers) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for _ in 0..4 {
        if let Some(line) = text.get(numbers.below(text.len())) {
            found.extend(words(line).into_iter().map(|word| line[word].to_vec()));
        }
    }
    found
}

/// Changes one line.
fn change(line: &mut Vec<u8>, elsewhere: &[Vec<u8>], numbers: &mut Numbers) {
    let found = words(line);
    let Some(word) = found.get(numbers.below(found.len())).cloned() else {
        return;
    };
    let first = found[0].clone();
    match numbers.below(16) {
        0..=2 => {
            // Another word of the same kind: a register for a register.
            let like = line[word.start];
            let mut others = elsewhere.iter().filter(|other| other.first() == Some(&like));
            let count = others.clone().count();
            if let Some(other) = others.nth(numbers.below(count)) {
                line.splice(word, other.iter().copied());
            }
        }
        3 | 4 => {
            let is_number = |word: &&Word| line[word.start].is_ascii_digit();
            let places: Vec<_> = found.iter().filter(is_number).cloned().collect();
            let place = places.get(numbers.below(places.len())).cloned().unwrap_or(word);
            let mut number = Vec::new();
            let _ = boundary(numbers, &mut number);
            line.splice(place, number);
        }
        5 => {
            // An operand less, with the comma before it.
            let from = line[..word.start]
                .iter()
                .rposition(|byte| *byte == b',')
                .unwrap_or(word.start);
            line.drain(from..word.end);
        }
        6 => {
            let copy = [b", ", &line[word.clone()]].concat();
            line.splice(word.end..word.end, copy);
        }
        7 => {
            let other = found[numbers.below(found.len())].clone();
            if word.end <= other.start {
                let (a, b) = (line[word.clone()].to_vec(), line[other.clone()].to_vec());
                line.splice(other, a);
                line.splice(word, b);
            }
        }
        8 => change_guard(line, &found, numbers),
        9 => {
            // A part of an opcode less.
            if let Some(dot) = line[word.clone()].iter().rposition(|byte| *byte == b'.') {
                line.drain(word.start + dot..word.end);
            }
        }
        10 => {
            let modifier = *numbers.pick(&MODIFIERS);
            line.splice(word.end..word.end, [b".", modifier.as_bytes()].concat());
        }
        11 => {
            let parts: Vec<_> = line[word.clone()].split(|byte| *byte == b'.').collect();
            let mut parts: Vec<Vec<u8>> = parts.into_iter().map(<[u8]>::to_vec).collect();
            let at = numbers.below(parts.len());
            parts[at] = numbers.pick(&MODIFIERS).as_bytes().to_vec();
            line.splice(word, parts.join(&b'.'));
        }
        12 => {
            line.splice(first, numbers.pick(&OPCODES).bytes());
        }
        13 => {
            let register = *numbers.pick(&[
                "%r1", "%rd1", "%p1", "%laneid", "%tid.x", "-1", "0", "_", "WARP_SZ",
            ]);
            line.splice(word, register.bytes());
        }
        14 => {
            let wrapped = match numbers.below(4) {
                0 => [b"[", &line[word.clone()], b"]"].concat(),
                1 => [b"{", &line[word.clone()], b"}"].concat(),
                2 => [b"-", &line[word.clone()]].concat(),
                _ => [&line[word.clone()], &b"+8"[..]].concat(),
            };
            line.splice(word, wrapped);
        }
        _ => {
            line.drain(word);
        }
    }
}

/// Adds a guard to a line, removes it, or turns it around.
fn change_guard(line: &mut Vec<u8>, found: &[Word], numbers: &mut Numbers) {
    let Some(first) = found.first() else { return };
    if !line.contains(&b'@') {
        let guard = format!(
            "@{}%p{} ",
            if numbers.one_in(2) { "!" } else { "" },
            numbers.below(4)
        );
        line.splice(first.start..first.start, guard.into_bytes());
    } else if let Some(at) = line.iter().position(|byte| *byte == b'!') {
        line.remove(at);
    } else if numbers.one_in(2) {
        let at = line.iter().position(|byte| *byte == b'@').unwrap_or_default();
        line.insert(at + 1, b'!');
    } else if let Some(second) = found.get(1) {
        line.drain(..second.start);
    }
}

/// Bytes that no text has.
fn garble(text: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(text.len());
        match numbers.below(4) {
            0 => text.truncate(at),
            1 => text.insert(at, *numbers.pick(b"{}();,[]\"/*<>@:\0\xff\x80")),
            2 if at < text.len() => drop(text.remove(at)),
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = numbers.below(256) as u8;
                }
            }
        }
    }
}
