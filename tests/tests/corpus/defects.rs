//! Holds `corpus/defects` against the program: how each defect is found, that its fixed version is silent, and that the table
//! and the list say so. `BLESS=1` writes what is found into the sources, the table and the list.

use std::fs;

use libtest_mimic::{Failed, Trial};
use ptxcheck_tests::defects::{Defect, FOLDER, LIST, defects, list, table};
use ptxcheck_tests::{binary, root};

/// Least number of defects, and of those of class A.
const LEAST: (usize, usize) = (30, 12);

const TABLE: (&str, &str) = ("<!-- table -->\n", "<!-- end of table -->\n");

/// A trial for each defect.
pub fn trials() -> Vec<Trial> {
    match defects() {
        Ok(all) => all
            .into_iter()
            .map(|one| Trial::test(format!("defect {}", one.name), move || Ok(try_one(one)?)))
            .collect(),
        Err(problem) => vec![Trial::test("the defects are read", || Err(problem.into()))],
    }
}

/// The table and the list, made of what the sources of the defects say: with `BLESS=1` these are written first.
pub fn table_trial() -> Trial {
    Trial::test("the table and the list of defects", table_and_list)
}

pub fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

fn try_one(mut defect: Defect) -> Result<(), String> {
    let found = defect.result()?;
    if found != defect.found {
        if !is_blessing() {
            return Err(format!(
                "it says `found: {}`, and the result is `{found}`; BLESS=1 writes that",
                defect.found
            ));
        }
        defect.bless(found)?;
    }
    let (definite, potential) = defect.of_fixed()?;
    if !definite.is_empty() {
        return Err(format!("the fixed version is not silent: {definite:?}"));
    }
    if potential != defect.left {
        return Err(format!(
            "the fixed version has potential findings of {potential:?}, and its `left:` says {:?}",
            defect.left
        ));
    }
    Ok(())
}

fn table_and_list() -> Result<(), Failed> {
    let all = defects()?;
    let certain = all.iter().filter(|one| one.class == "A").count();
    if all.len() < LEAST.0 || certain < LEAST.1 {
        return Err(format!("{} defects, {certain} of class A", all.len()).into());
    }
    let file = root().join(FOLDER).join("README.md");
    let text = fs::read_to_string(&file)?;
    let parts = text.split_once(TABLE.0).and_then(|(head, rest)| {
        let (_, tail) = rest.split_once(TABLE.1)?;
        Some((head, tail))
    });
    let (head, tail) = parts.ok_or("README.md has no marks for its table")?;
    let wanted = format!("{head}{}{}{}{tail}", TABLE.0, table(&all), TABLE.1);
    hold(&file, &text, &wanted)?;
    let file = root().join(LIST);
    hold(&file, &fs::read_to_string(&file).unwrap_or_default(), &list(&all))?;
    explained(&all)
}

/// `ptxcheck explain` has the cases of a rule.
fn explained(all: &[Defect]) -> Result<(), Failed> {
    for one in all {
        for code in one.codes() {
            let output = binary::run(["explain", code, "--color", "never"]);
            let page = String::from_utf8_lossy(&output.stdout);
            // A rule that does not exist yet has no page.
            if output.status.success() && !(page.contains(&one.name) && page.contains(&one.source)) {
                return Err(format!("`explain {code}` lacks {}", one.name).into());
            }
        }
    }
    Ok(())
}

/// A file is as it should be; `BLESS=1` writes it.
fn hold(file: &std::path::Path, text: &str, wanted: &str) -> Result<(), Failed> {
    if text == wanted {
        return Ok(());
    }
    if is_blessing() {
        return Ok(fs::write(file, wanted)?);
    }
    let line = text.lines().zip(wanted.lines()).find(|(is, should)| is != should);
    Err(format!("{} is out of date (BLESS=1 writes it): {line:#?}", file.display()).into())
}
