//! Values of the flow-sensitive cells at one point of the graph.

use std::rc::Rc;

use super::super::value::ValueId;

/// Values by cell, shared until one of them changes. Few of a kernel's cells are alive at one place; the others are not in
/// it.
#[derive(Clone, Default)]
pub(super) struct State(Rc<Vec<(u32, ValueId)>>);

impl State {
    fn place(&self, cell: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(cell as u32), |(cell, _)| *cell)
    }

    /// Value of a cell; [`ValueId::NONE`] if nothing has been written.
    pub(super) fn get(&self, cell: usize) -> ValueId {
        self.place(cell).map_or(ValueId::NONE, |place| self.0[place].1)
    }

    pub(super) fn set(&mut self, cell: usize, value: ValueId) {
        match self.place(cell) {
            Ok(place) if self.0[place].1 == value => {}
            Ok(place) => Rc::make_mut(&mut self.0)[place].1 = value,
            Err(place) => Rc::make_mut(&mut self.0).insert(place, (cell as u32, value)),
        }
    }

    /// True if both share one allocation, and so are equal.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The same state restricted to these cells, which come in their order.
    pub(super) fn of(&self, cells: impl Iterator<Item = usize>) -> Self {
        let held = cells.filter_map(|cell| {
            let place = self.place(cell).ok()?;
            Some(self.0[place])
        });
        Self(Rc::new(held.collect()))
    }
}
