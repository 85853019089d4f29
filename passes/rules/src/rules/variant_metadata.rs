//! ## What it does
//!
//! With `variants = "check"` in the policy: reports metadata of wheel variants that the format does not allow, that contradict the name of
//! the wheel or other files of the release, or whose values no machine has.
//!
//! ## Why is this bad?
//!
//! Installers refuse such a wheel, pass over it, or take it for another one: a wheel whose label is not in its metadata has no properties
//! that could be compared with the machine, and `nvidia :: sm_arch :: 90a_real` is a value that no GPU is ever said to have.
//!
//! ## Example
//!
//! ```text
//! error[PTX519] variant-metadata: the label in the name of the wheel is `cu13`, and the metadata have `cu12`
//!   --> x-1.0-py3-none-linux_x86_64-cu13.whl!x-1.0.dist-info/variant.json
//! ```
//!
//! ## Use instead
//!
//! Metadata that the build tool writes, and names that it gives. Architectures of `nvidia :: sm_arch` are numbers from 50 to 129 with
//! `_real` or `_virtual`, without `a` and `f`; versions of CUDA are `12` or `12.8`.
//!
//! ## Limits
//!
//! The format is PEP 825's, a draft; metadata in a version of it that is not known cannot be checked (PTX901). Values of
//! namespaces other than `nvidia` are checked only against the grammar. The file for all wheels of a release (`x-1.0-variants.json`) is
//! compared with the wheels that are given with it. Labels of more than 16 characters are not reported: only early drafts forbid them.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::listed;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::variants::{label_list, metadata, the_variant};
use crate::variants::{Claims, MetadataName, Properties, VariantMetadata, WheelName, file_name, wheel_names};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX519",
    name: "variant-metadata",
    family: Family::Image,
    summary: "metadata of a wheel variant break their format, or contradict the wheel's name or other wheels",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    if !context.policy.check_variants {
        return;
    }
    let mut known = RunMetadata::default();
    for (number, name, metadata) in metadata(context.inputs) {
        for fault in &metadata.faults {
            report_kind(
                report,
                number,
                "format",
                fault,
                format!("the metadata are malformed: {fault}"),
            );
        }
        report_unknown_values(number, metadata, report);
        match name {
            MetadataName::Wheel { wheel, release, .. } => {
                if metadata.faults.is_empty() {
                    check_labels(number, wheel.as_ref(), metadata, report);
                }
                if let Some(wheel) = &wheel
                    && wheel.release != release
                {
                    let message = format!(
                        "the wheel is of `{}` by its name, and the metadata are of `{release}`",
                        wheel.release
                    );
                    report_kind(report, number, "release", &release, message);
                }
                known.wheels.push((number, release, metadata));
            }
            MetadataName::Index { release } => {
                known.indexes.insert(release, (number, metadata));
            }
        }
    }
    report_missing_metadata(context, report);
    known.compare_labels(report);
}

/// Adds a finding; `subject` distinguishes those at one place.
fn report_kind(
    report: &mut Report<'_, ImagePlace>,
    input: usize,
    kind: &'static str,
    subject: &str,
    message: String,
) {
    let finding = report.definite(ImagePlace::input(input), message);
    finding.kind(kind);
    finding.data("symbol", subject);
    finding.caused_by_symbol();
}

/// A wheel's metadata have one label: that at the end of its name.
fn check_labels(
    number: usize,
    wheel: Option<&WheelName<'_>>,
    metadata: &VariantMetadata,
    report: &mut Report<'_, ImagePlace>,
) {
    let labels = label_list(metadata.variants.keys());
    let count = labels.len();
    let names = listed(labels, count);
    if count > 1 {
        let message = format!("the metadata of a wheel have one label, and these have {count}: {names}");
        report_kind(report, number, "labels", "", message);
    }
    let Some(wheel) = wheel else { return };
    match wheel.label {
        None => {
            let message = format!("the name of the wheel has no label, and the metadata have {names}");
            report_kind(report, number, "label", "", message);
        }
        Some(label) if !metadata.variants.contains_key(label) => {
            let message = format!(
                "the label in the name of the wheel is `{}`, and the metadata have {names}",
                in_message(label)
            );
            report_kind(report, number, "label", label, message);
        }
        Some(_) => {}
    }
}

/// Values that NVIDIA's provider does not have: no machine is ever said to support them.
fn report_unknown_values(number: usize, metadata: &VariantMetadata, report: &mut Report<'_, ImagePlace>) {
    for (label, properties) in &metadata.variants {
        let Some(claims) = Claims::of(properties) else {
            continue;
        };
        let unknown: Vec<String> = claims.unknown.iter().map(ToString::to_string).collect();
        if unknown.is_empty() {
            continue;
        }
        let shown: Vec<String> = unknown
            .iter()
            .map(|value| format!("`{}`", in_message(value)))
            .collect();
        let message = format!(
            "no machine supports {} of label `{}`",
            listed(shown, unknown.len()),
            in_message(label)
        );
        let finding = report.definite(ImagePlace::input(number), message);
        finding.kind("value");
        finding.note(
            "NVIDIA's provider knows `sm_arch` of 50 to 129 with `_real` or `_virtual`, and bounds of CUDA from 11 to 15.20",
        );
        finding.data("symbol", label.as_str());
        finding.caused_by_symbol();
        finding.data("values", Value::Texts(unknown));
    }
}

/// Wheels with a label in their names have metadata.
fn report_missing_metadata(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let names = || context.inputs.iter().map(|input| input.name.as_str());
    let is_metadata_of = |path: &str, input: &str| matches!(MetadataName::of(input), Some(MetadataName::Wheel { root, .. }) if root.strip_suffix('!') == Some(path));
    for (path, number) in wheel_names(names()) {
        let label = WheelName::of(file_name(path)).and_then(|name| name.label);
        // Of a wheel that could not be opened nothing is known.
        let is_open = context.inputs[number].problems.is_empty() || context.inputs[number].name != path;
        if let Some(label) = label
            && is_open
            && !names().any(|input| is_metadata_of(path, input))
        {
            let message = format!(
                "the name of the wheel has the label `{}`, and the wheel has no `variant.json`",
                in_message(label)
            );
            report_kind(report, number, "missing", path, message);
        }
    }
}

/// The metadata of a run.
#[derive(Default)]
struct RunMetadata<'a> {
    /// Those of wheels, with the number of the input and the release.
    wheels: Vec<(usize, String, &'a VariantMetadata)>,
    /// Those of all wheels of a release.
    indexes: BTreeMap<String, (usize, &'a VariantMetadata)>,
}

impl RunMetadata<'_> {
    /// A label has the same properties in all wheels of a release, and in the file for them. PEP 825, Variant label.
    fn compare_labels(&self, report: &mut Report<'_, ImagePlace>) {
        let mut first: BTreeMap<(&str, &str), (usize, &Properties)> = BTreeMap::new();
        for (number, release, metadata) in &self.wheels {
            if the_variant(metadata).is_none() {
                continue;
            }
            let index = self
                .indexes
                .get(release)
                .filter(|(_, index)| !index.variants.is_empty());
            for (label, properties) in &metadata.variants {
                let shown = in_message(label);
                if let Some((other, index)) = index {
                    let difference = match index.variants.get(label) {
                        None => Some("does not have it"),
                        Some(listed) if !are_same_properties(listed, properties) => Some("gives it others"),
                        Some(_) => None,
                    };
                    if let Some(difference) = difference {
                        let message = format!(
                            "the wheel has label `{shown}` with its properties, and the file for all wheels {difference}"
                        );
                        let finding = report.definite(ImagePlace::input(*number), message);
                        finding.kind("index");
                        finding.related(ImagePlace::input(*other), "the file for all wheels");
                        finding.data("symbol", label.as_str());
                        finding.caused_by_symbol();
                        continue;
                    }
                }
                let (other, known) = *first
                    .entry((release.as_str(), label.as_str()))
                    .or_insert((*number, properties));
                if !are_same_properties(known, properties) {
                    let message =
                        format!("label `{shown}` has other properties in another wheel of the release");
                    let finding = report.definite(ImagePlace::input(*number), message);
                    finding.kind("label-differs");
                    finding.related(ImagePlace::input(other), "the other wheel");
                    finding.data("symbol", label.as_str());
                    finding.caused_by_symbol();
                }
            }
        }
    }
}

/// True for the same properties; the order of alternatives does not matter.
fn are_same_properties(one: &Properties, other: &Properties) -> bool {
    let sorted = |properties: &Properties| -> Vec<(String, String, Vec<String>)> {
        let features = properties.iter().flat_map(|(namespace, features)| {
            features.iter().map(move |(feature, values)| {
                let mut values = values.clone();
                values.sort_unstable();
                (namespace.clone(), feature.clone(), values)
            })
        });
        features.collect()
    };
    sorted(one) == sorted(other)
}
