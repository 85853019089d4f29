//! Addresses that may point into the thread's own memory: its frame, or the frame of a caller.
//!
//! Such an address is that of a `.local` symbol, or an argument, if some caller may pass such an address. Any other use of
//! such an address lets the symbol leak (`addresses`): a value that is computed or loaded in another way may be such an
//! address only if a symbol leaks. The arguments of a function without calls in the module are assumed to point to other
//! memory.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::addresses::SlotBase;
use crate::definitions::Definitions;
use crate::param_objects::ParamUse;
use crate::slots::Slots;
use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{Body, Callee, FunctionId, Module, Rare, Space, Value};

/// The memory that an address points into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// A `.local` symbol.
    Own,
    /// Memory that is not the thread's own.
    Other,
    /// The argument for the parameter with this index.
    Param(u16),
    /// The memory is not known.
    Unknown,
}

/// The parameters of functions whose arguments may be addresses of their callers' own memory.
#[derive(Default)]
pub(crate) struct OwnParams {
    /// The parameters, by function and parameter number.
    params: FxHashSet<(FunctionId, u16)>,
    /// Calls through pointers pass such addresses, to any function.
    is_passed_to_all: bool,
    /// An address of some frame is in a place where it is not followed.
    leaks: bool,
}

/// The analyses of a function that are needed.
pub(crate) struct FunctionFacts<'f> {
    /// Definitions of its registers.
    pub definitions: &'f Definitions,
    /// Its slots.
    pub slots: &'f Slots,
    /// Its uses of its pointer arguments.
    pub param_use: Option<&'f ParamUse>,
}

/// A parameter of a function, or, if `None`, those of all functions.
type Target = Option<(FunctionId, u16)>;

/// Longest chain of definitions that an address is followed through.
const MAX_CHAIN: usize = 64;

/// The memory that an address points into; and, for sums, the memory that the other summands point into, because one of
/// these may be the address.
fn memory_pointed_into(
    module: &Module<'_>,
    body: &Body<'_>,
    definitions: &Definitions,
    address: Value,
) -> (Lead, Vec<Lead>) {
    let mut added = Vec::new();
    let first = follow_address(module, body, definitions, address, &mut added);
    let others = added
        .iter()
        .map(|&value| follow_address(module, body, definitions, value, &mut Vec::new()));
    let others = others.filter(|lead| matches!(lead, Lead::Own | Lead::Param(_)));
    (first, others.collect())
}

fn follow_address(
    module: &Module<'_>,
    body: &Body<'_>,
    definitions: &Definitions,
    address: Value,
    added: &mut Vec<Value>,
) -> Lead {
    let mut current = address;
    for _ in 0..MAX_CHAIN {
        let register = match current {
            Value::Register(register) => register,
            Value::Symbol(symbol, _) if module.symbol(symbol).space == Space::Local => return Lead::Own,
            Value::Symbol(..) => return Lead::Other,
            Value::Param(number, _) => return Lead::Param(number),
            _ => return Lead::Unknown,
        };
        let &[definition] = definitions.writers_of(register) else {
            return Lead::Unknown;
        };
        let instruction = body.instruction(definition);
        if let Some((number, ..)) = body.loaded_param_pieces(instruction) {
            return Lead::Param(number);
        }
        current = match Form::of(instruction.op, body.uses(instruction)) {
            Form::Moved(_, Change::ToGeneric(Space::Local)) => return Lead::Own,
            Form::Moved(_, Change::ToGeneric(_)) => return Lead::Other,
            Form::Sum(from, by) => {
                added.extend(by.register().map(|_| by));
                from
            }
            Form::Moved(from, Change::Nothing | Change::Width { .. })
            | Form::Difference(from, _)
            | Form::ProductSum(_, _, from) => from,
            _ => return Lead::Unknown,
        };
    }
    Lead::Unknown
}

/// True if an address of a function's frame is in a place where it is not followed.
fn leaks_frame_address(body: &Body<'_>, slots: &Slots) -> bool {
    body.has(Rare::STACK_ALLOC) || slots.has_leaked_address()
}

/// True if an address in a function may point into the thread's own memory. It is not the address of an access behind a
/// parameter that `addresses` follows. `passed`: the parameters of the module's functions.
pub(crate) fn may_be_in_own_frame<'p>(
    module: &Module<'_>,
    id: FunctionId,
    known: &FunctionFacts<'_>,
    address: Value,
    passed: impl Fn() -> &'p OwnParams,
) -> bool {
    let function = module.function(id);
    let Some(body) = &function.body else { return true };
    let may_be = |lead: Lead| match lead {
        Lead::Own => true,
        Lead::Other => false,
        Lead::Param(_) if function.is_kernel() => false,
        Lead::Param(number) => passed().contains(id, number),
        Lead::Unknown if function.is_kernel() => leaks_frame_address(body, known.slots),
        Lead::Unknown => passed().leaks,
    };
    if !matches!(address, Value::Register(_) | Value::Symbol(..)) {
        return true;
    }
    let (first, others) = memory_pointed_into(module, body, known.definitions, address);
    may_be(first) || others.into_iter().any(may_be)
}

impl OwnParams {
    /// True if the argument of a parameter may be an address of the caller's own memory.
    pub(crate) fn contains(&self, function: FunctionId, number: u16) -> bool {
        self.is_passed_to_all || self.params.contains(&(function, number))
    }

    /// The parameters of the functions of a module.
    pub(crate) fn new<'f>(module: &Module<'_>, known: impl Fn(FunctionId) -> FunctionFacts<'f>) -> Self {
        let mut found = Self {
            leaks: module
                .bodies()
                .any(|(id, _, body)| leaks_frame_address(body, known(id).slots)),
            ..Self::default()
        };
        if !module.has_local_memory && !found.leaks {
            return found;
        }
        let mut passed_on: FxHashMap<(FunctionId, u16), Vec<Target>> = FxHashMap::default();
        let mut open: Vec<Target> = Vec::new();
        for (id, caller, body) in module.bodies().filter(|(_, _, body)| !body.calls.is_empty()) {
            let known = known(id);
            let handed_on = known.param_use.map_or(&[][..], |used| used.passed_addresses());
            for passed in known.slots.passed.iter().chain(handed_on) {
                let target = Some((passed.callee, passed.param.0));
                match passed.base {
                    SlotBase::Symbol(_) => open.push(target),
                    SlotBase::Param((number, _)) => passed_on.entry((id, number)).or_default().push(target),
                }
            }
            let leaks = if caller.is_kernel() {
                leaks_frame_address(body, known.slots)
            } else {
                found.leaks
            };
            for call in &body.calls {
                let callee = match call.callee {
                    Callee::Direct(symbol) => module.called(symbol),
                    Callee::Indirect(_) => None,
                };
                if callee.is_some_and(|callee| module.function(callee).body.is_none()) {
                    continue;
                }
                for argument in body.arguments(call) {
                    let target = callee.and_then(|callee| Some((callee, argument.piece()?.0)));
                    if !matches!(
                        argument.value,
                        Value::Register(_) | Value::Symbol(..) | Value::Param(..)
                    ) {
                        continue;
                    }
                    let (first, others) =
                        memory_pointed_into(module, body, known.definitions, argument.value);
                    for lead in std::iter::once(first).chain(others) {
                        match lead {
                            Lead::Own => open.push(target),
                            Lead::Unknown if leaks => open.push(target),
                            Lead::Param(number) if !caller.is_kernel() => {
                                passed_on.entry((id, number)).or_default().push(target);
                            }
                            Lead::Param(_) | Lead::Other | Lead::Unknown => {}
                        }
                    }
                }
            }
        }
        while let Some(target) = open.pop() {
            match target {
                Some(param) if found.params.insert(param) => {
                    open.extend(passed_on.remove(&param).into_iter().flatten());
                }
                Some(_) => {}
                None => found.is_passed_to_all = true,
            }
        }
        found
    }
}
