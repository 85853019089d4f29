//! Findings as compilers print them, one a line: `file:line:col: error: message (kernel k(int*), called at k.cu:9:3) [PTX401]`.

use ptxcheck_passes::finding::Finding;
use ptxcheck_passes::names::readable;
use ptxcheck_passes::run::Outcome;

use super::amounts::plural;
use super::causes::Cause;
use super::paths::Paths;
use super::places::ShownPlace;
use super::view::View;
use super::{escape, image_label, input_name, packed_image};
use crate::format::{Format, Renderer, Run};

/// Most calls that a line names.
const SHOWN_CALLS: usize = 3;

/// The format.
#[derive(Debug)]
pub struct Concise;

impl Renderer for Concise {
    fn format(&self) -> Format {
        Format::text("concise", "One line a finding, as compilers print it")
    }

    fn render(&self, run: &Run<'_>) -> Result<Vec<String>, String> {
        Ok(render(run.outcome, run.view))
    }
}

/// Everything found, one line a cause, with colours.
#[must_use]
pub fn render(outcome: &Outcome, view: &View) -> Vec<String> {
    let mut paths = Paths::new(&view.root);
    Cause::shown(outcome)
        .map(|cause| line(outcome, &cause, view, &mut paths))
        .collect()
}

fn line(outcome: &Outcome, cause: &Cause<'_>, view: &View, paths: &mut Paths) -> String {
    let (group, finding) = (cause.group, cause.first);
    let shown = ShownPlace::of(outcome, finding);
    // A line of an image is none of the file: the words after the message have it.
    let input = input_name(outcome, finding);
    let place = match &shown {
        Some(place) if place.image.is_none() => place.position_in(&paths.shown(place.file, input)),
        _ if input.is_empty() => String::new(),
        _ => paths.shown(input, input),
    };
    // A finding about an option has none.
    let place = if place.is_empty() {
        "ptxcheck".to_owned()
    } else {
        place
    };
    let style = crate::styles::level(group.level);
    let mut context = context(outcome, finding, paths);
    if let Some(place) = shown.filter(|place| place.image.is_some()) {
        context.push(format!("line {}", place.line));
    }
    if let others @ 1.. = group.findings.len() - 1 {
        context.push(format!("and {}", plural(others as u64, "more place")));
    }
    let context = match context {
        context if context.is_empty() => String::new(),
        context => format!(" ({})", context.join(", ")),
    };
    format!(
        "{}: {style}{}{style:#}: {}{context} [{}]\n",
        escape::line(&place),
        group.level.as_str(),
        escape::line(&group.message),
        view.pages.link(group.rule.code, group.rule)
    )
}

/// The words that distinguish findings on one line of a source: the kernel or function, the calls that lead there, the image.
fn context(outcome: &Outcome, finding: &Finding, paths: &mut Paths) -> Vec<String> {
    let mut context = Vec::new();
    let name = finding
        .kernel
        .as_deref()
        .map(|kernel| ("kernel", kernel))
        .or_else(|| Some(("function", finding.function.as_deref()?)));
    if let Some((word, name)) = name {
        let name = readable(name);
        if !finding.message.contains(&format!("`{name}`")) {
            context.push(format!("{word} {}", escape::name(&name)));
        }
    }
    let calls = finding
        .source
        .as_ref()
        .map_or(&[][..], |source| &source.inlined_at);
    for (number, call) in calls.iter().take(SHOWN_CALLS).enumerate() {
        let words = if number == 0 { "called at" } else { "from" };
        let file = paths.shown(&call.file, input_name(outcome, finding));
        let position = ShownPlace::of_frame(call).position_in(&file);
        context.push(format!("{words} {}", escape::line(&position)));
    }
    if let Some((number, image)) = packed_image(outcome, finding) {
        context.push(escape::line(&image_label(number, image)).into_owned());
    }
    context
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::samples;
    use crate::view::View;

    fn plain(outcome: &ptxcheck_passes::run::Outcome) -> String {
        anstream::adapter::strip_str(&render(outcome, &View::default()).concat()).to_string()
    }

    #[test]
    fn the_line_begins_with_the_best_place() {
        let mut finding = samples::finding();
        let rest = "error: the member mask is 0 (kernel bad1()) [PTX407]\n";
        assert_eq!(
            plain(&samples::outcome(finding.clone())),
            format!("a.ptx:31:2: {rest}")
        );
        finding.source = Some(samples::source());
        assert_eq!(
            plain(&samples::outcome(finding.clone())),
            format!(
                "no/such/k.cu:4:13: error: the member mask is 0 (kernel bad1(), called at no/such/k.cu:9) [PTX407]\n"
            )
        );
        finding.source = None;
        finding.location = None;
        assert_eq!(
            plain(&samples::outcome(finding.clone())),
            format!("a.ptx: {rest}")
        );
        finding.kernel = None;
        finding.function = None;
        assert_eq!(
            plain(&samples::outcome(finding)),
            "a.ptx: error: the member mask is 0 [PTX407]\n"
        );
    }
}
