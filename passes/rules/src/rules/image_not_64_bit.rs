//! ## What it does
//!
//! Reports images for 32-bit addresses.
//!
//! ## Why is this bad?
//!
//! A 64-bit program cannot load them, and drivers load them for no program on devices since Blackwell. nvcc has not written
//! them since CUDA 12; they come from old objects, or from `.address_size 32` in generated PTX.
//!
//! ## Example
//!
//! ```ptx
//! .version 7.0
//! .target sm_70
//! .address_size 32
//! ```
//!
//! 32-bit PhysX games lost their acceleration on the GeForce RTX 50 series, whose driver has no 32-bit CUDA.
//!
//! ## Use instead
//!
//! `.address_size 64` and 64-bit pointers; `-m64`, which is nvcc's default.
//!
//! ## Limits
//!
//! Modules without any `.address_size`, for which the PTX ISA says 32, are not reported: the assembler takes the size from
//! its own options. A PTX file of its own is reported only if it says 32.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::ImageReport;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX513",
    name: "image-not-64-bit",
    family: Family::Image,
    summary: "an image is for 32-bit addresses",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let found: Vec<(u32, &ImageReport)> = (0..)
            .zip(&input.images)
            .filter(|(_, image)| !image.is_64_bit)
            .collect();
        let Some((first, image)) = found.first() else {
            continue;
        };
        let message = match found.len() {
            1 => format!("its {} is for 32-bit addresses", image.describe()),
            count => format!("{count} images are for 32-bit addresses"),
        };
        let finding = report.definite(ImagePlace::image(number, *first), message);
        finding.data(
            "images",
            Value::Numbers(found.iter().map(|(index, _)| u64::from(*index)).collect()),
        );
        finding.note("64-bit programs cannot load it");
        finding.help("compile for 64-bit addresses");
    }
}
