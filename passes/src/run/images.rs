//! The rules that compare images, over all inputs of a run.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use crate::context::{Draft, ImagePlace, ImagesContext, Report};
use crate::finding::{Finding, Frame, Related, Source};
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
    let sources = Sources::new(inputs);
    let mut findings = Vec::new();
    for rule in rules::ALL.iter().filter(|rule| settings.wants(rule)) {
        if let Check::Images(check) = rule.check {
            let mut drafts = Vec::new();
            check(&context, &mut Report::new(rule, &mut drafts));
            findings.extend(
                drafts
                    .into_iter()
                    .filter_map(|draft| finding(draft, settings, &sources)),
            );
        }
    }
    findings
}

/// Where the kernels of each input stand in the source, by their identity. Machine code does not say it; the PTX beside
/// it does.
struct Sources<'a> {
    inputs: &'a [InputReport],
    known: OnceCell<FxHashMap<(usize, &'a str), &'a Frame>>,
}

impl<'a> Sources<'a> {
    fn new(inputs: &'a [InputReport]) -> Self {
        Self {
            inputs,
            known: OnceCell::new(),
        }
    }

    fn find(&self, input: usize, identity: &str) -> Option<Frame> {
        let known = self.known.get_or_init(|| {
            let mut known = FxHashMap::default();
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

fn finding(draft: Draft<ImagePlace>, settings: &Settings, sources: &Sources<'_>) -> Option<Finding> {
    let level = settings.level(draft.rule, draft.certainty, draft.level);
    let function = draft.place.function;
    let identity = names::normalised(function.as_deref().unwrap_or_default()).into_owned();
    let own = draft.place.source;
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
        source: own
            .or_else(|| sources.find(draft.place.input, &identity))
            .map(source),
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

fn source(at: Frame) -> Source {
    Source {
        at,
        inside: Vec::new(),
        inlined_at: Vec::new(),
    }
}
