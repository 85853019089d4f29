//! Rust source as words and signs: without comments, strings and what is compiled for tests only.

/// A piece of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'s> {
    /// An identifier, a keyword or a number.
    Word(&'s str),
    /// `::`.
    Colons,
    /// Any other byte that is not a space.
    Sign(u8),
}

/// The pieces of a source file, in order.
pub fn pieces(source: &str) -> Vec<Piece<'_>> {
    without_tests(&all(source))
}

/// The comments of a source file, in order, with their slashes.
pub fn comments(source: &str) -> Vec<&str> {
    split(source).1
}

fn all(source: &str) -> Vec<Piece<'_>> {
    split(source).0
}

/// The pieces of a source file, those for tests included, and its comments.
fn split(source: &str) -> (Vec<Piece<'_>>, Vec<&str>) {
    let (mut found, mut comments) = (Vec::new(), Vec::new());
    let mut rest = source;
    while let Some(first) = rest.bytes().next() {
        let taken = match first {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            b'"' => string(rest),
            b'\'' => character(rest),
            b':' if rest.starts_with("::") => {
                found.push(Piece::Colons);
                2
            }
            _ if is_word(first) => {
                let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
                let (word, behind) = rest.split_at(length);
                match raw_string(word, behind) {
                    Some(more) => length + more,
                    None => {
                        found.push(Piece::Word(word));
                        length
                    }
                }
            }
            b' ' | b'\n' | b'\t' | b'\r' => 1,
            _ => {
                found.push(Piece::Sign(first));
                rest.chars().next().map_or(1, char::len_utf8)
            }
        };
        if first == b'/' && taken > 1 {
            comments.push(&rest[..taken]);
        }
        rest = &rest[taken..];
    }
    (found, comments)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of a comment; such comments nest.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a string with its quotes.
fn string(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character with its quotes; of a lifetime, that of its quote.
fn character(text: &str) -> usize {
    let mut rest = text.char_indices().skip(1);
    match (rest.next(), rest.next()) {
        (Some((_, '\\')), Some((escaped, _))) => {
            let behind = escaped + 1;
            text[behind..]
                .find('\'')
                .map_or(text.len(), |end| behind + end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// The length of what follows the word in front of a raw string: `#"…"#`.
fn raw_string(word: &str, behind: &str) -> Option<usize> {
    if !matches!(word, "r" | "br" | "cr") {
        return None;
    }
    let hashes = behind.bytes().take_while(|byte| *byte == b'#').count();
    let text = behind[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text.find(&end).map_or(text.len(), |at| at + end.len());
    Some(hashes + 1 + length)
}

/// Leaves out each item after `#[cfg(test)]`, to its `;` or the end of its braces.
fn without_tests<'s>(pieces: &[Piece<'s>]) -> Vec<Piece<'s>> {
    use Piece::{Sign, Word};
    const TESTS: [Piece<'_>; 7] = [
        Sign(b'#'),
        Sign(b'['),
        Word("cfg"),
        Sign(b'('),
        Word("test"),
        Sign(b')'),
        Sign(b']'),
    ];
    let mut kept = Vec::new();
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        if let Some(item) = rest.strip_prefix(&TESTS) {
            rest = &item[end_of_item(item)..];
        } else {
            kept.push(*first);
            rest = &rest[1..];
        }
    }
    kept
}

fn end_of_item(pieces: &[Piece<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Sign(b'(' | b'[' | b'{') => depth += 1,
            Piece::Sign(b')' | b']') => depth = depth.saturating_sub(1),
            Piece::Sign(b'}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            Piece::Sign(b';') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    pieces.len()
}

#[cfg(test)]
mod tests {
    use super::{Piece, pieces};

    fn words(source: &str) -> Vec<&str> {
        pieces(source)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Word(word) => Some(word),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn comments_strings_and_characters_are_left_out() {
        let source = r###"
            a // crate::x
            b /* crate::x /* nested */ crate::y */
            c "crate::x \" crate::y" d r#"crate::x " "# e b"x" 'x' '\'' '\u{41}' '→' f<'lifetime> g
        "###;
        assert_eq!(
            words(source),
            ["a", "b", "c", "d", "e", "b", "f", "lifetime", "g"]
        );
    }

    #[test]
    fn what_is_compiled_for_tests_is_left_out() {
        let source = "a #[cfg(test)] mod tests { fn x() { y } } b #[cfg(test)] #[z] use x; c #[cfg(unix)] d";
        assert_eq!(words(source), ["a", "b", "c", "cfg", "unix", "d"]);
    }
}
