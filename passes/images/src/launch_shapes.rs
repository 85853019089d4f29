//! Launches that compiled host code makes, with the blocks that its machine code says: x86-64 by nvcc and clang.
//!
//! `k<<<dim3(8, 16), dim3(16, 16)>>>(p)` becomes a call that configures the launch, and one of the stub, of which the second happens
//! where the first returns 0 (nvcc 13.5 with gcc 12, and clang 22):
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
//!   sizes of which one is constant are put together with `or`, or through the frame.
//! * nvcc has a function with the kernel's own name, which calls `__device_stub__<name>`; at `-O0` host code calls the first, at `-O2`
//!   the second. That one takes the address of the first, by which the runtime knows the kernel: for `cudaLaunchKernel`, since CUDA 13
//!   for `__cudaGetKernel`, which writes a handle to a static variable.
//! * clang has the stub alone, whose own address the runtime knows. At `-O2` it is inlined: `__cudaPopCallConfiguration` writes the
//!   sizes to the frame, and `cudaLaunchKernel` gets them with the address of the stub.
//! * Both functions of a static kernel, and at nvcc without `-rdc` of an instance of a template, are local symbols.
//!
//! Each function that refers to a stub is walked through with what is known of registers and frame ([`value`], [`state`]); what is
//! not known for certain is not known. A kernel's launches are all known if nothing else refers to it ([`uses`]).

mod calls;
mod events;
mod kernels;
mod operands;
mod program;
mod state;
mod step;
mod uses;
mod value;
mod vectors;
mod walk;

use std::collections::BTreeSet;

use ptxcheck_common::names::normalised;

use super::bytes::Budget;
use super::elf::Elf;
use super::host_code::{Code, CodeAddress, covering};
use super::launches::REGISTERING;
use crate::kinds::HostLaunch;
use crate::limits::{MAX_HOST_LAUNCHES, MAX_WALK_STEPS};
use events::Event;
use kernels::Kernels;
use program::Program;
use state::Dims;
use walk::{Steps, events};

/// clang's functions that register kernels; the second has the first inlined.
const CLANG_REGISTERING: [&str; 2] = ["__cuda_register_globals", "__cuda_module_ctor"];

/// The mark of the function between a template's kernel and its stub.
const WRAPPER: &str = "__wrapper__device_stub_";

/// The launches that the code of this file makes.
pub(super) fn read(elf: &Elf<'_>, member: Option<&str>) -> Vec<HostLaunch> {
    let mut budget = Budget::of(elf.data());
    launches(elf, member, &mut budget).unwrap_or_default()
}

fn launches(elf: &Elf<'_>, member: Option<&str>, budget: &mut Budget) -> Option<Vec<HostLaunch>> {
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
    for (start, used) in uses.functions {
        let Some(function) = covering(&program.functions, start) else {
            found.some.extend(used);
            continue;
        };
        if !kernels.roles.kernels.contains_key(&start) && !is_of_stubs(function.name) {
            match events(&program, &kernels.roles, function, &mut steps) {
                Some(events) => found.add(&program, &kernels, function, &events),
                None => found.some.extend(used),
            }
        }
    }
    let is_relocatable = uses::is_relocatable(&program);
    let mut all = found.all(|kernel| {
        kernels.known.contains(&kernel)
            && (!kernels.open.contains(&kernel) || !program.is_object && !is_relocatable)
    });
    if !all.is_empty() {
        let in_data = uses::in_data(&program, &kernels.roles, budget)?;
        all.retain(|kernel| !in_data.contains(kernel));
    }
    let launches = found.launches.into_iter();
    let launches =
        launches.filter(|(kernel, _)| kernel.is_none_or(|kernel| !kernels.several.contains(&kernel)));
    let launches = launches.map(|(kernel, launch)| HostLaunch {
        is_all: kernel.is_some_and(|kernel| all.contains(&kernel)),
        member: member.map(str::to_owned),
        ..launch
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
    /// By the numbers of kernels with stubs.
    launches: Vec<(Option<usize>, HostLaunch)>,
    /// The kernels that have launches of which something is not known.
    some: BTreeSet<usize>,
}

impl Found {
    /// Adds what happens in a function.
    fn add(&mut self, program: &Program<'_, '_>, kernels: &Kernels, function: &Code<'_>, events: &[Event]) {
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let mut is_mixed = false;
        for event in events {
            match *event {
                Event::Launch(place, dims) => self.launch(program, kernels, function, place, dims),
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
        program: &Program<'_, '_>,
        kernels: &Kernels,
        function: &Code<'_>,
        place: CodeAddress,
        Dims { grid, block }: Dims,
    ) {
        let number = kernels.roles.kernels.get(&place).copied();
        let [Some(x), Some(y), Some(z)] = block else {
            self.some.extend(number);
            return;
        };
        if self.launches.len() >= MAX_HOST_LAUNCHES {
            self.some.extend(number);
            return;
        }
        if let Some(kernel) = kernels.name(program, place) {
            let launch = HostLaunch {
                kernel: normalised(&kernel).into_owned(),
                grid,
                block: [x, y, z],
                caller: function.name.to_owned(),
                member: None,
                is_all: false,
            };
            self.launches.push((number, launch));
        }
    }

    /// The kernels all of whose launches are known, of those for which `is_closed` holds.
    fn all(&self, is_closed: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let launched = self.launches.iter().filter_map(|(kernel, _)| *kernel);
        launched
            .filter(|kernel| !self.some.contains(kernel) && is_closed(*kernel))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::elf;
    use crate::kinds::HostLaunch;

    fn launches(file: &str) -> Vec<HostLaunch> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/images");
        let bytes = std::fs::read(format!("{folder}/{file}")).unwrap();
        let mut found = read(&elf::parse(&bytes).unwrap(), None);
        found.sort();
        found
    }

    #[test]
    fn constant_blocks_are_seen_in_objects() {
        for file in ["launches.nvcc-O0.o", "launches.nvcc-O2.o", "launches.clang-O2.o"] {
            let found = launches(file);
            let found: Vec<_> = found
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
            let one = Some(1);
            let wanted = [
                ("3allPi", [None, one, one], [8, 6, 1], "_Z7run_allPii", true),
                ("3allPi", [one, one, one], [40, 1, 1], "_Z7run_allPii", true),
                ("4somePi", [None, one, one], [48, 1, 1], "_Z8run_somePii", false),
            ];
            assert_eq!(found, wanted, "{file}");
        }
    }

    #[test]
    fn half_an_object_is_no_trouble() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/images");
        let bytes = std::fs::read(format!("{folder}/launches.nvcc-O2.o")).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            if let Ok(elf) = elf::parse(&bytes[..length]) {
                read(&elf, None);
            }
        }
    }
}
