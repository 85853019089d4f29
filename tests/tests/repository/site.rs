//! The pages of the site, docs/src: links lead somewhere, commands have the options that they name, examples of configuration are
//! read, and figures about the corpus are its own.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{binary, root};

/// Pages that docs/build.sh takes from elsewhere, or makes.
const MADE: [&str; 12] = [
    "configuration.md",
    "cmake.md",
    "make.md",
    "launcher.md",
    "llvm-plugin.md",
    "pre-commit.md",
    "github-action.md",
    "container.md",
    "rules.md",
    "schema/check-v2.schema.json",
    "schema/audit-v2.schema.json",
    "schema/diff-v1.schema.json",
];

/// Names and texts of the pages that are written by hand.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root().join("docs/src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        pages.push((name, fs::read_to_string(path).unwrap()));
    }
    pages.sort();
    pages
}

/// Targets of the links in Markdown that lead to no other site.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

#[test]
fn links_lead_somewhere() {
    let folder = root().join("docs/src");
    let rules = String::from_utf8(binary::run(["rules"]).stdout).unwrap();
    let is_rule = |code: &str| rules.lines().any(|line| line.split(' ').next() == Some(code));
    let mut count = 0;
    for (page, text) in pages() {
        for link in links(&text) {
            let file = link.split('#').next().unwrap();
            let of_rule = file
                .strip_prefix("rules/")
                .and_then(|file| file.strip_suffix(".md"));
            let is_there =
                folder.join(file).is_file() || MADE.contains(&file) || of_rule.is_some_and(is_rule);
            assert!(is_there, "{page}: {link}");
            count += 1;
        }
    }
    assert!(count > 30, "{count} links");
}

/// The texts of the tools, which are pages as well: from where they lie, and by the names that docs/build.sh gives them.
#[test]
fn links_of_tools_lead_somewhere() {
    let script = fs::read_to_string(root().join("docs/build.sh")).unwrap();
    let summary = fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    let tools = script.split_once("for tool in ").unwrap().1;
    let tools = tools.split_once(';').unwrap().0;
    let mut count = 0;
    for tool in tools.split(' ') {
        let folder = root().join("tools").join(tool);
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        for link in links(&text) {
            assert!(folder.join(link).exists(), "{tool}: {link}");
            count += 1;
        }
        let page = format!("{tool}.md");
        assert!(MADE.contains(&page.as_str()), "{page}");
        assert!(links(&summary).any(|link| link == page), "{page}");
    }
    assert!(count > 10, "{count} links");
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    let listed: BTreeSet<&str> = links(&summary).collect();
    for (page, _) in pages() {
        assert!(page == "SUMMARY.md" || listed.contains(page.as_str()), "{page}");
    }
}

/// The arguments of the commands `ptxcheck …` in the examples of a text.
fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().flat_map(|line| line.split(['|', ';']));
    lines.filter_map(|line| {
        let command = line.trim().trim_start_matches("$ ").split(" #").next()?;
        let mut words = command.split_whitespace();
        (words.next() == Some("ptxcheck")).then(|| words.collect())
    })
}

#[test]
fn options_in_examples_exist() {
    let help = |command: &str| {
        let output = binary::run([command, "--help"]);
        String::from_utf8(output.stdout).unwrap()
    };
    let known =
        ["check", "audit", "diff", "extract", "merge", "replay"].map(|command| (command, help(command)));
    let mut count = 0;
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (page, text) in pages().into_iter().chain([("README.md".to_owned(), readme)]) {
        for words in commands(&text) {
            let named = known.iter().find(|(name, _)| words.first() == Some(name));
            let (_, help) = named.unwrap_or(&known[0]);
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap();
                let is_known = help.contains(&format!("{name} ")) || help.contains(&format!("{name}\n"));
                assert!(
                    is_known || name == "--version" || name == "--verbose",
                    "{page}: {words:?}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count} options");
}

#[test]
fn configurations_in_examples_are_read() {
    let mut count = 0;
    for (page, text) in pages() {
        for example in text.split("```toml\n").skip(1) {
            let example = example.split("```").next().unwrap();
            let folder = folder(&[("ptxcheck.toml", example.as_bytes())]);
            let output = run_in(&folder, &["config"]);
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{page}: {complaint}\n{example}");
            count += 1;
        }
    }
    assert!(count >= 3, "{count} examples");
}

/// The number of folders with a file of this name below corpus/defects.
fn defects_with(file: &str) -> usize {
    let folders = fs::read_dir(root().join("corpus/defects")).unwrap();
    folders
        .filter(|folder| folder.as_ref().unwrap().path().join(file).is_file())
        .count()
}

#[test]
fn the_comparison_is_about_all_defects() {
    let text = fs::read_to_string(root().join("docs/src/comparison.md")).unwrap();
    let all = defects_with("wrong.ptx");
    assert!(
        text.contains(&format!(" of {all} |")),
        "{all} defects: run docs/compare.sh anew"
    );
    assert!(Path::new(&root().join("docs/compare.sh")).is_file());
}
