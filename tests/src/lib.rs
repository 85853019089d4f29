//! Support for the end-to-end tests: they run the program and hold what it prints against the corpus.

pub mod binary;
pub mod cases;
pub mod defects;
pub mod expectation;
pub mod fatbin;
pub mod folder;
pub mod ir;
pub mod missing;
pub mod outputs;
pub mod packing;
pub mod pairs;
pub mod report;
pub mod schema;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}
pub mod wheels;
