//! The bytes of the images of a file: by target and use, and by kernel family.

use std::collections::BTreeMap;

use ptxcheck_passes::inventory::{ImageKind, ImageReport, SectionBytes};
use ptxcheck_passes::names::base;
use ptxcheck_passes::run::InputReport;
use serde::Serialize;

use crate::amounts::{plural, size};
use crate::table::{table, without_middle};

/// Most kernel families that are listed.
const LISTED_FAMILIES: usize = 20;

/// Most characters of the name of one.
const SHOWN_NAME: usize = 70;

/// The images of a kind and target.
#[derive(Serialize)]
pub(crate) struct TargetBytes<'a> {
    kind: &'static str,
    target: &'a str,
    images: usize,
    /// Bytes in the file.
    packed: u64,
    /// Bytes that are unpacked: the others, and symbols, relocations and attributes.
    unpacked: u64,
    code: u64,
    lines: u64,
    debug: u64,
    constants: u64,
    ptx: u64,
    /// Number of the images whose kernels have no body: the code of their source is for other targets.
    stubs_alone: usize,
}

/// The kernels of one base name: the instances of a template.
#[derive(Serialize)]
pub(crate) struct FamilyBytes {
    name: String,
    /// Kernels by their names.
    kernels: usize,
    /// Kernels in all images.
    definitions: usize,
    /// Their instructions in all images.
    code: u64,
}

/// The sizes of an input.
#[derive(Serialize)]
pub(crate) struct SizesJson<'a> {
    targets: Vec<TargetBytes<'a>>,
    /// The largest families first.
    families: Vec<FamilyBytes>,
}

impl<'a> SizesJson<'a> {
    pub(crate) fn new(input: &'a InputReport) -> Self {
        Self {
            targets: targets(input),
            families: families(input),
        }
    }
}

fn targets(input: &InputReport) -> Vec<TargetBytes<'_>> {
    let mut images: BTreeMap<(u32, &str, ImageKind), Vec<&ImageReport>> = BTreeMap::new();
    for image in input.images.iter().filter(|image| !image.role.is_copy()) {
        let key = (image.sm(), image.target.as_str(), image.kind);
        images.entry(key).or_default().push(image);
    }
    images
        .into_iter()
        .map(|((_, target, kind), images)| of_images(kind, target, &images))
        .collect()
}

/// The sizes of the images of one kind and target.
fn of_images<'a>(kind: ImageKind, target: &'a str, images: &[&ImageReport]) -> TargetBytes<'a> {
    let sum = |of: fn(&ImageReport) -> u64| {
        images
            .iter()
            .fold(0_u64, |sum, image| sum.saturating_add(of(image)))
    };
    let mut sections = SectionBytes::default();
    for used in images.iter().filter_map(|image| image.facts.sections.as_ref()) {
        sections.add(used);
    }
    let unpacked = sum(|image| image.bytes);
    TargetBytes {
        kind: kind.as_str(),
        target,
        images: images.len(),
        packed: sum(|image| image.packed),
        unpacked,
        code: sections.code,
        lines: sections.lines,
        debug: sections.debug,
        constants: sections.constants,
        ptx: if kind == ImageKind::Ptx {
            unpacked.saturating_sub(sections.lines)
        } else {
            sections.ptx
        },
        stubs_alone: images.iter().filter(|image| holds_stubs_alone(image)).count(),
    }
}

/// True for an image that has kernels, and no body for any.
fn holds_stubs_alone(image: &ImageReport) -> bool {
    let kernels = &image.facts.kernels;
    image.is_whole() && !kernels.is_empty() && kernels.iter().all(|kernel| kernel.stub.is_some())
}

/// The families with most code. PTX has none.
fn families(input: &InputReport) -> Vec<FamilyBytes> {
    let mut names: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for image in input.images.iter().filter(|image| !image.role.is_copy()) {
        for kernel in &image.facts.kernels {
            let Some(code) = kernel.code_bytes else { continue };
            let (definitions, bytes) = names.entry(&kernel.name).or_default();
            *definitions += 1;
            *bytes = bytes.saturating_add(code);
        }
    }
    let mut families: BTreeMap<String, FamilyBytes> = BTreeMap::new();
    for (name, (definitions, code)) in names {
        let name = base(name);
        let family = families.entry(name.clone()).or_insert(FamilyBytes {
            name,
            kernels: 0,
            definitions: 0,
            code: 0,
        });
        family.kernels += 1;
        family.definitions += definitions;
        family.code = family.code.saturating_add(code);
    }
    let mut families: Vec<FamilyBytes> = families.into_values().collect();
    families.sort_by_key(|family| std::cmp::Reverse(family.code));
    families.truncate(LISTED_FAMILIES);
    families
}

/// The sizes of an input as tables. Empty if it has no images.
pub(crate) fn render(input: &InputReport) -> String {
    let SizesJson { targets, families } = SizesJson::new(input);
    if targets.is_empty() {
        return String::new();
    }
    let head = [
        "target",
        "kind",
        "images",
        "packed",
        "unpacked",
        "code",
        "lines",
        "debug",
        "constants",
        "PTX",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for target in &targets {
        let shown = |bytes: u64| if bytes == 0 { "-".to_owned() } else { size(bytes) };
        rows.push([
            known(target.target),
            target.kind.to_owned(),
            target.images.to_string(),
            size(target.packed),
            size(target.unpacked),
            shown(target.code),
            shown(target.lines),
            shown(target.debug),
            shown(target.constants),
            shown(target.ptx),
        ]);
    }
    let mut right = [true; 10];
    right[..2].fill(false);
    let mut text = format!("bytes by target and use:\n{}", table(&rows, &right));
    for target in targets.iter().filter(|target| target.stubs_alone > 0) {
        let images = plural(target.stubs_alone as u64, "image");
        let verb = if target.stubs_alone == 1 { "holds" } else { "hold" };
        text.push_str(&format!(
            "  {images} of {} for {} {verb} kernels without a body alone\n",
            target.kind,
            known(target.target)
        ));
    }
    if !families.is_empty() {
        let head = ["code", "kernels", "definitions", "kernels by name"];
        let mut rows = vec![head.map(str::to_owned)];
        for family in &families {
            rows.push([
                size(family.code),
                family.kernels.to_string(),
                family.definitions.to_string(),
                without_middle(&crate::escape::name(&family.name), SHOWN_NAME),
            ]);
        }
        text.push_str("kernels with most code:\n");
        text.push_str(&table(&rows, &[true, true, true, false]));
    }
    text
}

fn known(target: &str) -> String {
    if target.is_empty() {
        "-".to_owned()
    } else {
        crate::escape::line(target).into_owned()
    }
}
