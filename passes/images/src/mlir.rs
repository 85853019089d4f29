//! MLIR, told by its text or by its name.

use super::bytes::lines;

/// Operations that a text of MLIR may begin with.
const OPERATIONS: [&[u8]; 10] = [
    b"module",
    b"builtin.module",
    b"\"builtin.module\"",
    b"func.func",
    b"gpu.module",
    b"\"gpu.module\"",
    b"gpu.binary",
    b"llvm.func",
    b"llvm.mlir.global",
    b"tt.func",
];

/// True if a text begins like MLIR: with an operation of its own, after comments and aliases of attributes, types and locations.
pub(super) fn is_mlir(head: &[u8]) -> bool {
    let is_alias = |line: &&[u8]| {
        line.starts_with(b"//") || line.starts_with(b"!") || line.starts_with(b"#") && has(line, b" = ")
    };
    let Some(first) = lines(head).find(|line| !is_alias(line)) else {
        return false;
    };
    let Some(operation) = OPERATIONS.iter().find(|word| first.starts_with(word)) else {
        return false;
    };
    let rest = &first[operation.len()..];
    let follows = |words: &[&[u8]]| words.iter().any(|word| rest.starts_with(word));
    if operation.ends_with(b"module") || operation.ends_with(b"module\"") {
        follows(&[b" {", b" @", b" attributes", b"() <", b"() ({", b"(){"])
    } else if operation.ends_with(b"func") {
        // The rest of a line of the dialect of LLVM: linkage and calling convention stand before the name.
        follows(&[b" @", b" private @", b" public @"]) || operation.starts_with(b"llvm.") && has(rest, b" @")
    } else {
        has(rest, b" @")
    }
}

/// True if a text of MLIR is in the dialects of Triton, and not in that of LLVM, which they end in.
pub(super) fn is_triton(head: &[u8]) -> bool {
    is_mlir(head) && (has(head, b"tt.func") || has(head, b"ttg.")) && !has(head, b"llvm.func")
}

/// True if a file is called like one of MLIR.
pub(super) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".mlir", ".mlirbc"]
        .iter()
        .any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

fn has(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::format::{FileFormat, file_format};

    #[test]
    fn content_tells() {
        for text in [
            &b"module {\n}\n"[..],
            b"// c\n#map = affine_map<(d0) -> (d0)>\nmodule @m attributes {a = 1} {\n",
            b"func.func @f() {\n",
            b"gpu.module @m [#nvvm.target] {\n",
            b"gpu.binary @m [#gpu.object<#nvvm.target, \"x\">]\n",
            b"\"builtin.module\"() ({\n",
            b"llvm.func ptx_kernelcc @k() {\n",
            b"module attributes {\"ttg.num-warps\" = 4 : i32} {\n  llvm.func @k() {\n",
            b"ML\xefR\x0dMLIR22\0",
        ] {
            for name in ["-", "a.ptx", "a.bin"] {
                assert_eq!(
                    file_format(name, text),
                    FileFormat::Mlir,
                    "{}",
                    String::from_utf8_lossy(text)
                );
            }
        }
        for text in [
            &b"module;\nimport std;\n"[..],
            b"llvm.mlir.global\n",
            b"gpu.modules\n",
            b"module = 1\n",
        ] {
            assert_eq!(
                file_format("-", text),
                FileFormat::Unknown,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }

    #[test]
    fn names_tell_where_content_does_not() {
        assert_eq!(file_format("k.MLIR", b"?"), FileFormat::Mlir);
        assert_eq!(file_format("k.mlirbc", b""), FileFormat::Mlir);
        assert_eq!(
            file_format("k.mlir", b".version 8.0\n.target sm_90\n"),
            FileFormat::Ptx
        );
    }
}
