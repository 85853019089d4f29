//! ## What it does
//!
//! Finds plain stores to one place in global memory that several threads make and nothing orders, where one of them may undo what another
//! one did: the value, or the decision to write it, depends on what it overwrites, or threads write different values.
//!
//! ## Why is this bad?
//!
//! Threads of a grid run in any order. If two of them read a place, compute a new value from what they have read, and write it back, both
//! may read the same old value, and one of the two updates is lost (PTX ISA, Memory Consistency Model: a data race). Such code often gives
//! the right result on small inputs, and a slightly wrong one on large inputs.
//!
//! ## Example
//!
//! ```cuda
//! int label = labels[blockIdx.x * blockDim.x + threadIdx.x];
//! count[label] += 1;                                // other threads have the same label
//! if (distance < *nearest) *nearest = distance;     // others write in between
//! ```
//!
//! ## Use instead
//!
//! An atomic:
//!
//! ```cuda
//! atomicAdd(&count[label], 1);
//! atomicMin(nearest, distance);
//! ```
//!
//! Or a reduction within the block, and one atomic by one of its threads. If a single thread shall write, a comparison says so:
//! `if (blockIdx.x == 0 && threadIdx.x == 0)`.
//!
//! ## Limits
//!
//! Off by default; `-W PTX417` switches it on. A finding is potential: the host decides how many threads and blocks there are, and data
//! that the code does not show may give each thread a place of its own, as in a permutation.
//!
//! It is conditional if a run in the machine of ptxcheck shows two threads, of one block or of two, of which the second reads what the first
//! has written and writes something else, and nothing orders them: had the second read before, one of the updates would be lost. So it is
//! if both read before one of them writes, and what they write is computed from that. Contents of
//! memory are chosen for that, and the finding names them. A place that is loaded from memory is shown only where a list of vertices names
//! each of them once, and several of them have one neighbour (`next[to[e]] += …`, with `e` in the row of a vertex); a place that a thread
//! loads at its own index (`count[label[i]] += 1`) stays potential, because `label` may be a permutation. Different values in one place
//! are conditional if loaded values do not decide which threads write. A claim stays potential: a thread that writes only where it reads a
//! mark that the other one has overwritten.
//!
//! A place counts as shared if no number that distinguishes the threads is part of its address: it is the same for all of them, or it
//! depends on numbers loaded from memory. A kernel that reads no block number, or only compares it with constants for equality and has no
//! atomic, is launched with one block, and one that reads no thread number
//! with one thread, unless its threads take numbers from an atomic counter. Addresses in data count only where the store depends on what it
//! overwrites, and where they do not move on in a loop: the elements from one loaded number to the next belong to one thread.
//!
//! Silent are stores after a comparison that only one thread passes; after a comparison for equality of what an atomic has returned, or of
//! shared memory (locks, the last block, claims); at places that an atomic has reserved; atomics, and volatile and relaxed accesses; equal
//! values written by all; different values written to places in data.

use crate::analysis::contention::{LostUpdate, UpdateKind, Writers};
use crate::checks::Check;
use crate::conditional::{ConditionalContention, ContendedPair};
use crate::context::{ModuleContext, Report};
use crate::finding::Value;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::support::{contention as words, lanes as text};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX417",
    name: "lost-update",
    family: Family::Warp,
    summary: "threads update one place in global memory without atomics, and one may undo what another did",
    definite: Level::Warning,
    certainties: Certainties::conditional(WitnessSearch::LostUpdates).or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let all = &module.contention().lost_updates;
    let shown = module.conditional_updates();
    let is_of_pair = |found: &LostUpdate, kernel, pair: &ContendedPair| {
        (found.kernel, &found.write) == (kernel, &pair.write)
    };
    words::each_object(
        all,
        shown,
        |found| (found.kernel, found.object),
        is_of_pair,
        |all, shown| report_object(module, all, shown, report),
    );
}

/// Reports the stores to one object. `shown`: the witness, which is about the first one.
fn report_object(
    module: &ModuleContext<'_>,
    all: &[&LostUpdate],
    shown: Option<&ConditionalContention>,
    report: &mut Report<'_>,
) {
    let Some((&first, further)) = all.split_first() else {
        return;
    };
    let name = words::object_in_words(module, first.kernel, first.object);
    let place = text::place_of(&first.write);
    let draft = match shown {
        Some(_) => report.conditional(place, message_about(first, &name, "")),
        None => report.potential(place, message_about(first, &name, "may ")),
    };
    draft.finished();
    draft.about_two_places();
    if let Some(read) = &first.read {
        let words = match first.kind {
            UpdateKind::Chased => "the place is chosen by what is read here",
            UpdateKind::ReadModifyWrite | UpdateKind::Different => {
                "the value that it depends on is read here"
            }
        };
        draft.related(text::place_of(read), words);
    }
    let further = further.iter().map(|other| (&other.write, "so is this store"));
    text::add_further_sites(draft, vec![&first.write], further);
    if let Some(shown) = shown {
        words::tell_witness(module, draft, shown);
    }
    draft.note(match (first.is_at_data, first.writers) {
        (true, _) => "the place depends on data: threads with equal data share it",
        (false, Writers::Blocks) => "one thread of each block gets here, if the grid has several blocks",
        (false, _) => "nothing in the address distinguishes the threads that get here",
    });
    draft.help(match (first.kind, first.writers) {
        (UpdateKind::Different, Writers::Block) => "let one thread write: `if (threadIdx.x == 0)`",
        (UpdateKind::Different, _) => "let one thread of the grid write, or give each thread or block a place of its own",
        _ => "use an atomic for the whole update, such as `atomicAdd` or `atomicMin`, or let one thread make it",
    });
    draft
        .data("object", name)
        .data("stores", Value::Number(all.len() as u64));
}

/// `may`: "may ", or nothing where a run shows it.
fn message_about(lost: &LostUpdate, name: &str, may: &str) -> String {
    let who = match lost.writers {
        Writers::Block => "threads of a block",
        Writers::Blocks => "different blocks",
        Writers::Grid => "different threads",
    };
    match lost.kind {
        UpdateKind::ReadModifyWrite => format!(
            "{who} {may}read the same value of {name} and write what they make of it, without an atomic: one update is lost"
        ),
        UpdateKind::Chased => format!(
            "{who} {may}follow {name} to the same place and write different values there, without an atomic: one of them is lost"
        ),
        UpdateKind::Different => {
            format!(
                "{who} {may}write different values to the same place in {name}: which of them stays is open"
            )
        }
    }
}
