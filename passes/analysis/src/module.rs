//! A module with its analyses, each made when it is first asked for: what rules are given.

use std::ops::Deref;
use std::sync::OnceLock;

use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::names;
use ptxcheck_ir::Module;

use crate::collectives::{self, Site};
use crate::lanes::{self, Root};
use crate::out_of_bounds::{self, Outside};
use crate::provenance::{self, Violation};

use crate::shared::{Asked, Shared};

/// A module under analysis, with the analyses that have been asked for.
pub struct ModuleAnalyses<'a> {
    shared: Shared<'a>,
    collectives: OnceLock<Vec<Site>>,
    violations: OnceLock<Vec<Violation>>,
    lanes: OnceLock<Vec<Root>>,
    outside: OnceLock<Vec<Outside>>,
}

impl<'a> Deref for ModuleAnalyses<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}

impl<'a> ModuleAnalyses<'a> {
    /// A context in which nothing has been analysed yet, with as much time as it takes.
    #[must_use]
    pub fn new(module: &'a Module<'a>, asked: Asked) -> Self {
        Self::with_deadline(module, asked, Deadline::NEVER)
    }

    /// The same, with a time at which analyses give up.
    #[must_use]
    pub fn with_deadline(module: &'a Module<'a>, asked: Asked, deadline: &'a Deadline) -> Self {
        Self {
            shared: Shared::new(module, asked, deadline),
            collectives: OnceLock::new(),
            violations: OnceLock::new(),
            lanes: OnceLock::new(),
            outside: OnceLock::new(),
        }
    }

    /// Where lanes go, and what is wrong with the collectives and barriers they meet at, by kernel.
    pub fn lanes(&self) -> &[Root] {
        self.lanes.get_or_init(|| lanes::analyse(self, self.asked.lanes))
    }

    /// What the analyses that were made have not looked at, since it exceeds a limit, as a sentence.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        let limited = |root: &&Root| root.is_limited;
        let mut roots = self.lanes.get()?.iter().filter(limited);
        let first = names::told(self.module.function_name(roots.next()?.function));
        let others = roots.count();
        Some(match others {
            0 => format!("it is too much work to follow all lanes of `{first}`"),
            _ => format!("it is too much work to follow all lanes of `{first}` and {others} more kernels"),
        })
    }

    /// The warp collectives, in the contexts that decide their operands.
    pub fn collectives(&self) -> &[Site] {
        self.collectives.get_or_init(|| collectives::sites(self))
    }

    /// The accesses that threads make outside of objects, where the number of the thread decides the place; in the order of
    /// the input.
    pub fn outside(&self) -> &[Outside] {
        self.outside.get_or_init(|| out_of_bounds::find(self))
    }

    /// The addresses that are used for what they are not, in the order of the input.
    pub fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| provenance::violations(self))
    }
}
