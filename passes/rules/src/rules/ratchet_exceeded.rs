//! ## What it does
//!
//! With `--ratchet FILE`: reports figures of a release that are worse than those that were pinned. For each kernel of each file these are
//! registers, stack frame, static shared memory and machine code, whether the file has the kernel, and whether the pinned GPUs load it;
//! for the release the bytes of each target, and what the driver compiles for each GPU.
//!
//! ## Why is this bad?
//!
//! Nobody sees at a build that a kernel takes more registers than before, or that it is gone from one of several libraries. It is slower on
//! the user's GPU, fails to launch with the blocks that it was launched with, or is not found.
//!
//! ## Example
//!
//! ```text
//! error[PTX526] ratchet-exceeded: kernel `scan(int*)` for sm_90 takes 168 registers, and 128 are pinned
//! ```
//!
//! ## Use instead
//!
//! Mend the kernel, or pin the new figures with the reason: `--ratchet FILE --pin REASON`.
//!
//! ## Limits
//!
//! Files keep their names from release to release but for versions, hashes and tags that packaging adds; a kernel that moves to another file
//! is compared there. A new target, kernel or file is not growth, nor is a target that is dropped. Sizes may grow by one per cent
//! (`--ratchet-slack`). Figures for a target are compared where both releases have them. What is better is not a finding: it is said on
//! standard error and in JSON.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::forecast::Gpu;
use crate::inventory::InputReport;
use crate::names::in_message;
use crate::release::{Figure, Files, Moved};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX526",
    name: "ratchet-exceeded",
    family: Family::Image,
    summary: "a figure of the release is worse than the one that was pinned",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let Some(pinned) = &context.policy.ratchet else {
        return;
    };
    let gpus: Vec<Gpu> = pinned.ratchet.gpus();
    let files = Files::of(context.inputs, &gpus);
    for moved in pinned.compare(&files).worse {
        report_figure(context.inputs, &files, &moved, report);
    }
}

fn report_figure(inputs: &[InputReport], files: &Files, moved: &Moved, report: &mut Report<'_, ImagePlace>) {
    let finding = report.definite(place_of_figure(inputs, files, moved), message_about(moved));
    finding.kind(moved.figure.as_str());
    if let Some(kernel) = &moved.kernel {
        finding.data("kernel", kernel.clone());
    }
    if let Some(file) = &moved.file {
        finding.data("file", file.clone());
    }
    if !moved.about.is_empty() {
        finding.data("about", moved.about.clone());
    }
    finding
        .data("pinned", moved.old)
        .data("now", moved.new)
        .help("mend it, or pin the new figures with the reason (`--pin REASON`)");
}

fn message_about(moved: &Moved) -> String {
    let Moved {
        kernel,
        file,
        about,
        figure,
        old,
        new,
    } = moved;
    let kernel = kernel.as_deref().map(in_message).unwrap_or_default();
    let file = file.as_deref().unwrap_or_default();
    let takes =
        |what: &str| format!("kernel `{kernel}` for {about} takes {new} {what}, and {old} are pinned");
    match figure {
        Figure::Registers => takes("registers"),
        Figure::Stack => takes("bytes of stack"),
        Figure::Shared => takes("bytes of static shared memory"),
        Figure::Code => takes("bytes of code"),
        Figure::Bytes => format!("the images for {about} take {new} bytes, and {old} are pinned"),
        Figure::Compiled => {
            format!("the driver compiles {new} bytes of PTX on {about}, and {old} are pinned")
        }
        Figure::Missing => format!("kernel `{kernel}` no longer loads on {about}"),
        Figure::Gone => format!("kernel `{kernel}` is pinned, and `{file}` no longer has it"),
    }
}

/// The kernel in the file, in the image for the target where there is one; else the file; else the first input with images.
fn place_of_figure(inputs: &[InputReport], files: &Files, moved: &Moved) -> ImagePlace {
    let file = moved.file.as_deref().and_then(|name| files.get(name));
    let with_images = || inputs.iter().position(|input| !input.images.is_empty());
    let input = file.map(|file| file.input).or_else(with_images).unwrap_or(0);
    let Some(kernel) = &moved.kernel else {
        return ImagePlace::input(input);
    };
    let holders = inputs
        .get(input)
        .into_iter()
        .flat_map(|input| (0_u32..).zip(&input.images));
    let mut holders = holders.filter_map(|(index, image)| {
        let mut kernels = image.facts.kernels.iter();
        let held = kernels.find(|held| held.identity == *kernel)?;
        Some((image.target == moved.about, index, held))
    });
    let first = holders.next();
    let best = holders
        .find(|(is_of_target, ..)| *is_of_target)
        .filter(|_| !first.is_some_and(|first| first.0));
    match best.or(first) {
        Some((_, index, held)) => ImagePlace::kernel(input, index, held),
        None => ImagePlace {
            function: Some(kernel.clone()),
            ..ImagePlace::input(input)
        },
    }
}
