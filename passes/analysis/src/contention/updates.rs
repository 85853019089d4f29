//! Lost updates: plain stores to one place in global memory by threads that nothing orders, of which each may undo what another one did.
//!
//! ```text
//! apart(s)     the thread and block numbers in the address of a store s, and those that comparisons before it fix
//! lost(s)      the numbers that the kernel reads are not all in apart(s), no atomic chooses the thread or the place, and
//!                the value of s is computed from a load of the bytes that it writes, or differs and is written only after a test of them, or
//!                it differs, and the address depends on a load of the same object, or
//!                the address has no thread number and no data in it, and the value differs among these threads
//! ```
//!
//! An address with data in it counts only if it has no thread number, and does not move on in the rounds of a loop: the elements from one
//! loaded number to another belong to one thread.

use super::contexts::{Entered, KernelLaunch, SharedObject};
use super::facts::Store;
use super::origin::{number, property};
use crate::lanes::Site;
use ptxcheck_ir::FunctionId;

/// The reason why the order of two stores matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// The value, or the decision to write it, depends on what it overwrites.
    ReadModifyWrite,
    /// The address depends on other elements of the same object.
    Chased,
    /// Threads write different values.
    Different,
}

/// The threads that may write to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Threads of one block.
    Block,
    /// Threads of different blocks, one of each.
    Blocks,
    /// Any threads of the grid.
    Grid,
}

/// A store that may undo another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostUpdate {
    /// The kernel.
    pub kernel: FunctionId,
    /// The memory.
    pub object: SharedObject,
    /// The load on which the store depends.
    pub read: Option<Site>,
    /// The store.
    pub write: Site,
    /// The reason.
    pub kind: UpdateKind,
    /// The threads.
    pub writers: Writers,
    /// The value is computed from what it overwrites.
    pub is_computed: bool,
    /// The place depends on data.
    pub is_at_data: bool,
    /// The launch of the kernel.
    pub launch: KernelLaunch,
}

/// The lost updates in a function of a kernel, in order.
pub(super) fn lost_updates<'e>(entered: &'e Entered<'_, '_>) -> impl Iterator<Item = LostUpdate> + 'e {
    let stores = entered.facts.stores.iter();
    stores.filter_map(|store| lost_update_of_store(entered, store))
}

fn lost_update_of_store(entered: &Entered<'_, '_>, store: &Store) -> Option<LostUpdate> {
    let reach = entered.reach_of_access(&store.address, &store.execution)?;
    let (kernel, address) = (entered.kernel, &reach.address);
    let apart = reach.numbers_in_address().union(reach.pins);
    let writers = match (kernel.leaves_one_thread(apart), kernel.leaves_one_block(apart)) {
        (true, true) => return None,
        (false, true) => Writers::Block,
        (true, false) => Writers::Blocks,
        (false, false) => Writers::Grid,
    };
    let is_at_data = address.has_property(property::DATA);
    let has_thread = address.numbers.intersects(number::OF_THREAD);
    if is_at_data && (has_thread || address.has_property(property::ROUNDS)) {
        return None;
    }
    let (kind, read) = match (store.read, store.chased.filter(|_| is_at_data)) {
        (Some(read), _) if store.is_computed || stored_value_may_vary(entered, store) => {
            (UpdateKind::ReadModifyWrite, Some(read))
        }
        (None, Some(chased)) if may_store_different_values(entered, store, writers) => {
            (UpdateKind::Chased, Some(chased))
        }
        (None, None) if !is_at_data && !has_thread && may_store_different_values(entered, store, writers) => {
            // The last block is the one in which something ends.
            if writers == Writers::Blocks && reach.compared.intersects(number::OF_BLOCK) {
                return None;
            }
            (UpdateKind::Different, None)
        }
        _ => return None,
    };
    Some(LostUpdate {
        kernel: kernel.id,
        object: reach.object,
        read: read.map(|read| entered.site_of(read)),
        write: entered.site_of(store.at),
        kind,
        writers,
        is_computed: store.is_computed,
        is_at_data,
        launch: kernel.launch.ignoring_numbers(apart),
    })
}

/// True if these threads may store different values.
fn may_store_different_values(entered: &Entered<'_, '_>, store: &Store, writers: Writers) -> bool {
    let value = store.value.as_ref();
    let Some(value) = value.and_then(|value| entered.resolved_origin(value)) else {
        return false;
    };
    let unknown = property::RESERVED.union(property::EXCHANGED);
    let varies = match writers {
        Writers::Block => property::VARIES_IN_BLOCK,
        Writers::Blocks => property::VARIES_IN_GRID,
        Writers::Grid => property::VARIES_IN_BLOCK.union(property::VARIES_IN_GRID),
    };
    !value.has_property(unknown) && value.variance().intersects(varies)
}

/// True if threads may store different values.
fn stored_value_may_vary(entered: &Entered<'_, '_>, store: &Store) -> bool {
    let value = store
        .value
        .as_ref()
        .and_then(|value| entered.resolved_origin(value));
    value.is_none_or(|value| !value.variance().is_empty())
}
