//! The device IR of a module that is read in one pass is that of its tree: over all PTX of the corpus, and of the folder that `MODULES` names.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::path::Path;

use ptxcheck_passes::deadline::Deadline;
use ptxcheck_passes::frontend::ptx::{self, PtxOrigin};
use ptxcheck_passes::ir::{DebugId, Module};
use ptxcheck_ptx_parser::parse;

use crate::declarations::modules;

/// The debug locations of a module.
fn locations(module: &Module<'_>) -> Vec<DebugId> {
    let bodies = module.bodies();
    let mut all: Vec<_> = bodies
        .flat_map(|(.., body)| body.places.iter().map(|place| place.debug))
        .collect();
    all.dedup();
    all
}

#[test]
fn one_pass_gives_what_the_tree_is_lowered_to() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut files = modules(&corpus);
    files.extend(
        std::env::var_os("MODULES")
            .iter()
            .flat_map(|folder| modules(Path::new(folder))),
    );
    let (mut in_one_pass, mut with_places) = (0, 0);
    for path in files {
        let text = fs::read(&path).unwrap();
        let (part, code) = ptx::read(&text, Deadline::NEVER).unwrap();
        let whole = parse(&text).unwrap();
        assert_eq!(part.errors(), whole.errors(), "{}", path.display());
        if part.has_all_code() {
            continue;
        }
        in_one_pass += 1;
        let (found_origin, wanted_origin) = (PtxOrigin::new(&part), PtxOrigin::new(&whole));
        let found = code.module(&part, &found_origin, Deadline::NEVER);
        let wanted = ptx::lower(&whole, &wanted_origin);
        same(&format!("{found:?}"), &format!("{wanted:?}"), &path);
        for place in locations(&wanted) {
            let frames = wanted.origin.frames(place);
            assert_eq!(found.origin.frames(place), frames, "{} {place:?}", path.display());
            with_places += usize::from(!frames.is_empty());
        }
        for function in &wanted.functions {
            let declared = |module: &Module<'_>| module.origin.declaration(function.declared);
            assert_eq!(
                declared(&found),
                declared(&wanted),
                "{} {:?}",
                path.display(),
                function.declared
            );
        }
    }
    assert!(
        in_one_pass > 1_000 && with_places > 1_000,
        "{in_one_pass} {with_places}"
    );
}

/// Fails with the first words that differ.
#[track_caller]
fn same(found: &str, wanted: &str, path: &Path) {
    if found == wanted {
        return;
    }
    let mut words = found.split(' ').zip(wanted.split(' ')).enumerate();
    let first = words.find(|(_, (found, wanted))| found != wanted);
    panic!("{}: {first:?}", path.display());
}
