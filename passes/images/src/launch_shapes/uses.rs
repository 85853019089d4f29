//! The uses of kernels in a file: of stubs, of the functions that the runtime knows kernels by, and of variables with handles.
//!
//! All launches of a kernel are known if nobody else can have the address of one of these:
//!
//! * in a linked file they are not exported, in an object they are local symbols, and so they are where code of other units can launch
//!   the kernel from the device (relocatable device code);
//! * no data have it, but for tables that the kernel is registered with;
//! * code that has it registers the kernel, belongs to the stub, or is a function in which all is known that happens to it ([`events`]).
//!
//! [`events`]: super::walk::events

use object::{Object as _, ObjectSection as _};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

use super::calls::LAUNCHES;
use super::events::Roles;
use super::program::Program;
use crate::bytes::{Budget, u32_at, u64_at};
use crate::elf::RELOCATION_BYTES;
use crate::host_code::{CodeAddress, code_address, covering, displacements};

/// Sections in memory that hold no addresses of functions but where they register kernels, or such as only unwinding uses.
const WITHOUT_USES: [&str; 10] = [
    ".eh_frame",
    ".eh_frame_hdr",
    ".gcc_except_table",
    ".nv_fatbin",
    ".nvFatBinSegment",
    "__nv_relfatbin",
    ".nvHRKE",
    ".nvHRKI",
    "llvm_offload_entries",
    "cuda_offloading_entries",
];

/// Sections with relocatable device code.
const RELOCATABLE: [&str; 3] = ["__nv_relfatbin", ".llvm.offloading", "llvm_offload_entries"];

/// Bytes of an address.
const WORD: usize = 8;

/// Bytes of an instruction that branches to a near place: one of the opcode, and one of the distance.
const SHORT_BRANCH: usize = 2;

/// The functions that refer to kernels, by their beginnings, and the kernels.
#[derive(Default)]
pub(super) struct Uses {
    pub(super) functions: BTreeMap<CodeAddress, BTreeSet<usize>>,
    /// Kernels that code outside of functions refers to.
    pub(super) elsewhere: BTreeSet<usize>,
}

/// The uses in code, and the functions that launch by addresses; `None` if the file claims to hold more code than one of its size can.
pub(super) fn in_code(program: &Program<'_, '_>, roles: &Roles, budget: &mut Budget) -> Option<Uses> {
    let mut uses = Uses::default();
    let places: BTreeMap<CodeAddress, usize> = roles
        .kernels
        .iter()
        .map(|(place, kernel)| (*place, *kernel))
        .collect();
    let launches = |name: &str| LAUNCHES.contains(&name);
    for (at, target) in program.references() {
        let kernel = target.place.and_then(|to| roles.kernels.get(&to));
        if kernel.is_some() || target.name.is_some_and(launches) {
            uses.add(program, at, kernel);
        }
    }
    let imported = program.entries().filter(|(_, name)| launches(name));
    let defined = program.functions.iter().filter(|code| launches(code.name));
    let calls: FxHashSet<CodeAddress> = imported
        .map(|(entry, _)| entry)
        .chain(defined.map(|code| code.start))
        .collect();
    for section in program.elf.sections() {
        if section.kind() != object::SectionKind::Text {
            continue;
        }
        let Ok(code) = section.data() else { continue };
        // An address that is read, at which code of this length has no place.
        if section.address().checked_add(code.len() as u64).is_none() {
            continue;
        }
        if !budget.take(code.len()) {
            return None;
        }
        let place = |offset: u64| {
            code_address(
                program.is_object,
                section.index(),
                section.address().wrapping_add(offset),
            )
        };
        for (at, to) in displacements(code).chain(conditional(code)) {
            let (at, to) = (place(at as u64), place(to));
            let kernel = roles.kernels.get(&to);
            if (kernel.is_some() || calls.contains(&to)) && !program.is_relocated(at) {
                uses.add(program, at, kernel);
            }
        }
        for (to, kernel) in places.range(place(0)..place(code.len() as u64)) {
            for at in near(code, place(0), *to) {
                uses.add(program, at, Some(kernel));
            }
        }
        // An address as an immediate.
        let bytes = if program.is_fixed { 0..code.len() } else { 0..0 };
        for at in bytes {
            let to = u32_at(code, at).map(|address| (0, u64::from(address)));
            if let Some(kernel) = to.and_then(|to| places.get(&to)) {
                uses.add(program, place(at as u64), Some(kernel));
            }
        }
    }
    Some(uses)
}

impl Uses {
    fn add(&mut self, program: &Program<'_, '_>, at: CodeAddress, kernel: Option<&usize>) {
        match covering(&program.functions, at) {
            Some(function) => self.functions.entry(function.start).or_default().extend(kernel),
            None => self.elsewhere.extend(kernel),
        }
    }
}

/// The offsets at which the displacements of conditional branches may stand, and the offsets that they lead to.
fn conditional(code: &[u8]) -> impl Iterator<Item = (usize, u64)> + '_ {
    memchr::memchr_iter(0x0f, code).filter_map(|escape| {
        let at = escape + 2;
        let is_branch = code.get(escape + 1).is_some_and(|opcode| opcode & 0xf0 == 0x80);
        let displacement = u32_at(code, at).filter(|_| is_branch)?;
        let next = (at + 4) as u64;
        Some((at, next.wrapping_add_signed(displacement.cast_signed().into())))
    })
}

/// The places of short branches to a place, in code that begins at `start`.
fn near(code: &[u8], start: CodeAddress, to: CodeAddress) -> Vec<CodeAddress> {
    let target = to.1.checked_sub(start.1).filter(|_| start.0 == to.0);
    let Some(target) = target.and_then(|target| usize::try_from(target).ok()) else {
        return Vec::new();
    };
    let first = target.saturating_sub(SHORT_BRANCH + 127);
    let last = target.saturating_add(128).min(code.len());
    let leads_there = |at: &usize| {
        let (Some(opcode), Some(distance)) = (code.get(*at), code.get(at + 1)) else {
            return false;
        };
        let next = (at + SHORT_BRANCH) as u64;
        let is_branch = *opcode == 0xeb || opcode & 0xf0 == 0x70;
        is_branch && next.wrapping_add_signed(distance.cast_signed().into()) == target as u64
    };
    let found = (first..last).filter(leads_there);
    found.map(|at| (start.0, start.1 + at as u64)).collect()
}

/// The kernels of these that data of the file have an address of, or that others can refer to by name. `None` if the file claims to hold
/// more data than one of its size can.
pub(super) fn in_data(
    program: &Program<'_, '_>,
    roles: &Roles,
    budget: &mut Budget,
) -> Option<BTreeSet<usize>> {
    let mut found = BTreeSet::new();
    let addresses = roles.kernels.keys().map(|(_, address)| *address);
    let (least, most) = (addresses.clone().min()?, addresses.max()?);
    for section in program.elf.sections() {
        let name = section.name().unwrap_or_default();
        let is_code = section.kind() == object::SectionKind::Text;
        if is_code || !program.can_have_addresses(&section) || WITHOUT_USES.contains(&name) {
            continue;
        }
        if program.is_object {
            for (_, relocation) in section.relocations() {
                if !budget.take(RELOCATION_BYTES) {
                    return None;
                }
                found.extend(
                    program
                        .data_target(&relocation)
                        .and_then(|to| roles.kernels.get(&to)),
                );
            }
            continue;
        }
        let data = section.data().unwrap_or_default();
        if !budget.take(data.len()) {
            return None;
        }
        let mut add = |address: u64| {
            if (least..=most).contains(&address) {
                found.extend(roles.kernels.get(&(0, address)));
            }
        };
        if program.is_fixed {
            for at in 0..data.len() {
                u64_at(data, at).into_iter().for_each(&mut add);
                u32_at(data, at).map(u64::from).into_iter().for_each(&mut add);
            }
            continue;
        }
        // A table of relocations, whose fields are aligned, says which addresses are written when a file is loaded.
        let first = section.address().wrapping_neg() as usize % WORD;
        let (words, _) = data.get(first..).unwrap_or_default().as_chunks::<WORD>();
        words.iter().map(|word| u64::from_le_bytes(*word)).for_each(add);
    }
    Some(found)
}

/// True if the file has device code that other files can refer to.
pub(super) fn is_relocatable(program: &Program<'_, '_>) -> bool {
    let mut sections = program.elf.sections();
    sections.any(|section| section.name().is_ok_and(|name| RELOCATABLE.contains(&name)))
}
