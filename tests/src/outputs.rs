//! What compilers make of the CUDA sources of the corpus: committed, each with a key of what it was made from.
//!
//! `corpus/outputs.tsv` has a row for each file: its path below `corpus/`, its key, a digest of its content, and the command as a user
//! of an installed compiler would type it. Tests read an output by [`Outputs::content`], which refuses one that is stale.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use sha2::{Digest as _, Sha256};

use crate::cases::{Case, files};
use crate::expectation::{difference, expected, tags};
use crate::{report, root};

/// What makes outputs anew.
pub const COMMAND: &str = "make outputs";

/// The table of keys, relative to the workspace.
const TABLE: &str = "corpus/outputs.tsv";

/// Its first line.
const COLUMNS: &str = "file\tkey\tdigest\tcommand";

/// The targets that every source is compiled for.
const TARGETS: [&str; 3] = ["sm_75", "sm_90", "sm_120"];

/// Targets with instructions of their own, for the sources that name them.
const OF_ONE_ARCHITECTURE: [&str; 2] = ["sm_90a", "sm_100a"];

/// The modes of LLVM IR, which clang alone writes.
pub const IR_MODES: [&str; 2] = ["ir-O0", "ir-O2"];

/// The modes of PTX.
const PTX_MODES: [&str; 2] = ["O3", "G"];

/// The name that IR is committed under ends so: it is compressed.
const COMPRESSED: &str = ".zst";

/// Compression level of IR: the highest that needs no flag.
const LEVEL: i32 = 19;

/// Digits of keys and digests: 64 bits.
const DIGITS: usize = 16;

/// Exit code of `compile.sh` where the compiler is not installed.
pub const NOT_INSTALLED: i32 = 3;

/// The demo: compiler, target, and stem of a source in `corpus/demo` or `corpus/cuda`.
const DEMO: [(&str, &str, &str); 6] = [
    ("nvcc", "sm_90", "host_table"),
    ("nvcc", "sm_90", "partial_warp"),
    ("nvcc", "sm_90", "tile_pointer"),
    ("nvcc", "sm_75", "wide_params"),
    ("nvcc", "sm_90", "softmax_rows"),
    ("clang", "sm_120", "aggregated_atomics"),
];

/// A row of `tools/toolchain/compilers.tsv`.
struct Mode {
    compiler: String,
    version: String,
    mode: String,
    flags: String,
}

/// One way to compile one source.
#[derive(Clone, Debug)]
pub struct Output {
    /// The source.
    pub case: Case,
    /// `nvcc` or `clang`.
    pub compiler: String,
    /// `sm_90` and so on.
    pub target: String,
    /// `O3`, `G`, `ir-O2` or `ir-O0`.
    pub mode: String,
    /// Path of the committed file, relative to the workspace.
    pub path: String,
}

/// A row of the table of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the file was made from.
    pub key: String,
    /// What is in it.
    pub digest: String,
    /// The command, for readers.
    pub command: String,
}

/// The compilers' versions and flags, and the table of keys.
pub struct Outputs {
    modes: Vec<Mode>,
    rows: BTreeMap<String, Row>,
}

impl Outputs {
    /// Reads both tables. A table of keys that is missing is empty.
    ///
    /// # Errors
    ///
    /// A sentence about a table that can't be read.
    pub fn read() -> Result<Self, String> {
        let text = fs::read_to_string(root().join("tools/toolchain/compilers.tsv"));
        let text = text.map_err(|error| format!("tools/toolchain/compilers.tsv: {error}"))?;
        let mode = |line: &str| {
            let mut cells = line.split('\t').map(str::to_owned);
            let mut next = || cells.next().ok_or_else(|| format!("compilers.tsv: `{line}`"));
            Ok(Mode {
                compiler: next()?,
                version: next()?,
                mode: next()?,
                flags: next()?,
            })
        };
        let modes = text
            .lines()
            .skip(1)
            .map(mode)
            .collect::<Result<Vec<_>, String>>()?;
        let text = fs::read_to_string(root().join(TABLE)).unwrap_or_default();
        Ok(Self {
            modes,
            rows: rows(&text)?,
        })
    }

    fn mode(&self, output: &Output) -> Result<&Mode, String> {
        let mut modes = self.modes.iter();
        modes
            .find(|mode| mode.compiler == output.compiler && mode.mode == output.mode)
            .ok_or_else(|| format!("compilers.tsv has no mode {} of {}", output.mode, output.compiler))
    }

    /// The row that a file has which was made now, without its digest.
    fn wanted(&self, output: &Output) -> Result<Row, String> {
        let mode = self.mode(output)?;
        let mut flags = mode.flags.replace("{target}", &output.target);
        for flag in output.own_flags() {
            flags = flags + " " + &flag;
        }
        let program = if output.compiler == "clang" {
            "clang-22"
        } else {
            &output.compiler
        };
        let file = output.path.rsplit('/').next().unwrap_or_default();
        let file = file.trim_end_matches(COMPRESSED);
        let source = output.case.name.rsplit('/').next().unwrap_or_default();
        let mut made_from = Sha256::new();
        for part in [
            &*output.compiler,
            &mode.version,
            &flags,
            if output.is_cut() { "cut" } else { "whole" },
            source,
            &code(&output.case.text),
        ] {
            made_from.update(part.as_bytes());
            made_from.update([0]);
        }
        Ok(Row {
            key: digits(made_from),
            digest: String::new(),
            command: format!("{program} {flags} -o {file} {source}"),
        })
    }

    /// The content of a committed output that is up to date, decompressed.
    ///
    /// # Errors
    ///
    /// A sentence if it is missing or stale, or if its mode is unknown.
    pub fn content(&self, output: &Output) -> Result<Vec<u8>, String> {
        let wanted = self.wanted(output)?;
        let is_there = root().join(&output.path).is_file();
        let why = match self.rows.get(&output.path) {
            Some(row) if is_there && row.key != wanted.key => {
                "was made from another source, with other flags or by another compiler"
            }
            Some(row) if is_there => {
                let content = output.committed().map_err(|error| error.to_string())?;
                if row.digest == digest(&content) {
                    return Ok(content);
                }
                "is not what the compiler wrote"
            }
            None if is_there => "has no key",
            _ => "is missing",
        };
        Err(format!(
            "{} {why}: run `{COMMAND}` and commit what it writes",
            output.path
        ))
    }

    /// A sentence if what a compiler writes now is not what is committed; `None`, too, for an output that is not.
    #[must_use]
    pub fn difference(&self, output: &Output, content: &[u8]) -> Option<String> {
        let row = self.rows.get(&output.path)?;
        (row.digest != digest(content)).then(|| {
            format!(
                "{} writes something else now than {}: run `{COMMAND} ARGS=--all`, and read the difference\n{}",
                output.compiler,
                output.path,
                output
                    .committed()
                    .map_or_else(|error| error.to_string(), |committed| first_difference(&committed, content))
            )
        })
    }

    /// Compiles an output and writes it, with its row; the table is written by [`Outputs::write`].
    ///
    /// # Errors
    ///
    /// What the compiler says, or a sentence about what can't be written.
    pub fn make(&self, output: &Output) -> Result<(String, Row), String> {
        let content = output.compile()?;
        let path = root().join(&output.path);
        let error = |error: io::Error| format!("{}: {error}", output.path);
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(error)?;
        if output.is_compressed() {
            fs::write(&path, zstd::bulk::compress(&content, LEVEL).map_err(error)?).map_err(error)?;
        } else {
            fs::write(&path, &content).map_err(error)?;
        }
        let row = Row {
            digest: digest(&content),
            ..self.wanted(output)?
        };
        Ok((output.path.clone(), row))
    }

    /// Adds rows, leaves out those of files that no output has, deletes these files, and writes the table.
    ///
    /// # Errors
    ///
    /// A sentence if something can't be written or deleted.
    pub fn write(&mut self, made: Vec<(String, Row)>, all: &[Output]) -> Result<(), String> {
        self.rows.extend(made);
        let is_wanted = |path: &str| all.iter().any(|output| output.path == path);
        self.rows.retain(|path, _| is_wanted(path));
        for path in stray(all) {
            fs::remove_file(root().join(&path)).map_err(|error| format!("{path}: {error}"))?;
        }
        let mut text = COLUMNS.to_owned() + "\n";
        for (path, row) in &self.rows {
            let file = path.trim_start_matches("corpus/");
            let _ = writeln!(text, "{file}\t{}\t{}\t{}", row.key, row.digest, row.command);
        }
        fs::write(root().join(TABLE), text).map_err(|error| format!("{TABLE}: {error}"))
    }

    /// Paths that have a row and are not output.
    #[must_use]
    pub fn without_source(&self, all: &[Output]) -> Vec<String> {
        let rows = self.rows.keys().cloned();
        let is_wanted = |path: &String| all.iter().any(|output| output.path == *path);
        rows.filter(|path| !is_wanted(path)).collect()
    }

    /// A sentence if a compiler is not of the version whose outputs are committed.
    #[must_use]
    pub fn other_version(&self, compiler: &str) -> Option<String> {
        let wanted = &self.modes.iter().find(|mode| mode.compiler == compiler)?.version;
        let (program, start) = match compiler {
            "nvcc" => ("nvcc/cuda/bin/nvcc", ", V"),
            _ => ("clang/bin/clang-22", "clang version "),
        };
        let output = Command::new(root().join(".toolchain").join(program))
            .arg("--version")
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said.split_once(start)?.1.split([' ', '\n']).next()?;
        (version != wanted).then(|| format!("{compiler} is {version}, and compilers.tsv says {wanted}"))
    }
}

impl Output {
    fn new(case: &Case, compiler: &str, target: &str, mode: &str) -> Self {
        let ending = match mode.strip_prefix("ir-") {
            Some(level) => format!("{level}.ll{COMPRESSED}"),
            None => format!("{mode}.ptx"),
        };
        Self {
            case: case.clone(),
            compiler: compiler.to_owned(),
            target: target.to_owned(),
            mode: mode.to_owned(),
            path: format!("corpus/compilers/{compiler}/{}.{target}.{ending}", case.stem()),
        }
    }

    /// The part of this many that it is in: the same in every run.
    #[must_use]
    pub fn part(&self, parts: u32) -> u32 {
        let hash = Sha256::digest(&self.path);
        u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]]) % parts.max(1)
    }

    /// True for LLVM IR.
    #[must_use]
    pub fn is_ir(&self) -> bool {
        IR_MODES.contains(&&*self.mode)
    }

    /// Compares the findings in what a compiler wrote with the markers of the source.
    ///
    /// # Errors
    ///
    /// What differs.
    pub fn hold(&self, content: &[u8]) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join(if self.is_ir() { "k.ll" } else { "k.ptx" });
        fs::write(&file, content).map_err(|error| error.to_string())?;
        if self.is_ir() {
            return crate::ir::hold(self, &file);
        }
        let (code, document) = report::check(self.case.args_for(&file))?;
        let found = report::by_source_line(&document, &format!("{}.cu", self.case.stem()))?;
        let mut wanted = expected(&self.case.text, &tags(&self.compiler, &self.target, &self.mode))?;
        wanted.dedup();
        let mut problems = difference(&wanted, &found);
        if code == 2 {
            problems.push(format!("the exit code is 2: {:#}", document["inputs"]));
        }
        if problems.is_empty() {
            return Ok(());
        }
        problems.extend(report::findings(&document).iter().map(|finding| {
            let place = &finding["source"];
            format!(
                "found: {} at {}: {}",
                finding["code"], place["line"], finding["message"]
            )
        }));
        Err(problems.join("\n"))
    }

    fn is_compressed(&self) -> bool {
        self.path.ends_with(COMPRESSED)
    }

    fn own_flags(&self) -> Vec<String> {
        let directive = format!("{}-flags", self.compiler);
        self.case.directive(&directive).unwrap_or_default()
    }

    /// The CUDA headers alone make 600 kB of DWARF in clang's debug builds: their sections are left out.
    fn is_cut(&self) -> bool {
        self.compiler == "clang" && self.mode == "G" && !self.case.text.contains("-nocudainc")
    }

    /// The command that compiles it to a file. It takes more flags, and exits with [`NOT_INSTALLED`] where the compiler is missing.
    #[must_use]
    pub fn command(&self, file: &Path) -> Command {
        let mut command = Command::new(root().join("tools/toolchain/compile.sh"));
        if self.is_cut() {
            command.arg("--cut-debug");
        }
        command
            .args([&self.compiler, &self.target, &self.mode])
            .arg(&self.case.path)
            .arg(file);
        command
    }

    /// What the compiler writes now.
    ///
    /// # Errors
    ///
    /// What the compiler says; `None` where it is not installed.
    pub fn compile_if_there(&self) -> Result<Option<Vec<u8>>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("out");
        let output = self.command(&file).output().map_err(|error| error.to_string())?;
        match output.status.code() {
            Some(0) => fs::read(file).map(Some).map_err(|error| error.to_string()),
            Some(NOT_INSTALLED) => Ok(None),
            _ => Err(format!(
                "{} does not compile for {}:\n{}",
                self.case.name,
                self.path,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }

    fn compile(&self) -> Result<Vec<u8>, String> {
        let content = self
            .compile_if_there()?
            .ok_or_else(|| format!("{} is not installed: `make toolchain` installs it", self.compiler))?;
        let own = [root(), std::env::temp_dir()].map(|path| path.display().to_string());
        if let Some(path) = own.iter().find(|path| names(&content, path)) {
            return Err(format!("{}: the output names {path}", self.path));
        }
        if names_process(&content) {
            return Err(format!(
                "{}: the output names the process that wrote it, as nvcc's do where a source defines nothing that other files can \
                 name: give it a kernel that is no template",
                self.path
            ));
        }
        Ok(content)
    }

    /// The content of the committed file, decompressed.
    fn committed(&self) -> io::Result<Vec<u8>> {
        let path = root().join(&self.path);
        if self.is_compressed() {
            return zstd::stream::decode_all(fs::File::open(path)?);
        }
        fs::read(path)
    }
}

/// The mode whose markers hold: for IR, that of PTX of the same optimisation.
#[must_use]
pub fn marker_mode(mode: &str) -> &str {
    match mode {
        "ir-O0" => "G",
        "ir-O2" => "O3",
        mode => mode,
    }
}

/// The CUDA sources of the corpus.
///
/// # Errors
///
/// A sentence about one that can't be read.
pub fn sources() -> Result<Vec<Case>, String> {
    files("corpus/cuda", "cu")
        .iter()
        .map(|path| Case::read(path))
        .collect()
}

/// The targets that a source is compiled for.
fn targets(case: &Case) -> Vec<&'static str> {
    let named = case.directive("targets").unwrap_or_default();
    let own = OF_ONE_ARCHITECTURE
        .into_iter()
        .filter(|target| named.iter().any(|name| name == target));
    let usual = TARGETS.into_iter().filter(|target| case.wants("targets", target));
    usual.chain(own).collect()
}

/// True if the code or the markers of a case depend on the target.
fn names_target(case: &Case) -> bool {
    let is_directive = |line: &&str| line.starts_with("//") && !line.starts_with("//~");
    let lines = case.text.lines().skip_while(is_directive);
    let names =
        |line: &str| line.contains("__CUDA_ARCH__") || TARGETS.iter().any(|target| line.contains(target));
    lines.into_iter().any(names)
}

/// All ways to compile a source: each compiler, target and mode.
#[must_use]
pub fn all_of(case: &Case) -> Vec<Output> {
    of(case, |_, _, targets| targets.to_vec())
}

/// The ways whose output is committed: each compiler and mode, for one target that the names decide, or for all targets where
/// the source depends on them.
#[must_use]
pub fn committed_of(case: &Case) -> Vec<Output> {
    let names_target = names_target(case);
    of(case, |compiler, mode, targets| {
        if names_target || targets.is_empty() {
            return targets.to_vec();
        }
        let turn = Sha256::digest(format!("{} {compiler} {mode}", case.stem()));
        vec![targets[usize::from(turn[0]) % targets.len()]]
    })
}

fn of(case: &Case, choose: impl Fn(&str, &str, &[&'static str]) -> Vec<&'static str>) -> Vec<Output> {
    let targets = targets(case);
    let mut found = Vec::new();
    for compiler in ["nvcc", "clang"] {
        if !case.wants("compilers", compiler) {
            continue;
        }
        for mode in PTX_MODES {
            let chosen = choose(compiler, mode, &targets);
            found.extend(
                chosen
                    .iter()
                    .map(|target| Output::new(case, compiler, target, mode)),
            );
        }
        if compiler == "clang" {
            let usual = ["sm_90", "sm_75", "sm_120", "sm_90a", "sm_100a"];
            let target = usual.into_iter().find(|target| targets.contains(target));
            let ir = target
                .into_iter()
                .flat_map(|target| IR_MODES.map(|mode| (target, mode)));
            found.extend(ir.map(|(target, mode)| Output::new(case, compiler, target, mode)));
        }
    }
    found
}

/// All outputs that are committed: of `corpus/cuda`, the demo, and the defects.
///
/// # Errors
///
/// A sentence about a source that can't be read.
pub fn committed() -> Result<Vec<Output>, String> {
    let mut all: Vec<Output> = sources()?.iter().flat_map(committed_of).collect();
    for (compiler, target, stem) in DEMO {
        let mut places = ["demo", "cuda"].map(|folder| root().join(format!("corpus/{folder}/{stem}.cu")));
        places.sort_by_key(|place| !place.is_file());
        all.push(Output {
            path: format!("corpus/demo/{stem}.ptx"),
            ..Output::new(&Case::read(&places[0])?, compiler, target, "O3")
        });
    }
    for path in files("corpus/defects", "cu") {
        let case = Case::read(&path)?;
        let target = case
            .directive("target")
            .and_then(|words| words.into_iter().next());
        all.push(Output {
            path: case.name.replace(".cu", ".ptx"),
            ..Output::new(&case, "nvcc", target.as_deref().unwrap_or("sm_90"), "O3")
        });
    }
    Ok(all)
}

/// The files in `corpus/compilers` that are not output.
#[must_use]
pub fn stray(all: &[Output]) -> Vec<String> {
    let root = root();
    let found = ["ptx", "zst", "tsv"]
        .iter()
        .flat_map(|ending| files("corpus/compilers", ending));
    let names = found.map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path);
        name.to_string_lossy().replace('\\', "/")
    });
    names
        .filter(|name| !all.iter().any(|output| output.path == *name))
        .collect()
}

/// True if an output has a path in it, as text or as bytes: those that `.b8` directives list one below the other, and those of one
/// variable.
fn names(content: &[u8], path: &str) -> bool {
    let text = String::from_utf8_lossy(content);
    let mut bytes = Vec::new();
    for line in text.lines() {
        let listed = line.trim_start().strip_prefix(".b8 ");
        let of_variable = || line.split_once("= {")?.1.strip_suffix("};");
        let Some(list) = listed.or_else(of_variable) else {
            continue;
        };
        bytes.extend(
            list.split(',')
                .filter_map(|number| number.trim().parse::<u8>().ok()),
        );
    }
    text.contains(path) || String::from_utf8_lossy(&bytes).contains(path)
}

/// The text of a source that a compiler sees: no markers, and of the comments at the top none but the lines. A line keeps its
/// number.
fn code(text: &str) -> String {
    let mut is_top = true;
    let mut code = String::new();
    for line in text.lines() {
        is_top &= line.starts_with("//");
        let line = if is_top {
            ""
        } else {
            line.split_once("//~").map_or(line, |(code, _)| code).trim_end()
        };
        code.push_str(line);
        code.push('\n');
    }
    code
}

fn rows(text: &str) -> Result<BTreeMap<String, Row>, String> {
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let mut next = || cells.next().ok_or_else(|| format!("{TABLE}: `{line}`"));
        let path = format!("corpus/{}", next()?);
        let row = Row {
            key: next()?,
            digest: next()?,
            command: next()?,
        };
        Ok((path, row))
    };
    text.lines().skip(1).map(row).collect()
}

/// Two texts' first lines that differ.
fn first_difference(committed: &[u8], now: &[u8]) -> String {
    let [committed, now] = [committed, now].map(String::from_utf8_lossy);
    let (mut committed, mut now) = (committed.lines(), now.lines());
    for number in 1.. {
        match (committed.next(), now.next()) {
            (None, None) => break,
            (old, new) if old != new => {
                let [old, new] = [old, new].map(|line| line.unwrap_or("the end"));
                return format!("line {number}, committed: {old}\nline {number}, now:       {new}");
            }
            _ => {}
        }
    }
    "the lines are equal, and not their ends".to_owned()
}

/// True if a name holds the number of nvcc's process: `_INTERNAL_<hash>_<length>_<file>_cu_<hash>_<process>`. Elsewhere, the length
/// of the next name follows the second hash.
fn names_process(content: &[u8]) -> bool {
    const BEFORE: &[u8] = b"_cu_";
    const HASH: usize = 8;
    content.windows(BEFORE.len() + HASH + 2).any(|text| {
        let Some(text) = text.strip_prefix(BEFORE) else {
            return false;
        };
        let (hash, after) = text.split_at(HASH);
        hash.iter().all(u8::is_ascii_hexdigit) && after[0] == b'_' && after[1].is_ascii_digit()
    })
}

fn digest(content: &[u8]) -> String {
    digits(Sha256::new_with_prefix(content))
}

fn digits(hash: Sha256) -> String {
    let mut digits = String::new();
    for byte in hash.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::{Output, Outputs, code, names, names_process};
    use crate::cases::Case;

    fn case(text: &str) -> Case {
        Case {
            name: "corpus/cuda/k.cu".to_owned(),
            path: "corpus/cuda/k.cu".into(),
            text: text.to_owned(),
        }
    }

    /// nvcc writes the number of its process where a source defines nothing that other files can name.
    #[test]
    fn a_process_in_a_name_is_seen() {
        assert!(names_process(
            b"_ZN60_INTERNAL_00000000_4_k_cu_4f699880_353016__shfl_down_syncEjfji"
        ));
        assert!(!names_process(
            b"_ZN55_INTERNAL_00000000_4_k_cu_e58cdd9616__shfl_down_syncEjfji"
        ));
    }

    /// A key changes with the code, its line numbers and the flags, and not with markers and remarks.
    #[test]
    fn keys_are_of_what_a_compiler_sees() {
        let text = "// why: a\n__global__ void k() {\n  f();  //~ PTX401\n}\n";
        let outputs = Outputs::read().unwrap();
        let key = |text: &str, mode: &str| {
            let output = Output::new(&case(text), "nvcc", "sm_90", mode);
            outputs.wanted(&output).unwrap().key
        };
        let own = key(text, "O3");
        for same in [
            text.replace("why: a", "why: b"),
            text.replace("  //~ PTX401", ""),
            text.replace("PTX401", "PTX402?"),
        ] {
            assert_eq!(key(&same, "O3"), own, "{same}");
        }
        for other in [
            text.replace("f()", "g()"),
            text.replace("why: a", "why: a\n// why: b"),
            text.replace("why: a", "nvcc-flags: -rdc=true"),
        ] {
            assert_ne!(key(&other, "O3"), own, "{other}");
        }
        assert_ne!(key(text, "G"), own);
    }

    #[test]
    fn paths_are_found_in_text_and_in_bytes() {
        assert!(names(b".file 1 \"/tmp/k.cu\"", "/tmp"));
        assert!(names(b".b8 47,116\n\t.b8 109,112,0", "/tmp"));
        assert!(names(
            b".global .align 1 .b8 $str$1[5] = {47, 116, 109, 112};",
            "/tmp"
        ));
        assert!(!names(b".b8 47,116\n\t.b8 109,113", "/tmp"));
    }

    #[test]
    fn code_keeps_its_lines() {
        assert_eq!(
            code("// a\n//~^ PTX1\nint x; // b\n//~^ PTX1\n"),
            "\n\nint x; // b\n\n"
        );
    }
}
