//! Unused parts of the configuration: exceptions that suppress nothing, patterns and parts of a policy that match nothing (PTX906).

use std::collections::HashSet;
use std::rc::Rc;

use super::configuration::ConfigurationFindings;
use super::places::{SpellingCache, frames};
use super::policy;
use super::suppress::{CommentFile, Suppressions};
use crate::checks::Check;
use crate::comments::Comment;
use crate::exceptions::Allow;
use crate::finding::Finding;
use crate::inventory::InputReport;
use crate::patterns::Pattern;
use crate::rule::Family;
use crate::scope::{PlaceSpellings, fits_path};
use crate::settings::Settings;

/// Collects the paths and names of a run that patterns can match.
pub(super) struct UnusedSettings<'a> {
    settings: &'a Settings,
    paths: HashSet<Rc<[String]>>,
    names: HashSet<Rc<[String]>>,
}

impl<'a> UnusedSettings<'a> {
    pub(super) fn new(inputs: &[InputReport], left_out: &[String], settings: &'a Settings) -> Self {
        let mut unused = Self {
            settings,
            paths: HashSet::new(),
            names: HashSet::new(),
        };
        let mut spellings = SpellingCache::new(&settings.root);
        let names = inputs.iter().map(|input| &input.name);
        for name in names.chain(&settings.left_out).chain(left_out) {
            unused.paths.insert(spellings.path(name));
        }
        for kernel in kernels(inputs) {
            unused.names.insert(spellings.name(&kernel.name));
            if let Some(source) = &kernel.source {
                unused.paths.insert(spellings.path(&source.file));
            }
        }
        unused
    }

    /// Adds the paths and names of a finding.
    pub(super) fn add_place(
        &mut self,
        finding: &Finding,
        place: &PlaceSpellings,
        spellings: &mut SpellingCache<'_>,
    ) {
        self.names.insert(Rc::clone(&place.names));
        for frame in finding.source.iter().flat_map(frames) {
            self.paths.insert(spellings.path(&frame.file));
        }
    }

    /// The findings about unused suppressions and patterns, once all other findings are decided.
    pub(super) fn findings(
        self,
        inputs: &[InputReport],
        suppressions: &mut Suppressions<'_>,
    ) -> Vec<Finding> {
        let settings = self.settings;
        let Some(make) = ConfigurationFindings::new(settings, inputs.len()) else {
            return Vec::new();
        };
        if settings.images_only {
            // Comments, patterns of places and the other exceptions are for checks.
            let mut findings = self.unused_exceptions(suppressions, &make);
            let file = settings.file.as_deref().unwrap_or_default();
            for (message, written) in policy::idle(&settings.policy, inputs, &self.names) {
                findings.push(match written {
                    Some(written) => make.in_file(message, file, written),
                    None => make.without_place(message),
                });
            }
            return findings;
        }
        let mut findings = in_images(inputs, suppressions, &make);
        read_sources_of_kernels(inputs, settings, suppressions);
        for (file, comment) in suppressions.unused_in_sources() {
            let message = about(&comment, suppressions);
            findings.push(make.in_source(message, file, comment.written));
        }
        findings.append(&mut self.unused_exceptions(suppressions, &make));
        let file = settings.file.as_deref().unwrap_or_default();
        for (pattern, what) in self.idle_patterns() {
            let message = format!("no {what} fits the pattern `{pattern}`");
            let written = pattern.written.unwrap_or((1, 1));
            findings.push(make.in_file(message, file, written));
        }
        findings
    }

    fn unused_exceptions(
        &self,
        suppressions: &Suppressions<'_>,
        make: &ConfigurationFindings,
    ) -> Vec<Finding> {
        let file = self.settings.file.as_deref().unwrap_or_default();
        let allows = self.settings.allows.iter().zip(&suppressions.used);
        allows
            .filter(|(allow, is_used)| !**is_used && is_for_this_run(allow, self.settings))
            .map(|(allow, _)| {
                let message = format!("this exception for {} suppresses nothing", allow.codes.join(", "));
                make.in_file(message, file, allow.written)
            })
            .collect()
    }

    /// The patterns that match nothing, each with a word for the things that it is matched against.
    fn idle_patterns(&self) -> Vec<(&'a Pattern, &'static str)> {
        let settings = self.settings;
        let scopes = || settings.overrides.iter().map(|over| &over.scope);
        let paths = settings
            .exclude
            .paths
            .iter()
            .chain(&settings.headers.system)
            .chain(scopes().flat_map(|scope| &scope.paths));
        let names = settings
            .exclude
            .kernels
            .iter()
            .chain(scopes().flat_map(|scope| &scope.kernels))
            .chain(settings.launches.kernels.iter().map(|(pattern, _)| pattern))
            .chain(
                settings
                    .launches
                    .shared
                    .kernels
                    .iter()
                    .map(|(pattern, _)| pattern),
            );
        let idle_path = |pattern: &&Pattern| !self.paths.iter().any(|path| fits_path(pattern, path));
        let idle_name = |pattern: &&Pattern| {
            !self
                .names
                .iter()
                .flat_map(|name| &**name)
                .any(|name| pattern.fits(name))
        };
        let mut idle: Vec<_> = paths
            .filter(idle_path)
            .map(|pattern| (pattern, "input and no source"))
            .chain(names.filter(idle_name).map(|pattern| (pattern, "kernel")))
            .collect();
        idle.sort_by_key(|(pattern, _)| pattern.written);
        // A kernel's block and its shared memory have one pattern.
        idle.dedup_by(|(one, _), (other, _)| one.written.is_some() && one.written == other.written);
        idle
    }
}

/// The findings about unused comments in the texts of the inputs.
fn in_images(
    inputs: &[InputReport],
    suppressions: &mut Suppressions<'_>,
    make: &ConfigurationFindings,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (input_index, input) in inputs.iter().enumerate() {
        for (image_index, image) in (0_u32..).zip(&input.images) {
            let file = CommentFile::Image(input_index, image_index);
            for (index, comment) in image.comments.iter().enumerate() {
                if suppressions.is_used(file.clone(), index) {
                    continue;
                }
                let message = about(comment, suppressions);
                let mut finding = make.in_file(message, &input.name, comment.written);
                finding.input = input_index;
                finding.image = Some(image_index);
                findings.push(finding);
            }
        }
    }
    findings
}

/// Reads the comments in the sources that declare kernels: a source without findings may have some that are unused.
fn read_sources_of_kernels(inputs: &[InputReport], settings: &Settings, suppressions: &mut Suppressions<'_>) {
    for input in inputs {
        for kernel in input.images.iter().flat_map(|image| &image.facts.kernels) {
            let Some(source) = &kernel.source else { continue };
            let mapped = settings.path_maps.iter().rev();
            let mapped = mapped.filter_map(|map| map.apply(&source.file)).next();
            suppressions.read(mapped.as_deref().unwrap_or(&source.file), &input.name);
        }
    }
}

fn kernels(inputs: &[InputReport]) -> impl Iterator<Item = &crate::inventory::Kernel> {
    let images = inputs.iter().flat_map(|input| &input.images);
    images.flat_map(|image| &image.facts.kernels)
}

/// True if a run with these settings can make findings that an exception is for.
fn is_for_this_run(allow: &Allow, settings: &Settings) -> bool {
    let mut rules = allow.codes.iter().filter_map(|code| settings.registry.find(code));
    if settings.images_only {
        rules.all(|rule| matches!(settings.registry.check(rule), Some(Check::Images(_))))
    } else {
        rules.any(|rule| rule.family != Family::Image)
    }
}

/// The message about a comment that suppresses nothing.
fn about(comment: &Comment, suppressions: &mut Suppressions<'_>) -> String {
    match suppressions.wrong_with(comment) {
        Some(wrong) => format!("this comment does not count: {wrong}"),
        None => "this comment suppresses nothing".to_owned(),
    }
}
