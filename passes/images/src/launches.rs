//! Kernels that host code can launch and never registers.
//!
//! nvcc's host code has, for each instance of a kernel template that it mentions, a function with the kernel's own mangled
//! name, which calls `__wrapper__device_stub_<name>`. Its last device pass says which of them are registered: for those
//! `__cudaRegisterAll` or `__nv_cudaEntityRegisterCallback` takes the address of that function. The wrapper of any other
//! passes 0 to `cudaLaunchKernel`, which fails on every device. (A kernel that is not a template has no stub without its
//! registration, so the host linker reports it. clang registers all that it makes stubs for.)
//!
//! Read off x86-64 alone: relocations, and in code `call`, `jmp` and `lea` of a place relative to the next instruction.

use object::{LittleEndian, Object as _, ObjectSection as _, elf as raw};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::Budget;
use super::elf::Elf;
use super::host_code::{Code, CodeAddress, covering, functions, references};
use crate::kinds::Launchable;
use ptxcheck_common::names::normalised;

const WRAPPER: &str = "__wrapper__device_stub_";

/// Functions of nvcc that register kernels.
pub(super) const REGISTERING: [&str; 2] = ["__sti____cudaRegisterAll", "__nv_cudaEntityRegisterCallback"];

/// The section with the texts of host code. (Fat binaries are in read-only sections of their own.)
const CONSTANTS: &str = ".rodata";

/// The kernels that the code of this file launches and that it does not register. `is_registered`: whether a kernel of this
/// name is known to be.
pub(super) fn unregistered(
    elf: &Elf<'_>,
    member: Option<&str>,
    is_registered: impl Fn(&str) -> bool,
) -> Vec<Launchable> {
    if elf.elf_header().e_machine.get(LittleEndian) != raw::EM_X86_64 {
        return Vec::new();
    }
    let mut budget = Budget::of(elf.data());
    let Some(functions) = functions(elf, &mut budget) else {
        return Vec::new();
    };
    let wrapped: FxHashMap<CodeAddress, &str> = functions
        .iter()
        .filter_map(|code| Some((code.start, template(code.name)?)))
        .collect();
    if wrapped.is_empty() {
        return Vec::new();
    }
    let mut launching: FxHashMap<CodeAddress, &Code<'_>> = FxHashMap::default();
    references(
        elf,
        &mut budget,
        |target| wrapped.contains_key(&target),
        |from, to| {
            let template = wrapped[&to];
            if let Some(code) = covering(&functions, from)
                && code.name.contains(template)
                && !code.name.contains(WRAPPER)
            {
                launching.insert(code.start, code);
            }
        },
    );
    launching.retain(|_, code| !is_registered(&normalised(code.name)) && !is_text(elf, code.name));
    if launching.is_empty() {
        return Vec::new();
    }
    let (mut known, mut called) = (FxHashSet::default(), FxHashSet::default());
    let is_whole = references(
        elf,
        &mut budget,
        |target| launching.contains_key(&target),
        |from, to| {
            let name = covering(&functions, from).map_or("", |code| code.name);
            if REGISTERING.iter().any(|part| name.contains(part)) {
                known.insert(to);
            } else {
                called.insert(to);
            }
        },
    );
    if !is_whole {
        return Vec::new();
    }
    launching
        .into_iter()
        .filter(|(start, _)| !known.contains(start))
        .map(|(start, code)| Launchable {
            name: code.name.to_owned(),
            member: member.map(str::to_owned),
            is_called: called.contains(&start),
            is_settled: code.is_local,
        })
        .collect()
}

/// `kernel` with its length, `6kernel`, and `I`, with which its arguments begin, of
/// `_Z29__wrapper__device_stub_kernelIiEvRPi`: where the name of the kernel differs from that of its wrapper.
fn template(symbol: &str) -> Option<&str> {
    let at = symbol.find(WRAPPER)?;
    let digits = symbol[..at].rfind(|letter: char| !letter.is_ascii_digit())? + 1;
    let length: usize = symbol[digits..at].parse().ok()?;
    symbol.get(at + WRAPPER.len()..at.checked_add(length)?)
}

/// True if constants of host code hold the name as a text, as registering it takes.
fn is_text(elf: &Elf<'_>, name: &str) -> bool {
    let wanted = [name.as_bytes(), b"\0"].concat();
    elf.sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(CONSTANTS)))
        .any(|section| {
            let data = section.data().unwrap_or_default();
            memchr::memmem::find_iter(data, &wanted).any(|at| at == 0 || data[at - 1] == 0)
        })
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn wrappers_name_their_templates() {
        let cases = [
            ("_Z29__wrapper__device_stub_kernelI4HostEvRPi", Some("kernel")),
            ("_ZN2nsL28__wrapper__device_stub_namedIiEEvRPT_", Some("named")),
            ("_ZN2nsL999__wrapper__device_stub_namedIiEEvRPT_", None),
            ("__wrapper__device_stub_named", None),
            ("_Z2__wrapper__device_stub_", None),
            ("_Z23__device_stub__Z2k1PiPi", None),
        ];
        for (symbol, name) in cases {
            assert_eq!(template(symbol), name, "{symbol}");
        }
    }
}
