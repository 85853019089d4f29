//! The pages of the rules, from the rules' own documentation.

use std::fmt::Write as _;

use ptxcheck_passes::rule::{Family, Rule};
use ptxcheck_passes::rules::{self, documentation};

use crate::code::lines;
use crate::names;

/// The page that lists all rules.
pub(crate) const LIST: &str = "rules.md";

pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    rules::ALL.iter().copied()
}

/// The file of a rule in the repository.
pub(crate) fn file(rule: &Rule) -> String {
    format!("passes/rules/src/rules/{}.rs", rule.name.replace('-', "_"))
}

pub(crate) fn page_name(rule: &Rule) -> String {
    format!("rules/{}.md", rule.code)
}

/// The part of the site's table of contents about rules: they fold below the headings of their families.
pub(crate) fn summary() -> String {
    let mut text = format!("\n# Rules\n\n- [All rules]({LIST})\n");
    for family in Family::ALL {
        let _ = writeln!(text, "- [{}](rules/{}.md)", heading(family), family.as_str());
        for rule in all().filter(|rule| rule.family == family) {
            let _ = writeln!(text, "  - [{} {}]({})", rule.code, rule.name, page_name(rule));
        }
    }
    text
}

/// Names and texts of the pages about rules and families.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut pages = vec![(LIST.to_owned(), table())];
    for family in Family::ALL {
        let text = format!("# {}\n{}", heading(family), family_table(family, ""));
        pages.push((format!("rules/{}.md", family.as_str()), text));
    }
    pages.extend(all().map(|rule| (page_name(rule), page(rule))));
    pages
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
    use ptxcheck_passes::Certainty;
    use ptxcheck_passes::rule::Level;
    let can_be = |certainty| rule.can_be(certainty);
    match (
        rule.definite,
        can_be(Certainty::Conditional),
        can_be(Certainty::Potential),
    ) {
        (_, true, false) if !can_be(Certainty::Definite) => "off by default: conditional findings",
        (_, true, true) if !can_be(Certainty::Definite) => {
            "off by default: conditional and potential findings"
        }
        _ if !can_be(Certainty::Definite) => "off by default: potential findings",
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
    let names = names::of(rule.code);
    let code = |words: &[&str]| match words {
        [] => String::new(),
        words => format!("`{}`", words.join("`, `")),
    };
    text.push_str("| | |\n| --- | --- |\n");
    for (word, value) in [
        ("level", level(rule).to_owned()),
        ("family", format!("[`{0}`]({0}.md)", rule.family.as_str())),
        ("about", code(&names)),
        ("other names", code(rule.aliases)),
        ("guidelines", rule.guidelines.join(", ")),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "| {word} | {value} |");
        }
    }
    text.push('\n');
    text.push_str(&with_links(documentation(rule.code).trim_end(), rule.code));
    text.push('\n');
    let mut cases = rules::cases(rule.code).peekable();
    if cases.peek().is_some() {
        text.push_str("\n## Defects of public code\n\nEach is rebuilt in the corpus, wrong and fixed.\n\n");
    }
    for case in cases {
        let _ = writeln!(
            text,
            "* {} ([source]({})), rebuilt as `corpus/defects/{}`",
            case.defect, case.source, case.name
        );
    }
    text
}

/// A text in which the codes of other rules are links to their pages.
fn with_links(text: &str, own: &str) -> String {
    let mut result = String::new();
    for (line, is_code) in lines(text) {
        if is_code || line.starts_with('#') {
            result.push_str(line);
            continue;
        }
        // Every other part is code.
        for (number, part) in line.split('`').enumerate() {
            if number > 0 {
                result.push('`');
            }
            match number % 2 {
                0 => link_codes(part, own, &mut result),
                _ => result.push_str(part),
            }
        }
    }
    result
}

fn link_codes(text: &str, own: &str, result: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find("PTX") {
        let code = rest.get(at..at + own.len()).unwrap_or_default();
        let is_linked = rest[..at].ends_with('[');
        result.push_str(&rest[..at]);
        if code != own && !is_linked && rules::find(code).is_some() {
            let _ = write!(result, "[{code}]({code}.md)");
            rest = &rest[at + code.len()..];
        } else {
            result.push_str("PTX");
            rest = &rest[at + "PTX".len()..];
        }
    }
    result.push_str(rest);
}
