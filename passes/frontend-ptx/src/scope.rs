//! Names in a function: parameters, registers and local variables in nested scopes.

use ptxcheck_common::maps::NameMap;
use rustc_hash::FxHashMap;

use ptxcheck_ptx_parser::Span;

use super::short;
use ptxcheck_ir::{Register, SymbolId};

/// The entity that a name is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// A register.
    Register(Register),
    /// `%r<n>`: the prefix of so many registers; index in [`Registers::ranges`].
    Range(u32),
    /// A variable in memory, or a function.
    Symbol(SymbolId),
    /// `v<n>`: the prefix of so many variables in memory, which one symbol stands for.
    Symbols(SymbolId, u32),
    /// A `.param` variable that carries an argument or a result of a call; index in the slots of the lowering.
    Slot(u32),
    /// A parameter of the function.
    Param(u16),
    /// A return value of the function.
    ReturnSlot(u16),
}

struct Entry<'s> {
    name: &'s [u8],
    binding: Binding,
    /// The entry of an outer scope with the same name.
    shadowed: Option<u32>,
}

/// The names in force, innermost scope last.
#[derive(Default)]
pub(super) struct Scopes<'s> {
    entries: Vec<Entry<'s>>,
    starts: Vec<u32>,
    innermost: NameMap<&'s [u8], u32>,
    /// Entries that are single registers whose name ends in a digit: they may shadow a register of a range.
    numbered_singles: u32,
    /// Ranges by their prefixes, as `get` has told them; none while there are `numbered_singles`.
    prefixes: Prefixes,
    /// The lengths of the prefixes that have ever stood for a range: the bits of their numbers, the highest for all longer ones.
    prefix_lengths: u64,
}

/// Ranges that were found by their prefixes: nearly all operands are registers of a few ranges.
struct Prefixes([(u64, u32); PREFIX_PLACES]);

/// A power of two; compilers use some ten prefixes.
const PREFIX_PLACES: usize = 64;

impl Default for Prefixes {
    fn default() -> Self {
        Self([(0, 0); PREFIX_PLACES])
    }
}

impl Prefixes {
    #[inline]
    const fn place(key: u64) -> usize {
        // Fibonacci hashing: the upper bits of the product depend on all of the key.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % PREFIX_PLACES
    }

    #[inline]
    fn get(&self, key: u64) -> Option<u32> {
        let (known, range) = self.0[Self::place(key)];
        (known == key).then_some(range)
    }

    fn insert(&mut self, prefix: &[u8], range: u32) {
        if let Some(key) = short::key(prefix) {
            self.0[Self::place(key)] = (key, range);
        }
    }

    /// Forgets a name whose binding changes.
    fn forget(&mut self, name: &[u8]) {
        if let Some(key) = short::key(name) {
            let known = &mut self.0[Self::place(key)];
            if known.0 == key {
                *known = (0, 0);
            }
        }
    }
}

fn is_numbered_single(name: &[u8], binding: Binding) -> bool {
    matches!(binding, Binding::Register(_)) && name.last().is_some_and(u8::is_ascii_digit)
}

impl<'s> Scopes<'s> {
    /// Enters a scope.
    pub(super) fn open(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Leaves the innermost scope.
    pub(super) fn close(&mut self) {
        let start = self.starts.pop().unwrap_or(0) as usize;
        for entry in self.entries.drain(start..).rev() {
            self.numbered_singles -= u32::from(is_numbered_single(entry.name, entry.binding));
            self.prefixes.forget(entry.name);
            match entry.shadowed {
                Some(outer) => self.innermost.insert(entry.name, outer),
                None => self.innermost.remove(entry.name),
            };
        }
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: &'s [u8], binding: Binding) {
        let shadowed = self.innermost.insert(name, self.entries.len() as u32);
        if is_numbered_single(name, binding) {
            self.numbered_singles += 1;
            self.prefixes = Prefixes::default();
        }
        if matches!(binding, Binding::Range(_)) {
            self.prefix_lengths |= length_bit(name);
        }
        self.prefixes.forget(name);
        self.entries.push(Entry {
            name,
            binding,
            shadowed,
        });
    }

    /// The binding of a name, registers of ranges aside.
    pub(super) fn get(&self, name: &[u8]) -> Option<Binding> {
        self.innermost
            .get(name)
            .map(|&entry| self.entries[entry as usize].binding)
    }

    /// The register that a name of the source stands for, as nearly all operands do: one of a range, with a short name.
    /// [`Self::resolve`] finds the others.
    #[inline(always)]
    pub(super) fn register(&self, source: &[u8], name: Span, registers: &mut Registers) -> Option<Register> {
        let (range, number) = self.numbered(source, name)?;
        registers.of_range(range, number, name)
    }

    /// The same for the name that a text at an offset begins with, and its length. What follows may be more of the name.
    #[inline(always)]
    pub(super) fn leading_register(
        &self,
        text: &[u8],
        offset: u32,
        registers: &mut Registers,
    ) -> Option<(Register, usize)> {
        let (key, number, length) = short::leading(text)?;
        let range = self.prefixes.get(key)?;
        let register = registers.known(range, number);
        let register = register.or_else(|| {
            // Only a name of the text makes a register.
            let ends = matches!(text.get(length), Some(b',' | b';' | b']' | b'}' | b'+' | b'-'));
            let name = Span::new(offset, offset + length as u32);
            ends.then(|| registers.not_in_table(range, number, name))
                .flatten()
        });
        Some((register?, length))
    }

    /// The same, if it has been named before.
    #[inline(always)]
    pub(super) fn known(&self, source: &[u8], name: Span, registers: &Registers) -> Option<Register> {
        let (range, number) = self.numbered(source, name)?;
        registers.known(range, number)
    }

    /// The range that a short name's prefix is known to stand for, and the number after the prefix.
    #[inline(always)]
    fn numbered(&self, source: &[u8], name: Span) -> Option<(u32, u32)> {
        let (key, number) = short::split(source, name)?;
        Some((self.prefixes.get(key)?, number))
    }

    /// The binding of a name.
    pub(super) fn resolve(
        &mut self,
        name: &'s [u8],
        span: Span,
        registers: &mut Registers,
    ) -> Option<Binding> {
        if self.numbered_singles == 0
            && let Some(register) = self.of_range(name, span, registers)
        {
            return Some(Binding::Register(register));
        }
        self.get(name)
            .or_else(|| self.of_range(name, span, registers).map(Binding::Register))
            .or_else(|| {
                numbered(name).find_map(|(prefix, number)| match self.get(prefix) {
                    Some(Binding::Symbols(symbol, count)) if number < count => Some(Binding::Symbol(symbol)),
                    _ => None,
                })
            })
    }

    /// The register of a range.
    fn of_range(&mut self, name: &[u8], span: Span, registers: &mut Registers) -> Option<Register> {
        let lengths = self.prefix_lengths;
        let mut splits = numbered(name).filter(|(prefix, _)| lengths & length_bit(prefix) != 0);
        splits.find_map(|(prefix, number)| match self.get(prefix) {
            Some(Binding::Range(range)) => {
                if self.numbered_singles == 0 {
                    self.prefixes.insert(prefix, range);
                }
                registers.of_range(range, number, span)
            }
            _ => None,
        })
    }
}

/// The bit of a name's length in [`Scopes::prefix_lengths`].
fn length_bit(name: &[u8]) -> u64 {
    1 << name.len().min(u64::BITS as usize - 1)
}

/// Every split of `%r12` into a prefix and a number, the longest number first.
pub(super) fn numbered(name: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let digits = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
        .min(10);
    (name.len() - digits..name.len()).filter_map(|split| {
        let (prefix, number) = name.split_at(split);
        if number.len() > 1 && number[0] == b'0' {
            return None;
        }
        let number = number.iter().try_fold(0_u32, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
        })?;
        Some((prefix, number))
    })
}

/// A declared `%r<n>`.
struct Range {
    count: u32,
    bits: u8,
    /// Registers by number, as far as a table that the body's size bounds reaches; [`UNNAMED`] for those that do not exist yet.
    dense: Vec<Register>,
}

/// The register in the place of one that has not been named.
const UNNAMED: Register = Register::new(u32::MAX as usize);

/// The registers of a body. A register exists once it is named in the code: a declaration costs nothing, so a
/// hostile count in one allocates nothing.
pub(super) struct Registers {
    pub(super) all: ptxcheck_ir::Registers,
    ranges: Vec<Range>,
    /// Registers whose number the tables do not reach.
    sparse: FxHashMap<(u32, u32), Register>,
    /// Longest table.
    dense_limit: usize,
}

impl Registers {
    /// For a body of so many bytes of text.
    pub(super) fn new(body_bytes: u32) -> Self {
        Self {
            all: ptxcheck_ir::Registers::EMPTY,
            ranges: Vec::new(),
            sparse: FxHashMap::default(),
            dense_limit: body_bytes as usize / 4 + 16,
        }
    }

    /// A register of so many bits, first named at `name`.
    pub(super) fn make(&mut self, bits: u8, name: Span) -> Register {
        self.all.add(bits, name)
    }

    /// Declares a range.
    pub(super) fn declare_range(&mut self, count: u32, bits: u8) -> Binding {
        self.ranges.push(Range {
            count,
            bits,
            dense: Vec::new(),
        });
        Binding::Range(self.ranges.len() as u32 - 1)
    }

    /// The register with a number of a range, if it has been named before and a table reaches it.
    #[inline(always)]
    fn known(&self, range: u32, number: u32) -> Option<Register> {
        let register = *self.ranges.get(range as usize)?.dense.get(number as usize)?;
        (register != UNNAMED).then_some(register)
    }

    /// The register with a number of a range; `None` if the range is shorter.
    #[inline]
    fn of_range(&mut self, range: u32, number: u32, name: Span) -> Option<Register> {
        match self.known(range, number) {
            Some(register) => Some(register),
            None => self.not_in_table(range, number, name),
        }
    }

    #[inline(never)]
    fn not_in_table(&mut self, range: u32, number: u32, name: Span) -> Option<Register> {
        let Range { count, bits, dense } = &mut self.ranges[range as usize];
        if number >= *count {
            return None;
        }
        let place = number as usize;
        let next = Register::new(self.all.len());
        if place < self.dense_limit {
            if dense.len() <= place {
                dense.resize((place + 1).next_power_of_two().min(self.dense_limit), UNNAMED);
            }
            dense[place] = next;
        } else if let Some(known) = self.sparse.get(&(range, number)) {
            return Some(*known);
        } else {
            self.sparse.insert((range, number), next);
        }
        Some(self.all.add(*bits, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve<'s>(scopes: &mut Scopes<'s>, registers: &mut Registers, name: &'s str) -> Option<Binding> {
        scopes.resolve(name.as_bytes(), Span::default(), registers)
    }

    #[test]
    fn ranges_bound_their_numbers() {
        let (mut scopes, mut registers) = (Scopes::default(), Registers::new(100));
        scopes.open();
        let range = registers.declare_range(u32::MAX, 32);
        scopes.bind(b"%r", range);
        let two = registers.declare_range(2, 1);
        scopes.bind(b"%p", two);
        let first = resolve(&mut scopes, &mut registers, "%r7");
        assert!(first.is_some());
        assert_eq!(first, resolve(&mut scopes, &mut registers, "%r7"));
        let far = resolve(&mut scopes, &mut registers, "%r4294967294");
        assert_eq!(far, resolve(&mut scopes, &mut registers, "%r4294967294"));
        assert_ne!(first, far);
        assert_eq!(resolve(&mut scopes, &mut registers, "%r4294967295"), None);
        assert_eq!(resolve(&mut scopes, &mut registers, "%p2"), None);
        assert_eq!(resolve(&mut scopes, &mut registers, "%r07"), None);
        assert_eq!(registers.all.len(), 2);
    }

    #[test]
    fn inner_scopes_shadow() {
        let (mut scopes, mut registers) = (Scopes::default(), Registers::new(100));
        scopes.open();
        let range = registers.declare_range(10, 32);
        scopes.bind(b"r", range);
        let outer = resolve(&mut scopes, &mut registers, "r0");
        scopes.open();
        let own = registers.make(32, Span::default());
        scopes.bind(b"r0", Binding::Register(own));
        assert_eq!(
            resolve(&mut scopes, &mut registers, "r0"),
            Some(Binding::Register(own))
        );
        scopes.close();
        assert_eq!(resolve(&mut scopes, &mut registers, "r0"), outer);
    }

    /// A prefix that is known is looked up anew once another name, or another range, shadows it.
    #[test]
    fn prefixes_are_shadowed() {
        let (mut scopes, mut registers) = (Scopes::default(), Registers::new(100));
        scopes.open();
        let outer = registers.declare_range(10, 32);
        scopes.bind(b"%r", outer);
        let of_outer = resolve(&mut scopes, &mut registers, "%r5");
        scopes.open();
        let inner = registers.declare_range(10, 64);
        scopes.bind(b"%r", inner);
        let of_inner = resolve(&mut scopes, &mut registers, "%r5");
        assert!(of_inner.is_some());
        assert_ne!(of_outer, of_inner);
        scopes.open();
        scopes.bind(b"%r", Binding::Param(0));
        assert_eq!(resolve(&mut scopes, &mut registers, "%r5"), None);
        scopes.close();
        assert_eq!(resolve(&mut scopes, &mut registers, "%r5"), of_inner);
        scopes.close();
        assert_eq!(resolve(&mut scopes, &mut registers, "%r5"), of_outer);
    }

    /// The longest number counts first, then shorter ones with longer prefixes.
    #[test]
    fn a_prefix_may_end_in_a_digit() {
        let (mut scopes, mut registers) = (Scopes::default(), Registers::new(100));
        scopes.open();
        let short = registers.declare_range(10, 32);
        scopes.bind(b"%r", short);
        let long = registers.declare_range(10, 64);
        scopes.bind(b"%r1", long);
        let bits = |binding: Option<Binding>, registers: &Registers| match binding {
            Some(Binding::Register(register)) => registers.all.bits(register),
            _ => 0,
        };
        for (name, wanted) in [("%r1", 32), ("%r12", 64), ("%r10", 64), ("%r110", 0), ("%r00", 0)] {
            let found = resolve(&mut scopes, &mut registers, name);
            assert_eq!(bits(found, &registers), wanted, "{name}");
        }
    }
}
