//! The format of a file, told from its first bytes and its name.

use super::readers::Container;
use super::{Foreign, bitcode, foreign, mlir, package};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// PTX text.
    Ptx,
    /// LLVM IR as text.
    LlvmText,
    /// LLVM IR as bitcode.
    LlvmBitcode,
    /// MLIR, as text or bytecode.
    Mlir,
    /// A file that holds images, of one of the formats of [`READERS`](crate::READERS).
    Container(Container),
    /// LTO-IR.
    LtoIr,
    /// An archive or compressed stream that is not unpacked: a noun for it.
    Package(&'static str),
    /// A file that people take for an input, and is none.
    Foreign(Foreign),
    /// None of these.
    Unknown,
}

impl FileFormat {
    /// A noun for it.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::LlvmText => "LLVM IR",
            Self::LlvmBitcode => "LLVM bitcode",
            Self::Mlir => "MLIR",
            Self::Container(container) => container.0.noun(),
            Self::LtoIr => "LTO-IR",
            Self::Package(what) => what,
            Self::Foreign(foreign) => foreign.what,
            Self::Unknown => "no kind of device code",
        }
    }
}

/// Bytes of a file that are searched for the first PTX directive.
const SNIFFED_BYTES: usize = 1 << 16;

/// The format of `bytes`, the content of a file called `name` (its ending decides for what looks like nothing else: an
/// empty or garbled `.ptx` is still PTX, and its errors are syntax errors).
#[must_use]
pub fn file_format(name: &str, bytes: &[u8]) -> FileFormat {
    const MAGIC: &[(&[u8], FileFormat)] = &[
        (bitcode::MAGIC, FileFormat::LlvmBitcode),
        (bitcode::WRAPPER_MAGIC, FileFormat::LlvmBitcode),
        (b"\xed\x43\x4e\x7f", FileFormat::LtoIr),
        (b"ML\xefR", FileFormat::Mlir),
    ];
    if let Some(what) = package::recognise(bytes) {
        return FileFormat::Package(what);
    }
    if let Some(foreign) = foreign::binary(bytes) {
        return FileFormat::Foreign(foreign);
    }
    if let Some(container) = Container::of(bytes) {
        return FileFormat::Container(container);
    }
    if let Some((_, form)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return *form;
    }
    let has_ending = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    // A file with NULs is none of the texts, even if it holds one. NVRTC's PTX ends with one.
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let head = &text[..text.len().min(SNIFFED_BYTES)];
    let is_text = memchr::memchr(0, head).is_none();
    if is_text && begins_as_ptx(head) {
        return FileFormat::Ptx;
    }
    let has = |needle: &[u8]| is_text && memchr::memmem::find(head, needle).is_some();
    let if_text = |foreign: Option<Foreign>| foreign.filter(|_| is_text).map(FileFormat::Foreign);
    if let Some(foreign) = if_text(foreign::text(head)).or_else(|| if_text(foreign::source(name, head))) {
        return foreign;
    }
    if is_text && mlir::is_mlir(head) {
        FileFormat::Mlir
    } else if has_ending(".ptx") {
        FileFormat::Ptx
    } else if is_text && begins_as_ir(head) {
        FileFormat::LlvmText
    } else if has(b".version") && has(b".target") {
        FileFormat::Ptx
    } else if has_ending(".ll")
        || has_ending(".llir")
        || has(b"target triple = \"nvptx")
        || has(b"target datalayout")
    {
        FileFormat::LlvmText
    } else if mlir::is_named(name) {
        FileFormat::Mlir
    } else if let Some(foreign) =
        if_text(foreign::unnamed_source(head)).or_else(|| foreign::named(name).map(FileFormat::Foreign))
    {
        foreign
    } else if is_text
        && [&b".entry"[..], b".func", b".version"]
            .iter()
            .any(|word| has_directive(head, word))
    {
        FileFormat::Ptx
    } else {
        FileFormat::Unknown
    }
}

/// True if the first line with more than a comment has the version of the PTX ISA, as it does in what compilers write.
fn begins_as_ptx(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"//"));
    first.is_some_and(|line| line.starts_with(b".version"))
}

/// True if a directive stands somewhere, and not as the end of another word.
fn has_directive(text: &[u8], directive: &[u8]) -> bool {
    memchr::memmem::find_iter(text, directive).any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
    })
}

/// True if a line is one that LLVM writes before all code. IR of host code may hold PTX in a string, in one line.
fn begins_as_ir(text: &[u8]) -> bool {
    const LINES: [&[u8]; 4] = [
        b"\n; ModuleID = '",
        b"\nsource_filename = \"",
        b"\ntarget datalayout = \"",
        b"\ntarget triple = \"",
    ];
    LINES
        .iter()
        .any(|line| text.starts_with(&line[1..]) || memchr::memmem::find(text, line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_in_a_string_of_ir_is_no_ptx() {
        let string = b"@s = constant [9 x i8] c\"\\0A.version 8.5\\0A.target sm_90\\0A.visible .entry k(\"\n";
        for line in [
            "; ModuleID = 'a'\n",
            "\nsource_filename = \"a\"\n",
            "; x\ntarget triple = \"x86_64\"\n",
        ] {
            let text = [line.as_bytes(), string].concat();
            assert_eq!(file_format("-", &text), FileFormat::LlvmText, "{line}");
        }
        let ptx = b"// target triple = \"nvptx64\"\n.version 8.5\n.target sm_90\n";
        assert_eq!(file_format("-", ptx), FileFormat::Ptx);
    }

    #[test]
    fn content_counts_before_the_name() {
        assert_eq!(file_format("a.ptx", b"\x7fELF\x02").describe(), "an ELF file");
        assert_eq!(
            file_format("-", b"//\n.version 9.2\n.target sm_90\n"),
            FileFormat::Ptx
        );
        assert_eq!(
            file_format("-", b"//\n.version 9.2\n.target sm_90\n\0"),
            FileFormat::Ptx
        );
        assert_eq!(file_format("a.ptx", b""), FileFormat::Ptx);
        assert_eq!(file_format("a.txt", b"hello"), FileFormat::Unknown);
        assert_eq!(file_format("a.ll", b"define void @k()"), FileFormat::LlvmText);
        assert_eq!(
            file_format("a.bin", b"\0\x01.version 9.2\n.target sm_90\n"),
            FileFormat::Unknown
        );
        assert_eq!(file_format("a.bc", b"BC\xc0\xde"), FileFormat::LlvmBitcode);
    }
}
