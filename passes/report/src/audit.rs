//! The tables of an audit: the images of each file, and the kernels that are missing in some of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptxcheck_passes::run::{ImageReport, InputReport, Outcome, Status};

use crate::amounts::{plural, size};
use crate::escape;
use crate::forecast::Columns;
use crate::resources;
use crate::styles::BOLD;
use crate::table::{shortened, table};

/// Most images that have a line of their own; more are shown by kind.
const LISTED_IMAGES: usize = 48;

/// Most kernels that are listed.
const LISTED_KERNELS: usize = 40;

/// The tables of all inputs that hold device code, with the forecast for these GPUs, if there are some, and with the registers and
/// the memory of kernels where they are asked for.
#[must_use]
pub fn render(outcome: &Outcome, forecast: &Columns, has_resources: bool) -> String {
    let mut text = String::new();
    for input in outcome
        .inputs
        .iter()
        .filter(|input| input.status != Status::Skipped)
    {
        let _ = writeln!(
            text,
            "{BOLD}{}{BOLD:#}: {}",
            escape::line(&input.name),
            headline(input)
        );
        text.push_str(&images(input));
        text.push_str(&kernels(input));
        text.push_str(&forecast.render(input));
        if has_resources {
            text.push_str(&resources::render(input));
        }
        text.push('\n');
    }
    text
}

fn headline(input: &InputReport) -> String {
    let mut text = plural(input.images.len() as u64, "image");
    if let Some(host) = &input.host {
        let certain = host.registered.iter().filter(|one| one.is_certain);
        let (variables, kernels): (Vec<_>, Vec<_>) = certain.partition(|one| one.is_variable);
        // Symbols of stubs that happen to be left say nothing of how many kernels are registered.
        if host.is_partial {
            text.push_str(", what host code registers is not known");
        } else if !kernels.is_empty() || !variables.is_empty() {
            let _ = write!(
                text,
                ", host code registers {} and {}",
                plural(kernels.len() as u64, "kernel"),
                plural(variables.len() as u64, "variable")
            );
        }
    }
    text
}

/// One line an image, or one for all that are alike but for their sizes.
fn images(input: &InputReport) -> String {
    let columns = [
        "image", "kind", "target", "ISA", "packing", "packed", "unpacked", "kernels", "place",
    ];
    let mut rows = vec![columns.map(str::to_owned)];
    if input.images.len() <= LISTED_IMAGES {
        for (number, image) in input.images.iter().enumerate() {
            rows.push(row(number.to_string(), image, &[image]));
        }
    } else {
        let mut alike: BTreeMap<_, Vec<&ImageReport>> = BTreeMap::new();
        for image in &input.images {
            let key = (
                image.kind,
                image.sm(),
                &image.target,
                place(image),
                &image.isa,
                image.compression,
            );
            alike.entry(key).or_default().push(image);
        }
        for images in alike.values() {
            rows.push(row(format!("{} ×", images.len()), images[0], images));
        }
    }
    table(
        &rows,
        &[false, false, false, false, false, true, true, true, false],
    )
}

fn row(number: String, image: &ImageReport, all: &[&ImageReport]) -> [String; 9] {
    // Sizes are what the file says.
    let sum =
        |of: fn(&ImageReport) -> u64| all.iter().fold(0_u64, |sum, image| sum.saturating_add(of(image)));
    let known = |text: &str| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            escape::line(text).into_owned()
        }
    };
    let debug = if image.is_debug { " -G" } else { "" };
    [
        number,
        format!("{}{debug}", image.kind.as_str()),
        known(&image.target),
        known(&image.isa),
        image.compression.unwrap_or("-").to_owned(),
        size(sum(|image| image.packed)),
        size(sum(|image| image.bytes)),
        if ptxcheck_passes::inventory::is_read(image.kind) {
            sum(|image| image.kernels.into()).to_string()
        } else {
            "?".to_owned()
        },
        place(image),
    ]
}

fn place(image: &ImageReport) -> String {
    let section = image.section.as_deref().unwrap_or("-");
    let text = match &image.member {
        Some(member) => format!("{member} {section}"),
        None => section.to_owned(),
    };
    let role = image.role.as_str();
    let text = if role == "loadable" {
        text
    } else {
        format!("{text} ({role})")
    };
    escape::line(&text).into_owned()
}

/// Kernels that are not in the images of all targets.
fn kernels(input: &InputReport) -> String {
    let images = || {
        input
            .images
            .iter()
            .filter(|image| ptxcheck_passes::inventory::is_read(image.kind) && image.role.counts())
    };
    let mut columns: Vec<(u32, String)> = images().map(|image| (image.sm(), column(image))).collect();
    columns.sort();
    columns.dedup();
    let mut held: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for image in images() {
        for kernel in &image.facts.kernels {
            held.entry(&kernel.identity).or_default().push(column(image));
        }
    }
    let differing: Vec<_> = held
        .iter()
        .filter(|(_, held)| columns.iter().any(|(_, column)| !held.contains(column)))
        .collect();
    if differing.is_empty() || columns.len() < 2 {
        return String::new();
    }
    let mut rows = vec![
        columns
            .iter()
            .map(|(_, column)| column.clone())
            .collect::<Vec<_>>(),
    ];
    rows[0].push("kernel".to_owned());
    for (name, held) in differing.iter().take(LISTED_KERNELS) {
        let marks = columns
            .iter()
            .map(|(_, column)| if held.contains(column) { "yes" } else { "-" });
        let mut row: Vec<String> = marks.map(str::to_owned).collect();
        row.push(shortened(name));
        rows.push(row);
    }
    let mut text = format!(
        "{} of {} are not in the images of all targets:\n",
        differing.len(),
        plural(held.len() as u64, "kernel")
    );
    text.push_str(&table(&rows, &[]));
    if let more @ 1.. = differing.len().saturating_sub(LISTED_KERNELS) {
        let _ = writeln!(text, "  and {more} more (`--format json` lists all)");
    }
    text
}

/// `sm_90 ptx`, `sm_90`.
fn column(image: &ImageReport) -> String {
    let target = escape::line(&image.target);
    match image.kind {
        ptxcheck_passes::inventory::ImageKind::Ptx => format!("{target} ptx"),
        _ => target.into_owned(),
    }
}
