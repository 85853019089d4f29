//! ELF files: host code, linked or not, and machine code for GPUs.

use object::LittleEndian;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader as _};

use crate::errors::BadFile;

/// A 64-bit little-endian file: CUDA knows no other host.
pub(super) type Elf<'a> = ElfFile64<'a, LittleEndian, &'a [u8]>;

/// The first bytes of every ELF file.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// The type of symbols for variables in relocatable machine code of CUDA 13; finished code has `STT_OBJECT`.
const STT_CUDA_OBJECT: elf::SymbolType = elf::SymbolType(13);

/// `st_other` of kernels, in machine code.
const STO_CUDA_ENTRY: u8 = 0x10;

/// `st_other` of variables in shared memory, in machine code.
const STO_CUDA_SHARED: u8 = 0x40;

/// Bytes of a relocation in a file.
pub(super) const RELOCATION_BYTES: usize = 24;

/// Reads the headers.
///
/// # Errors
///
/// [`BadFile::Elf`], if they are broken.
pub(super) fn parse(bytes: &[u8]) -> Result<Elf<'_>, BadFile> {
    Elf::parse(bytes).map_err(BadFile::elf)
}

/// True if it is machine code for a GPU, not a host file.
pub(super) fn is_cubin(elf: &Elf<'_>) -> bool {
    elf.elf_header().e_machine(LittleEndian) == elf::EM_CUDA
}

/// True if it is an object that a linker has yet to read.
pub(super) fn is_object(elf: &Elf<'_>) -> bool {
    elf.elf_header().e_type(LittleEndian) == elf::ET_REL
}

/// True if a symbol of machine code is a variable.
pub(super) fn is_cuda_variable(symbol: &elf::Sym64<LittleEndian>) -> bool {
    [elf::STT_OBJECT, elf::STT_COMMON, STT_CUDA_OBJECT].contains(&symbol.st_type())
}

/// True if a symbol of machine code lies in shared memory.
pub(super) fn is_cuda_shared(symbol: &elf::Sym64<LittleEndian>) -> bool {
    symbol.st_other.0 & STO_CUDA_SHARED != 0
}

/// True if a symbol of machine code is a kernel, if it is a function.
pub(super) fn is_kernel(symbol: &elf::Sym64<LittleEndian>) -> bool {
    symbol.st_other.0 & STO_CUDA_ENTRY != 0
}
