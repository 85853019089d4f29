//! Plain accesses beside atomics: to global memory that atomics of other threads change in the same phase.
//!
//! ```text
//! one place(p, a)   the addresses are computed in one way, or both depend on thread numbers or data, and are not those of different
//!                   fields of a record
//! apart(p, a)       both are made by one thread, or both addresses distinguish all threads
//! unordered(p, a)   a path leads from p to a, or from a to p; one without a barrier, where the block numbers are in both addresses, the
//!                   kernel waits for other blocks, or the scope of the atomic is the block
//! ```
//!
//! A plain load is left out whose value an atomic at the same place takes as an operand: a loop of `atomicCAS` begins with one.

use rustc_hash::FxHashSet;

use super::contexts::{Entered, KernelLaunch, Reach, SharedObject};
use super::facts::{Touch, TouchKind};
use super::origin::{number, property};
use crate::lanes::Site;
use crate::limits::MAX_CONTENTION_PAIRS;
use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{Body, FunctionId, InstructionId, Op, Scope};

/// A plain access to what an atomic changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainBesideAtomic {
    /// The kernel.
    pub kernel: FunctionId,
    /// The memory.
    pub object: SharedObject,
    /// The plain access.
    pub plain: Site,
    /// The atomic.
    pub atomic: Site,
    /// The plain access writes.
    pub is_store: bool,
    /// The launch of the kernel.
    pub launch: KernelLaunch,
}

/// The pairs in a function of a kernel, in order: for each plain access the first atomic.
pub(super) fn plain_accesses_beside_atomics(
    entered: &Entered<'_, '_>,
    body: &Body<'_>,
    is_global: impl Fn(SharedObject) -> bool,
) -> Vec<PlainBesideAtomic> {
    let facts = entered.facts;
    let reached = |touch: &Touch| {
        Some((
            touch.kind,
            entered.reach_of_access(&touch.address, &touch.execution)?,
        ))
    };
    let touches: Vec<(&Touch, Option<(TouchKind, Reach)>)> = facts
        .touches
        .iter()
        .map(|touch| (touch, reached(touch)))
        .collect();
    let atomics: Vec<(&Touch, &Reach)> = touches
        .iter()
        .filter_map(|(touch, reach)| match reach {
            Some((TouchKind::Atomic, reach)) => Some((*touch, reach)),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    let mut pairs = 0;
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    for (plain, reach) in &touches {
        let Some((kind @ (TouchKind::Load | TouchKind::Store), own)) = reach else {
            continue;
        };
        if !is_global(own.object) {
            continue;
        }
        for &(atomic, other) in &atomics {
            if (own.object, own.offset) != (other.object, other.offset) || pairs >= MAX_CONTENTION_PAIRS {
                continue;
            }
            pairs += 1;
            let pair = Pair {
                entered,
                body,
                plain: (plain, own),
                atomic: (atomic, other),
            };
            if !seen.contains(&plain.at) && pair.is_unordered() {
                seen.insert(plain.at);
                found.push(PlainBesideAtomic {
                    kernel: entered.kernel.id,
                    object: own.object,
                    plain: entered.site_of(plain.at),
                    atomic: entered.site_of(atomic.at),
                    is_store: *kind == TouchKind::Store,
                    launch: entered
                        .kernel
                        .launch
                        .ignoring_numbers(own.numbers_in_address().intersection(other.numbers_in_address())),
                });
            }
        }
    }
    found
}

/// A plain access and an atomic to one object.
struct Pair<'p> {
    entered: &'p Entered<'p, 'p>,
    body: &'p Body<'p>,
    plain: (&'p Touch, &'p Reach),
    atomic: (&'p Touch, &'p Reach),
}

impl Pair<'_> {
    fn is_unordered(&self) -> bool {
        self.may_be_one_place() && !self.do_threads_have_own_places() && self.has_path_without_ordering()
    }

    fn is_same_place(&self) -> bool {
        let (plain, atomic) = (self.plain.0, self.atomic.0);
        plain.place.is_some() && plain.place == atomic.place
    }

    /// True if they go to different fields of records in an array.
    fn are_different_fields(&self) -> bool {
        let fields = self.plain.0.field.zip(self.atomic.0.field);
        fields.is_some_and(|(plain, atomic)| plain.is_apart_from(atomic))
    }

    fn may_be_one_place(&self) -> bool {
        let varies = |reach: &Reach| {
            !reach.address.numbers.is_empty()
                || reach.address.has_property(property::DATA.union(property::ROUNDS))
        };
        self.is_same_place() || !self.are_different_fields() && varies(self.plain.1) && varies(self.atomic.1)
    }

    /// True if the threads that make the two accesses have places of their own, or are one thread.
    fn do_threads_have_own_places(&self) -> bool {
        let kernel = self.entered.kernel;
        let (plain, atomic) = (self.plain.1, self.atomic.1);
        let is_one = |numbers| kernel.leaves_one_thread(numbers) && kernel.leaves_one_block(numbers);
        let is_one_thread = is_one(plain.pins) && is_one(atomic.pins);
        let are_distinguished = is_one(plain.numbers_in_address().union(plain.pins))
            && is_one(atomic.numbers_in_address().union(atomic.pins));
        is_one_thread || are_distinguished
    }

    /// True if the atomic is one among the threads of a block: then threads of other blocks have other places.
    fn is_block_scoped(&self) -> bool {
        let atomic = self.body.instruction(self.atomic.0.at);
        matches!(atomic.op, Op::Access(access) if access.scope <= Scope::Cta)
    }

    /// True if a path leads from one to the other on which nothing orders them.
    fn has_path_without_ordering(&self) -> bool {
        let kernel = self.entered.kernel;
        let (plain, atomic) = (self.plain.1, self.atomic.1);
        let facts = self.entered.facts;
        let is_of_block = self.is_block_scoped()
            || facts.waits_for_others
            || kernel.leaves_one_block(plain.numbers_in_address())
                && kernel.leaves_one_block(atomic.numbers_in_address());
        let is_of_warp = plain.numbers_in_address().intersects(number::OF_THREAD)
            && atomic.numbers_in_address().intersects(number::OF_THREAD);
        let mut paths = Paths::new(self.body);
        if is_of_block && is_of_warp {
            paths = paths.without_marked(&facts.warp_waits);
        } else if is_of_block {
            paths = paths.without_marked(&facts.block_waits);
        }
        paths.lead(self.plain.0.at, self.atomic.0.at) || paths.lead(self.atomic.0.at, self.plain.0.at)
    }
}
