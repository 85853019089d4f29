//! Applies the settings to the findings of a run: paths of sources, the line that is shown, exclusions, levels by place, and
//! suppressions with their reasons. Rules know nothing of it.

mod assumptions;
mod callers;
mod configuration;
mod headers;
mod places;
mod policy;
mod suppress;
mod unused;

use std::collections::HashMap;

use crate::finding::Finding;
use crate::inventory::InputReport;
use crate::rule::Level;
use crate::scope::PlaceSpellings;
use crate::settings::Settings;
use crate::sources::Sources;
pub(crate) use configuration::ConfigurationFindings;
use places::{PlaceKey, SpellingCache, frames};

/// The findings of a run after the settings have been applied.
#[derive(Default)]
pub(super) struct Conclusion {
    /// The findings that stay, in their order, suppressed ones among them.
    pub(super) findings: Vec<Finding>,
    /// Findings about the settings themselves.
    pub(super) about_settings: Vec<Finding>,
    /// Number of findings that were left out.
    pub(super) excluded: usize,
    /// A sentence for each exception that no longer counts.
    pub(super) expired: Vec<String>,
    /// The sources that were read.
    pub(super) sources: Sources,
}

/// Applies the settings to all findings of a run. `left_out`: names of what was left out of packages.
pub(super) fn conclude(
    inputs: &[InputReport],
    mut findings: Vec<Finding>,
    left_out: &[String],
    settings: &Settings,
) -> Conclusion {
    let mut spellings = SpellingCache::new(&settings.root);
    let mut suppressions = suppress::Suppressions::new(settings);
    let mut unused = settings
        .is_strict
        .then(|| unused::UnusedSettings::new(inputs, left_out, settings));
    let mut concluded = Conclusion {
        expired: suppressions.expired(),
        ..Conclusion::default()
    };
    // Thousands of findings may lie in one place.
    let mut by_place: HashMap<PlaceKey, SettingsAtPlace> = HashMap::new();
    for finding in &mut findings {
        map_paths(finding, settings);
        headers::choose(finding, settings, &mut spellings);
    }
    callers::move_to_calls(&mut findings, settings);
    for mut finding in findings {
        let place = spellings.place(&finding, inputs);
        if let Some(unused) = &mut unused {
            unused.add_place(&finding, &place, &mut spellings);
        }
        let here = by_place
            .entry(PlaceKey::of(&place))
            .or_insert_with(|| SettingsAtPlace::new(settings, &place));
        if here.is_other_kernel && finding.rule.problem().is_none() {
            continue;
        }
        if is_excluded(&finding, settings, here, &mut spellings) {
            concluded.excluded += 1;
            continue;
        }
        if !settings.overrides.is_empty() {
            finding.level = settings.level_in(finding.rule, finding.certainty, finding.own_level, |index| {
                here.overrides[index]
            });
            if finding.level == Level::Allow {
                continue;
            }
        }
        let name = inputs.get(finding.input).map_or("", |input| &input.name);
        suppressions.decide(&mut finding, inputs, name, &here.allows);
        concluded.findings.push(finding);
    }
    concluded.about_settings = assumptions::findings(inputs, settings);
    if let Some(unused) = unused {
        concluded
            .about_settings
            .append(&mut unused.findings(inputs, &mut suppressions));
    }
    concluded.sources = suppressions.sources;
    concluded
}

/// Replaces the beginnings of source paths as the settings say.
fn map_paths(finding: &mut Finding, settings: &Settings) {
    if settings.path_maps.is_empty() {
        return;
    }
    let Finding {
        source,
        related,
        steps,
        ..
    } = finding;
    let others = related.iter_mut().chain(steps);
    let others = others.filter_map(|related| related.source.as_mut());
    for source in source.iter_mut().chain(others) {
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

/// The settings that are for findings in one place.
struct SettingsAtPlace {
    /// The run is about certain kernels, and not about this one.
    is_other_kernel: bool,
    is_excluded: bool,
    /// For each override of the settings: true if it is for this place.
    overrides: Vec<bool>,
    /// Indices of the exceptions that are for this place.
    allows: Vec<usize>,
}

impl SettingsAtPlace {
    fn new(settings: &Settings, place: &PlaceSpellings) -> Self {
        let exclude = &settings.exclude;
        let is_path_excluded = exclude.paths.iter().any(|pattern| place.has_path(pattern));
        let is_kernel_excluded = || exclude.kernels.iter().any(|pattern| place.has_name(pattern));
        let overrides = settings.overrides.iter();
        let allows = settings.allows.iter().enumerate();
        let wanted = &settings.kernels;
        Self {
            is_other_kernel: !wanted.is_empty() && !wanted.iter().any(|pattern| place.has_name(pattern)),
            is_excluded: is_path_excluded || is_kernel_excluded(),
            overrides: overrides.map(|over| over.scope.contains(place)).collect(),
            allows: allows
                .filter(|(_, allow)| allow.scope.contains(place))
                .map(|(index, _)| index)
                .collect(),
        }
    }
}

/// True if the settings leave the finding out.
fn is_excluded(
    finding: &Finding,
    settings: &Settings,
    here: &SettingsAtPlace,
    spellings: &mut SpellingCache<'_>,
) -> bool {
    // An input that could not be checked is reported even where its findings are excluded.
    if finding.rule.problem().is_some() {
        return false;
    }
    let in_headers_alone = |spellings: &mut SpellingCache<'_>| {
        finding.source.as_ref().is_some_and(|source| {
            frames(source).all(|frame| headers::is_system(&frame.file, settings, spellings))
        })
    };
    here.is_excluded || settings.exclude.system_headers && in_headers_alone(spellings)
}
