//! The rules that compare images, over all inputs of a run.

use std::sync::OnceLock;

use ptxcheck_common::maps::NameMap;
use rayon::prelude::*;

use crate::checks::Check;
use crate::context::{Draft, ImagePlace, ImagesContext, Report};
use crate::finding::{Finding, Frame, Located, Related, Source, Value};
use crate::fingerprint;
use crate::inventory::InputReport;
use crate::names;
use crate::reach::Bundle;
use crate::registry::Registry;
use crate::rule::{Level, Rule};
use crate::rule_settings::RuleSettings;

/// Runs the rules that compare images over the inputs of a run; returns their findings, and the packages of the run if a rule has asked
/// for them.
#[must_use]
pub fn check_images(
    inputs: &[InputReport],
    settings: &RuleSettings<'_>,
    registry: &Registry,
) -> (Vec<Finding>, OnceLock<Vec<Bundle>>) {
    let context = ImagesContext::new(inputs, settings);
    let sources = KernelSources::new(inputs);
    let checks: Vec<(&'static Rule, Check)> = registry
        .checks()
        .filter(|(rule, _)| settings.wants(rule))
        .collect();
    let of_rule = |(rule, check): &(&'static Rule, Check)| {
        let mut drafts = Vec::new();
        if let Check::Images(check) | Check::Linked(_, check) = check {
            check(&context, &mut Report::new(rule, &mut drafts));
        }
        let findings = drafts
            .into_iter()
            .filter_map(|draft| finding(draft, inputs, settings, &sources));
        findings.collect::<Vec<_>>()
    };
    let findings: Vec<Vec<Finding>> = checks.par_iter().map(of_rule).collect();
    (findings.concat(), context.into_bundles())
}

/// The source lines of the kernels of each input, by their identity: those of machine code are in the PTX beside it.
struct KernelSources<'a> {
    inputs: &'a [InputReport],
    known: OnceLock<NameMap<(usize, &'a str), &'a Frame>>,
}

impl<'a> KernelSources<'a> {
    fn new(inputs: &'a [InputReport]) -> Self {
        Self {
            inputs,
            known: OnceLock::new(),
        }
    }

    fn find(&self, input: usize, identity: &str) -> Option<Frame> {
        let known = self.known.get_or_init(|| {
            let mut known = NameMap::default();
            for (number, input) in self.inputs.iter().enumerate() {
                for kernel in input.images.iter().flat_map(|image| &image.facts.kernels) {
                    if let Some(source) = &kernel.source {
                        known.entry((number, kernel.identity.as_str())).or_insert(source);
                    }
                }
            }
            known
        });
        known.get(&(input, identity)).map(|source| (*source).clone())
    }
}

fn finding(
    draft: Draft<ImagePlace>,
    inputs: &[InputReport],
    settings: &RuleSettings<'_>,
    sources: &KernelSources<'_>,
) -> Option<Finding> {
    let level = settings.level_of(&draft.finding);
    if level == Level::Allow {
        return None;
    }
    let (mut finding, place) = (draft.finding, draft.place);
    finding.level = level;
    finding.input = place.input;
    finding.image = place.image;
    let identity = place
        .function
        .as_deref()
        .map(|name| names::normalised(name).into_owned());
    // Findings at one place in an image are distinguished by their symbol.
    let about = match finding.data.get("symbol") {
        Some(Value::Text(symbol)) if place.located.is_some() => symbol.as_bytes(),
        _ => b"",
    };
    finding.fingerprint =
        fingerprint::of_instruction(finding.rule.code, identity.as_deref().unwrap_or_default(), about);
    finding.set_place(locate_image(place, inputs));
    if let Some(line) = &finding.line_text {
        finding.cause.instruction = fingerprint::of_text(line.text.as_bytes());
    }
    if finding.source.is_none()
        && let Some(identity) = &identity
    {
        finding.source = sources.find(finding.input, identity).map(Source::from);
    }
    let shown = finding.source.as_ref().map(|source| &source.at);
    let related = draft.related.into_iter().map(|(place, message)| {
        let at = locate_image(place, inputs);
        Related::new(message, at.location, at.source)
    });
    finding.related = Related::beside(related, shown);
    Some(finding)
}

/// A place, with the name of the input that it is in.
fn locate_image(place: ImagePlace, inputs: &[InputReport]) -> Located {
    let source = place.source.map(Source::from);
    let mut at = place.located.map(|located| *located).unwrap_or_default();
    if let Some(location) = &mut at.location {
        location.file = inputs
            .get(place.input)
            .map_or_else(String::new, |input| input.name.clone());
    }
    Located {
        function: place.function,
        source: at.source.or(source),
        ..at
    }
}
