//! Patterns of names and paths, as users write them: globs, or regular expressions after `re:`.
//!
//! In a pattern of names `*` stands for any characters, `?` for one, and all others for themselves, since names in C++ are full
//! of brackets. In one of paths `*` and `?` stop at `/`, `**` does not, `[ab]` is one of these characters and `{a,b}` one of
//! these texts. A glob has to match the whole text, a regular expression any part of it.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::limits::{PATTERN_BYTES, REGEX_BYTES};

/// The prefix of a regular expression.
const REGEX: &str = "re:";

/// The kind of text that a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Name,
    Path,
}

#[derive(Clone)]
enum Matcher {
    Glob(GlobMatcher),
    Regex(Regex),
}

/// The position of a pattern: 1-based line and column of a configuration.
pub type Written = (u32, u32);

/// A compiled pattern. Patterns are equal if their texts are equal.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "(Kind, String)", into = "(Kind, String)")]
pub struct Pattern {
    text: String,
    kind: Kind,
    matcher: Matcher,
    /// Its position, if it is written in a file.
    pub written: Option<Written>,
}

impl Pattern {
    /// A pattern of names: of functions, or of any text of one line.
    ///
    /// # Errors
    ///
    /// A sentence, if it is none or exceeds a limit.
    pub fn name(text: &str) -> Result<Self, BadPattern> {
        Self::of(Kind::Name, text)
    }

    /// A pattern of paths, whose parts are separated by `/` on all systems.
    ///
    /// # Errors
    ///
    /// A sentence, if it is none or exceeds a limit.
    pub fn path(text: &str) -> Result<Self, BadPattern> {
        Self::of(Kind::Path, text)
    }

    fn of(kind: Kind, text: &str) -> Result<Self, BadPattern> {
        if text.len() > PATTERN_BYTES {
            return Err(BadPattern(format!(
                "a pattern has at most {PATTERN_BYTES} bytes, and this one {}",
                text.len()
            )));
        }
        let matcher = match text.strip_prefix(REGEX) {
            Some(expression) => RegexBuilder::new(expression)
                .size_limit(REGEX_BYTES)
                .build()
                .map(Matcher::Regex)
                .map_err(|error| BadPattern::of(text, &error))?,
            None => {
                let glob = match kind {
                    Kind::Name => literal_but_for_wildcards(text),
                    Kind::Path => text.to_owned(),
                };
                GlobBuilder::new(&glob)
                    .literal_separator(kind == Kind::Path)
                    .backslash_escape(true)
                    .build()
                    .map(|glob| Matcher::Glob(glob.compile_matcher()))
                    .map_err(|error| BadPattern(format!("`{text}` is no pattern: {}", error.kind())))?
            }
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
            matcher,
            written: None,
        })
    }

    /// The same, written here.
    #[must_use]
    pub const fn at(mut self, line: u32, column: u32) -> Self {
        self.written = Some((line, column));
        self
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True for a glob that names no folder.
    #[must_use]
    pub fn is_bare_name(&self) -> bool {
        matches!(self.matcher, Matcher::Glob(_)) && !self.text.contains('/')
    }

    /// True if `text` matches.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Glob(glob) => glob.is_match(text),
            Matcher::Regex(regex) => regex.is_match(text),
        }
    }
}

/// A glob in which `*` and `?` are all that is special. Several `*` in a row are one, so that none means folders.
fn literal_but_for_wildcards(text: &str) -> String {
    let mut glob = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '*' if glob.ends_with('*') && !glob.ends_with("\\*") => continue,
            '[' | ']' | '{' | '}' | '\\' | '!' => glob.push('\\'),
            _ => {}
        }
        glob.push(character);
    }
    glob
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.text) == (other.kind, &other.text)
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}({:?})", self.kind, self.text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<Pattern> for (Kind, String) {
    fn from(pattern: Pattern) -> Self {
        (pattern.kind, pattern.text)
    }
}

impl TryFrom<(Kind, String)> for Pattern {
    type Error = BadPattern;

    fn try_from((kind, text): (Kind, String)) -> Result<Self, BadPattern> {
        Self::of(kind, &text)
    }
}

/// Why a text is not a pattern, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern(String);

impl BadPattern {
    /// Of a regular expression. The crate draws a picture of several lines; its last line describes the error.
    fn of(text: &str, error: &regex::Error) -> Self {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default();
        let why = last.strip_prefix("error: ").unwrap_or(last);
        Self(format!("`{text}` is no regular expression: {why}"))
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadPattern {}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn names_have_two_wildcards() {
        let fits = |pattern: &str, text: &str| Pattern::name(pattern).unwrap().fits(text);
        for (pattern, text) in [
            ("k*", "kernel"),
            ("*::operator[](int&)", "ns::operator[](int&)"),
            ("{lambda(int)#1}::f", "{lambda(int)#1}::f"),
            ("a***c", "abc"),
            ("**", ""),
            ("a/**/b", "a/x/y/b"),
            ("a?c", "a/c"),
            ("!x\\", "!x\\"),
            ("*{*", "a{b"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("k", "kernel"),
            ("[ab]", "a"),
            ("{a,b}", "a"),
            ("", "a"),
            ("?", ""),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn paths_have_folders() {
        let fits = |pattern: &str, text: &str| Pattern::path(pattern).unwrap().fits(text);
        for (pattern, text) in [
            ("third_party/**", "third_party/a/b.cu"),
            ("**/gen/*.cu", "gen/a.cu"),
            ("**/gen/*.cu", "x/gen/a.cu"),
            ("src/*.{cu,cuh}", "src/a.cuh"),
            ("src/[ab].cu", "src/b.cu"),
            ("re:gen|made", "x/made/y.cu"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("src/*", "src/a/b.cu"), ("*.cu", "src/a.cu")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_none_says_why() {
        let cases = [
            (Pattern::path("a[b"), "`a[b` is no pattern: "),
            (Pattern::path("{a"), "`{a` is no pattern: "),
            (Pattern::name("re:("), "no regular expression: unclosed group"),
            (Pattern::name("re:(a{1000}){1000}"), "exceeds size limit"),
            (Pattern::name(&"x".repeat(1025)), "at most 1024 bytes"),
        ];
        for (pattern, wanted) in cases {
            let said = pattern.unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
