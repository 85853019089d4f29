//! Kernels that load alike, for all reports.

use std::collections::BTreeMap;

use ptxcheck_passes::forecast::{Cell, InputForecast, KernelForecast, State};

/// Kernels that load alike.
pub(crate) type AlikeKernels<'f, 'a> = (Vec<Shown>, Vec<&'f KernelForecast<'a>>);

/// The kernels by their rows: those that most have first.
pub(crate) fn grouped<'f, 'a>(forecast: &'f InputForecast<'a>) -> Vec<AlikeKernels<'f, 'a>> {
    let mut groups: BTreeMap<Vec<Shown>, Vec<&KernelForecast<'_>>> = BTreeMap::new();
    for kernel in &forecast.kernels {
        let cells = kernel.cells.iter();
        let row = cells.map(|cell| Shown::of(cell, kernel.has_body)).collect();
        groups.entry(row).or_default().push(kernel);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, kernels)| std::cmp::Reverse(kernels.len()));
    groups
}

/// The part of a cell that a reader wants to see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shown {
    pub(crate) state: State,
    /// A stub where another image has a body.
    pub(crate) stub: Option<&'static str>,
    is_by_library: bool,
}

impl Shown {
    fn of(cell: &Cell, has_body: bool) -> Self {
        Self {
            state: cell.state,
            stub: cell.stub.filter(|_| has_body).map(|stub| stub.as_str()),
            is_by_library: cell.is_by_library,
        }
    }

    /// `exact`, `older trapping stub`, `none (chosen by the library)`.
    pub(crate) fn describe(self) -> String {
        let mut text = match self.stub {
            Some(stub) => format!("{} {stub} stub", self.state.as_str()),
            None => self.state.as_str().to_owned(),
        };
        if self.is_by_library {
            text.push_str(" (chosen by the library)");
        }
        text
    }
}
