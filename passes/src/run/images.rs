//! The rules that compare images, over all inputs of a run.

use crate::context::{Draft, ImagePlace, ImagesContext, Report};
use crate::finding::{Finding, Related, Source};
use crate::inventory::InputReport;
use crate::names;
use crate::rule::{Check, Level};
use crate::settings::Settings;
use crate::{fingerprint, rules};

/// What those rules find.
pub(super) fn compare(inputs: &[InputReport], settings: &Settings) -> Vec<Finding> {
    let context = ImagesContext {
        inputs,
        policy: &settings.policy,
        is_one_program: settings.whole_program,
    };
    let mut findings = Vec::new();
    for rule in rules::ALL.iter().filter(|rule| settings.wants(rule)) {
        if let Check::Images(check) = rule.check {
            let mut drafts = Vec::new();
            check(&context, &mut Report::new(rule, &mut drafts));
            findings.extend(drafts.into_iter().filter_map(|draft| finding(draft, settings)));
        }
    }
    findings
}

fn finding(draft: Draft<ImagePlace>, settings: &Settings) -> Option<Finding> {
    let level = settings.level(draft.rule, draft.certainty, draft.level);
    let function = draft.place.function;
    let identity = names::normalised(function.as_deref().unwrap_or_default()).into_owned();
    (level > Level::Allow).then(|| Finding {
        rule: draft.rule,
        certainty: draft.certainty,
        level,
        fingerprint: fingerprint::of_instruction(draft.rule.code, &identity, b""),
        message: draft.message,
        notes: draft.notes,
        help: draft.help,
        input: draft.place.input,
        image: draft.place.image,
        offset: 0,
        kernel: None,
        function,
        location: None,
        line_text: None,
        source: draft.place.source.map(source),
        related: draft
            .related
            .into_iter()
            .map(|(place, message)| Related {
                message,
                location: None,
                source: place.source.map(source),
            })
            .collect(),
        data: draft.data,
        suppressed: None,
    })
}

fn source(at: crate::finding::Frame) -> Source {
    Source {
        at,
        inside: Vec::new(),
        inlined_at: Vec::new(),
    }
}
