//! The cases of the corpus: files, and the directives in the comments at their top.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// A file of the corpus.
#[derive(Clone, Debug)]
pub struct Case {
    /// Path relative to the workspace, with `/`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Its text, invalid UTF-8 replaced.
    pub text: String,
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// A sentence if the file can't be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(root()).unwrap_or(path);
        Ok(Self {
            name: name.to_string_lossy().replace('\\', "/"),
            path: path.to_owned(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// The words of the directive `// name: …` in the comments at the top; `None` where there is no such directive.
    #[must_use]
    pub fn directive(&self, name: &str) -> Option<Vec<String>> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        text.lines()
            .take_while(|line| line.starts_with("//"))
            .find_map(|line| {
                let words = line
                    .trim_start_matches('/')
                    .trim()
                    .strip_prefix(name)?
                    .strip_prefix(':')?;
                Some(words.split_whitespace().map(str::to_owned).collect())
            })
    }

    /// True if a directive that lists things lists this one, or is missing.
    #[must_use]
    pub fn wants(&self, directive: &str, thing: &str) -> bool {
        self.directive(directive)
            .is_none_or(|listed| listed.iter().any(|word| word == thing))
    }

    /// The options that the case asks for.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        self.directive("ptxcheck-args").unwrap_or_default()
    }

    /// The options that the case asks for, and the case.
    #[must_use]
    pub fn args(&self) -> Vec<String> {
        let mut args = self.options();
        args.push(self.name.clone());
        args
    }

    /// The options that the case asks for, and a file that was made of it.
    #[must_use]
    pub fn args_for(&self, file: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = self.options().into_iter().map(OsString::from).collect();
        args.push(file.into());
        args
    }

    /// The file name without its last extension.
    #[must_use]
    pub fn stem(&self) -> String {
        self.path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

/// The files below `folder` (relative to the workspace) with this extension, sorted; empty if there is no such folder.
#[must_use]
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root().join(folder), extension, &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, extension, found);
        } else if path.extension().is_some_and(|known| known == extension) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Case;

    #[test]
    fn directives_are_read_at_the_top_only() {
        let case = Case {
            name: "corpus/x.ptx".to_owned(),
            path: "corpus/x.ptx".into(),
            text: "// why: a\n// ptxcheck-args: -W potential\n// targets: sm_90\n.version 8.0\n// compilers: nvcc\n"
                .to_owned(),
        };
        assert_eq!(case.args(), ["-W", "potential", "corpus/x.ptx"]);
        assert!(case.wants("targets", "sm_90") && !case.wants("targets", "sm_75"));
        assert!(case.wants("compilers", "clang"));
    }
}
