//! Kernels by target: the images of each input that hold them.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use ptxcheck_passes::inventory::{ImageKind, ImageReport};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::{InputReport, Outcome};

use crate::amounts::plural;
use crate::escape::{line, name};

/// Inputs with a table.
const SHOWN_INPUTS: usize = 200;

/// Kernels of an input with a row.
const SHOWN_KERNELS: usize = 200;

/// Targets of an input with a column.
const SHOWN_TARGETS: usize = 24;

/// The section; empty where no input has kernels.
pub(super) fn kernels(outcome: &Outcome) -> Markup {
    let inputs: Vec<&InputReport> = outcome
        .inputs
        .iter()
        .filter(|input| input.images.iter().any(|image| !image.facts.kernels.is_empty()))
        .collect();
    if inputs.is_empty() {
        return html! {};
    }
    html! {
        section #kernels aria-labelledby="kernels-title" {
            h2 #kernels-title { "Kernels by target" }
            @for input in inputs.iter().take(SHOWN_INPUTS) { (table(input)) }
            @if let more @ 1.. = inputs.len().saturating_sub(SHOWN_INPUTS) { p { "and " (plural(more as u64, "more input")) } }
        }
    }
}

fn table(input: &InputReport) -> Markup {
    let mut targets: BTreeSet<(u32, String)> = BTreeSet::new();
    let mut held: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for image in &input.images {
        if image.facts.kernels.is_empty() {
            continue;
        }
        targets.insert((image.sm(), target(image)));
        for kernel in &image.facts.kernels {
            held.entry(&kernel.name).or_default().insert(target(image));
        }
    }
    let columns: Vec<&String> = targets
        .iter()
        .map(|(_, target)| target)
        .take(SHOWN_TARGETS)
        .collect();
    let kernels = plural(held.len() as u64, "kernel");
    html! {
        details.input {
            summary { code { (line(&input.name)) } " " span.places { (kernels) " for " (plural(targets.len() as u64, "target")) } }
            div.scroll tabindex="0" role="region" aria-label={ "Kernels of " (line(&input.name)) } {
                table {
                    thead { tr { th scope="col" { "kernel" } @for target in &columns { th scope="col" { (line(target)) } } } }
                    tbody {
                        @for (kernel, held) in held.iter().take(SHOWN_KERNELS) {
                            tr {
                                th scope="row" { code { (name(&readable(kernel))) } }
                                @for target in &columns { td { @if held.contains(*target) { "yes" } @else { "–" } } }
                            }
                        }
                    }
                }
            }
            @if let more @ 1.. = held.len().saturating_sub(SHOWN_KERNELS) { p { "and " (plural(more as u64, "more kernel")) } }
            @if let more @ 1.. = targets.len().saturating_sub(SHOWN_TARGETS) { p { "and " (plural(more as u64, "more target")) } }
        }
    }
}

/// `sm_90 PTX`, `sm_90 machine code`.
fn target(image: &ImageReport) -> String {
    let target = if image.target.is_empty() {
        "any"
    } else {
        &image.target
    };
    match image.kind {
        ImageKind::Ptx => format!("{target} PTX"),
        ImageKind::LlvmIr => format!("{target} LLVM IR"),
        ImageKind::Mlir => format!("{target} MLIR"),
        ImageKind::Cubin => format!("{target} machine code"),
        _ => target.to_owned(),
    }
}
