//! All images of a file, in parallel, within bounds of memory.

use rayon::prelude::*;

use super::image::ImageScanner;
use super::scanned::{ImagePair, ScannedImage};
use crate::image::decompress;
use crate::image::{Compression, InputError, PackedImage};
use crate::rule::ProblemKind;
use ptxcheck_images::{LARGE_IMAGE_BYTES, MAX_IMAGE_BYTES};

/// Reads the images of a file of so many bytes: small ones in parallel, and beside them large ones one by one, so that memory stays
/// within one large image and a small one for each thread. In the order of `images`.
pub(super) fn scan_all(
    images: &[PackedImage<'_>],
    file_bytes: u64,
    scanner: &ImageScanner<'_>,
) -> Vec<ImagePair> {
    let allowance = decompress::allowance(file_bytes);
    let sizes: Vec<u64> = images.iter().map(claimed_size).collect();
    let is_allowed = within(allowance, &sizes);
    let scan = |index: usize| {
        if is_allowed[index] {
            return scanner.scan(&images[index]);
        }
        let message = format!("the images of this file unpack to more than {allowance} bytes");
        let error = InputError::new(ProblemKind::Limit, message);
        (ScannedImage::failed(&images[index], error), Vec::new())
    };
    let is_large = |index: usize| sizes[index] > LARGE_IMAGE_BYTES;
    let (large, small) = rayon::join(
        || {
            let indices = (0..images.len()).filter(|index| is_large(*index));
            let large: Vec<ImagePair> = indices.map(scan).collect();
            decompress::tidy();
            large
        },
        || -> Vec<Option<ImagePair>> {
            let indices = (0..images.len()).into_par_iter();
            indices
                .map(|index| (!is_large(index)).then(|| scan(index)))
                .collect()
        },
    );
    let mut large = large.into_iter();
    let merged = small.into_iter().map(|small| small.or_else(|| large.next()));
    merged.flatten().collect()
}

/// Bytes that an image claims to unpack to: the largest size allowed for one that claims nothing.
fn claimed_size(image: &PackedImage<'_>) -> u64 {
    match (image.compression, image.unpacked) {
        (Compression::None, _) => 0,
        (_, 0) => MAX_IMAGE_BYTES,
        (_, size) => size,
    }
}

/// For each image: true if it fits into the allowance together with those before it that do.
fn within(allowance: u64, sizes: &[u64]) -> Vec<bool> {
    let mut total = 0_u64;
    let fits = |size: &u64| {
        let after = total.saturating_add(*size);
        let fits = after <= allowance;
        if fits {
            total = after;
        }
        fits
    };
    sizes.iter().map(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn an_image_that_does_not_fit_takes_nothing_from_the_others() {
        assert_eq!(within(10, &[4, 7, 6, 1, 0]), [true, false, true, false, true]);
        assert_eq!(within(10, &[u64::MAX, 1, u64::MAX]), [false, true, false]);
    }
}
