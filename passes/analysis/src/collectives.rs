//! Warp collectives with the constants among their operands, in the calling contexts that decide them.
//!
//! `-G` builds make a function of every intrinsic, so masks arrive as arguments. Where an operand of a collective depends on
//! a parameter, each chain of direct calls that decides it is a site of its own.

use super::call_graph::CallSite;
use super::constants::{Arguments, Constant, Constants};
use super::contexts::{Budget, constant_contexts, solve_constants};
use crate::limits::{MAX_CALL_CHAINS, MAX_CONTEXT_INSTRUCTIONS};
use crate::place::Place;
use crate::shared::Shared;
use ptxcheck_ir::{Body, Collective, FunctionId, InstructionId, MemberMask, Op, Value};

/// A collective, in a context.
#[derive(Debug)]
pub struct CollectiveSite {
    /// The function that holds it.
    pub function: FunctionId,
    /// The instruction.
    pub instruction: InstructionId,
    /// The kind of collective.
    pub kind: Collective,
    /// Its member mask.
    pub member_mask: MemberMask,
    /// The calls that lead to it, innermost first; empty where the function itself decides the operands.
    pub callers: Vec<CallSite>,
    /// Its uses, in the order of [`Collective`]: the member mask first. Only masks and the `c` operands of shuffles are
    /// followed through registers. In a context, an operand that the function itself decides is [`Constant::Unknown`]:
    /// another site has its value.
    pub operands: Vec<Constant>,
}

impl CollectiveSite {
    /// True for the `.sync` form.
    #[must_use]
    pub fn is_sync(&self) -> bool {
        self.member_mask == MemberMask::Operand
    }

    /// The member mask, if it is known.
    #[must_use]
    pub fn known_mask(&self) -> Option<u64> {
        self.operands.first().and_then(|mask| mask.known_value())
    }

    /// True if it may be executed in this context.
    #[must_use]
    pub fn is_reached(&self, module: &Shared<'_>) -> bool {
        module.function(self.function).is_reached(self.instruction)
            && self.callers.iter().all(|call| module.may_call(call))
    }

    /// Its location, with the calls that lead to it.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::Instruction(self.function, self.instruction, self.callers.clone())
    }
}

/// All sites of a module, by function and instruction.
#[must_use]
pub(crate) fn find_sites(module: &Shared<'_>) -> Vec<CollectiveSite> {
    let mut sites = Vec::new();
    let mut budget = Budget {
        chains: 0,
        instructions: MAX_CONTEXT_INSTRUCTIONS,
        deadline: module.deadline,
    };
    for (function, _, body) in module.module.bodies() {
        if !body.collectives.is_empty() && !module.deadline.is_over_after(body.instructions.len()) {
            budget.chains = MAX_CALL_CHAINS;
            add_sites_of_function(module, function, body, &mut budget, &mut sites);
        }
    }
    sites
}

fn add_sites_of_function(
    module: &Shared<'_>,
    function: FunctionId,
    body: &Body<'_>,
    budget: &mut Budget<'_>,
    sites: &mut Vec<CollectiveSite>,
) {
    let seeds = || {
        body.collectives
            .iter()
            .flat_map(|&id| decisive_operands(body, id))
    };
    let alone = Arguments::default();
    let constants = solve_constants(module, function, body, seeds(), &alone);
    let first = sites.len();
    sites.extend(
        constant_operands(body, &constants)
            .into_iter()
            .map(|(instruction, operands)| build_site(function, body, instruction, Vec::new(), operands)),
    );
    let count = sites.len() - first;
    if constants.params.is_empty() {
        return;
    }
    for context in constant_contexts(module, function, &constants.params, 0, budget) {
        if !budget.spend_cost(body) {
            break;
        }
        let constants = solve_constants(module, function, body, seeds(), &context.arguments);
        for (number, (instruction, mut operands)) in
            constant_operands(body, &constants).into_iter().enumerate()
        {
            let known = &sites[first + number % count].operands;
            for (operand, alone) in operands.iter_mut().zip(known) {
                if alone.known_value().is_some() {
                    *operand = Constant::Unknown;
                }
            }
            if operands.iter().any(|operand| operand.known_value().is_some()) {
                sites.push(build_site(
                    function,
                    body,
                    instruction,
                    context.callers.clone(),
                    operands,
                ));
            }
        }
    }
}

fn constant_operands(body: &Body<'_>, constants: &Constants<'_>) -> Vec<(InstructionId, Vec<Constant>)> {
    constants.visit_before(body.collectives.iter().copied(), |id, value_of| {
        (
            id,
            body.uses(body.instruction(id))
                .iter()
                .map(|&value| value_of(value))
                .collect(),
        )
    })
}

/// The operands that are followed: the mask and a shuffle's `c`. The exchanged values are arbitrary.
fn decisive_operands<'a>(body: &'a Body<'_>, id: InstructionId) -> impl Iterator<Item = Value> + 'a {
    let uses = body.uses(body.instruction(id));
    [uses.first(), uses.get(SHUFFLE_CONTROL)]
        .into_iter()
        .flatten()
        .copied()
}

/// Place of the `c` operand among the uses of a shuffle.
pub const SHUFFLE_CONTROL: usize = 3;

fn build_site(
    function: FunctionId,
    body: &Body<'_>,
    instruction: InstructionId,
    callers: Vec<CallSite>,
    operands: Vec<Constant>,
) -> CollectiveSite {
    let Op::Collective(kind, member_mask) = body.instruction(instruction).op else {
        unreachable!("`Body::collectives` lists collectives");
    };
    CollectiveSite {
        function,
        instruction,
        kind,
        member_mask,
        callers,
        operands,
    }
}
