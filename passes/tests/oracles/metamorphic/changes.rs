//! Changes after which a module means the same.

use super::module::{Body, Instruction, Item};

/// Random numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// A change of one body; `None` where there is nothing to change.
pub type Change = fn(&Body, &mut Random) -> Option<String>;

/// All of them, by name.
pub const CHANGES: [(&str, Change); 7] = [
    ("rename", rename),
    ("reorder", reorder),
    ("split", split),
    ("scope", scope),
    ("invert", invert),
    ("copy", copy),
    ("all", all),
];

/// Other names for registers and labels.
fn rename(body: &Body, _: &mut Random) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%');
    let renamed = |word: &str| {
        if body.labels.iter().any(|label| label == word) {
            return Some(format!("$other_{}", word.trim_start_matches(['$', '%'])));
        }
        let is_register =
            body.registers.iter().any(
                |(name, count, _)| match (count, word.strip_prefix(name.as_str())) {
                    (_, Some("")) => true,
                    (Some(count), Some(number)) => number.parse().is_ok_and(|number: u32| number < *count),
                    _ => false,
                },
            );
        is_register.then(|| match word.strip_prefix('%') {
            Some(rest) => format!("%other_{rest}"),
            None => format!("other_{word}"),
        })
    };
    let text = body.text();
    let (mut changed, mut rest) = (String::new(), text.as_str());
    while let Some(start) = rest.find(is_letter) {
        let length = rest[start..]
            .find(|letter| !is_letter(letter))
            .unwrap_or(rest.len() - start);
        let word = &rest[start..start + length];
        // A member of a vector, a type or a part of an opcode has a dot before it.
        let is_part = rest[..start].ends_with('.') || changed.ends_with('.') && start == 0;
        changed.push_str(&rest[..start]);
        match renamed(word).filter(|_| !is_part) {
            Some(other) => changed.push_str(&other),
            None => changed.push_str(word),
        }
        rest = &rest[start + length..];
    }
    changed.push_str(rest);
    (changed != text).then_some(changed)
}

/// The blocks of a body: each begins with a label or after a jump.
fn blocks(items: &[Item]) -> Vec<Vec<Item>> {
    let mut blocks: Vec<Vec<Item>> = vec![Vec::new()];
    let mut is_open = false;
    for item in items {
        let is_label = matches!(item, Item::Label(_));
        let last = blocks.last_mut();
        let has_code = last.is_some_and(|last| last.iter().any(|item| !matches!(item, Item::Label(_))));
        if has_code && (is_label || !is_open) {
            blocks.push(Vec::new());
        }
        is_open = !matches!(item, Item::Instruction(instruction) if instruction.is_jump());
        if let Some(last) = blocks.last_mut() {
            last.push(item.clone());
        }
    }
    blocks
}

fn text_of(body: &Body, items: Vec<Item>) -> String {
    Body {
        items,
        ..body.clone()
    }
    .text()
}

/// Other places for the blocks, with a branch where one led to the next.
fn reorder(body: &Body, random: &mut Random) -> Option<String> {
    let mut blocks = blocks(&body.items);
    if body.is_rigid || blocks.len() < 2 {
        return None;
    }
    for (number, block) in blocks.iter_mut().enumerate() {
        block.insert(0, Item::Label(format!("$block_{number}")));
    }
    let count = blocks.len();
    for (number, block) in blocks.iter_mut().enumerate() {
        let ends = block
            .iter()
            .any(|item| matches!(item, Item::Instruction(last) if last.ends()));
        if !ends && number + 1 < count {
            let next = format!("$block_{}", number + 1);
            block.push(Item::Instruction(Instruction::new("bra.uni", &[next.as_str()])));
        } else if !ends {
            block.push(Item::Instruction(Instruction::new("ret", &[])));
        }
    }
    for place in (1..count).rev() {
        blocks.swap(place, random.below(place + 1));
    }
    let mut items = vec![Item::Instruction(Instruction::new("bra.uni", &["$block_0"]))];
    items.extend(blocks.into_iter().flatten());
    Some(text_of(body, items))
}

/// More blocks.
fn split(body: &Body, random: &mut Random) -> Option<String> {
    let mut items = Vec::new();
    let mut number = 0;
    for item in &body.items {
        if random.chance(3) && matches!(item, Item::Instruction(_)) {
            let label = format!("$split_{number}");
            if random.chance(2) {
                items.push(Item::Instruction(Instruction::new("bra.uni", &[label.as_str()])));
            }
            items.push(Item::Label(label));
            number += 1;
        }
        items.push(item.clone());
    }
    (number > 0).then(|| text_of(body, items))
}

/// Scopes around single instructions.
fn scope(body: &Body, random: &mut Random) -> Option<String> {
    let mut count = 0;
    let items = body.items.iter().map(|item| match item {
        Item::Instruction(instruction) if random.chance(3) => {
            count += 1;
            Item::Other(format!("{{ .reg .b32 within; {} }}", instruction.text()))
        }
        _ => item.clone(),
    });
    let items = items.collect();
    (count > 0).then(|| text_of(body, items))
}

/// `@p bra A` as `@!p bra B; bra A; B:`.
fn invert(body: &Body, _: &mut Random) -> Option<String> {
    let mut items = Vec::new();
    let mut number = 0;
    for item in &body.items {
        match item {
            Item::Instruction(branch) if branch.opcode.starts_with("bra") && branch.guard.is_some() => {
                let label = format!("$other_way_{number}");
                number += 1;
                let mut inverted = Instruction::new("bra", &[label.as_str()]);
                inverted.guard = branch.guard.clone().map(|(negated, name)| (!negated, name));
                let mut taken = branch.clone();
                taken.guard = None;
                items.extend([
                    Item::Instruction(inverted),
                    Item::Instruction(taken),
                    Item::Label(label),
                ]);
            }
            _ => items.push(item.clone()),
        }
    }
    (number > 0).then(|| text_of(body, items))
}

/// Instructions that write at most their first operand, and read the others.
const READERS: [&str; 32] = [
    "abs", "add", "and", "bar", "bfe", "bfi", "cvt", "cvta", "div", "fma", "lop3", "mad", "match", "max",
    "min", "mov", "mul", "neg", "not", "or", "popc", "red", "redux", "rem", "selp", "setp", "shfl", "shl",
    "shr", "st", "sub", "vote",
];

/// Registers that are read through a copy.
fn copy(body: &Body, random: &mut Random) -> Option<String> {
    let type_of = |operand: &str| {
        body.registers.iter().find_map(|(name, count, kind)| {
            match (count, operand.strip_prefix(name.as_str())?) {
                (None, "") => Some(kind.clone()),
                (Some(count), number) => number
                    .parse()
                    .is_ok_and(|number: u32| number < *count)
                    .then(|| kind.clone()),
                _ => None,
            }
        })
    };
    let mut changed = body.clone();
    changed.items.clear();
    let mut number = 0;
    for item in &body.items {
        let Item::Instruction(instruction) = item else {
            changed.items.push(item.clone());
            continue;
        };
        let mut instruction = instruction.clone();
        let word = instruction.opcode.split('.').next().unwrap_or("");
        let reads_the_rest = READERS.contains(&word);
        for operand in instruction.operands.iter_mut().skip(1).filter(|_| reads_the_rest) {
            let Some(kind) = type_of(operand).filter(|_| random.chance(2)) else {
                continue;
            };
            let kind = kind.trim_start_matches('.').to_owned();
            if kind == "b8" || kind == "b128" || kind == "u8" || kind == "s8" {
                continue;
            }
            let fresh = format!("%copy_of_it_{number}");
            number += 1;
            changed.declared.push_str(&format!(".reg .{kind} {fresh};\n"));
            changed.items.push(Item::Instruction(Instruction::new(
                &format!("mov.{kind}"),
                &[fresh.as_str(), operand.as_str()],
            )));
            *operand = fresh;
        }
        changed.items.push(Item::Instruction(instruction));
    }
    (number > 0).then(|| changed.text())
}

/// Several of them, one after the other.
fn all(body: &Body, random: &mut Random) -> Option<String> {
    let mut current = body.clone();
    let mut last = None;
    for change in [copy, invert, split, reorder, scope] {
        if let Some(text) = change(&current, random) {
            current = reread(&text)?;
            last = Some(text);
        }
    }
    last
}

/// The body of a function with this text.
fn reread(text: &str) -> Option<Body> {
    let module =
        format!(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry it()\n{{\n{text}\n}}\n");
    let module = super::module::Module::new(&module)?;
    module.pieces.into_iter().find_map(|piece| match piece {
        super::module::Piece::Body(body) => Some(body),
        super::module::Piece::Text(_) => None,
    })
}
