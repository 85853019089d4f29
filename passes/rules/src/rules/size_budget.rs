//! ## What it does
//!
//! With `max-target-size`: adds up, for each target of a file, what its images take in the file, and reports targets over
//! the budget. With `forbid-duplicates`: reports images that lie in a file more than once.
//!
//! ## Why is this bad?
//!
//! Package indices limit the size of a file, and every user downloads and maps the code of targets they do not have. One
//! target more in the build flags is easily a hundred megabytes.
//!
//! ## Example
//!
//! ```text
//! error[PTX511] size-budget: the images for sm_90 take 104857601 bytes, and the policy allows 104857600
//! ```
//!
//! A release of fbgemm-gpu with one more target was refused by PyPI at 100 MB (pytorch/FBGEMM, pull request 914); RAPIDS holds
//! its wheels to thresholds for that reason (NVIDIA/cuvs, issue 735).
//!
//! ## Use instead
//!
//! Fewer targets, `--compress-mode=size`, one PTX for the newest target instead of one for each.
//!
//! ## Limits
//!
//! Bytes are counted as they lie in the file, headers aside. Two images are duplicates if their unpacked bytes are the
//! same; the same source compiled twice with other options is not. Images that define nothing, which nvcc writes for each
//! unit without device code, are not duplicates.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::InputReport;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX511",
    name: "size-budget",
    family: Family::Image,
    summary: "the images of a file exceed the size that the policy allows",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        if let Some(budget) = context.policy.max_target_bytes {
            report_targets(number, input, budget, report);
        }
        if context.policy.forbid_duplicates {
            report_duplicates(number, input, report);
        }
    }
}

fn report_targets(number: usize, input: &InputReport, budget: u64, report: &mut Report<'_, ImagePlace>) {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for image in input.images.iter().filter(|image| !image.role.is_copy()) {
        let (bytes, count) = sums.entry(&image.target).or_default();
        *bytes = bytes.saturating_add(image.packed);
        *count += 1;
    }
    for (target, (bytes, count)) in sums.into_iter().filter(|(_, (bytes, _))| *bytes > budget) {
        let target = if target.is_empty() {
            "an unknown target"
        } else {
            target
        };
        let finding = report.definite(
            ImagePlace::input(number),
            format!("the images for {target} take {bytes} bytes, and the policy allows {budget}"),
        );
        finding.note(format!("images for it: {count}"));
        finding
            .data("target", target)
            .data("bytes", bytes)
            .data("limit", budget);
        finding.help("compile for fewer targets, or with `--compress-mode=size`");
    }
}

fn report_duplicates(number: usize, input: &InputReport, report: &mut Report<'_, ImagePlace>) {
    let mut first: FxHashMap<u128, u32> = FxHashMap::default();
    let (mut again, mut bytes) = (Vec::new(), 0_u64);
    for (index, image) in (0_u32..).zip(&input.images) {
        // nvcc writes the same image for each unit without device code.
        let counts = !image.role.is_copy() && !image.is_empty();
        let Some(digest) = image.digest.filter(|_| counts) else {
            continue;
        };
        if *first.entry(digest).or_insert(index) != index {
            again.push(index);
            bytes = bytes.saturating_add(image.packed);
        }
    }
    let Some(place) = again.first() else {
        return;
    };
    let finding = report.definite(
        ImagePlace::image(number, *place),
        match again.len() {
            1 => format!("an image lies in the file twice: {bytes} bytes for nothing"),
            count => format!("{count} images lie in the file more than once: {bytes} bytes for nothing"),
        },
    );
    finding.kind("duplicates");
    finding.data("bytes", bytes);
    finding.data(
        "images",
        Value::Numbers(again.iter().copied().map(u64::from).collect()),
    );
    finding.help("link each object once; compile shared kernels in one source");
}
