//! The texts that the editor has open.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lsp_types::{Position, TextDocumentContentChangeEvent};
use ptxcheck_passes::candidates;

use super::uris;

/// Largest text that is checked, in bytes.
pub(super) const MAX_TEXT: usize = 64 << 20;

/// A text.
#[derive(Debug)]
pub(super) struct Document {
    /// The version that the editor counts.
    pub(super) version: i32,
    /// Its path, if it is a file.
    pub(super) path: Option<PathBuf>,
    /// The text of a language that is checked, else none: the findings of the last build mark other texts.
    pub(super) text: Option<String>,
    /// The time to check it, after a change.
    pub(super) due: Option<Instant>,
}

impl Document {
    /// A text that was opened.
    pub(super) fn new(uri: &str, language: &str, version: i32, text: String) -> Self {
        let path = uris::path_of(uri);
        let is_checked = is_device_code(path.as_deref().unwrap_or(Path::new(uri)), language);
        Self {
            version,
            path,
            text: is_checked.then_some(text),
            due: is_checked.then(Instant::now),
        }
    }

    /// Applies the editor's changes in their order.
    pub(super) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        self.version = version;
        let Some(text) = &mut self.text else { return };
        for change in changes {
            match change.range {
                None => *text = change.text,
                Some(range) => {
                    let (one, other) = (offset(text, range.start), offset(text, range.end));
                    text.replace_range(one.min(other)..one.max(other), &change.text);
                }
            }
        }
    }
}

/// True for PTX, LLVM IR and MLIR as text, by the extension, else by the editor's name of the language.
fn is_device_code(path: &Path, language: &str) -> bool {
    // Bitcode is no text.
    if path.extension() == Some(OsStr::new("bc")) {
        return false;
    }
    candidates::has_ptx_extension(path)
        || candidates::has_ir_extension(path)
        || candidates::has_mlir_extension(path)
        || matches!(language, "ptx" | "llvm" | "mlir")
}

/// The byte of a text at a position in UTF-16 code units; the nearest one, if the text has no such position.
fn offset(text: &str, position: Position) -> usize {
    let line = usize::try_from(position.line).unwrap_or(usize::MAX);
    let start = match line.checked_sub(1) {
        None => 0,
        Some(before) => match text.match_indices('\n').nth(before) {
            Some((at, _)) => at + 1,
            None => return text.len(),
        },
    };
    let rest = text[start..].split('\n').next().unwrap_or_default();
    let wanted = usize::try_from(position.character).unwrap_or(usize::MAX);
    let mut units = 0;
    for (at, character) in rest.char_indices() {
        if units >= wanted {
            return start + at;
        }
        units += character.len_utf16();
    }
    start + rest.len()
}

#[cfg(test)]
mod tests {
    use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

    use super::{Document, offset};

    fn change(from: (u32, u32), to: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent {
            range: Some(Range::new(
                Position::new(from.0, from.1),
                Position::new(to.0, to.1),
            )),
            range_length: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn changes_are_applied_in_their_order() {
        let mut document = Document::new("file:///k.ptx", "", 1, "one\ntwo\n".to_owned());
        document.change(
            2,
            vec![
                change((1, 0), (1, 3), "2"),
                change((0, 3), (0, 3), "s\nöne"),
                change((1, 2), (1, 99), ""),
            ],
        );
        assert_eq!(
            (document.version, document.text.as_deref()),
            (2, Some("ones\nön\n2\n"))
        );
        // Positions that are not there, and ends before their beginnings.
        document.change(
            3,
            vec![
                change((9, 9), (9, 9), "end"),
                change((u32::MAX, u32::MAX), (0, 0), "all"),
            ],
        );
        assert_eq!(document.text.as_deref(), Some("all"));
    }

    #[test]
    fn columns_are_utf_16() {
        let text = "a𝄞b\r\nc";
        for (column, byte) in [(0, 0), (1, 1), (2, 5), (3, 5), (4, 6), (9, 7)] {
            assert_eq!(offset(text, Position::new(0, column)), byte, "{column}");
        }
        assert_eq!(offset(text, Position::new(1, 1)), text.len());
    }

    #[test]
    fn texts_of_other_languages_are_not_kept() {
        for (uri, language, is_checked) in [
            ("file:///a.ptx", "plaintext", true),
            ("file:///a.LL", "", true),
            ("file:///a.ll", "", true),
            ("file:///a.mlir", "", true),
            ("file:///a.bc", "llvm", false),
            ("untitled:1", "ptx", true),
            ("file:///a.cu", "cuda-cpp", false),
        ] {
            let document = Document::new(uri, language, 1, String::new());
            assert_eq!(document.text.is_some(), is_checked, "{uri}");
        }
    }
}
