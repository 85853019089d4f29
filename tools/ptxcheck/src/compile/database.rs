//! `compile_commands.json`: how each object was made.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::invocation::{self, Invocation};

/// Largest file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Most entries of a file.
const MAX_ENTRIES: usize = 1 << 18;

/// An entry, as CMake and other tools write it.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
    output: Option<PathBuf>,
}

/// The entries of a file, by the objects that they make.
#[derive(Debug)]
pub struct Database {
    /// The name to show.
    pub name: String,
    entries: Vec<Entry>,
    /// By the absolute path of the output. Of several entries for one, the last.
    by_output: HashMap<PathBuf, usize>,
    /// By the name of the output, for paths with links in them.
    by_name: HashMap<Box<OsStr>, Vec<usize>>,
}

impl Database {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let mut text = String::new();
        let size = File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| format!("`{name}` can't be read: {error}"))?;
        if size as u64 > MAX_BYTES {
            return Err(format!("`{name}` has more than {MAX_BYTES} bytes"));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(name, folder, &text)
    }

    /// Reads the text of a file; relative directories are below `folder`.
    fn parse(name: String, folder: &Path, text: &str) -> Result<Self, String> {
        let entries: Vec<Entry> = serde_json::from_str(text)
            .map_err(|error| format!("`{name}` is no list of compile commands: {error}"))?;
        if entries.len() > MAX_ENTRIES {
            return Err(format!("`{name}` has more than {MAX_ENTRIES} entries"));
        }
        let mut database = Self {
            name,
            entries,
            by_output: HashMap::new(),
            by_name: HashMap::new(),
        };
        for (index, entry) in database.entries.iter_mut().enumerate() {
            entry.directory = absolute(&folder.join(&entry.directory));
            let Some(output) = entry.output() else { continue };
            if let Some(name) = output.file_name() {
                database.by_name.entry(name.into()).or_default().push(index);
            }
            database.by_output.insert(output, index);
        }
        Ok(database)
    }

    /// The compilation that makes the object at `path`.
    ///
    /// # Errors
    ///
    /// The reason why none is known, as the end of a sentence.
    pub fn find(&self, path: &Path) -> Result<Invocation, String> {
        let index = self
            .by_output
            .get(&absolute(path))
            .copied()
            .or_else(|| self.through_links(path));
        let Some(index) = index else {
            return Err(format!(
                "`{}` has no entry whose output it is (CMake writes one for targets with EXPORT_COMPILE_COMMANDS)",
                self.name
            ));
        };
        let entry = &self.entries[index];
        let words = entry.words().ok_or_else(|| {
            format!(
                "the entry for it in `{}` has no command that could be split into words",
                self.name
            )
        })?;
        Invocation::new(words, entry.directory.clone())
            .map_err(|problem| format!("in the entry for it in `{}`, {problem}", self.name))
    }

    fn through_links(&self, path: &Path) -> Option<usize> {
        let real = fs::canonicalize(path).ok()?;
        let same = self.by_name.get(path.file_name()?)?;
        // The last, as above.
        let is_it = |index: &&usize| {
            let output = self.entries[**index].output();
            output.and_then(|output| fs::canonicalize(output).ok()).as_ref() == Some(&real)
        };
        same.iter().rev().find(is_it).copied()
    }
}

impl Entry {
    fn words(&self) -> Option<Vec<String>> {
        let words = match (&self.arguments, &self.command) {
            (Some(words), _) => Some(words.clone()),
            (None, Some(command)) => shlex::split(command),
            (None, None) => None,
        };
        words.filter(|words| !words.is_empty())
    }

    /// The absolute path of the object. The command is right about it; the field is not always: CMake's Makefiles give it from the
    /// top of the build, the directory from further down.
    fn output(&self) -> Option<PathBuf> {
        let words = self.words();
        if words.is_none() && self.output.is_none() {
            return None;
        }
        let said = words.as_deref().and_then(invocation::output).map(PathBuf::from);
        let output = match said.or_else(|| self.output.clone()) {
            Some(output) => output,
            // As compilers call what has no name.
            None => PathBuf::from(self.file.file_stem()?).with_extension("o"),
        };
        Some(absolute(&self.directory.join(output)))
    }
}

/// An absolute path without `.` and `..`, without access to the file system.
fn absolute(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in full.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Database;

    fn database(text: &str) -> Database {
        Database::parse("c.json".to_owned(), Path::new("/b"), text).expect("a list")
    }

    fn words(database: &Database, path: &str) -> Option<Vec<String>> {
        let found = database.find(Path::new(path)).ok()?;
        Some(found.words().to_vec())
    }

    #[test]
    fn entries_are_found_by_their_output() {
        let database = database(
            r#"[
            {"directory": "/b", "file": "/s/a.cu", "command": "nvcc -c '/s/a b.cu' -o CMakeFiles/t.dir/a.o"},
            {"directory": "/b", "file": "/s/c.cu", "arguments": ["nvcc", "-c", "c.cu"], "output": "./x/../c.o"},
            {"directory": "sub", "file": "d.cu", "command": "nvcc -c d.cu"},
            {"directory": "/b", "file": "/s/e.cu", "command": "nvcc -c one.cu -o Debug/e.o"},
            {"directory": "/b", "file": "/s/e.cu", "command": "nvcc -c two.cu -o Release/e.o"},
            {"directory": "/b", "file": "/s/e.cu", "command": "nvcc -c three.cu -o Release/e.o"},
            {"directory": "/b", "file": "/s/g.cu", "command": "nvcc 'open -o g.o"},
            {"directory": "/b/sub", "file": "/s/h.cu", "command": "nvcc -o h.o -c h.cu", "output": "sub/h.o"}
        ]"#,
        );
        let last = |path: &str| words(&database, path).and_then(|mut words| words.pop());
        assert_eq!(
            words(&database, "/b/./CMakeFiles/t.dir/a.o").unwrap(),
            ["-c", "/s/a b.cu", "-o", "CMakeFiles/t.dir/a.o"]
        );
        assert_eq!(last("/b/c.o").as_deref(), Some("c.cu"));
        assert_eq!(last("/b/sub/d.o").as_deref(), Some("d.cu"));
        assert_eq!(last("/b/sub/h.o").as_deref(), Some("h.cu"));
        assert!(
            words(&database, "/b/Debug/e.o")
                .unwrap()
                .contains(&"one.cu".to_owned())
        );
        assert!(
            words(&database, "/b/Release/e.o")
                .unwrap()
                .contains(&"three.cu".to_owned())
        );
        for missing in ["/b/g.o", "/b/x.o", "/a.o", ""] {
            assert!(database.find(Path::new(missing)).is_err(), "{missing}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "{}", "[1]", "[{\"directory\": 1}]", "[{\"file\": \"a\"}]"] {
            let read = Database::parse("c.json".to_owned(), Path::new("/b"), text);
            assert!(
                read.unwrap_err().contains("no list of compile commands"),
                "{text}"
            );
        }
        assert!(database("[]").find(Path::new("/b/a.o")).is_err());
        let empty = r#"[{"directory": "/b", "file": "a.cu", "command": "", "output": "a.o"}]"#;
        assert!(database(empty).find(Path::new("/b/a.o")).is_err());
    }
}
