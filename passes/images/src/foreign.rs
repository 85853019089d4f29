//! Files that are given as inputs by mistake: the formats of other GPUs, the stages of compilers before LLVM IR, sources. Each kind has a
//! sentence that names the right input. A file is recognised by its content, and by its name only if the content is not conclusive.

use super::bytes::lines;
use super::{bitcode, bytes, mlir};

/// A kind of file that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// A noun for it.
    pub what: &'static str,
    /// The input to give instead.
    pub instead: &'static str,
}

impl Foreign {
    /// Both in a sentence.
    #[must_use]
    pub fn describe(self) -> String {
        format!("it is {}, which is not read: {}", self.what, self.instead)
    }
}

const FOR_NVIDIA: &str = "give the PTX or LLVM IR of a build for NVIDIA's GPUs";

const OPTIX: Foreign = Foreign {
    what: "OptiX IR, a closed format",
    instead: "give the PTX of the same source (`nvcc -ptx -lineinfo`)",
};
const TRITON: Foreign = Foreign {
    what: "Triton's MLIR",
    instead: "give the `.ptx` or `.llir` file that Triton keeps beside it",
};
const AMD_ASSEMBLY: Foreign = Foreign {
    what: "assembly for AMD's GPUs",
    instead: FOR_NVIDIA,
};
const AMD_IR: Foreign = Foreign {
    what: "LLVM IR for AMD's GPUs",
    instead: FOR_NVIDIA,
};
const AMD_CODE: Foreign = Foreign {
    what: "machine code for AMD's GPUs (HSACO)",
    instead: FOR_NVIDIA,
};
const SPIRV: Foreign = Foreign {
    what: "SPIR-V",
    instead: FOR_NVIDIA,
};
const UTF_16: Foreign = Foreign {
    what: "text in UTF-16",
    instead: "ptxas does not read it either; convert it (`iconv -f UTF-16 -t UTF-8`)",
};
const CUDA: Foreign = Foreign {
    what: "CUDA source",
    instead: "give what the compiler makes of it, PTX (`nvcc -ptx -lineinfo`), an object or an executable",
};

/// Kinds of files recognised by name, if the content is not conclusive.
const ENDINGS: [(&str, Foreign); 9] = [
    (".optixir", OPTIX),
    (".ttir", TRITON),
    (".ttgir", TRITON),
    (".amdgcn", AMD_ASSEMBLY),
    (".hsaco", AMD_CODE),
    (".spv", SPIRV),
    (".spvasm", SPIRV),
    (".cu", CUDA),
    (".cuh", CUDA),
];

const MAGIC: [(&[u8], Foreign); 2] = [(b"\x03\x02\x23\x07", SPIRV), (b"\x07\x23\x02\x03", SPIRV)];

/// NVIDIA's container of IR that is not PTX, and what the word at offset 14 says of it: 1 for LTO-IR, 2 for OptiX IR
/// (measured on nvcc 13.5, for sm_75 to sm_120, with and without `-G`).
const NVVM_MAGIC: &[u8] = b"\xed\x43\x4e\x7f";
const NVVM_LEVEL: usize = 14;
const OPTIX_LEVEL: u16 = 2;

/// ELF: the offset of the machine's number, and AMD's.
const ELF_MACHINE: usize = 18;
const AMD_MACHINE: u16 = 224;

/// The kind of a binary file, from its bytes.
pub(super) fn binary(bytes: &[u8]) -> Option<Foreign> {
    if let Some((_, foreign)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(*foreign);
    }
    if is_utf_16(bytes) {
        return Some(UTF_16);
    }
    let word = |offset| bytes::u16_at(bytes, offset);
    if bytes.starts_with(NVVM_MAGIC) {
        return (word(NVVM_LEVEL) == Some(OPTIX_LEVEL)).then_some(OPTIX);
    }
    if bytes.starts_with(super::elf::MAGIC) {
        return (word(ELF_MACHINE) == Some(AMD_MACHINE)).then_some(AMD_CODE);
    }
    bitcode::triple(bytes)
        .filter(|triple| triple.starts_with("amdgcn"))
        .map(|_| AMD_IR)
}

/// The kind of a text file, from the beginning of its text, regardless of its name.
pub(super) fn text(head: &[u8]) -> Option<Foreign> {
    if mlir::is_triton(head) {
        return Some(TRITON);
    }
    if lines(head)
        .next()
        .is_some_and(|line| line.starts_with(b"; SPIR-V"))
    {
        return Some(SPIRV);
    }
    lines(head).find_map(|line| {
        let begins = |word: &&[u8]| line.starts_with(word);
        if [&b".amdgcn_target"[..], b".amdhsa_kernel", b".amdgpu_metadata"]
            .iter()
            .any(begins)
        {
            Some(AMD_ASSEMBLY)
        } else if line.starts_with(b"OpCapability ") {
            Some(SPIRV)
        } else if line.starts_with(b"target triple = \"amdgcn") {
            Some(AMD_IR)
        } else {
            None
        }
    })
}

/// True if a file begins with letters of ASCII as UTF-16 has them, in either order of bytes.
fn is_utf_16(bytes: &[u8]) -> bool {
    let marks = [&b"\xff\xfe"[..], b"\xfe\xff"];
    let rest = marks
        .iter()
        .find_map(|mark| bytes.strip_prefix(*mark))
        .unwrap_or(bytes);
    let is_letter = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let head = &rest[..rest.len().min(UTF_16_BYTES)];
    let all = |is_it: fn(&[u8]) -> (u8, u8)| {
        head.chunks_exact(2)
            .all(|pair| matches!(is_it(pair), (letter, 0) if is_letter(letter)))
    };
    head.len() == UTF_16_BYTES && (all(|pair| (pair[0], pair[1])) || all(|pair| (pair[1], pair[0])))
}

/// Bytes at the beginning of a file that show whether it is UTF-16.
const UTF_16_BYTES: usize = 32;

/// A source: by its name unless it begins like PTX, or as what nothing else is that has this word.
pub(super) fn source(name: &str, head: &[u8]) -> Option<Foreign> {
    let is_named = ends(name, ".cu") || ends(name, ".cuh");
    let is_ptx = || {
        lines(head).any(|line| {
            let rest = line.strip_prefix(b".version").unwrap_or_default();
            rest.first().is_some_and(u8::is_ascii_whitespace)
        })
    };
    (is_named && !is_ptx()).then_some(CUDA)
}

/// CUDA, if a text that is not certain to be PTX or LLVM IR has a kernel of it.
pub(super) fn unnamed_source(head: &[u8]) -> Option<Foreign> {
    memchr::memmem::find(head, b"__global__").map(|_| CUDA)
}

/// The kind of a file, from its name.
pub(super) fn named(name: &str) -> Option<Foreign> {
    let (_, foreign) = ENDINGS.iter().find(|(ending, _)| ends(name, ending))?;
    Some(*foreign)
}

fn ends(name: &str, ending: &str) -> bool {
    name.len() > ending.len()
        && name
            .get(name.len() - ending.len()..)
            .is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::super::format::{FileFormat, file_format};
    use super::*;

    fn told(name: &str, bytes: &[u8]) -> Option<Foreign> {
        match file_format(name, bytes) {
            FileFormat::Foreign(foreign) => Some(foreign),
            _ => None,
        }
    }

    fn nvvm(level: u8) -> Vec<u8> {
        let mut bytes = [NVVM_MAGIC, &[1, 0x43, 2, 0x83, 3, 2, 7, 0, 24, 0, level, 0]].concat();
        bytes.resize(64, 0);
        bytes
    }

    fn utf_16(bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let text = "\u{feff}// PTX\r\n.version 9.2\r\n.target sm_90\r\n";
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn content_tells() {
        let mut hsaco = vec![0; 64];
        hsaco[..6].copy_from_slice(b"\x7fELF\x02\x01");
        hsaco[ELF_MACHINE] = 224;
        for (bytes, foreign) in [
            (&nvvm(2)[..], OPTIX),
            (&hsaco, AMD_CODE),
            (&bitcode::tests::module("amdgcn-amd-amdhsa"), AMD_IR),
            (b"\x03\x02\x23\x07\0\0", SPIRV),
            (b"\x07\x23\x02\x03\0\0", SPIRV),
            (&utf_16(u16::to_le_bytes), UTF_16),
            (&utf_16(u16::to_be_bytes), UTF_16),
            (b"; SPIR-V\n; Version: 1.0\n", SPIRV),
            (b"\n  OpCapability Shader\n", SPIRV),
            (b"\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n", AMD_ASSEMBLY),
            (b"\t.text\n.amdhsa_kernel k\n", AMD_ASSEMBLY),
            (b"; x\ntarget triple = \"amdgcn-amd-amdhsa\"\n", AMD_IR),
            (
                b"#loc = loc(\"k.py\":1:0)\nmodule {\n  tt.func public @k() {\n",
                TRITON,
            ),
            (b"module attributes {\"ttg.num-warps\" = 4 : i32} {\n", TRITON),
            (b"#include <x>\n__global__ void k() { asm(\".entry\"); }\n", CUDA),
        ] {
            for name in ["-", "a.ptx", "a.bin"] {
                let is_source = foreign == CUDA && name == "a.ptx";
                assert_eq!(
                    told(name, bytes),
                    Some(foreign).filter(|_| !is_source),
                    "{name}: {}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }

    #[test]
    fn names_tell_where_content_does_not() {
        assert_eq!(
            told("a.cu", b"// .version and .target\nint x = a.func();\n"),
            Some(CUDA)
        );
        assert_eq!(told("a.TTGIR", b"?"), Some(TRITON));
        assert_eq!(told("a.spv", b""), Some(SPIRV));
        let ptx = b".version 8.0\n.target sm_90\n";
        for name in ["a.cu", "a.ttir", "a.amdgcn"] {
            assert_eq!(file_format(name, ptx), FileFormat::Ptx, "{name}");
        }
        assert_eq!(file_format("a.optixir", &nvvm(1)), FileFormat::LtoIr);
    }

    #[test]
    fn nothing_else_is_foreign() {
        for (name, bytes) in [
            ("a.ptx", &b"// module {\n.version 8.0\n"[..]),
            ("-", b"module;\nimport std;\n"),
            ("a.py", b"#x\nmodule = 1\n"),
            (
                "a.ll",
                b"; ModuleID = 'module'\ntarget triple = \"nvptx64-nvidia-cuda\"\n",
            ),
            ("a.bc", &bitcode::tests::module("nvptx64-nvidia-cuda")),
            ("a.o", b"\x7fELF\x02\x01"),
            ("cu", b""),
        ] {
            assert_eq!(told(name, bytes), None, "{name}");
        }
    }
}
