//! `@FILE` arguments: the file's words take the argument's place.

use std::ffi::OsString;
use std::path::Path;

/// Deepest nesting of response files.
const DEPTH: usize = 8;

/// Arguments with the words of response files in their place.
#[derive(Debug, Default)]
pub struct Expanded {
    /// The arguments.
    pub args: Vec<OsString>,
    /// The first response file without a word.
    pub empty: Option<String>,
}

/// `args` with the words of response files in their place. After `--`, and where it is `@` alone, an argument stays
/// what it is.
///
/// # Errors
///
/// A sentence about the response file that can't be read.
pub fn expand(args: impl IntoIterator<Item = OsString>) -> Result<Expanded, String> {
    let mut expanded = Expanded::default();
    let mut literal = false;
    for arg in args {
        push(arg, 0, &mut literal, &mut expanded)?;
    }
    Ok(expanded)
}

fn push(arg: OsString, depth: usize, literal: &mut bool, expanded: &mut Expanded) -> Result<(), String> {
    let file = match arg.to_str().and_then(|text| text.strip_prefix('@')) {
        Some(file) if !*literal && !file.is_empty() => file,
        _ => {
            *literal |= arg == "--";
            expanded.args.push(arg);
            return Ok(());
        }
    };
    if depth == DEPTH {
        return Err(format!(
            "response files are nested more than {DEPTH} deep at `@{file}`"
        ));
    }
    let bytes = std::fs::read(Path::new(file))
        .map_err(|error| format!("the response file `{file}` could not be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("the response file `{file}` is not UTF-8"))?;
    let words = words(&text).map_err(|problem| format!("in the response file `{file}`, {problem}"))?;
    if words.iter().all(String::is_empty) {
        expanded.empty.get_or_insert_with(|| file.to_owned());
        return Ok(());
    }
    for word in words {
        push(word.into(), depth + 1, literal, expanded)?;
    }
    Ok(())
}

/// The words of `text`: separated by white space; quotes keep it, a backslash takes the next character as it is
/// (not between single quotes). A single quote quotes where a word begins; inside a word it is an apostrophe.
fn words(text: &str) -> Result<Vec<String>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'') if word.is_some() => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let escaped = characters.next().ok_or("a backslash ends the text")?;
                word.get_or_insert_default().push(escaped);
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a {open} is never closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{expand, words};

    #[test]
    fn splits_like_a_shell() {
        assert_eq!(
            words("-W potential\r\n 'a b'.ptx \"c\\\"d\" e\\ f ''").unwrap(),
            ["-W", "potential", "a b.ptx", "c\"d", "e f", ""]
        );
        assert_eq!(
            words("don't.ptx 'a b.ptx' it\\'s 'x'y' z' \"'\"").unwrap(),
            ["don't.ptx", "a b.ptx", "it's", "xy'", "z'", "'"]
        );
        assert!(words("'open").is_err());
        assert!(words("end\\").is_err());
    }

    #[test]
    fn leaves_what_follows_two_dashes() {
        let args = ["ptxcheck", "@", "--", "@x.ptx"].map(std::ffi::OsString::from);
        assert_eq!(expand(args.clone()).unwrap().args, args);
    }

    #[test]
    fn a_file_without_a_word_is_named() {
        let folder = std::env::temp_dir().join(format!("ptxcheck-response-{}", std::process::id()));
        for text in ["", " \n", "\"\"\n"] {
            std::fs::write(&folder, text).unwrap();
            let file = folder.to_str().unwrap();
            let expanded = expand(["ptxcheck".into(), format!("@{file}").into()]).unwrap();
            assert_eq!((expanded.args.len(), expanded.empty.as_deref()), (1, Some(file)));
        }
        std::fs::remove_file(&folder).unwrap();
    }

    #[test]
    fn a_missing_file_is_named() {
        let problem = expand([std::ffi::OsString::from("@no-such-file")]).unwrap_err();
        assert!(problem.contains("no-such-file"), "{problem}");
    }
}
