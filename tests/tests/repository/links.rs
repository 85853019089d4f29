//! Links in the Markdown of the repository lead to files, and to headings in them.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use ptxcheck_tests::cases::files;
use ptxcheck_tests::root;

/// A link of a text: where it is, and what it names.
#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    line: usize,
    target: &'a str,
}

/// The lines of a text that are no blocks of code, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_border = line.trim_start().starts_with("```");
        is_inside ^= is_border;
        (!is_inside && !is_border).then_some((number, line))
    })
}

/// The links of a text that lead to no other site.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for (line, words) in prose(text) {
        let targets = words
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let targets = targets.filter(|target| !target.contains("://"));
        links.extend(targets.map(|target| Link { line, target }));
    }
    links
}

/// The anchors of a text's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(heading) = line.strip_prefix('#') else {
            continue;
        };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        let anchor: String = kept
            .map(|character| if character == ' ' { '-' } else { character })
            .collect();
        let mut numbered = anchor.clone();
        let mut number = 0;
        while !anchors.insert(numbered) {
            number += 1;
            numbered = format!("{anchor}-{number}");
        }
    }
    anchors
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// The links of texts that lead nowhere: `file:line: target`.
fn dead(texts: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let mut dead = Vec::new();
    for (file, text) in texts {
        for link in links(text) {
            let (path, anchor) = link.target.split_once('#').unwrap_or((link.target, ""));
            let named = match path {
                "" => file.clone(),
                path => normal(&file.parent().unwrap().join(path)),
            };
            let has_anchor = || {
                texts
                    .get(&named)
                    .is_some_and(|text| anchors(text).contains(anchor))
            };
            let is_there =
                (texts.contains_key(&named) || named.exists()) && (anchor.is_empty() || has_anchor());
            if !is_there {
                dead.push(format!("{}:{}: {}", file.display(), link.line, link.target));
            }
        }
    }
    dead
}

#[test]
fn links_of_the_repository_lead_somewhere() {
    let mut texts = BTreeMap::new();
    for folder in ["docs", "passes", "ptx-parser", "tools", "corpus", "tests"] {
        for file in files(folder, "md") {
            let text = fs::read_to_string(&file).unwrap();
            texts.insert(normal(&file), text);
        }
    }
    for entry in fs::read_dir(root()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&file).unwrap();
            texts.insert(normal(&file), text);
        }
    }
    let count: usize = texts.values().map(|text| links(text).len()).sum();
    assert!(
        texts.len() > 40 && count > 250,
        "{} files, {count} links",
        texts.len()
    );
    let dead = dead(&texts);
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    let text = "# One `a.b`: c\n\n# Two\n\n# Two\n\n[a](#one-ab-c) [b](#two-1) [c](other.md#there)\n\n```\n[d](nowhere)\n```\n\n\
                [e](#two-2)\n[f](nowhere.md) [g](other.md#gone) [h](https://x/y)\n";
    let texts = BTreeMap::from([
        (PathBuf::from("/none/page.md"), text.to_owned()),
        (PathBuf::from("/none/other.md"), "# There\n".to_owned()),
    ]);
    assert_eq!(
        dead(&texts),
        [
            "/none/page.md:13: #two-2",
            "/none/page.md:14: nowhere.md",
            "/none/page.md:14: other.md#gone"
        ]
    );
}
