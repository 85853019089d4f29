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
    for rule in rules::ALL {
        std::fs::write(pages.join(format!("{}.md", rule.code)), page(rule))?;
        let _ = writeln!(summary, "- [{} {}](rules/{0}.md)", rule.code, rule.name);
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
const fn level(rule: &Rule) -> &'static str {
    match (rule.can_be_definite, rule.can_be_potential) {
        (false, _) => "potential: off until asked for",
        (true, false) => rule.definite.as_str(),
        (true, true) => match rule.definite {
            ptxcheck_passes::rule::Level::Allow => "allow (off)",
            ptxcheck_passes::rule::Level::Warning => "warning; potential findings off",
            ptxcheck_passes::rule::Level::Error => "error; potential findings off",
        },
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
            "\n## {}\n\nFamily `{}`.\n\n| code | name | finds | level |\n| --- | --- | --- | --- |\n",
            heading(family),
            family.as_str()
        );
        for rule in rules::ALL.iter().filter(|rule| rule.family == family) {
            let _ = writeln!(
                text,
                "| [{0}](rules/{0}.md) | {1} | {2} | {3} |",
                rule.code,
                rule.name,
                rule.summary,
                level(rule)
            );
        }
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
