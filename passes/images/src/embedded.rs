//! PTX embedded in machine code: the text that it was made from, for debuggers and profilers (`-G`, `-lineinfo`, `-g` of clang's).
//!
//! It counts as an image of its own, numbered after the machine code, unless PTX for the same target lies beside the
//! machine code anyway.

use rustc_hash::FxHashSet;

use super::PackedImage;
use crate::kinds::{ImageKind, split_target};

/// The PTX images of a file that lie in a container beside machine code: container and target of each.
#[derive(Debug)]
pub struct SiblingPtx(FxHashSet<(u32, u32)>);

impl SiblingPtx {
    /// The PTX images among those of a file.
    #[must_use]
    pub fn of(images: &[PackedImage<'_>]) -> Self {
        let ptx = images.iter().filter(|image| image.kind == ImageKind::Ptx);
        let contained = ptx.filter_map(|image| Some((image.container?, split_target(&image.target).0)));
        Self(contained.collect())
    }

    /// True if there is one for this target in the container. PTX embedded in machine code there is then no image of its own.
    #[must_use]
    pub fn has(&self, container: Option<u32>, target: &str) -> bool {
        container.is_some_and(|container| self.0.contains(&(container, split_target(target).0)))
    }
}
