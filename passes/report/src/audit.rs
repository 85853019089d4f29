//! The tables of an audit: the GPUs that load something, the images of each file, and the kernels that are missing in some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ptxcheck_passes::names::base;
use ptxcheck_passes::run::{ImageReport, InputReport, Outcome, Status};
use rayon::prelude::*;

use crate::amounts::{plural, size};
use crate::escape;
use crate::forecast::Columns;
use crate::loads::Loads;
use crate::styles::BOLD;
use crate::table::{family, table};
use crate::{resources, sizes, unread};

/// Most images that have a line of their own; more are shown by kind.
const LISTED_IMAGES: usize = 48;

/// Most kernels and templates that are listed.
const LISTED_KERNELS: usize = 40;

/// Tables that are shown where they are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// The registers and the memory of kernels.
    pub resources: bool,
    /// The bytes of images by target and use, and of kernels by family.
    pub sizes: bool,
}

/// The inputs that could not be read and the GPUs that load each package, then the tables of all inputs that hold device code, with the forecast for these GPUs, if there are some, and the tables that
/// are asked for.
#[must_use]
pub fn render(outcome: &Outcome, forecast: &Columns, shown: Shown) -> String {
    let mut text = String::new();
    let loads = Loads::of(outcome);
    for line in unread::lines(outcome).into_iter().chain(loads.lines()) {
        let _ = writeln!(text, "{line}");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let held = outcome.inputs.iter().enumerate();
    let has_tables = |input: &InputReport| match input.status {
        Status::Skipped => false,
        Status::Failed => !input.images.is_empty(),
        _ => true,
    };
    for (number, input) in held.filter(|(_, input)| has_tables(input)) {
        let _ = writeln!(
            text,
            "{BOLD}{}{BOLD:#}: {}",
            escape::line(&input.name),
            headline(input)
        );
        if let Some(reach) = loads.of_input(number) {
            let _ = writeln!(text, "  {reach}");
        }
        text.push_str(&images(input));
        text.push_str(&kernels(input));
        text.push_str(&forecast.render(input));
        if shown.resources {
            text.push_str(&resources::render(input));
        }
        if shown.sizes {
            text.push_str(&sizes::render(input));
        }
        text.push('\n');
    }
    text
}

/// The inputs that could not be read and the GPUs that load each package, as Markdown; empty where there are none and no kernel that a
/// driver loads.
#[must_use]
pub fn loads_markdown(outcome: &Outcome) -> String {
    let loads = match Loads::of(outcome).markdown() {
        list if list.is_empty() => list,
        list => format!("### What loads\n\n{list}"),
    };
    unread::markdown(outcome) + &loads
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

/// Kernels that are not in the images of all targets: the instances of a template that are in the same images stand together.
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
    let mut held: BTreeMap<&str, (&str, BTreeSet<String>)> = BTreeMap::new();
    for image in images() {
        for kernel in &image.facts.kernels {
            let entry = held.entry(&kernel.identity);
            let (_, held) = entry.or_insert_with(|| (&kernel.name, BTreeSet::new()));
            held.insert(column(image));
        }
    }
    let total = held.len();
    let differing: Vec<_> = held
        .into_values()
        .filter(|(_, held)| columns.iter().any(|(_, column)| !held.contains(column)))
        .collect();
    if differing.is_empty() || columns.len() < 2 {
        return String::new();
    }
    let count = differing.len();
    // Reading the names of tens of thousands of kernels takes longer than all else here.
    let named: Vec<_> = differing
        .into_par_iter()
        .map(|(name, held)| ((base(name), held), name))
        .collect();
    let mut families: BTreeMap<(String, BTreeSet<String>), Vec<&str>> = BTreeMap::new();
    for (family, name) in named {
        families.entry(family).or_default().push(name);
    }
    let mut rows = vec![
        columns
            .iter()
            .map(|(_, column)| column.clone())
            .collect::<Vec<_>>(),
    ];
    rows[0].push("kernel".to_owned());
    for ((_, held), names) in families.iter().take(LISTED_KERNELS) {
        let marks = columns
            .iter()
            .map(|(_, column)| if held.contains(column) { "yes" } else { "-" });
        let mut row: Vec<String> = marks.map(str::to_owned).collect();
        row.push(family(names));
        rows.push(row);
    }
    let mut text = format!(
        "{count} of {} are not in the images of all targets:\n",
        plural(total as u64, "kernel")
    );
    text.push_str(&table(&rows, &[]));
    let left_out: usize = families.values().skip(LISTED_KERNELS).map(Vec::len).sum();
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} more (`--format json` lists all)");
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
