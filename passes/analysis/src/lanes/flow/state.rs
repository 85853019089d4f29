//! Values of the flow-sensitive cells at one point of the graph.

use std::rc::Rc;

use super::super::value::ValueId;

/// Values by cell, shared until one of them changes. Few of a kernel's cells are alive at one point; dead cells are not in
/// the state.
#[derive(Clone, Default)]
pub(super) struct State(Rc<Vec<(u32, ValueId)>>);

impl State {
    fn position_of_cell(&self, cell: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(cell as u32), |(cell, _)| *cell)
    }

    /// Value of a cell; [`ValueId::NONE`] if nothing has been written.
    pub(super) fn get(&self, cell: usize) -> ValueId {
        self.position_of_cell(cell)
            .map_or(ValueId::NONE, |place| self.0[place].1)
    }

    pub(super) fn set(&mut self, cell: usize, value: ValueId) {
        match self.position_of_cell(cell) {
            Ok(place) if self.0[place].1 == value => {}
            Ok(place) => Rc::make_mut(&mut self.0)[place].1 = value,
            Err(place) => Rc::make_mut(&mut self.0).insert(place, (cell as u32, value)),
        }
    }

    /// True if both share one allocation, and so are equal.
    pub(super) fn shares_allocation(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The values of the cells that are among `cells`, in their order.
    pub(super) fn values_of(&self, cells: impl Fn(usize) -> bool) -> impl Iterator<Item = (u32, ValueId)> {
        let held = self.0.iter().copied();
        held.filter(move |(cell, _)| cells(*cell as usize))
    }

    /// The same state restricted to these cells.
    pub(super) fn restricted_to(&self, cells: impl Fn(usize) -> bool) -> Self {
        Self(Rc::new(self.values_of(cells).collect()))
    }

    /// True if both hold the same values in these cells.
    pub(super) fn agrees_on_cells(&self, other: &Self, cells: impl Fn(usize) -> bool + Copy) -> bool {
        self.shares_allocation(other) || self.values_of(cells).eq(other.values_of(cells))
    }

    /// Calls `visit` for each of these cells that has a value in `other`, with that value and the value here.
    pub(super) fn visit_values_in_both(
        &self,
        other: &Self,
        cells: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, ValueId, ValueId),
    ) {
        let mut own = self.0.iter().peekable();
        for (cell, theirs) in other.values_of(cells) {
            while own.next_if(|(earlier, _)| *earlier < cell).is_some() {}
            let held = own.next_if(|(same, _)| *same == cell);
            visit(
                cell as usize,
                held.map_or(ValueId::NONE, |(_, value)| *value),
                theirs,
            );
        }
    }
}
