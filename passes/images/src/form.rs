//! What a file is: which pieces of device code it holds, and in which form.

use super::{Foreign, bitcode, foreign, package, windows};

/// The form of a file, told from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// PTX text.
    Ptx,
    /// LLVM IR as text.
    LlvmText,
    /// LLVM IR as bitcode.
    LlvmBitcode,
    /// An ELF object, executable, shared library or cubin.
    Elf,
    /// An object, executable or library of Windows.
    Windows,
    /// A static archive.
    Archive,
    /// A fat binary on its own.
    FatBinary,
    /// LTO-IR.
    LtoIr,
    /// An archive or compressed stream that is not looked into: what it is.
    Package(&'static str),
    /// What people take for an input, and is none.
    Foreign(Foreign),
    /// None of these.
    Unknown,
}

impl Form {
    /// What to call it.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::LlvmText => "LLVM IR",
            Self::LlvmBitcode => "LLVM bitcode",
            Self::Elf => "an ELF file",
            Self::Windows => "an object or executable of Windows",
            Self::Archive => "a static archive",
            Self::FatBinary => "a fat binary",
            Self::LtoIr => "LTO-IR",
            Self::Package(what) => what,
            Self::Foreign(foreign) => foreign.what,
            Self::Unknown => "no kind of device code",
        }
    }
}

/// How far into a file the first PTX directive is looked for.
const SNIFFED_BYTES: usize = 1 << 16;

/// The form of `bytes`, the content of a file called `name` (its ending decides for what looks like nothing else: an
/// empty or garbled `.ptx` is still PTX, and its errors are syntax errors).
#[must_use]
pub fn form(name: &str, bytes: &[u8]) -> Form {
    const MAGIC: &[(&[u8], Form)] = &[
        (b"\x7fELF", Form::Elf),
        (b"!<arch>\n", Form::Archive),
        (b"!<thin>\n", Form::Archive),
        (b"\x50\xed\x55\xba", Form::FatBinary),
        (bitcode::MAGIC, Form::LlvmBitcode),
        (bitcode::WRAPPER_MAGIC, Form::LlvmBitcode),
        (b"\xed\x43\x4e\x7f", Form::LtoIr),
    ];
    if let Some(what) = package::recognise(bytes) {
        return Form::Package(what);
    }
    if let Some(foreign) = foreign::binary(bytes) {
        return Form::Foreign(foreign);
    }
    if let Some((_, form)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return *form;
    }
    if windows::is_windows(bytes) {
        return Form::Windows;
    }
    let has_ending = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    // A file with NULs is none of the texts, even if it holds one.
    let is_text = memchr::memchr(0, head).is_none();
    let has = |needle: &[u8]| is_text && memchr::memmem::find(head, needle).is_some();
    let if_text = |foreign: Option<Foreign>| foreign.filter(|_| is_text).map(Form::Foreign);
    if let Some(foreign) = if_text(foreign::text(head)).or_else(|| if_text(foreign::source(name, head))) {
        return foreign;
    }
    if has_ending(".ptx") || has(b".version") && has(b".target") {
        Form::Ptx
    } else if has_ending(".ll")
        || has_ending(".llir")
        || has(b"target triple = \"nvptx")
        || has(b"target datalayout")
    {
        Form::LlvmText
    } else if let Some(foreign) =
        if_text(foreign::unnamed_source(head)).or_else(|| foreign::named(name).map(Form::Foreign))
    {
        foreign
    } else if has(b".entry") || has(b".func") || has(b".version") {
        Form::Ptx
    } else {
        Form::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_before_the_name() {
        assert_eq!(form("a.ptx", b"\x7fELF\x02"), Form::Elf);
        assert_eq!(form("-", b"//\n.version 9.2\n.target sm_90\n"), Form::Ptx);
        assert_eq!(form("a.ptx", b""), Form::Ptx);
        assert_eq!(form("a.txt", b"hello"), Form::Unknown);
        assert_eq!(form("a.ll", b"define void @k()"), Form::LlvmText);
        assert_eq!(
            form("a.bin", b"\0\x01.version 9.2\n.target sm_90\n"),
            Form::Unknown
        );
        assert_eq!(form("a.bc", b"BC\xc0\xde"), Form::LlvmBitcode);
    }
}
