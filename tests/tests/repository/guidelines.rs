//! The table of guidelines for auditors, docs/src/guidelines.md, has what the rules of the program say.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptxcheck_tests::{binary, root};
use serde_json::Value;

/// Written in place of a guideline for a rule that stands for none.
const NONE: &str = "–";

/// A row of the table.
#[derive(Debug)]
struct Row {
    guideline: String,
    code: String,
    key: String,
    certainty: String,
    level: String,
    case: String,
}

/// The rows of the table of a page whose second column but the last is `default`.
fn rows(page: &str) -> Vec<Row> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line
            .strip_prefix("| ")?
            .strip_suffix(" |")?
            .split(" | ")
            .collect();
        let [guideline, _, rule, key, certainty, level, case] = cells[..] else {
            return None;
        };
        let code = rule.strip_prefix('[')?.split(']').next()?;
        Some(Row {
            guideline: guideline.to_owned(),
            code: code.to_owned(),
            key: key.trim().trim_matches('`').to_owned(),
            certainty: certainty.to_owned(),
            level: level.to_owned(),
            case: case.trim_matches('`').to_owned(),
        })
    });
    rows.collect()
}

/// The texts in a list of JSON.
fn texts<'a>(rule: &'a Value, key: &str) -> Vec<&'a str> {
    rule[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

/// The rules, as `ptxcheck rules` lists them.
fn rules() -> Vec<Value> {
    let output = binary::run(["rules", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["rules"].as_array().unwrap().clone()
}

/// The faults of a table: a test for each of them is below.
fn faults(rows: &[Row], rules: &[Value], names_it: impl Fn(&Row) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let Some(rule) = rules.iter().find(|rule| rule["code"] == row.code.as_str()) else {
            faults.push(format!("{}: no such rule", row.code));
            continue;
        };
        let guidelines = texts(rule, "guidelines");
        let stands_for = guidelines.contains(&row.guideline.as_str())
            || row.guideline == NONE && guidelines.is_empty() && !row.key.is_empty();
        if !stands_for {
            faults.push(format!(
                "{}: the rule does not stand for {}",
                row.code, row.guideline
            ));
        }
        if !row.key.is_empty() && !texts(rule, "aliases").contains(&row.key.as_str()) {
            faults.push(format!("{}: `{}` is no alias of the rule", row.code, row.key));
        }
        let certainties = texts(rule, "certainties").join(", ");
        if row.certainty != certainties {
            faults.push(format!("{}: its findings are {certainties}", row.code));
        }
        let level = match rule["default_level"].as_str().unwrap() {
            "allow" => "off",
            level => level,
        };
        if row.level != level {
            faults.push(format!("{}: its level is {level}", row.code));
        }
        if !names_it(row) {
            faults.push(format!("{}: {} has no finding of it", row.code, row.case));
        }
    }
    let pairs: BTreeSet<(&str, &str)> = rows
        .iter()
        .map(|row| (row.code.as_str(), row.guideline.as_str()))
        .collect();
    if pairs.len() != rows.len() {
        faults.push("a rule and a guideline have two rows".to_owned());
    }
    let keys: BTreeSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    for rule in rules {
        let code = rule["code"].as_str().unwrap();
        for guideline in texts(rule, "guidelines") {
            if !pairs.contains(&(code, guideline)) {
                faults.push(format!("{code}: the row for {guideline} is missing"));
            }
        }
        for key in texts(rule, "aliases") {
            if !keys.contains(key) {
                faults.push(format!("{code}: the message key `{key}` is missing"));
            }
        }
    }
    faults
}

/// True if a case names a rule: a text in its markers or its code, a binary file in what is expected of it.
fn case_names(row: &Row) -> bool {
    let path = root().join(&row.case);
    let expected = root().join(format!("{}.full", row.case));
    let is_case = ["corpus", "tests/src"]
        .iter()
        .any(|folder| Path::new(&row.case).starts_with(folder));
    is_case
        && path.is_file()
        && fs::read_to_string(&path)
            .or_else(|_| fs::read_to_string(&expected))
            .is_ok_and(|text| text.contains(&row.code))
}

#[test]
fn the_table_of_guidelines_is_that_of_the_rules() {
    let page = fs::read_to_string(root().join("docs/src/guidelines.md")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() > 20, "{} rows", rows.len());
    let faults = faults(&rows, &rules(), case_names);
    assert!(
        faults.is_empty(),
        "docs/src/guidelines.md:\n{}",
        faults.join("\n")
    );
}

#[test]
fn a_table_that_differs_from_the_rules_is_a_fault() {
    let rules = [serde_json::json!({
        "code": "PTX401", "guidelines": ["G-2.1"], "aliases": ["extra"], "certainties": ["definite"],
        "default_level": "error",
    })];
    let right = "| G-2.1 | masks | [PTX401](rules/PTX401.md) | `extra` | definite | error | `a.ptx` |";
    assert!(faults(&rows(right), &rules, |_| true).is_empty());
    for (from, to, wanted) in [
        ("PTX401](", "PTX999](", "PTX999: no such rule"),
        ("G-2.1", "G-2.2", "PTX401: the rule does not stand for G-2.2"),
        ("G-2.1", "G-2.2", "PTX401: the row for G-2.1 is missing"),
        ("`extra`", "`other`", "PTX401: `other` is no alias of the rule"),
        ("`extra`", "", "PTX401: the message key `extra` is missing"),
        ("definite", "potential", "PTX401: its findings are definite"),
        ("error", "off", "PTX401: its level is error"),
    ] {
        let found = faults(&rows(&right.replace(from, to)), &rules, |_| true);
        assert!(found.iter().any(|fault| fault == wanted), "{to}: {found:?}");
    }
    let found = faults(&rows(right), &rules, |_| false);
    assert_eq!(found, ["PTX401: a.ptx has no finding of it"]);
}
