//! Problems of a run as findings: each is one of the 9xx rule for its kind.

use ptxcheck_ptx_parser::Span;

use crate::deadline::too_long;
use crate::finding::{Certainty, Finding, LineText, Location};
use crate::image::InputError;
use crate::ir::Origin;
use crate::locate;
use crate::rule::{Level, ProblemKind, Rule};
use crate::settings::Settings;

/// The panic of an analysis, by its payload.
pub(super) fn panic(payload: &(dyn std::any::Any + Send)) -> InputError {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    InputError::new(ProblemKind::Internal, format!("the analysis failed: {message}"))
}

/// The error of an input whose time was over.
pub(super) fn out_of_time(settings: &Settings) -> InputError {
    let limit = settings.timeout.unwrap_or_default();
    InputError::new(ProblemKind::Limit, too_long(limit))
}

/// A place in a text.
pub(super) struct TextPlace<'a> {
    pub(super) span: Span,
    pub(super) origin: &'a dyn Origin,
}

/// The place of a problem, as offset, lines and columns; with neither, an image or the input as a whole.
#[derive(Default)]
pub(super) struct ProblemPlace {
    offset: u32,
    location: Option<Location>,
    line_text: Option<LineText>,
    image: Option<u32>,
}

impl TextPlace<'_> {
    /// The place in image 0, in a file without a name.
    pub(super) fn locate(self) -> ProblemPlace {
        let (location, line_text) = locate::location_and_text_of(self.origin, self.span, "");
        ProblemPlace {
            offset: self.span.start,
            location,
            line_text,
            image: Some(0),
        }
    }
}

impl ProblemPlace {
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
    place: ProblemPlace,
) -> Option<Finding> {
    let of_kind = |rule: &&'static Rule| rule.code == kind.code();
    let rule = settings.registry.rules().find(of_kind)?;
    let level = settings.level(rule, Certainty::Definite, rule.definite);
    (level > Level::Allow).then(|| {
        let mut finding = Finding::of_input(rule, level, message);
        finding.image = place.image;
        finding.offset = place.offset;
        finding.location = place.location;
        finding.line_text = place.line_text;
        finding
    })
}
