//! The jobs and hooks install the version of the workspace.

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
