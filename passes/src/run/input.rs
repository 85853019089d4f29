//! The way of one input, from its bytes to the images in it.
//!
//! ```text
//! open ─► find images ─► recompile what has no PTX ─► unpack and read each image ─► ScannedInput
//!                                                       its text ─► TextCache
//! ```

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::bytes::Bytes;
use super::image::ImageScanner;
use super::module::is_module;
use super::problem::{out_of_time, panic};
use super::recompiled::Recompiled;
use super::scanned::{ImagePair, ScannedInput};
use super::text_cache::TextCache;
use super::unpack;
use crate::deadline::Deadline;
use crate::image::{self, Contents, FileFormat, InputError};
use crate::inventory::is_read;
use crate::rule::ProblemKind;
use crate::settings::Settings;

/// A file, or bytes, to check.
#[derive(Debug)]
pub struct Input {
    /// The name to show, as the user gave it (`-` for standard input).
    pub name: String,
    /// The source of its bytes.
    pub bytes: Bytes,
}

/// Opens the input with this index, finds its images, and reads each of them. Texts are analysed on the way, each where it comes
/// up first in the run, but for those that are linked with other inputs: `texts` keeps them until all inputs have been scanned.
///
/// Whatever goes wrong, a panic included, is an error of this input.
pub(super) fn scan(index: usize, input: Input, settings: &Settings, texts: &TextCache) -> ScannedInput {
    let Input { name, bytes } = input;
    let deadline = Deadline::after(settings.timeout);
    let path = bytes.path().map(ToOwned::to_owned);
    let content = match guarded(|| bytes.open(&name, settings, &deadline)) {
        Ok(content) => content,
        Err(error) => return ScannedInput::refused(name, error),
    };
    let scanner = ImageScanner {
        input: index,
        settings,
        deadline: &deadline,
        texts,
        is_mapped: content.is_mapped(),
    };
    let scanned = guarded(|| {
        let mut contents = find_images(&name, &content, &deadline)?;
        let recompiled = Recompiled::of(&name, path.as_deref(), &contents.images, settings);
        contents.images.retain(|image| !recompiled.replaces(image));
        let pairs = unpack::scan_all(&contents.images, content.len() as u64, &scanner);
        let mut errors = contents.errors;
        errors.extend(out_of_time_before(&pairs, contents.is_late, settings));
        let mut images = recompiled.in_order(&contents.images, pairs);
        images.extend(recompiled.scan(&scanner));
        Ok(ScannedInput {
            name: name.clone(),
            images,
            host: contents.host,
            errors,
            is_refused: false,
        })
    });
    // Nothing counts that was read from bytes that changed meanwhile, nor a panic over them.
    let scanned = match content.change() {
        Some(change) => Err(InputError::new(ProblemKind::Unreadable, change)),
        None => scanned,
    };
    scanned.unwrap_or_else(|error| ScannedInput::refused(name, error))
}

/// Runs `work`, whose panic is an error as well.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, InputError>) -> Result<T, InputError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panic(payload.as_ref())))
}

/// The images of a file, still packed; an error if the file holds nothing that this release reads.
fn find_images<'a>(name: &str, bytes: &'a [u8], deadline: &Deadline) -> Result<Contents<'a>, InputError> {
    let is_late = || deadline.is_over();
    let mut contents = image::scan_with(name, bytes, &is_late, &|text| is_module(text, deadline));
    let is_ir = matches!(contents.format, FileFormat::LlvmText | FileFormat::LlvmBitcode);
    if is_ir {
        contents.images.retain(|image| is_read(image.kind));
    }
    if contents.is_late || !contents.images.is_empty() || !contents.errors.is_empty() {
        return Ok(contents);
    }
    let message = match contents.format {
        _ if is_ir => format!(
            "it is {}; this release reads PTX and what holds PTX",
            contents.format.describe()
        ),
        FileFormat::Unknown => "it holds no device code that this release reads".to_owned(),
        _ => return Ok(contents),
    };
    Err(InputError::new(ProblemKind::Unreadable, message))
}

/// The error of a file whose time was over before all of it had been searched (`is_late`) or all of its images read.
fn out_of_time_before(images: &[ImagePair], is_late: bool, settings: &Settings) -> Option<InputError> {
    let unread = images.iter().filter(|(image, _)| image.is_out_of_time).count();
    if !is_late && unread == 0 {
        return None;
    }
    let mut error = out_of_time(settings);
    if unread > 0 {
        let _ = write!(
            error.message,
            ": {unread} of {} images were not looked at",
            images.len()
        );
    }
    Some(error)
}
