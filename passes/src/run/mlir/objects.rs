//! The objects of a `gpu.binary`: PTX, LLVM IR, machine code or fat binaries, read as they are in files.

use super::super::image::ImageScanner;
use super::super::problem::out_of_time;
use super::super::scanned::ScannedImage;
use super::super::unpack;
use crate::image::{self, InputError};
use crate::inventory::ImageKind;
use crate::rule::ProblemKind;

/// The images of an object, and its errors.
pub(super) struct Object {
    pub(super) images: Vec<ScannedImage>,
    pub(super) errors: Vec<InputError>,
}

impl Object {
    /// Reads an object of the operation called `name`. The objects of one operation are for the driver to choose from, as the images
    /// of a fat binary are: `container` is the operation's number.
    pub(super) fn scan(name: &str, container: u32, bytes: &[u8], scanner: &ImageScanner<'_>) -> Self {
        let is_late = || scanner.deadline.is_over();
        let mut contents = image::scan(name, bytes, &is_late);
        // MLIR has no MLIR in it.
        contents.images.retain(|image| image.kind != ImageKind::Mlir);
        for image in &mut contents.images {
            image.container.get_or_insert(container);
            image.section = Some(name.to_owned());
        }
        let mut errors = contents.errors;
        if contents.is_late {
            errors.push(out_of_time(scanner.settings));
        } else if contents.images.is_empty() && errors.is_empty() {
            errors.push(InputError::new(
                ProblemKind::Unreadable,
                format!("an object of `{name}` holds no PTX, LLVM IR or machine code"),
            ));
        }
        let pairs = unpack::scan_all(&contents.images, bytes.len() as u64, scanner);
        let images = pairs
            .into_iter()
            .flat_map(|(image, embedded)| std::iter::once(image).chain(embedded))
            .collect();
        Self { images, errors }
    }
}
