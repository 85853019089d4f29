//! ## What it does
//!
//! With `virtual-target = "same"` in the policy: reports machine code that was compiled for an older virtual architecture than its own:
//! `sm_86` from `compute_80`.
//!
//! ## Why is this bad?
//!
//! `__CUDA_ARCH__` is that of the virtual architecture: code that a source has for newer GPUs is left out, and the compiler does not
//! use their instructions. It works and is slower, and nobody sees it.
//!
//! ## Example
//!
//! ```text
//! nvcc -gencode arch=compute_80,code=sm_86
//! ```
//!
//! ```text
//! warning[PTX523] virtual-target-differs: 3 images for sm_86 are compiled for compute_80
//! ```
//!
//! ## Use instead
//!
//! `-gencode arch=compute_86,code=sm_86`.
//!
//! ## Limits
//!
//! Machine code of CUDA 12.8 and 12.9 for `sm_100` and later does not say what it was compiled for, and is left alone. Images that
//! define nothing are, too.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::ImageKind;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX523",
    name: "virtual-target-differs",
    family: Family::Image,
    summary: "machine code is compiled for an older virtual architecture than its own",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    if !context.policy.same_virtual_target {
        return;
    }
    for (number, input) in context.inputs.iter().enumerate() {
        let mut found: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (index, image) in input
            .counting()
            .filter(|(_, image)| image.kind == ImageKind::Cubin)
        {
            if let Some(compiled_for) = image.virtual_number
                && compiled_for < image.sm()
                && !image.is_empty()
            {
                found.entry((image.sm(), compiled_for)).or_default().push(index);
            }
        }
        for ((target, compiled_for), images) in found {
            let what = match images.len() {
                1 => format!("an image for sm_{target} is"),
                count => format!("{count} images for sm_{target} are"),
            };
            let place = images.first().map_or_else(
                || ImagePlace::input(number),
                |first| ImagePlace::image(number, *first),
            );
            let finding = report.definite(place, format!("{what} compiled for compute_{compiled_for}"));
            finding.data("target", format!("sm_{target}"));
            finding.data("virtual", format!("compute_{compiled_for}"));
            finding.data(
                "images",
                Value::Numbers(images.into_iter().map(u64::from).collect()),
            );
            finding.help(format!(
                "compile with `-gencode arch=compute_{target},code=sm_{target}`"
            ));
        }
    }
}
