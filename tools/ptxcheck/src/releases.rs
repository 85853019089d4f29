//! Releases on the Python package index, as `pypi:NAME==VERSION` names them: the ordinary client downloads the wheel once, into a cache.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ptxcheck_passes::run::{Bytes, Input};
use ptxcheck_passes::shown;

/// The beginning of a path that names a release.
const INDEX: &str = "pypi:";

/// The variable with the client and its first arguments.
const CLIENT: &str = "PTXCHECK_PIP";

/// The variable with the folder of the cache.
const CACHE: &str = "PTXCHECK_CACHE";

/// A release of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// As the index compares names: in lower case, with `-` for each run of `-`, `_` and `.`.
    name: String,
    version: String,
}

/// The paths that name files, and the wheels of the releases that the others name.
///
/// # Errors
///
/// A sentence: about a name that is no release, or the client's own message.
pub fn fetch(paths: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<Input>), String> {
    let mut files = Vec::new();
    let mut wheels = Vec::new();
    for path in paths {
        let text = path.to_str().and_then(|text| text.strip_prefix(INDEX));
        match text.filter(|_| !path.exists()) {
            Some(text) => wheels.extend(Release::parse(text)?.wheels()?),
            None => files.push(path),
        }
    }
    Ok((files, wheels))
}

impl Release {
    /// The release that `NAME==VERSION` names.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{INDEX}{text}` names no release: one is written as `{INDEX}NAME==VERSION`");
        let (name, version) = text.split_once("==").ok_or_else(wrong)?;
        let is_word = |word: &str, more: &str| {
            word.starts_with(|first: char| first.is_ascii_alphanumeric())
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
        };
        if !is_word(name, "-_.") || !is_word(version, "-_.+!") {
            return Err(wrong());
        }
        let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
        Ok(Self {
            name: parts.collect::<Vec<_>>().join("-").to_ascii_lowercase(),
            version: version.to_owned(),
        })
    }

    /// Its wheels, from the cache or from the client.
    fn wheels(&self) -> Result<Vec<Input>, String> {
        let cache = cache().ok_or_else(|| format!("there is no folder to download into: set {CACHE}"))?;
        let folder = cache.join("pypi").join(format!("{}-{}", self.name, self.version));
        if let Some(wheels) = wheels_in(&folder) {
            return Ok(wheels);
        }
        self.download(&folder)?;
        wheels_in(&folder).ok_or_else(|| format!("the client downloaded no wheel of {self}"))
    }

    /// Downloads the wheel that fits this machine into a folder, which appears when it is complete.
    fn download(&self, folder: &Path) -> Result<(), String> {
        let parent = folder.parent().unwrap_or(folder);
        let unmade =
            |error: std::io::Error| format!("`{}` can't be made: {error}", shown::path(folder.as_os_str()));
        fs::create_dir_all(parent).map_err(unmade)?;
        let begun = tempfile::tempdir_in(parent).map_err(unmade)?;
        let words = client()?;
        let (program, first) = words.split_first().ok_or_else(|| format!("{CLIENT} is empty"))?;
        // Of a source distribution, the client would run the code to learn its metadata.
        let output = Command::new(program)
            .args(first)
            .args(["download", "--no-deps", "--only-binary", ":all:", "--no-input", "--quiet"])
            .args(["--disable-pip-version-check", "--dest"])
            .arg(begun.path())
            .args(["--", &self.to_string()])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{program}`, which downloads {self}, can't be started: {error}; {CLIENT} names another client"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{program}` did not download {self}: {}", said.trim()));
        }
        // Another run may have been faster: its files are the same.
        let made = begun.keep();
        if fs::rename(&made, folder).is_err() {
            let _ = fs::remove_dir_all(&made);
        }
        Ok(())
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}=={}", self.name, self.version)
    }
}

/// The words of the client.
fn client() -> Result<Vec<String>, String> {
    match std::env::var(CLIENT) {
        Ok(words) => shlex::split(&words).ok_or_else(|| format!("{CLIENT} has an open quote")),
        Err(_) => Ok(vec!["pip".to_owned()]),
    }
}

/// The folder of the cache.
fn cache() -> Option<PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(folder) = named(CACHE) {
        return Some(PathBuf::from(folder));
    }
    let base = named("XDG_CACHE_HOME")
        .or_else(|| named("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("ptxcheck"))
}

/// The wheels in a folder, by their file names; `None` if there is none.
fn wheels_in(folder: &Path) -> Option<Vec<Input>> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension() == Some(OsStr::new("whl")));
    paths.sort();
    let wheels = paths.into_iter().filter_map(|path| {
        Some(Input {
            name: shown::path(path.file_name()?).into_owned(),
            bytes: Bytes::File(path),
        })
    });
    Some(wheels.collect::<Vec<_>>()).filter(|wheels| !wheels.is_empty())
}

#[cfg(test)]
mod tests {
    use super::Release;

    #[test]
    fn a_release_has_a_name_and_a_version() {
        let release = Release::parse("Faiss_GPU.cu12==1.14.1.post1").unwrap();
        assert_eq!(release.to_string(), "faiss-gpu-cu12==1.14.1.post1");
        for wrong in [
            "faiss",
            "==1.0",
            "faiss==",
            "--index-url==1",
            "a b==1",
            "faiss==../1",
            "faiss==1 --pre",
            "a/b==1",
        ] {
            assert!(Release::parse(wrong).is_err(), "{wrong}");
        }
    }
}
