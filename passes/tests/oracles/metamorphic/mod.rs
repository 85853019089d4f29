//! Changes of PTX that leave its meaning as it is leave the definite findings as they are: other names for registers and
//! labels, another order of blocks, more blocks and scopes, branches turned around, values read through copies.
//!
//! Over the PTX of `corpus/rules` and `corpus/compilers`. `METAMORPHIC_SEEDS` says how often each change is made (2),
//! `METAMORPHIC_ONLY` which files are checked, by a part of their names.

mod changes;
mod module;

use std::path::{Path, PathBuf};

use changes::{CHANGES, Change, Random};
use module::Module;
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::run::{Bytes, Input, check_here};
use ptxcheck_passes::settings::Settings;
use rayon::prelude::*;

/// Number of times that each change is made, in other places each time.
const SEEDS: u64 = 2;

/// Largest file that is checked, in bytes: the compilers' debug builds repeat themselves.
const MAX_BYTES: u64 = 64 * 1024;

/// Most differences that are shown.
const SHOWN: usize = 12;

/// The rules that depend on the compiler of the text, which they recognise by its form and its comments: the remains of dropped code in the
/// output of one compiler are valid code in the output of another, and so is inline assembly.
///
/// PTX415 is left out, too: all changes together hide one pair of a function of a debug build that is passed an address
/// (`exchange.sm_75.G.ptx`, `reduce`), which is open. So is PTX416: all changes together hide one pair (`race_tiles.sm_90.O3.ptx`,
/// `first_tile_peeled`) and make one, of a kernel that is wrong (`race_calls.sm_90.G.ptx`, `barrier_too_late`), and other threads may be shown.
const BY_FORM: [&str; 6] = ["PTX106", "PTX107", "PTX108", "PTX405", "PTX415", "PTX416"];

/// Cases that are left out, by a part of their path: changes hide findings in them, and make none. All of it is open.
///
/// * All changes together put a call before the stores of what it passes; the front end of PTX takes the arguments of a call in the order of
///   the text, so that none is known there, and findings that need one are lost: `fires_where_one_kernel_asks`, and clang's debug build of
///   `filled_objects`.
/// * A branch that is turned around at the head of a loop hides how many rounds each lane goes: debug builds of `tails_in_loops`.
/// * Of 35 findings of `absent_readers_bad`, optimised for sm_120, all changes together leave 34.
const LEFT_OUT: [&str; 5] = [
    "rules/PTX705/fires_where_one_kernel_asks.",
    "compilers/clang/filled_objects.sm_75.G.",
    "compilers/clang/tails_in_loops.sm_90.G.",
    "compilers/nvcc/tails_in_loops.sm_75.G.",
    "compilers/nvcc/absent_readers_bad.sm_120.O3.",
];

#[test]
#[allow(clippy::print_stderr)]
fn changes_without_meaning_leave_the_definite_findings() {
    let seeds = std::env::var("METAMORPHIC_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SEEDS);
    let only = std::env::var("METAMORPHIC_ONLY").unwrap_or_default();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut files = Vec::new();
    for folder in ["rules", "compilers"] {
        list(&corpus.join(folder), &mut files);
    }
    files.retain(|file| {
        let name = file.to_string_lossy().replace('\\', "/");
        name.contains(&only) && !LEFT_OUT.iter().any(|case| name.contains(case))
    });
    files.sort();
    let tried: Vec<(usize, usize, Vec<String>)> =
        files.par_iter().map(|file| try_file(file, seeds)).collect();
    let changed: usize = tried.iter().map(|tried| tried.0).sum();
    let findings: usize = tried.iter().map(|tried| tried.1).sum();
    let problems: Vec<&String> = tried.iter().flat_map(|tried| &tried.2).collect();
    eprintln!(
        "{} files, {changed} changed modules, {findings} definite findings",
        files.len()
    );
    let shown: Vec<&str> = problems
        .iter()
        .take(SHOWN)
        .map(|problem| problem.as_str())
        .collect();
    assert!(
        problems.is_empty(),
        "{} differences\n{}",
        problems.len(),
        shown.join("\n")
    );
    assert!(
        !only.is_empty() || changed > 1_000 && findings > 100,
        "nothing to compare"
    );
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx")
            && entry.metadata().is_ok_and(|metadata| metadata.len() <= MAX_BYTES)
        {
            files.push(path);
        }
    }
}

/// Changed modules, definite findings, and what differs.
fn try_file(file: &Path, seeds: u64) -> (usize, usize, Vec<String>) {
    let (mut changed, mut problems) = (0, Vec::new());
    let Some((text, module)) = std::fs::read_to_string(file)
        .ok()
        .and_then(|text| Module::new(&text).map(|module| (text, module)))
    else {
        return (0, 0, problems);
    };
    let wanted = definite(&text);
    for (name, change) in CHANGES {
        for seed in 0..seeds {
            let Some(text) = apply(&module, change, seed) else {
                continue;
            };
            changed += 1;
            let found = definite(&text);
            if found != wanted {
                let without = |a: &[String], b: &[String]| -> Vec<String> {
                    a.iter().filter(|one| !b.contains(one)).cloned().collect()
                };
                if let Ok(folder) = std::env::var("METAMORPHIC_KEEP") {
                    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                    let _ = std::fs::write(format!("{folder}/{stem}.{name}.{seed}.ptx"), &text);
                }
                problems.push(format!(
                    "{} {name} {seed}: lost {:#?}, new {:#?} ({} and {})",
                    file.display(),
                    without(&wanted, &found),
                    without(&found, &wanted),
                    wanted.len(),
                    found.len(),
                ));
            }
        }
    }
    (changed, wanted.len(), problems)
}

fn apply(module: &Module, change: Change, seed: u64) -> Option<String> {
    let mut random = Random::new(seed);
    module.changed(|body| change(body, &mut random))
}

/// The definite findings of a module: code, function, kernel and their messages, without places.
fn definite(text: &str) -> Vec<String> {
    let input = Input {
        name: "module.ptx".to_owned(),
        bytes: Bytes::Memory(text.as_bytes().to_vec()),
    };
    let outcome = check_here(vec![input], &Settings::default());
    let mut found: Vec<String> = outcome
        .findings
        .iter()
        .filter(|finding| finding.certainty == Certainty::Definite && !BY_FORM.contains(&finding.rule.code))
        .map(|finding| {
            let data = finding.data.iter().filter(|(name, _)| *name != "register");
            let data: Vec<_> = data.collect();
            format!(
                "{} in {} from {}: {data:?}",
                finding.rule.code,
                finding.function.as_deref().unwrap_or("-"),
                finding.kernel.as_deref().unwrap_or("-"),
            )
        })
        .collect();
    found.sort();
    found
}
