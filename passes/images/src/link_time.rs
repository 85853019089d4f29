//! Host objects that are yet to be compiled (`-flto`): LLVM's bitcode, and GCC's sections `.gnu.lto_…`. Device code in them is
//! part of what the compiler keeps for itself; that there is some shows in names.

use object::{Object as _, ObjectSection as _};

use super::bitcode;
use super::bytes::Budget;
use super::elf::Elf;

/// The variable in which clang keeps the address of the images. The names of a module lie in its bitcode as they are.
const WRAPPER: &[u8] = b"__cuda_fatbin_wrapper";

/// The beginning of the names of GCC's sections for functions, and the function that each unit of nvcc's with device code has.
const OF_GCC: &str = ".gnu.lto_";
const REGISTERS: &str = "__cudaRegisterAll";

/// The section of images in objects that are compiled.
const IMAGES: &str = ".nv_fatbin";

/// The sentence about such objects.
pub(super) const MESSAGE: &str = "host code that is yet to be compiled (`-flto`), with device code inside, which is not \
                                  looked into: check the linked file, or objects built without `-flto`";

/// True if bitcode is such an object.
pub(super) fn is_bitcode(bytes: &[u8]) -> bool {
    let is_one = bytes.starts_with(bitcode::MAGIC) || bytes.starts_with(bitcode::WRAPPER_MAGIC);
    let is_host = || bitcode::triple(bytes).is_none_or(|triple| !triple.starts_with("nvptx"));
    is_one && is_host() && memchr::memmem::find(bytes, WRAPPER).is_some()
}

/// True if an ELF file is one.
pub(super) fn is_object(elf: &Elf<'_>) -> bool {
    let mut budget = Budget::of(elf.data());
    let mut has_code = false;
    for section in elf.sections() {
        let Ok(name) = section.name() else { continue };
        if name == IMAGES || !budget.take(name.len()) {
            return false;
        }
        has_code |= name.starts_with(OF_GCC) && name.contains(REGISTERS);
    }
    has_code
}
