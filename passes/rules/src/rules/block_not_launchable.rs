//! ## What it does
//!
//! With `require-block` in the policy: reports kernels that cannot be launched with a block of so many threads, because their machine
//! code takes too many registers for it on its target, or because their launch bounds are smaller.
//!
//! ## Why is this bad?
//!
//! The launch fails on that GPU alone (`cudaErrorLaunchOutOfResources`, or `cudaErrorInvalidValue` for launch bounds), when the program
//! reaches it. Registers are allocated for each target separately, so a launch that was tested on one GPU fails on another, or after a
//! change of the compiler.
//!
//! ## Example
//!
//! ```text
//! error[PTX522] block-not-launchable: kernel `reduce` cannot be launched with 512 threads from machine code for sm_90: it takes 168 registers
//! ```
//!
//! ```toml
//! [audit]
//! require-block = { "reduce*" = 512 }
//! ```
//!
//! ## Use instead
//!
//! `__launch_bounds__(512)`, which makes the compiler keep registers within what such a block can have; or a smaller block.
//!
//! ## Limits
//!
//! The largest block is that of the toolkit's occupancy calculation. It is for the GPU that machine code names: later ones of its
//! generation have as many registers. For PTX, launch bounds are checked, and registers are not known. Dynamic shared memory, cluster sizes
//! and the stack are not checked.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::inventory::{ImageReport, Kernel};
use crate::names::{in_message, is_called};
use crate::occupancy::largest_block;
use crate::policy::RequiredBlock;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX522",
    name: "block-not-launchable",
    family: Family::Image,
    summary: "a kernel cannot be launched with the block that the policy requires",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// The reason why a block is too large.
enum Reason {
    Registers { taken: u32, largest: u32 },
    Bounds { threads: u64 },
    Exactly { threads: u64 },
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let required = &context.policy.required_blocks;
    if required.is_empty() {
        return;
    }
    for (number, input) in context.inputs.iter().enumerate() {
        for (index, image) in input.counting() {
            for kernel in &image.facts.kernels {
                // The largest block that is required and not possible says it all.
                let wrong = required
                    .iter()
                    .filter_map(|entry| {
                        Some((
                            entry.threads,
                            reason_not_launchable(image, kernel, entry.threads)?,
                            entry,
                        ))
                    })
                    .filter(|(.., entry)| applies_to(entry, kernel))
                    .max_by_key(|(threads, ..)| *threads);
                if let Some((threads, reason, _)) = wrong {
                    let place = ImagePlace::kernel(number, index, kernel);
                    report_block(place, (image, kernel), threads, &reason, report);
                }
            }
        }
    }
}

fn applies_to(entry: &RequiredBlock, kernel: &Kernel) -> bool {
    let pattern = entry.kernels.as_ref();
    pattern.is_none_or(|pattern| is_called(&kernel.name, pattern))
}

/// The reason why a kernel of an image cannot be launched with so many threads; `None` if it can, as far as is known.
fn reason_not_launchable(image: &ImageReport, kernel: &Kernel, threads: u32) -> Option<Reason> {
    let product = |sizes: [u32; 3]| sizes.iter().map(|size| u64::from(*size)).product::<u64>();
    let wanted = u64::from(threads);
    if let Some(threads) = kernel.launch.required_threads.map(product)
        && threads != wanted
    {
        return Some(Reason::Exactly { threads });
    }
    if let Some(threads) = kernel.launch.max_threads.map(product)
        && threads < wanted
    {
        return Some(Reason::Bounds { threads });
    }
    let taken = kernel.resources?.registers?;
    let largest = largest_block(image.sm(), taken)?;
    (largest < threads).then_some(Reason::Registers { taken, largest })
}

fn report_block(
    place: ImagePlace,
    (image, kernel): (&ImageReport, &Kernel),
    threads: u32,
    reason: &Reason,
    report: &mut Report<'_, ImagePlace>,
) {
    let (because, kind, number) = match *reason {
        Reason::Registers { taken, .. } => (
            format!("it takes {taken} registers"),
            "registers",
            u64::from(taken),
        ),
        Reason::Bounds { threads } => (
            format!("its launch bounds allow {threads}"),
            "launch-bounds",
            threads,
        ),
        Reason::Exactly { threads } => (format!("it requires {threads}"), "required-threads", threads),
    };
    let finding = report.definite(
        place,
        format!(
            "kernel `{}` cannot be launched with {threads} threads from {}: {because}",
            in_message(&kernel.name),
            image.describe()
        ),
    );
    finding.kind(kind);
    finding
        .data("kernel", kernel.name.clone())
        .data("target", image.target.as_str())
        .data("threads", u64::from(threads))
        .data(kind, number);
    if let Reason::Registers { largest, .. } = *reason {
        finding.data("largest_block", u64::from(largest));
        finding.note(format!(
            "with so many registers the largest block has {largest} threads"
        ));
        finding.help("give the kernel `__launch_bounds__` with this size, or launch smaller blocks");
    } else {
        finding.help("declare the launch bounds that the program uses, or require another block");
    }
}
