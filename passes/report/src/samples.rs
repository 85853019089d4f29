//! A finding for the tests of the renderers.

use std::sync::LazyLock;

use ptxcheck_passes::finding::{Data, Finding, Frame, LineText, Location, Related, Source, Value};
use ptxcheck_passes::group;
use ptxcheck_passes::inventory::Problem;
use ptxcheck_passes::rule::ProblemKind;
use ptxcheck_passes::sources::Sources;
use ptxcheck_passes::{Bytes, Input, Outcome, Settings, check};

fn frame(file: &str, line: u32, column: u32, function: Option<&str>) -> Frame {
    Frame {
        file: file.to_owned(),
        line,
        column,
        function: function.map(str::to_owned),
    }
}

/// A source that lies in no readable file.
pub(crate) fn source() -> Source {
    Source {
        at: frame("no/such/k.cu", 4, 13, None),
        inside: vec![frame("cuda/include/sm_30_intrinsics.hpp", 110, 3, None)],
        inlined_at: vec![frame("no/such/k.cu", 9, 0, Some("_Z5outeri"))],
    }
}

/// The outcome for a module with an empty mask, with numbers and places of no particular module.
fn checked() -> Outcome {
    let text = "\
.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z4bad1v() { bar.warp.sync 0; ret; }
";
    run(text)
}

fn run(text: &str) -> Outcome {
    let input = Input {
        name: "a.ptx".to_owned(),
        bytes: Bytes::Memory(text.into()),
    };
    check(vec![input], &Settings::default())
}

/// A finding with everything but a source.
pub(crate) fn finding() -> Finding {
    // Some tests want tens of thousands.
    static CHECKED: LazyLock<Finding> = LazyLock::new(|| checked().findings.remove(0));
    let mut finding = CHECKED.clone();
    assert_eq!(finding.rule.code, "PTX407");
    finding.message = "the member mask is 0".to_owned();
    finding.notes = vec!["a note".to_owned()];
    finding.help = vec!["some help".to_owned()];
    finding.image = Some(0);
    finding.offset = 700;
    finding.kernel = Some("_Z4bad1v".to_owned());
    finding.location = Some(Location {
        file: "a.ptx".to_owned(),
        line: 31,
        column: 2,
        end_line: 31,
        end_column: 18,
    });
    finding.line_text = Some(LineText {
        text: "\tbar.warp.sync 0;".to_owned(),
        from: 1,
    });
    finding.source = None;
    finding.related = vec![Related {
        message: "lanes leave here".to_owned(),
        location: None,
        source: Some(Source {
            at: frame("k.cu", 7, 0, None),
            inside: Vec::new(),
            inlined_at: Vec::new(),
        }),
        is_cause: false,
        by: None,
    }];
    finding.data = Data::from_iter([
        ("mask", Value::Number(0)),
        ("operation", Value::Text("__syncwarp".to_owned())),
        ("lanes", Value::Numbers(vec![0, 31])),
    ]);
    finding.fingerprint = "0123456789abcdef".to_owned();
    finding
}

/// A run that made this finding.
pub(crate) fn outcome(finding: Finding) -> Outcome {
    let mut outcome = checked();
    outcome.findings = vec![finding];
    let image = &mut outcome.inputs[0].images[0];
    image.isa = String::new();
    image.bytes = 1234;
    image.packed = 1234;
    image.facts = std::sync::Arc::default();
    regroup(&mut outcome);
    outcome
}

/// A finding with everything, on a line of its source.
pub(crate) fn finding_at(line: u32) -> Finding {
    let mut finding = finding();
    finding.source = Some(Source {
        at: frame("no/such/k.cu", line, 13, Some("_Z4bad1v")),
        ..source()
    });
    finding
}

/// A run that made these findings, with their causes.
pub(crate) fn outcome_of(findings: impl IntoIterator<Item = Finding>) -> Outcome {
    let mut outcome = outcome(finding());
    outcome.findings = findings.into_iter().collect();
    regroup(&mut outcome);
    outcome
}

/// Finds the causes of the findings of a run again.
pub(crate) fn regroup(outcome: &mut Outcome) {
    outcome.groups = group::groups(&outcome.inputs, &outcome.findings, &mut Sources::default());
}

/// The problem of an input that is malformed in its second line.
pub(crate) fn syntax_error() -> Problem {
    let problem = run(".version 9.0\n.target\n").inputs[0].problems.remove(0);
    assert_eq!(problem.kind, ProblemKind::Syntax);
    problem
}
