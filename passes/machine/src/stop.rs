//! When a run ends early.

use ptxcheck_ir::Site;

/// The place of a run before its end at which no more is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// None.
    Never,
    /// Lanes have waited in vain: see [`crate::Outcome::is_broken`].
    WhenBroken,
    /// The same, or a protocol between threads has failed: see [`crate::Outcome::hang`].
    AtHang,
    /// Lanes have waited in vain, or something has gone wrong at this site in the warp with this number.
    AtFailure(&'a Site, u32),
}
