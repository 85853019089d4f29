//! Launches that compiled host code makes, with the blocks that its machine code says: x86-64 by nvcc and clang.
//!
//! `k<<<dim3(8, 16), dim3(16, 16)>>>(p)` becomes a call that configures the launch, and, if that call returns 0, a call of the stub (nvcc
//! 13.5 with gcc 12, and clang 22):
//!
//! ```text
//! -O0  call   dim3::dim3(&block, 16, 16, 1)            -O2  movabs $0x1000000010,%rdx    x, and y from bit 32
//!      call   dim3::dim3(&grid, 8, 16, 1)                   mov    $1,%ecx               z
//!      mov    block,%rdx                                    movabs $0x1000000008,%rdi
//!      mov    block+8,%ecx                                  mov    $1,%esi
//!      mov    grid,%rdi                                     call   __cudaPushCallConfiguration
//!      mov    grid+8,%esi                                   test   %eax,%eax
//!      call   __cudaPushCallConfiguration                   je     …
//!      test   %eax,%eax                                     …
//!      jne    after                                         jmp    __device_stub__Z1kPi
//!      call   k(int*)
//! after:
//! ```
//!
//! * Constant sizes stay constants. At `-O2` they are immediates, or lie in `.rodata` or a register that is set before a loop;
//!   if one size is constant, the sizes are combined with `or`, or through the frame.
//! * nvcc has a function with the kernel's own name, which calls `__device_stub__<name>`; at `-O0` host code calls the first, at `-O2`
//!   the second. That one takes the address of the first, by which the runtime knows the kernel: for `cudaLaunchKernel`, since CUDA 13
//!   for `__cudaGetKernel`, which writes a handle to a static variable.
//! * clang has the stub alone, whose own address the runtime knows. At `-O2` it is inlined: `__cudaPopCallConfiguration` writes the
//!   sizes to the frame, and `cudaLaunchKernel` gets them with the address of the stub.
//! * Both functions of a static kernel, and at nvcc without `-rdc` of an instance of a template, are local symbols.
//!
//! Each function that refers to a stub is walked through with what is known of registers and frame ([`value`], [`state`]); a value that is
//! not certain counts as unknown. A kernel's launches are all known if nothing else refers to it ([`uses`]).

mod calls;
mod events;
mod kernels;
mod operands;
mod program;
mod registered;
mod state;
mod step;
mod uses;
mod value;
mod walk;

use std::collections::BTreeSet;

use ptxcheck_common::names::normalised;

use super::bytes::Budget;
use super::elf::{self, Elf};
use super::host_code::{Code, CodeAddress, covering};
use super::launches::REGISTERING;
use super::readers::Container;
use super::{FileFormat, archive, file_format};
use crate::kinds::HostLaunch;
use crate::limits::{MAX_HOST_LAUNCHES, MAX_WALK_STEPS};
use events::Event;
use kernels::Kernels;
use program::Program;
pub(super) use registered::{registered, registers_variables};
use state::Dims;
use walk::{Steps, events};

/// clang's functions that register kernels; the second has the first inlined.
const CLANG_REGISTERING: [&str; 2] = ["__cuda_register_globals", "__cuda_module_ctor"];

/// The mark of the function between a template's kernel and its stub.
const WRAPPER: &str = "__wrapper__device_stub_";

/// The launches with constant blocks that the machine code of host code shows, sorted: in an ELF file, or in those of a static archive,
/// until `is_late` says that the time is over. Without `wants_some` those of kernels that may have others are left out, and not looked
/// for longer than it takes to see that they may.
#[must_use]
pub fn host_launches(bytes: &[u8], wants_some: bool, is_late: &dyn Fn() -> bool) -> Vec<HostLaunch> {
    let mut found = Vec::new();
    let mut add = |bytes: &[u8], member: Option<&str>| {
        if bytes.starts_with(elf::MAGIC)
            && let Ok(elf) = elf::parse(bytes)
            && !elf::is_cubin(&elf)
        {
            found.extend(read(&elf, member, wants_some));
        }
    };
    if bytes.starts_with(elf::MAGIC) {
        add(bytes, None);
    } else if file_format("", bytes) == FileFormat::Container(Container::ARCHIVE)
        && let Ok((members, _)) = archive::members(bytes)
    {
        for member in members.iter().take_while(|_| !is_late()) {
            add(member.bytes, Some(&member.name));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn read(elf: &Elf<'_>, member: Option<&str>, wants_some: bool) -> Vec<HostLaunch> {
    let mut budget = Budget::of(elf.data());
    launches(elf, member, wants_some, &mut budget).unwrap_or_default()
}

fn launches(
    elf: &Elf<'_>,
    member: Option<&str>,
    wants_some: bool,
    budget: &mut Budget,
) -> Option<Vec<HostLaunch>> {
    let program = Program::of(elf, budget)?;
    let mut kernels = Kernels::default();
    kernels.add_stubs(&program);
    kernels.add_handles(&program, budget);
    if kernels.names.is_empty() {
        return None;
    }
    let program = program.resolved(budget)?;
    let mut steps = Steps(MAX_WALK_STEPS);
    kernels.add_known_by(&program, &mut steps, budget)?;
    let mut found = Found::default();
    let uses = uses::in_code(&program, &kernels.roles, budget)?;
    found.some.extend(uses.elsewhere);
    found
        .some
        .extend(uses::in_data(&program, &kernels.roles, budget)?);
    let is_relocatable = uses::is_relocatable(&program);
    let is_closed = |kernel: &usize| {
        kernels.known.contains(kernel)
            && (!kernels.open.contains(kernel) || !program.is_object && !is_relocatable)
    };
    found
        .some
        .extend((0..kernels.names.len()).filter(|kernel| !is_closed(kernel)));
    if found.some.len() < kernels.names.len() {
        found
            .some
            .extend(uses::in_data(&program, &kernels.roles, budget)?);
    }
    for (start, used) in uses.functions {
        if !wants_some && used.is_subset(&found.some) {
            continue;
        }
        let Some(function) = covering(&program.functions, start) else {
            found.some.extend(used);
            continue;
        };
        if !kernels.roles.kernels.contains_key(&start) && !is_of_stubs(function.name) {
            match events(&program, &kernels.roles, function, &mut steps) {
                Some(events) => found.add(&kernels, function, &events),
                None => found.some.extend(used),
            }
        }
    }
    let launches = found.launches.into_iter();
    let launches = launches.filter_map(|(kernel, launch)| {
        let is_all = !found.some.contains(&kernel);
        let is_wanted = (wants_some || is_all) && !kernels.several.contains(&kernel);
        is_wanted.then(|| HostLaunch {
            is_all,
            member: member.map(str::to_owned),
            ..launch
        })
    });
    Some(launches.collect())
}

/// True for functions that register kernels, and those between a template's kernel and its stub.
fn is_of_stubs(name: &str) -> bool {
    let is_registering = REGISTERING.iter().any(|part| name.contains(part));
    is_registering || CLANG_REGISTERING.contains(&name) || name.contains(WRAPPER)
}

/// The launches that functions make.
#[derive(Default)]
struct Found {
    /// By the numbers of kernels.
    launches: Vec<(usize, HostLaunch)>,
    /// The kernels that have launches with unknown parts.
    some: BTreeSet<usize>,
}

impl Found {
    /// Adds what happens in a function.
    fn add(&mut self, kernels: &Kernels, function: &Code<'_>, events: &[Event]) {
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let mut is_mixed = false;
        for event in events {
            match *event {
                Event::Launch(place, dims) => self.launch(kernels, function, place, dims),
                Event::Taken(place) => taken.extend(kernels.roles.kernels.get(&place)),
                Event::Leaked(place) => self.some.extend(kernels.roles.kernels.get(&place)),
                Event::LeakedMixed => is_mixed = true,
                Event::Handle(..) => {}
            }
        }
        if is_mixed {
            self.some.extend(taken);
        }
    }

    fn launch(
        &mut self,
        kernels: &Kernels,
        function: &Code<'_>,
        place: CodeAddress,
        Dims { grid, block, shared }: Dims,
    ) {
        let Some(&number) = kernels.roles.kernels.get(&place) else {
            return;
        };
        let (true, [Some(x), Some(y), Some(z)]) = (self.launches.len() < MAX_HOST_LAUNCHES, block) else {
            self.some.insert(number);
            return;
        };
        let launch = HostLaunch {
            kernel: normalised(&kernels.names[number]).into_owned(),
            grid,
            block: [x, y, z],
            shared,
            caller: function.name.to_owned(),
            member: None,
            is_all: false,
        };
        self.launches.push((number, launch));
    }
}

#[cfg(test)]
mod tests {
    use super::host_launches;
    use crate::kinds::HostLaunch;

    fn launches(file: &str) -> Vec<HostLaunch> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/images");
        let bytes = std::fs::read(format!("{folder}/{file}")).unwrap();
        host_launches(&bytes, true, &|| false)
    }

    #[test]
    fn constant_blocks_are_seen_in_objects() {
        for file in ["launches.nvcc-O0.o", "launches.nvcc-O2.o", "launches.clang-O2.o"] {
            let launches = launches(file);
            let mut found: Vec<_> = launches
                .iter()
                .map(|launch| {
                    let kernel = launch.kernel.trim_start_matches("_ZL").trim_start_matches("_Z");
                    (
                        kernel,
                        launch.grid,
                        launch.block,
                        launch.caller.as_str(),
                        launch.is_all,
                    )
                })
                .collect();
            found.sort_unstable();
            let one = Some(1);
            let wanted = [
                ("3allPi", [None, one, one], [8, 6, 1], "_Z7run_allPii", true),
                ("3allPi", [one, one, one], [40, 1, 1], "_Z7run_allPii", true),
                ("4somePi", [None, one, one], [48, 1, 1], "_Z8run_somePii", false),
            ];
            assert_eq!(found, wanted, "{file}");
            // No launch asks for dynamic shared memory.
            assert!(launches.iter().all(|launch| launch.shared == Some(0)), "{file}");
        }
    }

    #[test]
    fn half_an_object_is_no_trouble() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/images");
        let bytes = std::fs::read(format!("{folder}/launches.nvcc-O2.o")).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            let found = host_launches(&bytes[..length], true, &|| false);
            assert!(found.len() <= 3, "{length}");
        }
    }
}
