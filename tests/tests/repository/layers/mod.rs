//! The layers of ARCHITECTURE.md, checked against the manifests and the sources: the crates and files that each may use.
//!
//! An arrow between crates that is not in [`LAYERS`] is a fault, and so is a circle of files in one crate that is not in
//! [`CIRCLES`]. What is in a table and no longer in the code is a fault, too, so that the tables stay true.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

mod arrows;
mod files;
mod paths;
pub mod words;

use std::env;
use std::fs;
use std::process::Command;

use arrows::Layer;
use files::{Circle, Uses};
use ptxcheck_tests::cases;
use ptxcheck_tests::root;

const COMMON: &str = "ptxcheck-common";
const PARSER: &str = "ptxcheck-ptx-parser";
const IR: &str = "ptxcheck-ir";
const PTX: &str = "ptxcheck-frontend-ptx";
const LLVM: &str = "ptxcheck-frontend-llvm";
const MLIR: &str = "ptxcheck-frontend-mlir";
const WORKER: &str = "ptxcheck-worker";
const CACHE: &str = "ptxcheck-cache";
const ANALYSIS: &str = "ptxcheck-analysis";
const MACHINE: &str = "ptxcheck-machine";
const IMAGES: &str = "ptxcheck-images";
const PACKAGES: &str = "ptxcheck-packages";
const RELEASE: &str = "ptxcheck-release";
const RULES: &str = "ptxcheck-rules";
const WITNESS: &str = "ptxcheck-witness";
const PASSES: &str = "ptxcheck-passes";
const REPORT: &str = "ptxcheck-report";

/// The packages that each package may depend on, from below to above.
const LAYERS: &[Layer] = &[
    layer(COMMON, &[]),
    layer(PARSER, &[]),
    layer(IR, &[COMMON, PARSER]),
    layer(PTX, &[COMMON, IR, PARSER]),
    // Inline assembly is PTX.
    layer(LLVM, &[COMMON, IR, PARSER, PTX]),
    // It knows texts and messages; the program with MLIR is a worker that answers in them.
    layer(MLIR, &[IR]),
    layer(WORKER, &[]),
    layer(CACHE, &[]),
    layer("ptxcheck-mlir", &[MLIR, WORKER]),
    Layer {
        package: ANALYSIS,
        uses: &[COMMON, IR],
        // Tests write the code that they analyse as PTX.
        tests_use: &[PARSER, PTX],
    },
    // Without the analyses, which tests hold against it.
    Layer {
        package: MACHINE,
        uses: &[COMMON, IR],
        // Tests run the corpus's PTX.
        tests_use: &[PARSER, PTX],
    },
    layer(IMAGES, &[COMMON, IR]),
    layer(PACKAGES, &[COMMON]),
    layer(RELEASE, &[ANALYSIS, COMMON, IMAGES, IR]),
    layer(WITNESS, &[ANALYSIS, COMMON, IR, MACHINE]),
    layer(RULES, &[ANALYSIS, COMMON, IR, RELEASE, WITNESS]),
    Layer {
        package: PASSES,
        uses: &[
            ANALYSIS, CACHE, COMMON, IMAGES, IR, MLIR, PACKAGES, PARSER, PTX, RELEASE, RULES, WITNESS, WORKER,
        ],
        // Oracles hold analyses against the machine.
        tests_use: &[MACHINE],
    },
    layer(REPORT, &[PASSES]),
    layer("ptxcheck", &[PASSES, REPORT]),
    // The only program with LLVM that users start, through `ptxcheck`.
    layer("ptxcheck-llvm", &[LLVM, PASSES]),
    layer("ptxcheck-fuzz", &[LLVM, PARSER, PASSES]),
    layer("ptxcheck-llvm-plugin", &[]),
    layer("ptxcheck-tests", &[]),
];

const fn layer(package: &'static str, uses: &'static [&'static str]) -> Layer {
    Layer {
        package,
        uses,
        tests_use: &[],
    }
}

/// The folders of the libraries, whose files are compared with [`CIRCLES`].
const LIBRARIES: [&str; 17] = [
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
];

/// The circles that are accepted: each is one idea in several files. A module and its parts that use each other count as a
/// circle. What `passes/rules/build.rs` makes of the rule files is not seen.
const CIRCLES: &[Circle] = &[
    Circle {
        package: "ptx-parser",
        files: &["comparison", "printer"],
        reason: "one idea: trees are the same if they are printed alike",
    },
    Circle {
        package: "passes/analysis",
        files: &["constants", "function", "reached", "shared"],
        reason: "one idea: what is known of a function; what is reached needs constants, which need its other analyses",
    },
    Circle {
        package: "passes/analysis",
        files: &["lanes::flow", "lanes::flow::divergence"],
        reason: "one idea: `Flow`, whose methods lie where they belong",
    },
    Circle {
        package: "passes/analysis",
        files: &[
            "lanes::screen::calls",
            "lanes::screen::facts",
            "lanes::screen::optimistic_reach",
            "lanes::screen::optimistic_reach::variables",
        ],
        reason: "one idea: the search of a function needs the arguments of its callers, which need a search of these",
    },
    Circle {
        package: "passes/analysis",
        files: &[
            "lanes::screen::knowable",
            "lanes::screen::knowable::arithmetic",
            "lanes::screen::knowable::compare",
        ],
        reason: "one idea: a lattice, its arithmetic and its comparisons",
    },
    Circle {
        package: "passes/analysis",
        files: &[
            "lanes::transfer",
            "lanes::transfer::arithmetic",
            "lanes::transfer::compare",
        ],
        reason: "one idea: the operations on lanes, arithmetic and comparisons among them",
    },
    Circle {
        package: "passes/analysis",
        files: &[
            "lanes::verdict",
            "lanes::verdict::absent",
            "lanes::verdict::rendezvous",
        ],
        reason: "one idea: `Judge`, whose methods lie where they belong",
    },
    Circle {
        package: "passes/analysis",
        files: &["provenance::function", "provenance::objects"],
        reason: "one idea: `Judge`, whose methods lie where they belong",
    },
    Circle {
        package: "passes/frontend-llvm",
        files: &["assembly", "body", "callees", "edges", "instructions", "reflect"],
        reason: "one idea: `Lowering`, whose methods lie where they belong",
    },
    Circle {
        package: "passes/frontend-llvm",
        files: &["raw", "raw::instruction", "raw::metadata"],
        reason: "one idea: handles of LLVM's objects, which lead to each other",
    },
    Circle {
        package: "passes/frontend-ptx",
        files: &["body", "calls", "malformed", "operands"],
        reason: "one idea: `Lowering`, whose methods lie where they belong",
    },
    Circle {
        package: "passes/packages",
        files: &["deb", "open", "tar", "zip"],
        reason: "one idea: the walk over a package, and over packages of any format in it",
    },
];

#[test]
fn crates_depend_on_what_is_below_them() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata = serde_json::from_slice(&output.stdout).unwrap();
    let faults = arrows::faults(&arrows::arrows(&metadata), LAYERS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_use_each_other_in_no_new_circles() {
    let mut faults = Vec::new();
    let (mut files, mut arrows) = (0, 0);
    for package in LIBRARIES {
        let uses = uses_in(package);
        files += uses.len();
        arrows += uses.values().map(|used| used.len()).sum::<usize>();
        faults.extend(files::faults(package, &uses, CIRCLES));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        files > 250 && arrows > 800,
        "{arrows} arrows between {files} files"
    );
}

/// The folders of `passes/src`, each of which uses those before it.
const ROOMS: [&str; 4] = ["limits", "frame", "run", "lib"];

#[test]
fn the_rooms_of_the_checker_lead_one_way() {
    let room = |file: &str| {
        let first = file.split("::").next().unwrap_or_default().to_owned();
        let place = ROOMS.iter().position(|room| *room == first);
        place.unwrap_or_else(|| panic!("`{first}` is none of ROOMS"))
    };
    let mut back = Vec::new();
    for (file, used) in uses_in("passes") {
        let used = used.iter().filter(|used| room(used) > room(&file));
        back.extend(used.map(|used| format!("{file} uses {used}")));
    }
    assert!(
        back.is_empty(),
        "{back:?}: what both need belongs into a room before them"
    );
}

/// Who opens `passes/src` sees its rooms, not their furniture.
#[test]
fn the_rooms_of_the_checker_are_few() {
    let entries = fs::read_dir(root().join("passes/src")).unwrap();
    let is_folder = entries.map(|entry| entry.unwrap().path().is_dir());
    let (folders, files): (Vec<bool>, Vec<bool>) = is_folder.partition(|is_folder| *is_folder);
    assert!(
        folders.len() <= 6 && files.len() <= 10,
        "{} folders and {} files",
        folders.len(),
        files.len()
    );
}

#[test]
fn accepted_circles_are_sorted_and_have_reasons() {
    for circle in CIRCLES {
        assert!(circle.files.is_sorted(), "{:?}", circle.files);
        assert!(!circle.reason.is_empty(), "{:?}", circle.files);
        assert!(LIBRARIES.contains(&circle.package), "{}", circle.package);
    }
}

/// The uses between the files of a package.
fn uses_in(package: &str) -> Uses {
    let folder = format!("{package}/src");
    let inside = root().join(&folder);
    let sources: Vec<(String, String)> = cases::files(&folder, "rs")
        .into_iter()
        .map(|file| {
            let within = file.strip_prefix(&inside).unwrap();
            let within = within.to_str().unwrap().replace('\\', "/");
            (within, fs::read_to_string(&file).unwrap())
        })
        .collect();
    files::uses(&sources)
}
