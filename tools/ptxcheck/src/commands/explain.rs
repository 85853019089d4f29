//! `ptxcheck explain`: one rule's documentation.

use std::fmt::Write as _;

use clap::Args;
use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::rules::documentation;
use ptxcheck_passes::selector::{Selector, Subject};
use ptxcheck_passes::{Certainty, rules};
use ptxcheck_report::styles::BOLD;
use ptxcheck_report::view::View;
use ptxcheck_report::{escape, markdown};

use super::rules::{default_level, level_word};
use crate::exit::Exit;
use crate::options::Color;
use crate::output;

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A rule's code, name or alias
    #[arg(value_name = "RULE")]
    pub rule: String,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Prints the documentation of a rule.
#[must_use]
pub fn run(args: &ExplainArgs) -> Exit {
    match Selector::parse(&args.rule) {
        Ok(Selector {
            what: Subject::Rule(rule),
            certainty: Certainty::Definite,
        }) => output::print(&page(rule, &view()), args.color.into()),
        Ok(_) => output::complain(&format!(
            "`{}` stands for several rules; `ptxcheck rules` lists them",
            escape::line(&args.rule)
        )),
        Err(error) => output::complain(&escape::line(&error.to_string())),
    }
}

/// The width of the terminal.
fn view() -> View {
    View {
        width: output::width(),
        ..View::default()
    }
}

/// The defects of public code that the rule is about, as Markdown; empty where there are none.
fn cases(rule: &Rule) -> String {
    let mut text = String::new();
    for case in rules::cases(rule.code) {
        if text.is_empty() {
            text.push_str("## Defects of public code\n\n");
        }
        let _ = writeln!(
            text,
            "* {} (`corpus/defects/{}`)\n  {}",
            case.defect, case.name, case.source
        );
    }
    text
}

/// The levels of a rule's findings: `error; conditional findings are off by default`.
fn levels(rule: &Rule) -> String {
    let off = [Certainty::Conditional, Certainty::Potential].into_iter();
    let off: Vec<&str> = off
        .filter(|certainty| rule.can_be(*certainty))
        .map(Certainty::as_str)
        .collect();
    let off = off.join(" and ");
    match (rule.can_be(Certainty::Definite), off.as_str()) {
        (true, _) if default_level(rule) == Level::Allow => format!("off by default (`-W {}`)", rule.code),
        (true, "") => level_word(default_level(rule)).to_owned(),
        (true, off) => format!(
            "{}; {off} findings are off by default",
            level_word(default_level(rule))
        ),
        (false, off) => format!("off by default: all its findings are {off} (`-W {}`)", rule.code),
    }
}

/// The documentation of a rule as Markdown, for editors.
pub(super) fn as_markdown(rule: &Rule) -> String {
    let mut text = format!(
        "**{} {}**: {}\n\n{}",
        rule.code,
        rule.name,
        rule.summary,
        documentation(rule.code)
    );
    let cases = cases(rule);
    if !cases.is_empty() {
        let _ = write!(text, "\n\n{cases}");
    }
    text
}

fn page(rule: &Rule, view: &View) -> String {
    let mut text = format!(
        "{BOLD}{} {}{BOLD:#}\n{}\n\n",
        rule.code,
        rule.name,
        view.wrap(rule.summary, 0)
    );
    let mut facts = vec![
        ("level", levels(rule)),
        ("family", rule.family.as_str().to_owned()),
    ];
    if !rule.aliases.is_empty() {
        facts.push(("aliases", rule.aliases.join(", ")));
    }
    if !rule.guidelines.is_empty() {
        facts.push(("guidelines", rule.guidelines.join(", ")));
    }
    for (name, fact) in facts {
        let _ = writeln!(text, "{}", view.wrap(&format!("{name:12}{fact}"), 12));
    }
    text.push('\n');
    text.push_str(&markdown::render(documentation(rule.code), view));
    let cases = cases(rule);
    if !cases.is_empty() {
        text.push('\n');
        text.push_str(&markdown::render(&cases, view));
    }
    text
}
