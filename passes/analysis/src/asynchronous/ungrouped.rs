//! Waits for groups of copies that do not wait for the copies before them: these are in no group, or in groups of another kind.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AsyncGroup, AsyncOp, Asynchronous, Completion, FunctionId, MbarrierOp};

use super::flow::Flow;
use super::kernel::AsyncKernel;
use super::pending::Pending;
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::view::View;
use crate::place::Place;
use crate::shared::Shared;

/// A wait for groups that does not wait for a copy before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ungrouped {
    /// The kind of the groups.
    pub group: AsyncGroup,
    /// The copy is of another kind; if not, it is in no group.
    pub is_other_kind: bool,
}

impl AsyncAnalysis<'_, '_> {
    /// The waits for groups that do not wait for a copy before them, which is the operation and the other place of each problem.
    #[must_use]
    pub fn waits_without_groups(self) -> Vec<AsyncProblem<Ungrouped>> {
        let mut found = Vec::new();
        for kernel in self.kernels_without_unknown_code() {
            let Some(function) = kernel.sites_where(is_group_wait).next().map(|site| site.function) else {
                continue;
            };
            // Groups in functions of their own: unoptimised code.
            let counts = |op| is_grouped_copy(op) || matches!(op, AsyncOp::Commit(_) | AsyncOp::Wait { .. });
            if !kernel.has_operation(is_grouped_copy)
                || !kernel.sites_where(counts).all(|site| site.function == function)
            {
                continue;
            }
            // Any thread first, whose findings are about all.
            let views = View::distinct_threads(self.module, function);
            let of_views = views.iter().filter_map(|view| {
                Some(WaitSearch {
                    module: self.module,
                    kernel,
                    function,
                    view,
                    pending: Pending::new(view)?,
                })
            });
            let of_views: Vec<WaitSearch<'_, '_, '_>> = of_views.collect();
            for wait in kernel.sites_where(is_group_wait) {
                let mut problems = of_views
                    .iter()
                    .filter_map(|search| search.problem_of_wait(&wait.operation));
                found.extend(problems.next());
            }
        }
        found
    }
}

const fn is_group_wait(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Wait { all: false, .. })
}

const fn is_grouped_copy(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Copy(copy) if matches!(copy.completion, Completion::Group(_)))
}

fn is_copy_in_group(op: AsyncOp, group: AsyncGroup) -> bool {
    matches!(op, AsyncOp::Copy(copy) if copy.completion == Completion::Group(group))
}

struct WaitSearch<'v, 'a, 'm> {
    module: &'a Shared<'m>,
    kernel: &'a AsyncKernel,
    function: FunctionId,
    view: &'v View<'a, 'm>,
    pending: Pending<'v, 'a, 'm>,
}

impl WaitSearch<'_, '_, '_> {
    fn problem_of_wait(&self, wait: &Asynchronous) -> Option<AsyncProblem<Ungrouped>> {
        let AsyncOp::Wait { group, .. } = wait.op else {
            return None;
        };
        let is_single = self.view.is_single_thread();
        if is_single && !self.view.may_execute(wait.instruction) {
            return None;
        }
        let other = match group {
            AsyncGroup::Element => AsyncGroup::Bulk,
            AsyncGroup::Bulk => AsyncGroup::Element,
            AsyncGroup::Product => return None,
        };
        let is_other_kind = !self.kernel.has_operation(|op| is_copy_in_group(op, group));
        let of = if is_other_kind { other } else { group };
        let is_completed = if is_other_kind {
            self.kernel
                .has_operation(|op| matches!(op, AsyncOp::Wait { group, .. } if group == other))
        } else {
            self.may_group_be_made_before(wait, group)
        };
        if is_completed || self.may_be_completed_by_other_operations(of) {
            return None;
        }
        let states = self.pending.states_before(wait.instruction);
        let copies = self.pending.copies().iter();
        let mut copies = copies
            .zip(&states)
            .filter(|(copy, _)| is_copy_in_group(copy.op, of));
        if !is_other_kind && !copies.clone().all(|(_, states)| states.is_outside_groups()) {
            return None;
        }
        let certain = copies.clone().find(|(_, states)| states.is_in_flight());
        let (copy, states) = certain.or_else(|| {
            copies.find(|(_, states)| !is_other_kind && !is_single && states.may_be_incomplete())
        })?;
        if !self.module.function(self.function).is_reached(wait.instruction) {
            return None;
        }
        let chain = self
            .kernel
            .call_chain_to(self.module, (self.function, wait.instruction));
        let place = |one: &Asynchronous| {
            Place::Instruction(self.function, one.instruction, chain.unwrap_or_default().to_vec())
        };
        Some(AsyncProblem {
            place: place(wait),
            operation: copy.op,
            root: self.kernel.kernel,
            is_definite: states.is_in_flight(),
            other: Some(place(copy)),
            detail: Ungrouped { group, is_other_kind },
        })
    }

    /// True if operations other than waits for groups may complete copies of a kind.
    fn may_be_completed_by_other_operations(&self, group: AsyncGroup) -> bool {
        let tracks = |op| {
            matches!(
                op,
                AsyncOp::Mbarrier(MbarrierOp::ArriveAfterCopies { .. }) | AsyncOp::Wait { all: true, .. }
            )
        };
        group == AsyncGroup::Element && self.kernel.has_operation(tracks)
    }

    /// True if a group may be made before a wait, or after it and before another one.
    fn may_group_be_made_before(&self, wait: &Asynchronous, group: AsyncGroup) -> bool {
        let next = |block| self.view.possible_successors(block);
        let paths = Paths::new(self.view.body).along(&next);
        let is_wait = |op| matches!(op, AsyncOp::Wait { group: of, .. } if of == group);
        let is_made = |one: &&Asynchronous| {
            !self.view.is_single_thread() || self.view.possibly_executes(one.instruction)
        };
        let all = || self.view.body.asynchronous.iter().filter(is_made);
        let mut commits = all().filter(|one| one.op == AsyncOp::Commit(group)).peekable();
        // The group of the call before.
        if commits.peek().is_some()
            && Flow::new(self.module, self.kernel).may_enter_function_again(self.function)
        {
            return true;
        }
        commits.any(|commit| {
            let commit = commit.instruction;
            let mut waits = all().filter(|one| is_wait(one.op));
            paths.lead(commit, wait.instruction)
                || paths.lead(wait.instruction, commit)
                    && waits.any(|other| paths.lead(commit, other.instruction))
        })
    }
}
