//! Digests of weak functions: equal for what one compiler makes of one source, whatever else is in the module.
//!
//! A body is its words. Registers and labels count by the order in which they appear, not by their names, and so do
//! numbers that a compiler gives to what it names in a module (`_Z1kPi$6943`, `__unnamed_2`); of names of internal linkage
//! the hashes are left out. White space, comments, `.loc` and the declarations of registers do not count.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Tree;

use ptxcheck_common::names;
use ptxcheck_ir::facts::WeakFunction;
use ptxcheck_ir::{Function, Linkage, Module};

/// The weak functions and kernels that the module defines.
pub(super) fn functions(tree: &Tree<'_>, module: &Module<'_>) -> Vec<WeakFunction> {
    let mut texts: NameMap<&[u8], &[u8]> = NameMap::default();
    for function in tree.functions().iter().filter(|function| function.has_body) {
        let (header, whole) = (tree.text(function.header), tree.text(function.span));
        texts.insert(
            function.name.of(tree.source()),
            whole.get(header.len()..).unwrap_or_default(),
        );
    }
    let weak = |function: &&Function<'_>| module.symbol(function.symbol).linkage == Linkage::Weak;
    module
        .functions
        .iter()
        .filter(weak)
        .filter_map(|function| {
            let name = module.symbol(function.symbol).name;
            let (body, calls) = digests(texts.get(name.as_bytes())?);
            Some(WeakFunction {
                name: name.to_owned(),
                signature: signature(function),
                body,
                calls,
            })
        })
        .collect()
}

fn signature(function: &Function<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    for param in function.params.iter().chain(&function.results) {
        (param.size, param.align).hash(&mut hash);
    }
    (function.params.len(), function.is_kernel()).hash(&mut hash);
    hash.finish()
}

/// The digest of all words of a body, and that of the words of its calls.
fn digests(body: &[u8]) -> (u64, u64) {
    let (mut all, mut calls) = (DefaultHasher::new(), DefaultHasher::new());
    let mut numbers: NameMap<&[u8], usize> = NameMap::default();
    let (mut is_skipped, mut is_call) = (false, false);
    for word in Words(body) {
        match word {
            b".loc" | b".reg" | b".pragma" => is_skipped = true,
            b";" | b"\n" => {
                // A `.loc` ends with its line, everything else with `;`.
                if word == b";" {
                    is_call = false;
                    b";".hash(&mut all);
                }
                is_skipped = false;
            }
            _ if is_skipped => {}
            [b'%' | b'$', ..] => {
                let next = numbers.len();
                numbers.entry(word).or_insert(next).hash(&mut all);
            }
            _ => {
                is_call |= word == b"call" || word.starts_with(b"call.");
                let base = unnumbered(word);
                if base.len() < word.len() {
                    let next = numbers.len();
                    numbers.entry(word).or_insert(next).hash(&mut all);
                }
                let name = names::normalised(std::str::from_utf8(base).unwrap_or_default());
                name.hash(&mut all);
                if is_call && (word[0].is_ascii_alphanumeric() || word[0] == b'_') {
                    name.hash(&mut calls);
                }
            }
        }
    }
    (all.finish(), calls.finish())
}

/// A name without the number that the compiler has given it.
fn unnumbered(word: &[u8]) -> &[u8] {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let base = &word[..word.len() - digits];
    if digits > 0 && (base == b"__unnamed_" || base.len() > 1 && base.ends_with(b"$")) {
        base
    } else {
        word
    }
}

/// Words, single signs and line ends. Comments are left out.
struct Words<'t>(&'t [u8]);

impl<'t> Iterator for Words<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        loop {
            let blank = |byte: &u8| byte.is_ascii_whitespace() && *byte != b'\n';
            let start = self.0.iter().position(|byte| !blank(byte))?;
            self.0 = &self.0[start..];
            let comment = match self.0 {
                [b'/', b'/', ..] => memchr::memchr(b'\n', self.0).unwrap_or(self.0.len()),
                [b'/', b'*', ..] => memchr::memmem::find(self.0, b"*/").map_or(self.0.len(), |end| end + 2),
                _ => 0,
            };
            if comment == 0 {
                break;
            }
            self.0 = &self.0[comment..];
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte);
        let length = self
            .0
            .iter()
            .position(|byte| !is_word(byte))
            .unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(length.max(1));
        self.0 = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::digests;

    #[test]
    fn names_of_registers_do_not_count() {
        let one = digests(b"{ .reg .b32 %r<3>;\n.loc 1 2 3\nadd.s32 %r1, %r2, 7; $L__1: bra $L__1; }");
        let other = digests(b"{.reg .b32 %r<9>; add.s32 \t%r5,%r8,7;\n // x\n$L__9: bra $L__9; }");
        assert_eq!(one, other);
        assert_ne!(one, digests(b"{ add.s32 %r1, %r2, 8; $L__1: bra $L__1; }"));
        assert_ne!(one, digests(b"{ add.s32 %r1, %r1, 7; $L__1: bra $L__1; }"));
    }

    #[test]
    fn what_a_compiler_numbers_or_hashes_in_a_module_does_not_count() {
        let load = |name: &str| digests(format!("{{ ld.global.f32 %f1, [{name}]; }}").as_bytes());
        assert_eq!(load("_Z1kPi$6943"), load("_Z1kPi$8918"));
        assert_eq!(load("__unnamed_1"), load("__unnamed_20"));
        assert_ne!(load("_Z1kPi$1"), load("_Z1lPi$1"));
        assert_ne!(load("_Z1k1"), load("_Z1k2"));
        assert_eq!(
            load("_ZN50_INTERNAL_0123abcd_4_a_cu_89abcdef_12345_1tE"),
            load("_ZN50_INTERNAL_4567abcd_4_a_cu_89abcdef_12345_1tE")
        );
        let two =
            |a: &str, b: &str| digests(format!("{{ ld.f32 %f1, [{a}]; ld.f32 %f2, [{b}]; }}").as_bytes());
        assert_ne!(two("t$1", "t$2"), two("t$1", "t$1"));
    }

    #[test]
    fn calls_have_a_digest_of_their_own() {
        let call = |name: &str| {
            digests(format!("{{ call.uni (%r1), {name}, (%r2); add.s32 %r1, %r1, 1; }}").as_bytes())
        };
        assert_eq!(call("f"), call("f"));
        assert_ne!(call("f").1, call("g").1);
        assert_eq!(digests(b"{ add.s32 %r1, %r1, 1; }").1, digests(b"{ ret; }").1);
    }
}
