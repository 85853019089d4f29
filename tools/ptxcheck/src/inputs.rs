//! From the paths of the command line to the inputs of a run.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ptxcheck_passes::candidates::{self, Readable};
use ptxcheck_passes::packages;
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::rule::ProblemKind;
use ptxcheck_passes::run::{Bytes, Input};
use ptxcheck_passes::scope::{Root, fits_path};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shown;
use ptxcheck_passes::variants::MetadataName;
use ptxcheck_passes::worker::{MISSING, mlir};
use ptxcheck_report::escape;
use walkdir::{DirEntry, WalkDir};

use crate::commands::worker;

/// Most folders that are searched in one run.
const MAX_FOLDERS: usize = 1 << 20;

/// The inputs of a run, and the names of excluded ones.
#[derive(Debug, Default)]
pub struct Collected {
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Names of those that the configuration excludes.
    pub left_out: Vec<String>,
    /// What was found in folders and nothing reads.
    pub unread: Unread,
}

/// Files of LLVM IR and MLIR in folders, where the programs that read them are not there.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    ir: UnreadFiles,
    mlir: UnreadFiles,
    /// The first CUDA source.
    source: Option<String>,
}

/// Files of one language.
#[derive(Clone, Debug, Default)]
struct UnreadFiles {
    /// The first one.
    first: Option<String>,
    count: usize,
}

impl UnreadFiles {
    fn add(&mut self, path: &Path) {
        self.first
            .get_or_insert_with(|| shown::path(path.as_os_str()).into_owned());
        self.count += 1;
    }

    fn sentence(&self, language: &str, missing: impl FnOnce() -> String) -> Option<String> {
        let first = escape::line(self.first.as_deref()?);
        let (files, which) = match self.count {
            1 => (format!("1 file of {language} was"), String::new()),
            count => (
                format!("{count} files of {language} were"),
                " and others".to_owned(),
            ),
        };
        Some(format!("{files} not analysed, `{first}`{which}: {}", missing()))
    }
}

impl Unread {
    /// A sentence about CUDA sources, where a folder has some.
    pub fn sentence_about_sources(&self) -> Option<String> {
        let first = escape::line(self.source.as_deref()?);
        Some(format!(
            "`{first}` is CUDA source, which is not read: give what the compiler makes of it, PTX (`nvcc -ptx -lineinfo`), an object or \
             an executable"
        ))
    }

    /// A sentence about the files of each language, if there are some.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        let missing_for_mlir = || match worker::mlir_command() {
            None => mlir::MISSING.to_owned(),
            Some(_) => format!("it becomes LLVM IR, and {MISSING}"),
        };
        let ir = self.ir.sentence("LLVM IR", || MISSING.to_owned());
        ir.into_iter().chain(self.mlir.sentence("MLIR", missing_for_mlir))
    }
}

/// A sentence about a path that leads to nothing; `-` is standard input.
pub fn absence(path: &Path) -> Option<String> {
    let error = path.metadata().err().filter(|_| path.as_os_str() != "-")?;
    Some(format!(
        "`{}`: {error}",
        escape::line(&shown::path(path.as_os_str()))
    ))
}

/// The inputs that `paths` stand for: each file once, in the order given, a folder's files sorted by name. Those that the
/// configuration excludes are not among them.
///
/// A path that does not exist or can't be read is an input all the same, so that the run reports it. Standard input and files
/// are read in the run, which watches the time.
#[must_use]
pub fn collect(paths: &[PathBuf], settings: &Settings) -> Collected {
    let mut inputs = Inputs {
        exclude: settings.exclude.paths.clone(),
        root: settings.root.clone(),
        with_metadata: settings.policy.check_variants,
        readable: worker::readable(),
        ..Inputs::default()
    };
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.add_stdin();
        } else if path.is_dir() {
            inputs.add_folder(path);
        } else {
            inputs.add_file(path);
        }
    }
    Collected {
        inputs: inputs.inputs,
        left_out: inputs.left_out,
        unread: inputs.unread,
    }
}

#[derive(Default)]
struct Inputs {
    inputs: Vec<Input>,
    /// Patterns of excluded files, and the folder that they are relative to.
    exclude: Vec<Pattern>,
    root: Root,
    /// Files with metadata about wheel variants are inputs.
    with_metadata: bool,
    /// The languages that programs are there for.
    readable: Readable,
    unread: Unread,
    /// Names of the inputs that they have left out.
    left_out: Vec<String>,
    seen: HashSet<PathBuf>,
    folders: HashSet<Folder>,
}

impl Inputs {
    fn add(&mut self, path: &Path, bytes: Bytes) {
        self.inputs.push(Input {
            name: shown::path(path.as_os_str()).into_owned(),
            bytes,
        });
    }

    fn add_file(&mut self, path: &Path) {
        let identity = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if self.seen.insert(identity) {
            if !self.exclude.is_empty() {
                let name = shown::path(path.as_os_str());
                let spellings = self.root.spellings(&name);
                if self.exclude.iter().any(|pattern| fits_path(pattern, &spellings)) {
                    self.left_out.push(name.into_owned());
                    return;
                }
            }
            self.add(path, Bytes::File(path.to_owned()));
        }
    }

    fn add_stdin(&mut self) {
        if self.seen.insert(PathBuf::from("-")) {
            self.add(Path::new("-"), Bytes::Standard);
        }
    }

    fn is_input(&mut self, path: &Path) -> bool {
        let unread = if !self.readable.ir && candidates::has_ir_extension(path) {
            Some(&mut self.unread.ir)
        } else if !self.readable.mlir && candidates::has_mlir_extension(path) {
            Some(&mut self.unread.mlir)
        } else {
            None
        };
        if let Some(unread) = unread {
            let all = Readable { ir: true, mlir: true };
            if is_input(path, all) {
                unread.add(path);
            }
            return false;
        }
        if self.unread.source.is_none() && path.extension().is_some_and(|extension| extension == "cu") {
            self.unread.source = Some(shown::path(path.as_os_str()).into_owned());
        }
        is_input(path, self.readable)
            || self.with_metadata && MetadataName::of(&path.to_string_lossy()).is_some()
    }

    /// Each folder once, even if several links lead to it: its files are on the list then.
    fn add_folder(&mut self, folder: &Path) {
        let mut folders = std::mem::take(&mut self.folders);
        let mut is_full = false;
        let is_new = |entry: &DirEntry| {
            if entry.depth() > 0 && is_probe(entry.path()) {
                return false;
            }
            if !entry.file_type().is_dir() {
                return true;
            }
            is_full |= folders.len() >= MAX_FOLDERS;
            !is_full && Folder::of(entry).is_none_or(|folder| folders.insert(folder))
        };
        let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        for entry in walk.into_iter().filter_entry(is_new) {
            match entry {
                Ok(entry) => {
                    if entry.file_type().is_file() && self.is_input(entry.path()) {
                        self.add_file(entry.path());
                    }
                }
                // A link to a folder around it: its files are on the list already.
                Err(error) if error.loop_ancestor().is_some() => {}
                Err(error) => {
                    if let Some(path) = error.path()
                        && (path.is_dir()
                            || candidates::has_ptx_extension(path)
                            || self.readable.ir && candidates::has_ir_extension(path))
                    {
                        self.add_file(path);
                    }
                }
            }
        }
        self.folders = folders;
        if is_full {
            let message =
                format!("there are more than {MAX_FOLDERS} folders in it: the rest was not searched");
            self.add(folder, Bytes::Refused(ProblemKind::Limit, message));
        }
    }
}

/// The folder that CMake keeps its own files in.
const CMAKE_FOLDER: &str = "CMakeFiles";

/// True if CMake built it to find out about the compiler: `CMakeFiles/3.25.1/CompilerIdCUDA`, `CMakeFiles/3.25.1/
/// CMakeDetermineCompilerABI_CUDA.bin`, `CMakeFiles/CMakeScratch`, `CMakeFiles/CMakeTmp`, `CMakeFiles/cmTC_1a2b3.dir`.
pub fn is_probe(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let is_below_cmake = |levels| {
        let above = path.ancestors().nth(levels).and_then(Path::file_name);
        above.is_some_and(|name| name == CMAKE_FOLDER)
    };
    if name.starts_with("CompilerId") || name.starts_with("CMakeDetermineCompilerABI_") {
        return is_below_cmake(2);
    }
    (matches!(name, "CMakeScratch" | "CMakeTmp") || name.starts_with("cmTC_")) && is_below_cmake(1)
}

/// The identity of a folder, independent of its path.
#[derive(PartialEq, Eq, Hash)]
#[cfg(unix)]
struct Folder {
    device: u64,
    inode: u64,
}

#[cfg(unix)]
impl Folder {
    fn of(entry: &DirEntry) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let about = entry.metadata().ok()?;
        Some(Self {
            device: about.dev(),
            inode: about.ino(),
        })
    }
}

/// The identity of a folder, independent of its path.
#[derive(PartialEq, Eq, Hash)]
#[cfg(not(unix))]
struct Folder(PathBuf);

#[cfg(not(unix))]
impl Folder {
    fn of(entry: &DirEntry) -> Option<Self> {
        fs::canonicalize(entry.path()).ok().map(Self)
    }
}

/// True if a file in a folder is an input: device code, or a package that may have some.
fn is_input(path: &Path, readable: Readable) -> bool {
    if packages::is_installed_package(&path.to_string_lossy()) {
        return true;
    }
    candidates::is_input(path, readable, &mut |count| {
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(count as u64).read_to_end(&mut start));
        read.is_ok().then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_probe;

    #[test]
    fn what_cmake_builds_for_itself_is_known_by_its_path() {
        for (path, wanted) in [
            ("b/CMakeFiles/3.25.1/CompilerIdCUDA", true),
            ("b/CMakeFiles/4.0.0-rc1/CompilerIdCUDA", true),
            ("b/CMakeFiles/3.25.1/CMakeDetermineCompilerABI_CUDA.bin", true),
            ("b/CMakeFiles/CMakeScratch", true),
            ("CMakeFiles/CMakeTmp", true),
            ("b/CMakeFiles/cmTC_4fb2a.dir", true),
            ("b/CMakeFiles/app.dir", false),
            ("b/CompilerIdCUDA", false),
            ("b/src/CMakeScratch", false),
            ("cmTC_4fb2a.dir", false),
            ("b/CMakeFiles/3.25.1/app.o", false),
        ] {
            assert_eq!(is_probe(Path::new(path)), wanted, "{path}");
        }
    }
}
