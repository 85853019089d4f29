//! The scope of an override, an exception or an exclusion, by path and by kernel.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::patterns::Pattern;

/// The places that something is for. An empty list stands for all paths, or all kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// One of these fits the input, or the source that the finding points to.
    pub paths: Vec<Pattern>,
    /// One of these fits the kernel, or the function where no kernel is known.
    pub kernels: Vec<Pattern>,
}

/// The place of a finding: the paths and names that patterns are matched against, in all their spellings.
#[derive(Clone, Debug)]
pub struct PlaceSpellings {
    /// For the input, and the source that the finding points to: the spellings of its path.
    pub paths: Vec<Rc<[String]>>,
    /// The spellings of the name of the kernel or function.
    pub names: Rc<[String]>,
}

impl Scope {
    /// True if the place is in the scope.
    #[must_use]
    pub fn contains(&self, place: &PlaceSpellings) -> bool {
        let any_matches = |patterns: &[Pattern], matches: &dyn Fn(&Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(matches)
        };
        any_matches(&self.paths, &|pattern| place.has_path(pattern))
            && any_matches(&self.kernels, &|pattern| place.has_name(pattern))
    }
}

impl PlaceSpellings {
    /// True if a pattern matches one of the paths.
    #[must_use]
    pub fn has_path(&self, pattern: &Pattern) -> bool {
        self.paths.iter().any(|path| fits_path(pattern, path))
    }

    /// True if a pattern matches the name.
    #[must_use]
    pub fn has_name(&self, pattern: &Pattern) -> bool {
        self.names.iter().any(|name| pattern.fits(name))
    }
}

/// True if a pattern matches one of the spellings of a path. That of a member of a package (`a.whl!lib/b.so`) is matched as a whole,
/// with `/` for `!` (`dist/*.whl/**`) as well, and so is the text after each `!` by itself.
#[must_use]
pub fn fits_path(pattern: &Pattern, spellings: &[String]) -> bool {
    if pattern.is_bare_name() {
        // The last part is that of all spellings.
        let path = spellings.first().map_or("", String::as_str);
        let name = path.rsplit('/').next().unwrap_or(path);
        return suffixes_after_package_marks(name).any(|name| pattern.fits(name));
    }
    spellings.iter().any(|path| {
        suffixes_after_package_marks(path).any(|path| pattern.fits(path)) || fits_as_folder(pattern, path)
    })
}

/// True if the pattern matches a member of a package as if that were a folder.
fn fits_as_folder(pattern: &Pattern, path: &str) -> bool {
    path.contains('!') && pattern.fits(&path.replace('!', "/"))
}

/// A text, and the text after each `!` in it.
fn suffixes_after_package_marks(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.match_indices('!').map(|(at, _)| &text[at + 1..]);
    std::iter::once(text).chain(ends)
}

/// The folders that paths and patterns are relative to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// The folder that patterns are relative to: that of the configuration.
    pub root: Option<PathBuf>,
    /// The folder that inputs and sources are relative to: the working directory.
    pub working: Option<PathBuf>,
}

impl Root {
    /// The path as it is given, without `.` and `..` where they can go, and relative to the root if it lies below.
    #[must_use]
    pub fn spellings(&self, path: &str) -> Vec<String> {
        let given = clean(path);
        let mut spellings = Vec::with_capacity(2);
        if let (Some(root), Some(working)) = (&self.root, &self.working) {
            let below = |text: &Path| clean(&text.to_string_lossy());
            let absolute = if is_absolute(&given) {
                given.clone()
            } else {
                below(&working.join(&given))
            };
            let root = below(root);
            let relative = absolute
                .strip_prefix(root.trim_end_matches('/'))
                .and_then(|rest| rest.strip_prefix('/'));
            if let Some(relative) = relative
                && relative != given
            {
                spellings.push(relative.to_owned());
            }
        }
        spellings.insert(0, given);
        spellings
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":/")
}

/// A path with `/` between its parts, without `.` and, where a part stands before it, without `..`.
#[must_use]
pub fn clean(path: &str) -> String {
    let path: Cow<'_, str> = if path.contains('\\') {
        path.replace('\\', "/").into()
    } else {
        path.into()
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}

/// The folder that a compiler saw a source in, and where it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMap {
    /// The beginning of the names of sources that is replaced.
    pub from: String,
    /// Its replacement.
    pub to: String,
}

impl PathMap {
    /// The name of a source with the replacement of its prefix; `None` if it begins with something else. A beginning ends where
    /// a part of the name does.
    #[must_use]
    pub fn apply(&self, file: &str) -> Option<String> {
        let rest = file.strip_prefix(&*self.from)?;
        let is_separator = |text: &str| text.ends_with(['/', '\\']);
        if !rest.is_empty() && !is_separator(&self.from) && !rest.starts_with(['/', '\\']) {
            return None;
        }
        Some(match (self.to.as_str(), rest.strip_prefix(['/', '\\'])) {
            // Relative to the working directory, and not to the root of the file system.
            ("", Some(rest)) => rest.to_owned(),
            (to, _) if is_separator(&self.from) && !is_separator(to) && !to.is_empty() => {
                format!("{to}/{rest}")
            }
            (to, Some(bare)) if is_separator(to) => format!("{to}{bare}"),
            (to, _) => format!("{to}{rest}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{PathMap, PlaceSpellings, Root, Scope, clean};
    use crate::patterns::Pattern;

    #[test]
    fn paths_are_spelt_as_given_and_below_the_root() {
        let root = Root {
            root: Some("/home/me/project".into()),
            working: Some("/home/me/project/build".into()),
        };
        assert_eq!(root.spellings("../src/./k.cu"), ["../src/k.cu", "src/k.cu"]);
        assert_eq!(
            root.spellings("/home/me/project/src/k.cu"),
            ["/home/me/project/src/k.cu", "src/k.cu"]
        );
        assert_eq!(
            root.spellings("/home/me/projects/k.cu"),
            ["/home/me/projects/k.cu"]
        );
        assert_eq!(Root::default().spellings("a\\b.cu"), ["a/b.cu"]);
        assert_eq!(clean("/a/../../b/"), "/../b");
    }

    #[test]
    fn a_scope_is_of_paths_and_kernels_together() {
        let paths = |texts: &[&str]| texts.iter().map(|text| Pattern::path(text).unwrap()).collect();
        let names = ["_Z3foov".to_owned(), "foo()".to_owned()];
        let at = PlaceSpellings {
            paths: vec![Root::default().spellings("src/a.cu").into()],
            names: names.into(),
        };
        let scope = |path: &[&str], kernel: &[&str]| Scope {
            paths: paths(path),
            kernels: kernel.iter().map(|text| Pattern::name(text).unwrap()).collect(),
        };
        assert!(Scope::default().contains(&at));
        assert!(scope(&["lib/**", "src/**"], &["foo*"]).contains(&at));
        assert!(scope(&["*.cu"], &[]).contains(&at) && scope(&["a.cu"], &[]).contains(&at));
        assert!(!scope(&["src/**"], &["bar*"]).contains(&at));
        assert!(!scope(&["lib/**"], &["foo*"]).contains(&at));
    }

    #[test]
    fn a_member_of_a_package_is_matched_as_a_whole_and_by_its_path_there() {
        let fits = |pattern: &str, path: &str| {
            super::fits_path(&Pattern::path(pattern).unwrap(), &[path.to_owned()])
        };
        let path = "dist/a-1.0.zip!b.whl!torch/lib/c.so";
        for pattern in [
            "c.so",
            "*.so",
            "torch/lib/**",
            "dist/a-*.zip/**",
            "b.whl!torch/**",
            "**/b.whl/**",
            "**/lib/c.so",
        ] {
            assert!(fits(pattern, path), "{pattern}");
        }
        for pattern in ["b.whl", "lib/**", "dist/a-*.zip", "c"] {
            assert!(!fits(pattern, path), "{pattern}");
        }
        assert!(fits("k.ptx", "a.whl!k.ptx") && fits("a!k.ptx", "a!k.ptx"));
    }

    #[test]
    fn beginnings_of_paths_are_replaced_part_by_part() {
        let map = |from: &str, to: &str, file: &str| {
            PathMap {
                from: from.to_owned(),
                to: to.to_owned(),
            }
            .apply(file)
        };
        assert_eq!(
            map("/build/src", "src", "/build/src/k.cu").as_deref(),
            Some("src/k.cu")
        );
        assert_eq!(
            map("/build/src/", "src", "/build/src/k.cu").as_deref(),
            Some("src/k.cu")
        );
        assert_eq!(
            map("/build/src", "src/", "/build/src/k.cu").as_deref(),
            Some("src/k.cu")
        );
        assert_eq!(map("/build/src", "", "/build/src/k.cu").as_deref(), Some("k.cu"));
        assert_eq!(map("/build/src/", "", "/build/src/k.cu").as_deref(), Some("k.cu"));
        assert_eq!(map("/build/src", "x", "/build/srcs/k.cu"), None);
        assert_eq!(map("k.cu", "l.cu", "k.cu").as_deref(), Some("l.cu"));
    }
}
