//! PTX inside machine code: what it was made from, for debuggers (`-G`, `-g` of clang's).
//!
//! It counts as an image of its own, numbered after the machine code, unless PTX for the same target lies beside the
//! machine code anyway.

use rustc_hash::FxHashSet;

use super::Found;
use crate::kinds::{ImageKind, split_target};

/// The PTX that lies beside machine code: container and target of each.
#[derive(Debug)]
pub struct Beside(FxHashSet<(u32, u32)>);

impl Beside {
    /// That of a file with these images.
    #[must_use]
    pub fn of(found: &[Found<'_>]) -> Self {
        let ptx = found.iter().filter(|found| found.kind == ImageKind::Ptx);
        let placed = ptx.filter_map(|found| Some((found.container?, split_target(&found.target).0)));
        Self(placed.collect())
    }

    /// Whether the PTX inside of machine code in this container, for this target, is an image of its own.
    #[must_use]
    pub fn counts(&self, container: Option<u32>, target: &str) -> bool {
        container.is_none_or(|container| !self.0.contains(&(container, split_target(target).0)))
    }
}
