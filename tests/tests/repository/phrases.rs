//! Comments and Markdown use the words of the field, not literal translations: a few phrases are rare in them.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::cmp::Reverse;
use std::fs;
use std::process::Command;

use ptxcheck_tests::root;

use crate::layers::words::comments;

/// Most of these phrases in the repository: their literal meanings are right.
const MAX_PHRASES: usize = 120;

/// Files that the message lists.
const SHOWN_FILES: usize = 12;

/// The phrases: the forms of the first word, the second word if there is one, and the words to use instead.
const PHRASES: [(&[&str], Option<&str>, &str); 4] = [
    (&["behind"], None, "after (in order), past (a limit)"),
    (&["come", "comes", "came", "coming"], Some("to"), "reaches"),
    (
        &["look", "looks", "looked", "looking"],
        Some("at"),
        "analyses, visits, checks, reads",
    ),
    (&["hang", "hangs", "hung", "hanging"], Some("off"), "depends on"),
];

#[test]
fn translated_phrases_are_rare() {
    let mut counts: Vec<(usize, String)> = Vec::new();
    for name in tracked() {
        let Ok(text) = fs::read_to_string(root().join(&name)) else {
            continue;
        };
        let count = if name.ends_with(".rs") {
            phrases(&comments(&text).join("\n"))
        } else {
            phrases(&prose(&text))
        };
        counts.push((count, name));
    }
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    counts.sort_by_key(|(count, _)| Reverse(*count));
    let most: Vec<_> = counts
        .iter()
        .take(SHOWN_FILES)
        .map(|(count, name)| format!("{count:4} {name}"))
        .collect();
    let instead: Vec<_> = PHRASES
        .iter()
        .map(|(first, second, words)| [first[0], second.unwrap_or_default(), "->", words].join(" "))
        .collect();
    assert!(
        all <= MAX_PHRASES,
        "{all} translated phrases in comments and Markdown, more than {MAX_PHRASES}. Most are in\n{}\nUse instead\n{}",
        most.join("\n"),
        instead.join("\n"),
    );
}

/// The sources and documents that git tracks, except the samples of the corpus. None in a source archive without git.
fn tracked() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "*.rs", "*.md"])
        .current_dir(root())
        .output();
    let names = listed.map_or_else(|_| Vec::new(), |listed| listed.stdout);
    String::from_utf8(names)
        .unwrap()
        .split_terminator('\0')
        .filter(|name| !(name.starts_with("corpus/") && name.ends_with(".rs")))
        .map(str::to_owned)
        .collect()
}

/// Markdown without its blocks of code.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// The number of the phrases in a text. A line break does not separate two words, punctuation does.
fn phrases(text: &str) -> usize {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .flat_map(|piece| {
            let word = piece.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
            [word, piece[word.len()..].trim_matches([' ', '\n', '/', '!'])]
        })
        .filter(|word| !word.is_empty())
        .collect();
    let matches = |at: usize| {
        PHRASES.iter().any(|(first, second, _)| {
            first.contains(&words[at]) && second.is_none_or(|second| words.get(at + 1) == Some(&second))
        })
    };
    (0..words.len()).filter(|&at| matches(at)).count()
}

#[test]
fn phrases_are_counted_across_lines() {
    assert_eq!(phrases("/// Hangs\n/// off it, and comes to\n//! it: behind."), 3);
    assert_eq!(phrases("it came, to see; behind_last looks\n"), 0);
    assert_eq!(comments("// a\nlet b = \"// c\"; /* d */"), ["// a", "/* d */"]);
}
