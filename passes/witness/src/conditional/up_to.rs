//! The steps of a run up to a pair of accesses, or up to where threads wait for ever.

use super::copy_failure::doing;
use super::exchange_runs::{Among, Made, Wanted, is_first_write};
use super::replay::add_moment;
use super::witness::{Witness, WitnessRun};
use crate::analysis::lanes::{Object, PairKind, Site};
use crate::ir::WARP;
use ptxcheck_machine::{At, Doing, Event, Exchanges, Observer, Trace, View};

/// A run up to a pair.
pub(super) struct UpTo<'p> {
    made: &'p Made,
    wanted: Wanted,
    among: Among,
    trace: Trace,
    exchanges: Exchanges,
    witness: &'p Witness,
    is_there: bool,
    pairs: usize,
}

impl<'p> UpTo<'p> {
    pub(super) fn new(among: Among, witness: &'p Witness, made: &'p Made) -> Self {
        let of = |write: &Site, other: &Site, kind| Wanted {
            object: Object::Part(0),
            write: write.clone(),
            other: other.clone(),
            kind,
            above: 0,
            contended: None,
        };
        let warps_of = |(writer, other): (u32, u32)| (writer / WARP, other / WARP);
        let (wanted, warps) = match made {
            Made::Lanes(warp, pair) => (of(&pair.write, &pair.other, pair.kind), vec![(0, *warp)]),
            Made::Threads(pair) => {
                let (writer, other) = warps_of(pair.threads);
                let wanted = of(&pair.write, &pair.other, pair.kind);
                (wanted, vec![(0, writer), (0, other)])
            }
            Made::Contended(pair, wanted) => {
                let (writer, other) = warps_of(pair.threads);
                let number = |block| witness.number_in_grid(block);
                let warps = vec![(number(pair.blocks.0), writer), (number(pair.blocks.1), other)];
                (wanted.clone(), warps)
            }
            Made::Leaving(access) => {
                let wanted = of(&access.site, &access.site, PairKind::TwoWrites);
                (wanted, vec![(0, access.thread / WARP)])
            }
            Made::Hanging(hang) => {
                let wanted = of(&hang.site, &hang.site, PairKind::TwoWrites);
                (
                    wanted,
                    hang.shown_warps().into_iter().map(|warp| (0, warp)).collect(),
                )
            }
            Made::Failing(failure) => {
                let wanted = of(&failure.site, &failure.site, PairKind::TwoWrites);
                (wanted, vec![(0, failure.thread / WARP)])
            }
        };
        Self {
            made,
            among,
            trace: Trace::of_warps(&warps),
            exchanges: among.exchanges([&wanted.write, &wanted.other]),
            wanted,
            witness,
            is_there: false,
            pairs: 0,
        }
    }

    /// True if the run has made the pair.
    fn has_made(&self) -> bool {
        let mut found = self.exchanges.found().iter();
        found.any(
            |exchange| match (self.made, is_first_write(exchange, &self.wanted)) {
                (Made::Lanes(warp, _), Some(_)) => !exchange.is_across_warps() && exchange.warp == *warp,
                (Made::Threads(pair), Some(is_first_write)) => {
                    let (writer, other) = pair.threads;
                    let threads = if is_first_write {
                        (writer, other)
                    } else {
                        (other, writer)
                    };
                    let mut examples = exchange.examples.iter();
                    exchange.is_across_warps() && examples.any(|example| example.threads == threads)
                }
                (Made::Contended(pair, _), Some(is_first_write)) => {
                    let blocks = (
                        self.witness.number_in_grid(pair.blocks.0),
                        self.witness.number_in_grid(pair.blocks.1),
                    );
                    let swapped = |(first, second)| {
                        if is_first_write {
                            (first, second)
                        } else {
                            (second, first)
                        }
                    };
                    let own = (swapped(pair.threads), swapped(blocks));
                    let mut examples = exchange.examples.iter();
                    examples.any(|example| (example.threads, example.blocks) == own)
                }
                (Made::Leaving(_) | Made::Hanging(_) | Made::Failing(_), _) | (_, None) => false,
            },
        )
    }

    /// True for the access that leaves its array.
    fn is_leaving(&self, at: &At<'_>, event: &Event<'_>) -> bool {
        matches!((self.made, event), (Made::Leaving(access), Event::Access(..))
            if (access.site.function, access.site.instruction) == (at.function, at.instruction)
                && access.thread as usize == at.thread)
    }

    /// True where the thread fails about a copy.
    fn is_failing(&self, at: &At<'_>, event: &Event<'_>) -> bool {
        matches!((self.made, event), (Made::Failing(failure), Event::AsyncWrong(wrong))
            if *wrong == failure.wrong
                && (failure.site.function, failure.site.instruction) == (at.function, at.instruction)
                && failure.thread as usize == at.thread)
    }

    /// The steps of the warps up to the pair, and its two accesses, the one that the code has first first.
    pub(super) fn steps(&self) -> WitnessRun {
        let mut run = WitnessRun {
            left_out: self.trace.left_out(),
            ..WitnessRun::default()
        };
        let is_of_block = matches!(
            self.among,
            Among::Warps | Among::Grid | Among::Protocol | Among::Copies
        );
        let has_blocks = self.among == Among::Grid && self.witness.grid != [1; 3];
        for moment in self.trace.moments() {
            let block = has_blocks.then(|| self.witness.number_in_grid(moment.block));
            add_moment(&mut run, moment, is_of_block, block);
        }
        let lane = |block: Option<u32>, thread: u32| ((block, Some(thread / WARP)), 1 << (thread % WARP));
        if let Made::Leaving(access) = self.made {
            let doing = if access.is_write {
                Doing::Writes
            } else {
                Doing::Reads
            };
            let (_, lanes) = lane(None, access.thread);
            run.add(access.site.clone(), doing, (None, None), lanes);
            run.shorten();
            return run;
        }
        if let Made::Failing(failure) = self.made {
            let ((_, warp), lanes) = lane(None, failure.thread);
            run.add(failure.site.clone(), doing(failure.wrong), (None, warp), lanes);
            run.shorten();
            return run;
        }
        if let Made::Hanging(hang) = self.made {
            for stuck in &hang.waits {
                run.add(
                    stuck.site.clone(),
                    Doing::LetGo,
                    (None, Some(stuck.warp)),
                    stuck.lanes,
                );
            }
            run.shorten();
            return run;
        }
        let (writers, others) = match self.made {
            Made::Lanes(_, pair) => (((None, None), pair.writers), ((None, None), pair.others)),
            Made::Threads(pair) => (lane(None, pair.threads.0), lane(None, pair.threads.1)),
            Made::Contended(pair, _) => {
                let block = |number| has_blocks.then_some(number);
                let (first, second) = pair.blocks;
                (
                    lane(block(first), pair.threads.0),
                    lane(block(second), pair.threads.1),
                )
            }
            // They are shown above.
            Made::Leaving(_) | Made::Hanging(_) | Made::Failing(_) => return run,
        };
        let write = (&self.wanted.write, Doing::Writes, writers);
        let is_store = self.wanted.kind == PairKind::TwoWrites;
        let doing = if is_store { Doing::Writes } else { Doing::Reads };
        let other = (&self.wanted.other, doing, others);
        let both = match self.wanted.kind {
            PairKind::ReadAfterWrite | PairKind::TwoWrites => [write, other],
            PairKind::WriteAfterRead => [other, write],
        };
        for (site, doing, (warp, lanes)) in both {
            run.add(site.clone(), doing, warp, lanes);
        }
        run.shorten();
        run
    }
}

impl Observer for UpTo<'_> {
    fn on(&mut self, at: &At<'_>, event: &Event<'_>, view: &View<'_>) {
        self.exchanges.on(at, event, view);
        if self.is_there {
            return;
        }
        let pairs = self
            .exchanges
            .found()
            .iter()
            .map(|one| 1 + one.examples.len())
            .sum();
        if pairs > self.pairs {
            self.pairs = pairs;
            self.is_there = self.has_made();
        }
        self.is_there |= self.is_leaving(at, event) || self.is_failing(at, event);
        self.trace.on(at, event, view);
    }
}
