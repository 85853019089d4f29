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

use rustc_hash::FxHashMap;

use super::execution::restricted;
use super::facts::{Entry, Facts, Store};
use super::origin::{Origin, Set, Target, number, property};
use crate::call_graph::CallSite;
use crate::lanes::Site;
use ptxcheck_ir::{FunctionId, SymbolId};

/// The memory that an update is lost in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedObject {
    /// A variable.
    Variable(SymbolId),
    /// The memory that the kernel parameter with this index points to.
    Parameter(u16),
}

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
    /// The place depends on data.
    pub is_at_data: bool,
}

/// A function that a kernel executes.
#[derive(Clone, Default)]
struct Context {
    /// The origins of its arguments, by parameter.
    arguments: Vec<Option<Origin>>,
    /// The numbers that its callers fix.
    pins: Set,
    /// An atomic chooses the thread that calls it.
    is_claimed: bool,
    /// The calls that lead to it, innermost first.
    callers: Vec<CallSite>,
}

/// A kernel.
pub(super) struct Kernel<'f> {
    pub id: FunctionId,
    /// The kernel and its callees, each after its callers.
    pub functions: Vec<FunctionId>,
    /// The facts about each function.
    pub facts: &'f FxHashMap<FunctionId, Facts>,
    /// The thread and block numbers that it reads.
    pub numbers: Set,
}

impl Kernel<'_> {
    /// Its lost updates, in the order of its functions.
    pub(super) fn lost_updates(&self, is_global: impl Fn(SymbolId) -> bool) -> Vec<LostUpdate> {
        let mut contexts: FxHashMap<FunctionId, Context> = FxHashMap::default();
        contexts.insert(self.id, Context::default());
        let mut found = Vec::new();
        for function in &self.functions {
            let (Some(context), Some(facts)) = (contexts.remove(function), self.facts.get(function)) else {
                continue;
            };
            let stores = facts.stores.iter();
            let lost = stores.filter_map(|store| self.lost_update((*function, &context), store));
            found.extend(lost.filter(|lost| match lost.object {
                SharedObject::Variable(symbol) => is_global(symbol),
                SharedObject::Parameter(_) => true,
            }));
            for call in &facts.calls {
                let entered = entered_context((*function, &context), call);
                let joined = match contexts.remove(&call.callee) {
                    Some(known) => joined_contexts(known, &entered),
                    None => entered,
                };
                contexts.insert(call.callee, joined);
            }
        }
        found
    }

    fn lost_update(&self, (function, context): (FunctionId, &Context), store: &Store) -> Option<LostUpdate> {
        let address = store.address.with_arguments(&context.arguments)?;
        let object = match address.target {
            Target::Variable(symbol) => SharedObject::Variable(symbol),
            Target::Parameter(number, _) => SharedObject::Parameter(number),
            Target::None | Target::Several | Target::ParameterBlock(_) => return None,
        };
        let (pins, compared, is_claimed) = restricted(&store.execution.restrictions, |origin| {
            origin.with_arguments(&context.arguments)
        });
        if is_claimed || context.is_claimed || address.is(property::RESERVED.with(property::UNCLEAR)) {
            return None;
        }
        let mut apart = address.numbers.with(pins).with(context.pins);
        if address.numbers.has_any(number::WHOLE_THREAD) {
            // The blocks may have one row, whatever the kernel reads.
            apart = apart.with(number::WHOLE_THREAD);
        }
        let writers = match (
            is_one_thread(self.numbers, apart),
            is_one_block(self.numbers, apart),
        ) {
            (true, true) => return None,
            (false, true) => Writers::Block,
            (true, false) => Writers::Blocks,
            (false, false) => Writers::Grid,
        };
        let is_at_data = address.is(property::DATA);
        let has_thread = address.numbers.has_any(number::OF_THREAD);
        if is_at_data && (has_thread || address.is(property::ROUNDS)) {
            return None;
        }
        let (kind, read) = match (store.read, store.chased.filter(|_| is_at_data)) {
            (Some(read), _) if store.is_computed || varies(context, store) => {
                (UpdateKind::ReadModifyWrite, Some(read))
            }
            (None, Some(chased)) if self.differs(context, store, writers) => {
                (UpdateKind::Chased, Some(chased))
            }
            (None, None) if !is_at_data && !has_thread && self.differs(context, store, writers) => {
                // The last block is the one in which something ends.
                if writers == Writers::Blocks && compared.has_any(number::OF_BLOCK) {
                    return None;
                }
                (UpdateKind::Different, None)
            }
            _ => return None,
        };
        let site = |instruction| Site {
            function,
            instruction,
            callers: context.callers.clone(),
        };
        Some(LostUpdate {
            kernel: self.id,
            object,
            read: read.map(site),
            write: site(store.at),
            kind,
            writers,
            is_at_data,
        })
    }

    /// True if these threads may store different values.
    fn differs(&self, context: &Context, store: &Store, writers: Writers) -> bool {
        let value = store.value.as_ref();
        let Some(value) = value.and_then(|value| value.with_arguments(&context.arguments)) else {
            return false;
        };
        let unknown = property::RESERVED.with(property::EXCHANGED);
        let varies = match writers {
            Writers::Block => property::VARIES_IN_BLOCK,
            Writers::Blocks => property::VARIES_IN_GRID,
            Writers::Grid => property::VARIES_IN_BLOCK.with(property::VARIES_IN_GRID),
        };
        !value.is(unknown) && value.variance().has_any(varies)
    }
}

/// True if threads store different values, perhaps.
fn varies(context: &Context, store: &Store) -> bool {
    let value = store.value.as_ref();
    let value = value.and_then(|value| value.with_arguments(&context.arguments));
    value.is_none_or(|value| !value.variance().is_empty())
}

/// The context of a function that a call enters.
fn entered_context((caller, context): (FunctionId, &Context), call: &Entry) -> Context {
    let (pins, _, is_claimed) = restricted(&call.execution.restrictions, |origin| {
        origin.with_arguments(&context.arguments)
    });
    let arguments = call.arguments.iter();
    let mut callers = vec![CallSite {
        caller,
        instruction: call.at,
        callee: call.callee,
    }];
    callers.extend(&context.callers);
    Context {
        arguments: arguments
            .map(|origin| origin.as_ref()?.with_arguments(&context.arguments))
            .collect(),
        pins: pins.with(context.pins),
        is_claimed: is_claimed || context.is_claimed,
        callers,
    }
}

/// The context of a function that is entered in two.
fn joined_contexts(one: Context, other: &Context) -> Context {
    let of = |context: &Context, place: usize| context.arguments.get(place).cloned().flatten();
    let count = one.arguments.len().min(other.arguments.len());
    Context {
        arguments: (0..count)
            .map(|place| Some(of(&one, place)?.joined(&of(other, place)?)))
            .collect(),
        pins: one.pins.common(other.pins),
        is_claimed: one.is_claimed && other.is_claimed,
        callers: one.callers,
    }
}

/// True if these numbers leave one thread of each block.
fn is_one_thread(read: Set, apart: Set) -> bool {
    let whole = read.common(number::WHOLE_THREAD);
    let required = if whole.is_empty() {
        read.common(number::OF_THREAD)
    } else {
        whole
    };
    apart.has(required) || apart.has(number::LOW.with(number::HIGH))
}

/// True if these numbers leave one block of the grid.
const fn is_one_block(read: Set, apart: Set) -> bool {
    apart.has(read.common(number::WHOLE_BLOCK))
}
