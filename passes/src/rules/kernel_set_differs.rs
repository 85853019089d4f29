//! ## What it does
//!
//! Compares the images of each fat binary: a kernel that one of them has and another has not.
//!
//! ## Why is this bad?
//!
//! The driver loads one image, that for its device. If it is the one without the kernel, the launch fails with "invalid
//! device function", and only on that device. The usual cause is a declaration, or a template argument, that depends on
//! `__CUDA_ARCH__`.
//!
//! ## Example
//!
//! ```cuda
//! #if __CUDA_ARCH__ >= 800
//! template __global__ void scale<__nv_bfloat16>(__nv_bfloat16 *);   // missing in the image for sm_75
//! #endif
//! ```
//!
//! DeepSpeed chose kernels by `__CUDA_ARCH__` in host code, and with two architectures failed on one of them
//! (deepspeedai/DeepSpeed, issue 7863); PyTorch has had the same (pytorch/pytorch, issue 177014).
//!
//! ## Use instead
//!
//! Guard the body of a kernel, not its declaration or its instantiation.
//!
//! ## Limits
//!
//! All findings are potential: libraries leave kernels out of images on purpose where the device lacks what they need, and
//! check the device before they launch (NCCL its FP8 reductions below sm_90). Switch the rule on with `-W PTX502`;
//! `ptxcheck audit` does. Only images of one fat binary are compared, which is what one source compiles to. Fat binaries
//! that hold LTO-IR or a damaged image as well, or several images for one target, are left out.

use std::collections::BTreeMap;

use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{Group, ImageReport, Kernel, listed};
use crate::names::in_message;
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX502",
    name: "kernel-set-differs",
    aliases: &[],
    guidelines: &["G-1.10"],
    family: Family::Image,
    summary: "a kernel is in one image of a fat binary and not in another",
    definite: Level::Warning,
    can_be_definite: false,
    can_be_potential: true,
    check: Check::Images(check),
};

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let closed = input.closed();
        for group in input.alternatives() {
            if !closed.contains(&group[0].1.container) {
                compare(number, &group, report);
            }
        }
    }
}

fn compare(number: usize, group: &Group<'_>, report: &mut Report<'_, ImagePlace>) {
    // The place of each kernel's first image, and the images that have it.
    let mut held: BTreeMap<&str, (u32, &Kernel, Vec<u32>)> = BTreeMap::new();
    for (index, image) in group {
        for kernel in &image.facts.kernels {
            let entry = held
                .entry(&kernel.identity)
                .or_insert_with(|| (*index, kernel, Vec::new()));
            entry.2.push(*index);
        }
    }
    for (first, kernel, images) in held.values() {
        let (with, without): (Vec<_>, Vec<_>) = group
            .iter()
            .partition(|(index, _)| images.binary_search(index).is_ok());
        let Some((missing, _)) = without.first() else {
            continue;
        };
        let describe = |images: &[(u32, &ImageReport)]| {
            let names: Vec<String> = images.iter().map(|(_, image)| image.describe()).collect();
            listed(names, images.len())
        };
        let mut place = ImagePlace::kernel(number, *missing, kernel);
        place.image = Some(*missing);
        let finding = report.potential(
            place,
            format!(
                "kernel `{}` is in the {} and not in the {}",
                in_message(&kernel.name),
                describe(&with),
                describe(&without)
            ),
        );
        let targets = |images: &[(u32, &ImageReport)]| {
            Value::Texts(images.iter().map(|(_, image)| image.target.clone()).collect())
        };
        finding.data("kernel", kernel.name.clone());
        finding.data("with", targets(&with));
        finding.data("without", targets(&without));
        finding.related(
            ImagePlace::kernel(number, *first, kernel),
            format!("it is in image {first}"),
        );
        finding.help("let the body of the kernel depend on `__CUDA_ARCH__`, not whether there is one");
    }
}
