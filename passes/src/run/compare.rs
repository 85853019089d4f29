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
use crate::rule::{Level, Rule};
use crate::settings::Settings;

/// Runs the rules that compare images over the inputs of a run; returns their findings, and the packages of the run if a rule has asked
/// for them.
pub(super) fn compare(inputs: &[InputReport], settings: &Settings) -> (Vec<Finding>, OnceLock<Vec<Bundle>>) {
    let context = ImagesContext::new(inputs, &settings.for_rules());
    let sources = KernelSources::new(inputs);
    let checks: Vec<(&'static Rule, Check)> = settings
        .registry
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
    settings: &Settings,
    sources: &KernelSources<'_>,
) -> Option<Finding> {
    let level = settings.level(draft.rule, draft.certainty, draft.level);
    if level == Level::Allow {
        return None;
    }
    let (input, image) = (draft.place.input, draft.place.image);
    let identity = draft
        .place
        .function
        .as_deref()
        .map(|name| names::normalised(name).into_owned());
    // Findings at one place in an image are distinguished by their symbol.
    let about = match draft.data.get("symbol") {
        Some(Value::Text(symbol)) if draft.place.located.is_some() => symbol.as_bytes(),
        _ => b"",
    };
    let fingerprint =
        fingerprint::of_instruction(draft.rule.code, identity.as_deref().unwrap_or_default(), about);
    let mut at = locate_image(draft.place, inputs);
    let mut cause = draft.cause;
    if let Some(line) = &at.line_text {
        cause.instruction = fingerprint::of_text(line.text.as_bytes());
    }
    if at.source.is_none()
        && let Some(identity) = &identity
    {
        at.source = sources.find(input, identity).map(source);
    }
    let shown = at.source.as_ref().map(|source| &source.at);
    let related = draft.related.into_iter().map(|(place, message)| {
        let at = locate_image(place, inputs);
        Related {
            message,
            location: at.location,
            source: at.source,
            is_cause: false,
            by: None,
        }
    });
    let related = Related::beside(related, shown);
    Some(Finding {
        rule: draft.rule,
        certainty: draft.certainty,
        level,
        own_level: draft.level,
        fingerprint,
        message: draft.message,
        notes: draft.notes,
        assumes_block: false,
        help: draft.help,
        input,
        image,
        offset: at.offset,
        kernel: at.kernel,
        function: at.function,
        location: at.location,
        line_text: at.line_text,
        source: at.source,
        related,
        has_two_places: draft.has_two_places,
        sanitizer: draft.sanitizer,
        steps: Vec::new(),
        data: draft.data,
        cause,
        is_imported: false,
        suppressed: None,
    })
}

/// A place, with the name of the input that it is in.
fn locate_image(place: ImagePlace, inputs: &[InputReport]) -> Located {
    let source = place.source.map(source);
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

fn source(at: crate::finding::Frame) -> Source {
    Source {
        at,
        inside: Vec::new(),
        inlined_at: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::inventory::{ExportedSymbol, InputReport};
    use crate::patterns::Pattern;
    use crate::policy::Policy;
    use crate::settings::Settings;

    /// PTX524.
    #[test]
    fn exported_symbols_are_reported_by_pattern() {
        let policy = Policy {
            hidden_symbols: ["cub::*", "thrust::*"]
                .into_iter()
                .filter_map(|pattern| Pattern::name(pattern).ok())
                .collect(),
            ..Policy::default()
        };
        let settings = Settings {
            policy,
            ..Settings::default()
        };
        let told = |names: &[(usize, &str)]| -> Vec<String> {
            let mut input = InputReport::new("libk.so".to_owned());
            let symbol = |&(pattern, name): &(usize, &str)| ExportedSymbol {
                pattern,
                name: name.to_owned(),
            };
            input.exported = names.iter().map(symbol).collect();
            let findings = compare(&[input], &settings).0.into_iter();
            findings
                .map(|finding| format!("{} {}", finding.rule.code, finding.message))
                .collect()
        };
        assert_eq!(told(&[]), [""; 0]);
        assert_eq!(
            told(&[(0, "_ZN3cub1fEv"), (0, "_ZN3cub1gEv"), (1, "_ZN6thrust1hEv")]),
            [
                "PTX524 it exports 2 symbols that match `cub::*`",
                "PTX524 it exports `thrust::h()`, which matches `thrust::*`"
            ]
        );
    }
}
