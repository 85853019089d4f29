use std::path::PathBuf;

use super::{Baseline, Entry};
use crate::group::Group;
use crate::scope::Root;
use crate::settings::{Change, LevelSetting, Selector};
use crate::{Bytes, Input, Level, Outcome, Settings, check};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel with barriers whose mask is 0: one for each line of `k.cu`; without line information for 0.
fn kernel(name: &str, lines: &[u32]) -> String {
    let body: String = lines
        .iter()
        .map(|line| match line {
            0 => "bar.warp.sync 0;\n".to_owned(),
            line => format!(".loc 1 {line} 5\nbar.warp.sync 0;\n"),
        })
        .collect();
    format!(".visible .entry {name}()\n{{\n{body}ret;\n}}\n")
}

fn run(settings: &Settings, modules: &[(&str, String)]) -> Outcome {
    let input = |(name, kernels): &(&str, String)| Input {
        name: (*name).to_owned(),
        bytes: Bytes::Memory(format!("{HEAD}{kernels}.file 1 \"/no/such/k.cu\"\n").into_bytes()),
    };
    check(modules.iter().map(input).collect(), settings)
}

/// The baseline of a run, written and read again.
fn recorded_baseline(modules: &[(&str, String)]) -> Baseline {
    let settings = Settings::default();
    let mut baseline = Baseline::default();
    baseline.record(&run(&settings, modules), &settings);
    Baseline::parse("b.json", &baseline.to_text()).unwrap()
}

fn open_groups(outcome: &Outcome) -> Vec<&Group> {
    let is_open = |group: &&Group| group.suppressed.is_none();
    outcome.groups.iter().filter(is_open).collect()
}

/// Numbers of known groups, of others, and of entries that are gone.
fn known_new_and_missing_counts(
    baseline: &Baseline,
    settings: &Settings,
    modules: &[(&str, String)],
) -> (usize, usize, usize) {
    let mut outcome = run(settings, modules);
    baseline.apply(&mut outcome, settings);
    let (all, open) = (outcome.groups.len(), open_groups(&outcome).len());
    (all - open, open, outcome.decisions.gone.len())
}

fn known_new_and_missing_counts_by_default(
    baseline: &Baseline,
    modules: &[(&str, String)],
) -> (usize, usize, usize) {
    known_new_and_missing_counts(baseline, &Settings::default(), modules)
}

#[test]
fn an_entry_suppresses_as_many_groups_as_its_count() {
    let baseline = recorded_baseline(&[("a.ptx", kernel("k", &[4, 5]))]);
    assert_eq!(baseline.entries().len(), 1);
    assert_eq!(baseline.entries()[0].count, 2);
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[4, 5]))]),
        (2, 0, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[14, 25]))]),
        (2, 0, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[4, 5, 6]))]),
        (2, 1, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[4]))]),
        (1, 0, 1)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[]))]),
        (0, 0, 1)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("other", &[4]))]),
        (0, 1, 1)
    );
}

#[test]
fn an_entry_stands_for_all_of_a_function_where_one_side_has_no_lines() {
    let lines = [("a.ptx", kernel("k", &[4, 5]))];
    let none = [("a.ptx", kernel("k", &[0, 0]))];
    assert_eq!(
        known_new_and_missing_counts_by_default(&recorded_baseline(&lines), &none),
        (1, 0, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&recorded_baseline(&none), &lines),
        (2, 0, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&recorded_baseline(&none), &[("a.ptx", kernel("l", &[0]))]),
        (0, 1, 1)
    );
}

#[test]
fn entries_of_inputs_that_were_not_analysed_are_kept() {
    let both = [("a.ptx", kernel("k", &[4])), ("b.ptx", kernel("l", &[5]))];
    let baseline = recorded_baseline(&both);
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &both),
        (2, 0, 0)
    );
    let reversed = [both[1].clone(), both[0].clone()];
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &reversed),
        (2, 0, 0)
    );
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", kernel("k", &[]))]),
        (0, 0, 1)
    );
    // An input that can't be read in full.
    assert_eq!(
        known_new_and_missing_counts_by_default(&baseline, &[("a.ptx", "broken {".to_owned())]).2,
        0
    );
    // A rule that is off, and another command.
    let off = Settings {
        levels: vec![LevelSetting {
            selector: Selector::parse("PTX407").unwrap(),
            level: Level::Allow,
            change: Change::Set,
        }],
        ..Settings::default()
    };
    assert_eq!(known_new_and_missing_counts(&baseline, &off, &both), (0, 0, 0));
    let audit = Settings {
        images_only: true,
        ..Settings::default()
    };
    assert_eq!(known_new_and_missing_counts(&baseline, &audit, &both), (0, 0, 0));
}

#[test]
fn forbidden_findings_are_not_suppressed() {
    let modules = [("a.ptx", kernel("k", &[4]))];
    let forbidding = Settings {
        levels: vec![LevelSetting {
            selector: Selector::parse("PTX407").unwrap(),
            level: Level::Error,
            change: Change::Forbid,
        }],
        ..Settings::default()
    };
    assert_eq!(
        known_new_and_missing_counts(&recorded_baseline(&modules), &forbidding, &modules).1,
        1
    );
    let mut baseline = Baseline::default();
    assert_eq!(baseline.record(&run(&forbidding, &modules), &forbidding), 0);
}

#[test]
fn strict_runs_report_entries_without_findings() {
    let baseline = recorded_baseline(&[("a.ptx", kernel("k", &[4])), ("b.ptx", kernel("l", &[5]))]);
    let settings = Settings {
        is_strict: true,
        ..Settings::default()
    };
    let mut outcome = run(
        &settings,
        &[("a.ptx", kernel("k", &[])), ("b.ptx", kernel("l", &[5]))],
    );
    baseline.apply(&mut outcome, &settings);
    let open = open_groups(&outcome);
    let finding = &outcome.findings[open[0].first()];
    assert_eq!((open.len(), finding.rule.code), (1, "PTX906"));
    let place = finding.location.as_ref().unwrap();
    // The file has a line for its beginning, and one for its version.
    assert_eq!((place.file.as_str(), place.line), ("b.json", 4));
    assert_eq!(
        finding.message,
        "this entry of the baseline no longer occurs: PTX407 in `k`"
    );
}

#[test]
fn entries_recorded_by_other_runs_stay() {
    let settings = Settings::default();
    let record = |baseline: &mut Baseline, modules: &[(&str, String)]| {
        baseline.record(&run(&settings, modules), &settings);
    };
    let mut baseline = Baseline::default();
    let a = [("a.ptx", kernel("k", &[4]))];
    let b = [("b.ptx", kernel("l", &[4, 5]))];
    record(&mut baseline, &a);
    record(&mut baseline, &b);
    assert_eq!(known_new_and_missing_counts_by_default(&baseline, &a), (1, 0, 0));
    assert_eq!(known_new_and_missing_counts_by_default(&baseline, &b), (2, 0, 0));
    // The same in the other order, and twice.
    let mut other = Baseline::default();
    record(&mut other, &b);
    record(&mut other, &a);
    record(&mut other, &b);
    assert_eq!(baseline.to_text(), other.to_text());
    // The next write drops the entries of fixed findings, and no others.
    record(&mut baseline, &[("b.ptx", kernel("l", &[4]))]);
    let left: Vec<(&str, u32)> = baseline
        .entries()
        .iter()
        .map(|entry| (entry.functions[0].as_str(), entry.count))
        .collect();
    assert_eq!(left, [("k", 1), ("l", 1)]);
    // A header that two inputs have.
    let header = |name| [(name, kernel("k", &[4]))];
    let mut shared = Baseline::default();
    record(&mut shared, &header("a.ptx"));
    record(&mut shared, &header("b.ptx"));
    assert_eq!((shared.entries().len(), shared.entries()[0].count), (1, 1));
    assert_eq!(shared.entries()[0].inputs, ["a.ptx", "b.ptx"]);
    assert_eq!(
        known_new_and_missing_counts_by_default(&shared, &[("a.ptx", kernel("k", &[]))]),
        (0, 0, 0)
    );
    record(&mut shared, &[("a.ptx", kernel("k", &[]))]);
    assert_eq!(shared.entries()[0].inputs, ["b.ptx"]);
}

#[test]
fn inputs_are_named_from_the_folder_of_the_configuration() {
    let settings = Settings {
        root: Root {
            root: Some(PathBuf::from("/src")),
            working: Some(PathBuf::from("/src/build")),
        },
        ..Settings::default()
    };
    let mut baseline = Baseline::default();
    baseline.record(&run(&settings, &[("./k.ptx", kernel("k", &[4]))]), &settings);
    assert_eq!(baseline.entries()[0].inputs, ["build/k.ptx"]);
}

#[test]
fn a_text_is_what_was_written_or_an_error_with_its_place() {
    let baseline = recorded_baseline(&[("a.ptx", kernel("k", &[4])), ("b.ptx", kernel("l", &[0]))]);
    let text = baseline.to_text();
    assert_eq!(
        text.lines().filter(|line| line.starts_with("{\"file\"")).count(),
        2
    );
    let read = Baseline::parse("b.json", &text).unwrap();
    assert_eq!(read.to_text(), text);
    assert_eq!(
        read.entries()
            .iter()
            .map(|entry: &Entry| entry.at.0)
            .collect::<Vec<_>>(),
        [4, 5]
    );
    assert_eq!(
        Baseline::parse("b.json", &text.replace('\n', "\r\n"))
            .unwrap()
            .to_text(),
        text
    );
    for (text, wanted) in [
        ("", "b.json:1:1: EOF"),
        ("{}", "b.json:1:2: missing field `version`"),
        ("{\"version\": 2}", "b.json:1:1: this baseline has version 2"),
        ("{\"version\": 1,\n\"findings\": 3}", "b.json:2:13: invalid type"),
        (
            "{\"version\": 1,\n\"findings\": [\n{}]}",
            "b.json:3:2: missing field",
        ),
        (
            "{\"version\": 1,\n\"findings\": [\n  7]}",
            "b.json:3:3: invalid type",
        ),
        (
            &text.replace("\"count\":1", "\"count\":0"),
            "b.json:4:1: the count of a finding is at least 1",
        ),
        (&text.replace("\"count\":1", "\"count\":-1"), "b.json:4:"),
        (&text.replace("\"count\":1", "\"count\":1e99"), "b.json:4:"),
        (
            &text.replace("\"k\"", &format!("\"{}\"", "k".repeat(70_000))),
            "b.json:5:1: a text in a baseline has at most 16384 bytes",
        ),
        (
            &text.replace("\"inputs\":[", &format!("\"inputs\":[{}", "\"x\",".repeat(2_000))),
            "at most 1024 inputs",
        ),
        (
            &format!("{{\"version\": 1, \"findings\": {}", "[".repeat(100_000)),
            "b.json:1:",
        ),
    ] {
        let error = Baseline::parse("b.json", text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(error.len() < 400, "{error}");
    }
}
