//! Defects of public code, rebuilt as small kernels: what the sources in `corpus/defects/` say of themselves, and what the
//! program says of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cases::{Case, files};
use crate::expectation::{Expected, expected};
use crate::report;

/// The folder of the defects.
pub const FOLDER: &str = "corpus/defects";

/// The list of cases by rule, which the program carries.
pub const LIST: &str = "passes/rules/src/rules/cases.tsv";

/// One defect: a version with it and one without.
#[derive(Clone, Debug)]
pub struct Defect {
    /// The name of its folder.
    pub name: String,
    /// The issue, change or file that it comes from.
    pub source: String,
    /// The defect.
    pub defect: String,
    /// `A` wrong on every execution, `B` for some launches or inputs, `C` formally only.
    pub class: String,
    /// Of classes B and C: when it is wrong, or why it may not be.
    pub when: String,
    /// The settings under which it is found, as its source says.
    pub found: String,
    /// Rules that still have potential findings in the fixed version, as that says.
    pub left: Vec<String>,
    /// The findings that would be right: codes and lines.
    pub wanted: Vec<Expected>,
    wrong: Case,
    fixed: Case,
}

impl Defect {
    fn read(source: &Path) -> Result<Self, String> {
        let wrong = Case::read(source)?;
        let beside = source.to_string_lossy().replace("wrong.", "fixed.");
        let fixed = Case::read(Path::new(&beside))?;
        let folder = source.parent().and_then(Path::file_name).unwrap_or_default();
        let words = |name: &str| wrong.directive(name).map(|words| words.join(" "));
        let needed = |name: &str| words(name).ok_or_else(|| format!("{}: no `{name}:`", wrong.name));
        let defect = Self {
            name: folder.to_string_lossy().into_owned(),
            source: needed("source")?,
            defect: needed("defect")?,
            class: needed("class")?,
            when: words("when").unwrap_or_default(),
            found: needed("found")?,
            left: fixed.directive("left").unwrap_or_default(),
            wanted: expected(&wrong.text, &[])?,
            wrong,
            fixed,
        };
        if defect.fixed.directive("fix").is_none() {
            return Err(format!("{}: no `fix:`", defect.fixed.name));
        }
        match (defect.class.as_str(), defect.when.is_empty()) {
            ("A", true) | ("B" | "C", false) => Ok(defect),
            _ => Err(format!(
                "{}: class A says no `when:`, B and C do",
                defect.wrong.name
            )),
        }
    }

    /// Codes that would be right, each once.
    #[must_use]
    pub fn codes(&self) -> Vec<&str> {
        let mut codes: Vec<_> = self.wanted.iter().map(|one| one.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// The settings under which the program finds it: `default`, `its launch`, `potential`, `potential, its launch` or `missed`.
    ///
    /// # Errors
    ///
    /// A sentence if the program prints no document.
    pub fn result(&self) -> Result<&'static str, String> {
        let launch = self.wrong.directive("launch");
        let tries = [
            ("default", false, "definite"),
            ("its launch", true, "definite"),
            ("potential", false, "potential"),
            ("potential, its launch", true, "potential"),
        ];
        for (name, with_launch, certainty) in tries {
            let launch = match (&launch, with_launch) {
                (None, true) => continue,
                (Some(launch), true) => launch.as_slice(),
                (_, false) => &[],
            };
            let document = check(&self.wrong, launch, certainty == "potential")?;
            let is_it = |finding: &Value| {
                (finding["certainty"] == "definite") == (certainty == "definite") && self.is_wanted(finding)
            };
            if report::findings(&document).iter().any(is_it) {
                return Ok(name);
            }
        }
        Ok("missed")
    }

    /// True if a finding is one that would be right: the code, on the line, calls that are inlined counted.
    fn is_wanted(&self, finding: &Value) -> bool {
        let line = |place: &Value| place["line"].as_u64();
        let is_cuda = self.wrong.name.ends_with(".cu");
        let inlined = finding["source"]["inlined_at"].as_array();
        let lines: Vec<u64> = if is_cuda {
            inlined
                .into_iter()
                .flatten()
                .chain([&finding["source"]])
                .filter_map(line)
                .collect()
        } else {
            line(&finding["location"]).into_iter().collect()
        };
        self.wanted.iter().any(|one| {
            finding["code"] == one.code.as_str() && (one.line == 0 || lines.contains(&one.line.into()))
        })
    }

    /// The program's findings in the fixed version: codes by default, with its launch, too, and the codes of its potential
    /// findings.
    ///
    /// # Errors
    ///
    /// A sentence if the program prints no document.
    pub fn of_fixed(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let launch = self.fixed.directive("launch").unwrap_or_default();
        let codes = |document: &Value| -> Vec<String> {
            let mut codes: Vec<_> = report::codes(document).into_iter().map(str::to_owned).collect();
            codes.sort_unstable();
            codes.dedup();
            codes
        };
        let mut definite = codes(&check(&self.fixed, &[], false)?);
        definite.extend(codes(&check(&self.fixed, &launch, false)?));
        Ok((definite, codes(&check(&self.fixed, &launch, true)?)))
    }

    /// Writes into the source how it is found.
    ///
    /// # Errors
    ///
    /// A sentence if it can't be written.
    pub fn bless(&mut self, found: &str) -> Result<(), String> {
        let line = |found: &str| format!("// found: {found}\n");
        let text = self.wrong.text.replace(&line(&self.found), &line(found));
        fs::write(&self.wrong.path, &text).map_err(|error| error.to_string())?;
        found.clone_into(&mut self.found);
        self.wrong.text = text;
        Ok(())
    }
}

/// Checks the PTX of a case.
fn check(case: &Case, more: &[String], with_potential: bool) -> Result<Value, String> {
    let mut args = more.to_vec();
    if with_potential {
        args.extend(["-W".to_owned(), "potential".to_owned()]);
    }
    args.push(case.name.replace(".cu", ".ptx"));
    let (_, document) = report::check(args)?;
    match document["inputs"][0]["status"].as_str() {
        Some("checked") => Ok(document),
        _ => Err(format!("{} is not checked: {:#}", case.name, document["inputs"])),
    }
}

/// All defects, by name.
///
/// # Errors
///
/// A sentence about the first that is not as it should be.
pub fn defects() -> Result<Vec<Defect>, String> {
    let mut sources = files(FOLDER, "cu");
    let ptx = files(FOLDER, "ptx");
    sources.extend(
        ptx.into_iter()
            .filter(|file| !file.with_extension("cu").is_file()),
    );
    sources.retain(|file| file.file_stem().is_some_and(|stem| stem == "wrong"));
    sources.sort();
    sources.iter().map(|source| Defect::read(source)).collect()
}

/// The table of `corpus/defects/README.md`, with a line that counts.
#[must_use]
pub fn table(defects: &[Defect]) -> String {
    let mut text = String::new();
    for class in ["A", "B", "C"] {
        let of_class: Vec<_> = defects.iter().filter(|one| one.class == class).collect();
        let found = |how: &str| of_class.iter().filter(|one| one.found.contains(how)).count();
        let potential = found("potential");
        let _ = writeln!(
            text,
            "* class {class}: {}, of which {} by default, {} once the launch is stated, {potential} as potential findings, {} \
             missed",
            of_class.len(),
            found("default"),
            of_class.iter().filter(|one| one.found == "its launch").count(),
            found("missed")
        );
    }
    text.push_str("\n| case | what is wrong | class | should be | found | left in the fixed version |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for one in defects {
        let when = if one.when.is_empty() {
            String::new()
        } else {
            format!(": {}", one.when)
        };
        let _ = writeln!(
            text,
            "| [`{}`]({}) | {} | {}{when} | {} | {} | {} |",
            one.name,
            one.source,
            one.defect,
            one.class,
            one.codes().join(", "),
            one.found,
            one.left.join(", ")
        );
    }
    text
}

/// [`LIST`]: a line for each rule of each defect: code, case, source, what is wrong.
#[must_use]
pub fn list(defects: &[Defect]) -> String {
    let mut lines: Vec<String> = defects
        .iter()
        .flat_map(|one| {
            let line = |code: &str| format!("{code}\t{}\t{}\t{}\n", one.name, one.source, one.defect);
            one.codes().into_iter().map(line).collect::<Vec<_>>()
        })
        .collect();
    lines.sort();
    lines.concat()
}
