//! ## What it does
//!
//! Compares every kernel of a file with the targets that the policy requires: machine code for each of `require-sm`, PTX
//! for each of `require-ptx`. Relocatable PTX in a linked file (`-rdc=true`) counts as PTX if all objects have it: the driver links it
//! where the linked machine code does not fit. Relocatable machine code there does not count.
//!
//! Without `-rdc=true` each translation unit has images of its own and launches their kernels only: a template kernel has to
//! have the target in each unit that launches it, and so has each of several static kernels of one name.
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

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, InputReport, Kernel, Role, listed, split_target};
use crate::limits::SHOWN_NAMES;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

/// The section whose images host code registers.
const REGISTERED: &str = ".nv_fatbin";

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX501",
    name: "missing-target",
    family: Family::Image,
    summary: "a kernel has no image for a target that the policy requires",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// A requirement of a policy.
#[derive(Clone, Copy)]
struct Requirement<'a> {
    kind: ImageKind,
    target: &'a str,
}

impl Requirement<'_> {
    fn is_met_by(self, image: &ImageReport) -> bool {
        let (sm, suffix) = split_target(self.target);
        if image.kind != self.kind || image.sm() != sm {
            return false;
        }
        // Architecture-specific machine code runs on its architecture; such PTX loads nowhere else.
        image.suffix() == suffix || suffix.is_empty() && self.kind == ImageKind::Cubin
    }

    /// True if an image that is not read could meet it.
    fn may_be_met_by(self, image: &ImageReport) -> bool {
        if image.is_whole() || !(image.role.counts() || image.is_ptx_of_driver()) {
            return false;
        }
        let may_be_target = image.target.is_empty() || image.sm() == split_target(self.target).0;
        match image.kind {
            ImageKind::Bundle | ImageKind::Other => true,
            ImageKind::LtoIr | ImageKind::LlvmIr | ImageKind::Mlir => {
                image.role == Role::Relocatable && may_be_target
            }
            ImageKind::Ptx | ImageKind::Cubin => image.kind == self.kind && may_be_target,
        }
    }

    fn requirement_in_words(self) -> &'static str {
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
            check_input(number, input, Requirement { kind: *kind, target }, report);
        }
    }
}

fn check_input(
    number: usize,
    input: &InputReport,
    required: Requirement<'_>,
    report: &mut Report<'_, ImagePlace>,
) {
    if input.images.iter().any(|image| required.may_be_met_by(image)) {
        return;
    }
    let kernels = kernels_by_name(input, required);
    let missing: Vec<_> = kernels.values().filter_map(|kernel| kernel.without).collect();
    let Some((first, kernel)) = missing.first() else {
        return;
    };
    let (what, target) = (required.requirement_in_words(), required.target);
    let is_elsewhere = kernels
        .values()
        .any(|kernel| kernel.without.is_some() && kernel.is_met);
    let (place, message) = if missing.len() == kernels.len() && !is_elsewhere {
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
        .map(|(_, kernel)| in_message(&kernel.name))
        .collect();
    let finding = report.definite(place, message);
    finding.note(format!("without it: {}", listed(names, missing.len())));
    finding.data("required", format!("sm_{target}"));
    finding.data("kind", required.kind.as_str());
    finding.data(
        "kernels",
        Value::Texts(missing.iter().map(|(_, kernel)| kernel.name.clone()).collect()),
    );
    if is_elsewhere {
        finding.note("other objects in the file have it: each launches the kernels of its own images");
    }
    if let Some(note) = compatible_target(input, required) {
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

/// The kernels of one name.
#[derive(Default)]
struct KernelImages<'a> {
    /// The first that no image meets the requirement for, and its image.
    without: Option<(u32, &'a Kernel)>,
    /// One of them has such an image.
    is_met: bool,
}

/// The kernels of a file, by name. Each container that host code registers is a module of its own: host code launches only its kernels,
/// even if another container has kernels of the same name. All other images are one program.
fn kernels_by_name<'a>(
    input: &'a InputReport,
    required: Requirement<'_>,
) -> BTreeMap<&'a str, KernelImages<'a>> {
    let mut modules: BTreeMap<(&str, Option<u32>), (u32, &Kernel, bool)> = BTreeMap::new();
    for (index, image) in input.counting() {
        let is_registered = image.role == Role::Loadable && image.section.as_deref() == Some(REGISTERED);
        let module = image.container.filter(|_| is_registered);
        let is_met = required.is_met_by(image);
        for kernel in &image.facts.kernels {
            let known = modules.entry((&kernel.identity, module));
            known.or_insert((index, kernel, false)).2 |= is_met;
        }
    }
    let of_driver = kernels_linked_at_load(input, required);
    let mut kernels: BTreeMap<&str, KernelImages<'_>> = BTreeMap::new();
    for ((name, _), (index, kernel, is_met)) in modules {
        let is_met = is_met || of_driver.contains(name);
        let same = kernels.entry(name).or_default();
        same.is_met |= is_met;
        if !is_met {
            same.without.get_or_insert((index, kernel));
        }
    }
    kernels
}

/// The kernels in relocatable PTX of a linked file that meets the requirement. The driver links all objects together: one without PTX
/// for the target, or an older one, leaves nothing that loads.
fn kernels_linked_at_load<'a>(input: &'a InputReport, required: Requirement<'_>) -> BTreeSet<&'a str> {
    let (sm, suffix) = split_target(required.target);
    let mut kernels = BTreeSet::new();
    let mut has_ptx: BTreeMap<Option<u32>, bool> = BTreeMap::new();
    let images = input.images.iter();
    for image in images.filter(|image| image.role == Role::LinkedAtLoad && !image.is_empty()) {
        let fits =
            image.sm() == sm && image.suffix() == suffix || image.sm() < sm && image.suffix().is_empty();
        *has_ptx.entry(image.container).or_default() |= image.is_ptx_of_driver() && fits;
        if image.is_ptx_of_driver() && required.is_met_by(image) {
            kernels.extend(image.facts.kernels.iter().map(|kernel| kernel.identity.as_str()));
        }
    }
    if has_ptx.values().any(|has_ptx| !has_ptx) {
        kernels.clear();
    }
    kernels
}

/// Machine code for an older target of the same generation runs there, too.
fn compatible_target(input: &InputReport, required: Requirement<'_>) -> Option<String> {
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
