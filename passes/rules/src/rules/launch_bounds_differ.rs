//! ## What it does
//!
//! Compares the images of each fat binary: a kernel whose `__launch_bounds__` or `__block_size__` differ between them.
//!
//! ## Why is this bad?
//!
//! A launch with a block size that one image allows and another does not fails on one device alone. The bounds depend on
//! `__CUDA_ARCH__`, which host code cannot see when it chooses the block size.
//!
//! ## Example
//!
//! ```cuda
//! #if __CUDA_ARCH__ >= 900
//! __launch_bounds__(1024)
//! #else
//! __launch_bounds__(256)
//! #endif
//! __global__ void step(float *data);
//! ```
//!
//! cuVS tuned the bounds of a kernel by a list of architectures, which missed a new one (NVIDIA/cuvs, pull request 967).
//!
//! ## Use instead
//!
//! The same bounds for all targets, or block sizes that the host asks for (`cudaFuncGetAttributes`).
//!
//! ## Limits
//!
//! All findings are potential, because libraries tune by target on purpose and choose the block size from the same table: switch the rule
//! on with `-W PTX510`; `ptxcheck audit` does. Kernels of CUB and Thrust, which do so, are left out. The second number of
//! `__launch_bounds__` changes no block that can be launched, so it is not compared.

use ptxcheck_common::maps::{NameMap, NameSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{Group, ImageReport};
use crate::ir::LaunchBounds;
use crate::names::{self, in_message};
use crate::rule::{Certainties, Family, Level, Rule};

/// The namespaces of libraries that choose bounds and blocks by one table of targets.
const TUNED: [&str; 2] = ["cub", "thrust"];

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX510",
    name: "launch-bounds-differ",
    guidelines: &["G-4.4"],
    family: Family::Image,
    summary: "the launch bounds of a kernel differ between the images of a fat binary",
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
    let mut seen: NameMap<&str, Vec<(u32, &ImageReport, LaunchBounds)>> = NameMap::default();
    let mut reported: NameSet<&str> = NameSet::default();
    for (index, image) in group {
        for kernel in &image.facts.kernels {
            let known = seen.entry(&kernel.identity).or_default();
            let other = known
                .iter()
                .find(|(.., bounds)| do_bounds_differ(bounds, &kernel.launch));
            if let Some((first, other, bounds)) = other
                && !is_tuned_per_target(&kernel.name)
                && reported.insert(&kernel.identity)
            {
                let finding = report.potential(
                    ImagePlace::kernel(number, *index, kernel),
                    format!(
                        "kernel `{}` may fail to launch: it is bound to {} in the {} and {} in the {}",
                        in_message(&kernel.name),
                        bounds_in_words(bounds),
                        other.describe(),
                        bounds_in_words(&kernel.launch),
                        image.describe()
                    ),
                );
                finding.data("kernel", kernel.name.clone());
                finding.data("images", Value::Numbers(vec![(*first).into(), (*index).into()]));
                finding.help("use the same launch bounds for all targets");
            }
            known.push((*index, image, kernel.launch));
        }
    }
}

/// True if a block can be launched with the one bounds and not with the other.
fn do_bounds_differ(a: &LaunchBounds, b: &LaunchBounds) -> bool {
    let threads = |bounds: &LaunchBounds| (bounds.max_threads.map(thread_count), bounds.required_threads);
    threads(a) != threads(b)
}

/// True for kernels of libraries that choose bounds and blocks by one table of targets.
fn is_tuned_per_target(kernel: &str) -> bool {
    names::base(kernel)
        .split("::")
        .any(|scope| TUNED.contains(&scope))
}

/// Threads of a CTA: `.maxntid` limits their number, not the shape.
fn thread_count(shape: [u32; 3]) -> u64 {
    shape
        .iter()
        .map(|size| u64::from(*size))
        .fold(1, u64::saturating_mul)
}

fn bounds_in_words(bounds: &LaunchBounds) -> String {
    let mut parts = Vec::new();
    if let Some([x, y, z]) = bounds.required_threads {
        parts.push(format!("blocks of {x} × {y} × {z} threads"));
    }
    if let Some(shape) = bounds.max_threads {
        parts.push(format!("at most {} threads", thread_count(shape)));
    }
    if parts.is_empty() {
        "nothing".to_owned()
    } else {
        parts.join(" and ")
    }
}
