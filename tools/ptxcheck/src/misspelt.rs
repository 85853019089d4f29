//! A command that is misspelt would be taken for a file, which is not there.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::Cli;

/// Longer words are not commands.
const MAX_LETTERS: usize = 16;

/// The complaint about a first argument that is neither a file nor a command, but almost one.
pub fn complaint(args: &[OsString]) -> Option<String> {
    of_word(args.get(1)?)
}

/// The complaint about one word that is almost a command.
pub fn of_word(word: &OsStr) -> Option<String> {
    let text = word.to_str()?;
    let is_word =
        (1..=MAX_LETTERS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_word || Path::new(word).exists() {
        return None;
    }
    let command = Cli::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    if names.contains(&text) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let (_, near) = names
        .into_iter()
        .map(|name| (strsim::osa_distance(&lower, name), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()?;
    Some(format!(
        "there is no file and no command `{text}`; did you mean `{near}`?"
    ))
}

#[cfg(test)]
mod tests {
    use super::of_word;

    #[test]
    fn commands_are_recognised_by_most_of_their_letters() {
        for (word, command) in [
            ("chekc", Some("check")),
            ("chek", Some("check")),
            ("Audit", Some("audit")),
            ("explian", Some("explain")),
            ("extarct", Some("extract")),
            ("rulse", Some("rules")),
            ("check", None),
            ("build", None),
            ("chekc.ptx", None),
            ("", None),
            ("src", None),
        ] {
            let said = of_word(word.as_ref());
            assert_eq!(said.is_some(), command.is_some(), "{word}");
            let ending = command.map_or(String::new(), |command| format!("did you mean `{command}`?"));
            assert!(said.unwrap_or_default().ends_with(&ending), "{word}");
        }
    }
}
