//! Marks as the protocol has them, and the answers that are made of them.

use std::str::FromStr as _;

use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Hover, HoverContents,
    Location, MarkupContent, MarkupKind, NumberOrString, Position, Range, Uri,
};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::rules;
use ptxcheck_report::marks::{Mark, OtherPlace, Region};

use super::uris;
use crate::commands::explain;

/// Most rules that one hover explains.
const MAX_EXPLAINED: usize = 3;

/// A diagnostic; with its other places if the editor knows them.
pub(super) fn diagnostic(mark: &Mark, has_related: bool) -> Diagnostic {
    let page = mark.page.as_deref().and_then(|page| Uri::from_str(page).ok());
    let others = mark.others.iter().filter_map(|other| {
        Some(DiagnosticRelatedInformation {
            location: location(other)?,
            message: other.message.clone(),
        })
    });
    let others: Vec<_> = others.take(if has_related { usize::MAX } else { 0 }).collect();
    Diagnostic {
        range: range(mark.region),
        severity: Some(match mark.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning | Level::Allow => DiagnosticSeverity::WARNING,
        }),
        code: (!mark.code.is_empty()).then(|| NumberOrString::String(mark.code.clone())),
        code_description: page.map(|href| CodeDescription { href }),
        source: Some("ptxcheck".to_owned()),
        message: mark.message.clone(),
        related_information: (!others.is_empty()).then_some(others),
        ..Diagnostic::default()
    }
}

/// The documentation of the rules of the marks at a position.
pub(super) fn hover(marks: &[Mark], position: Position) -> Option<Hover> {
    let marks = at(marks, position);
    let mut codes: Vec<&str> = marks.iter().map(|mark| mark.code.as_str()).collect();
    codes.dedup();
    let explained = codes.iter().filter_map(|code| rules::find(code));
    let pages: Vec<String> = explained.take(MAX_EXPLAINED).map(explain::as_markdown).collect();
    (!pages.is_empty()).then(|| Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: pages.join("\n\n---\n\n"),
        }),
        range: marks.first().map(|mark| range(mark.region)),
    })
}

/// The other places of the marks at a position.
pub(super) fn definition(marks: &[Mark], position: Position) -> Vec<Location> {
    let mut places: Vec<Location> = Vec::new();
    for other in at(marks, position).iter().flat_map(|mark| &mark.others) {
        if let Some(place) = location(other).filter(|place| !places.contains(place)) {
            places.push(place);
        }
    }
    places
}

/// The marks at a position; else those on its line, as a compiler may state no column.
fn at(marks: &[Mark], position: Position) -> Vec<&Mark> {
    let holds = |range: Range| range.start <= position && position <= range.end;
    let exact: Vec<&Mark> = marks.iter().filter(|mark| holds(range(mark.region))).collect();
    if !exact.is_empty() {
        return exact;
    }
    let on_line = |mark: &&Mark| range(mark.region).start.line == position.line;
    marks.iter().filter(on_line).collect()
}

fn location(other: &OtherPlace) -> Option<Location> {
    let uri = uris::uri_of(other.file.as_ref());
    Some(Location {
        uri: Uri::from_str(&uri).ok()?,
        range: range(other.region),
    })
}

fn range(region: Region) -> Range {
    let position = |line: u32, column: u32| Position::new(line.saturating_sub(1), column.saturating_sub(1));
    Range::new(
        position(region.line, region.column),
        position(region.end_line, region.end_column),
    )
}
