//! Readers of the formats of files that hold images.

use super::packed::{InputError, PackedImage};
use super::sections::Sections;
use crate::kinds::{Host, ProblemKind};
use crate::limits::MAX_IMAGES;

/// Reads the files of a format that hold images.
pub trait Reader: Sync {
    /// A noun for such a file: `an ELF file`.
    fn noun(&self) -> &'static str;

    /// True if a file begins like one.
    fn begins(&self, bytes: &[u8]) -> bool;

    /// Adds the images of such a file, and what is wrong with it. No offset in it is to be trusted. Fat binaries and clang's bundles that
    /// lie in it need not be added: they are searched for in all files, after this.
    fn read<'a>(&self, bytes: &'a [u8], found: &mut Found<'a, '_>);
}

/// The images that a reader finds.
pub struct Found<'a, 'f> {
    pub(super) images: Vec<PackedImage<'a>>,
    pub(super) host: Option<Host>,
    pub(super) errors: Vec<InputError>,
    pub(super) sections: Sections,
    /// The images are all there is: the file is not searched for others.
    pub(super) is_all: bool,
    /// The time was over before all of it was read.
    pub(super) is_cut_short: bool,
    is_late: &'f dyn Fn() -> bool,
}

impl<'a, 'f> Found<'a, 'f> {
    /// Nothing yet.
    pub fn new(is_late: &'f dyn Fn() -> bool) -> Self {
        Self {
            images: Vec::new(),
            host: None,
            errors: Vec::new(),
            sections: Sections::default(),
            is_all: false,
            is_cut_short: false,
            is_late,
        }
    }

    /// Adds an image, as long as there is room.
    pub fn image(&mut self, image: PackedImage<'a>) {
        if self.images.len() < MAX_IMAGES {
            self.images.push(image);
        }
    }

    /// The images that were added.
    #[must_use]
    pub fn images(&self) -> &[PackedImage<'a>] {
        &self.images
    }

    /// Adds what is wrong with the file.
    pub fn trouble(&mut self, message: impl Into<String>) {
        // One more than is shown says that there are more; a hostile file must not fill the memory with them.
        if self.errors.len() < MAX_IMAGES {
            self.errors
                .push(InputError::new(ProblemKind::Unreadable, message));
        }
    }

    /// Adds that something in the file is in a format that nobody outside can read.
    pub fn unsupported(&mut self, message: impl Into<String>) {
        self.errors
            .push(InputError::new(ProblemKind::Unsupported, message));
    }

    /// Says that the images are all there is: the file is not searched for others.
    pub const fn is_all(&mut self) {
        self.is_all = true;
    }

    /// True once the time is over: the reader ends.
    pub fn is_late(&mut self) -> bool {
        self.is_cut_short |= (self.is_late)();
        self.is_cut_short
    }
}
