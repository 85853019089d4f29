//! The first driver that loads an image.
//!
//! CUDA Toolkit Release Notes, CUDA Toolkit and Corresponding Driver Versions; CUDA Compatibility, Minor Version Compatibility; NVCC,
//! `--compress-mode`.

use std::fmt;

use crate::drivers::{Driver, FIRST_ZSTD_DRIVER, first_driver};
use crate::inventory::{ImageKind, ImageReport};

use super::gpu::Gpu;

/// The first driver branch that loads something. Branches are enough: fixes within one add no new versions of PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededDriver {
    /// The first number of its version: 580 of 580.65.06.
    pub branch: u32,
    /// It is newer than this one, which is the newest known.
    pub is_newer: bool,
}

impl NeededDriver {
    const fn branch(branch: u32) -> Self {
        Self {
            branch,
            is_newer: false,
        }
    }

    /// True if a driver is older than that.
    #[must_use]
    pub const fn exceeds(self, driver: Driver) -> bool {
        self.branch > driver.0 || self.is_newer && self.branch == driver.0
    }
}

impl fmt::Display for NeededDriver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_newer {
            formatter.write_str("newer than ")?;
        }
        write!(formatter, "{}", self.branch)
    }
}

/// The first driver that loads this image on a GPU: that which knows the GPU, unpacks the image, and knows the toolkit.
pub(super) fn needed_driver(image: &ImageReport, gpu: Gpu) -> NeededDriver {
    let of_toolkit = match image.kind {
        ImageKind::Ptx => image
            .isa_version()
            .and_then(first_driver)
            .map(|(driver, toolkit)| NeededDriver {
                branch: driver.0,
                is_newer: toolkit.is_none(),
            }),
        _ => oldest_driver_of_toolkit(image).map(NeededDriver::branch),
    };
    let of_packing = (image.compression == Some("zstd")).then_some(NeededDriver::branch(FIRST_ZSTD_DRIVER.0));
    [of_toolkit, of_packing]
        .into_iter()
        .flatten()
        .fold(NeededDriver::branch(gpu.first_branch()), Ord::max)
}

/// The first driver of the major version of the toolkit that assembled machine code, where the image names it: minor versions are
/// compatible with each other.
fn oldest_driver_of_toolkit(image: &ImageReport) -> Option<u32> {
    let producer = image.facts.producer.as_deref()?;
    let version = producer
        .split(' ')
        .find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    match version.split('.').next()?.parse().ok()? {
        11 => Some(450),
        12 => Some(525),
        13.. => Some(580),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_compared_by_their_branch() {
        let needed = NeededDriver::branch(550);
        assert!(needed.exceeds(Driver(545, 23, 6)) && !needed.exceeds(Driver(550, 40, 0)));
        let newer = NeededDriver {
            branch: 615,
            is_newer: true,
        };
        assert!(newer.exceeds(Driver(615, 71, 9)) && newer > NeededDriver::branch(615));
        assert_eq!(newer.to_string(), "newer than 615");
    }
}
