//! Holds the exchanges that the analysis finds (PTX415) against those that the machine sees.
//!
//! * In each run in which a lane of warp 0 reaches the place of a definite pair, the machine sees the pair: with the same lanes,
//!   where a kernel says how its threads lie in warps.
//! * Of the pairs that it sees in warp 0 in all runs that come there, the analysis finds a part: how large it is, is counted.

use std::collections::BTreeMap;
use std::fmt;

use ptxcheck_machine::{ExchangeKind, Exchanges, Kernel, Schedule, Site, Wrong};
use ptxcheck_passes::analysis::lanes::{Exchange, PairKind};
use ptxcheck_passes::ir::{FunctionId, Module};

use super::generator;
use super::world::{self, Inputs};

/// Runs of a kernel. What is in no order, is so in all schedules: each run has another one.
const RUNS: u64 = 6;

/// In a hundred: certain pairs, and kernels with a certain pair, that the analysis finds. Of 33,226 kernels, it finds 59 and 76.
const LEAST_FOUND: u64 = 50;

/// Targets from here on have lanes that advance on their own.
const INDEPENDENT: u32 = 70;

#[derive(Default)]
pub struct Count {
    /// Kernels with shared memory, and those of them with pairs that the analysis finds.
    kernels: u64,
    found_in: u64,
    /// Pairs that the analysis finds, and runs that have shown one.
    pairs: u64,
    shown: u64,
    /// Pairs that the machine sees in all runs that come there, and those of them that the analysis finds.
    certain: u64,
    found: u64,
    /// Kernels with such a pair, and those of them in which the analysis finds one.
    certain_in: u64,
    found_in_certain: u64,
}

impl Count {
    pub const fn and(&self, other: &Self) -> Self {
        Self {
            kernels: self.kernels + other.kernels,
            found_in: self.found_in + other.found_in,
            pairs: self.pairs + other.pairs,
            shown: self.shown + other.shown,
            certain: self.certain + other.certain,
            found: self.found + other.found,
            certain_in: self.certain_in + other.certain_in,
            found_in_certain: self.found_in_certain + other.found_in_certain,
        }
    }

    /// Enough is found, of what is there and at all: a comparison of nothing would agree, too.
    pub fn check(&self) {
        assert!(
            self.found_in > self.kernels / 4 && self.shown > self.pairs,
            "{self}"
        );
        let is_enough = |found: u64, of: u64| found * 100 >= of * LEAST_FOUND;
        assert!(
            is_enough(self.found, self.certain) && is_enough(self.found_in_certain, self.certain_in),
            "{self}"
        );
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} kernels with shared memory, {} exchanges found in {} of them, shown by {} runs; of {} that are certain, {} are found, and \
             some in {} of {} kernels that have such",
            self.kernels,
            self.pairs,
            self.found_in,
            self.shown,
            self.certain,
            self.found,
            self.found_in_certain,
            self.certain_in
        )
    }
}

/// Two sites, in their order.
type Sites = (Site, Site);

fn sorted(one: Site, other: Site) -> Sites {
    if one <= other { (one, other) } else { (other, one) }
}

/// A pair, as the analysis and the machine see it.
#[derive(Debug)]
struct Claim {
    write: Site,
    other: Site,
    /// The access whose executions show that both are made.
    later: Site,
    is_two_writes: bool,
    writers: u32,
    others: u32,
}

/// The lanes of a pair in a run: those that access the first site, and those that access the second, where the first of a pair is a write.
fn lanes_of(exchanges: &Exchanges, claim: &Claim) -> (u32, u32) {
    let of_warp = exchanges.found().iter().filter(|seen| seen.warp == 0);
    let mut lanes = (0, 0);
    for seen in of_warp {
        if (seen.kind == ExchangeKind::TwoWrites) != claim.is_two_writes {
            continue;
        }
        let is_write_first = seen.kind != ExchangeKind::WriteAfterRead;
        let is_so = |is_first: bool| match is_first {
            true => seen.first == claim.write && seen.second == claim.other,
            false => seen.second == claim.write && seen.first == claim.other,
        };
        if is_so(true) && is_write_first {
            lanes.0 |= seen.first_lanes;
            lanes.1 |= seen.second_lanes;
        }
        if is_so(false) && (!is_write_first || claim.is_two_writes) {
            lanes.0 |= seen.second_lanes;
            lanes.1 |= seen.first_lanes;
        }
    }
    lanes
}

/// Holds what is found in a kernel against its runs.
pub fn check(
    made: &generator::Kernel,
    module: &Module<'_>,
    kernel: FunctionId,
    found: &[Exchange],
    seed: u64,
    count: &mut Count,
) -> Result<(), String> {
    if module.target.sm < INDEPENDENT {
        return match found {
            [] => Ok(()),
            _ => Err(format!("exchanges are found: {found:?}")),
        };
    }
    // Other kernels count for what is found alone.
    let mut others = Count::default();
    let count = match seed & generator::EXCHANGES {
        0 if found.is_empty() => return Ok(()),
        0 => &mut others,
        _ => count,
    };
    let machine = Kernel::new(module, kernel).map_err(|refused| refused.to_string())?;
    let pairs = found.iter().flat_map(|exchange| &exchange.pairs);
    let claims: Vec<Claim> = pairs
        .map(|pair| Claim {
            write: pair.write.clone(),
            other: pair.other.clone(),
            later: pair.sites_later_first()[0].clone(),
            is_two_writes: pair.kind == PairKind::TwoWrites,
            writers: pair.writers,
            others: pair.others,
        })
        .collect();
    count.kernels += 1;
    count.pairs += claims.len() as u64;
    count.found_in += u64::from(!claims.is_empty());
    // By pair, the runs that show it.
    let mut shown: BTreeMap<Sites, u64> = BTreeMap::new();
    let mut runs = Vec::new();
    for number in 0..RUNS {
        let inputs = Inputs::new(made, seed, number);
        let schedule = match number {
            0 => Schedule::First,
            1 => Schedule::Last,
            2 => Schedule::Holding(0xffff),
            3 => Schedule::Split(seed),
            4 => Schedule::Ranked(seed),
            _ => Schedule::Random(seed),
        };
        let mut exchanges = Exchanges::default();
        let run = world::observed(&machine, inputs, schedule, &mut exchanges)?;
        // Lanes that meet at two places which they have to execute together are no run of the kernel any more, either.
        let mut violated = run.violated.values().flatten();
        let is_unaligned = violated.any(|wrong| *wrong == Wrong::Unaligned);
        if run.is_cut || run.is_broken || is_unaligned || exchanges.is_cut() {
            continue;
        }
        for claim in &claims {
            if !exchanges.has_accessed(0, &claim.later) {
                continue;
            }
            let (writers, others) = lanes_of(&exchanges, claim);
            let is_missing = |claimed: u32, seen: u32| {
                if made.is_stated() {
                    claimed & !seen != 0
                } else {
                    seen == 0
                }
            };
            if is_missing(claim.writers, writers) || is_missing(claim.others, others) {
                let text = |site: &Site| {
                    let span = module.span_of(site.function, site.instruction);
                    made.text
                        .get(span.start as usize..span.end as usize)
                        .unwrap_or("?")
                };
                return Err(format!(
                    "`{}` of {:#x} and `{}` of {:#x} are definite, but the machine sees {writers:#x} and {others:#x}, with {inputs:?} \
                     in {schedule:?}",
                    text(&claim.write),
                    claim.writers,
                    text(&claim.other),
                    claim.others
                ));
            }
            count.shown += 1;
        }
        let seen = exchanges.found().iter().filter(|seen| seen.warp == 0);
        let mut seen: Vec<Sites> = seen
            .map(|seen| sorted(seen.first.clone(), seen.second.clone()))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        for sites in seen {
            *shown.entry(sites).or_default() += 1;
        }
        runs.push(exchanges);
    }
    let is_certain = |(sites, shown): &(&Sites, &u64)| {
        let comes = |exchanges: &&Exchanges| {
            exchanges.has_accessed(0, &sites.0) || exchanges.has_accessed(0, &sites.1)
        };
        runs.iter().filter(comes).count() as u64 == **shown
    };
    let certain: Vec<&Sites> = shown.iter().filter(is_certain).map(|(sites, _)| sites).collect();
    let is_found = |sites: &&Sites| {
        let mut claims = claims.iter();
        claims.any(|claim| sorted(claim.write.clone(), claim.other.clone()) == **sites)
    };
    let found = certain.iter().copied().filter(|sites| is_found(sites)).count();
    count.certain += certain.len() as u64;
    count.found += found as u64;
    count.certain_in += u64::from(!certain.is_empty());
    count.found_in_certain += u64::from(!certain.is_empty() && !claims.is_empty());
    Ok(())
}
