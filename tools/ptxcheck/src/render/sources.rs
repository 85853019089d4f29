//! Lines of the files that findings point to, where those files are at hand.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest file that lines are shown from, in bytes.
const FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Extensions of files that lines are shown from. The names come from inputs: a hostile one must not bring other
/// files of this machine into a log.
const EXTENSIONS: [&str; 18] = [
    "c", "cc", "cl", "cpp", "cu", "cuh", "cxx", "h", "hh", "hpp", "hxx", "inl", "ipp", "jl", "ll", "ptx",
    "py", "rs",
];

/// Reads each file once.
#[derive(Default)]
pub struct Sources {
    texts: HashMap<PathBuf, Option<SourceText>>,
}

/// A file, and where its lines begin.
struct SourceText {
    text: String,
    starts: Vec<usize>,
}

impl Sources {
    /// Line `number` (1-based) of `file`, without its end. `file` is looked for relative to the working directory,
    /// then relative to the folder of the input that names it.
    pub fn line(&mut self, file: &str, input: &str, number: u32) -> Option<&str> {
        let beside = Path::new(input).parent().map(|folder| folder.join(file));
        let path = std::iter::once(PathBuf::from(file))
            .chain(beside)
            .find(|path| self.load(path).is_some())?;
        self.load(&path)?.line(number)
    }

    fn load(&mut self, path: &Path) -> Option<&SourceText> {
        if !self.texts.contains_key(path) {
            self.texts.insert(path.to_owned(), read(path));
        }
        self.texts.get(path)?.as_ref()
    }
}

impl SourceText {
    fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self
            .starts
            .get(index + 1)
            .map_or(self.text.len(), |next| next - 1);
        Some(self.text.get(start..end)?.trim_end_matches('\r'))
    }
}

fn read(path: &Path) -> Option<SourceText> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    if !EXTENSIONS.contains(&extension.as_str()) {
        return None;
    }
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(FILE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let starts = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    Some(SourceText { text, starts })
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn finds_lines_by_number() {
        let mut sources = Sources::default();
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/render/sources.rs");
        assert!(
            sources
                .line(here, "-", 1)
                .is_some_and(|line| line.starts_with("//! Lines"))
        );
        assert_eq!(sources.line(here, "-", 2), Some(""));
        assert_eq!(sources.line(here, "-", 0), None);
        assert_eq!(sources.line(here, "-", 100_000), None);
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/src/main.rs");
        assert!(sources.line("render/sources.rs", beside, 1).is_some());
    }

    #[test]
    fn shows_nothing_but_source_code() {
        let mut sources = Sources::default();
        for file in ["/etc/passwd", "/dev/zero", "/dev/zero.cu", "", "src"] {
            assert_eq!(sources.line(file, "-", 1), None, "{file}");
        }
    }
}
