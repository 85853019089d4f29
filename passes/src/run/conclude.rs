//! What the settings make of findings: where sources are, which line is shown, what is left out, which level findings have where
//! they are, which do not count and why. Rules know nothing of it.

mod headers;
mod places;
mod suppress;
mod unused;

use std::collections::HashMap;

use crate::finding::Finding;
use crate::inventory::InputReport;
use crate::patterns::Pattern;
use crate::rule::{Check, Level};
use crate::scope::{Whereabouts, fits_path};
use crate::settings::Settings;
use places::{Places, Spelt, frames};

/// What becomes of findings.
#[derive(Default)]
pub(super) struct Concluded {
    /// Those that stay, in their order, suppressed ones among them.
    pub(super) findings: Vec<Finding>,
    /// What is said of the settings themselves.
    pub(super) about_settings: Vec<Finding>,
    /// How many were left out.
    pub(super) excluded: usize,
    /// Exceptions that no longer count, as sentences.
    pub(super) expired: Vec<String>,
}

/// Decides about all findings of a run.
pub(super) fn conclude(inputs: &[InputReport], findings: Vec<Finding>, settings: &Settings) -> Concluded {
    let mut spelt = Spelt::new(&settings.root);
    let mut suppressions = suppress::Suppressions::new(settings);
    let mut unused = settings.is_strict.then(|| unused::Unused::new(inputs, settings));
    let mut concluded = Concluded {
        expired: suppressions.expired(),
        ..Concluded::default()
    };
    let mut held: HashMap<places::Key, Held> = HashMap::new();
    for mut finding in findings {
        map_paths(&mut finding, settings);
        headers::choose(&mut finding, settings, &mut spelt);
        let places = Places::of(&finding, inputs, &mut spelt);
        if let Some(unused) = &mut unused {
            unused.see(&finding, &places, &mut spelt);
        }
        let held = held
            .entry(places.key())
            .or_insert_with(|| Held::new(settings, &places.whereabouts()));
        if is_excluded(&finding, settings, held, &mut spelt) {
            concluded.excluded += 1;
            continue;
        }
        if !settings.overrides.is_empty() {
            finding.level = settings.level_in(finding.rule, finding.certainty, finding.own_level, |index| {
                held.overrides[index]
            });
            if finding.level == Level::Allow {
                continue;
            }
        }
        let name = inputs.get(finding.input).map_or("", |input| &input.name);
        suppressions.decide(&mut finding, inputs, name, &held.allows);
        concluded.findings.push(finding);
    }
    if let Some(unused) = unused {
        concluded.about_settings = unused.findings(inputs, suppressions);
    }
    concluded
}

fn map_paths(finding: &mut Finding, settings: &Settings) {
    if settings.path_maps.is_empty() {
        return;
    }
    let related = finding
        .related
        .iter_mut()
        .filter_map(|related| related.source.as_mut());
    for source in finding.source.iter_mut().chain(related) {
        let frames = source
            .inside
            .iter_mut()
            .chain(std::iter::once(&mut source.at))
            .chain(&mut source.inlined_at);
        for frame in frames {
            let mapped = settings
                .path_maps
                .iter()
                .rev()
                .find_map(|map| map.apply(&frame.file));
            if let Some(mapped) = mapped {
                frame.file = mapped;
            }
        }
    }
}

/// What of the settings is for findings in one place: thousands may lie there.
struct Held {
    is_excluded: bool,
    /// Of each override, whether it holds.
    overrides: Vec<bool>,
    /// The exceptions that hold.
    allows: Vec<usize>,
}

impl Held {
    fn new(settings: &Settings, whereabouts: &Whereabouts<'_>) -> Self {
        let exclude = &settings.exclude;
        let fits_path = |pattern| whereabouts.paths.iter().any(|path| fits_path(pattern, path));
        let fits_name = |pattern: &Pattern| whereabouts.names.iter().any(|name| pattern.fits(name));
        let allows = settings.allows.iter().enumerate();
        Self {
            is_excluded: exclude.paths.iter().any(fits_path) || exclude.kernels.iter().any(fits_name),
            overrides: settings
                .overrides
                .iter()
                .map(|over| over.scope.holds(whereabouts))
                .collect(),
            allows: allows
                .filter(|(_, allow)| allow.scope.holds(whereabouts))
                .map(|(index, _)| index)
                .collect(),
        }
    }
}

fn is_excluded(finding: &Finding, settings: &Settings, held: &Held, spelt: &mut Spelt<'_>) -> bool {
    // What went wrong with an input is said of every input that is looked at.
    if matches!(finding.rule.check, Check::Problem(_)) {
        return false;
    }
    let in_headers_alone = |spelt: &mut Spelt<'_>| {
        finding.source.as_ref().is_some_and(|source| {
            frames(source).all(|frame| headers::is_system(&frame.file, settings, spelt))
        })
    };
    held.is_excluded || settings.exclude.system_headers && in_headers_alone(spelt)
}
