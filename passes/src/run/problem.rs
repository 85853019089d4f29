//! Problems of a run as findings: each is one of the 9xx rule for its kind.

use ptxcheck_ptx_parser::Span;

use crate::finding::{Certainty, Data, Finding, LineText, Location};
use crate::ir::Origin;
use crate::rule::{Check, Level, ProblemKind, Rule};
use crate::settings::Settings;
use crate::{fingerprint, locate};

/// A problem without a place: its kind, and a sentence.
pub(super) type Trouble = (ProblemKind, String);

/// The panic of an analysis, by its payload.
pub(super) fn panic(payload: &(dyn std::any::Any + Send)) -> Trouble {
    let said = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    (ProblemKind::Internal, format!("the analysis failed: {said}"))
}

/// A place in a text.
pub(super) struct Placed<'a> {
    pub(super) span: Span,
    pub(super) origin: &'a dyn Origin,
}

/// The same, as lines and columns.
#[derive(Default)]
pub(super) struct Spot {
    offset: u32,
    location: Option<Location>,
    line_text: Option<LineText>,
    /// It is about this image.
    image: Option<u32>,
}

impl Placed<'_> {
    pub(super) fn locate(self) -> Spot {
        let (location, line_text) = locate::text(self.origin, self.span, "");
        Spot {
            offset: self.span.start,
            location,
            line_text,
            image: Some(0),
        }
    }
}

impl Spot {
    /// An image, or the input as a whole.
    pub(super) fn of_image(image: Option<u32>) -> Self {
        Self {
            image,
            ..Self::default()
        }
    }

    pub(super) fn line(&self) -> Option<u32> {
        self.location.as_ref().map(|location| location.line)
    }
}

/// The finding for a problem; `None` if the settings do not want it. Of input 0.
pub(super) fn finding(
    settings: &Settings,
    kind: ProblemKind,
    message: String,
    spot: Spot,
) -> Option<Finding> {
    let of_kind = |rule: &&'static Rule| matches!(rule.check, Check::Problem(own) if own == kind);
    let rule = settings.registry.rules().find(of_kind)?;
    let level = settings.level(rule, Certainty::Definite, rule.definite);
    (level > Level::Allow).then(|| Finding {
        rule,
        certainty: Certainty::Definite,
        level,
        own_level: rule.definite,
        fingerprint: fingerprint::of_instruction(rule.code, "", message.as_bytes()),
        message,
        notes: Vec::new(),
        help: Vec::new(),
        input: 0,
        image: spot.image,
        offset: spot.offset,
        function: None,
        kernel: None,
        location: spot.location,
        line_text: spot.line_text,
        source: None,
        related: Vec::new(),
        data: Data::default(),
        is_elsewhere: false,
        suppressed: None,
    })
}
