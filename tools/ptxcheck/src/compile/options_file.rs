//! Files of options that stand in a compiler's call: `--options-file FILE` of nvcc, `@FILE` of clang.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::invocation::Compiler;

/// Deepest nesting.
const DEPTH: usize = 8;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Most words of a call.
const MAX_WORDS: usize = 1 << 20;

/// Most files of a call.
const MAX_FILES: usize = 1 << 12;

/// The words of a call in a folder, with those of files of options in the place of the files' names.
///
/// # Errors
///
/// A sentence about the file that can't be read.
pub fn expand(compiler: Compiler, words: Vec<String>, folder: &Path) -> Result<Vec<String>, String> {
    let mut expansion = Expansion {
        compiler,
        folder,
        files: 0,
        words: Vec::with_capacity(words.len()),
    };
    expansion.push_all(words, 0)?;
    Ok(expansion.words)
}

struct Expansion<'a> {
    compiler: Compiler,
    folder: &'a Path,
    files: usize,
    words: Vec<String>,
}

impl Expansion<'_> {
    fn push_all(&mut self, words: Vec<String>, depth: usize) -> Result<(), String> {
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(files) = files(self.compiler, &word, self.folder, || words.next()) else {
                if self.words.len() == MAX_WORDS {
                    return Err(format!("the files of options have more than {MAX_WORDS} words"));
                }
                self.words.push(word);
                continue;
            };
            for file in files {
                self.files += 1;
                if depth == DEPTH || self.files > MAX_FILES {
                    return Err(format!(
                        "files of options are nested more than {DEPTH} deep at `{file}`, or are more than {MAX_FILES}"
                    ));
                }
                let text = read(&self.folder.join(&file))
                    .map_err(|problem| format!("the file of options `{file}` {problem}"))?;
                self.push_all(split(self.compiler, &text), depth + 1)?;
            }
        }
        Ok(())
    }
}

/// The files that a word names as files of options.
fn files(
    compiler: Compiler,
    word: &str,
    folder: &Path,
    next: impl FnOnce() -> Option<String>,
) -> Option<Vec<String>> {
    match compiler {
        // Without such a file the word is an input.
        Compiler::Clang => {
            let file = word.strip_prefix('@')?;
            folder.join(file).is_file().then(|| vec![file.to_owned()])
        }
        Compiler::Nvcc => {
            let named = ["--options-file", "-optf"]
                .iter()
                .find_map(|option| word.strip_prefix(option))?;
            let value = match named.strip_prefix('=') {
                Some(value) => value.to_owned(),
                None if named.is_empty() => next()?,
                None => return None,
            };
            Some(value.split(',').map(str::to_owned).collect())
        }
    }
}

fn read(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let size = File::open(file)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| format!("can't be read: {error}"))?;
    if size as u64 > MAX_BYTES {
        return Err(format!("has more than {MAX_BYTES} bytes"));
    }
    Ok(text)
}

/// The words of a file: double quotes keep blanks, a backslash takes the next character as it is. A single quote is a letter to
/// nvcc, a quote to clang.
fn split(compiler: Compiler, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '\'') if compiler == Compiler::Clang => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                // A line goes on.
                match characters.next() {
                    Some('\n') | None => {}
                    Some(escaped) => word.get_or_insert_default().push(escaped),
                }
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{expand, split};
    use crate::compile::invocation::Compiler;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn words_are_split_as_the_compilers_do() {
        let text = "-c \"x y.cu\"\n-I\"a b\" it's -DX=\\\"s\\\"\t\"\"";
        assert_eq!(
            split(Compiler::Nvcc, text),
            ["-c", "x y.cu", "-Ia b", "it's", "-DX=\"s\"", ""]
        );
        assert_eq!(
            split(Compiler::Clang, "'a b' c'd e' \\\n f"),
            ["a b", "cd e", "f"]
        );
        assert_eq!(split(Compiler::Clang, "\"open \\"), ["open "]);
    }

    #[test]
    fn files_take_the_place_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), "-c --options-file two").unwrap();
        fs::write(folder.path().join("two"), "a.cu\n").unwrap();
        fs::write(folder.path().join("self"), "@self").unwrap();
        let expanded = |compiler, text| expand(compiler, words(text), folder.path());
        assert_eq!(
            expanded(Compiler::Nvcc, "-X --options-file one,two -optf=two @one").unwrap(),
            ["-X", "-c", "a.cu", "a.cu", "a.cu", "@one"]
        );
        assert_eq!(
            expanded(Compiler::Clang, "@two @none --options-file").unwrap(),
            ["a.cu", "@none", "--options-file"]
        );
        let problem = expanded(Compiler::Nvcc, "--options-file none").unwrap_err();
        assert!(problem.contains("`none` can't be read"), "{problem}");
        let problem = expanded(Compiler::Clang, "@self").unwrap_err();
        assert!(problem.contains("nested more than 8 deep"), "{problem}");
    }
}
