//! Text from inputs, made safe for a terminal: names from an input can't move the cursor, colour the screen, begin a
//! line or turn the direction of writing.

use std::borrow::Cow;
use std::ops::Range;

/// Longest name that is shown, in characters.
const SHOWN_CHARACTERS: usize = 400;

/// True if a character changes more than its own place on the terminal.
fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` on one line, hostile characters written as `\u{1b}`.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push(character, &mut safe);
    }
    Cow::Owned(safe)
}

/// [`line()`], cut to a length that a reader can take in.
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", line(&text[..end]))),
        None => line(text),
    }
}

/// `text`, cut to a number of characters; if it is cut, the last one is `…`.
#[must_use]
pub(crate) fn cut(text: &str, characters: usize) -> String {
    if text.char_indices().nth(characters).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(characters.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A line of source as it is shown: tabs kept, and one `\u{fffd}` for each hostile character, so that columns in
/// characters stay what they are. `span` (bytes of `text`) moves to where its text now lies, and grows to whole
/// characters.
#[must_use]
pub fn snippet(text: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let mut safe = String::with_capacity(text.len());
    let (mut start, mut end) = (None, None);
    for (at, character) in text.char_indices() {
        let next = at + character.len_utf8();
        if start.is_none() && span.start < next {
            start = Some(safe.len());
        }
        if end.is_none() && span.end <= at {
            end = Some(safe.len());
        }
        if is_hostile(character) && character != '\t' {
            safe.push(char::REPLACEMENT_CHARACTER);
        } else {
            safe.push(character);
        }
    }
    let start = start.unwrap_or(safe.len());
    let end = end.unwrap_or(safe.len()).max(start);
    (safe, start..end)
}

fn push(character: char, safe: &mut String) {
    if is_hostile(character) {
        safe.extend(character.escape_unicode());
    } else {
        safe.push(character);
    }
}

/// A text between backticks in Markdown: without any, and on one line.
pub(crate) fn code_span(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '`' => '\'',
            _ if letter.is_control() => ' ',
            _ => letter,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{line, name, snippet};

    #[test]
    fn escapes_what_moves_the_terminal() {
        assert_eq!(line("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(line("a\nb\u{202e}c\u{9b}d"), "a\\u{a}b\\u{202e}c\\u{9b}d");
        assert_eq!(line("größer → 木"), "größer → 木");
    }

    #[test]
    fn cuts_names() {
        assert!(name(&"x".repeat(5_000)).chars().count() < 500);
    }

    #[test]
    fn spans_follow_their_text() {
        let line = "\x1bé\tend";
        let shown = |span| {
            let (text, span) = snippet(line, &span);
            assert_eq!(text, "\u{fffd}é\tend");
            text[span].to_owned()
        };
        assert_eq!(shown(0..1), "\u{fffd}");
        assert_eq!(shown(4..7), "end");
        assert_eq!(shown(3..4), "\t");
        assert_eq!(shown(2..3), "é");
        assert_eq!(shown(7..7), "");
        assert_eq!(shown(5..900), "nd");
        assert_eq!(shown(800..900), "");
    }
}
