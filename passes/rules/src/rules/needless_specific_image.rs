//! ## What it does
//!
//! With `gpus` in the policy: reports machine code for one architecture alone (`sm_120a`) that uses no instruction which its family
//! lacks, where that costs something: an image for the same target without the `a` has the same kernels, or a GPU of the policy in the
//! same family cannot load it.
//!
//! ## Why is this bad?
//!
//! Machine code with an `a` loads on one architecture; the same code built for the family (`sm_120f`) loads on the later ones of it as
//! well. Beside an image without the `a` it only takes room.
//!
//! ## Example
//!
//! ```text
//! warning[PTX518] needless-specific-image: 12 images for sm_120a need no architecture of their own: images for sm_120 have their kernels
//! ```
//!
//! ## Use instead
//!
//! `-gencode arch=compute_120f,code=sm_120f`, or without a letter.
//!
//! ## Limits
//!
//! ptxas notes in each image of CUDA 12.9 and later which class of instructions it uses. Images without the note are left alone, and so
//! are those for `sm_90a`, for which there is no family. A source can have other code for `a` although it needs none of its
//! instructions.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::Gpu;
use crate::inventory::{CodeClass, Group, ImageKind, ImageReport};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::gpu_list;

/// The oldest target with a family.
const FIRST_FAMILY: u32 = 100;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX518",
    name: "needless-specific-image",
    family: Family::Image,
    summary: "machine code for one architecture alone uses nothing that its family lacks",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// The images of one target, and why they are needless.
#[derive(Default)]
struct Found {
    images: Vec<u32>,
    bytes: u64,
}

/// The gain of an image for the family.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Gain {
    /// Nothing: another image is there.
    Room,
    /// Load on these GPUs.
    Reach(Vec<Gpu>),
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let gpus = &context.policy.gpus;
    if gpus.is_empty() {
        return;
    }
    for (number, input) in context.inputs.iter().enumerate() {
        let mut found: BTreeMap<(u32, Gain), Found> = BTreeMap::new();
        for group in input.groups() {
            for (index, image) in &group {
                let Some(gain) = gain_of_family_image(image, &group, gpus) else {
                    continue;
                };
                let found = found.entry((image.sm(), gain)).or_default();
                found.images.push(*index);
                found.bytes = found.bytes.saturating_add(image.packed);
            }
        }
        for ((sm, gain), found) in found {
            report_gain(number, sm, &gain, &found, report);
        }
    }
}

/// The gain if an image were built for its family; `None` if there is none, or if that is not known.
fn gain_of_family_image(image: &ImageReport, group: &Group<'_>, gpus: &[Gpu]) -> Option<Gain> {
    let is_specific = image.kind == ImageKind::Cubin && image.suffix() == "a" && image.sm() >= FIRST_FAMILY;
    let is_common = matches!(
        image.facts.code_class,
        Some(CodeClass::Baseline | CodeClass::FamilySpecific)
    );
    if !is_specific || !is_common || image.facts.kernels.is_empty() {
        return None;
    }
    let has_all = |other: &ImageReport| {
        let mut kernels = image.facts.kernels.iter();
        kernels.all(|kernel| {
            other
                .facts
                .kernels
                .iter()
                .any(|one| one.identity == kernel.identity)
        })
    };
    let serves = |other: &ImageReport, number: u32| {
        other.kind == ImageKind::Cubin
            && other.suffix() != "a"
            && other.sm() / 10 == number / 10
            && other.sm() <= number
    };
    let others = || group.iter().map(|(_, other)| *other);
    if others().any(|other| other.sm() == image.sm() && serves(other, image.sm()) && has_all(other)) {
        return Some(Gain::Room);
    }
    let is_gained = |gpu: &&Gpu| {
        let number = gpu.number();
        let is_later = number / 10 == image.sm() / 10 && number > image.sm();
        is_later && !others().any(|other| other.sm() == number || serves(other, number))
    };
    let reach: Vec<Gpu> = gpus.iter().filter(is_gained).copied().collect();
    (!reach.is_empty()).then_some(Gain::Reach(reach))
}

fn report_gain(number: usize, sm: u32, gain: &Gain, found: &Found, report: &mut Report<'_, ImagePlace>) {
    let what = match found.images.len() {
        1 => format!("an image for sm_{sm}a needs"),
        count => format!("{count} images for sm_{sm}a need"),
    };
    let message = match gain {
        Gain::Room => format!("{what} no architecture alone: images for sm_{sm} have the same kernels"),
        Gain::Reach(gpus) => format!(
            "{what} no architecture alone: built for sm_{sm}f they would load on {}",
            gpu_list(gpus)
        ),
    };
    let place = found.images.first().map_or_else(
        || ImagePlace::input(number),
        |first| ImagePlace::image(number, *first),
    );
    let finding = report.definite(place, message);
    finding.kind(match gain {
        Gain::Room => "room",
        Gain::Reach(_) => "reach",
    });
    finding.note(format!("bytes in the file: {}", found.bytes));
    finding.data("target", format!("sm_{sm}a"));
    finding.data("bytes", found.bytes);
    finding.data(
        "images",
        Value::Numbers(found.images.iter().copied().map(u64::from).collect()),
    );
    finding.help(match gain {
        Gain::Room => format!("leave out `code=sm_{sm}a`"),
        Gain::Reach(_) => format!("compile with `-gencode arch=compute_{sm}f,code=sm_{sm}f`"),
    });
}
