//! Names of files in documents that other programs read: relative to one folder, with `/` between their parts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ptxcheck_passes::scope::{Root, clean};

/// A file, as a document names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileName {
    /// Relative to the root, which it lies below.
    Below(String),
    /// Elsewhere: absolute, where the working directory is known.
    Elsewhere(String),
}

impl FileName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Below(name) | Self::Elsewhere(name) => name,
        }
    }
}

/// Looks names up, each once.
pub struct Paths {
    /// The root, with `/` between its parts and none at its end.
    root: Option<String>,
    /// The same without links.
    real_root: Option<String>,
    working: Option<PathBuf>,
    known: HashMap<(String, PathBuf), FileName>,
}

impl Paths {
    /// Names relative to [`Root::root`].
    #[must_use]
    pub fn new(root: &Root) -> Self {
        let absolute = root.root.as_ref().map(|folder| match &root.working {
            Some(working) => working.join(folder),
            None => folder.clone(),
        });
        let text = |path: &Path| unprefixed(&path.to_string_lossy());
        Self {
            real_root: absolute
                .as_ref()
                .and_then(|folder| folder.canonicalize().ok())
                .map(|folder| text(&folder)),
            root: absolute.map(|folder| text(&folder)),
            working: root.working.clone(),
            known: HashMap::new(),
        }
    }

    /// The folder that names are relative to.
    #[must_use]
    pub fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// The name of a file that the compiler or the user named so, which is relative to the working directory or to the folder of
    /// the input that it comes from.
    pub fn name(&mut self, file: &str, input: &str) -> FileName {
        let folder = Path::new(input).parent().unwrap_or(Path::new("")).to_owned();
        let key = (file.to_owned(), folder);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.look_up(file, &key.1);
        self.known.insert(key, name.clone());
        name
    }

    /// The same for people, who are shown a file elsewhere as it was named.
    pub(crate) fn shown(&mut self, file: &str, input: &str) -> String {
        match self.name(file, input) {
            FileName::Below(name) => name,
            FileName::Elsewhere(_) => file.to_owned(),
        }
    }

    fn look_up(&self, file: &str, folder: &Path) -> FileName {
        let Some(working) = &self.working else {
            let name = clean(file);
            return if is_absolute(&name) || name.starts_with("..") {
                FileName::Elsewhere(name)
            } else {
                FileName::Below(name)
            };
        };
        let here = working.join(file);
        let beside = working.join(folder).join(file);
        let found = [&here, &beside].into_iter().find(|path| path.exists());
        let path = found.unwrap_or(&here);
        let text = clean(&path.to_string_lossy());
        if let Some(name) = below(self.root.as_deref(), &text) {
            return FileName::Below(name);
        }
        let real = found.and_then(|path| path.canonicalize().ok());
        let real = real.map(|path| unprefixed(&path.to_string_lossy()));
        match real.and_then(|real| below(self.real_root.as_deref(), &real)) {
            Some(name) => FileName::Below(name),
            None => FileName::Elsewhere(text),
        }
    }
}

/// A clean path, without the prefix that Windows puts before canonical ones.
fn unprefixed(path: &str) -> String {
    clean(path.strip_prefix(r"\\?\").unwrap_or(path))
}

fn below(root: Option<&str>, path: &str) -> Option<String> {
    let rest = path.strip_prefix(root?.trim_end_matches('/'))?;
    let name = rest.strip_prefix('/')?;
    // A path with `..` left in it is not below the root.
    (!name.is_empty() && name.split('/').all(|part| part != "..")).then(|| name.to_owned())
}

/// True if a clean path begins at the root of a file system.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_of_drive(path)
}

fn is_of_drive(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.next().is_some_and(|drive| drive.is_ascii_alphabetic()) && path.get(1..3) == Some(":/")
}

/// A URI reference for a path with `/` between its parts: `a%20b.cu`, `file:///usr/include/x.h` for an absolute one.
#[must_use]
pub fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len() + 8);
    let mut rest = path;
    if is_of_drive(path) {
        uri.push_str("file:///");
        uri.push_str(&path[..2]);
        rest = &path[2..];
    } else if let Some(share) = path.strip_prefix("//") {
        uri.push_str("file://");
        rest = share;
    } else if path.starts_with('/') {
        uri.push_str("file://");
    }
    for &byte in rest.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/+=,@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::scope::Root;

    use super::{FileName, Paths, uri};

    fn below(name: &str) -> FileName {
        FileName::Below(name.to_owned())
    }

    #[test]
    fn names_are_relative_to_the_root() {
        let mut paths = Paths::new(&Root {
            root: Some("/no/such/project".into()),
            working: Some("/no/such/project/build".into()),
        });
        assert_eq!(paths.root(), Some("/no/such/project"));
        assert_eq!(paths.name("../src/./k.cu", "a.o"), below("src/k.cu"));
        assert_eq!(paths.name("/no/such/project/a b.cu", "a.o"), below("a b.cu"));
        for outside in ["/no/such/projects/k.cu", "../../k.cu", "/no/such/project/../k.cu"] {
            let name = paths.name(outside, "a.o");
            assert!(matches!(name, FileName::Elsewhere(_)), "{outside}: {name:?}");
        }
        let mut paths = Paths::new(&Root::default());
        assert_eq!(paths.name("src/k.cu", "-"), below("src/k.cu"));
        assert_eq!(
            paths.name("../k.cu", "-"),
            FileName::Elsewhere("../k.cu".to_owned())
        );
    }

    #[test]
    fn files_beside_the_input_are_found() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let mut paths = Paths::new(&Root {
            root: Some(folder.into()),
            working: Some("/".into()),
        });
        let input = format!("{folder}/src/a.ptx");
        assert_eq!(paths.name("paths.rs", &input), below("src/paths.rs"));
        // Not there: relative to the working directory.
        let gone = FileName::Elsewhere("/gone.cu".to_owned());
        assert_eq!(paths.name("gone.cu", &input), gone);
    }

    #[cfg(unix)]
    #[test]
    fn a_root_with_a_link_in_it_is_the_same_root() {
        let folder = std::env::temp_dir().join(format!("ptxcheck-report-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        std::fs::write(folder.join("real/k.cu"), "").unwrap();
        let _ = std::os::unix::fs::symlink(folder.join("real"), folder.join("link"));
        let mut paths = Paths::new(&Root {
            root: Some(folder.join("link")),
            working: Some(folder.clone()),
        });
        assert_eq!(paths.name("real/k.cu", "-"), below("k.cu"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn uris_hold_what_a_uri_may() {
        for (path, wanted) in [
            ("src/k.cu", "src/k.cu"),
            ("a b:c/ö%.cu", "a%20b%3Ac/%C3%B6%25.cu"),
            ("/usr/x.h", "file:///usr/x.h"),
            ("C:/x y.h", "file:///C:/x%20y.h"),
            ("//server/share/x", "file://server/share/x"),
            ("<stdin>?#\n", "%3Cstdin%3E%3F%23%0A"),
        ] {
            assert_eq!(uri(path), wanted);
        }
    }
}
