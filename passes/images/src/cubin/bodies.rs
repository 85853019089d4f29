//! Digests of the machine code of kernels.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use ptxcheck_common::maps::NameMap;
use ptxcheck_ir::facts::Kernel;

use crate::bytes::Budget;
use crate::elf;

/// Gives the kernels of a cubin the digests of their machine code, as far as it can be read.
pub fn digest_kernels(bytes: &[u8], kernels: &mut [Kernel]) {
    let Ok(file) = elf::parse(bytes) else { return };
    let mut budget = Budget::of(bytes);
    let mut digests: NameMap<&str, u64> = NameMap::default();
    for symbol in file
        .symbols()
        .filter(|symbol| elf::is_kernel(symbol.elf_symbol()))
    {
        let code = || {
            let section = file.section_by_index(symbol.section_index()?).ok()?;
            let start = usize::try_from(symbol.address()).ok()?;
            let size = usize::try_from(symbol.size()).ok()?;
            section.data().ok()?.get(start..start.checked_add(size)?)
        };
        if let (Ok(name), Some(code)) = (symbol.name(), code())
            && budget.take(code.len())
        {
            let mut digest = DefaultHasher::new();
            code.hash(&mut digest);
            digests.insert(name, digest.finish());
        }
    }
    for kernel in kernels {
        kernel.body = digests.get(kernel.name.as_str()).copied();
    }
}
