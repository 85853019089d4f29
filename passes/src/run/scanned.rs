//! An input and its images after the scan. The findings about their texts are in the `TextCache`.

use std::sync::Arc;

use super::text_cache::TextKey;
use crate::image::{InputError, PackedImage};
use crate::inventory::{ExportedSymbol, Facts, Host, ImageReport, PolicyContents};
use crate::variants::VariantMetadata;

/// An input whose images have been read.
pub(super) struct ScannedInput {
    pub(super) name: String,
    pub(super) images: Vec<ScannedImage>,
    pub(super) host: Option<Host>,
    pub(super) errors: Vec<InputError>,
    /// The symbols that it exports and that the policy wants hidden.
    pub(super) exported: Vec<ExportedSymbol>,
    /// Its metadata about wheel variants.
    pub(super) variants: Option<VariantMetadata>,
    /// The files that the policy does not allow.
    pub(super) contents: Option<PolicyContents>,
    /// None of it was read: it holds no device code, or nothing that this release reads.
    pub(super) is_refused: bool,
}

impl ScannedInput {
    /// An input that is not read, for this reason.
    pub(super) fn refused(name: String, error: InputError) -> Self {
        Self {
            name,
            images: Vec::new(),
            host: None,
            errors: vec![error],
            exported: Vec::new(),
            variants: None,
            contents: None,
            is_refused: true,
        }
    }

    /// An input that holds no device code.
    pub(super) const fn without_device_code(name: String) -> Self {
        Self {
            name,
            images: Vec::new(),
            host: None,
            errors: Vec::new(),
            exported: Vec::new(),
            variants: None,
            contents: None,
            is_refused: false,
        }
    }
}

/// An image, and the PTX inside it if it is machine code with some.
pub(super) type ImagePair = (ScannedImage, Vec<ScannedImage>);

/// An image that has been read, as far as it could be.
pub(super) struct ScannedImage {
    pub(super) report: ImageReport,
    /// The key of its text in the `TextCache`, if it is PTX or LLVM IR.
    pub(super) text: Option<TextKey>,
    pub(super) error: Option<InputError>,
    /// The time of its input was over before its turn came.
    pub(super) is_out_of_time: bool,
}

impl ScannedImage {
    /// An image of which only the data in its file are known.
    pub(super) fn unread(image: &PackedImage<'_>) -> Self {
        Self {
            report: ImageReport::unread(image),
            text: None,
            error: None,
            is_out_of_time: false,
        }
    }

    /// An image that can't be read, for this reason.
    pub(super) fn failed(image: &PackedImage<'_>, error: InputError) -> Self {
        Self {
            error: Some(error),
            ..Self::unread(image)
        }
    }

    /// Records what the code of the image declares.
    pub(super) fn declare(&mut self, facts: Arc<Facts>) {
        self.report.kernels = facts.kernels.len() as u32;
        self.report.functions = facts.functions;
        self.report.is_debug |= facts.is_debug;
        self.report.facts = facts;
    }
}
