//! The uses that functions make of the objects that their pointer parameters point to: constructors, helpers with
//! out-parameters.
//!
//! Callees come first, so that the uses of arguments that a function passes on are known. For functions that call each other
//! in a cycle, nothing is known.

use std::sync::OnceLock;

use crate::addresses::{Addresses, Callees, PassedAddress, ReturnedAddress, SlotBase, Touched};
use crate::call_graph::CallGraph;
use crate::definitions::Definitions;
use crate::limits::MAX_TOUCHED_PIECES;
use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::{FunctionId, InstructionId, Module, ParamPiece};

/// The functions of a module, analysed when the first of them is requested.
pub(crate) struct ParamObjects<'a> {
    module: &'a Module<'a>,
    deadline: &'a Deadline,
    of: OnceLock<Vec<Option<Box<ParamUse>>>>,
}

/// The uses that one function makes of the objects that its parameters point to.
pub(crate) struct ParamUse {
    /// The accesses through, and uses of, addresses that are based on a parameter.
    addresses: Addresses,
    /// The bytes that it may touch, itself or through calls; sorted.
    touched: Vec<Touched>,
}

impl ParamUse {
    fn new(mut addresses: Addresses, callees: &dyn Callees) -> Self {
        let mut touched = Vec::new();
        for &(id, bytes) in &addresses.accesses {
            if let SlotBase::Param(param) = bytes.base {
                let is_written = addresses.stores.binary_search(&id).is_ok();
                touched.push(Touched {
                    param,
                    offset: bytes.offset,
                    count: bytes.count,
                    is_written,
                });
            }
        }
        let mut far = Vec::new();
        for passed in &addresses.passed {
            let SlotBase::Param(param) = passed.base else {
                continue;
            };
            for inner in callees.accessed_bytes(passed.callee, passed.param).unwrap_or(&[]) {
                match passed.offset.checked_add(inner.offset) {
                    Some(offset) => touched.push(Touched {
                        param,
                        offset,
                        ..*inner
                    }),
                    None => far.push(param.0),
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        if touched.len() > MAX_TOUCHED_PIECES {
            far.extend(touched.drain(..).map(|touched| touched.param.0));
        }
        let opaque = &mut addresses.opaque_params;
        opaque.extend(far);
        opaque.sort_unstable();
        opaque.dedup();
        addresses
            .accesses
            .retain(|(_, bytes)| matches!(bytes.base, SlotBase::Param(_)));
        addresses
            .passed
            .retain(|passed| matches!(passed.base, SlotBase::Param(_)));
        Self { addresses, touched }
    }

    /// The access of an instruction through a parameter, and its distance in bytes from the argument.
    pub(crate) fn access_through_param(&self, id: InstructionId) -> Option<(ParamPiece, i64, u32)> {
        let accesses = &self.addresses.accesses;
        let place = accesses.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        let bytes = accesses[place].1;
        match bytes.base {
            SlotBase::Param(param) => Some((param, bytes.offset, bytes.count)),
            SlotBase::Symbol(_) => None,
        }
    }

    /// The accesses through parameters, in the order of the input: instruction, parameter, offset and number of bytes.
    pub(crate) fn accesses_through_params(
        &self,
    ) -> impl Iterator<Item = (InstructionId, ParamPiece, i64, u32)> + '_ {
        self.addresses
            .accesses
            .iter()
            .filter_map(|(id, bytes)| match bytes.base {
                SlotBase::Param(param) => Some((*id, param, bytes.offset, bytes.count)),
                SlotBase::Symbol(_) => None,
            })
    }

    /// The addresses computed from parameters that calls pass on, in the order of the input.
    pub(crate) fn passed_addresses(&self) -> &[PassedAddress] {
        &self.addresses.passed
    }

    fn accessed_bytes(&self, param: ParamPiece) -> Option<&[Touched]> {
        if self.addresses.leaks(SlotBase::Param(param)) {
            return None;
        }
        let first = self.touched.partition_point(|touched| touched.param < param);
        let count = self.touched[first..].partition_point(|touched| touched.param == param);
        Some(&self.touched[first..first + count])
    }
}

impl<'a> ParamObjects<'a> {
    pub(crate) const fn new(module: &'a Module<'a>, deadline: &'a Deadline) -> Self {
        Self {
            module,
            deadline,
            of: OnceLock::new(),
        }
    }

    /// The uses that a function makes; `None` for kernels, and if nothing is known.
    pub(crate) fn param_use_of(&self, function: FunctionId) -> Option<&ParamUse> {
        let all = self.of.get_or_init(|| {
            let mut known = ParamUses((0..self.module.functions.len()).map(|_| None).collect());
            for component in CallGraph::new(self.module).components() {
                if let &[function] = &component[..]
                    && !self.deadline.is_over_at_step()
                {
                    known.0[function.index()] = self.find_use(function, &known);
                }
            }
            known.0
        });
        all.get(function.index())?.as_deref()
    }

    fn find_use(&self, id: FunctionId, known: &ParamUses) -> Option<Box<ParamUse>> {
        let function = self.module.function(id);
        let body = function
            .body
            .as_ref()
            .filter(|_| !function.is_kernel() && !function.is_damaged)?;
        let definitions = Definitions::new(body);
        let addresses = Addresses::new(self.module, body, &definitions, known, true);
        Some(Box::new(ParamUse::new(addresses, known)))
    }
}

impl Callees for ParamObjects<'_> {
    fn accessed_bytes(&self, callee: FunctionId, param: ParamPiece) -> Option<&[Touched]> {
        self.param_use_of(callee)?.accessed_bytes(param)
    }

    fn returned_addresses(&self, callee: FunctionId) -> &[ReturnedAddress] {
        self.param_use_of(callee)
            .map_or(&[], |used| &used.addresses.returned)
    }
}

/// The functions that have been analysed.
struct ParamUses(Vec<Option<Box<ParamUse>>>);

impl Callees for ParamUses {
    fn accessed_bytes(&self, callee: FunctionId, param: ParamPiece) -> Option<&[Touched]> {
        self.0.get(callee.index())?.as_deref()?.accessed_bytes(param)
    }

    fn returned_addresses(&self, callee: FunctionId) -> &[ReturnedAddress] {
        let used = self.0.get(callee.index()).and_then(Option::as_deref);
        used.map_or(&[], |used| &used.addresses.returned)
    }
}
