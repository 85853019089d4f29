//! The places of findings in MLIR. Its bitcode names lines of the text; the `loc(…)` on these lines name the source.

use std::collections::HashSet;
use std::sync::Arc;

use ptxcheck_frontend_mlir::{Locations, Text};

use super::super::text::TextReport;
use crate::finding::{Certainty, Finding, Frame, LineText, Located, Location, Related, Source};
use crate::inventory::Facts;
use crate::ir::{Origin as _, Span};
use crate::{fingerprint, locate, names};

/// The file that the bitcode of a text names: MLIR's name for what it reads from no file.
const OWN_FILE: &str = "-";

/// The exact size of blocks, as notes have it, and as MLIR does.
const PTX_SIZE: &str = "`.reqntid`";
const MLIR_SIZE: &str = "`known_block_size`";

/// The places of a part of a text, or of bytecode.
pub(super) struct Places<'t> {
    locations: Locations<'t>,
    lines_before: u32,
}

/// The places that a place in the bitcode stands for.
struct Found {
    /// Lines and columns in the file, innermost first: that of the operation, then those of the calls that lead to it.
    own: Vec<(u32, u32)>,
    /// The places that the text names for them.
    source: Option<Source>,
}

impl<'t> Places<'t> {
    /// Those of a part of a text with so many lines before it, or of the text that MLIR prints of bytecode.
    pub(super) fn of(part: &'t [u8], lines_before: u32) -> Self {
        Self {
            locations: Locations::of(part),
            lines_before,
        }
    }

    /// The place that the text names for a line and column of this part: `k.py:10:3`.
    pub(super) fn position(&self, line: u32, column: u32) -> Option<String> {
        let frame = self.locations.frames(line, column).into_iter().next()?;
        Some(format!("{}:{}:{}", frame.file, frame.line, frame.column))
    }

    /// Gives the findings and declarations of a report their places in `text`, which is that of the file, if it is one, and drops
    /// findings that repeat others: one operation becomes many instructions.
    pub(super) fn apply(&self, report: &mut TextReport, text: Option<&Text<'_>>) {
        for finding in &mut report.findings {
            self.finding(finding, text);
        }
        let is_potential = |finding: &Finding| finding.certainty == Certainty::Potential;
        report
            .findings
            .sort_by_key(|finding| (finding.offset, is_potential(finding)));
        let mut seen = HashSet::new();
        report.findings.retain(|finding| {
            let function = finding.kernel.as_ref().or(finding.function.as_ref());
            place_of(finding).is_none_or(|place| seen.insert((finding.rule.code, function.cloned(), place)))
        });
        if let Some(facts) = Arc::get_mut(&mut report.facts) {
            self.facts(facts, text);
        }
    }

    fn finding(&self, finding: &mut Finding, text: Option<&Text<'_>>) {
        let found = self.find(finding.source.take());
        finding.source = found.source;
        for note in &mut finding.notes {
            *note = note.replace(PTX_SIZE, MLIR_SIZE);
        }
        let place = found.own.first().copied();
        if let Some((text, span)) = spanned(place, text) {
            finding.offset = span.start;
            (finding.location, finding.line_text) = locate::location_and_text_of(text, span, "");
            let operation = operation(text, span);
            if finding.function.is_some() {
                finding.cause.instruction = fingerprint::of_text(operation);
                finding.cause.operation = Some(String::from_utf8_lossy(text.text(span)).into_owned());
            }
            let function = names::normalised(finding.function.as_deref().unwrap_or_default());
            finding.fingerprint = fingerprint::of_instruction(finding.rule.code, &function, operation);
        }
        for related in finding.other_places() {
            let found = self.find(related.source.take());
            related.source = found.source;
            related.location = located(found.own.first().copied(), text).0;
        }
        // Where the text names no places, the calls are lines of it.
        if finding.source.is_none() {
            for call in found.own.iter().skip(1) {
                let (location, _) = located(Some(*call), text);
                let related = Related::new("called here".to_owned(), location, None);
                finding.related.push(related);
            }
        }
    }

    fn facts(&self, facts: &mut Facts, text: Option<&Text<'_>>) {
        for kernel in &mut facts.kernels {
            if let Some(frame) = kernel.source.take() {
                kernel.source = self.behind(frame).1.into_iter().next();
            }
        }
        for located in &mut facts.bare {
            self.located(located, text);
        }
        if let Some(symbols) = &mut facts.symbols {
            // libdevice defines them, and every compiler of MLIR links it.
            symbols.open.retain(|open| !open.name.starts_with("__nv_"));
            for used in symbols.open.iter_mut().flat_map(|open| &mut open.uses) {
                self.located(used, text);
            }
        }
    }

    fn located(&self, place: &mut Located, text: Option<&Text<'_>>) {
        let found = self.find(place.source.take());
        place.source = found.source;
        let own = found.own.first().copied();
        if let Some((_, span)) = spanned(own, text) {
            place.offset = span.start;
        }
        (place.location, place.line_text) = located(own, text);
    }

    fn find(&self, source: Option<Source>) -> Found {
        let (mut own, mut frames) = (Vec::new(), Vec::new());
        if let Some(source) = source {
            let all = source
                .inside
                .into_iter()
                .chain([source.at])
                .chain(source.inlined_at);
            for frame in all {
                let (place, behind) = self.behind(frame);
                own.extend(place);
                frames.extend(behind);
            }
        }
        Found {
            own,
            source: locate::source_of_frames(frames),
        }
    }

    /// The line and column that a frame is in the file, and the places that the text names for it.
    fn behind(&self, frame: Frame) -> (Option<(u32, u32)>, Vec<Frame>) {
        if frame.file != OWN_FILE {
            return (None, vec![frame]);
        }
        let mut behind = self.locations.frames(frame.line, frame.column);
        if let Some(first) = behind.first_mut() {
            first.function = frame.function;
        }
        (
            Some((frame.line.saturating_add(self.lines_before), frame.column)),
            behind,
        )
    }
}

fn spanned<'t, 'b>(place: Option<(u32, u32)>, text: Option<&'t Text<'b>>) -> Option<(&'t Text<'b>, Span)> {
    let ((line, column), text) = place.zip(text)?;
    Some((text, text.span(line, column)?))
}

fn located(place: Option<(u32, u32)>, text: Option<&Text<'_>>) -> (Option<Location>, Option<LineText>) {
    spanned(place, text).map_or((None, None), |(text, span)| {
        locate::location_and_text_of(text, span, "")
    })
}

/// The text of the operation whose name this is, without its `loc`.
fn operation<'t>(text: &'t Text<'_>, span: Span) -> &'t [u8] {
    let Some(place) = text.position(span.start) else {
        return &[];
    };
    let line = text.line(place.line);
    let from = line.get(place.column as usize - 1..).unwrap_or_default();
    let end = memchr::memmem::find(from, b" loc(").unwrap_or(from.len());
    &from[..end]
}

/// The place of a finding, as far as it has one.
fn place_of(finding: &Finding) -> Option<(String, u32, u32)> {
    let in_text = finding
        .location
        .as_ref()
        .map(|at| (String::new(), at.line, at.column));
    let in_source = || {
        let at = &finding.source.as_ref()?.at;
        Some((at.file.clone(), at.line, at.column))
    };
    in_text.or_else(in_source)
}
