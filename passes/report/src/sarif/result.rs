//! A cause as a result.

use std::collections::BTreeMap;

use ptxcheck_passes::finding::{Finding, Frame, Related};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::sources::Sources;

use super::document::{
    ArtifactChange, ArtifactLocation, CodeFlow, Location, LogicalLocation, PhysicalLocation, ROOT, Region,
    Replacement, ResultProperties, SarifFix, SarifResult, Suppression, Text, ThreadFlow, ThreadFlowLocation,
};
use super::limits::{MESSAGE_CHARACTERS, SHOWN_FLOW_LOCATIONS, SHOWN_LOCATIONS};
use super::rules::level;
use crate::causes::Cause;
use crate::escape::{cut, name};
use crate::fixes;
use crate::input_name;
use crate::paths::{FileName, Paths, uri};
use crate::places::ShownPlace;

/// The key of our fingerprints. A later version of them has another.
const FINGERPRINT: &str = "ptxcheckFingerprint/v1";

/// Makes results of causes.
pub(super) struct Results<'a> {
    outcome: &'a Outcome,
    paths: Paths,
    sources: Sources,
    /// The findings were compared with a baseline.
    has_baseline: bool,
}

impl<'a> Results<'a> {
    pub(super) fn new(outcome: &'a Outcome, paths: Paths, has_baseline: bool) -> Self {
        Self {
            outcome,
            paths,
            sources: Sources::default(),
            has_baseline,
        }
    }

    /// The result for a cause, whose rule has this index.
    pub(super) fn result(&mut self, cause: &Cause<'_>, rule_index: usize) -> SarifResult {
        let first = cause.first;
        let mut related: Vec<Location> = Vec::new();
        for place in first.related.iter().take(SHOWN_LOCATIONS - 1) {
            related.extend(self.related(place, first));
        }
        let room = SHOWN_LOCATIONS - 1 - related.len();
        for other in cause.findings().skip(1).take(room) {
            let mut location = self.location(other);
            location.message = Some(Text::from(self.also(other)));
            related.push(location);
        }
        for (number, location) in (1..).zip(&mut related) {
            location.id = Some(number);
        }
        SarifResult {
            rule_id: cause.group.rule.code,
            rule_index,
            level: level(cause.group.level),
            message: Text::from(message(cause)),
            locations: [self.location(first)],
            related_locations: related,
            code_flows: self.code_flow(first).into_iter().chain(self.run(first)).collect(),
            partial_fingerprints: BTreeMap::from([(
                FINGERPRINT,
                cause.group.fingerprint.as_str().to_owned(),
            )]),
            baseline_state: self.has_baseline.then(|| baseline_state(cause)),
            fixes: self.fix(cause).into_iter().collect(),
            suppressions: suppression(cause).into_iter().collect(),
            properties: ResultProperties {
                certainty: cause.group.certainty.as_str(),
                places: cause.group.findings.len(),
                confirm: cause.first.confirm_command(),
            },
        }
    }

    /// The edit that mends a cause, where it is certain.
    fn fix(&mut self, cause: &Cause<'_>) -> Option<SarifFix> {
        let input = input_name(self.outcome, cause.first);
        let fix = fixes::of(cause, input, &mut self.sources)?;
        Some(SarifFix {
            artifact_changes: [ArtifactChange {
                artifact_location: self.artifact(fix.file, input),
                replacements: [Replacement {
                    deleted_region: Region {
                        start_line: fix.line,
                        start_column: fix.utf16_column(fix.span.start),
                        end_line: fix.line,
                        end_column: fix.utf16_column(fix.span.end),
                    },
                    inserted_content: Text::from(fix.replacement),
                }],
            }],
            description: Text::from(said(&fix.description)),
        })
    }

    /// The run of a finding that has one.
    fn run(&mut self, finding: &Finding) -> Option<CodeFlow> {
        let mut locations = Vec::new();
        let left_out = finding.steps.len().saturating_sub(SHOWN_FLOW_LOCATIONS);
        for step in &finding.steps[left_out..] {
            let location = self.related(step, finding);
            locations.extend(location.map(|location| ThreadFlowLocation {
                location,
                nesting_level: 0,
            }));
        }
        let has_run = !locations.is_empty();
        let thread_flows = [ThreadFlow { locations }];
        has_run.then_some(CodeFlow { thread_flows })
    }

    /// An input, as a file.
    pub(super) fn input(&mut self, input: &str, line: Option<u32>) -> Location {
        let line = line.unwrap_or(1).max(1);
        plain(self.artifact(input, input), beginning(line))
    }

    /// The place of a finding.
    fn location(&mut self, finding: &Finding) -> Location {
        let input = input_name(self.outcome, finding);
        let mut location = match ShownPlace::of(self.outcome, finding) {
            Some(place) => {
                let carried = finding.line_text.as_ref();
                let region = place.region(
                    carried.filter(|_| finding.source.is_none()),
                    input,
                    &mut self.sources,
                );
                plain(self.artifact(place.file, input), region.into())
            }
            None => plain(self.artifact(input, input), beginning(1)),
        };
        location.logical_locations = logical(finding);
        location
    }

    fn related(&mut self, related: &Related, finding: &Finding) -> Option<Location> {
        let input = input_name(self.outcome, finding);
        let place = ShownPlace::of_related(self.outcome, finding, related)?;
        let region = place.region(None, input, &mut self.sources);
        let mut location = plain(self.artifact(place.file, input), region.into());
        let message = match &place.image {
            Some(image) => format!("{}, in line {} of {image}", related.message, place.line),
            None => related.message.clone(),
        };
        location.message = Some(Text::from(said(&message)));
        Some(location)
    }

    /// The words for a further place of a cause: its kernel, and its image.
    fn also(&self, finding: &Finding) -> String {
        let mut words = vec!["also here".to_owned()];
        if let Some(kernel) = finding.kernel.as_deref().or(finding.function.as_deref()) {
            words.push(format!("in `{}`", name(&readable(kernel))));
        }
        if let Some((number, image)) = crate::packed_image(self.outcome, finding) {
            words.push(crate::image_label(number, image));
        }
        said(&words.join(", "))
    }

    /// The calls that lead to a finding, from the outermost to the instruction of the finding.
    fn code_flow(&mut self, finding: &Finding) -> Option<CodeFlow> {
        let source = finding.source.as_ref()?;
        if source.inlined_at.is_empty() {
            return None;
        }
        let around = source
            .inlined_at
            .iter()
            .rev()
            .map(|frame| (frame, "called from here"));
        let inside = source.inside.iter().rev().map(|frame| (frame, "inside"));
        let steps: Vec<(&Frame, &str)> = around.chain([(&source.at, "here")]).chain(inside).collect();
        // The innermost are the most telling.
        let left_out = steps.len().saturating_sub(SHOWN_FLOW_LOCATIONS);
        let input = input_name(self.outcome, finding);
        let locations = (0..)
            .zip(&steps[left_out..])
            .map(|(nesting_level, (frame, words))| {
                let words = match frame.function.as_deref() {
                    Some(function) => format!("{words}, in `{}`", name(&readable(function))),
                    None => (*words).to_owned(),
                };
                let region = ShownPlace::of_frame(frame).region(None, input, &mut self.sources);
                let mut location = plain(artifact(&mut self.paths, &frame.file, input), region.into());
                location.message = Some(Text::from(said(&words)));
                ThreadFlowLocation {
                    location,
                    nesting_level,
                }
            });
        Some(CodeFlow {
            thread_flows: [ThreadFlow {
                locations: locations.collect(),
            }],
        })
    }

    fn artifact(&mut self, file: &str, input: &str) -> ArtifactLocation {
        artifact(&mut self.paths, file, input)
    }
}

fn artifact(paths: &mut Paths, file: &str, input: &str) -> ArtifactLocation {
    match paths.name(file, input) {
        FileName::Below(name) => ArtifactLocation {
            uri: uri(&name),
            uri_base_id: paths.root().map(|_| ROOT),
        },
        FileName::Elsewhere(name) => ArtifactLocation {
            uri: uri(&name),
            uri_base_id: None,
        },
    }
}

const fn plain(artifact_location: ArtifactLocation, region: Region) -> Location {
    Location {
        id: None,
        physical_location: PhysicalLocation {
            artifact_location,
            region,
        },
        logical_locations: Vec::new(),
        message: None,
    }
}

/// The first character of a line.
const fn beginning(line: u32) -> Region {
    Region {
        start_line: line,
        start_column: 1,
        end_line: line,
        end_column: 2,
    }
}

impl From<crate::places::Region> for Region {
    fn from(region: crate::places::Region) -> Self {
        Self {
            start_line: region.line,
            start_column: region.column,
            end_line: region.end_line,
            end_column: region.end_column,
        }
    }
}

/// The function that a finding lies in.
fn logical(finding: &Finding) -> Vec<LogicalLocation> {
    let function = finding.function.as_deref().or(finding.kernel.as_deref());
    let logical = function.map(|function| LogicalLocation {
        name: name(&readable(function)).into_owned(),
        decorated_name: name(function).into_owned(),
        kind: "function",
    });
    logical.into_iter().collect()
}

/// The message for all places of a cause; then the assumptions and the advice of the first.
fn message(cause: &Cause<'_>) -> String {
    let mut text = said(cause.group.message.as_str());
    text.push('.');
    if cause.group.findings.len() > 1 {
        text.push_str(&format!(" It is so at {} places.", cause.group.findings.len()));
    }
    let lines = cause.first.notes.iter().map(|note| ("note", note));
    for (word, line) in lines.chain(cause.first.help.iter().map(|help| ("help", help))) {
        text.push_str(&format!("\n{word}: {}", said(line)));
    }
    if let Some(command) = cause.first.confirm_command() {
        text.push_str(&format!("\nconfirm: {}", said(&command)));
    }
    cut(&text, MESSAGE_CHARACTERS)
}

/// Text of ours with names from inputs in it, on one line. `[text](target)` would be a link in a message of SARIF.
pub(super) fn said(text: &str) -> String {
    crate::escape::line(text).replace("](", "] (")
}

/// The state of a cause beside a baseline.
fn baseline_state(cause: &Cause<'_>) -> &'static str {
    match cause.group.suppressed.as_ref() {
        Some(suppression) if suppression.by == "baseline" => "unchanged",
        _ => "new",
    }
}

fn suppression(cause: &Cause<'_>) -> Option<Suppression> {
    let suppression = cause.group.suppressed.as_ref()?;
    Some(Suppression {
        kind: match suppression.by {
            "comment" => "inSource",
            _ => "external",
        },
        status: "accepted",
        justification: said(&suppression.reason),
    })
}
