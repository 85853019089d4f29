//! A cause, as an article.

use maud::{Markup, html};
use ptxcheck_passes::finding::{Finding, Frame, Related};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::rules::documentation;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::sources::Sources;

use super::excerpt;
use super::lanes;
use super::overview::Facets;
use super::sentence::code_spans;
use super::timeline::{self, Step};
use crate::causes::Cause;
use crate::escape::{line, name};
use crate::paths::Paths;
use crate::places::ShownPlace;
use crate::{image_label, input_name, packed_image};

/// Articles that are open at first.
const OPEN: usize = 20;

/// Further places of a cause that are listed.
const SHOWN_PLACES: usize = 50;

/// Calls that are listed.
const SHOWN_CALLS: usize = 32;

/// Makes articles.
pub(super) struct Findings<'a> {
    outcome: &'a Outcome,
    paths: Paths,
    sources: Sources,
}

impl<'a> Findings<'a> {
    pub(super) fn new(outcome: &'a Outcome, root: &Root) -> Self {
        Self {
            outcome,
            paths: Paths::new(root),
            sources: Sources::default(),
        }
    }

    /// The item of a list; `number` counts from 0. `is_again`: the one before has the same words.
    pub(super) fn article(
        &mut self,
        cause: &Cause<'_>,
        facets: &Facets,
        number: usize,
        is_again: bool,
    ) -> Markup {
        let first = cause.first;
        let rule = cause.group.rule;
        let (class, mark) = match cause.group.level {
            Level::Error => ("error", "✖"),
            Level::Warning | Level::Allow => ("warning", "▲"),
        };
        let place = self.place(first);
        html! {
            li.again[is_again] data-level=(class) data-rule=(rule.code) data-certainty=(facets.certainty) data-file=(facets.file)
                data-kernel=(facets.kernel) {
                details.finding.(class) id={ "f-" (cause.group.fingerprint.as_str()) } open[number < OPEN] {
                    summary {
                        h3 {
                            span.mark aria-hidden="true" { (mark) }
                            span.level { (cause.group.level.as_str()) } " "
                            span.message { (code_spans(&line(cause.group.message.as_str()))) }
                        }
                        p.where { code { (place) }
                            @if !facets.kernel.is_empty() { " " span.kernel { "in " code { (facets.kernel) } } }
                            " "
                            @if documentation(rule.code).is_empty() { span.rule { (line(rule.code)) " " (line(rule.name)) } }
                            @else { a.rule href={ "#rule-" (rule.code) } { (rule.code) " " (rule.name) } }
                            @if cause.group.findings.len() > 1 { " " span.places { (cause.group.findings.len()) " places" } }
                            @if cause.group.certainty.as_str() != "definite" { " " span.certainty { (cause.group.certainty.as_str()) } }
                        }
                    }
                    (self.body(cause))
                }
            }
        }
    }

    fn body(&mut self, cause: &Cause<'_>) -> Markup {
        let first = cause.first;
        let input = input_name(self.outcome, first).to_owned();
        let carried = first.line_text.as_ref().filter(|_| first.source.is_none());
        let place = ShownPlace::of(self.outcome, first);
        let two = place
            .as_ref()
            .and_then(|place| self.two_places(place, first, &input));
        let in_excerpt = usize::from(two.is_some());
        let excerpt = two.or_else(|| excerpt::of(place.as_ref()?, carried, &input, &mut self.sources));
        html! {
            div.body {
                @if first.message != cause.group.message.as_str() { p { "Here: " (code_spans(&line(&first.message))) } }
                @if let Some(excerpt) = excerpt { (excerpt) }
                (lanes::figure(first).unwrap_or_default())
                @if let Some(facts) = self.facts(first) { (facts) }
                (self.related(first, in_excerpt, &input))
                @for note in &first.notes { p.note { strong { "Note: " } (code_spans(&line(note))) } }
                @for help in &first.help { p.help { strong { "Help: " } (code_spans(&line(help))) } }
                @if let Some(command) = first.confirm_command() { p.confirm { strong { "Confirm: " } code { (line(&command)) } } }
                (timeline::section(&self.steps(first, &input), first.has_two_places))
                (self.calls(first))
                (self.places(cause))
            }
        }
    }

    /// The function, the kernel, the image.
    fn facts(&self, finding: &Finding) -> Option<Markup> {
        let named = |function: &str| name(&readable(function)).into_owned();
        let kernel = finding.kernel.as_deref().map(named);
        let function = finding
            .function
            .as_deref()
            .map(named)
            .filter(|function| Some(function) != kernel.as_ref());
        let image = packed_image(self.outcome, finding)
            .map(|(number, image)| format!("{}, {}", image_label(number, image), image.describe()));
        let input = self
            .outcome
            .inputs
            .get(finding.input)
            .map(|input| line(&input.name).into_owned());
        let facts = [
            ("Kernel", kernel),
            ("Function", function),
            ("Input", input),
            ("Image", image),
        ];
        facts.iter().any(|(_, value)| value.is_some()).then(|| {
            html! {
                dl { @for (word, value) in &facts { @if let Some(value) = value { div { dt { (word) } dd { code { (line(value)) } } } } } }
            }
        })
    }

    /// The related places but the first few. Those that look alike are told once, and the lines of a place are shown once.
    fn related(&mut self, finding: &Finding, skipped: usize, input: &str) -> Markup {
        let mut told: Vec<(&str, String, usize)> = Vec::new();
        let mut excerpts: Vec<Option<Markup>> = Vec::new();
        for (number, related) in finding.related.iter().take(SHOWN_PLACES).enumerate() {
            let Some(place) = ShownPlace::of_related(self.outcome, finding, related) else {
                continue;
            };
            let spot = self.spot(&place, input);
            let mut alike = told
                .iter_mut()
                .filter(|(message, known, _)| *message == related.message && *known == spot);
            if let Some((.., count)) = alike.next() {
                *count += 1;
                continue;
            }
            let is_shown = number < skipped || told.iter().any(|(_, known, _)| *known == spot);
            excerpts.push(match is_shown {
                true => None,
                false => excerpt::of(&place, None, input, &mut self.sources),
            });
            told.push((&related.message, spot, 1));
        }
        // Those in the excerpt of the finding itself.
        let (told, excerpts) = (
            &told[skipped.min(told.len())..],
            &excerpts[skipped.min(excerpts.len())..],
        );
        html! {
            @for ((message, spot, count), excerpt) in told.iter().zip(excerpts) {
                p.related { (code_spans(&line(message))) ": " code { (spot) } @if *count > 1 { ", " (count) " times" } }
                @if let Some(excerpt) = excerpt { (excerpt) }
            }
        }
    }

    /// The place of a finding with the first of its related places, where one text has both.
    fn two_places(&mut self, place: &ShownPlace<'_>, finding: &Finding, input: &str) -> Option<Markup> {
        let related = finding.related.first()?;
        let other = ShownPlace::of_related(self.outcome, finding, related)?;
        let (words, is_joined) = (&related.message, finding.has_two_places);
        excerpt::of_two(place, &other, words, is_joined, input, &mut self.sources)
    }

    /// The steps of a run that goes wrong.
    fn steps<'f>(&mut self, finding: &'f Finding, input: &str) -> Vec<Step<'f>> {
        let step = |step: &'f Related| Step {
            place: ShownPlace::of_related(self.outcome, finding, step).map(|place| self.spot(&place, input)),
            message: &step.message,
            by: step.by.as_ref(),
        };
        finding.steps.iter().map(step).collect()
    }

    /// The calls that lead to a finding, from the outermost.
    fn calls(&mut self, finding: &Finding) -> Markup {
        let Some(source) = finding
            .source
            .as_ref()
            .filter(|source| !source.inlined_at.is_empty())
        else {
            return html! {};
        };
        let input = input_name(self.outcome, finding).to_owned();
        let steps: Vec<&Frame> = source
            .inlined_at
            .iter()
            .rev()
            .chain([&source.at])
            .take(SHOWN_CALLS)
            .collect();
        html! {
            p { strong { "Calls" } " that lead there, from the outermost:" }
            ol.calls {
                @for frame in steps {
                    li { code { (self.spot(&ShownPlace::of_frame(frame), &input)) }
                        @if let Some(function) = &frame.function { " in " code { (name(&readable(function))) } } }
                }
            }
        }
    }

    /// The further places of a cause.
    fn places(&mut self, cause: &Cause<'_>) -> Markup {
        let others = cause.group.findings.len() - 1;
        if others == 0 {
            return html! {};
        }
        html! {
            details.further {
                summary { (others) @if others == 1 { " more place" } @else { " more places" } }
                ul {
                    @for finding in cause.findings().skip(1).take(SHOWN_PLACES) {
                        li { code { (self.place(finding)) }
                            @if let Some(kernel) = finding.kernel.as_deref().or(finding.function.as_deref()) {
                                " in " code { (name(&readable(kernel))) }
                            }
                            @if let Some((number, image)) = packed_image(self.outcome, finding) { ", " (line(&image_label(number, image))) }
                            @if let Some(input) = self.outcome.inputs.get(finding.input) { ", " (line(&input.name)) }
                        }
                    }
                    @if others > SHOWN_PLACES { li { "and " (others - SHOWN_PLACES) " more" } }
                }
            }
        }
    }

    /// The name of the file that a finding is shown in.
    pub(super) fn file(&mut self, finding: &Finding) -> String {
        let input = input_name(self.outcome, finding).to_owned();
        let place = ShownPlace::of(self.outcome, finding);
        let file = place.as_ref().map_or(input.as_str(), |place| place.file);
        line(self.paths.name(file, &input).as_str()).into_owned()
    }

    /// The place of a finding, as text.
    pub(super) fn place(&mut self, finding: &Finding) -> String {
        let input = input_name(self.outcome, finding).to_owned();
        match ShownPlace::of(self.outcome, finding) {
            Some(place) => self.spot(&place, &input),
            None => line(self.paths.name(&input, &input).as_str()).into_owned(),
        }
    }

    fn spot(&mut self, place: &ShownPlace<'_>, input: &str) -> String {
        let file = self.paths.name(place.file, input);
        line(&place.position_in(file.as_str())).into_owned()
    }
}
