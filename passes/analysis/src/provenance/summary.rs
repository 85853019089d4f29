//! The summary of one function: its violations, its demands on callers, the values that it returns.
//!
//! ```text
//! violation   a use of a value all (definite) or some (potential) of whose elements are wrong for it
//! demand      a use of the caller's argument; at a call it is judged with the argument's elements, and if the
//!             argument is itself a parameter of that caller, it becomes a demand of the caller
//! result      the value returned, with the caller's argument as one of its elements
//! ```
//!
//! Each function is analysed once, after its callees. Functions that call each other in a cycle do not see each other's
//! summaries.

use super::judge::{Use, ViolationKind, is_certain, violation_of_use};
use super::value::{Base, Element, ElementKind, Provenance, Trust, bit_of_space};
use crate::call_graph::CallSite;
use ptxcheck_ir::{BlockId, FunctionId, Guard, InstructionId, Space};

/// A use of an address that is wrong for it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The function that uses it.
    pub function: FunctionId,
    /// The use.
    pub instruction: InstructionId,
    /// The kind of violation.
    pub wrong: ViolationKind,
    /// The use, if it is one of an address.
    pub used: Use,
    /// The address: the first element that is wrong.
    pub element: Element,
    /// The function that the element's base and origin belong to: the outermost caller, if there are callers.
    pub of: FunctionId,
    /// ViolationKind on every execution that reaches it, through the callers if there are any.
    pub is_definite: bool,
    /// It would be definite if anything called the function that the base belongs to.
    pub is_uncalled: bool,
    /// Another space it may point into just as well, which is not wrong: reported with potential findings.
    pub alternative: Option<Element>,
    /// The calls that pass the address, innermost first.
    pub callers: Vec<CallSite>,
}

impl Violation {
    /// True if it is wrong on every execution that reaches it, if there is one.
    #[must_use]
    pub const fn is_certain(&self) -> bool {
        self.is_definite || self.is_uncalled
    }
}

/// The condition under which an instruction of a function is executed: the same for all instructions that are executed
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    /// The first block above the instruction that is executed exactly when the instruction's block is.
    pub(super) block: BlockId,
    /// Its own guard.
    pub(super) guard: Option<Guard>,
}

/// A use of a caller's argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// The parameter, and the byte offset in it.
    pub piece: (u16, u32),
    /// The use.
    pub used: Use,
    /// Spaces that tests have ruled out there.
    pub excluded: u8,
    /// No other value can reach the use.
    pub is_sole: bool,
    /// The offset of the access from the argument, where it is constant and the access faults at address 0.
    pub reach: Option<i64>,
    /// It is executed whenever the function that has the summary is entered.
    pub is_certain: bool,
    /// The condition under which it is executed, in the function where it is.
    pub decided: Decided,
    /// The function that uses it.
    pub function: FunctionId,
    /// The instruction that uses it.
    pub instruction: InstructionId,
    /// The calls from the function that has the summary to the use, innermost first.
    pub callers: Vec<CallSite>,
}

/// The summary of one function.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Its violations, and those of its calls.
    pub violations: Vec<Violation>,
    /// Its demands on callers; one for each parameter, use, set of spaces ruled out, and condition.
    pub demands: Vec<Demand>,
    /// Parameters whose space it, or a function that it calls, tests.
    pub tested: Vec<(u16, u32)>,
    /// Parameters that it, or a function that it calls, compares with 0.
    pub null_tested: Vec<(u16, u32)>,
    /// It returns 1 if the pointer passed in this parameter lies in this space, else 0.
    pub answer: Option<((u16, u32), Space)>,
    /// The values that it returns, by byte offset.
    pub results: Vec<(u32, Provenance)>,
}

/// Finished summaries of other functions.
pub(super) type Summaries<'a> = dyn Fn(FunctionId) -> Option<&'a Summary> + Sync + 'a;

impl Summary {
    /// True if a call of it can be wrong.
    #[must_use]
    pub(super) fn may_be_called_wrongly(&self) -> bool {
        !self.demands.is_empty()
    }

    /// True if it tests the space of an argument, or compares one with 0.
    #[must_use]
    pub(super) fn tests_arguments(&self) -> bool {
        !self.tested.is_empty() || !self.null_tested.is_empty()
    }

    /// The value that it returns at this byte offset.
    #[must_use]
    pub(super) fn result_at(&self, offset: u32) -> Option<&Provenance> {
        self.results
            .iter()
            .find(|(known, _)| *known == offset)
            .map(|(_, value)| value)
    }
}

/// A value at a use, ready to be judged.
pub(super) struct OperandValue<'a> {
    /// The value.
    pub value: &'a Provenance,
    /// Spaces ruled out for every element.
    pub excluded: u8,
    /// The value's base has been tested somewhere, and the outcome at this place is not known.
    pub is_doubtful: bool,
}

/// The first element that is wrong, how, and whether that is certain.
#[must_use]
pub(super) fn first_wrong_element(
    used: Use,
    operand: &OperandValue<'_>,
) -> Option<(ViolationKind, Element, bool, Option<Element>)> {
    let possible = || {
        operand.value.elements().iter().filter(|element| {
            !(element.is_address()
                && bit_of_space(element.space) & operand.excluded == bit_of_space(element.space)
                && bit_of_space(element.space) != 0)
        })
    };
    let (wrong, element) =
        possible().find_map(|element| Some((violation_of_use(used, element)?, *element)))?;
    let right = possible().find(|element| violation_of_use(used, element).is_none());
    let is_definite = !operand.is_doubtful
        && right.is_none()
        && possible().all(|element| {
            violation_of_use(used, element).is_some_and(|wrong| is_certain(used, wrong, element))
        });
    Some((wrong, element, is_definite, right.copied()))
}

/// A parameter of the function among the elements of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormalElement {
    /// The parameter, and the byte offset in it.
    pub piece: (u16, u32),
    /// The spaces that tests have ruled out for it.
    pub excluded: u8,
    /// The value has no other element.
    pub is_sole: bool,
    /// The offset from it in bytes, where constant.
    pub offset: Option<i64>,
}

/// The parameters among a value's elements.
pub(super) fn formal_elements(value: &Provenance) -> impl Iterator<Item = FormalElement> + '_ {
    let elements = value.elements();
    elements
        .iter()
        .filter_map(move |element| match (element.kind, element.base) {
            (ElementKind::Formal, Base::Param(number, piece)) => Some(FormalElement {
                piece: (number, piece),
                excluded: element.excluded,
                is_sole: elements.len() == 1 && element.trust == Trust::Certain,
                offset: element.offset,
            }),
            _ => None,
        })
}
