//! The pages of the site, docs/src: commands have the options that they name, examples of configuration are read, and figures about
//! the corpus are its own.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{binary, root};

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
    let names = ["check", "audit", "capacity", "diff", "extract", "merge", "replay"];
    let known = names.map(|command| (command, help(command)));
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
