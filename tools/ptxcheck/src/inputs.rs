//! From the paths of the command line to the inputs of a run.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ptxcheck_passes::exceptions::Exclude;
use ptxcheck_passes::image::{FileFormat, file_format};
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::rule::ProblemKind;
use ptxcheck_passes::run::{Bytes, Input};
use ptxcheck_passes::scope::{Root, fits_path};
use ptxcheck_passes::shown;
use walkdir::{DirEntry, WalkDir};

/// Most folders that are searched in one run.
const MAX_FOLDERS: usize = 1 << 20;

/// Bytes of a file without a known extension that are examined.
const SNIFFED_BYTES: u64 = 1024;

/// Bytes of LLVM IR that are searched for its target.
const SNIFFED_IR_BYTES: u64 = 1 << 16;

/// Extensions of files in build folders that hold no device code, although their first lines may look like it.
const OTHER_EXTENSIONS: [&str; 22] = [
    "c", "cc", "cl", "cmake", "cpp", "cu", "cuh", "cxx", "d", "full", "h", "hpp", "html", "inc", "json",
    "log", "md", "py", "rs", "toml", "txt", "yml",
];

/// The inputs that `paths` stand for: each file once, in the order given, a folder's files sorted by name. Those that the
/// configuration excludes are not among them; their names come beside.
///
/// A path that does not exist or can't be read is an input all the same, so that the run reports it. Standard input and files
/// are read in the run, which watches the time.
#[must_use]
pub fn collect(paths: &[PathBuf], exclude: &Exclude, root: &Root) -> (Vec<Input>, Vec<String>) {
    let mut inputs = Inputs {
        exclude: exclude.paths.clone(),
        root: root.clone(),
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
    (inputs.inputs, inputs.left_out)
}

#[derive(Default)]
struct Inputs {
    inputs: Vec<Input>,
    /// Patterns of what is no input, and what they are relative to.
    exclude: Vec<Pattern>,
    root: Root,
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

    /// Each folder once, by whatever links it is reached: its files are on the list then.
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
                    if entry.file_type().is_file() && is_input(entry.path()) {
                        self.add_file(entry.path());
                    }
                }
                // A link to a folder around it: its files are on the list already.
                Err(error) if error.loop_ancestor().is_some() => {}
                Err(error) => {
                    if let Some(path) = error.path()
                        && (path.is_dir() || has_ptx_extension(path))
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

/// The identity of a folder, whatever its path.
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

/// The identity of a folder, whatever its path.
#[derive(PartialEq, Eq, Hash)]
#[cfg(not(unix))]
struct Folder(PathBuf);

#[cfg(not(unix))]
impl Folder {
    fn of(entry: &DirEntry) -> Option<Self> {
        fs::canonicalize(entry.path()).ok().map(Self)
    }
}

/// PTX, and LLVM IR where this build reads it.
fn has_ptx_extension(path: &Path) -> bool {
    let known: &[&str] = if cfg!(feature = "ir") {
        &["ptx", "ll", "llir", "bc"]
    } else {
        &["ptx"]
    };
    has_extension(path, known)
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension()
        .is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The first bytes of files that are or may hold device code: ELF, archives, fat binaries, clang's bundles.
const MAGIC: [&[u8]; 4] = [b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba", b"\x10\xff\x10\xad"];

/// Host files of Windows begin with two bytes that prove little (executables; objects for x86-64 and for ARM64), so their
/// extensions count, too.
const WINDOWS_MAGIC: [&[u8]; 3] = [b"MZ", b"\x64\x86", b"\x64\xaa"];
const WINDOWS_EXTENSIONS: [&str; 4] = ["dll", "exe", "obj", "pyd"];

/// True if a file in a folder is an input: by its extension, else by its first bytes.
fn is_input(path: &Path) -> bool {
    if has_ptx_extension(path) {
        return !is_foreign(path);
    }
    if has_extension(path, &OTHER_EXTENSIONS) {
        return false;
    }
    let begins = |start: &[u8], magic: &[&[u8]]| magic.iter().any(|magic| start.starts_with(magic));
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SNIFFED_BYTES).read_to_end(&mut start))
        .is_ok_and(|_| {
            begins(&start, &MAGIC) && !matches!(file_format("", &start), FileFormat::Foreign(_))
                || has_extension(path, &WINDOWS_EXTENSIONS) && begins(&start, &WINDOWS_MAGIC)
                || starts_like_ptx(&start)
        })
}

/// True if a file with an extension of LLVM IR is for other GPUs.
fn is_foreign(path: &Path) -> bool {
    if has_extension(path, &["ptx"]) {
        return false;
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SNIFFED_IR_BYTES).read_to_end(&mut start))
        .is_ok_and(|_| matches!(file_format("", &start), FileFormat::Foreign(_)))
}

/// True if a line begins with `.version` and a number: the first directive of every PTX module.
fn starts_like_ptx(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    start.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        line.trim_ascii_start()
            .strip_prefix(b".version")
            .filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
            .and_then(|rest| rest.trim_ascii_start().first())
            .is_some_and(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_probe, starts_like_ptx};

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

    #[test]
    fn ptx_is_known_by_its_first_directive() {
        assert!(starts_like_ptx(
            b"//\n// Generated\n//\n\n.version 8.4\n.target sm_90\n"
        ));
        assert!(starts_like_ptx(b"\xef\xbb\xbf.version\t7.0\r\n"));
        for other in [
            &b""[..],
            b"version 8.4",
            b"see .version 8.4",
            b".versions 8",
            b".version x",
            b".version",
        ] {
            assert!(!starts_like_ptx(other), "{:?}", String::from_utf8_lossy(other));
        }
    }
}
