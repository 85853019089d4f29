//! The `setmaxnreg` that a kernel executes, itself and in functions that it calls.

use ptxcheck_common::externs;
use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, InstructionId, Op, Rare, RegisterChange, Value};

use crate::call_graph::CallSite;
use crate::lanes::Site;
use crate::limits::{MAX_CALL_DEPTH, MAX_REGISTER_STEPS};
use crate::shared::Shared;

/// A `setmaxnreg`.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The instruction, with the calls that lead to it.
    pub site: Site,
    /// The instruction of the kernel: itself, or a call.
    pub at: InstructionId,
    /// Its direction.
    pub change: RegisterChange,
    /// The number of registers; `None` if it is no constant.
    pub to: Option<u64>,
}

/// The steps of a kernel, in the order of its instructions.
pub(super) struct Steps {
    pub all: Vec<Step>,
    /// They are all steps: calls are followed into functions without branches, and others have none.
    pub are_complete: bool,
}

impl Steps {
    /// The steps of a kernel. `has_step`: by function, whether it or a function that it calls has one.
    pub(super) fn of_kernel(
        module: &Shared<'_>,
        kernel: FunctionId,
        body: &Body<'_>,
        has_step: &[bool],
    ) -> Self {
        let mut steps = Self {
            all: Vec::new(),
            are_complete: true,
        };
        let analyses = module.function(kernel);
        for (at, _) in body.iter().filter(|(at, _)| analyses.is_reached(*at)) {
            steps.add_instruction(module, (kernel, body), at, (at, &[]), has_step);
        }
        steps
    }

    /// Those of one instruction of the kernel.
    pub(super) fn of_instruction(&self, at: InstructionId) -> &[Step] {
        let first = self.all.partition_point(|step| step.at < at);
        let end = self.all.partition_point(|step| step.at <= at);
        &self.all[first..end]
    }

    fn add_instruction(
        &mut self,
        module: &Shared<'_>,
        (function, body): (FunctionId, &Body<'_>),
        instruction: InstructionId,
        (at, callers): (InstructionId, &[CallSite]),
        has_step: &[bool],
    ) {
        let known = body.instruction(instruction);
        match known.op {
            Op::SetRegisters(change) => {
                if self.all.len() >= MAX_REGISTER_STEPS {
                    self.are_complete = false;
                    return;
                }
                let to = match body.uses(known).first() {
                    Some(&Value::Integer(number)) => u64::try_from(number).ok(),
                    _ => None,
                };
                self.all.push(Step {
                    site: Site {
                        function,
                        instruction,
                        callers: callers.to_vec(),
                    },
                    at,
                    change,
                    to,
                });
            }
            Op::Call(_) => {
                let callee = match body.callee(known) {
                    Some(Callee::Direct(symbol)) => module.module.called(symbol),
                    _ => None,
                };
                let Some(callee) = callee else {
                    self.are_complete = false;
                    return;
                };
                let called = module.module.function(callee);
                let inner = called.body.as_ref().filter(|_| has_step[callee.index()]);
                let is_followed = !called.is_damaged && callers.len() < MAX_CALL_DEPTH;
                let straight = inner.filter(|_| is_followed).and_then(straight_instructions);
                match (&called.body, straight) {
                    (Some(_), _) if !has_step[callee.index()] => {}
                    (Some(inner), Some(straight)) => {
                        let site = CallSite {
                            caller: function,
                            instruction,
                            callee,
                        };
                        let callers: Vec<CallSite> =
                            std::iter::once(site).chain(callers.iter().copied()).collect();
                        for one in straight {
                            self.add_instruction(module, (callee, inner), one, (at, &callers), has_step);
                        }
                    }
                    (None, _) if externs::is_provided(module.module.function_name(callee)) => {}
                    _ => self.are_complete = false,
                }
            }
            _ => {}
        }
    }
}

/// By function: true if it, or a function that it calls, has a `setmaxnreg`; empty if none has.
pub(super) fn functions_with_steps(module: &Shared<'_>) -> Vec<bool> {
    let has_step = |body: &Body<'_>| body.has(Rare::SET_REGISTERS);
    if !module.module.bodies().any(|(_, _, body)| has_step(body)) {
        return Vec::new();
    }
    let mut marked = vec![false; module.module.functions.len()];
    for (id, _, body) in module.module.bodies() {
        marked[id.index()] = has_step(body);
    }
    module.call_graph().mark_callers(&mut marked);
    marked
}

/// The instructions of a function that executes them one after the other, each once, in this order; `None` for one that does not.
fn straight_instructions(body: &Body<'_>) -> Option<Vec<InstructionId>> {
    let mut all = Vec::new();
    let (mut block, mut blocks) = (BlockId::new(0), 0);
    loop {
        blocks += 1;
        if blocks > body.blocks.len() {
            return None;
        }
        for (id, instruction) in body.block(block) {
            if instruction.guard.is_some() || instruction.op == Op::Exit {
                return None;
            }
            all.push(id);
        }
        match *body.successors(block) {
            [] => return Some(all),
            [next] => block = next,
            _ => return None,
        }
    }
}
