//! MLIR: converted by a worker of its own to one image for each module of kernels, whose LLVM bitcode is analysed like any other.
//!
//! ```text
//! text ─► parts ─► worker ─► gpu.module: bitcode ─► text_cache.rs ─► places.rs: its findings, with places in the text
//!                         └► gpu.binary: objects, read as the images that they are
//! ```

mod objects;
mod places;

use std::borrow::Cow;
use std::fmt::Write as _;

use ptxcheck_frontend_mlir::message::{Answer, Content, Converted, Diagnostic, Launched};
use ptxcheck_frontend_mlir::{MAX_DEPTH, Text, bytecode, compiler_of, parts, too_deep};

use super::image::ImageScanner;
use super::problem::TextPlace;
use super::scanned::ScannedImage;
use super::text::{TextOptions, TextReport, analyse_ir};
use super::text_cache::TextKey;
use crate::comments::{self, Comment};
use crate::image::{InputError, PackedImage};
use crate::ir::Origin as _;
use crate::launches::Launches;
use crate::rule::ProblemKind;
use crate::settings::{IrReader, Settings};
use crate::worker::{message_about_missing_worker, mlir as converter};
use objects::Object;
use places::Places;

/// Reads a file of MLIR, which is one image: one for each module of kernels in it. None where it has no kernels.
///
/// # Errors
///
/// All of it could not be read.
pub(super) fn scan(
    file: &PackedImage<'_>,
    scanner: &ImageScanner<'_>,
) -> Result<Vec<ScannedImage>, InputError> {
    let settings = scanner.settings;
    if settings.mlir_worker.is_some() && matches!(settings.ir_reader, IrReader::Missing) {
        return Err(InputError::new(
            ProblemKind::Unreadable,
            message_about_missing_worker("it is MLIR, which becomes LLVM IR"),
        ));
    }
    let mut images = Images {
        file,
        scanner,
        digest: scanner.texts.digest(file.payload),
        text: None,
        comments: Vec::new(),
        found: Vec::new(),
        number: 0,
        others: Vec::new(),
    };
    if bytecode::is_bytecode(file.payload) {
        images.read_bytecode()?;
    } else {
        images.read_text()?;
    }
    match images.others.as_slice() {
        [] => {}
        [other, ..] if images.found.is_empty() => {
            return Err(InputError::new(
                ProblemKind::Unreadable,
                format!("it is MLIR for {other}, which is not read: give that of a build for NVIDIA's GPUs"),
            ));
        }
        _ => {}
    }
    Ok(images.found)
}

/// The images of a file.
struct Images<'i> {
    file: &'i PackedImage<'i>,
    scanner: &'i ImageScanner<'i>,
    digest: u128,
    /// The text of the file; `None` for bytecode.
    text: Option<Text<'i>>,
    comments: Vec<Comment>,
    found: Vec<ScannedImage>,
    /// Number of the next module or container.
    number: u32,
    /// The GPUs of the modules that are not for NVIDIA's.
    others: Vec<String>,
}

/// A part of a file that has been read.
struct Part<'p> {
    places: Option<Places<'p>>,
    lines_before: u32,
    modules: Vec<Converted>,
}

impl<'i> Images<'i> {
    fn read_bytecode(&mut self) -> Result<(), InputError> {
        let ImageScanner {
            settings,
            deadline,
            texts,
            ..
        } = self.scanner;
        let (modules, text) =
            converter::convert_bytecode(self.file.payload, settings, &texts.mlir, deadline)?;
        let places = text.as_deref().map(|printed| Places::of(printed, 0));
        self.add_part(&Part {
            places,
            lines_before: 0,
            modules,
        });
        Ok(())
    }

    fn read_text(&mut self) -> Result<(), InputError> {
        let bytes = self.file.payload;
        self.text = Some(Text::new(bytes));
        if self.scanner.settings.reads_comments {
            self.comments = comments::of_module(bytes);
        }
        if let Some(offset) = too_deep(bytes) {
            let place = self.text.as_ref().and_then(|text| {
                let at = text.position(u32::try_from(offset).ok()?)?;
                Some((at.line, at.column))
            });
            let (line, column) = place.unwrap_or_default();
            let message = format!("its brackets go deeper than {MAX_DEPTH}");
            self.add_failed_image(
                ProblemKind::Limit,
                "",
                &Diagnostic {
                    message,
                    line,
                    column,
                },
            );
            return Ok(());
        }
        let ImageScanner {
            settings,
            deadline,
            texts,
            ..
        } = self.scanner;
        for part in parts(bytes) {
            let answer = match converter::convert(part.text, settings, &texts.mlir, deadline) {
                Ok(answer) => answer,
                // Without the program no part is read.
                Err(error) if error.kind == ProblemKind::Unreadable => return Err(error),
                Err(InputError { kind, message }) => {
                    let said = Diagnostic {
                        message,
                        ..Diagnostic::default()
                    };
                    self.add_failed_image(kind, "", &said);
                    continue;
                }
            };
            match answer {
                Answer::Read { modules, .. } => self.add_part(&Part {
                    places: Some(Places::of(part.text, part.lines_before)),
                    lines_before: part.lines_before,
                    modules,
                }),
                Answer::Malformed(said) => {
                    let said = with_line_in_file(said, part.lines_before);
                    self.add_failed_image(ProblemKind::Syntax, "", &said);
                }
                Answer::Late => {}
            }
        }
        Ok(())
    }

    /// Adds the images of a part.
    fn add_part(&mut self, part: &Part<'_>) {
        let lines: Vec<u32> = part.modules.iter().map(|module| module.line).collect();
        for module in &part.modules {
            match &module.content {
                Content::Bitcode(bitcode) => {
                    let (first, last) = lines_of(module.line, &lines, part.lines_before);
                    self.add_module(module, bitcode, part, first..last);
                }
                Content::Object(bytes) => self.add_object(module, bytes, part.lines_before),
                Content::OtherTarget(other) => self.others.push(other.clone()),
                Content::Failed(said) => {
                    let mut said = with_line_in_file(said.clone(), part.lines_before);
                    // Bytecode has no lines of its own.
                    let behind = part.places.as_ref().filter(|_| self.text.is_none());
                    if let Some(at) = behind.and_then(|places| places.position(said.line, said.column)) {
                        let _ = write!(said.message, ", at {at}");
                    }
                    self.add_failed_image(ProblemKind::Unreadable, &module.name, &said);
                }
            }
        }
    }

    /// An image without a text, called so.
    fn image(&self, name: &str) -> ScannedImage {
        let mut image = ScannedImage::unread(self.file);
        image.report.section = Some(name.to_owned()).filter(|name| !name.is_empty());
        image
    }

    /// The key of the next module of the file.
    fn key(&mut self) -> TextKey {
        let bytes = [self.digest.to_le_bytes().as_slice(), &self.number.to_le_bytes()].concat();
        self.number += 1;
        TextKey {
            digest: self.scanner.texts.digest(&bytes),
            with_weak: false,
            is_linked: false,
            launches: 0,
        }
    }

    /// Adds a module whose bitcode is analysed. `lines`: those of the text whose comments are for it.
    fn add_module(
        &mut self,
        module: &Converted,
        bitcode: &[u8],
        part: &Part<'_>,
        lines: std::ops::Range<u32>,
    ) {
        let mut image = self.image(&module.name);
        let key = self.key();
        if self.scanner.claim(&mut image, key) {
            let settings = with_launches(self.scanner.settings, &module.launches);
            let mut report = analyse_ir(
                bitcode,
                &self.scanner.texts.llvm,
                TextOptions {
                    settings: &settings,
                    ..self.scanner.text_options(None, false)
                },
            );
            if let Some(places) = &part.places {
                places.apply(&mut report, self.text.as_ref());
            }
            let comments = self.comments.iter();
            report.comments = comments
                .filter(|comment| lines.contains(&comment.written.0))
                .cloned()
                .collect();
            self.scanner.texts.insert(key, report);
        }
        self.found.push(image);
    }

    /// Adds an image that MLIR could not read or lower: `said` is its message.
    fn add_failed_image(&mut self, kind: ProblemKind, name: &str, said: &Diagnostic) {
        let mut message = match kind {
            ProblemKind::Limit | ProblemKind::Internal => said.message.clone(),
            _ if name.is_empty() => format!("MLIR cannot read it: {}", said.message),
            _ => format!("MLIR cannot lower `{name}`: {}", said.message),
        };
        if let Some(compiler) = compiler_of(&said.message) {
            let _ = write!(
                message,
                "; it is in a dialect of {}: {}",
                compiler.name, compiler.instead
            );
        }
        self.add_problem_image(kind, name, &Diagnostic { message, ..*said });
    }

    /// Adds an image that could not be read, for this reason.
    fn add_problem_image(&mut self, kind: ProblemKind, name: &str, said: &Diagnostic) {
        let mut image = self.image(name);
        let key = self.key();
        if self.scanner.claim(&mut image, key) {
            let span = self
                .text
                .as_ref()
                .and_then(|text| text.span(said.line, said.column));
            let place = span
                .zip(self.text.as_ref())
                .map(|(span, origin)| TextPlace { span, origin });
            let settings: &Settings = self.scanner.settings;
            self.scanner.texts.insert(
                key,
                TextReport::failed_at(InputError::new(kind, said.message.clone()), settings, place),
            );
        }
        self.found.push(image);
    }

    /// Adds the images in an object of a `gpu.binary`.
    fn add_object(&mut self, module: &Converted, bytes: &[u8], lines_before: u32) {
        let Object { images, errors } = Object::scan(&module.name, module.number, bytes, self.scanner);
        self.found.extend(images);
        for InputError { kind, message } in errors {
            let said = Diagnostic {
                message,
                line: module.line,
                column: 0,
            };
            self.add_problem_image(kind, &module.name, &with_line_in_file(said, lines_before));
        }
    }
}

/// The settings, with the launches of the file: a launch without a constant size gives no shape, and then the other launches give none
/// either.
fn with_launches<'s>(settings: &'s Settings, launches: &[Launched]) -> Cow<'s, Settings> {
    let known: Vec<_> = launches
        .iter()
        .filter(|launched| !launched.blocks.is_empty())
        .map(|launched| (launched.kernel.clone(), launched.blocks.clone()))
        .collect();
    if known.is_empty() {
        return Cow::Borrowed(settings);
    }
    let launches = Launches {
        launched: known,
        ..settings.launches.clone()
    };
    Cow::Owned(Settings {
        launches,
        ..settings.clone()
    })
}

/// A message with its line in the file.
fn with_line_in_file(said: Diagnostic, lines_before: u32) -> Diagnostic {
    let line = if said.line == 0 {
        0
    } else {
        said.line.saturating_add(lines_before)
    };
    Diagnostic { line, ..said }
}

/// The lines from a module that begins at `line` to the next one, in the file; the first module has those before it, too.
fn lines_of(line: u32, all: &[u32], lines_before: u32) -> (u32, u32) {
    let next = all.iter().copied().filter(|other| *other > line).min();
    let is_first = all.iter().all(|other| *other >= line);
    let first = if is_first { 0 } else { line };
    let of_file = |line: u32| line.saturating_add(lines_before);
    (of_file(first), next.map_or(u32::MAX, of_file))
}
