//! The engine of `grammar.txt`: rules become lists of pieces once, and a form is chosen by its weight.

use std::collections::HashMap;
use std::io::Write as _;

use crate::numbers::{BOUNDARIES, Numbers};

/// A class of registers: the type of their content, and the letter of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `%r`
    B32,
    /// `%rd`
    B64,
    /// `%h`
    B16,
    /// `%p`
    Predicate,
    /// `%f`
    Float,
    /// `%q`
    B128,
}

/// Number of registers of a class that a function has.
pub const REGISTERS: usize = 12;

impl Class {
    const COUNT: usize = 6;

    /// The part of the name before the number.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::B32 => "%r",
            Self::B64 => "%rd",
            Self::B16 => "%h",
            Self::Predicate => "%p",
            Self::Float => "%f",
            Self::B128 => "%q",
        }
    }
}

/// A placeholder in the grammar, other than the name of a rule.
#[derive(Clone, Copy)]
enum Word {
    Written(Class),
    Read(Class),
    Boundary,
    Small,
    Label,
    Symbol,
    Function,
    Param,
    Fresh,
    Empty,
}

/// The placeholder with this name.
fn word(name: &str) -> Option<Word> {
    Some(match name {
        "d32" => Word::Written(Class::B32),
        "d64" => Word::Written(Class::B64),
        "d16" => Word::Written(Class::B16),
        "dp" => Word::Written(Class::Predicate),
        "df" => Word::Written(Class::Float),
        "dq" => Word::Written(Class::B128),
        "a32" => Word::Read(Class::B32),
        "a64" => Word::Read(Class::B64),
        "a16" => Word::Read(Class::B16),
        "ap" => Word::Read(Class::Predicate),
        "af" => Word::Read(Class::Float),
        "aq" => Word::Read(Class::B128),
        "imm" => Word::Boundary,
        "small" => Word::Small,
        "label" => Word::Label,
        "sym" => Word::Symbol,
        "func" => Word::Function,
        "param" => Word::Param,
        "fresh" => Word::Fresh,
        "empty" => Word::Empty,
        _ => return None,
    })
}

/// A part of an alternative.
enum Piece {
    Text(Box<[u8]>),
    Word(Word),
    Rule(usize),
}

/// One of the alternatives of a rule.
struct Alternative {
    /// The sum of the weights of this alternative and those before it.
    cumulative_weight: usize,
    pieces: Vec<Piece>,
}

/// A rule's number in the grammar.
#[derive(Clone, Copy)]
pub struct RuleId(usize);

/// The rules of `grammar.txt`.
pub struct Grammar {
    rules: Vec<Vec<Alternative>>,
    names: HashMap<&'static str, usize>,
}

impl Grammar {
    /// Reads the grammar.
    ///
    /// # Panics
    ///
    /// If a rule is named that there is none of.
    pub fn new() -> Self {
        let text = include_str!("grammar.txt");
        let heads = text
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let names: HashMap<_, _> = heads.enumerate().map(|(number, name)| (name, number)).collect();
        let mut rules: Vec<Vec<Alternative>> = Vec::with_capacity(names.len());
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with('[') && names.contains_key(&line[1..line.len() - 1]) {
                rules.push(Vec::new());
                continue;
            }
            let Some(rule) = rules.last_mut() else {
                continue;
            };
            let weighted = line
                .split_once(": ")
                .and_then(|(weight, text)| Some((weight.parse::<usize>().ok()?, text)));
            let (weight, text) = weighted.unwrap_or((1, line));
            let before = rule.last().map_or(0, |alternative| alternative.cumulative_weight);
            rule.push(Alternative {
                cumulative_weight: before + weight,
                pieces: pieces(text, &names),
            });
        }
        Self { rules, names }
    }

    /// The rule of this name.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn rule(&self, name: &str) -> RuleId {
        RuleId(self.names[name])
    }

    /// Writes one of the alternatives of a rule.
    pub fn write(&self, rule: RuleId, names: &mut Names, numbers: &mut Numbers, out: &mut Vec<u8>) {
        let alternatives = &self.rules[rule.0];
        let weight = numbers.below(
            alternatives
                .last()
                .map_or(0, |alternative| alternative.cumulative_weight),
        );
        let chosen = alternatives.partition_point(|alternative| alternative.cumulative_weight <= weight);
        for piece in &alternatives[chosen].pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Rule(rule) => self.write(RuleId(*rule), names, numbers, out),
                Piece::Word(word) => names.write(*word, numbers, out),
            }
        }
    }
}

fn pieces(alternative: &str, names: &HashMap<&str, usize>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut parts = alternative.split('$');
    let text = |text: &str, pieces: &mut Vec<Piece>| {
        if !text.is_empty() {
            pieces.push(Piece::Text(text.as_bytes().into()));
        }
    };
    text(parts.next().unwrap_or_default(), &mut pieces);
    for part in parts {
        let end = part
            .find(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit())
            .unwrap_or(part.len());
        let name = &part[..end];
        pieces.push(match word(name) {
            Some(word) => Piece::Word(word),
            None => Piece::Rule(*names.get(name).unwrap_or_else(|| panic!("no rule `{name}`"))),
        });
        text(&part[end..], &mut pieces);
    }
    pieces
}

/// The names that a function may use.
pub struct Names {
    /// Registers written last, for each class: most reads are of registers written shortly before.
    recent: [[u8; 4]; Class::COUNT],
    /// Labels `L0` up to this number.
    pub labels: usize,
    /// Variables `g0` up to this number.
    pub symbols: usize,
    /// Functions `f0` up to this number.
    pub functions: usize,
    /// Parameters `a0` up to this number.
    pub params: usize,
}

impl Names {
    /// The names of an empty module.
    pub const fn new() -> Self {
        Self {
            recent: [[1, 2, 3, 4]; Class::COUNT],
            labels: 0,
            symbols: 0,
            functions: 0,
            params: 0,
        }
    }

    /// A register to write.
    pub fn written(&mut self, class: Class, numbers: &mut Numbers) -> usize {
        let register = numbers.below(REGISTERS);
        let recent = &mut self.recent[class as usize];
        recent.rotate_right(1);
        recent[0] = register as u8;
        register
    }

    /// A register to read.
    pub fn read(&self, class: Class, numbers: &mut Numbers) -> usize {
        match numbers.below(8) {
            0 => numbers.below(REGISTERS),
            1..=4 => usize::from(self.recent[class as usize][0]),
            _ => usize::from(self.recent[class as usize][numbers.below(4)]),
        }
    }

    fn write(&mut self, word: Word, numbers: &mut Numbers, out: &mut Vec<u8>) {
        // A vector of bytes takes all that is written to it.
        let _ = match word {
            Word::Empty => Ok(()),
            Word::Written(class) => {
                let register = self.written(class, numbers);
                write!(out, "{}{register}", class.prefix())
            }
            Word::Read(class) => write!(out, "{}{}", class.prefix(), self.read(class, numbers)),
            Word::Boundary => boundary(numbers, out),
            Word::Small => write!(out, "{}", numbers.below(33)),
            Word::Label => write!(out, "L{}", numbers.below(self.labels)),
            Word::Symbol => write!(out, "g{}", numbers.below(self.symbols)),
            Word::Function => write!(out, "f{}", numbers.below(self.functions)),
            Word::Param => write!(out, "a{}", numbers.below(self.params)),
            Word::Fresh => {
                self.symbols += 1;
                write!(out, "g{}", self.symbols - 1)
            }
        };
    }
}

/// A number at which something changes, in one of the ways to write numbers.
pub fn boundary(numbers: &mut Numbers, out: &mut Vec<u8>) -> std::io::Result<()> {
    let number = *numbers.pick(&BOUNDARIES);
    match numbers.below(6) {
        0 => write!(out, "-{number}"),
        1 => write!(out, "{number:#x}"),
        2 => write!(out, "0b{number:b}"),
        3 => write!(out, "{number}U"),
        4 => write!(
            out,
            "{}",
            number.wrapping_add(numbers.below(3) as u64).wrapping_sub(1)
        ),
        _ => write!(out, "{number}"),
    }
}
