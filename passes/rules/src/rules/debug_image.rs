//! ## What it does
//!
//! Reports images in objects, libraries and fat binaries that were built with `-G`.
//!
//! ## Why is this bad?
//!
//! `-G` turns off all optimisation of device code: kernels are several times slower, take more registers and stack, and
//! may not launch at block sizes that the optimised ones allow. In a release it is a mistake in the build flags.
//!
//! ## Example
//!
//! ```text
//! warning[PTX507] debug-image: 4 of its 12 images are built with -G
//! ```
//!
//! Draco's standard flags once had `-G` instead of `-g`, which nobody noticed but by a mysterious slowdown (lanl/Draco, pull
//! request 1122).
//!
//! ## Use instead
//!
//! `-lineinfo`, which keeps the optimisation and gives profilers and ptxcheck their lines.
//!
//! ## Limits
//!
//! A PTX file of its own is not reported: such files are for development. `-A PTX507` for debug builds.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX507",
    name: "debug-image",
    family: Family::Image,
    summary: "an image is built for debugging",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let is_packed = |image: &ImageReport| image.container.is_some() || image.kind == ImageKind::Cubin;
        let found: Vec<u32> = (0..)
            .zip(&input.images)
            .filter(|(_, image)| image.is_debug && !image.role.is_copy() && is_packed(image))
            .map(|(index, _)| index)
            .collect();
        let Some(first) = found.first() else {
            continue;
        };
        let all = input.images.iter().filter(|image| !image.role.is_copy()).count();
        let message = match found.len() {
            1 if all == 1 => "its only image is built with -G".to_owned(),
            count => format!("{count} of its {all} images are built with -G"),
        };
        let finding = report.definite(ImagePlace::image(number, *first), message);
        finding.data(
            "images",
            Value::Numbers(found.iter().copied().map(u64::from).collect()),
        );
        finding.note("device code is not optimised in such builds");
        finding.help("compile with -lineinfo instead");
    }
}
