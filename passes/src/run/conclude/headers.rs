//! The line that a finding is shown at: the call of a function in a header, or the line in the header that was inlined there.

use super::places::SpellingCache;
use crate::exceptions::ReportAt;
use crate::finding::{Finding, Related, Source};
use crate::scope::fits_path;
use crate::settings::Settings;
use crate::toolkit;

/// True for a system header: the toolkit's, or one that the settings name.
pub(super) fn is_system(file: &str, settings: &Settings, spellings: &mut SpellingCache<'_>) -> bool {
    toolkit::is_header(file) || {
        let patterns = &settings.headers.system;
        !patterns.is_empty() && {
            let path = spellings.path(file);
            patterns.iter().any(|pattern| fits_path(pattern, &path))
        }
    }
}

/// Moves a finding, and its related places, to the line that the settings want.
pub(super) fn choose(finding: &mut Finding, settings: &Settings, spellings: &mut SpellingCache<'_>) {
    let headers = &settings.headers;
    if headers.report_at == ReportAt::Call && headers.system.is_empty() {
        return; // As it was located.
    }
    let others = finding.related.iter_mut().chain(&mut finding.steps);
    let others = others.filter_map(|related| related.source.as_mut());
    for source in finding.source.iter_mut().chain(others) {
        split(source, settings, spellings);
    }
    let Some(source) = &finding.source else { return };
    if headers.report_at == ReportAt::Both
        && let Some(innermost) = source.inside.first()
    {
        let message = "in the header, it is this line".to_owned();
        let header = Related::new(message, None, Some(innermost.clone().into()));
        finding.related.insert(0, header);
    }
}

/// Chooses the shown frame among those that lead to a line.
fn split(source: &mut Source, settings: &Settings, spellings: &mut SpellingCache<'_>) {
    let mut frames = std::mem::take(&mut source.inside);
    frames.push(source.at.clone());
    frames.append(&mut source.inlined_at);
    let at = match settings.headers.report_at {
        ReportAt::Header => 0,
        ReportAt::Call | ReportAt::Both => frames
            .iter()
            .position(|frame| !is_system(&frame.file, settings, spellings))
            .unwrap_or(0),
    };
    source.inlined_at = frames.split_off(at + 1);
    if let Some(shown) = frames.pop() {
        source.at = shown;
    }
    source.inside = frames;
}
