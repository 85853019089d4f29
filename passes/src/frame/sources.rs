//! The files that findings point to, if they are available: their lines, and the comments that say why a finding does not count.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::comments::{self, Comment};
use crate::limits::{ALL_SOURCE_BYTES, MAX_SOURCES, SOURCE_BYTES};

/// Extensions of files that lines are shown from. The names come from inputs: a hostile one must not bring other
/// files of this machine into a log.
const EXTENSIONS: [&str; 19] = [
    "c", "cc", "cl", "cpp", "cu", "cuh", "cxx", "h", "hh", "hpp", "hxx", "inl", "ipp", "jl", "ll", "mlir",
    "ptx", "py", "rs",
];

/// Reads each file once.
#[derive(Default)]
pub struct Sources {
    /// By the path in its canonical form.
    texts: HashMap<PathBuf, SourceText>,
    /// For each path that was asked for: the canonical path of its file, if it is available.
    known: HashMap<PathBuf, Option<PathBuf>>,
    /// Bytes read.
    bytes: u64,
}

/// A file, and where its lines begin.
struct SourceText {
    /// The path by which it was found first.
    name: PathBuf,
    text: String,
    starts: Vec<usize>,
    comments: Vec<Comment>,
}

impl Sources {
    /// Line `number` (1-based) of `file`, without its end. `file` is looked for relative to the working directory,
    /// then relative to the folder of the input that names it.
    pub fn line(&mut self, file: &str, input: &str, number: u32) -> Option<&str> {
        let path = self.find(file, input)?;
        self.texts.get(&path)?.line(number)
    }

    /// The canonical path of the file that a name refers to, if the file is available.
    pub fn find(&mut self, file: &str, input: &str) -> Option<PathBuf> {
        let path = PathBuf::from(file);
        self.load(path).or_else(|| {
            let folder = Path::new(input).parent()?;
            self.load(folder.join(file))
        })
    }

    /// The comments of a file that was found, which say why findings do not count.
    pub(crate) fn comments(&self, found: &Path) -> &[Comment] {
        self.texts.get(found).map_or(&[], |source| &source.comments)
    }

    /// The files with such comments of those that were found, by their paths: the canonical one, and that by which it was found
    /// first.
    pub(crate) fn files_with_comments(&self) -> Vec<(&Path, &Path, &[Comment])> {
        let mut files: Vec<_> = self
            .texts
            .iter()
            .filter(|(_, source)| !source.comments.is_empty())
            .map(|(path, source)| (path.as_path(), source.name.as_path(), &*source.comments))
            .collect();
        files.sort_by_key(|(path, ..)| *path);
        files
    }

    fn load(&mut self, path: PathBuf) -> Option<PathBuf> {
        if let Some(known) = self.known.get(&path) {
            return known.clone();
        }
        if self.known.len() >= MAX_SOURCES {
            return None;
        }
        let found = self.read(&path);
        self.known.insert(path, found.clone());
        found
    }

    fn read(&mut self, path: &Path) -> Option<PathBuf> {
        if !is_source(path) {
            return None;
        }
        let real = fs::canonicalize(path).ok()?;
        if !self.texts.contains_key(&real) {
            if self.bytes >= ALL_SOURCE_BYTES {
                return None;
            }
            let text = read(&real)?;
            self.bytes += text.len() as u64;
            self.texts.insert(real.clone(), SourceText::new(path, text));
        }
        Some(real)
    }
}

impl SourceText {
    fn new(name: &Path, text: String) -> Self {
        Self {
            name: name.to_owned(),
            starts: std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .collect(),
            comments: comments::of_source(text.as_bytes()),
            text,
        }
    }

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

fn is_source(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| EXTENSIONS.contains(&&*extension.to_ascii_lowercase()))
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    // A link may lead to a file that is not a source.
    if !is_source(path) || !metadata.is_file() || metadata.len() > SOURCE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(SOURCE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn finds_lines_by_number() {
        let mut sources = Sources::default();
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/frame/sources.rs");
        assert!(
            sources
                .line(here, "-", 1)
                .is_some_and(|line| line.starts_with("//! The files"))
        );
        assert_eq!(sources.line(here, "-", 2), Some(""));
        assert_eq!(sources.line(here, "-", 0), None);
        assert_eq!(sources.line(here, "-", 100_000), None);
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
        assert!(sources.line("frame/scope.rs", beside, 1).is_some());
    }

    #[test]
    fn shows_nothing_but_source_code() {
        let mut sources = Sources::default();
        for file in ["/etc/passwd", "/dev/zero", "/dev/zero.cu", "", "src"] {
            assert_eq!(sources.line(file, "-", 1), None, "{file}");
        }
    }
}
