//! ## What it does
//!
//! With `variants = "check"` in the policy: reports claims of a variant wheel's metadata that its images do not keep: an architecture
//! without code for it, drivers that are too old for the code, and machine code that no machine which gets the wheel ever loads.
//!
//! ## Why is this bad?
//!
//! `90_real` promises machine code. Without it a GPU gets a wheel whose kernels the driver compiles at the first launch, or does not load at
//! all. A `cuda_version_lower_bound` that is older than what the code needs gives the wheel to machines whose driver refuses it ("the
//! provided PTX was compiled with an unsupported toolchain"). Machine code for an architecture that the metadata do not offer the wheel
//! to is carried by all who install it, and used by nobody.
//!
//! ## Example
//!
//! ```text
//! error[PTX525] variant-claim: the metadata claim `90_real`, and no image is machine code for it
//!   --> x-1.0-py3-none-linux_x86_64-cu13.whl!x-1.0.dist-info/variant.json
//!    = note: the wheel has machine code for sm_80 and PTX for sm_80
//! ```
//!
//! ## Use instead
//!
//! Metadata made of the list of architectures that the wheel is compiled for: one `_real` for each `code=sm_…`, one `_virtual` for each
//! `code=compute_…` without `a` and `f`, and as the lower bound the version of CUDA that PTX for a GPU was compiled with, or the first
//! of its major version for machine code alone (CUDA Compatibility, Minor Version Compatibility).
//!
//! ## Limits
//!
//! Machine code for an older GPU of the same generation keeps a claim. So does relocatable PTX in a linked library, which the driver
//! links where no machine code fits. Needless machine code is a warning. Whether the driver loads each
//! kernel is PTX517's. A wheel without kernels, whose metadata speak of what it depends on, is left alone, as is one of which a
//! part could not be read.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::Gpu;
use crate::inventory::{ImageKind, ImageReport, listed};
use crate::policy::Driver;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::gpu_list;
use crate::support::variants::{Specialised, VariantWheel};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX525",
    name: "variant-claim",
    family: Family::Image,
    summary: "metadata of a variant wheel claim code or drivers that its images do not have",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    if !context.policy.check_variants {
        return;
    }
    for wheel in context.variant_wheels() {
        report_targets_without_image(wheel, report);
        report_driver_bounds(wheel, report);
        report_unclaimed_code(wheel, report);
    }
}

fn images_of_wheel<'a>(wheel: &VariantWheel<'a>) -> impl Iterator<Item = &'a ImageReport> {
    let images = wheel.inputs.iter().flat_map(|(_, input)| &input.images);
    let is_claimed = |image: &&ImageReport| image.role.counts() || image.is_ptx_of_driver();
    images
        .filter(is_claimed)
        .filter(|image| !image.facts.kernels.is_empty())
}

/// Architectures that are claimed, and that no image is for.
fn report_targets_without_image(wheel: &VariantWheel<'_>, report: &mut Report<'_, ImagePlace>) {
    let serves = |image: &ImageReport, number: u32| {
        image.kind == ImageKind::Cubin && image.sm() / 10 == number / 10 && image.sm() <= number
    };
    let is_ptx_for = |image: &ImageReport, number: u32| {
        image.kind == ImageKind::Ptx && image.suffix().is_empty() && image.sm() <= number
    };
    let real = wheel.claims.real.iter().map(|number| (*number, true));
    let virtuals = wheel.claims.virtuals.iter().map(|number| (*number, false));
    for (number, is_real) in real.chain(virtuals) {
        // From LTO-IR the driver makes machine code for any GPU.
        let is_kept = images_of_wheel(wheel).any(|image| match image.kind {
            ImageKind::Cubin => is_real && serves(image, number),
            ImageKind::Ptx => !is_real && is_ptx_for(image, number),
            _ => true,
        });
        if is_kept {
            continue;
        }
        let claim = format!("{number}_{}", if is_real { "real" } else { "virtual" });
        let code = if is_real { "machine code" } else { "PTX" };
        let finding = report.definite(
            ImagePlace::input(wheel.metadata),
            format!("the metadata claim `{claim}`, and no image is {code} for it"),
        );
        finding.kind("target");
        let forms: BTreeSet<(u32, String)> = images_of_wheel(wheel)
            .map(|image| (image.sm(), image.describe()))
            .collect();
        let count = forms.len();
        let forms = forms.into_iter().map(|(_, form)| form).collect();
        finding.note(format!("the wheel has {}", listed(forms, count)));
        finding.data("symbol", claim);
        finding.caused_by_symbol();
    }
}

/// Bounds of drivers that leave no driver, or some that the code is too new for.
fn report_driver_bounds(wheel: &VariantWheel<'_>, report: &mut Report<'_, ImagePlace>) {
    let claims = &wheel.claims;
    if let (Some(lower), Some(upper)) = (claims.lower, claims.upper)
        && lower >= upper
    {
        let finding = report.definite(
            ImagePlace::input(wheel.metadata),
            format!("no driver supports CUDA {lower} or newer and is older than {upper}"),
        );
        finding.kind("no-driver");
        return;
    }
    let Some((lower, driver)) = claims.lower.and_then(|lower| Some((lower, lower.driver()?))) else {
        return;
    };
    // For each GPU, the kernels that need a newer driver, and the newest of those.
    let mut late: BTreeMap<Gpu, (u32, usize)> = BTreeMap::new();
    for (_, input, forecast) in wheel.forecasts() {
        let specialised = Specialised::of(input);
        for row in forecast.kernels.iter().filter(|row| !specialised.contains(row)) {
            for (gpu, cell) in forecast.gpus.iter().zip(&row.cells) {
                // A machine with the GPU has a driver that knows it.
                let oldest = Driver(driver.0.max(gpu.first_branch()), 0, 0);
                if let Some(needed) = cell.driver
                    && cell.state.loads()
                    && !cell.is_by_library
                    && needed.exceeds(oldest)
                {
                    let entry = late.entry(*gpu).or_default();
                    *entry = (entry.0.max(needed.branch), entry.1 + 1);
                }
            }
        }
    }
    let mut alike: BTreeMap<u32, (Vec<Gpu>, usize)> = BTreeMap::new();
    for (gpu, (branch, kernels)) in late {
        let entry = alike.entry(branch).or_default();
        entry.0.push(gpu);
        entry.1 = entry.1.max(kernels);
    }
    for (branch, (gpus, kernels)) in alike {
        let load = if kernels == 1 {
            "kernel loads"
        } else {
            "kernels load"
        };
        let finding = report.definite(
            ImagePlace::input(wheel.metadata),
            format!(
                "the metadata offer the wheel from CUDA {lower} on, and {kernels} {load} from driver {branch} on"
            ),
        );
        finding.kind("driver");
        finding.note(format!(
            "on {}; CUDA {lower} is supported from driver {} on",
            gpu_list(&gpus),
            driver.0
        ));
        finding.data("symbol", branch.to_string());
        finding.caused_by_symbol();
        finding.data("gpus", Value::Texts(gpus.iter().map(Gpu::to_string).collect()));
        finding.help("raise `cuda_version_lower_bound`, or add machine code for these GPUs");
    }
}

/// Machine code that none of the GPUs loads that the wheel is offered to.
fn report_unclaimed_code(wheel: &VariantWheel<'_>, report: &mut Report<'_, ImagePlace>) {
    let gpus = wheel.gpus();
    // Without a GPU that is known, nothing is known of others.
    if gpus.is_empty() {
        return;
    }
    let is_of_use = |image: &ImageReport| {
        let of_generation = |number: u32| number / 10 == image.sm() / 10 && number >= image.sm();
        gpus.iter().any(|gpu| of_generation(gpu.number()))
            || wheel.claims.real.iter().any(|number| of_generation(*number))
    };
    let mut needless: BTreeMap<(u32, &str), (u64, usize)> = BTreeMap::new();
    for image in images_of_wheel(wheel) {
        if image.kind == ImageKind::Cubin && image.sm() > 0 && !is_of_use(image) {
            let entry = needless.entry((image.sm(), &image.target)).or_default();
            *entry = (entry.0.saturating_add(image.packed), entry.1 + 1);
        }
    }
    for ((_, target), (bytes, count)) in needless {
        let images = if count == 1 { "image" } else { "images" };
        let finding = report.definite(
            ImagePlace::input(wheel.metadata),
            format!("the wheel has {count} {images} for {target}, and the metadata offer it to no GPU that loads them"),
        );
        finding.kind("unclaimed").at_most(Level::Warning);
        finding.note(format!("bytes in the wheel's files: {bytes}"));
        finding.data("symbol", target);
        finding.caused_by_symbol();
        finding.data("bytes", bytes);
        finding.help(format!("leave out `code={target}`, or claim it"));
    }
}
