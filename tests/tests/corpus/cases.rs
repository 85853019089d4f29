//! Holds what the program finds in the corpus against the markers in it. A test is a file dropped in a folder.
//!
//! * `corpus/rules/<CODE>/*.ptx` and `corpus/syntax/*.ptx`: findings by line of the input, and the full rendering
//!   against `<case>.full`; `BLESS=1` writes those files.
//! * Every rule has a case that makes it fire and one that does not.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use libtest_mimic::{Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{difference, expected};
use ptxcheck_tests::pairs::{RulePair, Run, pairs, pairs_of_ir};
use ptxcheck_tests::{binary, report, root};
use serde_json::Value;

/// The rules that no pair shows, since they want a panic or a configuration, with the test that does: file and function.
const TRIED_ELSEWHERE: [(&str, &str, &str); 2] = [
    (
        "PTX524",
        "passes/src/run.rs",
        "exported_symbols_are_reported_by_pattern",
    ),
    ("PTX904", "passes/src/run.rs", "a_panic_becomes_a_finding"),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for folder in ["corpus/rules", "corpus/syntax"] {
        for path in files(folder, "ptx") {
            trials.push(trial(&path, ptx_case));
        }
    }
    for ending in ["fatbin", "cubin", "o"] {
        for path in files("corpus/images", ending) {
            let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            trials.push(Trial::test(name, move || Ok(image_case(&path)?)));
        }
    }
    for pair in tried_pairs() {
        trials.push(Trial::test(
            format!("{} fires and is silent", pair.code),
            move || Ok(pair_case(&pair)?),
        ));
    }
    trials.push(Trial::test(
        "every rule has a firing and a silent case",
        every_rule_is_tried,
    ));
    trials.push(Trial::test(
        "every golden rendering has its case",
        every_golden_has_its_case,
    ));
    trials
}

/// Those that this build can run.
fn tried_pairs() -> Vec<RulePair> {
    let mut pairs = pairs();
    if cfg!(feature = "ir") {
        pairs.extend(pairs_of_ir());
    }
    pairs
}

/// A rule fires on the one, and on the other, which is analysed like it, it does not.
fn pair_case(pair: &RulePair) -> Result<(), String> {
    let codes = |run: &Run| -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join(run.name);
        fs::write(&file, &run.bytes).map_err(|error| error.to_string())?;
        if let Some((name, text)) = &run.beside {
            fs::write(folder.path().join(name), text).map_err(|error| error.to_string())?;
        }
        let mut args: Vec<OsString> = run.args.iter().map(OsString::from).collect();
        if args.first().is_none_or(|first| first != "audit") {
            args.insert(0, "check".into());
        }
        args.extend(["--format".into(), "json".into(), file.into()]);
        let output = binary::command()
            .current_dir(folder.path())
            .args(args)
            .output()
            .map_err(|error| error.to_string())?;
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let mut codes: Vec<String> = report::codes(&document).into_iter().map(str::to_owned).collect();
        if document["inputs"][0]["status"] != "checked" {
            codes.push("not checked".to_owned());
        }
        Ok(codes)
    };
    let (firing, silent) = (codes(&pair.fires)?, codes(&pair.silent)?);
    if !firing.iter().any(|code| code == pair.code) {
        return Err(format!("it does not fire: {firing:?}"));
    }
    if silent
        .iter()
        .any(|code| code == pair.code || code == "not checked")
    {
        return Err(format!("it is not silent: {silent:?}"));
    }
    Ok(())
}

fn trial(path: &Path, check: fn(&Case) -> Result<(), String>) -> Trial {
    let case = Case::read(path);
    let name = case
        .as_ref()
        .map_or_else(|_| path.display().to_string(), |case| case.name.clone());
    Trial::test(name, move || Ok(check(&case?)?))
}

/// A case of our own in PTX.
fn ptx_case(case: &Case) -> Result<(), String> {
    let wanted = expected(&case.text, &[])?;
    let (code, document) = report::check(case.args())?;
    let found = report::by_input_line(&document)?;
    let mut problems = difference(&wanted, &found);
    let is_failed = document["inputs"][0]["errors"]
        .as_array()
        .is_some_and(|errors| !errors.is_empty());
    if (code == 2) != is_failed {
        problems.push(format!("the exit code is {code}"));
    }
    problems.extend(golden(case, !found.is_empty())?);
    verdict(&problems, &document)
}

/// A binary that nvcc wrote: the findings, in full, with the rules that audits have on.
fn image_case(path: &Path) -> Result<(), String> {
    let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let args = [
        "check",
        "-W",
        "PTX502",
        "-W",
        "PTX510",
        "--color",
        "never",
        "--quiet",
        name.as_str(),
    ];
    let output = binary::run(args);
    let rendered = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(2) {
        return Err(format!("the exit code is 2:\n{rendered}"));
    }
    let mut file = path.as_os_str().to_owned();
    file.push(".full");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        return fs::write(&file, rendered).map_err(|error| error.to_string());
    }
    match fs::read_to_string(&file) {
        Ok(golden) if golden == rendered => Ok(()),
        Ok(golden) => Err(format!(
            "BLESS=1 writes it anew\n--- golden\n{golden}+++ now\n{rendered}"
        )),
        Err(_) => Err(format!("{name}.full is missing; BLESS=1 writes it:\n{rendered}")),
    }
}

/// The difference between the full rendering and the golden one.
fn golden(case: &Case, has_findings: bool) -> Result<Option<String>, String> {
    let file = case.path.with_extension("full");
    let shown = case.name.replace(".ptx", ".full");
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    if !has_findings {
        if bless && file.exists() {
            fs::remove_file(&file).map_err(|error| format!("{shown}: {error}"))?;
        }
        return Ok(file
            .exists()
            .then(|| format!("nothing is found, and yet there is {shown}: delete it")));
    }
    let mut args = ["check", "--format", "full", "--color", "never", "--quiet"]
        .map(str::to_owned)
        .to_vec();
    args.extend(case.args());
    let rendered = String::from_utf8_lossy(&binary::run(args).stdout).into_owned();
    if bless {
        fs::write(&file, rendered).map_err(|error| format!("{shown}: {error}"))?;
        return Ok(None);
    }
    match fs::read_to_string(&file) {
        Ok(golden) if golden == rendered => Ok(None),
        Ok(golden) => Ok(Some(format!(
            "the rendering is not that of {shown} (BLESS=1 writes it anew)\n--- {shown}\n{golden}+++ now\n{rendered}"
        ))),
        Err(_) => Ok(Some(format!(
            "{shown} is missing; BLESS=1 writes it:\n{rendered}"
        ))),
    }
}

fn verdict(problems: &[String], document: &Value) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    let findings: Vec<String> = report::findings(document)
        .iter()
        .map(|finding| {
            format!(
                "  {} at {}:{}: {}",
                finding["code"],
                finding["location"]["line"],
                finding["location"]["column"],
                finding["message"]
            )
        })
        .collect();
    Err(format!(
        "{}\nfound:\n{}",
        problems.join("\n"),
        findings.join("\n")
    ))
}

/// The error in the claim that this function is a test and names this rule, if it is false.
fn untested((code, file, function): &(&str, &str, &str)) -> Option<String> {
    let text = fs::read_to_string(root().join(file)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let head = format!("fn {function}(");
    let at = lines.iter().position(|line| line.starts_with(&head));
    let is_test = at.is_some_and(|at| at > 0 && lines[at - 1] == "#[test]");
    let body = at.map_or(&[][..], |at| &lines[at..]);
    let end = body
        .iter()
        .skip(1)
        .position(|line| *line == "#[test]")
        .unwrap_or(body.len());
    let speaks = body.iter().take(end).any(|line| line.contains(code));
    (!is_test || !speaks).then(|| format!("{code}: {file} has no test `{function}` of it"))
}

/// A rule is tried by the cases in its own folder, by a pair of files that a program writes, or, about the run, by the
/// cases in `corpus/syntax`. Every rule but that about panics has a case on which it is silent.
fn every_rule_is_tried() -> Result<(), Failed> {
    let output = binary::run(["rules", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let rules = document["rules"].as_array().ok_or("`rules` prints no list")?;
    let mut missing = Vec::new();
    for rule in rules {
        let code = rule["code"].as_str().ok_or("a rule has no code")?;
        if pairs().iter().chain(&pairs_of_ir()).any(|pair| pair.code == code) {
            continue; // A trial of its own holds both against the program.
        }
        if let Some(tried) = TRIED_ELSEWHERE.iter().find(|(rule, ..)| *rule == code) {
            missing.extend(untested(tried));
            continue;
        }
        let folder = if rule["family"] == "run" {
            "corpus/syntax".to_owned()
        } else {
            format!("corpus/rules/{code}")
        };
        let (mut fires, mut is_silent) = (false, false);
        for path in files(&folder, "ptx") {
            let wanted = expected(&Case::read(&path)?.text, &[])?;
            let names_it = wanted.iter().any(|one| one.code == code);
            fires |= names_it;
            is_silent |= !names_it;
        }
        if !fires {
            missing.push(format!("{code}: {folder} has no case that makes it fire"));
        }
        if !is_silent {
            missing.push(format!("{code}: {folder} has no case on which it is silent"));
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing.join("\n").into())
    }
}

fn every_golden_has_its_case() -> Result<(), Failed> {
    let stray: Vec<String> = files("corpus", "full")
        .into_iter()
        .filter(|golden| !golden.with_extension("ptx").exists() && !golden.with_extension("").exists())
        .map(|golden| golden.display().to_string())
        .collect();
    if stray.is_empty() {
        Ok(())
    } else {
        Err(format!("no case belongs to {}", stray.join(", ")).into())
    }
}
