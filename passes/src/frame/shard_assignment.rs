//! Assigns inputs to shards by a hash of their contents, so that each machine computes its own part without communication.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::fingerprint::ContentHash;
use crate::packages::PackageMember;

/// One shard of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deal {
    /// Its number, from 1.
    pub number: u32,
    /// Number of shards.
    pub count: u32,
}

/// Most shards of a run.
const MAX_SHARDS: u32 = 10_000;

impl std::str::FromStr for Deal {
    type Err = String;

    /// Reads `2/4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let deal = text.split_once('/').and_then(|(number, count)| {
            Some(Self {
                number: number.parse().ok()?,
                count: count.parse().ok()?,
            })
        });
        deal.filter(|deal| (1..=deal.count).contains(&deal.number) && deal.count <= MAX_SHARDS)
            .ok_or_else(|| {
                format!("`{text}` is no shard: `2/4` is the second of four, and {MAX_SHARDS} are the most")
            })
    }
}

impl Deal {
    /// True if the shard has what this number is of.
    pub(crate) fn has(self, number: u64) -> bool {
        number % u64::from(self.count) + 1 == u64::from(self.number)
    }

    /// True for the first shard.
    pub(crate) const fn is_first(self) -> bool {
        self.number == 1
    }

    /// For each member of a package, true if it is of this shard. The largest is dealt first, each to the shard that has the fewest bytes
    /// of the package; the sizes and paths decide which shard begins.
    pub(crate) fn members(self, members: &[PackageMember]) -> Vec<bool> {
        let mut begin = ContentHash::default();
        for member in members {
            begin.add(member.path.as_bytes());
            begin.add(&member.size().to_le_bytes());
        }
        let begin = begin.number() % u64::from(self.count);
        let mut largest_first: Vec<usize> = (0..members.len()).collect();
        largest_first.sort_by_key(|&number| Reverse(members[number].size()));
        let mut bytes = vec![0_u64; self.count as usize];
        let mut is_ours = vec![false; members.len()];
        for number in largest_first {
            let (fewest, dealt) = bytes
                .iter()
                .zip(0_u64..)
                .min()
                .map_or((0, 0), |(&fewest, at)| (fewest, at));
            is_ours[number] = self.has(dealt + begin);
            // A member without bytes is work, too.
            bytes[usize::try_from(dealt).unwrap_or(0)] = fewest.saturating_add(members[number].size().max(1));
        }
        is_ours
    }
}
