//! ## What it does
//!
//! Reports fat binaries with machine code whose only PTX is architecture-specific (`sm_90a`) or family-specific
//! (`sm_100f`).
//!
//! ## Why is this bad?
//!
//! PTX beside machine code is there for devices that come later, and such PTX does not load on them, family-specific PTX not
//! outside its family (PTX ISA, .target): the program fails there with "no kernel image is available". On its own
//! architecture the machine code is loaded anyway, if there is some.
//!
//! ## Example
//!
//! ```text
//! nvcc -gencode arch=compute_86,code=sm_86 -gencode arch=compute_90a,code=compute_90a
//! ```
//!
//! onnxruntime-gpu 1.23 was built so and failed on the RTX 5090, where 1.22 had run (microsoft/onnxruntime, pull request
//! 26230).
//!
//! ## Use instead
//!
//! `-gencode arch=compute_90,code=compute_90` for the PTX, and `code=sm_90a` for the machine code of kernels that need it.
//!
//! ## Limits
//!
//! A fat binary without machine code is left alone: its PTX is meant for the devices it names. So is PTX with instructions
//! that only that architecture has (`wgmma`, `setmaxnreg`, `tcgen05`): there is no other PTX for these kernels, and it may be
//! left out (`code=sm_90a` alone). Instructions of which some forms are common to all architectures (`mma` with scales,
//! conversions to narrow types) are not looked for.

use std::collections::BTreeSet;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, listed};
use crate::limits::SHOWN_NAMES;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX506",
    name: "arch-specific-ptx",
    family: Family::Image,
    summary: "the only PTX beside machine code cannot run on later devices",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let mut found: Vec<(u32, &ImageReport)> = Vec::new();
        let closed = input.closed();
        let mut groups = input.groups();
        groups.retain(|group| !closed.contains(&group[0].1.container));
        groups.retain(|group| group.iter().any(|(_, image)| image.kind == ImageKind::Cubin));
        let containers = groups.len();
        for group in groups {
            let ptx: Vec<_> = group
                .iter()
                .filter(|(_, image)| image.kind == ImageKind::Ptx && image.role.counts())
                .collect();
            let is_forward = ptx.iter().any(|(_, image)| image.suffix().is_empty());
            if !is_forward {
                let others = ptx.iter().filter(|(_, image)| !image.facts.needs_its_target);
                found.extend(others.map(|(index, image)| (*index, *image)));
            }
        }
        report_images(number, &found, containers, report);
    }
}

/// Reports the images of an input, as one finding: one list of architectures is to be mended.
fn report_images(
    number: usize,
    found: &[(u32, &ImageReport)],
    containers: usize,
    report: &mut Report<'_, ImagePlace>,
) {
    let Some((first, _)) = found.first() else {
        return;
    };
    let targets: BTreeSet<(u32, &str)> = found
        .iter()
        .map(|(_, image)| (image.sm(), image.target.as_str()))
        .collect();
    let names: Vec<&str> = targets.iter().map(|(_, target)| *target).collect();
    let mut plain: Vec<&str> = names
        .iter()
        .map(|target| target.trim_end_matches(['a', 'f']))
        .collect();
    plain.dedup();
    let reach = if names.iter().any(|target| target.ends_with('f')) {
        "outside its family "
    } else {
        ""
    };
    let whose = match (found.len(), containers) {
        (_, 1) => "its machine code".to_owned(),
        (count, all) => format!("the machine code of {count} of {all} containers"),
    };
    let finding = report.definite(
        ImagePlace::image(number, *first),
        format!(
            "the only PTX beside {whose} is for {}, which no later device {reach}can run",
            names.join(" or ")
        ),
    );
    if containers > 1 {
        let shown = found
            .iter()
            .take(SHOWN_NAMES)
            .map(|(index, image)| image_in_words(*index, image));
        finding.note(format!("in {}", listed(shown.collect(), found.len())));
    }
    finding.data("target", names.join(", "));
    finding.data(
        "images",
        Value::Numbers(found.iter().map(|(index, _)| u64::from(*index)).collect()),
    );
    finding.help(format!(
        "compile the PTX for {}, or leave it out where the kernels need {}",
        plain.join(" and "),
        names.join(" or ")
    ));
}

/// ``image 3 for sm_90a (`k(float*)` and 2 more kernels)``.
fn image_in_words(index: u32, image: &ImageReport) -> String {
    let kernels = match image.facts.kernels.as_slice() {
        [] => String::new(),
        [kernel] => format!(" (`{}`)", in_message(&kernel.name)),
        [kernel, rest @ ..] => {
            let kernels = if rest.len() == 1 { "kernel" } else { "kernels" };
            format!(
                " (`{}` and {} more {kernels})",
                in_message(&kernel.name),
                rest.len()
            )
        }
    };
    format!("image {index} for {}{kernels}", image.target)
}
