//! Files of a folder, or members of a package, that are taken for inputs without anybody naming them.

use std::path::Path;

use crate::image::{FileFormat, file_format};

/// Bytes of a file without a known extension that are examined.
const SNIFFED_BYTES: usize = 1024;

/// Bytes of LLVM IR that are searched for its target.
const SNIFFED_IR_BYTES: usize = 1 << 16;

/// Extensions of files in build folders that hold no device code, although their first lines may look like it.
const OTHER_EXTENSIONS: [&str; 22] = [
    "c", "cc", "cl", "cmake", "cpp", "cu", "cuh", "cxx", "d", "full", "h", "hpp", "html", "inc", "json",
    "log", "md", "py", "rs", "toml", "txt", "yml",
];

/// The languages that something is there to read, beside PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readable {
    /// LLVM IR.
    pub ir: bool,
    /// MLIR.
    pub mlir: bool,
}

/// PTX.
#[must_use]
pub fn has_ptx_extension(path: &Path) -> bool {
    has_extension(path, &["ptx"])
}

/// LLVM IR, as text or bitcode.
#[must_use]
pub fn has_ir_extension(path: &Path) -> bool {
    has_extension(path, &["ll", "llir", "bc"])
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension()
        .is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The first bytes of files that are or may hold device code: ELF, archives, fat binaries, clang's bundles.
const MAGIC: [&[u8]; 4] = [b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba", b"\x10\xff\x10\xad"];

/// Host files of Windows begin with two bytes that prove little (executables; objects for x86-64 and for ARM64), so their
/// extensions count, too.
const WINDOWS_MAGIC: [&[u8]; 3] = [b"MZ", b"\x64\x86", b"\x64\xaa"];
const WINDOWS_EXTENSIONS: [&str; 4] = ["dll", "exe", "obj", "pyd"];

/// Debian packages begin like static archives.
const DEB: &[u8] = b"!<arch>\ndebian-binary";

const MLIR_EXTENSIONS: [&str; 2] = ["mlir", "mlirbc"];

/// Texts that each text of MLIR with kernels has one of.
const MLIR_KERNELS: [&[u8]; 4] = [b"gpu.module", b"gpu.launch", b"gpu.binary", b"nvvm.kernel"];

/// True if a file may hold MLIR with kernels for NVIDIA's GPUs.
fn may_have_kernels(start: &[u8]) -> bool {
    let has = |words: &[&[u8]]| {
        words
            .iter()
            .any(|word| memchr::memmem::find(start, word).is_some())
    };
    match file_format("", start) {
        FileFormat::Foreign(_) => false,
        _ if start.starts_with(MLIR_BYTECODE) => true,
        _ => has(&MLIR_KERNELS) && (has(&[b"nvvm"]) || !has(&[b"rocdl", b"spirv"])),
    }
}

const MLIR_BYTECODE: &[u8] = b"ML\xefR";

/// MLIR, as text or bytecode.
#[must_use]
pub fn has_mlir_extension(path: &Path) -> bool {
    has_extension(path, &MLIR_EXTENSIONS)
}

/// True if a file in a folder or a package is an input: by its extension, else by its first bytes. The function has these, as many as
/// are asked for or there are; `None` if they can't be read.
pub fn is_input(path: &Path, readable: Readable, start: &mut dyn FnMut(usize) -> Option<Vec<u8>>) -> bool {
    if has_mlir_extension(path) {
        return readable.mlir && start(SNIFFED_IR_BYTES).is_none_or(|start| may_have_kernels(&start));
    }
    if has_ir_extension(path) {
        return readable.ir && !start(SNIFFED_IR_BYTES).is_some_and(|start| is_for_other_gpus(&start));
    }
    if has_ptx_extension(path) {
        return true;
    }
    if has_extension(path, &OTHER_EXTENSIONS) {
        return false;
    }
    let begins = |start: &[u8], magic: &[&[u8]]| magic.iter().any(|magic| start.starts_with(magic));
    start(SNIFFED_BYTES).is_some_and(|start| {
        begins(&start, &MAGIC)
            && !start.starts_with(DEB)
            && !matches!(file_format("", &start), FileFormat::Foreign(_))
            || has_extension(path, &WINDOWS_EXTENSIONS) && begins(&start, &WINDOWS_MAGIC)
            || starts_like_ptx(&start)
    })
}

/// True if LLVM IR that begins so is for other GPUs.
fn is_for_other_gpus(start: &[u8]) -> bool {
    matches!(file_format("", start), FileFormat::Foreign(_))
}

/// True if a line begins with `.version` and a number: the first directive of every PTX module.
fn starts_like_ptx(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    start.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        line.trim_ascii_start()
            .strip_prefix(b".version")
            .filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
            .and_then(|rest| rest.trim_ascii_start().first())
            .is_some_and(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::starts_like_ptx;

    #[test]
    fn ptx_is_known_by_its_first_directive() {
        assert!(starts_like_ptx(
            b"//\n// Generated\n//\n\n.version 8.4\n.target sm_90\n"
        ));
        assert!(starts_like_ptx(b"\xef\xbb\xbf.version\t7.0\r\n"));
        for other in [
            &b""[..],
            b"version 8.4",
            b"see .version 8.4",
            b".versions 8",
            b".version x",
            b".version",
        ] {
            assert!(!starts_like_ptx(other), "{:?}", String::from_utf8_lossy(other));
        }
    }
}
