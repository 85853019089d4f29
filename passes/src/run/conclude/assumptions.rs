//! Findings about assumptions: those that contradict a kernel (PTX908), and those that are about nothing (PTX906).

use std::collections::BTreeMap;

use super::configuration::ConfigurationFindings;
use crate::assumptions::{AssumedParameter, Assumption, Signature};
use crate::finding::Finding;
use crate::inventory::{InputReport, Kernel};
use crate::names;
use crate::settings::Settings;

/// The findings about the assumptions of the settings, in the order of the assumptions.
pub(super) fn findings(inputs: &[InputReport], settings: &Settings) -> Vec<Finding> {
    if settings.assumptions.all.is_empty() || settings.images_only {
        return Vec::new();
    }
    let held = Held::of(inputs, settings);
    let mut findings = held.contradictions(inputs, settings);
    if settings.is_strict
        && let Some(make) = ConfigurationFindings::new(settings, inputs.len())
    {
        findings.append(&mut held.unused(settings, &make));
    }
    findings
}

/// The assumptions, compared with all kernels of a run.
#[derive(Default)]
struct Held {
    /// By assumption: the first kernel that it contradicts, with its input and the reason, and the number of the others.
    contradicted: BTreeMap<usize, (usize, String, String, usize)>,
    /// By assumption: a kernel fits its pattern.
    has_kernel: Vec<bool>,
    /// By assumption: a kernel that fits has the parameter, or may have it.
    has_parameter: Vec<bool>,
}

impl Held {
    fn of(inputs: &[InputReport], settings: &Settings) -> Self {
        let assumptions = &settings.assumptions;
        let none = vec![false; assumptions.all.len()];
        let mut held = Self {
            contradicted: BTreeMap::new(),
            has_kernel: none.clone(),
            has_parameter: none,
        };
        let mut about_names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, input) in inputs.iter().enumerate() {
            for kernel in input.images.iter().flat_map(|image| &image.facts.kernels) {
                let about = about_names
                    .entry(&kernel.name)
                    .or_insert_with(|| assumptions.assumptions_about(&kernel.name));
                if !about.is_empty() {
                    held.hold(index, kernel, about, settings);
                }
            }
        }
        held
    }

    fn hold(&mut self, input: usize, kernel: &Kernel, about: &[usize], settings: &Settings) {
        let assumptions = &settings.assumptions;
        for &number in about {
            self.has_kernel[number] = true;
        }
        let Some(sizes) = &kernel.params else {
            for &number in about {
                self.has_parameter[number] = true;
            }
            return;
        };
        let name = |number: usize| kernel.parameter_names.get(number).and_then(Option::as_deref);
        let signature = Signature {
            kernel: &kernel.name,
            params: (0..)
                .zip(sizes)
                .map(|(number, (_, size))| (u64::from(*size), name(number)))
                .collect(),
        };
        for &number in about {
            self.has_parameter[number] |= assumptions.all[number].may_apply_to(&signature);
        }
        let (_, contradictions) = assumptions.of_kernel(about, &signature);
        for (number, reason) in contradictions {
            let kernel = || (input, names::in_message(&kernel.name), reason, 0);
            self.contradicted
                .entry(number)
                .and_modify(|(.., others)| *others += 1)
                .or_insert_with(kernel);
        }
    }

    fn contradictions(&self, inputs: &[InputReport], settings: &Settings) -> Vec<Finding> {
        let Some(make) = ConfigurationFindings::of_contradictions(settings, inputs.len()) else {
            return Vec::new();
        };
        let contradicted = self.contradicted.iter();
        let finding =
            |(&number, (input, kernel, reason, others)): (&usize, &(usize, String, String, usize))| {
                let one = &settings.assumptions.all[number];
                let message = format!(
                    "the assumption `{}` contradicts kernel `{kernel}`: {reason}",
                    one.text
                );
                let mut finding = match one.written {
                    Some(written) => make.in_file(message, file(settings), written),
                    // The option is written nowhere.
                    None => make.without_place(message),
                };
                if one.written.is_none() {
                    finding.input = *input;
                }
                finding.function = Some(kernel.clone());
                if *others > 0 {
                    finding.notes.push(format!(
                        "so it does {others} more of the kernels that it is about"
                    ));
                }
                finding.help = vec![
                    "say what the kernel is called with, or name the kernel that it is about".to_owned(),
                ];
                finding
            };
        contradicted.map(finding).collect()
    }

    fn unused(&self, settings: &Settings, make: &ConfigurationFindings) -> Vec<Finding> {
        let all = (0..).zip(&settings.assumptions.all);
        let unused = all.filter_map(|(number, one): (usize, &Assumption)| {
            let pattern = one.kernels.as_str();
            let message = if !self.has_kernel[number] {
                format!(
                    "no kernel fits the pattern `{pattern}` of the assumption `{}`",
                    one.text
                )
            } else if !self.has_parameter[number] {
                let AssumedParameter::Name(name) = &one.parameter else {
                    return None;
                };
                format!("no kernel that fits `{pattern}` is known to have a parameter `{name}`")
            } else {
                return None;
            };
            Some(match one.written {
                Some(written) => make.in_file(message, file(settings), written),
                None => make.without_place(message),
            })
        });
        unused.collect()
    }
}

fn file(settings: &Settings) -> &str {
    settings.file.as_deref().unwrap_or_default()
}
