//! Memory that a kernel does not write: a load from it gives the same value at every point of the kernel.
//!
//! ```text
//! from(v)      the parameters that a value of 64 bits may be computed from; unknown: it may be an address from elsewhere
//! written      ⋃ from(address) over the stores, atomics and copies of the kernel, other than to shared and local memory
//! lasting      a load of p + k, a parameter and a number, with p not in written
//! ```
//!
//! The memory of two parameters is assumed not to overlap, unless some address is computed from both; and other kernels are
//! assumed not to write it meanwhile. Kernels that call functions with a body are not analysed.

use std::cell::OnceCell;

use ptxcheck_common::externs;
use rustc_hash::FxHashSet;

use crate::function::Analyses;
use crate::limits::MAX_LASTING_STEPS;
use crate::shared::Shared;
use crate::slots::Effect;
use crate::value::{Atom, Evaluator, Linear, Source, Sum};
use ptxcheck_ir::{AccessKind, Body, Callee, FunctionId, Instruction, Op, Register, Space, Value};

/// The memory that one kernel does not write.
pub(super) struct ReadonlyParams<'k> {
    module: &'k Shared<'k>,
    kernel: FunctionId,
    /// The parameters whose memory may be written, by index; `None`: any memory may be written.
    written: OnceCell<Option<Params>>,
}

/// A set of parameter indices. Larger indices are in no set, and values computed from such parameters are unknown.
type Params = u64;

impl<'k> ReadonlyParams<'k> {
    pub(super) const fn new(module: &'k Shared<'k>, kernel: FunctionId) -> Self {
        Self {
            module,
            kernel,
            written: OnceCell::new(),
        }
    }

    /// The parameter and the byte offset that a load of the kernel reads from, if that memory is never written.
    pub(super) fn readonly_param_of_load(&self, instruction: &Instruction) -> Option<(u16, i64)> {
        let body = self.module.module.function(self.kernel).body.as_ref()?;
        let &[address, Value::Integer(past), ..] = body.uses(instruction) else {
            return None;
        };
        let (param, at) = self.param_and_offset(address)?;
        let written = self.written.get_or_init(|| self.written_params(body)).as_ref()?;
        (written >> param & 1 == 0).then_some((param, at.checked_add(past)?))
    }

    fn analyses(&self) -> &'k Analyses<'k> {
        self.module.function(self.kernel)
    }

    /// The parameter and the constant offset whose sum is the address.
    fn param_and_offset(&self, address: Value) -> Option<(u16, i64)> {
        let source = Source::of_function(self.module, self.kernel)?;
        let mut sums = Evaluator::new(source, Linear::of_unknowns());
        let Sum { parts, by } = sums.description_of(address)?;
        match sums.domain().single_atom(parts)? {
            Atom::Param(param, 0, ..) if u32::from(param) < Params::BITS => {
                Some((param, by.uniform_number()? as i64))
            }
            _ => None,
        }
    }

    /// The parameters whose memory a kernel may write.
    fn written_params(&self, body: &Body<'_>) -> Option<Params> {
        let is_known = |callee: &Callee| match callee {
            Callee::Direct(symbol) => self.module.module.called(*symbol).is_some_and(|callee| {
                let function = self.module.module.function(callee);
                function.body.is_none() && externs::is_provided(self.module.module.function_name(callee))
            }),
            Callee::Indirect(_) => false,
        };
        if !body.calls.iter().all(|call| is_known(&call.callee)) {
            return None;
        }
        let mut written = 0;
        let mut left = MAX_LASTING_STEPS;
        for instruction in &body.instructions {
            let uses = body.uses(instruction);
            match instruction.op {
                Op::Access(access) => match (access.kind, access.space) {
                    (AccessKind::Load, _)
                    | (
                        _,
                        Space::Shared | Space::SharedCluster | Space::Local | Space::Param | Space::Tensor,
                    ) => {}
                    _ => written |= self.params_of_value(body, *uses.first()?, &mut left)?,
                },
                // It may be an unknown store.
                Op::Opaque if body.results(instruction).is_empty() => return None,
                _ => {}
            }
        }
        Some(written)
    }

    /// The parameters that a value may be computed from; `None`: it may be an address from another source.
    fn params_of_value(&self, body: &Body<'_>, value: Value, left: &mut usize) -> Option<Params> {
        let (mut open, mut params) = (vec![value], 0);
        let mut seen: FxHashSet<Register> = FxHashSet::default();
        let analyses = self.analyses();
        while let Some(value) = open.pop() {
            let register = match value {
                Value::Register(register) | Value::Not(register) => register,
                Value::Unknown | Value::Param(..) | Value::ReturnSlot(..) => return None,
                // Variables are not memory of a parameter; special registers hold no complete addresses.
                Value::Integer(_) | Value::Symbol(..) | Value::Special(_) => continue,
            };
            // A narrower value holds no address.
            if body.registers.bits(register) < 64 || !seen.insert(register) {
                continue;
            }
            let definitions = analyses.definitions().writers_of(register);
            if definitions.is_empty() {
                return None;
            }
            for &definition in definitions {
                *left = left.checked_sub(1)?;
                let instruction = body.instruction(definition);
                if let Some((param, _)) = body.loaded_param(instruction) {
                    params |= 1_u64.checked_shl(param.into())?;
                    continue;
                }
                match instruction.op {
                    Op::Access(_) => {
                        let slots = analyses.slots();
                        let Effect::Load(slot) = slots.effect_on_slots(definition, instruction) else {
                            return None;
                        };
                        if slots.has_foreign_writes(slot) {
                            return None;
                        }
                        let stores = slots.stores_to(slot).iter();
                        let stored: Option<Vec<Value>> =
                            stores.map(|&store| analyses.value_stored_by(store)).collect();
                        open.extend(stored?);
                    }
                    Op::Call(_) | Op::CallResult(_) | Op::Collective(..) | Op::Opaque | Op::MapShared(_) => {
                        return None;
                    }
                    _ => open.extend(body.uses(instruction)),
                }
            }
        }
        Some(params)
    }
}
