//! ## What it does
//!
//! Compares the images of each fat binary for sm_90 and newer: a kernel that waits for the grids before it (`griddepcontrol.wait`,
//! `cudaGridDependencySynchronize`) in one of them and not in another.
//!
//! ## Why is this bad?
//!
//! A kernel that is launched with programmatic stream serialization begins before the kernel before it has ended. The wait makes it
//! right. Where an image lacks it, the kernel reads what is not written yet, on the devices that load this image, and in some runs. Host code
//! launches all devices alike; the wait depends on `__CUDA_ARCH__`, or on macros for one architecture (`__CUDA_ARCH_FEAT_SM90_ALL`).
//!
//! ## Example
//!
//! ```cuda
//! #if __CUDA_ARCH__ == 900                      // the image for sm_100 has no wait
//!     cudaGridDependencySynchronize();
//! #endif
//! ```
//!
//! ## Use instead
//!
//! ```cuda
//! #if __CUDA_ARCH__ >= 900
//!     cudaGridDependencySynchronize();
//! #endif
//! ```
//!
//! Waits that are compiled out of an image were the cause of [cccl#3131](https://github.com/NVIDIA/cccl/issues/3131).
//!
//! ## Limits
//!
//! All findings are potential: the code for one architecture may be written without what others write, and the host may launch by
//! architecture. Switch the rule on with `-W PTX532`; `ptxcheck audit` does. A kernel without a body, or with machine code a quarter as large as
//! that of another image, or smaller, is left out. Only images of one fat binary are compared, PTX and machine code for
//! sm_90 and newer, and only what the kernel itself does, not functions that it calls. In machine code the wait is the operation that ptxas 13.5
//! writes for it for sm_90, sm_100 and sm_120; without the wait, `griddepcontrol.launch_dependents` alone harms nothing.

use ptxcheck_common::maps::{NameMap, NameSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{Group, ImageReport, Kernel, split_target};
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

/// The first architecture that has the wait (PTX ISA, griddepcontrol).
const FIRST_WITH_WAIT: u32 = 90;

/// A kernel whose machine code is smaller by this factor than that of another image has no body there.
const LEFT_OUT: u64 = 4;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX532",
    name: "grid-wait-differs",
    family: Family::Image,
    summary: "a kernel waits for the grids before it in one image of a fat binary and not in another",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        for group in input.alternatives() {
            compare_group(number, &group, report);
        }
    }
}

fn compare_group(number: usize, group: &Group<'_>, report: &mut Report<'_, ImagePlace>) {
    let has_wait = |image: &ImageReport| {
        let (number, _) = split_target(&image.target);
        number >= FIRST_WITH_WAIT
    };
    let mut waiting: NameMap<&str, (u32, &ImageReport, &Kernel)> = NameMap::default();
    for (index, image) in group.iter().filter(|(_, image)| has_wait(image)) {
        for kernel in &image.facts.kernels {
            if kernel.waits_for_grids == Some(true) {
                waiting.entry(&kernel.identity).or_insert((*index, image, kernel));
            }
        }
    }
    let mut reported: NameSet<&str> = NameSet::default();
    for (index, image) in group.iter().filter(|(_, image)| has_wait(image)) {
        for kernel in &image.facts.kernels {
            let Some((first, other, waits)) = waiting.get(kernel.identity.as_str()) else {
                continue;
            };
            if kernel.waits_for_grids != Some(false)
                || kernel.stub.is_some()
                || has_no_body_beside(kernel, waits)
                || !reported.insert(&kernel.identity)
            {
                continue;
            }
            let finding = report.potential(
                ImagePlace::kernel(number, *index, kernel),
                format!(
                    "kernel `{}` may read what the kernel before has not written: it waits for that in the {}, and not in the {}",
                    in_message(&kernel.name),
                    other.describe(),
                    image.describe()
                ),
            );
            finding.data("kernel", kernel.name.clone());
            finding.data("images", Value::Numbers(vec![(*first).into(), (*index).into()]));
            finding.help("wait in all images for sm_90 and newer");
        }
    }
}

/// True for a kernel with so little machine code beside that of another image that its body is left out.
fn has_no_body_beside(kernel: &Kernel, other: &Kernel) -> bool {
    let bytes = kernel.code_bytes.zip(other.code_bytes);
    bytes.is_some_and(|(own, whole)| own.saturating_mul(LEFT_OUT) <= whole)
}
