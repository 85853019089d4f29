//! Kernels without a body, in modules whose declarations alone have been read.

use memchr::memchr;
use ptxcheck_common::maps::NameMap;
use ptxcheck_ir::Module;
use ptxcheck_ir::facts::{Kernel, Stub};
use ptxcheck_ptx_parser::ast::{Function, FunctionKind, Tree};
use ptxcheck_ptx_parser::parse;

use super::module::lower;
use super::origin::PtxOrigin;
use crate::limits::SHORT_BODY_BYTES;

/// Notes which of the kernels are stubs, if the module has no bodies. Those that may be one are read each by itself.
pub(super) fn note(tree: &Tree<'_>, module: &Module<'_>, kernels: &mut [Kernel]) {
    if module.bodies().next().is_some() {
        return;
    }
    let defined = tree
        .functions()
        .iter()
        .filter(|one| one.kind == FunctionKind::Entry && one.has_body);
    let mut stubs: NameMap<&[u8], Stub> = NameMap::default();
    for function in defined.filter(|function| may_be_stub(tree.text(function.span))) {
        if let Some(stub) = read(tree, function) {
            stubs.insert(tree.text(function.name), stub);
        }
    }
    if stubs.is_empty() {
        return;
    }
    for kernel in kernels {
        kernel.stub = stubs.get(kernel.name.as_bytes()).copied();
    }
}

/// True if the text of a kernel is short, or its first instruction is one that a stub begins with, judged line by line.
fn may_be_stub(kernel: &[u8]) -> bool {
    let Some(open) = memchr(b'{', kernel) else {
        return false;
    };
    let body = &kernel[open + 1..];
    let mut lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let goes_on = |line: &&[u8]| {
        let is_statement = !matches!(line.first(), None | Some(b'.' | b'{' | b'/')) && !line.ends_with(b":");
        is_statement && !PREPARATIONS.iter().any(|word| line.starts_with(word))
    };
    body.len() <= SHORT_BODY_BYTES
        || lines.find(goes_on).is_some_and(|first| {
            let words: [&[u8]; 2] = [b"ret", b"trap"];
            words.iter().any(|word| first.starts_with(word))
        })
}

/// The beginnings of instructions that may stand before a trap (see [`Stub::of`]).
const PREPARATIONS: [&[u8]; 3] = [b"ld.param.", b"cvta.", b"mov."];

fn read(tree: &Tree<'_>, function: &Function) -> Option<Stub> {
    let own = parse(tree.text(function.span)).ok()?;
    if !own.errors().is_empty() {
        return None;
    }
    let origin = PtxOrigin::new(&own);
    let module = lower(&own, &origin);
    module.functions.first().and_then(Stub::of)
}

#[cfg(test)]
mod tests {
    use ptxcheck_ptx_parser::parse_declarations;

    use super::*;
    use crate::{declarations, facts};

    /// The stub that a kernel with this body is, read in full and by its declarations.
    fn stubs(body: &str) -> [Option<Stub>; 2] {
        let source = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n\t.param .u64 p\n)\n{{\n{body}\n}}\n"
        );
        let (all, some) = (
            parse(source.as_bytes()).unwrap(),
            parse_declarations(source.as_bytes()).unwrap(),
        );
        let (origin, declared) = (PtxOrigin::new(&all), PtxOrigin::new(&some));
        [
            facts(&all, &lower(&all, &origin), false),
            facts(&some, &declarations(&some, &declared), false),
        ]
        .map(|facts| facts.kernels[0].stub)
    }

    #[test]
    fn stubs_are_found_with_and_without_bodies() {
        let long = "\tst.global.u32 [%rd1], 0;\n".repeat(100);
        let cases = [
            ("ret;", Some(Stub::Returning)),
            ("\t.loc 1 3 0\n\tret;\n\t.loc 1 4 1", Some(Stub::Returning)),
            (".reg .pred %p;\n$L__BB0_1: // begin\nret;", Some(Stub::Returning)),
            ("exit;", None),
            ("trap;", Some(Stub::Trapping)),
            ("trap; ret;", Some(Stub::Trapping)),
            (
                &format!(".reg .b64 %rd<9>;\n\n\ttrap;\n{long}"),
                Some(Stub::Trapping),
            ),
            (
                &format!("{{\n\t// inline asm\n\ttrap;\n}}\n{long}"),
                Some(Stub::Trapping),
            ),
            (
                &format!(
                    ".reg .b64 %rd<3>;\n\tld.param.u64 \t%rd1, [p];\n\tcvta.to.global.u64 %rd2, %rd1;\n\ttrap;\n{long}"
                ),
                Some(Stub::Trapping),
            ),
            (".reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\nret;", None),
            (".reg .b64 %rd<3>;\nld.global.u64 %rd1, [%rd2];\ntrap;", None),
            ("", None),
            ("brkpt;", None),
            (".reg .pred %p;\n@%p trap;\nret;", None),
            (".reg .pred %p;\n@%p ret;\nret;", None),
            ("membar.gl;\nret;", None),
            (&format!("{long}\tret;"), None),
            ("ret;\nret;", None),
        ];
        for (body, expected) in cases {
            assert_eq!(stubs(body), [expected; 2], "{body}");
        }
    }

    /// A damaged kernel is not a stub: the rest of its body is not known.
    #[test]
    fn what_is_malformed_is_no_stub() {
        assert_eq!(stubs("trap; +;"), [None; 2]);
    }
}
