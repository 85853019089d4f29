//! ## What it does
//!
//! Holds every kernel of a file against the targets that the policy requires: machine code for each of `require-sm`, PTX
//! for each of `require-ptx`. Relocatable images that a finished link left in the file do not count: nothing loads them.
//!
//! ## Why is this bad?
//!
//! On a device without an image for it, a kernel fails at its launch with "no kernel image is available", long after the
//! library has loaded. A file that has the target at all hides that one of its kernels does not.
//!
//! ## Example
//!
//! ```text
//! error[PTX501] missing-target: there is no machine code for sm_120 of 3 of 202 kernels
//! ```
//!
//! A release of stable-diffusion.cpp for Windows held kernels for sm_90 only, and failed on every other device
//! (leejet/stable-diffusion.cpp, issue 1061).
//!
//! ## Use instead
//!
//! `-gencode arch=compute_120,code=sm_120` for all sources of the file, or a policy without the target.
//!
//! ## Limits
//!
//! Targets are compared by number: machine code for sm_80 runs on sm_86, too, and the finding says so; require 80 if that
//! is enough. A target without a letter is met by its architecture-specific variants for machine code, not for PTX.
//!
//! Nothing is missing as long as an image could hold it that cannot be read: a bundle of `nvcc --concat`, LTO-IR that is yet
//! to be linked, a broken image. Such images are reported themselves (PTX901, PTX903, PTX905).

use std::collections::BTreeMap;

use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, InputReport, Kernel, Role, listed, split_target};
use crate::limits::SHOWN_NAMES;
use crate::names::told;
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX501",
    name: "missing-target",
    aliases: &[],
    guidelines: &[],
    family: Family::Image,
    summary: "a kernel has no image for a target that the policy requires",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Images(check),
};

/// What a policy requires.
#[derive(Clone, Copy)]
struct Required<'a> {
    kind: ImageKind,
    target: &'a str,
}

impl Required<'_> {
    fn is_met_by(self, image: &ImageReport) -> bool {
        let (sm, suffix) = split_target(self.target);
        if image.kind != self.kind || image.sm() != sm {
            return false;
        }
        // Architecture-specific machine code runs on its architecture; such PTX loads nowhere else.
        image.suffix() == suffix || suffix.is_empty() && self.kind == ImageKind::Cubin
    }

    /// Whether an image that is not read could meet it.
    fn may_be_met_by(self, image: &ImageReport) -> bool {
        if image.is_whole() || !image.role.counts() {
            return false;
        }
        let may_be_target = image.target.is_empty() || image.sm() == split_target(self.target).0;
        match image.kind {
            ImageKind::Bundle | ImageKind::Other => true,
            ImageKind::LtoIr | ImageKind::LlvmIr => image.role == Role::Relocatable && may_be_target,
            ImageKind::Ptx | ImageKind::Cubin => image.kind == self.kind && may_be_target,
        }
    }

    fn describe(self) -> &'static str {
        match self.kind {
            ImageKind::Ptx => "PTX",
            _ => "machine code",
        }
    }
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let required = |kind, targets: &'_ [String]| -> Vec<(ImageKind, String)> {
        targets.iter().map(|target| (kind, target.clone())).collect()
    };
    let mut all = required(ImageKind::Cubin, &context.policy.require_sm);
    all.extend(required(ImageKind::Ptx, &context.policy.require_ptx));
    for (number, input) in context.inputs.iter().enumerate() {
        for (kind, target) in &all {
            one(number, input, Required { kind: *kind, target }, report);
        }
    }
}

fn one(number: usize, input: &InputReport, required: Required<'_>, report: &mut Report<'_, ImagePlace>) {
    if input.images.iter().any(|image| required.may_be_met_by(image)) {
        return;
    }
    // Name and first image of each kernel, and whether some image meets the requirement.
    let mut kernels: BTreeMap<&str, (u32, &Kernel, bool)> = BTreeMap::new();
    for (index, image) in input.counting() {
        let is_met = required.is_met_by(image);
        for kernel in &image.facts.kernels {
            kernels
                .entry(&kernel.identity)
                .or_insert((index, kernel, false))
                .2 |= is_met;
        }
    }
    let missing: Vec<_> = kernels.values().filter(|(.., is_met)| !is_met).collect();
    let Some((first, kernel, _)) = missing.first() else {
        return;
    };
    let (what, target) = (required.describe(), required.target);
    let (place, message) = if missing.len() == kernels.len() {
        let message = format!(
            "there is no {what} for sm_{target} of any of its {} kernels",
            kernels.len()
        );
        (ImagePlace::input(number), message)
    } else {
        let message = format!(
            "there is no {what} for sm_{target} of {} of {} kernels",
            missing.len(),
            kernels.len()
        );
        (ImagePlace::kernel(number, *first, kernel), message)
    };
    let names = missing
        .iter()
        .take(SHOWN_NAMES)
        .map(|(_, kernel, _)| told(&kernel.name))
        .collect();
    let finding = report.definite(place, message);
    finding.note(format!("without it: {}", listed(names, missing.len())));
    finding.data("required", format!("sm_{target}"));
    finding.data("kind", required.kind.as_str());
    finding.data(
        "kernels",
        Value::Texts(missing.iter().map(|(_, kernel, _)| kernel.name.clone()).collect()),
    );
    if let Some(note) = compatible(input, required) {
        finding.note(note);
    }
    let code = if required.kind == ImageKind::Ptx {
        "compute"
    } else {
        "sm"
    };
    finding.help(format!(
        "build all sources with `-gencode arch=compute_{target},code={code}_{target}`"
    ));
}

/// Machine code for an older target of the same generation runs there, too.
fn compatible(input: &InputReport, required: Required<'_>) -> Option<String> {
    let (sm, suffix) = split_target(required.target);
    let runs = |image: &ImageReport| {
        image.kind == ImageKind::Cubin
            && image.suffix().is_empty()
            && image.sm() / 10 == sm / 10
            && image.sm() < sm
    };
    let is_asked = required.kind == ImageKind::Cubin && suffix.is_empty();
    let image = input
        .counting()
        .map(|(_, image)| image)
        .find(|image| is_asked && runs(image))?;
    Some(format!(
        "its machine code for {} runs on sm_{sm}, too: require {} if that is enough",
        image.target,
        image.sm()
    ))
}
