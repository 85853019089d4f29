//! The formats that there are.

use crate::format::Renderer;
use crate::{concise, cyclonedx, full, github, gitlab, html, job_summary, json, junit, sarif, shard};

/// All renderers, in the order in which users read of them.
pub static RENDERERS: [&dyn Renderer; 12] = [
    &full::Full,
    &concise::Concise,
    &json::document::Json,
    &json::lines::JsonLines,
    &sarif::Sarif,
    &github::GitHub,
    &gitlab::GitLab,
    &junit::JUnit,
    &html::Html,
    &job_summary::Markdown,
    &cyclonedx::CycloneDx,
    &shard::ShardData,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::RENDERERS;

    #[test]
    fn formats_have_names_of_their_own() {
        let formats = RENDERERS.iter().map(|renderer| renderer.format());
        let mut known = HashSet::new();
        for format in formats {
            for name in [format.name].into_iter().chain(format.alias) {
                assert!(known.insert(name), "{name}");
            }
            assert!(!format.extension.is_empty() && !format.about.ends_with('.'));
        }
    }
}
