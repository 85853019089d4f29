//! ## What it does
//!
//! With a declared minimum driver: reports images packed with zstd if that driver is older than 550.54.14, the first one
//! that unpacks them.
//!
//! ## Why is this bad?
//!
//! Older drivers fail with "device kernel image is invalid" at the first launch. nvcc packs with zstd from CUDA 13 on, and
//! before with `--compress-mode=size` or `balance`.
//!
//! ## Example
//!
//! ```text
//! error[PTX508] compression-too-new: 12 images are packed with zstd, which driver 535 cannot unpack
//! ```
//!
//! Ollama turned compression on and lost everybody with a driver below 550 (ollama/ollama, pull request 12258 and issue
//! 16449).
//!
//! ## Use instead
//!
//! `--compress-mode=speed` (LZ4, which all drivers unpack) or `none`, or a newer minimum driver.
//!
//! ## Limits
//!
//! The driver is compared as a whole: 550.40 is too old. Whether a file is loaded by that driver at all (CUDA 13 needs 580)
//! is not checked.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::policy::FIRST_ZSTD_DRIVER;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX508",
    name: "compression-too-new",
    family: Family::Image,
    summary: "images are packed in a way that the declared minimum driver cannot unpack",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let Some(minimum) = context
        .policy
        .min_driver
        .filter(|minimum| *minimum < FIRST_ZSTD_DRIVER)
    else {
        return;
    };
    for (number, input) in context.inputs.iter().enumerate() {
        let found: Vec<u32> = (0..)
            .zip(&input.images)
            .filter(|(_, image)| image.compression == Some("zstd") && image.role.counts())
            .map(|(index, _)| index)
            .collect();
        let Some(first) = found.first() else {
            continue;
        };
        let message = match found.len() {
            1 => format!("an image is packed with zstd, which driver {minimum} cannot unpack"),
            count => format!("{count} images are packed with zstd, which driver {minimum} cannot unpack"),
        };
        let finding = report.definite(ImagePlace::image(number, *first), message);
        finding.data(
            "images",
            Value::Numbers(found.iter().copied().map(u64::from).collect()),
        );
        finding.data("driver", FIRST_ZSTD_DRIVER.to_string());
        finding.data("minimum", minimum.to_string());
        finding.note(format!("the first driver that can is {FIRST_ZSTD_DRIVER}"));
        finding.help("compile with `--compress-mode=speed`, or raise the minimum driver");
    }
}
