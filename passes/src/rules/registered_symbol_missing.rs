//! ## What it does
//!
//! Reads which kernels and variables host code registers with the CUDA runtime, and reports those that no image of the
//! object (or, for a linked file, of the file) defines.
//!
//! ## Why is this bad?
//!
//! The launch fails with "invalid device function" or "named symbol not found", on every device. Host and device code were
//! compiled from declarations that differ, which a template argument that depends on `__CUDA_ARCH__` is enough for.
//!
//! ## Example
//!
//! ```cuda
//! #ifdef __CUDA_ARCH__
//! using Tag = Device;
//! #else
//! using Tag = Host;
//! #endif
//! kernel<Tag><<<1, 1>>>();   // the host registers kernel<Host>, the images have kernel<Device>
//! ```
//!
//! As in llvm/llvm-project, issue 121942, where the launch ended with `cudaErrorSymbolNotFound`.
//!
//! ## Use instead
//!
//! Template arguments of kernels that are the same in host and device compilation.
//!
//! ## Limits
//!
//! In objects the arguments of the registering calls are read, in linked files the names of the stubs, which stripped
//! files lack: of those nothing is reported. Variables are known in objects only. Files with LTO-IR or damaged images are
//! left out: what those define is not known.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::context::{ImagePlace, ImagesContext, Report};
use crate::inventory::{ImageReport, InputReport, Registration};
use crate::names::{c_name, normalised, told};
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX504",
    name: "registered-symbol-missing",
    aliases: &[],
    guidelines: &["G-1.10"],
    family: Family::Image,
    summary: "host code registers a kernel or variable that no image defines",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: false,
    check: Check::Images(check),
};

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let Some(host) = &input.host else { continue };
        let mut scopes: BTreeMap<Option<&str>, Vec<&Registration>> = BTreeMap::new();
        for one in host.registered.iter().filter(|one| one.is_certain) {
            scopes.entry(one.member.as_deref()).or_default().push(one);
        }
        for (member, registered) in scopes {
            scope(number, input, member, &registered, report);
        }
    }
}

/// One object: of an archive, the member; else the file.
fn scope(
    number: usize,
    input: &InputReport,
    member: Option<&str>,
    registered: &[&Registration],
    report: &mut Report<'_, ImagePlace>,
) {
    let images = || {
        input
            .images
            .iter()
            .filter(|image| image.member.as_deref() == member)
    };
    // An object without images was compiled for the host alone; one with closed images may have anything in them.
    if images().next().is_none() || !images().all(ImageReport::is_whole) {
        return;
    }
    let (mut kernels, mut variables) = (FxHashSet::default(), FxHashSet::default());
    for image in images() {
        kernels.extend(image.facts.kernels.iter().map(|kernel| kernel.identity.as_str()));
        variables.extend(
            image
                .facts
                .variables
                .iter()
                .map(|variable| variable.identity.as_str()),
        );
    }
    let mut by_stem: BTreeMap<&str, &str> = BTreeMap::new();
    for known in &kernels {
        let kept = by_stem.entry(stem(known)).or_insert(known);
        *kept = (*kept).min(known);
    }
    for one in registered {
        let (what, defined) = if one.is_variable {
            ("variable", &variables)
        } else {
            ("kernel", &kernels)
        };
        // The name of a stub does not say whether its kernel is one of C.
        let plain = c_name(&one.name).filter(|_| !one.is_variable);
        if defined.contains(normalised(&one.name).as_ref())
            || plain.is_some_and(|name| defined.contains(name))
        {
            continue;
        }
        let mut place = ImagePlace::input(number);
        place.function = (!one.is_variable).then(|| one.name.clone());
        let whose = member.map_or_else(String::new, |member| format!(" of `{member}`"));
        let finding = report.definite(
            place,
            format!(
                "host code{whose} registers {what} `{}`, and no image defines it",
                told(&one.name)
            ),
        );
        finding.data("symbol", one.name.clone());
        if let Some(known) = by_stem.get(stem(&one.name)).filter(|_| !one.is_variable) {
            finding.note(format!("the images have `{}`", told(known)));
        }
        finding.help("compile host and device code from the same declarations: nothing in them may depend on `__CUDA_ARCH__`");
    }
}

/// `kernel` of `_Z6kernelIfEvPT_`: names that differ in template arguments or parameters alone share it.
fn stem(mangled: &str) -> &str {
    let rest = mangled.strip_prefix("_Z").unwrap_or(mangled);
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let length: usize = rest[..digits].parse().unwrap_or(rest.len());
    rest.get(digits..digits.saturating_add(length)).unwrap_or(rest)
}
