//! Lists the rule files, so that adding a rule touches no other file: writes the `mod` declarations, the table
//! of rules sorted by code, that of their checks, and each rule's documentation, taken from its module documentation.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let folder = Path::new(&root).join("src").join("rules");
    println!("cargo::rerun-if-changed={}", folder.display());

    let mut rules: Vec<(String, String, String)> = Vec::new();
    let mut checked: Vec<String> = Vec::new();
    let mut modules = String::new();
    for entry in fs::read_dir(&folder).expect("src/rules is a folder") {
        let path = entry.expect("a readable folder").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("a UTF-8 file name")
            .to_owned();
        let text = fs::read_to_string(&path).expect("a readable rule file");
        let _ = writeln!(modules, "#[path = {path:?}]\nmod {stem};");
        let code = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("code: \"")?.strip_suffix("\","))
            .unwrap_or_else(|| {
                panic!(
                    "{} has no rule: code that rules share lies in src/support",
                    path.display()
                )
            });
        let docs = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .map(|line| line.strip_prefix("//! ").unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n");
        if text.contains("const CHECK: Check") {
            checked.push(stem.clone());
        }
        rules.push((code.to_owned(), stem, docs));
    }
    rules.sort();

    let mut out = modules;
    let _ = writeln!(
        out,
        "/// All rules, sorted by code.\npub static ALL: &[&Rule] = &["
    );
    for (_, stem, _) in &rules {
        let _ = writeln!(out, "    &{stem}::RULE,");
    }
    let _ = writeln!(
        out,
        "];\n/// The rules with a check, sorted by code.\npub(crate) static CHECKS: &[(&Rule, Check)] = &["
    );
    for (_, stem, _) in rules.iter().filter(|(_, stem, _)| checked.contains(stem)) {
        let _ = writeln!(out, "    (&{stem}::RULE, {stem}::CHECK),");
    }
    let _ = writeln!(out, "];\nstatic DOCUMENTATION: &[(&str, &str)] = &[");
    for (code, _, docs) in &rules {
        let _ = writeln!(out, "    ({code:?}, {docs:?}),");
    }
    let _ = writeln!(out, "];");
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("rules.rs");
    fs::write(target, out).expect("a writable OUT_DIR");
}
