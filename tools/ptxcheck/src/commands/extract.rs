//! `ptxcheck extract`: the images of a file, unpacked, as files. Each has the number that the other commands give it. Those of a
//! package's members go to a folder for each member, below that of the output.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::image::decompress::{Unpacked, allowance, unpack};
use ptxcheck_passes::image::embedded::SiblingPtx;
use ptxcheck_passes::image::{self, Content, InputError, PackedImage, cubin};
use ptxcheck_passes::inventory::ImageKind;
use ptxcheck_passes::packages::{Additional, Package, PackageMember};
use ptxcheck_passes::policy::{self, Policy};
use ptxcheck_passes::run::is_module;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shown;
use ptxcheck_passes::worker::mlir;
use ptxcheck_report::escape;

use crate::exit::Exit;
use crate::options::parse_seconds;
use crate::output;

/// Arguments of `extract`.
#[derive(Args, Debug)]
pub struct ExtractArgs {
    /// A library, executable, object, archive, fat binary or cubin, or a package with such files: each of them gets a folder
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Only images of this kind
    #[arg(long, value_enum)]
    pub kind: Option<ExtractKind>,

    /// Only images for this target, 90 or 90a; 90 does not mean 90a
    #[arg(long, value_name = "TARGET", value_parser = policy::target)]
    pub target: Option<String>,

    /// Only the image with this number, which `audit` and findings name; of a package, that image of each file
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Longest that it may take to open the file and to find and unpack its images
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// The values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExtractKind {
    /// PTX
    Ptx,
    /// Machine code
    Cubin,
    /// LTO-IR, as it is packed
    LtoIr,
    /// LLVM bitcode
    LlvmIr,
}

/// Writes the images out and lists them.
#[must_use]
pub fn run(args: &ExtractArgs) -> Exit {
    let name = shown::path(args.file.as_os_str());
    let deadline = Deadline::after(args.timeout);
    let opened = match args.file.as_os_str().to_str() {
        Some("-") => Content::standard_input(&deadline),
        _ => Content::open(&args.file, &deadline),
    };
    let content = match opened {
        Ok(content) => content,
        Err(unread) => return complain(&name, &unread.to_string()),
    };
    if let Err(error) = fs::create_dir_all(&args.output) {
        let folder = args.output.to_string_lossy();
        return output::complain(&format!("`{}` can't be made: {error}", escape::line(&folder)));
    }
    let mut written = Written::default();
    match Package::of(content) {
        Ok(package) => extract_package(&package, &name, args, &deadline, &mut written),
        Err(content) => {
            let folder = Folder {
                path: &args.output,
                prefix: "",
            };
            extract_file(&name, &content, folder, args, &deadline, &mut written);
        }
    }
    let mut exit = written.exit;
    exit = exit.worst(output::print(&written.list, anstream::ColorChoice::Never));
    if written.list.is_empty() && exit == Exit::Clean {
        exit = complain(&name, "no such image in the file");
    }
    exit
}

fn complain(name: &str, problem: &str) -> Exit {
    output::complain(&format!("`{}`: {}", escape::line(name), escape::line(problem)))
}

/// The files that were written, and how it went.
struct Written {
    /// The files, one a line.
    list: String,
    exit: Exit,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            list: String::new(),
            exit: Exit::Clean,
        }
    }
}

impl Written {
    fn complain(&mut self, name: &str, problem: &str) {
        self.exit = self.exit.worst(complain(name, problem));
    }
}

/// The folder that images are written to.
#[derive(Clone, Copy)]
struct Folder<'a> {
    path: &'a Path,
    /// Its path in that of the output, with a `/` at the end; empty for that itself.
    prefix: &'a str,
}

/// The message about what took longer than it may.
const TOO_LONG: &str = "it took longer than `--timeout` says, and the rest of it is not extracted";

/// Writes the images of a package's members.
fn extract_package(
    package: &Package,
    name: &str,
    args: &ExtractArgs,
    deadline: &Deadline,
    written: &mut Written,
) {
    let additional = Additional {
        mlir: super::worker::mlir_command().is_some(),
        ..Additional::default()
    };
    let members = package
        .members(
            name,
            &[],
            &Root::default(),
            additional,
            &Policy::default(),
            deadline,
        )
        .members;
    let mut folders = Folders::default();
    for member in members {
        let prefix = folders.of(&member);
        let (member_name, path) = (member.name.clone(), args.output.join(&prefix));
        match member.open(deadline) {
            Ok(content) => {
                let folder = Folder {
                    path: &path,
                    prefix: &format!("{prefix}/"),
                };
                extract_file(&member_name, &content, folder, args, deadline, written);
            }
            Err(Some(InputError { message, .. })) => written.complain(&member_name, &message),
            Err(None) => written.complain(&member_name, TOO_LONG),
        }
    }
    if let Some(change) = package.change() {
        written.complain(name, change);
    }
}

/// Folders for members, one each, whose names no member can lead out of the output with.
#[derive(Default)]
struct Folders {
    given: HashSet<String>,
}

impl Folders {
    /// The folder for a member: its path, with `_` for what some system takes for something else. The second member that would
    /// get the same folder gets it with a number.
    fn of(&mut self, member: &PackageMember) -> String {
        let parts = member.path.split(['/', '!']).map(|part| {
            let safe = |letter: char| match letter {
                '.' | '-' | '_' | '+' => letter,
                letter if letter.is_ascii_alphanumeric() => letter,
                _ => '_',
            };
            let part: String = part.chars().map(safe).take(MAX_FOLDER_LETTERS).collect();
            // Neither `.` nor `..`, and nothing that Windows drops the end of.
            match part.trim_end_matches('.') {
                "" => "_".to_owned(),
                trimmed => format!("{trimmed}{}", "_".repeat(part.len() - trimmed.len())),
            }
        });
        let folder = parts.collect::<Vec<String>>().join("/");
        // Some file systems do not distinguish upper and lower case.
        let mut candidate = folder.clone();
        let mut number = 1;
        while !self.given.insert(candidate.to_ascii_lowercase()) {
            number += 1;
            candidate = format!("{folder}~{number}");
        }
        candidate
    }
}

/// Longest part of the path of a folder. Systems refuse more than 255 bytes.
const MAX_FOLDER_LETTERS: usize = 200;

/// Writes the images of one file. The folder is made with the first.
fn extract_file(
    name: &str,
    bytes: &Content,
    folder: Folder<'_>,
    args: &ExtractArgs,
    deadline: &Deadline,
    written: &mut Written,
) {
    let is_late = || deadline.is_over();
    let contents = image::scan_with(name, bytes, &is_late, &|text| is_module(text, deadline));
    for error in &contents.errors {
        written.complain(name, &error.message);
    }
    let mut extraction = Extraction {
        args,
        deadline,
        folder,
        number: 0,
        left: allowance(bytes.len() as u64),
        written,
    };
    let siblings = SiblingPtx::of(&contents.images);
    let mut is_late = contents.is_late;
    for found in &contents.images {
        is_late |= deadline.is_over();
        if is_late {
            break;
        }
        extraction.image(found, &siblings);
    }
    if is_late {
        written.complain(name, TOO_LONG);
    }
    if let Some(what) = bytes.change() {
        written.complain(name, what);
    }
}

/// The images that are written, one after the other.
struct Extraction<'a> {
    args: &'a ExtractArgs,
    deadline: &'a Deadline,
    folder: Folder<'a>,
    /// Of the next image.
    number: usize,
    /// Bytes that may still be unpacked.
    left: u64,
    written: &'a mut Written,
}

impl Extraction<'_> {
    /// An image, and the PTX inside of it, if that counts as one.
    fn image(&mut self, found: &PackedImage<'_>, siblings: &SiblingPtx) {
        let number = self.number;
        self.number += 1;
        // Other images are skipped; they only count for the numbers of later ones.
        let is_wanted = self.wants(number, found.kind, &found.target);
        if !is_wanted && found.kind != ImageKind::Cubin {
            return;
        }
        let content = match self.unpacked(found) {
            Ok(content) => content,
            Err(problem) if is_wanted => return self.complain(number, &problem),
            Err(_) => return,
        };
        if is_wanted {
            let text = match found.kind {
                ImageKind::Ptx if found.container.is_some() => Ok(Cow::Borrowed(without_padding(&content))),
                ImageKind::Mlir => self.mlir(&content),
                _ => Ok(Cow::Borrowed(&*content)),
            };
            match text {
                Ok(text) => self.write(number, found.kind, &found.target, &text),
                Err(problem) => self.complain(number, &problem),
            }
        }
        if found.kind != ImageKind::Cubin {
            return;
        }
        let Ok(cubin) = cubin::read(&content) else { return };
        let target = if found.target.is_empty() {
            &cubin.target
        } else {
            &found.target
        };
        if siblings.has(found.container, target) {
            return;
        }
        for text in &cubin.ptx {
            let number = self.number;
            self.number += 1;
            if self.wants(number, ImageKind::Ptx, target) {
                self.write(number, ImageKind::Ptx, target, text);
            }
        }
    }

    /// True if the options ask for an image of this number, kind and target. The target of an image that is a file of its own lies in
    /// it: such an image is the only one.
    fn wants(&self, number: usize, kind: ImageKind, target: &str) -> bool {
        let args = self.args;
        let is_target = |wanted: &String| {
            target.is_empty() || target.strip_prefix("sm_").unwrap_or(target) == wanted.as_str()
        };
        args.kind.is_none_or(|wanted| wanted.is(kind))
            && args.index.is_none_or(|wanted| wanted == number)
            && args.target.as_ref().is_none_or(is_target)
    }

    /// The text of MLIR, which is printed if it is bytecode.
    fn mlir<'f>(&self, bytes: &'f [u8]) -> Result<Cow<'f, [u8]>, String> {
        let settings = Settings {
            mlir_worker: super::worker::mlir_command(),
            ..Settings::default()
        };
        mlir::text(bytes, &settings, self.deadline).map_err(|error| {
            if self.deadline.is_over() {
                TOO_LONG.to_owned()
            } else {
                error.message
            }
        })
    }

    fn unpacked<'f>(&mut self, found: &PackedImage<'f>) -> Result<Unpacked<'f>, String> {
        let unpacked = unpack(found.compression, found.payload, found.unpacked);
        let content = unpacked.map_err(|refusal| refusal.to_string())?;
        if !matches!(content, Unpacked::InPlace(_)) {
            self.left = self
                .left
                .checked_sub(content.len() as u64)
                .ok_or("the images of this file unpack to more than is allowed for its size")?;
        }
        Ok(content)
    }

    /// Writes one image, and notes its file.
    fn write(&mut self, number: usize, kind: ImageKind, target: &str, content: &[u8]) {
        // The target comes from the file: a number and a letter, but for clang's bundles.
        let target: String = target
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
            .take(MAX_TARGET_LETTERS)
            .collect();
        let ending = match kind {
            ImageKind::Ptx => "ptx",
            ImageKind::Cubin => "cubin",
            ImageKind::LtoIr => "ltoir",
            ImageKind::LlvmIr => "bc",
            ImageKind::Mlir => "mlir",
            ImageKind::Bundle | ImageKind::Other => "bin",
        };
        let parts = [format!("{number:05}"), target, ending.to_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let file = parts.join(".");
        let made = fs::create_dir_all(self.folder.path);
        match made.and_then(|()| fs::write(self.folder.path.join(&file), content)) {
            Ok(()) => {
                let _ = writeln!(self.written.list, "{}{file}", self.folder.prefix);
            }
            Err(error) => self.complain(number, &format!("`{file}` could not be written: {error}")),
        }
    }

    fn complain(&mut self, number: usize, problem: &str) {
        let said = output::complain(&format!("image {number}: {}", escape::line(problem)));
        self.written.exit = self.written.exit.worst(said);
    }
}

/// Longest target in the name of a file. Systems refuse names of more than 255 bytes.
const MAX_TARGET_LETTERS: usize = 64;

/// Texts in fat binaries end with NULs.
fn without_padding(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    &text[..end]
}

impl ExtractKind {
    fn is(self, kind: ImageKind) -> bool {
        match self {
            Self::Ptx => kind == ImageKind::Ptx,
            Self::Cubin => kind == ImageKind::Cubin,
            Self::LtoIr => kind == ImageKind::LtoIr,
            Self::LlvmIr => kind == ImageKind::LlvmIr,
        }
    }
}
