//! A kernel, and the functions that it calls with what they are passed.
//!
//! ```text
//! frame       the kernel, or a call in a frame
//! argument    its value by lane, or its distance from a variable, as the caller has it each time that it calls
//! executes    lane l certainly executes an instruction of a frame: it certainly comes there, and certainly executes the call
//! ```

use std::cell::OnceCell;

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{
    BlockId, Body, Callee, FunctionId, InstructionId, MemberMask, Op, Space, Special, Value, WARP,
};

use crate::Analyses;
use crate::call_graph::CallSite;
use crate::certain_paths::CertainPaths;
use crate::entered_function::has_guarded_end;
use crate::lanes::{Lanes, Site};
use crate::launches::Shape;
use crate::limits::{MAX_CALL_DEPTH, MAX_FOLLOWED_CALLS};
use crate::pointer_passthrough::passes_pointer_through;
use crate::provenance::is_replaceable;
use crate::shared::Shared;
use crate::threads::Threads;
use crate::value::{Atom, PassedSums, Source};

/// A function that threads are in, of a module.
type Entered<'a, 'm> = (&'a Shared<'m>, FunctionId, &'a Body<'m>);

/// The threads of each warp, computed on first use.
pub(super) struct Warps<'f, 'a, 'm> {
    function: Entered<'a, 'm>,
    /// The shape of the block, if it is known.
    block: Option<Shape>,
    /// Their values are those when they execute this instruction for the first time; without one, those of each time.
    first_at: Option<InstructionId>,
    /// The frame that calls the function.
    caller: Option<(&'f Frame<'f, 'a, 'm>, InstructionId)>,
    all: Vec<OnceCell<Threads<'a, 'm>>>,
}

impl<'f, 'a, 'm> Warps<'f, 'a, 'm> {
    /// Those of a block of a kernel with so many threads.
    pub(super) fn new(function: Entered<'a, 'm>, block: Option<Shape>, threads: u32) -> Self {
        Self {
            function,
            block,
            first_at: None,
            caller: None,
            all: uncomputed(threads.div_ceil(WARP).max(1) as usize),
        }
    }

    pub(super) fn get(&self, warp: u32) -> &Threads<'a, 'm> {
        self.all[warp as usize].get_or_init(|| {
            let (module, function, body) = self.function;
            let source = Source {
                first_at: self.first_at,
                module: Some(module),
                ..Source::within_body(body, module.function(function))
            };
            let passed = self.caller.map(|(caller, call)| caller.passed_sums(call, warp));
            Threads::of_warp_in_block(source, warp, self.block, passed.unwrap_or_default())
        })
    }

    /// The same threads when they execute an instruction for the first time.
    pub(super) fn at_first(&self, at: InstructionId) -> Self {
        Self {
            first_at: Some(at),
            all: uncomputed(self.all.len()),
            ..*self
        }
    }

    /// True if their values are those of the first time.
    pub(super) const fn are_at_first(&self) -> bool {
        self.first_at.is_some()
    }
}

/// A function that a kernel executes.
pub(super) struct Frame<'f, 'a, 'm> {
    pub(super) body: &'a Body<'m>,
    pub(super) warps: Warps<'f, 'a, 'm>,
    /// It names a variable, or is passed its address.
    pub(super) has_variable: bool,
    /// It, or a function that leads to it, reads the number of a thread.
    pub(super) reads_thread: bool,
    analyses: &'a Analyses<'m>,
    /// The calls that lead to it, innermost first.
    callers: Vec<CallSite>,
}

impl<'f, 'a, 'm> Frame<'f, 'a, 'm> {
    /// A kernel.
    pub(super) fn of_kernel(
        module: &'a Shared<'m>,
        kernel: FunctionId,
        (body, warps): (&'a Body<'m>, Warps<'f, 'a, 'm>),
    ) -> Self {
        Self {
            body,
            warps,
            has_variable: names_variable(body),
            reads_thread: reads_thread(body),
            analyses: module.function(kernel),
            callers: Vec::new(),
        }
    }

    /// True if a path leads from an instruction back to it.
    pub(super) fn is_repeated(&self, id: InstructionId) -> bool {
        let block = self.body.block_of(id);
        self.analyses.cfg().may_repeat(block) && Paths::new(self.body).lead(id, id)
    }

    /// The function that an instruction calls by its name.
    pub(super) fn called_function(&self, call: InstructionId) -> Option<FunctionId> {
        match self.body.callee(self.body.instruction(call))? {
            Callee::Direct(symbol) => self.warps.function.0.module.called(symbol),
            Callee::Indirect(_) => None,
        }
    }

    /// True if a lane of warp 0, or the first one of another warp, certainly executes an instruction, of so many threads.
    pub(super) fn is_surely_executed_by_some(&self, at: InstructionId, threads: u32) -> bool {
        let warp_0 = self.warps.get(0);
        (0..threads.min(WARP)).any(|lane| self.surely_executes(warp_0, lane, at))
            || (1..threads.div_ceil(WARP)).any(|warp| self.surely_executes(self.warps.get(warp), 0, at))
    }

    /// The function that an instruction calls; `None` also if its body is not known, or does not show how it ends.
    pub(super) fn enter_call(&'f self, call: InstructionId) -> Option<Self> {
        let (module, caller, _) = self.warps.function;
        let callee = self.called_function(call)?;
        let function = module.module.function(callee);
        let body = function.body.as_ref().filter(|_| !function.is_damaged)?;
        let is_recursive = callee == caller || self.callers.iter().any(|site| site.caller == callee);
        if self.callers.len() >= MAX_CALL_DEPTH
            || is_recursive
            || is_replaceable(module, callee)
            || has_guarded_end(body)
            || !self.analyses.is_reached(call)
        {
            return None;
        }
        let warps = Warps {
            function: (module, callee, body),
            first_at: None,
            caller: Some((self, call)),
            all: uncomputed(self.warps.all.len()),
            ..self.warps
        };
        let site = CallSite {
            caller,
            instruction: call,
            callee,
        };
        Some(Self {
            body,
            warps,
            has_variable: names_variable(body) || self.has_variable && self.passes_variable(call),
            reads_thread: self.reads_thread || reads_thread(body),
            analyses: module.function(callee),
            callers: std::iter::once(site)
                .chain(self.callers.iter().copied())
                .collect(),
        })
    }

    /// True if it accesses variables by their addresses, or calls functions that may.
    pub(super) fn may_access_variable(&self) -> bool {
        let (module, function, body) = self.warps.function;
        let is_access =
            |op| matches!(op, Op::Access(access) if !matches!(access.space, Space::Param | Space::Global));
        let has_access = || {
            body.instructions
                .iter()
                .any(|instruction| is_access(instruction.op))
        };
        (!body.calls.is_empty() || self.has_variable && has_access())
            && !passes_pointer_through(module, function)
    }

    /// The blocks with a collective that no guard skips and that names all lanes, or with a call that always comes to one.
    pub(super) fn blocks_with_full_collective(&self) -> Vec<BlockId> {
        let mut calls_left = MAX_FOLLOWED_CALLS;
        self.full_collectives(&mut calls_left)
    }

    fn full_collectives(&self, calls_left: &mut usize) -> Vec<BlockId> {
        let threads = self.warps.get(0);
        let mut is_full = |id: InstructionId| {
            let instruction = self.body.instruction(id);
            match instruction.op {
                _ if instruction.guard.is_some() => false,
                Op::Collective(_, MemberMask::Operand) => {
                    let mask = self.body.uses(instruction).first();
                    let mask = mask.and_then(|&mask| threads.uniform_value(mask));
                    mask.is_some_and(|mask| mask as Lanes == Lanes::MAX)
                }
                Op::Call(_) if *calls_left > 0 => {
                    *calls_left -= 1;
                    self.enter_call(id).is_some_and(|callee| {
                        let post = callee.analyses.post_dominators();
                        let full = callee.full_collectives(calls_left);
                        full.iter().any(|&block| post.dominates(block, BlockId::new(0)))
                    })
                }
                _ => false,
            }
        };
        let calls = self.body.calls.iter().map(|call| call.instruction);
        let mut all: Vec<InstructionId> = self.body.collectives.iter().copied().chain(calls).collect();
        all.retain(|&id| is_full(id));
        all.into_iter().map(|id| self.body.block_of(id)).collect()
    }

    /// What a call of it passes in a warp.
    fn passed_sums(&self, call: InstructionId, warp: u32) -> PassedSums {
        let Op::Call(number) = self.body.instruction(call).op else {
            return PassedSums::new();
        };
        let threads = self.warps.get(warp);
        let arguments = self.body.arguments(self.body.call(number)).iter();
        let passed = arguments.filter_map(|argument| {
            let piece = (u16::try_from(argument.param).ok()?, argument.offset);
            let bits = match argument.value {
                Value::Register(register) => self.body.registers.bits(register),
                _ => 64,
            };
            let sum = threads.passed_sum(argument.value)?;
            // Parameters have their numbers in one function.
            let is_known = matches!(sum.0, None | Some(Atom::Symbol(_)));
            is_known.then_some((piece, bits, sum))
        });
        passed.collect()
    }

    /// True if a call passes the address of a variable.
    fn passes_variable(&self, call: InstructionId) -> bool {
        let passed = self.passed_sums(call, 0);
        passed.iter().any(|(_, _, (begin, _))| begin.is_some())
    }

    /// True for the kernel itself.
    pub(super) const fn is_of_kernel(&self) -> bool {
        self.callers.is_empty()
    }

    /// The site of an instruction of it.
    pub(super) fn site_of(&self, instruction: InstructionId) -> Site {
        Site {
            function: self.warps.function.1,
            instruction,
            callers: self.callers.clone(),
        }
    }

    /// The kernel, and its instruction that is one of this function, or the call that leads there.
    pub(super) fn place_in_kernel(&self, instruction: InstructionId) -> (&Self, InstructionId) {
        match self.warps.caller {
            Some((caller, call)) => caller.place_in_kernel(call),
            None => (self, instruction),
        }
    }

    /// True if a lane that executes the kernel certainly executes an instruction, by the values of these threads of the function.
    pub(super) fn surely_executes(&self, threads: &Threads<'_, '_>, lane: u32, id: InstructionId) -> bool {
        let paths = CertainPaths {
            body: self.body,
            analyses: self.analyses,
        };
        self.analyses.is_reached(id)
            && paths.surely_executes(threads, lane, id)
            && self.warps.caller.is_none_or(|(caller, call)| {
                caller.surely_executes(caller.warps.get(threads.warp), lane, call)
            })
    }
}

/// True if a body reads the number of a thread.
pub(super) fn reads_thread(body: &Body<'_>) -> bool {
    let is_number = |value: &Value| matches!(value, Value::Special(Special::Tid(_) | Special::LaneId));
    body.values.iter().any(is_number)
}

/// True if a body names a variable.
pub(super) fn names_variable(body: &Body<'_>) -> bool {
    body.values.iter().any(|value| matches!(value, Value::Symbol(..)))
}

/// So many values that are not computed.
fn uncomputed<T>(count: usize) -> Vec<OnceCell<T>> {
    std::iter::repeat_with(OnceCell::new).take(count).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::with_ptx;
    use ptxcheck_ir::paths::Paths;
    use ptxcheck_ir::{BlockId, FunctionId};

    #[test]
    fn blocks_that_may_not_repeat_lie_on_no_cycle() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\n\
             mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nmov.u32 %r2, 1;\nA:\nadd.u32 %r1, %r1, 1;\n@%p1 bra OUT;\n\
             B:\nadd.u32 %r2, %r2, 1;\n@%p1 bra B;\nbra A;\nOUT:\nadd.u32 %r1, %r1, 2;\n@%p1 bra END;\nmov.u32 %r2, 3;\nEND:\nret;\n}\n";
        with_ptx(text, |module| {
            let function = FunctionId::new(0);
            let body = module.module.functions[0].body.as_ref().unwrap();
            let cfg = module.function(function).cfg();
            let blocks: Vec<(bool, bool)> = (0..body.blocks.len())
                .map(BlockId::new)
                .filter_map(|block| {
                    let (first, _) = body.block(block).next()?;
                    Some((cfg.may_repeat(block), Paths::new(body).lead(first, first)))
                })
                .collect();
            assert!(blocks.iter().all(|(may, does)| *may || !does), "{blocks:?}");
            assert!(
                blocks.contains(&(true, true)) && blocks.contains(&(false, false)),
                "{blocks:?}"
            );
        });
    }
}
