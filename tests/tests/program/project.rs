//! A project with findings of all kinds that a team lives with: exceptions with reasons, one that has ended, comments in sources,
//! levels by path and by kernel. With PTX that nvcc 13.5 made once (`nvcc -ptx -lineinfo -arch=sm_90`, without the folders of that
//! machine), and with what it makes here.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{missing, report, root};
use serde_json::Value;
use tempfile::TempDir;

/// The files of the project.
const FILES: [&str; 5] = [
    "src/sums.cu",
    "src/sums.cuh",
    "third_party/vendor.cu",
    "sums.ptx",
    "vendor.ptx",
];

/// The configuration of the team.
const CONFIG: &str = r#"
[rules]
"G-2.1" = "error"

[[override]]
path = "third_party/**"
rules = { "G-2.3" = "warning" }

[[override]]
kernel = "demo_*"
rules = { PTX401 = "allow" }

[[allow]]
rule = "zero-mask"
kernel = "re:^legacy_"
reason = "ticket 12: nobody calls it"

[[allow]]
rule = "PTX407"
path = "src/*.cu"
line = "*__shfl_xor_sync*"
reason = "ticket 13: will be ported"
expires = 2001-12-31
"#;

fn project(config: &str) -> TempDir {
    let texts: Vec<_> = FILES
        .iter()
        .map(|name| (*name, fs::read(root().join("tests/project").join(name)).unwrap()))
        .collect();
    let mut files: Vec<(&str, &[u8])> = texts
        .iter()
        .map(|(name, text)| (*name, text.as_slice()))
        .collect();
    files.push(("ptxcheck.toml", config.as_bytes()));
    folder(&files)
}

/// The outcome for the findings of a run, by the defect that the line or the call of it is marked with: the level, or the source
/// and reason of the suppression.
fn fates(folder: &TempDir, output: &Output) -> BTreeMap<String, String> {
    let (_, document) = report::document(output).unwrap();
    let findings = report::findings(&document);
    findings
        .iter()
        .map(|finding| fate(folder.path(), finding))
        .collect()
}

fn fate(folder: &Path, finding: &Value) -> (String, String) {
    let source = &finding["source"];
    let calls = source["inlined_at"].as_array().unwrap().iter();
    let mark = |frame: &Value| {
        let file = folder.join(frame["file"].as_str().unwrap());
        let text = fs::read_to_string(file).unwrap();
        let line = usize::try_from(frame["line"].as_u64().unwrap()).unwrap();
        let (_, comment) = text.lines().nth(line - 1)?.split_once("// ")?;
        Some(comment.to_owned())
    };
    let name = std::iter::once(source)
        .chain(calls)
        .find_map(mark)
        .unwrap_or_default();
    let suppressed = &finding["suppressed"];
    let fate = match suppressed["by"].as_str() {
        Some(by) => format!("{by}: {}", suppressed["reason"].as_str().unwrap()),
        None => finding["level"].as_str().unwrap().to_owned(),
    };
    (name.trim_start_matches("defect: ").to_owned(), fate)
}

fn wanted(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, fate)| ((*name).to_owned(), (*fate).to_owned()))
        .collect()
}

/// With the configuration.
const DECIDED: [(&str, &str); 7] = [
    ("plain", "error"),
    ("legacy", "config: ticket 12: nobody calls it"),
    ("ported", "error"),
    ("pattern", "comment: a test pattern of the hardware"),
    (
        "ptxcheck: allow(warp) the helper is mended in ticket 7",
        "comment: the helper is mended in ticket 7",
    ),
    ("helper", "error"),
    ("vendor", "warning"),
];

#[test]
fn what_a_team_decided_is_what_it_gets() {
    let folder = project(CONFIG);
    let output = run_in(&folder, &["--format", "json", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fates(&folder, &output), wanted(&DECIDED));
    // The exception that has ended says so where it held.
    let (_, document) = report::document(&output).unwrap();
    let ported = report::findings(&document)
        .iter()
        .find(|finding| finding["kernel"] == "_Z10ported_sumPf")
        .unwrap();
    let note = "the exception at ptxcheck.toml:18:1 for it ended on 2001-12-31: ticket 13: will be ported";
    let notes = ported["notes"].as_array().unwrap();
    assert!(notes.iter().any(|known| known == note), "{notes:?}");
    assert_eq!(document["summary"]["suppressed"], 3);

    let output = run_in(&folder, &["--format", "concise", "."]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().count(), 4, "{shown}");
    let said = String::from_utf8(output.stderr).unwrap();
    for wanted in [
        "ptxcheck.toml:18:1: the exception for PTX407 ended on 2001-12-31 and no longer counts: ticket 13: will be ported\n",
        "\n3 errors, 1 warning, 3 suppressed (",
    ] {
        assert!(said.contains(wanted), "{said}");
    }
    // A forbidden rule has no exceptions.
    let output = run_in(&folder, &["--format", "json", "-F", "zero-mask", "."]);
    let (_, document) = report::document(&output).unwrap();
    assert_eq!(document["summary"]["suppressed"], 0);
    let legacy = report::findings(&document)
        .iter()
        .find(|finding| finding["kernel"] == "_Z10legacy_sumPf")
        .unwrap();
    assert_eq!(
        legacy["notes"][0],
        "it is forbidden, so the exception for it does not count: ticket 12: nobody calls it"
    );
    // Options win over the file, but not over exceptions.
    let output = run_in(
        &folder,
        &[
            "--format",
            "json",
            "--level",
            "G-2.3=warning",
            "--level",
            "PTX401=warning",
            ".",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    let mut lowered = wanted(&DECIDED);
    lowered.insert("demo".to_owned(), "warning".to_owned());
    for fate in lowered.values_mut().filter(|fate| *fate == "error") {
        *fate = "warning".to_owned();
    }
    assert_eq!(fates(&folder, &output), lowered);
}

#[test]
fn without_a_configuration_comments_count_all_the_same() {
    let folder = project("");
    let output = run_in(&folder, &["--format", "json", "."]);
    let mut undecided = wanted(&DECIDED);
    for name in ["legacy", "demo", "vendor"] {
        undecided.insert(name.to_owned(), "error".to_owned());
    }
    assert_eq!(fates(&folder, &output), undecided);
}

#[test]
fn what_the_compiler_makes_here_is_decided_alike() {
    let nvcc = root().join(".toolchain/nvcc/cuda/bin/nvcc");
    if !root().join(".toolchain/nvcc/stamp").is_file() {
        assert!(missing::skip("nvcc is not installed").is_ok());
        return;
    }
    let folder = project(CONFIG);
    for (source, ptx) in [
        ("src/sums.cu", "sums.ptx"),
        ("third_party/vendor.cu", "vendor.ptx"),
    ] {
        let output = Command::new(&nvcc)
            .args(["-ptx", "-lineinfo", "-arch=sm_90", source, "-o", ptx])
            .env("TMPDIR", folder.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let output = run_in(&folder, &["--format", "json", "sums.ptx", "vendor.ptx"]);
    assert_eq!(fates(&folder, &output), wanted(&DECIDED));
    // The names of sources are those of the machine that compiled them; an option says where they are here.
    let (_, document) = report::document(&output).unwrap();
    let file = |document: &Value| {
        document["findings"][0]["source"]["file"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let compiled = file(&document);
    let (built, _) = compiled.split_once("/src/sums.cu").unwrap();
    let map = format!("{built}=.");
    let output = run_in(&folder, &["--format", "json", "--path-map", &map, "sums.ptx"]);
    let (_, document) = report::document(&output).unwrap();
    assert_eq!(file(&document), "./src/sums.cu");
}

#[test]
fn sources_of_another_machine_are_found_by_a_path_map() {
    let folder = project(CONFIG);
    let elsewhere = folder.path().join("sums.ptx");
    let text = fs::read_to_string(&elsewhere).unwrap();
    let away = text.replace("\"src/", "\"/ci/job/src/");
    assert_ne!(text, away);
    fs::write(&elsewhere, away).unwrap();
    // Neither the comments nor the line pattern nor the path are to be seen.
    let output = run_in(&folder, &["--format", "json", "sums.ptx"]);
    let (_, document) = report::document(&output).unwrap();
    assert_eq!(document["summary"]["suppressed"], 1);
    let maps = ["--path-map", "/ci=/nowhere", "--path-map", "/ci/job=."];
    let mut args = vec!["--format", "json", "sums.ptx", "vendor.ptx"];
    args.extend(maps);
    assert_eq!(fates(&folder, &run_in(&folder, &args)), wanted(&DECIDED));
}

#[test]
fn strict_configurations_have_nothing_left_over() {
    let folder = project(CONFIG);
    let told = |folder: &TempDir| -> Vec<String> {
        let output = run_in(folder, &["--strict-config", "--format", "concise", "-q", "."]);
        let shown = String::from_utf8(output.stdout).unwrap();
        let told = shown.lines().filter(|line| line.ends_with("[PTX906]"));
        told.map(str::to_owned).collect()
    };
    assert_eq!(told(&folder), [""; 0]);
    // The kernel with the comment is fixed, and one comment has lost its reason.
    let ptx = folder.path().join("sums.ptx");
    let text = fs::read_to_string(&ptx).unwrap();
    let source = folder.path().join("src/sums.cu");
    let sources = fs::read_to_string(&source).unwrap();
    fs::write(&ptx, text.replace("shfl.sync.up.b32", "shfl.up.b32")).unwrap();
    fs::write(&source, sources.replace(" the helper is mended in ticket 7", "")).unwrap();
    let config = CONFIG.replace("^legacy_", "^legcy_")
        + "[exclude]\npaths = [\"build/\"]\nkernels = \"unknown\"\n[launch.\"gone\"]\nblock = 32\nshared = 64\n[launch.lost]\nshared = 64\n";
    let config = config.replace("block = 32", "block = [32]");
    fs::write(folder.path().join("ptxcheck.toml"), config).unwrap();
    assert_eq!(
        told(&folder),
        [
            "src/sums.cu:21:2: warning: this comment suppresses nothing [PTX906]",
            "src/sums.cu:27:47: warning: this comment does not count: it gives no reason behind the bracket [PTX906]",
            "ptxcheck.toml:13:1: warning: this exception for PTX407 suppresses nothing [PTX906]",
            "ptxcheck.toml:25:10: warning: no input and no source fits the pattern `build/**` [PTX906]",
            "ptxcheck.toml:26:11: warning: no kernel fits the pattern `unknown` [PTX906]",
            "ptxcheck.toml:27:9: warning: no kernel fits the pattern `gone` [PTX906]",
            "ptxcheck.toml:30:9: warning: no kernel fits the pattern `lost` [PTX906]",
        ]
    );
    // The comment without a reason is reported where it would have counted, strict or not.
    let output = run_in(&folder, &["--format", "json", "."]);
    let (_, document) = report::document(&output).unwrap();
    let helper = report::findings(&document)
        .iter()
        .find(|finding| finding["kernel"] == "_Z12calls_helperPf")
        .unwrap();
    assert_eq!(helper["suppressed"], Value::Null);
    let note = "the comment at src/sums.cu:27:47 does not count: it gives no reason behind the bracket";
    assert_eq!(helper["notes"].as_array().unwrap().last().unwrap(), note);
    // They fail only if that is asked for.
    let output = run_in(&folder, &["--strict-config", "-A", "all", "-D", "PTX906", "."]);
    assert_eq!(output.status.code(), Some(1));
}
