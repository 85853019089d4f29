//! Threads that wait for ever in a run, in the terms of the analyses.

use super::witness::Awaited;
use crate::analysis::lanes::{Lanes, Site};
use crate::ir::SymbolId;
use ptxcheck_machine::{Hang, HangKind, Stuck};

/// Most warps whose steps are shown.
const MAX_SHOWN_WARPS: usize = 2;

/// Threads that wait for ever in a run of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundHang {
    /// The operation on a barrier that the finding is about.
    pub site: Site,
    /// The warp that it is about, by its number in the block.
    pub warp: u32,
    /// The lanes of it.
    pub lanes: Lanes,
    /// What they wait for; `None` where they reach a barrier with another count than others.
    pub awaits: Option<Awaited>,
    /// The variable in shared memory that the barrier whose phase they wait for lies in, and the bytes before it.
    pub barrier: Option<(SymbolId, u64)>,
    /// The number of the barrier, the count with which they come, and that of the others.
    pub other_count: Option<(u64, u64, u64)>,
    /// All lanes that wait, sorted by warp.
    pub waits: Vec<Stuck>,
}

impl FoundHang {
    /// The first of the wanted operations at which threads of a run wait for ever, by its number. `number_of`: that of the operation at a site,
    /// if it is wanted.
    pub(super) fn new(hang: &Hang, number_of: impl Fn(&Site) -> Option<usize>) -> Option<(usize, Self)> {
        let waits = hang.waits.clone();
        match &hang.kind {
            HangKind::NobodyGoesOn => {
                let is_protocol =
                    |one: &&Stuck| matches!(one.awaits, Awaited::Count { .. } | Awaited::Phase { .. });
                let mut stuck = waits.iter().filter(is_protocol);
                let (number, first) = stuck.find_map(|one| Some((number_of(&one.site)?, one.clone())))?;
                let found = Self {
                    site: first.site,
                    warp: first.warp,
                    lanes: first.lanes,
                    awaits: Some(first.awaits),
                    barrier: None,
                    other_count: None,
                    waits,
                };
                Some((number, found))
            }
            HangKind::OtherCount {
                site,
                warp,
                lanes,
                number: barrier,
                counts,
            } => {
                let number = number_of(site)?;
                let found = Self {
                    site: site.clone(),
                    warp: *warp,
                    lanes: *lanes,
                    awaits: None,
                    barrier: None,
                    other_count: Some((*barrier, counts.0, counts.1)),
                    waits,
                };
                Some((number, found))
            }
        }
    }

    /// True if they wait at a barrier with a number, and not for a phase of one in memory.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        !matches!(self.awaits, Some(Awaited::Phase { .. }))
    }

    /// The warps whose steps are shown: the one that the finding is about, and one that waits elsewhere.
    pub(super) fn shown_warps(&self) -> Vec<u32> {
        let mut warps = vec![self.warp];
        for stuck in self.waits.iter().filter(|stuck| stuck.site != self.site) {
            if warps.len() < MAX_SHOWN_WARPS && !warps.contains(&stuck.warp) {
                warps.push(stuck.warp);
            }
        }
        warps
    }
}
