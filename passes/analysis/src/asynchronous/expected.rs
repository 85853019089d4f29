//! Bytes that mbarriers are set to expect, and bytes that copies transfer.

use ptxcheck_ir::paths::Paths;
use ptxcheck_ir::{AsyncOp, Completion, CopyKind, CopyWay, InstructionId, MbarrierOp, Op};

use super::kernel::{AsyncKernel, AsyncSite};
use super::problems::{AsyncAnalysis, AsyncProblem, is_initialisation};
use super::sites::BarrierPlace;
use super::sum::{ALL_BYTES, Stretch, surely_overlap};
use super::view::View;

/// The most bytes that an mbarrier counts (PTX ISA, Contents of the mbarrier object).
pub const MAX_BYTES: u64 = (1 << 20) - 1;

/// Most operations of a kernel that count bytes at one barrier, if its place is no constant.
const MAX_COMMON_OPERATIONS: usize = 32;

/// The error in the bytes that an mbarrier expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongBytes {
    /// Copies complete at it, and nothing in the kernel makes it expect bytes.
    NoneExpected,
    /// The expected bytes differ from the bytes that copies transfer.
    Unequal {
        /// Bytes that it is made to expect.
        expected: u64,
        /// Bytes that its copies transfer.
        brought: u64,
        /// The first copy, which is the other place.
        copy: AsyncOp,
        /// Bytes that the first copy transfers.
        copied: u64,
    },
    /// The bytes are more than [`MAX_BYTES`].
    TooMany(u64),
}

/// The mbarrier of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountedAt {
    /// At a constant place.
    Place(BarrierPlace),
    /// At one that all operations that count bytes compute alike: one of a ring, for example.
    Common,
}

/// An operation that counts bytes at a barrier.
struct CountingOperation<'k> {
    site: &'k AsyncSite,
    barrier: CountedAt,
    is_copy: bool,
    bytes: u64,
}

impl AsyncAnalysis<'_, '_> {
    /// The copies at mbarriers that do not expect them, and the operations that make mbarriers expect a wrong number of
    /// bytes.
    #[must_use]
    pub fn wrong_bytes(self) -> Vec<AsyncProblem<WrongBytes>> {
        let mut found = Vec::new();
        for kernel in self.kernels_without_unknown_code() {
            // A barrier without an initialisation is another problem. If no thread waits at it, the bytes make no
            // difference.
            let waits = |op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. }));
            if !kernel.has_operation(is_initialisation) || !kernel.has_operation(waits) {
                continue;
            }
            if kernel.has_operation(counts_bytes) {
                self.add_unequal_byte_counts(kernel, &mut found);
            } else {
                found.extend(self.first_problem(kernel, is_arrival, WrongBytes::NoneExpected));
            }
        }
        let all = self.operands().iter();
        found.extend(all.filter_map(|one| {
            // They have 32 bits.
            let bytes = one.known.bytes? & 0xffff_ffff;
            let is_wrong = matches!(one.operation.op, AsyncOp::Mbarrier(_)) && bytes > MAX_BYTES;
            is_wrong.then(|| self.problem_of_operands(one, WrongBytes::TooMany(bytes)))?
        }));
        found
    }

    /// Adds the barriers whose copies transfer a number of bytes that differs from the expected one.
    fn add_unequal_byte_counts(self, kernel: &AsyncKernel, found: &mut Vec<AsyncProblem<WrongBytes>>) {
        let Some(all) = self.byte_counting_operations(kernel) else {
            return;
        };
        let mut told: Vec<CountedAt> = Vec::new();
        for &CountingOperation { barrier, .. } in &all {
            if told.contains(&barrier) {
                continue;
            }
            told.push(barrier);
            let own: Vec<&CountingOperation<'_>> = all.iter().filter(|one| one.barrier == barrier).collect();
            let of_kind = |of_copies| own.iter().filter(move |one| one.is_copy == of_copies);
            let sum = |of_copies| of_kind(of_copies).map(|one| one.bytes).sum();
            let (brought, expected) = (sum(true), sum(false));
            let (Some(expect), Some(copy)) = (of_kind(false).next(), of_kind(true).next()) else {
                continue;
            };
            if brought != expected
                && self.are_executed_together(&own)
                && self.is_waited_for(kernel, &own)
                && expect.site.is_reached(self.module)
            {
                let detail = WrongBytes::Unequal {
                    expected,
                    brought,
                    copy: copy.site.operation.op,
                    copied: copy.bytes,
                };
                found.push(
                    AsyncProblem::of_site(kernel, expect.site, detail)
                        .with_other_place(copy.site.place(), true),
                );
            }
        }
    }

    /// All operations that count bytes at mbarriers in a kernel; `None` if the address or the bytes of some are not known,
    /// or other CTAs may take part.
    fn byte_counting_operations(self, kernel: &AsyncKernel) -> Option<Vec<CountingOperation<'_>>> {
        let mut all: Vec<(&AsyncSite, bool, u64)> = Vec::new();
        for site in &kernel.operations {
            let one = &site.operation;
            let (is_copy, bytes) = match one.op {
                AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier => {
                    if copy.kind != CopyKind::Bulk || copy.multicast || copy.way != CopyWay::GlobalToShared {
                        return None;
                    }
                    (true, self.sizes().known_bytes(site.function, one)?)
                }
                AsyncOp::Mbarrier(MbarrierOp::CompleteTx) => return None,
                op if counts_bytes(op) => {
                    let known = self.sizes().known_operands(site.function, one);
                    (false, known.bytes? & 0xffff_ffff)
                }
                _ => continue,
            };
            all.push((site, is_copy, bytes));
        }
        let is_common = self.have_one_address(&all);
        if kernel.has_instruction(self.module, |op| matches!(op, Op::MapShared(_))) {
            return None;
        }
        let counting = all.into_iter().map(|(site, is_copy, bytes)| {
            let place = || site.barrier_place(self.module).map(CountedAt::Place);
            Some(CountingOperation {
                site,
                barrier: if is_common { CountedAt::Common } else { place()? },
                is_copy,
                bytes,
            })
        });
        counting.collect()
    }

    /// True if operations of one function, of which no constant is the place of the barrier, are at the same address, whichever that is.
    fn have_one_address(self, all: &[(&AsyncSite, bool, u64)]) -> bool {
        let Some((first, ..)) = all.first() else {
            return false;
        };
        let is_near = |(site, ..): &(&AsyncSite, bool, u64)| site.function == first.function;
        if !(2..=MAX_COMMON_OPERATIONS).contains(&all.len())
            || !all.iter().all(is_near)
            || first.barrier_place(self.module).is_some()
        {
            return false;
        }
        let view = View::any_thread(self.module, first.function);
        let address = |view: &View<'_, '_>, site: &AsyncSite| {
            Stretch::of_access(view, site.operation.barrier()?, (1, ALL_BYTES))
        };
        view.is_some_and(|view| {
            let addresses: Option<Vec<Stretch>> = all.iter().map(|(site, ..)| address(&view, site)).collect();
            // The one that comes first, in whatever order the input has them.
            let is_first = |first: &Stretch, addresses: &[Stretch]| {
                let mut others = addresses.iter().filter(|other| other.at != first.at);
                others.all(|other| surely_overlap(&view, first, other))
            };
            addresses.is_some_and(|all| all.iter().any(|first| is_first(first, &all)))
        })
    }

    /// True if each thread that executes one of these executes all of them, equally often.
    fn are_executed_together(self, all: &[&CountingOperation<'_>]) -> bool {
        let Some(first) = all.first() else { return false };
        let id = first.site.function;
        let Some(body) = &self.module.module.function(id).body else {
            return false;
        };
        let analyses = self.module.function(id);
        let at = |one: &CountingOperation<'_>| one.site.operation.instruction;
        let is_plain = |one: &&CountingOperation<'_>| {
            one.site.function == id && body.instruction(at(one)).guard.is_none()
        };
        let mut pairs = all.iter().zip(all.iter().skip(1));
        let returns_without = |of, other| Paths::new(body).without(other).lead(of, of);
        let is_followed_by = |a: InstructionId, b: InstructionId| {
            let post = analyses.post_dominators();
            analyses.is_on_every_path_to(a, b) && post.dominates(body.block_of(b), body.block_of(a))
        };
        all.iter().all(is_plain)
            && pairs.all(|(a, b)| {
                let (a, b) = (at(a), at(b));
                body.block_of(a) == body.block_of(b)
                    || ((is_followed_by(a, b) || is_followed_by(b, a))
                        && !returns_without(a, b)
                        && !returns_without(b, a))
            })
    }

    /// True if a wait at the barrier of these follows.
    fn is_waited_for(self, kernel: &AsyncKernel, own: &[&CountingOperation<'_>]) -> bool {
        let Some(last) = own.last() else { return false };
        let (id, at) = last.site.site();
        let Some(body) = &self.module.module.function(id).body else {
            return false;
        };
        let mut waits = kernel.sites_where(|op| matches!(op, AsyncOp::Mbarrier(MbarrierOp::Wait { .. })));
        waits.any(|wait| {
            let place = wait.barrier_place(self.module);
            let is_at = match last.barrier {
                CountedAt::Place(known) => place == Some(known),
                CountedAt::Common => place.is_none(),
            };
            wait.function == id && is_at && Paths::new(body).lead(at, wait.operation.instruction)
        })
    }
}

fn is_arrival(op: AsyncOp) -> bool {
    matches!(op, AsyncOp::Copy(copy) if copy.completion == Completion::Mbarrier)
}

const fn counts_bytes(op: AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::Mbarrier(
            MbarrierOp::ExpectTx | MbarrierOp::CompleteTx | MbarrierOp::Arrive { expects: true, .. }
        )
    )
}
