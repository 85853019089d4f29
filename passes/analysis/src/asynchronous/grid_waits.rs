//! Accesses to global memory before a wait for the grids that a kernel depends on.
//!
//! ```text
//! before   a path leads from the access to the wait, and none back
//! again    after the wait, memory is accessed through the same pointer, which is passed to the kernel: it is not only data that
//!          earlier grids leave alone, which may be fetched while they run
//! ```

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AccessKind, AsyncOp, InstructionId, Op, Space};

use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem};
use super::sum::AddressSum;
use super::view::View;
use crate::limits::MAX_GRID_ACCESSES;
use crate::place::Place;
use crate::value::Atom;

/// An access before the wait for the grids before, and one through the same pointer after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyAccess {
    /// The early access writes.
    pub is_write: bool,
}

/// An access through a pointer that is passed to the kernel.
struct ParamAccess {
    at: InstructionId,
    param: Atom,
    is_write: bool,
}

impl AsyncAnalysis<'_, '_> {
    /// The first access through each pointer of a kernel before its wait for other grids; the wait is the other place. None is certain: host
    /// code says whether other grids write there.
    #[must_use]
    pub fn accesses_before_grid_waits(self) -> Vec<AsyncProblem<EarlyAccess>> {
        let waits = |kernel: &&AsyncKernel| kernel.has_operation(|op| op == AsyncOp::GridWait);
        let kernels = self.kernels().iter().filter(waits);
        kernels.flat_map(|kernel| self.early_accesses(kernel)).collect()
    }

    fn early_accesses(self, kernel: &AsyncKernel) -> Vec<AsyncProblem<EarlyAccess>> {
        let (module, id) = (self.module, kernel.kernel);
        let mut waits = kernel.sites_where(|op| op == AsyncOp::GridWait);
        let (Some(wait), None) = (waits.next(), waits.next()) else {
            return Vec::new();
        };
        let Some(view) = View::any_thread(module, id).filter(|_| wait.function == id) else {
            return Vec::new();
        };
        let accesses = param_accesses(&view);
        if accesses.len() > MAX_GRID_ACCESSES {
            return Vec::new();
        }
        let (paths, at) = (Paths::new(view.body), wait.operation.instruction);
        let mut found: Vec<(Atom, AsyncProblem<EarlyAccess>)> = Vec::new();
        for early in &accesses {
            let is_again = |later: &ParamAccess| {
                later.param == early.param && paths.lead(at, later.at) && (later.is_write || !early.is_write)
            };
            if found.iter().all(|(param, _)| *param != early.param)
                && paths.lead(early.at, at)
                && !paths.lead(at, early.at)
                && accesses.iter().any(is_again)
                && module.function(id).is_reached(early.at)
            {
                found.push((early.param, problem(kernel, wait, early)));
            }
        }
        found.into_iter().map(|(_, problem)| problem).collect()
    }
}

fn problem(kernel: &AsyncKernel, wait: &AsyncSite, early: &ParamAccess) -> AsyncProblem<EarlyAccess> {
    let detail = EarlyAccess {
        is_write: early.is_write,
    };
    AsyncProblem {
        place: Place::of_instruction(kernel.kernel, early.at),
        ..AsyncProblem::of_site(kernel, wait, detail).with_other_place(wait.place(), false)
    }
}

/// The accesses of a kernel to global memory through pointers that are passed to it.
fn param_accesses(view: &View<'_, '_>) -> Vec<ParamAccess> {
    let all = view.body.iter().filter_map(|(at, instruction)| {
        let Op::Access(access) = instruction.op else {
            return None;
        };
        if !matches!(access.space, Space::Global | Space::Generic) || access.kind == AccessKind::Other {
            return None;
        }
        let param = AddressSum::of_access(view, at)?.kernel_param(view)?;
        Some(ParamAccess {
            at,
            param,
            is_write: access.kind != AccessKind::Load,
        })
    });
    all.collect()
}
