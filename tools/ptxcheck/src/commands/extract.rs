//! `ptxcheck extract`: the images of a file, unpacked, as files. Each has the number that the other commands give it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::image::decompress::{Unpacked, allowance, unpack};
use ptxcheck_passes::image::embedded::SiblingPtx;
use ptxcheck_passes::image::{self, Content, PackedImage, cubin};
use ptxcheck_passes::inventory::ImageKind;
use ptxcheck_passes::run::is_module;
use ptxcheck_passes::shown;
use ptxcheck_report::escape;

use crate::args::{ExtractArgs, ExtractKind};
use crate::exit::Exit;
use crate::output;

/// Writes the images out and lists them.
#[must_use]
pub fn run(args: &ExtractArgs) -> Exit {
    let name = shown::path(args.file.as_os_str());
    let complain =
        |problem: &str| output::complain(&format!("`{}`: {}", escape::line(&name), escape::line(problem)));
    let deadline = Deadline::after(args.timeout);
    let opened = match args.file.as_os_str().to_str() {
        Some("-") => Content::standard_input(&deadline),
        _ => Content::open(&args.file, &deadline),
    };
    let bytes = match opened {
        Ok(bytes) => bytes,
        Err(unread) => return complain(&unread.to_string()),
    };
    if let Err(error) = fs::create_dir_all(&args.output) {
        let folder = args.output.to_string_lossy();
        return output::complain(&format!("`{}` can't be made: {error}", escape::line(&folder)));
    }
    let is_late = || deadline.is_over();
    let contents = image::scan_with(&name, &bytes, &is_late, &|text| is_module(text, &deadline));
    let mut exit = Exit::Clean;
    for error in &contents.errors {
        exit = exit.worst(complain(&error.message));
    }
    let mut extraction = Extraction {
        kind: args.kind,
        folder: &args.output,
        number: 0,
        left: allowance(bytes.len() as u64),
        list: String::new(),
        exit,
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
    let mut exit = extraction.exit;
    if is_late {
        exit = exit.worst(complain(
            "it took longer than `--timeout` says, and the rest of it is not extracted",
        ));
    }
    if let Some(what) = bytes.change() {
        exit = exit.worst(complain(what));
    }
    exit = exit.worst(output::print(&extraction.list, anstream::ColorChoice::Never));
    if extraction.list.is_empty() && exit == Exit::Clean {
        exit = complain("no such image in the file");
    }
    exit
}

/// The images that are written, one after the other.
struct Extraction<'a> {
    kind: Option<ExtractKind>,
    folder: &'a Path,
    /// Of the next image.
    number: usize,
    /// Bytes that may still be unpacked.
    left: u64,
    /// The files, one a line.
    list: String,
    exit: Exit,
}

impl Extraction<'_> {
    /// An image, and the PTX inside of it, if that counts as one.
    fn image(&mut self, found: &PackedImage<'_>, siblings: &SiblingPtx) {
        let number = self.number;
        self.number += 1;
        let wants = |kind| self.kind.is_none_or(|wanted| wanted.is(kind));
        // Other images are not looked at, but for the numbers of those behind them.
        if !wants(found.kind) && found.kind != ImageKind::Cubin {
            return;
        }
        let (is_wanted, wants_ptx) = (wants(found.kind), wants(ImageKind::Ptx));
        let content = match self.unpacked(found) {
            Ok(content) => content,
            Err(problem) if is_wanted => return self.complain(number, &problem),
            Err(_) => return,
        };
        if is_wanted {
            let content = match found.kind {
                ImageKind::Ptx if found.container.is_some() => without_padding(&content),
                _ => &content,
            };
            self.write(number, found.kind, &found.target, content);
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
        if let Some(text) = cubin.ptx.filter(|_| !siblings.has(found.container, target)) {
            let number = self.number;
            self.number += 1;
            if wants_ptx {
                self.write(number, ImageKind::Ptx, target, &text);
            }
        }
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
            ImageKind::Bundle | ImageKind::Other => "bin",
        };
        let parts = [format!("{number:05}"), target, ending.to_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let file = parts.join(".");
        match fs::write(self.folder.join(&file), content) {
            Ok(()) => {
                let _ = writeln!(self.list, "{file}");
            }
            Err(error) => self.complain(number, &format!("`{file}` could not be written: {error}")),
        }
    }

    fn complain(&mut self, number: usize, problem: &str) {
        let said = output::complain(&format!("image {number}: {}", escape::line(problem)));
        self.exit = self.exit.worst(said);
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
