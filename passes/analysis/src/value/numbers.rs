//! A number in each lane of a warp.

use std::rc::Rc;

/// Lanes of a warp.
pub(crate) const WARP: usize = ptxcheck_ir::WARP as usize;

/// A number in each lane of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// The same in all lanes.
    Same(u64),
    /// Different ones, or not known in all lanes.
    Each(Rc<PartialNumbers>),
}

/// A number in some lanes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PartialNumbers {
    /// The lanes in which it is known.
    known: u32,
    /// By lane; 0 where it is not known.
    by: [u64; WARP],
}

impl Numbers {
    /// The numbers that a function gives; `None` if it gives none in any lane.
    pub(crate) fn from_lanes(mut number: impl FnMut(usize) -> Option<u64>) -> Option<Self> {
        let (mut known, mut by) = (0, [0; WARP]);
        for (lane, by) in by.iter_mut().enumerate() {
            if let Some(number) = number(lane) {
                *by = number;
                known |= 1 << lane;
            }
        }
        if known == u32::MAX && by.iter().all(|one| *one == by[0]) {
            return Some(Self::Same(by[0]));
        }
        (known != 0).then(|| Self::Each(Rc::new(PartialNumbers { known, by })))
    }

    /// The results of a function of several numbers, lane by lane, where all are known; `None` if there is no result in any
    /// lane. At most [`MAX_OPERANDS`].
    pub(crate) fn combined_by_lane(all: &[&Self], combine: impl Fn(&[u64]) -> Option<u64>) -> Option<Self> {
        let mut values = [0; MAX_OPERANDS];
        let values = values.get_mut(..all.len())?;
        let mut are_same = true;
        for (value, numbers) in values.iter_mut().zip(all) {
            match numbers {
                Self::Same(number) => *value = *number,
                Self::Each(_) => are_same = false,
            }
        }
        if are_same {
            return combine(values).map(Self::Same);
        }
        Self::from_lanes(|lane| {
            for (value, numbers) in values.iter_mut().zip(all) {
                if let Self::Each(each) = numbers {
                    *value = each.number_in_lane(lane)?;
                }
            }
            combine(values)
        })
    }

    /// The number in a lane, if it is known.
    pub(crate) fn number_in_lane(&self, lane: usize) -> Option<u64> {
        match self {
            Self::Same(number) => Some(*number),
            Self::Each(each) => each.number_in_lane(lane),
        }
    }

    /// The number that all lanes have in common.
    pub(crate) const fn uniform_number(&self) -> Option<u64> {
        match self {
            Self::Same(number) => Some(*number),
            Self::Each(_) => None,
        }
    }

    /// The numbers of all lanes, if all are known.
    pub(crate) fn number_in_each_lane(&self) -> Option<[u64; WARP]> {
        match self {
            Self::Same(number) => Some([*number; WARP]),
            Self::Each(each) => (each.known == u32::MAX).then_some(each.by),
        }
    }
}

impl PartialNumbers {
    const fn number_in_lane(&self, lane: usize) -> Option<u64> {
        if self.known >> lane & 1 == 1 {
            Some(self.by[lane])
        } else {
            None
        }
    }
}

/// Most operands of an operation that is evaluated.
pub(crate) const MAX_OPERANDS: usize = 8;
