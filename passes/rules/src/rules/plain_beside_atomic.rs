//! ## What it does
//!
//! Finds plain loads and stores of global memory that atomics of other threads change at the same time.
//!
//! ## Why is this bad?
//!
//! An atomic makes its own change whole, and does nothing for plain accesses beside it. A plain load and an atomic by another thread that
//! nothing orders are a data race (PTX ISA, Memory Consistency Model): the compiler may load once and keep the value, load it again, or take
//! it from a cache that other threads do not write to, and what the code decides by it may be out of date. A plain store undoes the atomics
//! that came just before it.
//!
//! ## Example
//!
//! ```cuda
//! if (distance < nearest[v]) atomicMin(&nearest[v], distance);
//! if (threadIdx.x == 0) count[blockIdx.x % 8] = 0;    // other blocks already count
//! atomicAdd(&count[v % 8], 1);
//! ```
//!
//! ## Use instead
//!
//! An atomic alone, or a load that says what it does:
//!
//! ```cuda
//! cuda::atomic_ref<int, cuda::thread_scope_device> at(nearest[v]);
//! if (distance < at.load(cuda::memory_order_relaxed)) at.fetch_min(distance, cuda::memory_order_relaxed);
//! ```
//!
//! Where an old value is good enough, a volatile load says so. Another kernel orders all accesses; `__syncthreads()` does not, for it waits
//! for the own block alone.
//!
//! ## Limits
//!
//! Off by default; `-W PTX418` switches it on. A finding is potential: data may keep the threads apart, and an old value may be good enough.
//!
//! It is conditional if a run in the machine of ptxcheck shows two threads, of one block or of two, of which one makes the atomic and the
//! other the plain access to the same bytes, nothing orders them, and something depends on what a load reads. Contents of memory are
//! chosen as for PTX417, and the finding names them. An old value may still be good enough, or the thread may only test bits of a word that no
//! atomic of another thread changes.
//!
//! Two addresses count as one place if they are computed in one way, or if both depend on thread numbers or on data and lie in one object. A
//! barrier of the block orders accesses to elements that belong to a block, or that an atomic among the threads of a block
//! (`atomicAdd_block`) changes. A kernel in which threads wait for others in a loop is taken to
//! order its phases by that. Shared memory is PTX416's.
//!
//! Silent are volatile, relaxed and other strong accesses; a load whose value an atomic on the same place takes, as in a loop of
//! `atomicCAS`; what a thread does to its own element; accesses after a comparison for equality of what an atomic has returned, or of shared
//! memory, as in the last block; places that an atomic has reserved.

use crate::analysis::contention::PlainBesideAtomic;
use crate::checks::Check;
use crate::conditional::{ConditionalContention, ContendedPair};
use crate::context::{ModuleContext, Report};
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::support::{contention as words, lanes as text};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX418",
    name: "plain-beside-atomic",
    family: Family::Warp,
    summary: "a plain access to global memory that atomics of other threads change at the same time",
    definite: Level::Warning,
    certainties: Certainties::conditional(WitnessSearch::BesideAtomics).or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let all = &module.contention().beside_atomics;
    let shown = module.conditional_beside_atomics();
    let is_of_pair = |found: &PlainBesideAtomic, kernel, pair: &ContendedPair| {
        (found.kernel, &found.plain, &found.atomic) == (kernel, &pair.other, &pair.write)
    };
    words::each_object(
        all,
        shown,
        |found| (found.kernel, found.object),
        is_of_pair,
        |all, shown| report_object(module, all, shown, report),
    );
}

/// Reports the plain accesses to one object. `shown`: the witness, which is about the first one.
fn report_object(
    module: &ModuleContext<'_>,
    all: &[&PlainBesideAtomic],
    shown: Option<&ConditionalContention>,
    report: &mut Report<'_>,
) {
    let Some((&first, further)) = all.split_first() else {
        return;
    };
    let name = words::object_in_words(module, first.kernel, first.object);
    let (access, may) = (
        if first.is_store { "store to" } else { "load of" },
        if shown.is_some() { "" } else { "may " },
    );
    let message =
        format!("a plain {access} {name}, which atomics of other threads {may}change at the same time");
    let place = text::place_of(&first.plain);
    let draft = match shown {
        Some(_) => report.conditional(place, message),
        None => report.potential(place, message),
    };
    draft.finished();
    draft.about_two_places();
    draft.related(text::place_of(&first.atomic), "the atomic is here");
    if let Some(shown) = shown {
        words::tell_witness(module, draft, shown);
    }
    let further = further.iter().map(|other| (&other.plain, "so is this access"));
    text::add_further_sites(draft, vec![&first.plain], further);
    draft.help(match first.is_store {
        true => "store by an atomic, too, or in a kernel before this one",
        false => {
            "use the value that the atomic returns, or load by `cuda::atomic_ref`, or by a volatile load if an old value is good enough"
        }
    });
    draft.data("object", name).data("accesses", all.len() as u64);
}
