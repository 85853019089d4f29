//! PTX that a compiler makes of the sources of an input, for code that the input has in other forms only.

use std::path::Path;

use super::image::ImageScanner;
use super::scanned::{ImagePair, ScannedImage};
use crate::deadline::Deadline;
use crate::image::PackedImage;
use crate::image::embedded::SiblingPtx;
use crate::inventory::{ImageKind, Role};
use crate::recompile::{self, Architecture};
use crate::settings::Settings;

/// The texts that were made for an input, one for each architecture at most.
pub(super) struct Recompiled {
    texts: Vec<recompile::Text>,
    /// The input's code is linked with that of others.
    is_linked: bool,
}

impl Recompiled {
    /// Has the compiler of the settings make PTX for the architectures of a file with these images. None without a compiler.
    pub(super) fn of(
        name: &str,
        path: Option<&Path>,
        images: &[PackedImage<'_>],
        settings: &Settings,
    ) -> Self {
        let mut recompiled = Self {
            texts: Vec::new(),
            is_linked: images.iter().any(|image| image.role.is_linked()),
        };
        let Some(compiler) = settings.recompile.as_ref().filter(|_| !settings.images_only) else {
            return recompiled;
        };
        if let Some(object) = recompile::Object::of_images(name, path, images) {
            recompiled.texts = compiler.recompile(&object);
        }
        recompiled
    }

    /// True if a text is analysed in place of this image of the file.
    pub(super) fn replaces(&self, image: &PackedImage<'_>) -> bool {
        let is_replacement = |text: &recompile::Text| {
            text.replaces && text.architecture == Architecture::of_target(&image.target)
        };
        image.kind == ImageKind::Ptx && self.texts.iter().any(is_replacement)
    }

    /// The images of the file in their order, with the PTX inside machine code after it unless the file has that PTX beside the machine
    /// code, or a text was made for it.
    pub(super) fn in_order(&self, packed: &[PackedImage<'_>], pairs: Vec<ImagePair>) -> Vec<ScannedImage> {
        let siblings = SiblingPtx::of(packed);
        let mut images = Vec::with_capacity(pairs.len());
        for (image, embedded) in pairs {
            let report = &image.report;
            let architecture = Architecture::of_machine_code(&report.target, report.virtual_number);
            let counts = !siblings.has(report.container, &report.target)
                && self.texts.iter().all(|text| text.architecture != architecture);
            images.push(image);
            images.extend(embedded.into_iter().filter(|_| counts));
        }
        images
    }

    /// The texts as images of the input. The time that the compiler took does not count: each has the time of an input.
    pub(super) fn scan(self, scanner: &ImageScanner<'_>) -> impl Iterator<Item = ScannedImage> {
        self.texts.into_iter().map(move |text| {
            let deadline = Deadline::after(scanner.settings.timeout);
            let scanner = ImageScanner {
                deadline: &deadline,
                ..*scanner
            };
            let packed = PackedImage::made(&text.ptx, format!("sm_{}", text.architecture));
            let mut image = ScannedImage::unread(&packed);
            image.report.role = Role::Recompiled;
            scanner.add_ptx(&mut image, &text.ptx, self.is_linked);
            image
        })
    }
}
