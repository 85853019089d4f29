//! Digests of weak functions: equal for the output of one compiler from one source, regardless of the rest of the module.
//!
//! A body is its words. Registers and labels count by the order in which they appear, not by their names, and so do
//! numbers that a compiler gives to what it names in a module (`_Z1kPi$6943`, `__unnamed_2`, `__local_depot3`); of names of
//! internal linkage what stands for the file is left out. White space, comments, `.loc`, the declarations of registers and labels that
//! nothing leads to do not count.

mod options;
mod words;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Tree;

use ptxcheck_common::names;
use ptxcheck_ir::facts::{CompilerOptions, Kernel, WeakFunction};
use ptxcheck_ir::{Function, Linkage, Module};
use words::Words;

/// The weak functions and kernels that the module defines.
pub(super) fn functions(tree: &Tree<'_>, module: &Module<'_>) -> Vec<WeakFunction> {
    let texts = texts(tree);
    let kernels = module.functions.iter().filter(|function| function.is_kernel());
    let kernels = kernels.filter_map(|kernel| texts.get(module.symbol(kernel.symbol).name.as_bytes()));
    let is_unoptimised = options::is_unoptimised(kernels.copied());
    let weak = |function: &&Function<'_>| module.symbol(function.symbol).linkage == Linkage::Weak;
    module
        .functions
        .iter()
        .filter(weak)
        .filter_map(|function| {
            let name = module.symbol(function.symbol).name;
            let read = read(texts.get(name.as_bytes())?);
            Some(WeakFunction {
                name: name.to_owned(),
                signature: signature(function),
                body: read.all,
                calls: read.calls,
                options: CompilerOptions {
                    is_unoptimised: is_unoptimised.or(read.options.is_unoptimised),
                    ..read.options
                },
            })
        })
        .collect()
}

/// Gives kernels the digests of their bodies.
pub(super) fn digest_kernels(tree: &Tree<'_>, kernels: &mut [Kernel]) {
    let texts = texts(tree);
    for kernel in kernels {
        kernel.body = texts.get(kernel.name.as_bytes()).map(|text| read(text).all);
    }
}

/// The texts of the bodies, by name.
fn texts<'a>(tree: &Tree<'a>) -> NameMap<&'a [u8], &'a [u8]> {
    let mut texts: NameMap<&[u8], &[u8]> = NameMap::default();
    for function in tree.functions().iter().filter(|function| function.has_body) {
        let (header, whole) = (tree.text(function.header), tree.text(function.span));
        texts.insert(
            function.name.of(tree.source()),
            whole.get(header.len()..).unwrap_or_default(),
        );
    }
    texts
}

fn signature(function: &Function<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    for param in function.params.iter().chain(&function.results) {
        (param.size, param.align).hash(&mut hash);
    }
    (function.params.len(), function.is_kernel()).hash(&mut hash);
    hash.finish()
}

/// The content of a body.
struct Read {
    /// The digest of all its words.
    all: u64,
    /// That of the words of its calls.
    calls: u64,
    options: CompilerOptions,
}

fn read(body: &[u8]) -> Read {
    let (mut all, mut calls) = (DefaultHasher::new(), DefaultHasher::new());
    let mut numbers: NameMap<&[u8], usize> = NameMap::default();
    let labels = labels(body);
    let mut options = options::Evidence::default();
    let (mut is_skipped, mut is_call) = (false, false);
    let mut words = Words(body).peekable();
    while let Some(word) = words.next() {
        match word {
            b".loc" | b".reg" | b".pragma" => is_skipped = true,
            b";" | b"\n" => {
                // A `.loc` ends with its line, everything else with `;`.
                if word == b";" {
                    is_call = false;
                    options.end();
                    b";".hash(&mut all);
                }
                is_skipped = false;
            }
            _ if is_skipped => {}
            _ if labels.get(word) == Some(&false) && words.peek() == Some(&&b":"[..]) => {
                words.next();
            }
            [b'%' | b'$', ..] => {
                options.see(word);
                let next = numbers.len();
                numbers.entry(word).or_insert(next).hash(&mut all);
            }
            _ if labels.contains_key(word) => {
                let next = numbers.len();
                numbers.entry(word).or_insert(next).hash(&mut all);
            }
            _ => {
                options.see(word);
                is_call |= word == b"call" || word.starts_with(b"call.");
                let base = unnumbered(word);
                if let Some(base) = base {
                    let next = numbers.len();
                    numbers.entry(word).or_insert(next).hash(&mut all);
                    base.hash(&mut all);
                    continue;
                }
                let name = names::without_unit(std::str::from_utf8(word).unwrap_or_default());
                name.hash(&mut all);
                if is_call && (word[0].is_ascii_alphanumeric() || word[0] == b'_') {
                    name.hash(&mut calls);
                }
            }
        }
    }
    Read {
        all: all.finish(),
        calls: calls.finish(),
        options: options.options(),
    }
}

/// The labels of a body, and whether something leads to each.
fn labels(body: &[u8]) -> NameMap<&[u8], bool> {
    let mut labels = NameMap::default();
    let mut words = Words(body).peekable();
    while let Some(word) = words.next() {
        if words.peek() == Some(&&b":"[..]) {
            labels.insert(word, false);
        }
    }
    if labels.is_empty() {
        return labels;
    }
    let mut words = Words(body).peekable();
    while let Some(word) = words.next() {
        if words.peek() != Some(&&b":"[..])
            && let Some(is_used) = labels.get_mut(word)
        {
            *is_used = true;
        }
    }
    labels
}

/// A name without the number that the compiler has given it, if it is one of those that it numbers in a module.
fn unnumbered(word: &[u8]) -> Option<&[u8]> {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let base = &word[..word.len() - digits];
    // clang's strings, `.str`, `.str1` and `.str.2`: the first of them has no number.
    let base = match base.strip_suffix(b"_$_") {
        Some(before) if digits > 0 => before,
        _ => base,
    };
    let is_string = base == b"_$_str";
    let is_family = [&b"__unnamed_"[..], b"__local_depot"].contains(&base);
    let is_numbered = digits > 0
        && (is_family || base.len() + digits < word.len() || base.len() > 1 && base.ends_with(b"$"));
    (is_string || is_numbered).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::read;

    /// The digest of a body, and that of its calls.
    fn digests(body: &[u8]) -> (u64, u64) {
        let read = read(body);
        (read.all, read.calls)
    }

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
            load("_ZN40_INTERNAL_0123abcd_4_a_cu_89abcdef_123451tE"),
            load("_ZN40_INTERNAL_4567abcd_4_a_cu_89abcdef_123451tE")
        );
        assert_eq!(
            load("_ZN33_INTERNAL_f81de7b8_4_a_cu__Z2kaPi2stEi"),
            load("_ZN34_INTERNAL_eaa84856_4_b_cu__Z3kb0Pi2stEi")
        );
        assert_ne!(
            load("_ZN33_INTERNAL_f81de7b8_4_a_cu__Z2kaPi2stEi"),
            load("_ZN34_INTERNAL_eaa84856_4_b_cu__Z3kb0Pi2suEi")
        );
        let two =
            |a: &str, b: &str| digests(format!("{{ ld.f32 %f1, [{a}]; ld.f32 %f2, [{b}]; }}").as_bytes());
        assert_ne!(two("t$1", "t$2"), two("t$1", "t$1"));
    }

    #[test]
    fn names_of_stack_frames_and_strings_do_not_count() {
        let frame = |name: &str| {
            digests(
                format!("{{ .local .align 4 .b8 {name}[8]; mov.u64 %SPL, {name}; st.local [%SPL], 1; }}")
                    .as_bytes(),
            )
        };
        assert_eq!(frame("__local_depot0"), frame("__local_depot12"));
        assert_ne!(frame("__local_depot0"), frame("buffer"));
        let print = |name: &str| digests(format!("{{ mov.b64 %rd1, {name}; }}").as_bytes());
        assert_eq!(print("_$_str"), print("_$_str1"));
        assert_eq!(print("_$_str"), print("_$_str_$_2"));
        assert_eq!(print("switch_$_table_$_f_$_1"), print("switch_$_table_$_f_$_2"));
        assert_ne!(print("switch_$_table_$_f_$_1"), print("switch_$_table_$_g_$_1"));
        assert_ne!(print("_$_str"), print("string"));
    }

    #[test]
    fn names_of_labels_do_not_count_and_unused_ones_not_at_all() {
        let wait = |label: &str, before: &str| {
            digests(format!("{{ {before} {label}: @%p1 bra {label}; mov.u32 %r1, %r2; }}").as_bytes())
        };
        assert_eq!(wait("DONE_0", ""), wait("DONE_1", ""));
        assert_eq!(wait("DONE_0", ""), wait("DONE_0", "$L__func_begin2: tmp :"));
        assert_ne!(wait("DONE_0", ""), wait("DONE_0", "bra OTHER; OTHER:"));
        let two = |a: &str, b: &str| digests(format!("{{ A: B: @%p1 bra {a}; bra {b}; }}").as_bytes());
        assert_ne!(two("A", "B"), two("B", "A"));
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
