//! Every source file of the workspace is compiled: a module names it, cargo finds it, or the build script lists it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptxcheck_tests::cases::files;
use ptxcheck_tests::root;

/// The folders of the packages.
const PACKAGES: [&str; 23] = [
    "ptx-parser",
    "passes",
    "passes/analysis",
    "passes/cache",
    "passes/common",
    "passes/frontend-llvm",
    "passes/frontend-mlir",
    "passes/frontend-ptx",
    "passes/images",
    "passes/ir",
    "passes/machine",
    "passes/packages",
    "passes/release",
    "passes/report",
    "passes/rules",
    "passes/witness",
    "passes/worker",
    "tests",
    "tools/fuzz",
    "tools/llvm-plugin",
    "tools/llvm-worker",
    "tools/mlir-worker",
    "tools/ptxcheck",
];

/// The folder whose files `passes/rules/build.rs` makes modules of.
const LISTED: &str = "passes/rules/src/rules";

#[test]
fn no_source_file_is_an_orphan() {
    let (mut all, mut reached) = (BTreeSet::new(), BTreeSet::new());
    for package in PACKAGES {
        for folder in ["src", "tests", "benches", "examples"] {
            let inside = root().join(package).join(folder);
            for file in files(&format!("{package}/{folder}"), "rs") {
                let within = file.strip_prefix(&inside).unwrap_or(&file);
                let is_listed = file.parent() == Some(&root().join(LISTED));
                if is_listed || is_root(folder == "src", within) {
                    follow(&file, !is_listed, &mut reached);
                }
                all.extend(file.canonicalize());
            }
        }
    }
    assert!(all.len() > 200, "{} files", all.len());
    let orphans: Vec<_> = all.difference(&reached).collect();
    assert!(orphans.is_empty(), "nothing compiles {orphans:#?}");
}

#[test]
fn all_packages_are_looked_through() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let (_, rest) = manifest.split_once("members = [").unwrap_or_default();
    let (members, _) = rest.split_once(']').unwrap_or_default();
    let members: Vec<&str> = members
        .split(',')
        .map(|member| member.trim().trim_matches('"'))
        .filter(|member| !member.is_empty())
        .collect();
    assert_eq!(members, PACKAGES);
}

/// True if cargo finds a file of a folder of sources or of tests by itself.
fn is_root(is_source: bool, within: &Path) -> bool {
    let parts: Vec<_> = within.iter().collect();
    match parts.as_slice() {
        [name] => !is_source || *name == "lib.rs" || *name == "main.rs",
        [folder, name] if is_source => *folder == "bin" && *name != "mod.rs",
        [_, name] => *name == "main.rs",
        _ => false,
    }
}

/// Adds a file and those that its modules lie in.
fn follow(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    let Ok(file) = &file.canonicalize() else { return };
    if !reached.insert(file.clone()) {
        return;
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let folder = file.parent().unwrap_or(file);
    let is_folder = is_root || file.file_name().is_some_and(|name| name == "mod.rs");
    let inside = if is_folder {
        folder.to_owned()
    } else {
        file.with_extension("")
    };
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(given) = line
            .strip_prefix("#[path = \"")
            .and_then(|line| line.strip_suffix("\"]"))
        {
            path = Some(given);
            continue;
        }
        let name = ["mod ", "pub mod ", "pub(crate) mod ", "pub(super) mod "]
            .iter()
            .find_map(|start| line.strip_prefix(start)?.strip_suffix(';'));
        let Some(name) = name else { continue };
        let places = match path.take() {
            Some(path) => vec![folder.join(path)],
            None => vec![
                inside.join(name).with_extension("rs"),
                inside.join(name).join("mod.rs"),
            ],
        };
        for place in places {
            follow(&place, false, reached);
        }
    }
}
