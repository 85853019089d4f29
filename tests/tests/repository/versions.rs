//! The jobs and hooks install the version of the workspace, and the documentation shows the jobs as they are.

use std::fs;

use ptxcheck_tests::root;

/// Files, and the text before each version in them.
const PINS: [(&str, &str); 5] = [
    ("action.yml", "default: \""),
    ("pyproject.toml", "version = \""),
    ("pyproject.toml", "\"ptxcheck=="),
    ("tools/ci/gitlab.yml", "PTXCHECK_VERSION: \""),
    ("tools/ci/Jenkinsfile", "PTXCHECK_VERSION = '"),
];

#[test]
fn pinned_versions_are_those_of_the_workspace() {
    for (file, before) in PINS {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let pinned = format!("{before}{}", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&pinned), "{file} does not have `{pinned}`");
    }
}

#[test]
fn the_page_shows_the_jobs() {
    let page = fs::read_to_string(root().join("docs/src/ci.md")).unwrap_or_default();
    for (file, language) in [("tools/ci/gitlab.yml", "yaml"), ("tools/ci/Jenkinsfile", "text")] {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let block = format!("```{language}\n{text}```\n");
        assert!(page.contains(&block), "docs/src/ci.md does not show {file}");
    }
}
