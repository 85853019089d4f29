//! Releases: the images of files and packages as data, the code that GPUs load of them, the differences between two releases, and the
//! demands that a policy makes.
//!
//! It knows inputs by their reports ([`inventory`]), which a run makes, and no rules: it says what a release lacks, and rules say it to
//! people.

#![warn(unreachable_pub, unnameable_types)]

pub mod comments;
pub mod drivers;
pub mod forecast;
pub mod inventory;
pub mod limits;
pub mod link;
pub mod occupancy;
pub mod policy;
pub mod reach;
pub mod recompile;
pub mod release;
pub mod variants;

use ptxcheck_analysis as analysis;
use ptxcheck_common::{externs, names, patterns, shown};
use ptxcheck_images as image;
use ptxcheck_ir as ir;
