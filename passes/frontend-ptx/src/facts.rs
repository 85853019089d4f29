//! The declarations of a PTX module, for the rules that compare images.

use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Tree;

use super::{stubs, weak};
use ptxcheck_ir::Module;
use ptxcheck_ir::facts::{Facts, Kernel, SectionBytes, is_absolute};
use ptxcheck_ir::limits::SHOWN_PATHS;

/// The facts of the module lowered from `tree`. Digests of weak functions cost a walk over their text, so they are
/// made on demand.
#[must_use]
pub fn facts(tree: &Tree<'_>, module: &Module<'_>, with_weak: bool) -> Facts {
    let mut facts = Facts {
        producer: producer(tree.source()),
        paths: paths(tree),
        sections: sections(tree),
        needs_its_target: is_specific(module.target.name) && needs_its_target(tree.source()),
        is_debug: tree.target().any(|word| word == b"debug"),
        ..Facts::of(module)
    };
    stubs::note(tree, module, &mut facts.kernels);
    note_grid_waits(tree, &mut facts.kernels);
    if with_weak {
        facts.weak = weak::functions(tree, module);
    }
    facts
}

/// Notes which kernels wait for other grids, where their bodies have not been read: by the text.
fn note_grid_waits(tree: &Tree<'_>, kernels: &mut [Kernel]) {
    if kernels.iter().all(|kernel| kernel.waits_for_grids.is_some()) {
        return;
    }
    let wait = memchr::memmem::Finder::new(b"griddepcontrol.wait");
    let is_anywhere = wait.find(tree.source()).is_some();
    let mut by_name: NameMap<&[u8], bool> = NameMap::default();
    for function in tree.functions().iter().filter(|one| one.has_body) {
        let waits = is_anywhere && wait.find(tree.text(function.span)).is_some();
        by_name.insert(tree.text(function.name), waits);
    }
    for kernel in kernels
        .iter_mut()
        .filter(|kernel| kernel.waits_for_grids.is_none())
    {
        kernel.waits_for_grids = by_name.get(kernel.name.as_bytes()).copied();
    }
}

/// Gives the kernels of `facts` the digests of their bodies, which cost a walk over their text.
pub fn digest_kernels(tree: &Tree<'_>, facts: &mut Facts) {
    weak::digest_kernels(tree, &mut facts.kernels);
}

/// True for a target with a letter: code for no other may have what only such targets have.
fn is_specific(target: &str) -> bool {
    target.ends_with(|letter: char| letter.is_ascii_alphabetic())
}

/// The beginnings of instructions that only targets with a letter have (PTX ISA 9.2, target notes of each).
const SPECIFIC: [&[u8]; 3] = [b"wgmma.", b"setmaxnreg.", b"tcgen05."];

/// True if the text has one of them.
fn needs_its_target(source: &[u8]) -> bool {
    SPECIFIC
        .iter()
        .any(|word| memchr::memmem::find(source, word).is_some())
}

/// The `// Compiler …` and `// Based on …` comments that both of NVIDIA's compilers begin with. PTX in fat binaries has
/// none.
fn producer(source: &[u8]) -> Option<String> {
    let head = &source[..source.len().min(1024)];
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines
        .find(|line| line.starts_with(b"// Cuda compilation tools") || line.starts_with(b"// Based on"))?;
    Some(String::from_utf8_lossy(line[2..].trim_ascii()).into_owned())
}

/// The bytes of the lines of PTX that name a place in a source, if there are some.
fn sections(tree: &Tree<'_>) -> Option<SectionBytes> {
    // Builds without source lines name no file either.
    if tree.files().is_empty() {
        return None;
    }
    let source = tree.source();
    let ends = memchr::memchr_iter(b'\n', source).map(|at| at + 1);
    let mut from = 0;
    let mut lines = 0;
    for end in ends.chain(std::iter::once(source.len())) {
        if names_a_place(&source[from..end]) {
            lines += (end - from) as u64;
        }
        from = end;
    }
    Some(SectionBytes {
        lines,
        ..SectionBytes::default()
    })
}

/// True for `.loc` and `.file` (PTX ISA, Debugging Directives).
fn names_a_place(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let rest = line.strip_prefix(b".loc").or_else(|| line.strip_prefix(b".file"));
    rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_whitespace)
}

fn paths(tree: &Tree<'_>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for file in tree.files() {
        let name = tree.text(file.name);
        if is_absolute(name) && paths.len() < SHOWN_PATHS {
            paths.push(ptxcheck_common::shown::source(name).into_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
