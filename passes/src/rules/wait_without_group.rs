//! ## What it does
//!
//! Finds waits for groups of asynchronous copies that do not wait for the copies before them: no group was made of those, or they are of
//! another kind.
//!
//! ## Why is this bad?
//!
//! A copy that is not tracked by a barrier in memory is waited for in two steps. `commit_group` makes a group of all copies that the thread
//! has started since the last one, and `wait_group n` waits until at most `n` of the thread's groups are under way. Copies that are in no
//! group are not waited for, whatever `n` is (PTX ISA, cp.async.wait_group); and there are two kinds of groups that know nothing of each
//! other:
//!
//! | copies | groups by | waits by |
//! | --- | --- | --- |
//! | `cp.async` | `cp.async.commit_group` | `cp.async.wait_group n`, `cp.async.wait_all` |
//! | bulk and tensor copies out of shared memory, bulk reductions | `cp.async.bulk.commit_group` | `cp.async.bulk.wait_group n` |
//!
//! (`cp.async.wait_all` waits for all `cp.async`, in groups or not. Copies with `mbarrier::complete_tx` are in no group: one waits at
//! the barrier.) In the machine code, a wait without a group is no instruction at all: what follows reads memory that has not been
//! written.
//!
//! ## Example
//!
//! ```cuda
//! __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], sizeof(int));
//! __pipeline_wait_prior(0);                       // no commit: waits for nothing
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], sizeof(int));
//! __pipeline_commit();
//! __pipeline_wait_prior(0);
//! ```
//!
//! A generator of kernels that forgot it: [csarofeen/pytorch#2457](https://github.com/csarofeen/pytorch/pull/2457).
//!
//! ## Limits
//!
//! A finding is definite: a copy is started on every way to the wait, and no group of its kind is made on any way to the wait, or behind it
//! and before another wait. A function that may be called again waits for groups that it made in the call before.
//! Where the copy is started on some ways only, in a loop of unknown rounds for example, it is potential. Where copies may be tracked by an mbarrier (`cp.async.mbarrier.arrive`), where functions are called in between that are not
//! known, and where no copy is before the wait at all, it is silent: waits for empty groups are usual and right.

use crate::analysis::asynchronous::{AsyncKernel, AsyncSite, Flow, Pending, View, leads};
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{AsyncGroup, AsyncOp, Asynchronous, Body, Completion, FunctionId, InstructionId, MbarrierOp};
use crate::rule::{Check, Family, Level, Rule};
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX703",
    name: "wait-without-group",
    aliases: &[],
    guidelines: &[],
    family: Family::Async,
    summary: "a wait for groups of asynchronous copies does not wait for the copies before it",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Module(check),
};

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for kernel in module.asynchronous() {
        let waits = |op| matches!(op, AsyncOp::Wait { all: false, .. });
        if kernel.is_open || !kernel.any(waits) || !kernel.any(is_in_groups) {
            continue;
        }
        // Groups in functions of their own: unoptimised code.
        let function = kernel.first(waits).map(|site| site.function);
        let counts = |site: &&AsyncSite| {
            let op = site.operation.op;
            is_in_groups(op) || matches!(op, AsyncOp::Commit(_) | AsyncOp::Wait { .. })
        };
        let mut counting = kernel.operations.iter().filter(counts);
        let Some(function) = function.filter(|&function| counting.all(|site| site.function == function))
        else {
            continue;
        };
        let Some(body) = &module.module.function(function).body else {
            continue;
        };
        let Some(view) = View::any(module, function) else {
            continue;
        };
        if let Some(pending) = Pending::new(&view) {
            let search = Search {
                module,
                kernel,
                function,
                body,
                pending,
            };
            for site in kernel.operations.iter().filter(|site| waits(site.operation.op)) {
                search.wait(&site.operation, report);
            }
        }
    }
}

const fn is_in_groups(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Copy(copy) if matches!(copy.completion, Completion::Group(_)))
}

fn is_of(op: AsyncOp, group: AsyncGroup) -> bool {
    matches!(op, AsyncOp::Copy(copy) if copy.completion == Completion::Group(group))
}

struct Search<'v, 'a, 'm> {
    module: &'a ModuleContext<'m>,
    kernel: &'a AsyncKernel,
    function: FunctionId,
    body: &'a Body<'m>,
    pending: Pending<'v, 'a, 'm>,
}

impl Search<'_, '_, '_> {
    fn wait(&self, wait: &Asynchronous, report: &mut Report<'_>) {
        let AsyncOp::Wait { group, .. } = wait.op else {
            return;
        };
        let other = match group {
            AsyncGroup::Element => AsyncGroup::Bulk,
            AsyncGroup::Bulk => AsyncGroup::Element,
            AsyncGroup::Product => return,
        };
        let states = self.pending.before(wait.instruction);
        let copies = || {
            self.pending
                .copies()
                .iter()
                .map(|copy| &copy.operation)
                .zip(&states)
        };
        let (copy, is_other) = if self.kernel.any(|op| is_of(op, group)) {
            if self.may_be_tracked(group) || self.may_be_grouped(wait, group) {
                return;
            }
            let mut own = copies().filter(|(copy, _)| is_of(copy.op, group));
            if !own.clone().all(|(_, states)| states.is_in_no_group()) {
                return;
            }
            (
                own.clone()
                    .find(|(_, states)| states.is_under_way())
                    .or_else(|| own.find(|(_, states)| states.may_be_open())),
                false,
            )
        } else {
            if self.may_be_tracked(other) || self.waits_for(other) {
                return;
            }
            let mut others = copies().filter(|(copy, _)| is_of(copy.op, other));
            (others.find(|(_, states)| states.is_under_way()), true)
        };
        let Some((copy, states)) = copy else { return };
        if self.module.function(self.function).is_reached(wait.instruction) {
            self.one(wait, copy, (is_other, states.is_under_way()), report);
        }
    }

    /// True if something but waits for groups may complete copies of a kind.
    fn may_be_tracked(&self, group: AsyncGroup) -> bool {
        group == AsyncGroup::Element
            && self.kernel.any(|op| {
                matches!(
                    op,
                    AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. }) | AsyncOp::Wait { all: true, .. }
                )
            })
    }

    fn waits_for(&self, other: AsyncGroup) -> bool {
        self.kernel
            .any(|op| matches!(op, AsyncOp::Wait { group, .. } if group == other))
    }

    /// True if a group may be made before a wait, or behind it and before another one.
    fn may_be_grouped(&self, wait: &Asynchronous, group: AsyncGroup) -> bool {
        let all = || self.body.asynchronous.iter();
        let leads = |from: InstructionId, to: InstructionId| leads(self.body, from, to, from);
        let is_wait = |op| matches!(op, AsyncOp::Wait { group: of, .. } if of == group);
        let mut commits = all().filter(|one| one.op == AsyncOp::Commit(group));
        // The group of the call before.
        if commits.clone().next().is_some() && Flow::new(self.module, self.kernel).enters_again(self.function)
        {
            return true;
        }
        commits.any(|commit| {
            let commit = commit.instruction;
            let mut waits = all().filter(|one| is_wait(one.op));
            leads(commit, wait.instruction)
                || leads(wait.instruction, commit) && waits.any(|other| leads(commit, other.instruction))
        })
    }

    fn one(
        &self,
        wait: &Asynchronous,
        copy: &Asynchronous,
        (is_other, is_certain): (bool, bool),
        report: &mut Report<'_>,
    ) {
        let chain = self.kernel.chain(self.module, (self.function, wait.instruction));
        let callers = chain.unwrap_or_default().to_vec();
        let place = |one: &Asynchronous| Place::Instruction(self.function, one.instruction, callers.clone());
        let noun = text::noun(copy.op);
        let message = match (is_other, is_certain) {
            (true, _) => format!("this wait is for groups of another kind than the {noun} before it"),
            (false, true) => {
                format!("this wait does not wait for the {noun} before it, which is in no group")
            }
            (false, false) => {
                format!("this wait may not wait for the {noun} before it, which is in no group")
            }
        };
        let draft = if is_certain {
            report.definite(place(wait), message)
        } else {
            report.potential(place(wait), message)
        };
        draft.in_general("waits for groups of asynchronous copies do not wait for the copies before them");
        draft.related(place(copy), format!("the {noun}"));
        draft.help(match (wait.op, is_other) {
            (
                AsyncOp::Wait {
                    group: AsyncGroup::Element,
                    ..
                },
                false,
            ) => "put `cp.async.commit_group` behind the copies",
            (_, false) => "put `cp.async.bulk.commit_group` behind the copies",
            (
                AsyncOp::Wait {
                    group: AsyncGroup::Element,
                    ..
                },
                true,
            ) => "commit and wait by `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group`",
            (_, true) => "commit and wait by `cp.async.commit_group` and `cp.async.wait_group`",
        });
    }
}
