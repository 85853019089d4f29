//! The bytes of an audit: by target, by kernel, and those that lie in a file twice.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::{ImageReport, InputReport, Outcome};

use crate::amounts::{plural, size};
use crate::escape::{line, name};

/// Inputs with tables.
const SHOWN_INPUTS: usize = 200;

/// Kernels of an input with a row: the largest.
const SHOWN_KERNELS: usize = 25;

/// The section; empty where no input has images.
pub(super) fn section(outcome: &Outcome) -> Markup {
    let inputs: Vec<&InputReport> = outcome
        .inputs
        .iter()
        .filter(|input| !input.images.is_empty())
        .collect();
    if inputs.is_empty() {
        return html! {};
    }
    html! {
        section #bytes aria-labelledby="bytes-title" {
            h2 #bytes-title { "Bytes" }
            @for input in inputs.iter().take(SHOWN_INPUTS) { (tables(input)) }
            @if let more @ 1.. = inputs.len().saturating_sub(SHOWN_INPUTS) { p { "and " (plural(more as u64, "more input")) } }
        }
    }
}

/// The bytes of the images for one target.
#[derive(Default)]
struct Sum {
    packed: u64,
    unpacked: u64,
    images: u64,
    /// Packed bytes of images that lie in the file a second time.
    again: u64,
    /// Of some images that is not known.
    has_unknown: bool,
}

fn tables(input: &InputReport) -> Markup {
    let mut targets: BTreeMap<(u32, String), Sum> = BTreeMap::new();
    let mut kernels: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen: BTreeSet<u128> = BTreeSet::new();
    for image in input.images.iter().filter(|image| !image.role.is_copy()) {
        let sum = targets.entry((image.sm(), form(image))).or_default();
        sum.packed = sum.packed.saturating_add(image.packed);
        sum.unpacked = sum.unpacked.saturating_add(image.bytes);
        sum.images += 1;
        if image
            .digest
            .is_some_and(|digest| !image.is_empty() && !seen.insert(digest))
        {
            sum.again = sum.again.saturating_add(image.packed);
        }
        sum.has_unknown |= image.digest.is_none();
        for kernel in &image.facts.kernels {
            if let Some(bytes) = kernel.code_bytes {
                let sum = kernels.entry(&kernel.name).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
    }
    let total = targets
        .values()
        .fold(0_u64, |sum, target| sum.saturating_add(target.packed));
    let mut kernels: Vec<_> = kernels.into_iter().collect();
    kernels.sort_by_key(|(kernel, bytes)| (std::cmp::Reverse(*bytes), *kernel));
    let most = kernels.first().map_or(0, |(_, bytes)| *bytes);
    html! {
        details.input {
            summary { code { (line(&input.name)) } " " span.places { (size(total)) " in " (plural(input.images.len() as u64, "image")) } }
            div.scroll tabindex="0" role="region" aria-label={ "Bytes of " (line(&input.name)) } {
                table {
                    thead { tr { th scope="col" { "target" } th scope="col" { "images" } th scope="col" { "in the file" }
                        th scope="col" { "unpacked" } th scope="col" { "lie there twice" } } }
                    tbody {
                        @for ((_, target), sum) in &targets {
                            tr { th scope="row" { (line(target)) } td { (sum.images) } td.share style=(share(sum.packed, total)) { (size(sum.packed)) } td { (size(sum.unpacked)) }
                                td { @if sum.again > 0 { (size(sum.again)) } @else if sum.has_unknown { "not looked at" } @else { "–" } } }
                        }
                    }
                }
                @if !kernels.is_empty() {
                    table {
                        thead { tr { th scope="col" { "kernel" } th scope="col" { "machine code, all targets" } } }
                        tbody {
                            @for (kernel, bytes) in kernels.iter().take(SHOWN_KERNELS) {
                                tr { th scope="row" { code { (name(&readable(kernel))) } } td.share style=(share(*bytes, most)) { (size(*bytes)) } }
                            }
                        }
                    }
                }
            }
            @if let more @ 1.. = kernels.len().saturating_sub(SHOWN_KERNELS) { p { "and " (plural(more as u64, "smaller kernel")) } }
        }
    }
}

/// The length of a bar.
fn share(bytes: u64, all: u64) -> String {
    format!("--share:{}%", u128::from(bytes) * 100 / u128::from(all.max(1)))
}

/// `sm_90`, `PTX sm_80`.
fn form(image: &ImageReport) -> String {
    let target = if image.target.is_empty() {
        "any"
    } else {
        &image.target
    };
    match image.kind {
        ptxcheck_passes::inventory::ImageKind::Ptx => format!("PTX {target}"),
        _ => target.to_owned(),
    }
}
