//! Races of a run: accesses of threads of different warps to common bytes that no clock orders.

use std::collections::BTreeSet;

use super::machine::{Access, Accessed, Code, Replaced, Run, WARP, run};
use crate::random::Random;

/// Most accesses of one pair whose values are tried.
const TRIED: usize = 2;

/// True if one of two accesses certainly comes before the other.
fn are_ordered(run: &Run, one: &Accessed, other: &Accessed) -> bool {
    let knows = |later: &Accessed, earlier: &Accessed| {
        let warp = earlier.thread / WARP;
        run.clocks[later.clock][warp] > run.clocks[earlier.clock][warp]
    };
    one.epoch != other.epoch || knows(one, other) || knows(other, one)
}

/// True if two accesses are a race between warps.
fn is_race(run: &Run, one: &Accessed, other: &Accessed) -> bool {
    one.thread / WARP != other.thread / WARP
        && one.array == other.array
        && one.bytes.start < other.bytes.end
        && other.bytes.start < one.bytes.end
        && (one.kind != Access::Read || other.kind != Access::Read)
        && !(one.is_strong && other.is_strong)
        && !are_ordered(run, one, other)
}

/// True if two writes leave different values in a common byte.
fn differ(one: &Accessed, other: &Accessed) -> bool {
    let byte = |access: &Accessed, at: u32| access.value >> (8 * (at - access.bytes.start)) & 0xff;
    let common = one.bytes.start.max(other.bytes.start)..one.bytes.end.min(other.bytes.end);
    common.into_iter().any(|at| byte(one, at) != byte(other, at))
}

/// True if a thread would have another effect if it read something else.
fn is_used(code: &Code<'_>, known: &Run, read: &Accessed) -> bool {
    let mut random = Random::new(known.world.seed ^ read.number as u64);
    let old = read.value;
    let mut values = vec![
        old ^ 1,
        0,
        u64::MAX,
        old.wrapping_add(1),
        old ^ 0x8000_0080_8000_8080,
        old ^ 2,
    ];
    values.extend([1, 2, 3, 4, 7, 8, 9, 40, 41]);
    values.extend((0..4).map(|_| random.next()));
    let first = read.thread - read.thread % WARP;
    // Lanes may hand the value on to each other.
    let lanes = first..(first + WARP).min(known.effects.len());
    values.into_iter().filter(|value| *value != old).any(|value| {
        let replaced = Replaced {
            thread: read.thread,
            number: read.number,
            value,
        };
        match run(code, known.world, Some(replaced)) {
            Ok(new) => new.effects[lanes.clone()] != known.effects[lanes.clone()],
            // It goes elsewhere with the value.
            Err(_) => true,
        }
    })
}

/// True if it matters in which order two accesses come.
fn matters(code: &Code<'_>, run: &Run, one: &Accessed, other: &Accessed) -> bool {
    match (one.kind, other.kind) {
        (Access::Read, _) => is_used(code, run, one),
        (_, Access::Read) => is_used(code, run, other),
        _ => differ(one, other),
    }
}

/// What a run shows of a claim about two sites and two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Race,
    /// The threads race, and it does not matter.
    DoesNotMatter,
    /// The sites race, in other threads.
    OtherThreads,
    Nothing,
}

/// What a run shows of two sites, and a thread at each.
pub fn shown(code: &Code<'_>, run: &Run, sites: (usize, usize), threads: (usize, usize)) -> Shown {
    let at = |site: usize| run.accesses.iter().filter(move |access| access.site == site);
    let mut races = at(sites.0)
        .filter(|access| access.thread == threads.0)
        .flat_map(|one| {
            let others = at(sites.1).filter(|access| access.thread == threads.1);
            others.map(move |other| (one, other))
        })
        .filter(|(one, other)| is_race(run, one, other))
        .peekable();
    if races.peek().is_some() {
        let mut known = BTreeSet::new();
        let mut races = races.filter(|(one, other)| {
            // Each read once.
            one.kind != Access::Read && other.kind != Access::Read || known.insert((one.number, other.number))
        });
        return match races.any(|(one, other)| matters(code, run, one, other)) {
            true => Shown::Race,
            false => Shown::DoesNotMatter,
        };
    }
    let is_elsewhere = at(sites.0).any(|one| at(sites.1).any(|other| is_race(run, one, other)));
    if is_elsewhere {
        Shown::OtherThreads
    } else {
        Shown::Nothing
    }
}

/// What tells accesses apart, where only races between warps count: the array and the word, the site and its first byte, the warp, the epoch, the clock, and
/// the value of a write.
type Alike = ((usize, u32), (usize, u32), usize, u32, usize, u64);

/// The pairs of sites that race in a run, the lower one first. `matter`: only those whose order matters.
pub fn pairs(code: &Code<'_>, run: &Run, matter: bool) -> BTreeSet<(usize, usize)> {
    let mut all: Vec<(Alike, usize)> = Vec::new();
    for (number, access) in run.accesses.iter().enumerate() {
        for word in access.bytes.start / 4..=(access.bytes.end - 1) / 4 {
            let value = match access.kind {
                Access::Write => access.value,
                _ => 0,
            };
            let (warp, place) = (access.thread / WARP, (access.array, word));
            let site = (access.site, access.bytes.start);
            let alike = (place, site, warp, access.epoch, access.clock, value);
            all.push((alike, number));
        }
    }
    all.sort_unstable();
    all.dedup_by_key(|(alike, _)| *alike);
    // Of many values that are written alike, two show that values differ.
    let (mut last, mut alike) = (None, 0);
    all.retain(|((place, site, warp, epoch, clock, _), _)| {
        let known = last.replace((*place, *site, *warp, *epoch, *clock));
        let is_same = known == last;
        alike = if is_same { alike + 1 } else { 0 };
        alike < 2
    });
    let mut found: BTreeSet<(usize, usize)> = BTreeSet::new();
    let count = code.sites.len();
    // By pair: how often its values have been tried.
    let mut tried = vec![0; count * count];
    for all in all.chunk_by(|(one, _), (other, _)| one.0 == other.0) {
        let all: Vec<&Accessed> = all.iter().map(|(_, number)| &run.accesses[*number]).collect();
        if all.iter().all(|access| access.kind == Access::Read) {
            continue;
        }
        for (number, one) in all.iter().enumerate() {
            for other in &all[number..] {
                let pair = (one.site.min(other.site), one.site.max(other.site));
                let tried = &mut tried[pair.0 * count + pair.1];
                if *tried > TRIED || !is_race(run, one, other) {
                    continue;
                }
                let is_of_writes = one.kind != Access::Read && other.kind != Access::Read;
                let is_found = match (matter, is_of_writes) {
                    (_, true) => differ(one, other),
                    (false, false) => true,
                    (true, false) => {
                        *tried += 1;
                        *tried <= TRIED && matters(code, run, one, other)
                    }
                };
                if is_found {
                    *tried = TRIED + 1;
                    found.insert(pair);
                }
            }
        }
    }
    found
}
