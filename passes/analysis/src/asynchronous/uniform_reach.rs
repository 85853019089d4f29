//! Instructions that all threads of a block, or all lanes of a warp, reach alike: equally often, and in the same order with
//! other such instructions.
//!
//! ```text
//! alike(x)    no guard, and every branch that x depends on is taken alike
//! depends     the branches of which one edge leads to x for certain and another past it, those that these depend on, and so on
//! taken alike the predicate is computed from constants, parameters of the kernel and special registers that the threads share, and where
//!             a register has several definitions, their branches are taken alike, too
//! lanes       of a warp share the index of the warp, and the outcome of a comparison with a multiple of 32
//! ```

use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{
    BinaryOp, BlockId, Body, Condition, FunctionId, Instruction, InstructionId, Logic, Op, Space, Special,
    Value,
};
use rustc_hash::FxHashSet;

use super::kernel::AsyncKernel;
use super::sum::has_path_avoiding;
use crate::function::Analyses;
use crate::limits::MAX_ALIKE_STEPS;
use crate::shared::Shared;

/// The threads that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Block,
    /// For blocks in one dimension.
    Warp,
}

/// Threads in a warp, for remainders of constants.
const WARP: i64 = ptxcheck_ir::WARP as i64;

/// True if the threads of a group reach an instruction of a kernel alike.
fn is_reached_uniformly(module: &Shared<'_>, kernel: FunctionId, at: InstructionId, group: Group) -> bool {
    let Some(body) = &module.module.function(kernel).body else {
        return false;
    };
    let mut search = UniformReachSearch {
        body,
        analyses: module.function(kernel),
        group,
        blocks: FxHashSet::default(),
        open: Vec::new(),
        left: MAX_ALIKE_STEPS,
    };
    body.instruction(at).guard.is_none()
        && search.add_controlling_predicates(body.block_of(at)).is_some()
        && search.check_values_agree().is_some()
}

/// True if all threads of a block reach an instruction of a kernel alike.
pub(super) fn is_reached_by_block_alike(module: &Shared<'_>, kernel: FunctionId, at: InstructionId) -> bool {
    is_reached_uniformly(module, kernel, at, Group::Block)
}

/// True if threads may reach a barrier between a store and a copy from another place in the code: such a thread may be at a
/// fence that precedes the store in the text, or follows the copy.
pub(super) fn may_wait_at_other_barrier(
    module: &Shared<'_>,
    kernel: &AsyncKernel,
    (id, body): (FunctionId, &Body<'_>),
    store: InstructionId,
    copy: InstructionId,
) -> bool {
    let is_elsewhere = |(at, instruction): (InstructionId, &Instruction)| {
        let group = match instruction.op {
            Op::Barrier(barrier) if barrier.counted || !barrier.waits => None,
            Op::Barrier(_) => Some(Group::Block),
            Op::Collective(..) => Some(Group::Warp),
            _ => return false,
        };
        let is_between = at != copy
            && has_path_avoiding(body, store, at, copy)
            && has_path_avoiding(body, at, copy, store);
        let is_alike = |group| id == kernel.kernel && is_reached_uniformly(module, id, at, group);
        is_between && !group.is_some_and(is_alike)
    };
    body.iter().any(is_elsewhere)
}

struct UniformReachSearch<'a, 'm> {
    body: &'a Body<'m>,
    analyses: &'a Analyses<'m>,
    group: Group,
    /// The blocks that must be reached alike.
    blocks: FxHashSet<BlockId>,
    /// The values that must be the same.
    open: Vec<Value>,
    left: usize,
}

impl UniformReachSearch<'_, '_> {
    /// Adds the predicates of the branches that a block depends on; `None` if the budget is spent.
    fn add_controlling_predicates(&mut self, block: BlockId) -> Option<()> {
        if !self.blocks.insert(block) {
            return Some(());
        }
        let post = self.analyses.post_dominators();
        for branch in (0..self.body.blocks.len()).map(BlockId::new) {
            self.left = self.left.checked_sub(1)?;
            let Some(last) = self.body.terminator(branch) else {
                continue;
            };
            let next = self.body.successors(branch);
            let may_end = matches!(last.op, Op::Return | Op::Exit | Op::Trap);
            if next.len() < 2 && !(may_end && last.guard.is_some()) {
                continue;
            }
            let leads = |&next: &BlockId| next == block || post.dominates(block, next);
            let passes = may_end || (branch == block || !post.dominates(block, branch));
            if passes && next.iter().any(leads) {
                let index = self.body.uses(last).iter().copied();
                self.open.extend(index.filter(|_| last.op == Op::BranchTable));
                self.open
                    .extend(last.guard.map(|guard| Value::Register(guard.register)));
                self.add_controlling_predicates(branch)?;
            }
        }
        Some(())
    }

    /// `None` if some value may differ between the threads.
    fn check_values_agree(&mut self) -> Option<()> {
        let mut seen = FxHashSet::default();
        while let Some(value) = self.open.pop() {
            let register = match value {
                Value::Special(special) if !self.is_special_same_in_group(special) => return None,
                Value::Register(register) | Value::Not(register) => register,
                _ => continue,
            };
            if !seen.insert(register) {
                continue;
            }
            let definitions = self.analyses.definitions().writers_of(register);
            for &definition in definitions {
                self.left = self.left.checked_sub(1)?;
                let instruction = self.body.instruction(definition);
                if definitions.len() > 1 {
                    self.add_controlling_predicates(self.body.block_of(definition))?;
                }
                self.open
                    .extend(instruction.guard.map(|guard| Value::Register(guard.register)));
                match instruction.op {
                    Op::Access(access) => {
                        match (access.space, self.analyses.stored_value_read_by(definition)) {
                            (_, Some(stored)) => self.open.push(stored),
                            (Space::Param | Space::Const, None) => {
                                self.open.extend(self.body.uses(instruction));
                            }
                            _ => return None,
                        }
                    }
                    Op::Collective(..) if self.group == Group::Warp => {}
                    Op::Collective(..) | Op::Opaque | Op::CallResult(_) | Op::Call(_) | Op::ActiveMask => {
                        return None;
                    }
                    op if self.group == Group::Warp
                        && is_same_in_warp(op, self.body.uses(instruction), |value| {
                            self.is_thread_number(value)
                        }) => {}
                    _ => self.open.extend(self.body.uses(instruction)),
                }
            }
        }
        Some(())
    }

    fn is_special_same_in_group(&self, special: Special) -> bool {
        match special {
            Special::Ntid(_)
            | Special::Ctaid(_)
            | Special::Nctaid(_)
            | Special::NwarpId
            | Special::Uniform => true,
            Special::Tid(1 | 2) | Special::WarpId => self.group == Group::Warp,
            _ => false,
        }
    }

    /// True for the thread number in its block, moved and converted.
    fn is_thread_number(&self, value: Value) -> bool {
        let end = self.analyses.trace_value(value, Form::moved_number);
        end == Value::Special(Special::Tid(0))
    }
}

/// True for operations on the thread number whose result is the same in all lanes of a warp.
fn is_same_in_warp(op: Op, uses: &[Value], is_number: impl Fn(Value) -> bool) -> bool {
    use Condition as C;
    let &[number, Value::Integer(with)] = uses else {
        return false;
    };
    let shares = match op {
        Op::Binary(BinaryOp::ShrUnsigned | BinaryOp::ShrSigned, _) => with >= 5,
        Op::Compare(condition, _, Logic::None) => match condition {
            C::LessUnsigned | C::LessSigned | C::GreaterEqualUnsigned | C::GreaterEqualSigned => {
                with % WARP == 0
            }
            C::LessEqualUnsigned | C::LessEqualSigned | C::GreaterUnsigned | C::GreaterSigned => {
                with % WARP == WARP - 1
            }
            _ => false,
        },
        _ => false,
    };
    shares && is_number(number)
}
