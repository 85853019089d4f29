//! Findings as compilers print them: `file:line:col: error: message [PTX401]`, one a line.

use std::fmt::Write as _;

use ptxcheck_passes::run::Outcome;

use super::places::Place;
use super::{escape, image_label, input_name, packed_image, shown};

/// Everything found, one line a finding, with colours.
#[must_use]
pub fn render(outcome: &Outcome) -> String {
    let mut text = String::new();
    for finding in shown(outcome) {
        let place = match Place::of(finding) {
            Some(Place {
                file,
                line,
                column: Some(column),
                ..
            }) => format!("{file}:{line}:{column}"),
            Some(Place { file, line, .. }) => format!("{file}:{line}"),
            None => input_name(outcome, finding).to_owned(),
        };
        let style = crate::styles::level(finding.level);
        let image = packed_image(outcome, finding).map_or_else(String::new, |(number, image)| {
            format!(" ({})", escape::line(&image_label(number, image)))
        });
        let _ = writeln!(
            text,
            "{}: {style}{}{style:#}: {}{image} [{}]",
            escape::line(&place),
            finding.level.as_str(),
            escape::line(&finding.message),
            finding.rule.code
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::render::samples;

    fn plain(outcome: &ptxcheck_passes::run::Outcome) -> String {
        anstream::adapter::strip_str(&render(outcome)).to_string()
    }

    #[test]
    fn the_line_begins_with_the_best_place() {
        let mut finding = samples::finding();
        let rest = "error: the member mask is 0 [PTX407]\n";
        assert_eq!(
            plain(&samples::outcome(finding.clone())),
            format!("a.ptx:31:2: {rest}")
        );
        finding.source = Some(samples::source());
        assert_eq!(
            plain(&samples::outcome(finding.clone())),
            format!("no/such/k.cu:4:13: {rest}")
        );
        finding.source = None;
        finding.location = None;
        assert_eq!(plain(&samples::outcome(finding)), format!("a.ptx: {rest}"));
    }
}
