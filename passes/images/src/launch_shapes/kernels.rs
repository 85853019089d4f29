//! The kernels of a file of host code: their stubs, the functions that the runtime knows them by, and the variables with their handles.

use std::collections::BTreeSet;

use ptxcheck_common::names::normalised;
use rustc_hash::FxHashMap;

use super::events::{Event, Roles};
use super::program::{COLD, Program};
use super::uses;
use super::walk::{Steps, events};
use crate::bytes::Budget;
use crate::host_code::{Code, CodeAddress, covering};
use crate::stubs::{STUB, kernel_of_stub};

/// The mark of an unnamed namespace in a symbol.
const UNNAMED: &str = "_GLOBAL__N_";

/// The name of the variable of a stub that keeps the kernel's handle, as it ends a symbol.
const HANDLE: &str = "E8__handle";

/// The kernels that host code can launch.
#[derive(Default)]
pub(super) struct Kernels {
    /// Their names in device code, normalised.
    pub(super) names: Vec<String>,
    /// Their numbers, by what stubs call them.
    numbers: FxHashMap<String, usize>,
    pub(super) roles: Roles,
    /// The numbers of those that other objects can refer to.
    pub(super) open: BTreeSet<usize>,
    /// Those that a function of the file is known for to the runtime.
    pub(super) known: BTreeSet<usize>,
    /// Names that the file has more than once, such as those of static kernels in several units.
    pub(super) several: BTreeSet<usize>,
}

impl Kernels {
    /// The number of the kernel that a stub, or a variable of one, is for.
    fn add(&mut self, place: CodeAddress, name: &str, is_local: bool) -> usize {
        let name = normalised(name).into_owned();
        let next = self.names.len();
        let number = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        self.roles.kernels.insert(place, number);
        if !is_local {
            self.open.insert(number);
        }
        number
    }

    /// Adds the kernels with stubs.
    pub(super) fn add_stubs(&mut self, program: &Program<'_, '_>) {
        let mut stubs: FxHashMap<usize, CodeAddress> = FxHashMap::default();
        for stub in &program.functions {
            if stub.name.contains(COLD) {
                continue;
            }
            // clang does not mangle the names of C.
            let of_c = stub.name.strip_prefix(STUB).map(str::to_owned);
            if let Some(name) = of_c.or_else(|| kernel_of_stub(stub.name)) {
                let number = self.add(stub.start, &name, is_own(stub));
                if *stubs.entry(number).or_insert(stub.start) != stub.start {
                    self.several.insert(number);
                }
            }
        }
    }

    /// Adds the variables with handles: where stubs are inlined, no more is left of them.
    pub(super) fn add_handles(&mut self, program: &Program<'_, '_>, budget: &mut Budget) {
        let mut handles: FxHashMap<usize, CodeAddress> = FxHashMap::default();
        for (name, place, is_local) in program.variables(HANDLE, budget) {
            // A name in the scope of the stub: `_ZZ18__device_stub__Z1kPiPiE8__handle`.
            let stub = name.strip_prefix("_Z").map(|stub| format!("_{stub}"));
            if let Some(name) = stub.as_deref().and_then(kernel_of_stub) {
                let number = self.add(place, &name, is_local);
                self.roles.handles.insert(place);
                if *handles.entry(number).or_insert(place) != place {
                    self.several.insert(number);
                }
            }
        }
    }

    /// Adds the functions that the runtime knows kernels by, and the entries of linked files that lead to any of their functions. `None`
    /// if the file claims to hold more code than one of its size can.
    pub(super) fn add_known_by(
        &mut self,
        program: &Program<'_, '_>,
        steps: &mut Steps,
        budget: &mut Budget,
    ) -> Option<()> {
        let stubs = program.functions.iter();
        let mut asking: Vec<&Code<'_>> = stubs
            .filter(|code| self.roles.kernels.contains_key(&code.start))
            .collect();
        // Where a stub is inlined, those that it is inlined into ask.
        let with_stubs: BTreeSet<usize> = asking
            .iter()
            .map(|code| self.roles.kernels[&code.start])
            .collect();
        if (0..self.names.len()).any(|number| !with_stubs.contains(&number)) {
            for (start, used) in uses::in_code(program, &self.roles, budget)?.functions {
                if !used.is_subset(&with_stubs) {
                    asking.extend(covering(&program.functions, start));
                }
            }
        }
        for function in asking {
            let own = self.roles.kernels.get(&function.start).copied();
            for event in events(program, &self.roles, function, steps).unwrap_or_default() {
                let (place, number) = match event {
                    Event::Handle(place, variable) => (place, self.roles.kernels.get(&variable).copied()),
                    Event::Launch(place, _) => (place, own),
                    _ => continue,
                };
                if let Some(number) = number {
                    self.know(program, place, number);
                }
            }
        }
        let functions = program.functions.iter();
        let named: FxHashMap<&str, usize> = functions
            .filter_map(|code| Some((code.name, *self.roles.kernels.get(&code.start)?)))
            .collect();
        for (entry, name) in program.entries() {
            if let Some(number) = named.get(name) {
                self.roles.kernels.insert(entry, *number);
            }
        }
        Some(())
    }

    /// The runtime knows a kernel by the function at a place.
    fn know(&mut self, program: &Program<'_, '_>, place: CodeAddress, number: usize) {
        let function = covering(&program.functions, place).filter(|code| code.start == place);
        let Some(function) = function else { return };
        if *self.roles.kernels.entry(place).or_insert(number) != number {
            return;
        }
        self.known.insert(number);
        // nvcc names stubs of kernels of C as if they were C++.
        if !function.name.starts_with("_Z") && !function.name.starts_with(STUB) {
            function.name.clone_into(&mut self.names[number]);
        }
        if !is_own(function) {
            self.open.insert(number);
        }
    }
}

/// True for functions that no other object can refer to. nvcc makes those of unnamed namespaces global, with a name of the file's own.
fn is_own(function: &Code<'_>) -> bool {
    function.is_local || function.name.contains(UNNAMED)
}
