//! ## What it does
//!
//! Finds waits for groups of asynchronous copies that do not wait for the copies before them: no group was made of those, or they are of
//! another kind.
//!
//! ## Why is this bad?
//!
//! A copy that is not tracked by a barrier in memory is waited for in two steps. `commit_group` makes a group of all copies that the thread
//! has started since the last one, and `wait_group n` waits until at most `n` of the thread's groups are under way. Copies that are in no
//! group are not waited for, with any `n` (PTX ISA, cp.async.wait_group); and there are two independent kinds of groups:
//!
//! | copies | groups by | waits by |
//! | --- | --- | --- |
//! | `cp.async` | `cp.async.commit_group` | `cp.async.wait_group n`, `cp.async.wait_all` |
//! | bulk and tensor copies out of shared memory, bulk reductions | `cp.async.bulk.commit_group` | `cp.async.bulk.wait_group n` |
//!
//! (`cp.async.wait_all` waits for all `cp.async`, in groups or not. Copies with `mbarrier::complete_tx` are in no group: one waits at
//! the barrier.) In the machine code, a wait without a group is not an instruction at all: what follows reads memory that has not been
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
//! A finding is definite: a copy is started on every path to the wait, and no group of its kind is made on any path to the wait, or between
//! it and a later wait: by any thread, or by one that the code selects by its index and that executes none of the commits. A function that
//! may be called again waits for groups that it made in the call before. If the copy is started on some paths only, for example in a loop
//! with an unknown number of rounds, it is potential. Where copies may be tracked by an mbarrier (`cp.async.mbarrier.arrive`), where
//! functions are called in between that are not known, and where no copy is before the wait at all, it is silent: waits for empty groups
//! are usual and right.

use crate::checks::Check;
use crate::context::{ModuleContext, Report};
use crate::ir::AsyncGroup;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::sanitizer::Sanitizer;
use crate::support::asynchronous as text;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX703",
    name: "wait-without-group",
    family: Family::Async,
    summary: "a wait for groups of asynchronous copies does not wait for the copies before it",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for problem in module.asynchronous().waits_without_groups() {
        let (noun, detail) = (text::noun(problem.operation), problem.detail);
        let message = match (detail.is_other_kind, problem.is_definite) {
            (true, _) => format!("this wait is for groups of another kind than the {noun} before it"),
            (false, true) => {
                format!("this wait does not wait for the {noun} before it, which is in no group")
            }
            (false, false) => {
                format!("this wait may not wait for the {noun} before it, which is in no group")
            }
        };
        let draft = text::report_problem(problem, message, format!("the {noun}"), report);
        // What the wait leaves open is read too early.
        if detail.group == AsyncGroup::Element && !detail.is_other_kind {
            draft.seen_by(Sanitizer::Racecheck);
        }
        draft
            .in_general("waits for groups of asynchronous copies do not wait for the copies before them")
            .help(match (detail.group, detail.is_other_kind) {
                (AsyncGroup::Element, false) => "put `cp.async.commit_group` behind the copies",
                (_, false) => "put `cp.async.bulk.commit_group` behind the copies",
                (AsyncGroup::Element, true) => {
                    "commit and wait by `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group`"
                }
                (_, true) => "commit and wait by `cp.async.commit_group` and `cp.async.wait_group`",
            });
    }
}
