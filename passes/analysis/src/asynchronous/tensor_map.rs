//! Tensor maps in memory where the hardware does not find them.

use ptxcheck_ir::{AsyncKinds, AsyncOp, Asynchronous, Body, FunctionId, Space, SymbolId};

use super::points_to::{Pointed, memories_possibly_pointed_to, memory_pointed_to};
use super::problems::{AsyncAnalysis, AsyncProblem};
use crate::place::Place;

/// The object that an address points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressedObject {
    /// The memory.
    pub space: Space,
    /// The variable, where it is known.
    pub symbol: Option<SymbolId>,
}

impl AsyncAnalysis<'_, '_> {
    /// The tensor copies whose tensor map is in local or shared memory; the other place of each is the instruction that takes its address.
    #[must_use]
    pub fn misplaced_tensor_maps(self) -> Vec<AsyncProblem<AddressedObject>> {
        let mut found = Vec::new();
        for (id, function, body) in self.module.module.bodies() {
            if body.has_async(AsyncKinds::COPY) && !function.is_damaged {
                let all = body.asynchronous.iter();
                found.extend(all.filter_map(|one| self.misplaced_tensor_map(id, body, one)));
            }
        }
        found
    }

    fn misplaced_tensor_map(
        self,
        id: FunctionId,
        body: &Body<'_>,
        one: &Asynchronous,
    ) -> Option<AsyncProblem<AddressedObject>> {
        let (AsyncOp::Copy(_), Some(access)) = (one.op, one.tensor_map()) else {
            return None;
        };
        let &map = body.uses(body.instruction(access)).first()?;
        let is_wrong =
            |found: &Pointed| matches!(found.space, Space::Local | Space::Shared | Space::SharedCluster);
        let certain = memory_pointed_to(self.module, id, map).filter(is_wrong);
        let perhaps = || {
            memories_possibly_pointed_to(self.module, id, map)
                .into_iter()
                .find(is_wrong)
        };
        let found = certain.or_else(perhaps)?;
        if self.module.deadline.is_over() || !self.module.function(id).is_reached(one.instruction) {
            return None;
        }
        let is_own = found.origin.is_some_and(|(function, _)| function == id);
        let chain = if is_own {
            Self::call_chain_to
        } else {
            Self::call_chain_within_module
        };
        Some(AsyncProblem {
            place: Place::Instruction(id, one.instruction, chain(self, id, one.instruction)?),
            operation: one.op,
            root: id,
            is_definite: certain.is_some(),
            other: found
                .origin
                .map(|(function, origin)| Place::of_instruction(function, origin)),
            detail: AddressedObject {
                space: found.space,
                symbol: found.symbol,
            },
        })
    }
}
