//! The pages of the rules for the documentation's site, from the rules' own documentation:
//! `cargo run -p ptxcheck-passes --example rule_pages -- FOLDER`
//!
//! Writes `rules.md`, a table, and `rules/CODE.md` below the folder, and adds them to the folder's `SUMMARY.md`. Exit code 1 if
//! something cannot be written.
#![allow(clippy::print_stderr, reason = "the errors of a program")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use ptxcheck_passes::rule::{Family, Rule};
use ptxcheck_passes::rules;

/// Where the cases lie that rules are about.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: rule_pages FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<()> {
    let pages = folder.join("rules");
    std::fs::create_dir_all(&pages)?;
    let mut summary = std::fs::read_to_string(folder.join("SUMMARY.md"))?;
    summary.push_str("\n# Rules\n\n- [All rules](rules.md)\n");
    for family in Family::ALL {
        // A heading of the list alone, below which its rules fold.
        let _ = writeln!(summary, "- [{0}](rules/{1}.md)", heading(family), family.as_str());
        std::fs::write(
            pages.join(format!("{}.md", family.as_str())),
            format!("# {}\n{}", heading(family), family_table(family, "")),
        )?;
        for rule in rules::ALL.iter().filter(|rule| rule.family == family) {
            std::fs::write(pages.join(format!("{}.md", rule.code)), page(rule))?;
            let _ = writeln!(summary, "  - [{} {}](rules/{0}.md)", rule.code, rule.name);
        }
    }
    std::fs::write(folder.join("SUMMARY.md"), summary)?;
    std::fs::write(folder.join("rules.md"), table())
}

/// The heading of a family in the table.
const fn heading(family: Family) -> &'static str {
    match family {
        Family::Host => "Host symbols in device code",
        Family::Space => "Address spaces",
        Family::Params => "Kernel parameters",
        Family::Warp => "Warp collectives and barriers",
        Family::Image => "Images of fat binaries and linked files",
        Family::Device => "Other device code",
        Family::Async => "Asynchronous copies and barriers in memory",
        _ => "The run itself",
    }
}

/// The level of a rule's findings by default.
fn level(rule: &Rule) -> &'static str {
    use ptxcheck_passes::rule::Level;
    match (rule.definite, rule.can_be_conditional(), rule.can_be_potential) {
        _ if !rule.can_be_definite && rule.can_be_conditional() => {
            "off by default: conditional and potential findings"
        }
        _ if !rule.can_be_definite => "off by default: potential findings",
        (Level::Allow, ..) => "off by default",
        (Level::Warning, false, false) => "warning",
        (Level::Warning, true, false) => "warning; conditional findings off",
        (Level::Warning, false, true) => "warning; potential findings off",
        (Level::Warning, true, true) => "warning; conditional and potential findings off",
        (Level::Error, false, false) => "error",
        (Level::Error, true, false) => "error; conditional findings off",
        (Level::Error, false, true) => "error; potential findings off",
        (Level::Error, true, true) => "error; conditional and potential findings off",
    }
}

fn table() -> String {
    let mut text = String::from(
        "# All rules\n\n\
         A *definite* finding is wrong on every execution that reaches the place; *potential* findings are off until\n\
         `-W potential` or the rule's code asks for them. `ptxcheck rules` prints this table, `ptxcheck explain CODE` a page.\n",
    );
    for family in Family::ALL {
        let _ = write!(
            text,
            "\n## {}\n{}",
            heading(family),
            family_table(family, "rules/")
        );
    }
    text
}

/// The rules of a family. `folder`: the way to their pages.
fn family_table(family: Family, folder: &str) -> String {
    let mut text = format!(
        "\nFamily `{}`.\n\n| code | name | finds | level |\n| --- | --- | --- | --- |\n",
        family.as_str()
    );
    for rule in rules::ALL.iter().filter(|rule| rule.family == family) {
        let _ = writeln!(
            text,
            "| [{0}]({folder}{0}.md) | {1} | {2} | {3} |",
            rule.code,
            rule.name,
            rule.summary,
            level(rule)
        );
    }
    text
}

fn page(rule: &Rule) -> String {
    let mut text = format!("# {} {}\n\nFinds: {}.\n\n", rule.code, rule.name, rule.summary);
    let _ = write!(
        text,
        "| level | family | aliases | guidelines |\n| --- | --- | --- | --- |\n| {} | `{}` | {} | {} |\n\n",
        level(rule),
        rule.family.as_str(),
        rule.aliases.join(", "),
        rule.guidelines.join(", ")
    );
    text.push_str(rule.documentation().trim_end());
    text.push('\n');
    let mut cases = rules::cases(rule.code).peekable();
    if cases.peek().is_some() {
        text.push_str("\n## Defects of public code\n\nEach is rebuilt in the corpus, wrong and fixed.\n\n");
    }
    for case in cases {
        let _ = writeln!(
            text,
            "* {} ([source]({})), rebuilt as [`{}`]({REPOSITORY}/tree/main/corpus/defects/{2})",
            case.defect, case.source, case.name
        );
    }
    text
}
