//! The declarations that an audit reads of a module are those that a whole reading finds: over all PTX of the corpus.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::path::{Path, PathBuf};

use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_ptx_parser::{parse, parse_declarations};

/// The files of PTX below a folder.
pub fn modules(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(modules(&path));
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
    found
}

#[test]
fn declarations_say_what_the_whole_says() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let (mut compared, mut with_source) = (0, 0);
    for path in modules(&corpus) {
        let text = fs::read(&path).unwrap();
        let whole = parse(&text).unwrap();
        if !whole.errors().is_empty() {
            continue;
        }
        let part = parse_declarations(&text).unwrap();
        let (origin, own) = (PtxOrigin::new(&whole), PtxOrigin::new(&part));
        let module = ptx::lower(&whole, &origin);
        if !module.errors.is_empty() {
            continue;
        }
        let mut wanted = ptx::facts(&whole, &module, true);
        let mut found = ptx::facts(&part, &ptx::declarations(&part, &own), true);
        // References of bodies are in no declaration.
        (wanted.symbols, found.symbols) = (None, None);
        assert_eq!(
            format!("{found:#?}"),
            format!("{wanted:#?}"),
            "{}",
            path.display()
        );
        compared += 1;
        with_source += found
            .kernels
            .iter()
            .filter(|kernel| kernel.source.is_some())
            .count();
    }
    assert!(compared > 300 && with_source > 100, "{compared} {with_source}");
}
