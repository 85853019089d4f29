//! ## What it does
//!
//! Compares the images of each fat binary: a kernel that one of them has and another has not. First come twins: instances of one template
//! that differ in one argument, of which each image has one.
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
//! Twins are nearly always a defect: the type of a template argument depends on `__CUDA_ARCH__`, and nvcc's host code registers the kernels of its
//! last pass alone, so each launch fails on the devices that load the other image.
//!
//! ```text
//! warning[PTX502] kernel-set-differs: kernel `scale<__nv_bfloat16>(…)` may fail to launch: it is in the machine code for sm_90 and not in the machine code for sm_75,
//! which has `scale<Bfloat>(…)` in its place
//! ```
//!
//! DeepSpeed chose kernels by `__CUDA_ARCH__` in host code, and with two architectures failed on one of them
//! (deepspeedai/DeepSpeed, issue 7863); PyTorch has had the same (pytorch/pytorch, issue 177014).
//!
//! ## Use instead
//!
//! Guard the body of a kernel, not its declaration or its instantiation, and use one type for all architectures.
//!
//! ## Limits
//!
//! All findings are potential: libraries leave kernels out of images on purpose where the device lacks what they need, and
//! check the device before they launch (NCCL its FP8 reductions below sm_90). Switch the rule on with `-W PTX502`;
//! `ptxcheck audit` does. Only images of one fat binary are compared, which is what one source compiles to. Fat binaries
//! that hold LTO-IR or a damaged image as well, or several images for one target, are left out.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{Group, ImageReport, InputReport, Kernel, listed};
use crate::names::{self, in_message};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX502",
    name: "kernel-set-differs",
    guidelines: &["G-1.10"],
    family: Family::Image,
    summary: "a kernel is in one image of a fat binary and not in another",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let closed = input.closed();
        for group in input.alternatives() {
            if !closed.contains(&group[0].1.container) {
                compare(number, input, &group, report);
            }
        }
    }
}

/// A kernel that some images of a container lack.
struct Uneven<'a> {
    kernel: &'a Kernel,
    /// The images that have it, and those that have not.
    with: Vec<(u32, &'a ImageReport)>,
    without: Vec<(u32, &'a ImageReport)>,
}

fn compare(number: usize, input: &InputReport, group: &Group<'_>, report: &mut Report<'_, ImagePlace>) {
    let mut uneven = uneven_kernels(group);
    for (one, other) in take_twins(&mut uneven) {
        report_twins(number, input, &one, &other, report);
    }
    for one in uneven {
        report_uneven_kernel(number, &one, report);
    }
}

/// The kernels that not all images have, by their identities.
fn uneven_kernels<'a>(group: &Group<'a>) -> Vec<Uneven<'a>> {
    let mut held: BTreeMap<&str, (&Kernel, Vec<u32>)> = BTreeMap::new();
    for (index, image) in group {
        for kernel in &image.facts.kernels {
            let entry = held
                .entry(&kernel.identity)
                .or_insert_with(|| (kernel, Vec::new()));
            entry.1.push(*index);
        }
    }
    let mut found = Vec::new();
    for (kernel, images) in held.into_values() {
        let (with, without): (Vec<_>, Vec<_>) = group
            .iter()
            .copied()
            .partition(|(index, _)| images.binary_search(index).is_ok());
        if !without.is_empty() {
            found.push(Uneven {
                kernel,
                with,
                without,
            });
        }
    }
    found
}

/// Takes out pairs of kernels of which each image has one, and whose names differ in one argument of their template alone.
fn take_twins<'a>(uneven: &mut Vec<Uneven<'a>>) -> Vec<(Uneven<'a>, Uneven<'a>)> {
    let mut pairs = Vec::new();
    // By all that twins share: the name, and each list of arguments with one of them left out.
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut taken = vec![false; uneven.len()];
    for number in 0..uneven.len() {
        let Some((name, arguments)) = names::template_arguments(&uneven[number].kernel.name) else {
            continue;
        };
        for left_out in 0..arguments.len() {
            let mut shared: Vec<&str> = arguments.iter().map(String::as_str).collect();
            shared[left_out] = "";
            let key = format!("{name}<{}>", shared.join(","));
            let other = open.get(&key).copied().filter(|other| !taken[*other]);
            if let Some(other) = other
                && is_complement(&uneven[number], &uneven[other])
            {
                (taken[number], taken[other]) = (true, true);
                pairs.push((other, number));
                break;
            }
            open.entry(key).or_insert(number);
        }
    }
    let mut all: Vec<Option<Uneven<'a>>> = std::mem::take(uneven).into_iter().map(Some).collect();
    let pairs = pairs
        .into_iter()
        .filter_map(|(one, other)| Some((all[one].take()?, all[other].take()?)))
        .collect();
    uneven.extend(all.into_iter().flatten());
    pairs
}

/// True if each image has one of two kernels, and none has both.
fn is_complement(one: &Uneven<'_>, other: &Uneven<'_>) -> bool {
    let indices =
        |images: &[(u32, &ImageReport)]| -> Vec<u32> { images.iter().map(|(index, _)| *index).collect() };
    indices(&one.with) == indices(&other.without)
}

fn report_twins(
    number: usize,
    input: &InputReport,
    one: &Uneven<'_>,
    other: &Uneven<'_>,
    report: &mut Report<'_, ImagePlace>,
) {
    // The one that host code registers is missed where the other one is.
    let host = input.host.as_ref().filter(|host| !host.is_partial);
    let is_registered = |kernel: &Kernel| {
        let mut all = host.iter().flat_map(|host| &host.registered);
        all.any(|known| {
            known.is_certain && !known.is_variable && names::normalised(&known.name) == kernel.identity
        })
    };
    let (one, other) = if is_registered(other.kernel) {
        (other, one)
    } else {
        (one, other)
    };
    // Before the findings about single images.
    let place = ImagePlace {
        image: None,
        ..ImagePlace::kernel(number, one.with[0].0, one.kernel)
    };
    let name = in_message(&other.kernel.name);
    let finding = report.potential(
        place,
        format!(
            "kernel `{}` may fail to launch: it is in the {} and not in the {}, which has `{name}` in its place",
            in_message(&one.kernel.name),
            images_in_words(&one.with),
            images_in_words(&one.without)
        ),
    );
    finding.kind("twin");
    finding.data("kernel", one.kernel.name.clone());
    finding.data("twin", other.kernel.name.clone());
    finding.data("with", targets_as_data(&one.with));
    finding.data("without", targets_as_data(&one.without));
    if is_registered(one.kernel) && !is_registered(other.kernel) {
        finding
            .note("host code registers the first one alone: a launch fails on devices that load the second");
    }
    for (what, images) in [("it is", &one.with), ("the other one is", &other.with)] {
        if let Some((image, _)) = images.first() {
            finding.related(
                ImagePlace::image(number, *image),
                format!("{what} in image {image}"),
            );
        }
    }
    finding.help("use the same types as template arguments for all architectures");
}

fn report_uneven_kernel(number: usize, one: &Uneven<'_>, report: &mut Report<'_, ImagePlace>) {
    let (Some((first, _)), Some((missing, _))) = (one.with.first(), one.without.first()) else {
        return;
    };
    let mut place = ImagePlace::kernel(number, *missing, one.kernel);
    place.image = Some(*missing);
    let finding = report.potential(
        place,
        format!(
            "kernel `{}` may fail to launch: it is in the {} and not in the {}",
            in_message(&one.kernel.name),
            images_in_words(&one.with),
            images_in_words(&one.without)
        ),
    );
    finding.data("kernel", one.kernel.name.clone());
    finding.data("with", targets_as_data(&one.with));
    finding.data("without", targets_as_data(&one.without));
    finding.related(
        ImagePlace::kernel(number, *first, one.kernel),
        format!("it is in image {first}"),
    );
    finding.help("let the body of the kernel depend on `__CUDA_ARCH__`, not whether there is one");
}

fn images_in_words(images: &[(u32, &ImageReport)]) -> String {
    let names: Vec<String> = images.iter().map(|(_, image)| image.describe()).collect();
    listed(names, images.len())
}

fn targets_as_data(images: &[(u32, &ImageReport)]) -> Value {
    Value::Texts(images.iter().map(|(_, image)| image.target.clone()).collect())
}
