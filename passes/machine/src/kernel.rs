//! A kernel, prepared to run.

use ptxcheck_ir::params::{self, Layout as Params};
use ptxcheck_ir::{Body, FunctionId, InstructionId, Module, SymbolId};

use crate::address::Layout;
use crate::detour::Detours;
use crate::outcome::Refused;
use crate::slice::Slice;
use crate::ways::{Position, Ways};

/// A kernel, prepared to run: which of its blocks lead to which, and where the symbols of its module lie. One serves any number
/// of runs, in any number of threads.
#[derive(Debug)]
pub struct Kernel<'m> {
    pub(crate) module: Shown<'m>,
    pub(crate) function: FunctionId,
    pub(crate) ways: Ways,
    pub(crate) symbols: Layout,
    pub(crate) params: Params,
    pub(crate) detours: Detours,
    /// The part of the kernel that is executed; `None` for all of it.
    pub(crate) slice: Option<Slice>,
}

/// A module, of which nothing is printed.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'m>(pub(crate) &'m Module<'m>);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Module")
    }
}

impl<'m> Kernel<'m> {
    /// Of a module that [`ptxcheck_ir::verify`] accepts: a kernel, or a function that is run like one.
    ///
    /// # Errors
    ///
    /// [`Refused::NoBody`], [`Refused::TooLarge`].
    pub fn new(module: &'m Module<'m>, function: FunctionId) -> Result<Self, Refused> {
        let known = module.functions.get(function.index()).ok_or(Refused::NoBody)?;
        let body = known.body.as_ref().filter(|body| !body.blocks.is_empty());
        let body = body.filter(|_| !known.is_damaged).ok_or(Refused::NoBody)?;
        Ok(Self {
            module: Shown(module),
            function,
            ways: Ways::new(body)?,
            symbols: Layout::new(module),
            params: params::layout(&known.params),
            detours: Detours::default(),
            slice: None,
        })
    }

    /// The kernel without what decides neither where its threads meet nor what others see of them. Runs have the same
    /// failures, and observers do not see the rest.
    #[must_use]
    pub fn sliced(mut self) -> Self {
        if let Some(body) = self.body(self.function) {
            self.slice = Some(Slice::new(self.module.0, body, self.ways.headers()));
        }
        self
    }

    /// The part of a function that is executed; `None` for all of it.
    pub(crate) fn slice_of(&self, function: FunctionId) -> Option<&Slice> {
        self.slice.as_ref().filter(|_| function == self.function)
    }

    /// The byte offset, among all parameters, of a parameter by its number, from 0: where its first byte lies.
    #[must_use]
    pub fn parameter_offset(&self, number: u16) -> Option<u64> {
        self.params.offsets.get(usize::from(number)).copied()
    }

    /// The address of a variable in its own space.
    #[must_use]
    pub fn address_of(&self, symbol: SymbolId) -> u64 {
        self.symbols.of(symbol)
    }

    /// True if control may get from one instruction of the kernel to another, in the same round of the loops around the latter
    /// or a later one.
    #[must_use]
    pub fn may_follow(&self, from: InstructionId, to: InstructionId) -> bool {
        let Some(body) = self.body(self.function) else {
            return false;
        };
        let position = |at: InstructionId| {
            (at.index() < body.instructions.len()).then(|| Position {
                block: body.block_of(at),
                instruction: at.index(),
            })
        };
        match (position(from), position(to)) {
            (Some(from), Some(to)) => self.ways.may_follow(from, to),
            _ => false,
        }
    }

    /// The body of a function, if it has one.
    pub(crate) fn body(&self, function: FunctionId) -> Option<&'m Body<'m>> {
        self.module.0.functions.get(function.index())?.body.as_ref()
    }
}
