//! Releases on package indices, as `pypi:NAME==VERSION` and `conda:NAME==VERSION` name them: the ordinary client downloads the package
//! once, into a cache.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::cache;
use ptxcheck_passes::run::{Bytes, Input};
use ptxcheck_passes::shown;
use walkdir::WalkDir;

/// Most folders that packages lie in below the one that a client downloads into: newer versions of mamba have one for each channel.
const FOLDERS: usize = 6;

/// An index of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    Pypi,
    Conda,
}

impl Index {
    const ALL: [Self; 2] = [Self::Pypi, Self::Conda];

    /// Its name in front of a release, and in the cache.
    const fn name(self) -> &'static str {
        match self {
            Self::Pypi => "pypi",
            Self::Conda => "conda",
        }
    }

    /// The variable with the client and its first arguments.
    const fn variable(self) -> &'static str {
        match self {
            Self::Pypi => "PTXCHECK_PIP",
            Self::Conda => "PTXCHECK_CONDA",
        }
    }

    /// The clients, if the variable names none.
    const fn clients(self) -> &'static [&'static str] {
        match self {
            Self::Pypi => &["pip"],
            Self::Conda => &["conda", "mamba", "micromamba"],
        }
    }

    /// The form of a release.
    const fn form(self) -> &'static str {
        match self {
            Self::Pypi => "NAME==VERSION",
            Self::Conda => "NAME==VERSION` or `conda:NAME==VERSION=BUILD",
        }
    }

    /// Endings of its packages.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Pypi => &[".whl"],
            Self::Conda => &[".conda", ".tar.bz2"],
        }
    }
}

/// A release of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    index: Index,
    /// As the index compares names: in lower case and, on the Python package index, with `-` for each run of `-`, `_` and `.`.
    name: String,
    version: String,
    /// The build of a conda package, as in `cuda126_py312h1b2c3d4_0`.
    build: Option<String>,
}

/// True for a path that names a release, and no file.
pub fn is_release(path: &Path) -> bool {
    named(path).is_some()
}

/// The index and the text after it of a path that names a release.
fn named(path: &Path) -> Option<(Index, &str)> {
    let (index, text) = path.to_str()?.split_once(':')?;
    let index = Index::ALL.into_iter().find(|known| known.name() == index)?;
    (!path.exists()).then_some((index, text))
}

/// The paths that name files, and the packages of the releases that the others name.
///
/// # Errors
///
/// A sentence: about a name that is no release, or the client's own message.
pub fn fetch(paths: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<Input>), String> {
    let mut files = Vec::new();
    let mut packages = Vec::new();
    for path in paths {
        match named(&path) {
            Some((index, text)) => packages.extend(Release::parse(index, text)?.packages()?),
            None => files.push(path),
        }
    }
    Ok((files, packages))
}

impl Release {
    /// The release that a text names.
    fn parse(index: Index, text: &str) -> Result<Self, String> {
        let wrong = || {
            let (name, form) = (index.name(), index.form());
            format!("`{name}:{text}` names no release: one is written as `{name}:{form}`")
        };
        let (name, version) = text.split_once("==").ok_or_else(wrong)?;
        let (version, build) = match (index, version.split_once('=')) {
            (Index::Conda, Some((version, build))) => (version, Some(build)),
            _ => (version, None),
        };
        if !is_word(name, "-_.")
            || !is_word(version, "-_.+!")
            || !build.is_none_or(|build| is_word(build, "_.+"))
        {
            return Err(wrong());
        }
        let name = match index {
            Index::Pypi => {
                let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
                parts.collect::<Vec<_>>().join("-")
            }
            Index::Conda => name.to_owned(),
        };
        Ok(Self {
            index,
            name: name.to_ascii_lowercase(),
            version: version.to_owned(),
            build: build.map(str::to_owned),
        })
    }

    /// Its packages, from the cache or from the client.
    fn packages(&self) -> Result<Vec<Input>, String> {
        let cache = cache::downloads()
            .ok_or_else(|| format!("there is no folder to download into: set {}", cache::VARIABLE))?;
        let build = self
            .build
            .as_ref()
            .map(|build| format!("-{build}"))
            .unwrap_or_default();
        let name = format!("{}-{}{build}", self.name, self.version);
        let folder = cache.join(self.index.name()).join(name);
        if let Some(packages) = self.packages_in(&folder) {
            return Ok(packages);
        }
        self.download(&folder)?;
        self.packages_in(&folder)
            .ok_or_else(|| format!("the client downloaded no package of {self}"))
    }

    /// Downloads the package that fits this machine into a folder, which appears when it is complete.
    fn download(&self, folder: &Path) -> Result<(), String> {
        let parent = folder.parent().unwrap_or(folder);
        let unmade = |error: Error| format!("`{}` can't be made: {error}", shown::path(folder.as_os_str()));
        fs::create_dir_all(parent).map_err(unmade)?;
        let work = tempfile::tempdir_in(parent).map_err(unmade)?;
        let (client, output) = self.run(work.path())?;
        if !output.status.success() {
            let said = match output.stderr.trim_ascii() {
                // Some write their reasons to standard output.
                [] => output.stdout.trim_ascii(),
                said => said,
            };
            let said = String::from_utf8_lossy(said);
            return Err(format!("`{client}` did not download {self}: {said}"));
        }
        let found = work.path().join("found");
        fs::create_dir(&found).map_err(unmade)?;
        for package in self.downloaded(work.path()) {
            if let Some(name) = package.file_name() {
                fs::rename(&package, found.join(name)).map_err(unmade)?;
            }
        }
        // Another run may have been faster: its files are the same.
        match fs::rename(&found, folder) {
            Err(error) if !folder.exists() => Err(unmade(error)),
            _ => Ok(()),
        }
    }

    /// Has a client download into a folder: its name, and its output.
    fn run(&self, folder: &Path) -> Result<(String, Output), String> {
        let variable = self.index.variable();
        let clients: Vec<Vec<String>> = match std::env::var(variable) {
            Ok(words) => {
                vec![shlex::split(&words).ok_or_else(|| format!("{variable} has an open quote"))?]
            }
            Err(_) => {
                let names = self.index.clients().iter();
                names.map(|name| vec![(*name).to_owned()]).collect()
            }
        };
        let mut unstarted = None;
        for words in &clients {
            let (client, first) = words
                .split_first()
                .ok_or_else(|| format!("{variable} is empty"))?;
            let mut command = Command::new(client);
            match self.index {
                Index::Pypi => self.ask_pip(command.args(first), folder),
                Index::Conda => self.ask_conda(&mut command, first, folder),
            }
            match command.stdin(Stdio::null()).output() {
                Ok(output) => return Ok((client.clone(), output)),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    unstarted.get_or_insert(error);
                }
                Err(error) => {
                    unstarted = Some(error);
                    break;
                }
            }
        }
        Err(self.without_client(&clients, unstarted))
    }

    /// The sentence about clients that can't be started.
    fn without_client(&self, clients: &[Vec<String>], error: Option<Error>) -> String {
        let names: Vec<String> = clients
            .iter()
            .filter_map(|words| Some(format!("`{}`", words.first()?)))
            .collect();
        let (variable, error) = (self.index.variable(), error.map(|error| format!(": {error}")));
        let error = error.unwrap_or_default();
        match names.as_slice() {
            [name] => format!(
                "{name}, which downloads {self}, can't be started{error}; {variable} names another client"
            ),
            several => format!(
                "none of {}, which download {self}, can be started{error}; install one of them, or name it in {variable}",
                several.join(", ")
            ),
        }
    }

    /// Of a source distribution, pip would run the code to learn its metadata.
    fn ask_pip(&self, command: &mut Command, folder: &Path) {
        command
            .args([
                "download",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--no-input",
                "--quiet",
            ])
            .args(["--disable-pip-version-check", "--dest"])
            .arg(folder)
            .args(["--", &self.to_string()]);
    }

    /// Packages are downloaded into a cache of their own, for an environment that is never made.
    fn ask_conda(&self, command: &mut Command, options: &[String], folder: &Path) {
        let specification = match &self.build {
            Some(build) => format!("{}={}={build}", self.name, self.version),
            None => self.to_string(),
        };
        command
            .env("CONDA_PKGS_DIRS", folder.join("packages"))
            .args(["create", "--yes", "--quiet", "--download-only", "--no-deps"])
            .args(options)
            .arg("--prefix")
            .arg(folder.join("environment"))
            .arg(specification);
    }

    /// The packages of the release that a client has left below a folder. Conda unpacks them beside.
    fn downloaded(&self, folder: &Path) -> Vec<PathBuf> {
        let walk = WalkDir::new(folder).max_depth(FOLDERS).sort_by_file_name();
        let files = walk.into_iter().filter_map(Result::ok);
        let files = files.filter(|entry| entry.file_type().is_file());
        let mut paths: Vec<PathBuf> = files.map(|entry| entry.path().to_owned()).collect();
        paths.retain(|path| self.is_package(path));
        paths
    }

    /// True for a package of the release, by its file name.
    fn is_package(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let is_one = self.index.endings().iter().any(|ending| name.ends_with(ending));
        match self.index {
            Index::Pypi => is_one,
            Index::Conda => is_one && name.starts_with(&format!("{}-{}-", self.name, self.version)),
        }
    }

    /// The packages in a folder, by their file names; `None` if there is none.
    fn packages_in(&self, folder: &Path) -> Option<Vec<Input>> {
        let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| self.is_package(path));
        paths.sort();
        let packages = paths.into_iter().filter_map(|path| {
            Some(Input {
                name: shown::path(path.file_name()?).into_owned(),
                bytes: Bytes::File(path),
            })
        });
        Some(packages.collect::<Vec<_>>()).filter(|packages| !packages.is_empty())
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}=={}", self.name, self.version)?;
        match &self.build {
            Some(build) => write!(formatter, "={build}"),
            None => Ok(()),
        }
    }
}

/// True for a text that begins with a letter or digit and has only these and some others.
fn is_word(word: &str, others: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::{Index, Release};

    #[test]
    fn a_release_has_a_name_and_a_version() {
        let release = Release::parse(Index::Pypi, "Faiss_GPU.cu12==1.14.1.post1").unwrap();
        assert_eq!(release.to_string(), "faiss-gpu-cu12==1.14.1.post1");
        for wrong in [
            "faiss",
            "==1.0",
            "faiss==",
            "--index-url==1",
            "a b==1",
            "faiss==../1",
            "faiss==1 --pre",
            "faiss==1=0",
            "a/b==1",
        ] {
            assert!(Release::parse(Index::Pypi, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_conda_release_may_have_a_build() {
        let release = |text| Release::parse(Index::Conda, text);
        assert_eq!(
            release("Faiss_GPU==1.9.0").unwrap().to_string(),
            "faiss_gpu==1.9.0"
        );
        let built = release("pytorch==2.4.1=cuda126_py312h1b2c3d4_0").unwrap();
        assert_eq!(built.build.as_deref(), Some("cuda126_py312h1b2c3d4_0"));
        for wrong in ["x", "x=1.0", "x==1.0=", "x==1.0=a/b", "x==1.0=a=b", "x[url=y]==1"] {
            assert!(release(wrong).is_err(), "{wrong}");
        }
        assert!(built.is_package("/p/pytorch-2.4.1-cuda126_py312h1b2c3d4_0.conda".as_ref()));
        assert!(!built.is_package("/p/pytorch-2.4.10-cpu_0.conda".as_ref()));
        assert!(!built.is_package("/p/pytorch-2.4.1-cuda126_py312h1b2c3d4_0".as_ref()));
    }
}
