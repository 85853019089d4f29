//! ## What it does
//!
//! Holds the kernels and variables that host code registers with the CUDA runtime against those that its images define, in
//! both directions:
//!
//! * what is registered and in no image of the object (or, for a linked file, of the file);
//! * kernels that host code can launch and never registers;
//! * kernels of an image that host code does not register (potential).
//!
//! ## Why is this bad?
//!
//! The launch fails with "invalid device function" or "named symbol not found", on every device. Host and device code were
//! compiled from declarations that differ, for which a template argument that depends on `__CUDA_ARCH__` is enough.
//!
//! nvcc compiles a source once for each architecture, and its host code registers the kernels of the last of these passes.
//! So a kernel template that host code launches under `#if __CUDA_ARCH__ …` is in some images only, and whether it can be
//! launched at all depends on the order of the architectures on the command line. clang registers what host code mentions,
//! and the images lack it.
//!
//! ## Example
//!
//! ```cuda
//! #ifdef __CUDA_ARCH__
//! using Tag = Device;
//! #else
//! using Tag = Host;
//! #endif
//! kernel<Tag><<<1, 1>>>();   // host code launches kernel<Host>, the images have kernel<Device>
//! ```
//!
//! As in llvm/llvm-project, issue 121942, where the launch ended with `cudaErrorSymbolNotFound`, and in pytorch/pytorch,
//! issue 177014.
//!
//! ## Use instead
//!
//! Template arguments of kernels that are the same in host and device compilation, and `#if __CUDA_ARCH__` in the bodies of
//! kernels, not around their launches.
//!
//! ## Limits
//!
//! The arguments of the registering calls are read: in objects, and in linked files for x86-64, stripped or not. For other linked files the
//! names of stubs are used if they are present, and nothing is reported for stripped ones. A linked file is compared with all of its images
//! together, not container by container. Files with LTO-IR or damaged images are left out: the symbols that those images define are not
//! known.
//!
//! Launched kernels are read off x86-64 code that nvcc made, and off the function that each launch of a kernel template
//! calls. With an optimised host (`-O1` and more) that function is mostly inlined where it is called, and no trace of the
//! kernel is left but in the images: of objects that is potential, of linked files it is silent. A function for launches
//! that other objects may have, too (`-rdc=true`, `-static-global-template-stub=false`), is potential unless the linker is
//! done with it, for the linker keeps one of them. So is one that nothing is seen to call.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::inventory::{ImageReport, InputReport, Launchable, Registration};
use crate::names::{c_name, in_message, normalised};
use crate::rule::{Certainties, Family, Level, Rule};

/// The section whose images host code registers.
const REGISTERED: &str = ".nv_fatbin";

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX504",
    name: "registered-symbol-missing",
    guidelines: &["G-1.10"],
    family: Family::Image,
    summary: "host code registers what no image defines, or launches what it does not register",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let Some(host) = &input.host else { continue };
        for launchable in &host.unregistered {
            report_unregistered(context, number, launchable, report);
        }
        let mut scopes: BTreeMap<Option<&str>, Vec<&Registration>> = BTreeMap::new();
        for one in host.registered.iter().filter(|one| one.is_certain) {
            scopes.entry(one.member.as_deref()).or_default().push(one);
        }
        for (member, registered) in scopes {
            check_scope(number, input, member, &registered, report);
            if !host.is_linked {
                report_unlaunchable(number, input, member, &registered, report);
            }
        }
    }
}

/// One object: of an archive, the member; else the file.
fn check_scope(
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
        let kept = by_stem.entry(name_stem(known)).or_insert(known);
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
        let finding = report.definite(
            place,
            format!(
                "host code{} registers {what} `{}`, and no image defines it",
                member_suffix(member),
                in_message(&one.name)
            ),
        );
        finding.data("symbol", one.name.clone()).caused_by_symbol();
        if let Some(known) = by_stem.get(name_stem(&one.name)).filter(|_| !one.is_variable) {
            finding.note(format!("the images have `{}`", in_message(known)));
        }
        finding.help("compile host and device code from the same declarations: nothing in them may depend on `__CUDA_ARCH__`");
    }
}

/// ` of ``a.o```, for the member of an archive.
fn member_suffix(member: Option<&str>) -> String {
    member.map_or_else(String::new, |member| format!(" of `{member}`"))
}

/// A kernel that host code can launch and does not register.
fn report_unregistered(
    context: &ImagesContext<'_>,
    number: usize,
    launchable: &Launchable,
    report: &mut Report<'_, ImagePlace>,
) {
    let input = &context.inputs[number];
    let member = launchable.member.as_deref();
    // Host code whose device code went elsewhere may be registered by hand.
    let mut images = input
        .images
        .iter()
        .filter(|image| image.member.as_deref() == member);
    if images.next().is_none() {
        return;
    }
    let name = &launchable.name;
    let is_registered_elsewhere = || {
        let hosts = context.inputs.iter().filter_map(|other| other.host.as_ref());
        hosts
            .flat_map(|host| &host.registered)
            .any(|one| one.is_certain && one.name == *name)
    };
    if !launchable.is_settled && is_registered_elsewhere() {
        return;
    }
    let mut place = ImagePlace::input(number);
    place.function = Some(name.clone());
    let whose = member_suffix(member);
    let finding = if launchable.is_called && launchable.is_settled {
        report.definite(
            place,
            format!(
                "host code{whose} launches kernel `{}` and never registers it",
                in_message(name)
            ),
        )
    } else {
        report.potential(
            place,
            format!(
                "host code{whose} can launch kernel `{}` and does not register it",
                in_message(name)
            ),
        )
    };
    finding.kind("unregistered").data("symbol", name.clone());
    if !launchable.is_settled {
        finding.note("the linker may keep the stub of another object, which registers the kernel");
    } else if !launchable.is_called {
        finding.note("nothing is seen to call the stub that launches it");
    }
    finding
        .note("nvcc registers the kernels of its last device pass: that for the last architecture on its command line")
        .help("launch the kernel for all architectures, and put `#if __CUDA_ARCH__` into its body");
}

/// Kernels that an image of the object has, and that the object does not register.
fn report_unlaunchable(
    number: usize,
    input: &InputReport,
    member: Option<&str>,
    registered: &[&Registration],
    report: &mut Report<'_, ImagePlace>,
) {
    let names: FxHashSet<_> = registered
        .iter()
        .filter(|one| !one.is_variable)
        .map(|one| normalised(&one.name))
        .collect();
    let host = input.host.iter().flat_map(|host| &host.unregistered);
    let mut told_of: FxHashSet<&str> = host.map(|launchable| launchable.name.as_str()).collect();
    for (index, image) in input.counting() {
        let is_of_host = image.member.as_deref() == member && image.section.as_deref() == Some(REGISTERED);
        if !is_of_host {
            continue;
        }
        for kernel in &image.facts.kernels {
            if names.contains(kernel.identity.as_str()) || !told_of.insert(&kernel.name) {
                continue;
            }
            let finding = report.potential(
                ImagePlace::kernel(number, index, kernel),
                format!(
                    "kernel `{}` is in the {}, and host code{} may be unable to launch it: it does not register it",
                    in_message(&kernel.name),
                    image.describe(),
                    member_suffix(member)
                ),
            );
            finding
                .kind("cannot launch")
                .data("symbol", kernel.name.clone())
                .note("nvcc registers the kernels of its last device pass: that for the last architecture on its command line")
                .help("declare and launch the kernel for all architectures, and put `#if __CUDA_ARCH__` into its body");
        }
    }
}

/// `kernel` of `_Z6kernelIfEvPT_`: names that differ in template arguments or parameters alone share it.
fn name_stem(mangled: &str) -> &str {
    let rest = mangled.strip_prefix("_Z").unwrap_or(mangled);
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let length: usize = rest[..digits].parse().unwrap_or(rest.len());
    rest.get(digits..digits.saturating_add(length)).unwrap_or(rest)
}
