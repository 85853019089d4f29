//! Calls: those of the CUDA runtime that configure and make launches, and all others.

use super::events::Event;
use super::operands::Stepper;
use super::program::Target;
use super::state::{Dims, STACK_POINTER, Sides};
use super::value::Value;
use crate::host_code::CodeAddress;

/// Numbers of the registers that arguments are passed in: rdi, rsi, rdx, rcx, r8, r9 (System V ABI).
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

/// Registers besides that a function can be given something in: rax, r10.
const OTHER_ARGUMENTS: [usize; 2] = [0, 10];

/// The function that a call leads to.
enum Callee {
    /// `unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream *)`.
    Push,
    /// `cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)`.
    Pop,
    /// `cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t)`, and others with these
    /// parameters.
    Launch,
    /// `__cudaGetKernel(cudaKernel_t *, const void *function)`.
    GetKernel,
    /// `dim3::dim3(unsigned, unsigned, unsigned)`.
    Dim3,
    /// One of those that begin with [`GUARD`].
    Guard,
    /// One that does not return.
    NoReturn,
    /// The stub of a kernel, or the function that stands for one.
    Kernel(CodeAddress),
    /// Any other.
    Other,
}

pub(super) const LAUNCHES: [&str; 6] = [
    "cudaLaunchKernel",
    "cudaLaunchKernel_ptsz",
    "__cudaLaunchKernel",
    "__cudaLaunchKernel_ptsz",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchCooperativeKernel_ptsz",
];

/// The functions that guard the making of a static variable, such as that of a handle in nvcc's stubs. They write to the byte that their
/// parameter points to.
const GUARD: &str = "__cxa_guard_";

const NO_RETURN: [&str; 2] = ["_Unwind_Resume", "exit"];

/// How control gets to a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// By a call: arguments on the stack begin at the stack pointer.
    Call,
    /// By a jump, as the last call of a function: the arguments on the stack are not followed.
    Jump,
}

/// True if a call may return to the instruction after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    Yes,
    No,
}

impl<'a> Stepper<'_, '_, 'a> {
    /// Goes over a call; `target` is `None` for one through a pointer.
    pub(super) fn call(&mut self, target: Option<Target<'a>>, entry: Entry) -> Returns {
        match target.map_or(Callee::Other, |target| self.callee(target)) {
            Callee::Push => {
                let [grid, grid_z, block, block_z, shared, _] = self.arguments();
                self.state.pending = Some(Dims {
                    grid: sides(grid, grid_z),
                    block: sides(block, block_z),
                    shared: shared.number(),
                });
            }
            Callee::Pop => {
                let [grid, block, shared, stream, ..] = self.arguments();
                let dims = self.state.pending.take().unwrap_or_default();
                self.state.written(stream, Some(8));
                self.write_number(shared, dims.shared);
                self.write_sides(grid, dims.grid);
                self.write_sides(block, dims.block);
            }
            Callee::Launch => {
                let [function, grid, grid_z, block, block_z, _] = self.arguments();
                let dims = Dims {
                    grid: sides(grid, grid_z),
                    block: sides(block, block_z),
                    shared: self.first_stack_argument(entry).number(),
                };
                match function {
                    Value::Place(place) => self.add(Event::Launch(place, dims)),
                    Value::Mixed => self.add(Event::LeakedMixed),
                    _ => {}
                }
            }
            Callee::GetKernel => {
                let [handle, function, ..] = self.arguments();
                self.state.written(handle, Some(8));
                match (function, handle) {
                    (Value::Place(place), Value::Place(variable))
                        if self.roles.handles.contains(&variable) =>
                    {
                        self.add(Event::Handle(place, variable));
                    }
                    _ => self.leak(function),
                }
            }
            Callee::Dim3 => {
                let [made, x, y, z, ..] = self.arguments();
                self.write_sides(made, [x, y, z].map(|side| side.half(0)));
            }
            Callee::Guard => {
                let [guard, ..] = self.arguments();
                self.state.written(guard, Some(8));
            }
            Callee::Kernel(place) => {
                self.leak_arguments();
                let dims = self.state.pending.take().unwrap_or_default();
                self.add(Event::Launch(place, dims));
            }
            Callee::NoReturn => return Returns::No,
            Callee::Other => {
                self.leak_arguments();
                if self.state.is_leaked {
                    self.state.forget_all();
                }
            }
        }
        self.state.returned();
        Returns::Yes
    }

    fn callee(&self, target: Target<'a>) -> Callee {
        if let Some(place) = target.place
            && self.roles.kernels.contains_key(&place)
            && !target.is_slot
        {
            return Callee::Kernel(place);
        }
        self.program
            .names(target)
            .map(named)
            .find(|callee| !matches!(callee, Callee::Other))
            .unwrap_or(Callee::Other)
    }

    fn arguments(&self) -> [Value; 6] {
        ARGUMENTS.map(|number| self.state.registers[number])
    }

    /// The first argument that has no register.
    fn first_stack_argument(&self, entry: Entry) -> Value {
        match entry {
            Entry::Call => self.load(self.state.registers[STACK_POINTER], 8),
            Entry::Jump => Value::UNKNOWN,
        }
    }

    /// Others may know the addresses in the registers for arguments.
    pub(super) fn leak_arguments(&mut self) {
        for number in ARGUMENTS.into_iter().chain(OTHER_ARGUMENTS) {
            self.leak(self.state.registers[number]);
        }
    }

    fn add(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    /// Writes a number of 8 bytes.
    fn write_number(&mut self, at: Value, number: Option<u64>) {
        match at {
            Value::Stack(at) => self
                .state
                .store(at, 8, number.map_or(Value::UNKNOWN, Value::exact)),
            _ => self.state.written(at, Some(8)),
        }
    }

    /// Writes a `dim3`.
    fn write_sides(&mut self, at: Value, sides: Sides) {
        let Value::Stack(at) = at else {
            return self.state.written(at, Some(12));
        };
        for (number, side) in (0..).zip(sides) {
            let value = side.map_or(Value::UNKNOWN, |side| Value::exact(side.into()));
            if let Some(at) = at.checked_add(4 * number) {
                self.state.store(at, 4, value);
            }
        }
    }
}

/// A `dim3` in two registers.
const fn sides(xy: Value, z: Value) -> Sides {
    [xy.half(0), xy.half(1), z.half(0)]
}

fn named(name: &str) -> Callee {
    match name {
        "__cudaPushCallConfiguration" => Callee::Push,
        "__cudaPopCallConfiguration" => Callee::Pop,
        "__cudaGetKernel" => Callee::GetKernel,
        // The names of the constructor of an object, and of one as a part of another.
        "_ZN4dim3C1Ejjj" | "_ZN4dim3C2Ejjj" => Callee::Dim3,
        _ if LAUNCHES.contains(&name) => Callee::Launch,
        _ if NO_RETURN.contains(&name) => Callee::NoReturn,
        _ if name.starts_with(GUARD) => Callee::Guard,
        _ => Callee::Other,
    }
}
