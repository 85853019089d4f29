//! A finding for the tests of the renderers.

use ptxcheck_passes::finding::{Certainty, Data, Finding, Frame, LineText, Location, Related, Source, Value};
use ptxcheck_passes::inventory::{ImageKind, Role};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::rules;
use ptxcheck_passes::run::{ImageReport, InputReport, Outcome, Status};

fn frame(file: &str, line: u32, column: u32, function: Option<&str>) -> Frame {
    Frame {
        file: file.to_owned(),
        line,
        column,
        function: function.map(str::to_owned),
    }
}

/// A source that lies in no readable file.
pub fn source() -> Source {
    Source {
        at: frame("no/such/k.cu", 4, 13, None),
        inside: vec![frame("cuda/include/sm_30_intrinsics.hpp", 110, 3, None)],
        inlined_at: vec![frame("no/such/k.cu", 9, 0, Some("_Z5outeri"))],
    }
}

/// A finding with everything but a source.
pub fn finding() -> Finding {
    Finding {
        rule: rules::find("PTX407").unwrap(),
        certainty: Certainty::Definite,
        level: Level::Error,
        message: "the member mask is 0".to_owned(),
        notes: vec!["a note".to_owned()],
        help: vec!["some help".to_owned()],
        input: 0,
        image: Some(0),
        offset: 700,
        function: Some("_Z4bad1v".to_owned()),
        kernel: Some("_Z4bad1v".to_owned()),
        location: Some(Location {
            file: "a.ptx".to_owned(),
            line: 31,
            column: 2,
            end_line: 31,
            end_column: 18,
        }),
        line_text: Some(LineText {
            text: "\tbar.warp.sync 0;".to_owned(),
            from: 1,
        }),
        source: None,
        related: vec![Related {
            message: "lanes leave here".to_owned(),
            location: None,
            source: Some(Source {
                at: frame("k.cu", 7, 0, None),
                inside: Vec::new(),
                inlined_at: Vec::new(),
            }),
        }],
        data: Data::from_iter([
            ("mask", Value::Number(0)),
            ("operation", Value::Text("__syncwarp".to_owned())),
            ("lanes", Value::Numbers(vec![0, 31])),
        ]),
        fingerprint: "0123456789abcdef".to_owned(),
        suppressed: None,
    }
}

/// A run that made this finding.
pub fn outcome(finding: Finding) -> Outcome {
    Outcome {
        inputs: vec![InputReport {
            name: "a.ptx".to_owned(),
            status: Status::Checked,
            images: vec![ImageReport {
                kind: ImageKind::Ptx,
                role: Role::Loadable,
                target: "sm_90".to_owned(),
                isa: String::new(),
                bytes: 1234,
                packed: 1234,
                offset: 0,
                kernels: 1,
                functions: 0,
                compression: None,
                section: None,
                member: None,
                container: None,
                options: String::new(),
                is_64_bit: true,
                is_debug: false,
                is_read: true,
                limit: None,
                digest: None,
                facts: std::sync::Arc::default(),
            }],
            host: None,
            problems: Vec::new(),
        }],
        findings: vec![finding],
    }
}
