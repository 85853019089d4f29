//! The document for programs. Its shape is a promise: `schema/check-v2.schema.json` describes it.

pub mod audit;
pub mod document;
pub mod lines;

use std::collections::BTreeMap;
use std::time::Duration;

use ptxcheck_passes::finding::{Finding, Frame, Location, Related, Source, Value};
use ptxcheck_passes::inventory::CodeClass;
use ptxcheck_passes::names::demangle;
use ptxcheck_passes::run::{ImageReport, InputReport, Outcome, Problem};
use ptxcheck_passes::sources::Sources;
use serde::Serialize;

use crate::causes::Cause;
use crate::coverage::Coverage;
use crate::fixes::{self, Fix};
use crate::summary::Counts;
use crate::{PROGRAM, input_name, packed_image};

/// Raised when a key changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 2;

/// Most places of one finding that the document lists, besides the first; a number stands for the rest.
const MAX_PLACES: usize = 100_000;

/// The document, with a line end.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(outcome: &Outcome, elapsed: Duration) -> serde_json::Result<String> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        inputs: outcome.inputs.iter().map(InputJson::new).collect(),
        findings: findings(outcome),
        summary: Summary::new(outcome, true, elapsed),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool: Tool,
    inputs: Vec<InputJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    summary: Summary<'a>,
}

/// The program that wrote a document.
#[derive(Serialize)]
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(crate) const THIS: Self = Self {
        name: PROGRAM,
        version: env!("CARGO_PKG_VERSION"),
    };
}

fn findings(outcome: &Outcome) -> Vec<FindingJson<'_>> {
    let mut sources = Sources::default();
    Cause::all(outcome)
        .map(|cause| FindingJson::new(&cause, outcome, &mut sources))
        .collect()
}

#[derive(Serialize)]
struct InputJson<'a> {
    path: &'a str,
    status: &'static str,
    images: Vec<ImageJson<'a>>,
    errors: Vec<ErrorJson<'a>>,
}

impl<'a> InputJson<'a> {
    fn new(report: &'a InputReport) -> Self {
        Self {
            path: &report.name,
            status: report.status.as_str(),
            images: (0u32..)
                .zip(&report.images)
                .map(|(index, image)| ImageJson::new(index, image))
                .collect(),
            errors: report.problems.iter().map(ErrorJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct ImageJson<'a> {
    index: u32,
    kind: &'static str,
    target: Option<&'a str>,
    isa: Option<&'a str>,
    bytes: u64,
    kernels: u32,
    functions: u32,
    compression: Option<&'static str>,
    section: Option<&'a str>,
    member: Option<&'a str>,
    container: Option<u32>,
    offset: u64,
    packed_bytes: u64,
    role: &'static str,
    debug: bool,
    producer: Option<&'a str>,
    compiled_for: Option<String>,
    code_class: Option<&'static str>,
}

impl<'a> ImageJson<'a> {
    fn new(index: u32, image: &'a ImageReport) -> Self {
        let known = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Self {
            index,
            kind: image.kind.as_str(),
            target: known(&image.target),
            isa: known(&image.isa),
            bytes: image.bytes,
            kernels: image.kernels,
            functions: image.functions,
            compression: image.compression,
            section: image.section.as_deref(),
            member: image.member.as_deref(),
            container: image.container,
            offset: image.offset,
            packed_bytes: image.packed,
            role: image.role.as_str(),
            debug: image.is_debug,
            producer: image.facts.producer.as_deref(),
            compiled_for: image.virtual_number.map(|number| format!("compute_{number}")),
            code_class: image.facts.code_class.map(CodeClass::as_str),
        }
    }
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    code: &'static str,
    message: &'a str,
    line: Option<u32>,
}

impl<'a> ErrorJson<'a> {
    fn new(problem: &'a Problem) -> Self {
        Self {
            code: problem.kind.code(),
            message: &problem.message,
            line: problem.line,
        }
    }
}

#[derive(Serialize)]
struct FindingJson<'a> {
    code: &'static str,
    name: &'static str,
    level: &'static str,
    certainty: &'static str,
    message: &'a str,
    /// The message about the first place alone, where those of the others differ.
    message_here: Option<&'a str>,
    notes: &'a [String],
    help: &'a [String],
    input: &'a str,
    image: Option<u32>,
    function: Option<&'a str>,
    function_demangled: Option<String>,
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_demangled: Option<String>,
    location: Option<LocationJson<'a>>,
    source: Option<SourceJson<'a>>,
    related: Vec<RelatedJson<'a>>,
    /// The steps of a run that goes wrong, of conditional findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<RelatedJson<'a>>,
    data: BTreeMap<&'a str, ValueJson<'a>>,
    fingerprint: &'a str,
    suppressed: Option<SuppressionJson<'a>>,
    places: Vec<PlaceJson<'a>>,
    places_left_out: usize,
    /// The command that shows it in a run, where a tool can.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
    /// Edits that mend it, where they are certain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<FixJson<'a>>,
}

/// An edit of a line of the source.
#[derive(Serialize)]
struct FixJson<'a> {
    description: String,
    file: &'a str,
    line: u32,
    column: usize,
    end_column: usize,
    replacement: String,
}

impl<'a> FixJson<'a> {
    fn new(fix: Fix<'a>) -> Self {
        Self {
            file: fix.file,
            line: fix.line,
            column: fix.span.start + 1,
            end_column: fix.span.end + 1,
            description: fix.description,
            replacement: fix.replacement,
        }
    }
}

impl<'a> FindingJson<'a> {
    fn new(cause: &Cause<'a>, outcome: &'a Outcome, sources: &mut Sources) -> Self {
        let (group, finding) = (cause.group, cause.first);
        let message = group.message.as_str();
        let in_image = packed_image(outcome, finding).is_some();
        Self {
            code: finding.rule.code,
            name: finding.rule.name,
            level: group.level.as_str(),
            certainty: finding.certainty.as_str(),
            message,
            message_here: own_message(finding, message),
            notes: &finding.notes,
            help: &finding.help,
            input: input_name(outcome, finding),
            image: finding.image,
            function: finding.function.as_deref(),
            function_demangled: finding.function.as_deref().and_then(demangle),
            kernel: finding.kernel.as_deref(),
            kernel_demangled: finding.kernel.as_deref().and_then(demangle),
            location: finding
                .location
                .as_ref()
                .map(|location| LocationJson::new(location, in_image)),
            source: finding.source.as_ref().map(SourceJson::new),
            related: finding
                .related
                .iter()
                .map(|related| RelatedJson::new(related, in_image))
                .collect(),
            steps: finding
                .steps
                .iter()
                .map(|step| RelatedJson::new(step, in_image))
                .collect(),
            data: finding
                .data
                .iter()
                .map(|(key, value)| (key, ValueJson::new(value)))
                .collect(),
            fingerprint: &group.fingerprint,
            suppressed: group.suppressed.as_ref().map(|suppression| SuppressionJson {
                by: suppression.by,
                reason: &suppression.reason,
            }),
            places: cause
                .findings()
                .skip(1)
                .take(MAX_PLACES)
                .map(|finding| PlaceJson::new(finding, outcome, message))
                .collect(),
            places_left_out: group.findings.len().saturating_sub(MAX_PLACES + 1),
            confirm: finding.confirm_command(),
            fixes: fixes::of(cause, input_name(outcome, finding), sources)
                .map(FixJson::new)
                .into_iter()
                .collect(),
        }
    }
}

/// The message of a finding where it says more than the message of all.
fn own_message<'a>(finding: &'a Finding, of_all: &str) -> Option<&'a str> {
    Some(finding.message.as_str()).filter(|own| *own != of_all)
}

/// A further place of a finding.
#[derive(Serialize)]
struct PlaceJson<'a> {
    message: Option<&'a str>,
    input: &'a str,
    image: Option<u32>,
    function: Option<&'a str>,
    kernel: Option<&'a str>,
    location: Option<LocationJson<'a>>,
    source: Option<SourceJson<'a>>,
    lanes: Option<ValueJson<'a>>,
}

impl<'a> PlaceJson<'a> {
    fn new(finding: &'a Finding, outcome: &'a Outcome, message: &str) -> Self {
        let in_image = packed_image(outcome, finding).is_some();
        Self {
            message: own_message(finding, message),
            input: input_name(outcome, finding),
            image: finding.image,
            function: finding.function.as_deref(),
            kernel: finding.kernel.as_deref(),
            location: finding
                .location
                .as_ref()
                .map(|location| LocationJson::new(location, in_image)),
            source: finding.source.as_ref().map(SourceJson::new),
            lanes: finding.data.get("lanes").map(ValueJson::new),
        }
    }
}

#[derive(Serialize)]
struct LocationJson<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    /// The lines are of the image, which lies in the file.
    in_image: bool,
}

impl<'a> LocationJson<'a> {
    /// `in_image`: the finding is about an image inside its file.
    fn new(location: &'a Location, in_image: bool) -> Self {
        Self {
            in_image,
            file: &location.file,
            line: location.line,
            column: location.column,
            end_line: location.end_line,
            end_column: location.end_column,
        }
    }
}

#[derive(Serialize)]
struct SourceJson<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
    inlined_at: Vec<FrameJson<'a>>,
}

impl<'a> SourceJson<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            file: &source.at.file,
            line: source.at.line,
            column: column(&source.at),
            inlined_at: source.inlined_at.iter().map(FrameJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct FrameJson<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
}

impl<'a> FrameJson<'a> {
    fn new(frame: &'a Frame) -> Self {
        Self {
            file: &frame.file,
            line: frame.line,
            column: column(frame),
        }
    }
}

fn column(frame: &Frame) -> Option<u32> {
    Some(frame.column).filter(|column| *column > 0)
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    message: &'a str,
    location: Option<LocationJson<'a>>,
    source: Option<SourceJson<'a>>,
}

impl<'a> RelatedJson<'a> {
    fn new(related: &'a Related, in_image: bool) -> Self {
        Self {
            message: &related.message,
            location: related
                .location
                .as_ref()
                .map(|location| LocationJson::new(location, in_image)),
            source: related.source.as_ref().map(SourceJson::new),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValueJson<'a> {
    Text(&'a str),
    Number(u64),
    Numbers(&'a [u64]),
    Texts(&'a [String]),
}

impl<'a> ValueJson<'a> {
    fn new(value: &'a Value) -> Self {
        match value {
            Value::Text(text) => Self::Text(text),
            Value::Number(number) => Self::Number(*number),
            Value::Numbers(numbers) => Self::Numbers(numbers),
            Value::Texts(texts) => Self::Texts(texts),
        }
    }
}

#[derive(Serialize)]
struct SuppressionJson<'a> {
    by: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Summary<'a> {
    inputs: usize,
    images: usize,
    kernels: usize,
    /// Only in documents of a check: an audit analyses no code.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_analysed: Option<NotAnalysed<'a>>,
    errors: usize,
    warnings: usize,
    suppressed: usize,
    places: PlacesOfAll,
    excluded: Excluded,
    elapsed_ms: u64,
}

/// Numbers of places of the errors and warnings.
#[derive(Serialize)]
struct PlacesOfAll {
    errors: usize,
    warnings: usize,
}

/// Numbers of inputs and findings that the configuration leaves out.
#[derive(Serialize)]
struct Excluded {
    inputs: usize,
    findings: usize,
}

/// An input with code that was too much work.
#[derive(Serialize)]
struct LimitJson<'a> {
    input: &'a str,
    message: &'a str,
}

/// The part of the inputs that was not analysed.
#[derive(Serialize)]
struct NotAnalysed<'a> {
    images: usize,
    kernels: usize,
    empty_inputs: Vec<&'a str>,
    limits: Vec<LimitJson<'a>>,
}

impl<'a> Summary<'a> {
    fn new(outcome: &'a Outcome, is_check: bool, elapsed: Duration) -> Self {
        let counts = Counts::of(outcome);
        let coverage = Coverage::of(outcome);
        Self {
            inputs: outcome.inputs.len(),
            images: counts.images,
            kernels: coverage.kernels,
            not_analysed: is_check.then(|| NotAnalysed {
                images: coverage.unanalysed.values().sum(),
                kernels: coverage.unanalysed_kernels,
                empty_inputs: coverage.empty,
                limits: coverage
                    .limits
                    .into_iter()
                    .map(|(input, message)| LimitJson { input, message })
                    .collect(),
            }),
            errors: counts.errors,
            warnings: counts.warnings,
            suppressed: counts.suppressed + counts.known,
            places: PlacesOfAll {
                errors: counts.error_places,
                warnings: counts.warning_places,
            },
            excluded: Excluded {
                inputs: outcome.decisions.excluded_inputs,
                findings: outcome.decisions.excluded,
            },
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ptxcheck_passes::Settings;
    use ptxcheck_passes::finding::Suppression;
    use ptxcheck_passes::run::{Outcome, Status};
    use serde_json::Value;

    use super::render;
    use crate::samples;

    fn document(outcome: &Outcome) -> Value {
        let document = serde_json::from_str(&render(outcome, Duration::from_millis(3)).unwrap()).unwrap();
        let schema = include_str!("../schema/check-v2.schema.json");
        let schema = serde_json::from_str(schema).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        document
    }

    #[test]
    fn a_document_with_everything_is_valid() {
        let mut finding = samples::finding();
        finding.source = Some(samples::source());
        finding.suppressed = Some(Suppression {
            by: "baseline",
            reason: "known".to_owned(),
        });
        let mut outcome = samples::outcome(finding);
        outcome.findings.push(samples::finding());
        outcome.groups = ptxcheck_passes::group::one_each(&outcome.findings);
        outcome.inputs[0].status = Status::Partly;
        outcome.inputs[0].problems.push(samples::syntax_error());
        let document = document(&outcome);
        let finding = &document["findings"][0];
        assert_eq!(finding["function_demangled"], "bad1()");
        assert_eq!(finding["kernel_demangled"], "bad1()");
        assert_eq!(finding["source"]["inlined_at"][0]["column"], Value::Null);
        assert_eq!(finding["data"]["lanes"], serde_json::json!([0, 31]));
        assert_eq!(document["inputs"][0]["errors"][0]["code"], "PTX902");
        assert_eq!(document["inputs"][0]["images"][0]["isa"], Value::Null);
        let summary = &document["summary"];
        assert_eq!(
            (&summary["errors"], &summary["suppressed"]),
            (&1.into(), &1.into())
        );
    }

    #[test]
    fn places_say_what_is_theirs() {
        let mut other = samples::finding();
        other.message = "the member mask is 1".to_owned();
        other.kernel = Some("_Z5otherv".to_owned());
        let mut outcome = samples::outcome(samples::finding());
        outcome.findings.push(other);
        outcome.groups[0].findings.push(1);
        outcome.groups[0].message = "the member mask is wrong".to_owned();
        let document = document(&outcome);
        assert_eq!(document["findings"].as_array().map(Vec::len), Some(1));
        let finding = &document["findings"][0];
        assert_eq!(finding["message"], "the member mask is wrong");
        assert_eq!(finding["message_here"], "the member mask is 0");
        let place = &finding["places"][0];
        assert_eq!(place["message"], "the member mask is 1");
        assert_eq!(
            (&place["kernel"], &place["lanes"]),
            (&"_Z5otherv".into(), &serde_json::json!([0, 31]))
        );
        assert_eq!(document["summary"]["errors"], 1);
        assert_eq!(document["summary"]["places"]["errors"], 2);
    }

    #[test]
    fn a_document_with_nothing_is_valid() {
        let mut finding = samples::finding();
        finding.function = None;
        finding.kernel = None;
        finding.image = None;
        finding.location = None;
        finding.related.clear();
        finding.data = ptxcheck_passes::finding::Data::default();
        document(&samples::outcome(finding));
        document(&ptxcheck_passes::check(Vec::new(), &Settings::default()));
    }
}
