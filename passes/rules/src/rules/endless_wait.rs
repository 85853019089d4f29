//! ## What it does
//!
//! Finds, with `-W conditional`, launches and values of parameters with which threads of a block wait for ever: at a named barrier with a
//! count of threads (`bar.sync 1, 128`), or for a phase of a barrier in shared memory (`mbarrier`, `cuda::barrier`). Also found are
//! barriers that threads reach with two counts at a time.
//!
//! ## Why is this bad?
//!
//! The kernel hangs. Often it does so only for some sizes: from the second round of a pipeline on, or where a role has one round more than
//! the other. What a barrier does that has two counts at a time, the PTX ISA does not say.
//!
//! ## Example
//!
//! ```cuda
//! __shared__ uint64_t full[4], empty[4];            // a ring of 4 slots
//! for (int i = 0; i < tiles; ++i) {                 // the consumers
//!     wait(&full[i % 4], (i / 4) & 1);
//!     use(slot[i % 4]);
//! }                                                 // they never arrive at `empty`: the producer waits from tile 5 on
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//!     use(slot[i % 4]);
//!     arrive(&empty[i % 4]);
//! ```
//!
//! ## Limits
//!
//! All findings are conditional: a run in the machine of ptxcheck ends where no thread can go on, and nothing unknown has decided that. The
//! run is one execution of many; a protocol that fails in some orders of the threads alone may not be found. It stands for
//! one block of a known size (`.reqntid`, `--launch-block`, launches in host code, or the bound of the kernel if no smaller block ends),
//! and for values of integer parameters that decide how often threads reach barriers, tried from small ones on.
//!
//! Nothing is searched for in kernels whose barriers another block of a cluster may arrive at (`mapa`, multicast, pairs of CTAs), that copy
//! with tensor maps to barriers, or in which counts, bytes, addresses of barriers, or parities depend on parameters or on memory; nor
//! where two parameters decide about two operations, as a size and a number of tiles may: values
//! that belong together are not known. Threads that wait for a flag in global memory wait for somebody else. A loop that stops after so many
//! tests of a phase, or by a clock, is no endless wait.

use crate::checks::Check;
use crate::conditional::{Awaited, ConditionalHang, FoundHang, Stuck};
use crate::context::{ModuleContext, Report};
use crate::finding::Value;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule, WitnessSearch};
use crate::support::{lanes as text, witness};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX421",
    name: "endless-wait",
    family: Family::Warp,
    summary: "threads of a block wait for ever at a named barrier or for a phase of an mbarrier",
    definite: Level::Error,
    certainties: Certainties::conditional(WitnessSearch::Hangs),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for hang in module.conditional_hangs() {
        report_hang(module, hang, report);
    }
}

fn report_hang(module: &ModuleContext<'_>, found: &ConditionalHang, report: &mut Report<'_>) {
    let hang = &found.hang;
    let who = format!("{} of warp {}", text::named(hang.lanes), hang.warp);
    let message = match (hang.other_count, hang.awaits) {
        (Some((number, count, other)), _) => {
            let comes = text::verb(hang.lanes, "comes", "come");
            format!(
                "{who} {comes} to barrier {number} with a count of {count} while others are there with a count of {other}"
            )
        }
        (None, Some(awaits)) => {
            let waits = text::verb(hang.lanes, "waits", "wait");
            let name = barrier_name(module, hang);
            format!("{who} {waits} here for ever: {}", missing(awaits, &name))
        }
        (None, None) => return,
    };
    let draft = report.conditional(text::place_of(&hang.site), message);
    let mut known = vec![&hang.site];
    for stuck in &hang.waits {
        if !known.contains(&&stuck.site) {
            known.push(&stuck.site);
            draft.related(text::place_of(&stuck.site), stuck_in_words(stuck));
        }
    }
    let help = match (hang.other_count, hang.awaits) {
        (Some(_), _) => "use one count for a barrier, or another barrier: there are 16",
        (None, Some(Awaited::Count { .. })) => {
            "let as many threads come to the barrier as it counts, and all roles to their barriers in one order"
        }
        _ => {
            "let as many threads arrive as the barrier was initialised for, as many bytes as it expects, and wait for the parity of the round"
        }
    };
    draft.help(help);
    draft.data("operation", if hang.is_named() { "barrier" } else { "mbarrier" });
    draft.data(
        "waiting",
        Value::Texts(hang.waits.iter().map(waiting_in_words).collect()),
    );
    witness::tell(module, draft, found.kernel, &found.witness, None);
    witness::tell_run(module, draft, &found.run);
}

/// The barrier in shared memory whose phase threads wait for.
fn barrier_name(module: &ModuleContext<'_>, hang: &FoundHang) -> String {
    let named = hang
        .barrier
        .map(|(symbol, offset)| (module.module.symbol_name(symbol), offset));
    match named {
        Some((name, 0)) if !name.is_empty() => format!("`{}`", in_message(&name)),
        Some((name, offset)) if !name.is_empty() => {
            format!("`{}` at byte {offset}", in_message(&name))
        }
        _ => "the barrier".to_owned(),
    }
}

/// What is missing for threads to go on. `barrier`: that in memory that they wait for.
fn missing(awaits: Awaited, barrier: &str) -> String {
    match awaits {
        Awaited::Count {
            number,
            count,
            arrived,
        } => format!("{arrived} of the {count} threads that barrier {number} counts have come"),
        Awaited::Phase {
            parity,
            complete,
            arrivals,
            pending,
            bytes,
            ..
        } => {
            let come = arrivals.saturating_sub(pending);
            let lacks = match bytes {
                0 => String::new(),
                1.. => format!(", and lacks {bytes} bytes"),
                _ => format!(", and {} bytes more than it expects", bytes.unsigned_abs()),
            };
            format!(
                "phase {complete} of {barrier}, with parity {parity}, has {come} of {arrivals} arrivals{lacks}"
            )
        }
        Awaited::Block(number) => format!("not all threads of the block come to barrier {number}"),
        Awaited::Lanes(mask) => format!("lanes of the mask {mask:#010x} wait elsewhere"),
    }
}

fn stuck_in_words(stuck: &Stuck) -> String {
    format!(
        "{} of warp {} wait here: {}",
        text::named(stuck.lanes),
        stuck.warp,
        missing(stuck.awaits, "the barrier")
    )
}

fn waiting_in_words(stuck: &Stuck) -> String {
    format!(
        "warp {}, lanes {:#010x}: {}",
        stuck.warp,
        stuck.lanes,
        missing(stuck.awaits, "the barrier")
    )
}
