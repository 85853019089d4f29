//! The kernels and variables that the machine code of a linked file registers: x86-64 by nvcc and clang, with symbols and without.
//!
//! ```text
//! lea  wrapper(%rip),%rdi            one wrapper for each container
//! call __cudaRegisterFatBinary
//! …
//! lea  name(%rip),%rdx               the name, twice
//! mov  %rdx,%rcx
//! mov  $-1,%r8d                      no limit of threads
//! lea  stub(%rip),%rsi               the function that stands for the kernel, in code; of a variable, its place in data
//! call __cudaRegisterFunction        or __cudaRegisterVar, __cudaRegisterManagedVar
//! ```
//!
//! (nvcc 13.5 with gcc 12 at `-O0` to `-O3`, and clang 22.) The functions are known by their symbols or by the slots of a library that the
//! loader resolves. A stripped file with the static runtime has neither: there the arguments show them, which no other call has. Once a
//! function is known, every call of it is read.

use std::collections::BTreeSet;

use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory};
use object::{Object as _, ObjectSection as _, SectionKind};

use super::events::Roles;
use super::operands::{Decoded, Stepper};
use super::program::Program;
use super::state::State;
use super::value::Value;
use crate::bytes::Budget;
use crate::elf::Elf;
use crate::limits::MAX_REGISTRATION_STEPS;
use crate::named::{RegisteredName, name_in};

/// The functions that register a kernel, and a variable.
const OF_KERNELS: [&str; 1] = ["__cudaRegisterFunction"];
const OF_VARIABLES: [&str; 2] = ["__cudaRegisterVar", "__cudaRegisterManagedVar"];

/// Most bytes before a call that its arguments are set in.
const WINDOW: u64 = 160;

/// Most functions that register something, where no symbol says which they are: a file has one runtime, or few.
const MOST_FUNCTIONS: usize = 16;

/// Bytes of `call d`, and of `call *d(%rip)`.
const CALL: usize = 5;
const CALL_THROUGH_SLOT: usize = 6;

/// `mov $-1,%r8d` and `or $-1,%r8d`, which every registration of a kernel has.
const NO_LIMIT: [&[u8]; 2] = [&[0x41, 0xb8, 0xff, 0xff, 0xff, 0xff], &[0x41, 0x83, 0xc8, 0xff]];

/// Numbers of the registers of the second to the fifth argument: rsi, rdx, rcx, r8 (System V ABI).
const REGISTERS: [usize; 4] = [6, 2, 1, 8];

/// The names that a file registers.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    pub(crate) names: BTreeSet<RegisteredName>,
    /// All calls were read.
    pub(crate) is_all: bool,
}

/// True for the name of a function that registers variables, false for one that registers kernels.
pub(crate) fn registers_variables(name: &[u8]) -> Option<bool> {
    let is_one = |names: &[&str]| names.iter().any(|one| one.as_bytes() == name);
    match () {
        () if is_one(&OF_KERNELS) => Some(false),
        () if is_one(&OF_VARIABLES) => Some(true),
        () => None,
    }
}

/// Reads the calls of a linked file. `defined`: the addresses of such functions that the file has symbols of, and whether they register
/// variables. `None` where no such function is found, of other architectures, and where it is too much work.
pub(crate) fn registered(elf: &Elf<'_>, defined: &[(u64, bool)], budget: &mut Budget) -> Option<Registered> {
    let program = Program::without_functions(elf)?.resolved(budget)?;
    let mut reader = Reader::new(&program);
    // Sections can overlap.
    let bytes = reader
        .texts
        .iter()
        .fold(0_usize, |sum, text| sum.saturating_add(text.data.len()));
    if !budget.take(bytes) {
        return None;
    }
    let mut functions: Vec<(u64, bool)> = defined.to_vec();
    for (place, name) in program.entries() {
        functions.extend(registers_variables(name.as_bytes()).map(|is_variable| (place.1, is_variable)));
    }
    if functions.is_empty() {
        functions = reader.functions_by_shape()?;
    }
    let mut found = Registered {
        names: BTreeSet::new(),
        is_all: true,
    };
    for call in reader.calls(&functions)? {
        let Some(arguments) = reader.arguments(&call, |_| true)? else {
            found.is_all = false;
            continue;
        };
        if !budget.take(arguments.name.len()) {
            return None;
        }
        found.names.insert(RegisteredName {
            name: arguments.name,
            is_variable: call.is_variable,
            is_certain: true,
        });
    }
    (!found.names.is_empty()).then_some(found)
}

/// A call of a function that registers something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    at: u64,
    length: usize,
    is_variable: bool,
}

impl Call {
    const fn end(&self) -> u64 {
        self.at.wrapping_add(self.length as u64)
    }
}

/// The arguments of a call.
struct Arguments {
    name: String,
    /// The place that stands for the kernel or variable in the host.
    host: Option<u64>,
    /// The fifth argument; for a kernel, the value that means no thread limit.
    fifth: Option<u32>,
}

impl Arguments {
    const fn are_known(&self) -> bool {
        self.host.is_some() && self.fifth.is_some()
    }
}

/// A section of code, with its address.
struct Text<'a> {
    start: u64,
    data: &'a [u8],
}

/// Reads calls in the code of a file.
struct Reader<'p, 'e, 'a> {
    program: &'p Program<'e, 'a>,
    texts: Vec<Text<'a>>,
    roles: Roles,
    steps: usize,
}

impl<'p, 'e, 'a> Reader<'p, 'e, 'a> {
    fn new(program: &'p Program<'e, 'a>) -> Self {
        let sections = program.elf.sections();
        let code = sections.filter(|section| section.kind() == SectionKind::Text);
        let mut texts: Vec<Text<'a>> = code
            .filter_map(|section| {
                Some(Text {
                    start: section.address(),
                    data: section.data().ok()?,
                })
            })
            .collect();
        texts.sort_by_key(|text| text.start);
        Self {
            program,
            texts,
            roles: Roles::default(),
            steps: MAX_REGISTRATION_STEPS,
        }
    }

    /// The calls of these functions, in their order. `None` if they are more than the steps that are left.
    fn calls(&self, functions: &[(u64, bool)]) -> Option<Vec<Call>> {
        let mut found = Vec::new();
        for text in &self.texts {
            for at in memchr::memchr2_iter(0xe8, 0xff, text.data) {
                let Some((target, length)) = call_at(text, at) else {
                    continue;
                };
                let of = functions.iter().find(|(address, _)| *address == target);
                if let Some((_, is_variable)) = of {
                    if found.len() >= self.steps {
                        return None;
                    }
                    found.push(Call {
                        at: text.start.wrapping_add(at as u64),
                        length,
                        is_variable: *is_variable,
                    });
                }
            }
        }
        found.sort_unstable();
        Some(found)
    }

    /// The functions that are called with the arguments of a registration, where no symbol says which they are. `None` if there are none,
    /// or it is too much work.
    fn functions_by_shape(&mut self) -> Option<Vec<(u64, bool)>> {
        let mut found: Vec<(u64, bool)> = Vec::new();
        let mut marks: Vec<u64> = Vec::new();
        for text in &self.texts {
            for mark in NO_LIMIT {
                let places = memchr::memmem::find_iter(text.data, mark);
                marks.extend(places.map(|at| text.start.wrapping_add((at + mark.len()) as u64)));
            }
        }
        for mark in marks {
            for (target, call) in self.calls_behind(mark) {
                self.steps = self.steps.checked_sub(1)?;
                if found.iter().any(|(known, _)| *known == target) {
                    break;
                }
                if let Some(arguments) = self.arguments(&call, Arguments::are_known)?
                    && arguments.fifth == Some(u32::MAX)
                    && arguments.host.is_some_and(|host| self.is_code(host))
                {
                    found.push((target, false));
                }
            }
        }
        // Variables are registered after kernels, managed ones after others.
        let mut first = 0;
        while let Some(of) = found.get(first..).filter(|new| !new.is_empty()) {
            if found.len() > MOST_FUNCTIONS {
                return None;
            }
            let calls = self.calls(of)?;
            first = found.len();
            for call in calls {
                for (target, next) in self.calls_behind(call.end()) {
                    if found.iter().any(|(known, _)| *known == target) {
                        break;
                    }
                    if let Some(arguments) = self.after(call.end(), &next)?
                        && matches!(arguments.fifth, Some(0 | 1))
                        && arguments.host.is_some_and(|host| !self.is_code(host))
                    {
                        found.push((target, true));
                    }
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// What may be calls within the window after a place, each with its target.
    fn calls_behind(&self, from: u64) -> Vec<(u64, Call)> {
        let Some(text) = self.text(from) else {
            return Vec::new();
        };
        let start = usize::try_from(from - text.start).unwrap_or(usize::MAX);
        let code = text.data.get(start..).unwrap_or_default();
        let code = &code[..code.len().min(WINDOW as usize)];
        let found = memchr::memchr2_iter(0xe8, 0xff, code).filter_map(|at| {
            let (target, length) = call_at(text, start + at)?;
            let call = Call {
                at: from.wrapping_add(at as u64),
                length,
                is_variable: false,
            };
            self.is_code(target).then_some((target, call))
        });
        found.collect()
    }

    /// The arguments of a call, if the code before it says its name: from the nearest instructions that say all that is wanted. `None`
    /// outside if no steps are left.
    #[expect(clippy::option_option, reason = "the outer one ends the search")]
    fn arguments(
        &mut self,
        call: &Call,
        is_enough: impl Fn(&Arguments) -> bool,
    ) -> Option<Option<Arguments>> {
        let first = call.at.saturating_sub(WINDOW);
        for start in (first..call.at).rev() {
            if let Some(arguments) = self.after(start, call)?
                && is_enough(&arguments)
            {
                return Some(Some(arguments));
            }
        }
        Some(None)
    }

    /// The arguments that the instructions from `start` to a call set.
    #[expect(clippy::option_option, reason = "the outer one ends the search")]
    fn after(&mut self, start: u64, call: &Call) -> Option<Option<Arguments>> {
        let Some(code) = self.code(start, call.at) else {
            return Some(None);
        };
        let mut stepper = Stepper {
            program: self.program,
            roles: &self.roles,
            state: State::entry(),
            info: InstructionInfoFactory::new(),
            events: None,
        };
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        while decoder.can_decode() {
            self.steps = self.steps.checked_sub(1)?;
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return Some(None);
            }
            match instruction.flow_control() {
                FlowControl::Next => stepper.step(&Decoded {
                    at: (0, instruction.ip()),
                    code: instruction,
                    offsets: decoder.get_constant_offsets(&instruction),
                }),
                FlowControl::Call | FlowControl::IndirectCall => stepper.state.returned(),
                _ => return Some(None),
            }
        }
        let [host, shown, name, fifth] = REGISTERS.map(|register| stepper.state.registers[register]);
        let (Some(shown), Some(name)) = (self.address(shown), self.address(name)) else {
            return Some(None);
        };
        if shown != name {
            return Some(None);
        }
        Some(
            self.program
                .bytes_at((0, name))
                .and_then(name_in)
                .map(|name| Arguments {
                    name,
                    host: self.address(host),
                    fifth: fifth.half(0),
                }),
        )
    }

    /// The address that a value is.
    fn address(&self, value: Value) -> Option<u64> {
        match value {
            Value::Place((_, address)) => Some(address),
            _ if self.program.is_fixed => value.number(),
            _ => None,
        }
    }

    fn text(&self, address: u64) -> Option<&Text<'a>> {
        let after = self.texts.partition_point(|text| text.start <= address);
        let text = self.texts.get(after.checked_sub(1)?)?;
        (address - text.start < text.data.len() as u64).then_some(text)
    }

    fn is_code(&self, address: u64) -> bool {
        self.text(address).is_some()
    }

    /// The code between two addresses of one section.
    fn code(&self, from: u64, to: u64) -> Option<&'a [u8]> {
        let text = self.text(from)?;
        let start = usize::try_from(from - text.start).ok()?;
        let end = usize::try_from(to.checked_sub(text.start)?).ok()?;
        text.data.get(start..end)
    }
}

/// The target of a call that may begin at an offset of a section, and its length: the function, or the slot with its address.
fn call_at(text: &Text<'_>, at: usize) -> Option<(u64, usize)> {
    let rest = text.data.get(at..)?;
    let length = match rest {
        [0xe8, ..] => CALL,
        [0xff, 0x15, ..] => CALL_THROUGH_SLOT,
        _ => return None,
    };
    let displacement = rest.get(length - 4..)?.first_chunk::<4>()?;
    let next = text.start.wrapping_add((at + length) as u64);
    Some((
        next.wrapping_add_signed(i32::from_le_bytes(*displacement).into()),
        length,
    ))
}
