//! The way of the content of an input, or of a member of a package, to the images in it.
//!
//! ```text
//! find images ─► recompile what has no PTX ─► unpack and read each image ─► ScannedInput
//!                                               its text ─► TextCache
//! ```

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::host_launches::ShownLaunches;
use super::image::ImageScanner;
use super::mlir;
use super::module::is_module;
use super::problem::{out_of_time, panic};
use super::recompiled::Recompiled;
use super::scanned::{ImagePair, ScannedInput};
use super::text_cache::{Place, TextCache};
use super::unpack;
use crate::deadline::Deadline;
use crate::image::{self, Content, Contents, FileFormat, InputError, PackedImage};
use crate::inventory::{ExportedSymbol, ImageKind, is_read};
use crate::limits::{MAX_EXPORTED_SYMBOLS, MAX_VARIANT_FILE_BYTES};
use crate::patterns::Pattern;
use crate::rule::ProblemKind;
use crate::settings::Settings;
use crate::variants::{MetadataName, VariantMetadata};
use crate::{names, shown};

/// Finds the images in the content of an input, which is a file at `path` or none, and reads each of them.
pub(super) fn scan_content(
    place: Place,
    name: String,
    path: Option<&Path>,
    content: &Content,
    deadline: &Deadline,
    settings: &Settings,
    texts: &TextCache,
) -> ScannedInput {
    let scanner = ImageScanner {
        input: place,
        settings,
        shown: &ShownLaunches::default(),
        deadline,
        texts,
        is_mapped: content.is_mapped(),
    };
    let scanned = catch_panic(|| {
        if settings.policy.check_variants && MetadataName::of(&name).is_some() {
            return scan_variant_metadata(&name, content);
        }
        let mut contents = find_images(&name, content, deadline)?;
        if let Some(mlir) = contents.images.iter().find(|image| image.kind == ImageKind::Mlir) {
            return Ok(ScannedInput {
                images: mlir::scan(mlir, &scanner)?,
                ..ScannedInput::without_device_code(name.clone())
            });
        }
        let is_text = |image: &PackedImage<'_>| matches!(image.kind, ImageKind::Ptx | ImageKind::LlvmIr);
        let has_text = settings.recompile.is_some() || contents.images.iter().any(is_text);
        let shown = if has_text && contents.host.is_some() && !settings.images_only {
            ShownLaunches::of(&name, content, settings, texts, deadline)
        } else {
            ShownLaunches::default()
        };
        let scanner = ImageScanner {
            shown: &shown,
            ..scanner
        };
        let recompiled = Recompiled::of(&name, path, &contents.images, settings);
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
            exported: unwanted_exports(content, settings),
            variants: None,
            contents: None,
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

/// The metadata of wheel variants in a file that is for them.
fn scan_variant_metadata(name: &str, bytes: &[u8]) -> Result<ScannedInput, InputError> {
    if bytes.len() > MAX_VARIANT_FILE_BYTES {
        let message = format!("metadata of more than {MAX_VARIANT_FILE_BYTES} bytes are not read");
        return Err(InputError::new(ProblemKind::Limit, message));
    }
    let metadata = VariantMetadata::parse(bytes)
        .map_err(|unknown| InputError::new(ProblemKind::Unreadable, unknown.to_string()))?;
    Ok(ScannedInput {
        variants: Some(metadata),
        ..ScannedInput::without_device_code(name.to_owned())
    })
}

/// The symbols that a file exports and that the policy wants hidden, sorted.
fn unwanted_exports(bytes: &[u8], settings: &Settings) -> Vec<ExportedSymbol> {
    let patterns = &settings.policy.hidden_symbols;
    let mut found = Vec::new();
    if patterns.is_empty() {
        return found;
    }
    image::exports(bytes, |name| {
        let name = shown::name(name);
        let spellings = names::spellings(&name);
        let fits = |pattern: &Pattern| spellings.iter().any(|spelling| pattern.fits(spelling));
        if found.len() < MAX_EXPORTED_SYMBOLS
            && let Some(pattern) = patterns.iter().position(fits)
        {
            found.push(ExportedSymbol {
                pattern,
                name: name.into_owned(),
            });
        }
    });
    found.sort();
    found.dedup();
    found
}

/// Runs `work`, whose panic is an error as well.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T, InputError>) -> Result<T, InputError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panic(payload.as_ref())))
}

/// The images of a file, still packed; an error if the file holds nothing that this release reads.
fn find_images<'a>(name: &str, bytes: &'a [u8], deadline: &Deadline) -> Result<Contents<'a>, InputError> {
    let is_late = || deadline.is_over();
    let mut contents = image::scan_with(name, bytes, &is_late, &|text| is_module(text, deadline));
    let is_ir = matches!(
        contents.format,
        FileFormat::LlvmText | FileFormat::LlvmBitcode | FileFormat::Mlir
    );
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
