//! `ptxcheck explain`: one rule's documentation.

use std::fmt::Write as _;

use ptxcheck_passes::rule::Rule;
use ptxcheck_passes::rules;
use ptxcheck_passes::settings::Selector;
use ptxcheck_report::styles::BOLD;
use ptxcheck_report::{escape, markdown};

use super::rules::{default_level, level_word};
use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::output;

/// Prints the documentation of a rule.
#[must_use]
pub fn run(args: &ExplainArgs) -> Exit {
    match Selector::parse(&args.rule) {
        Ok(Selector::Rule(rule)) => output::print(&page(rule), args.color.into()),
        Ok(_) => output::complain(&format!(
            "`{}` stands for several rules; `ptxcheck rules` lists them",
            escape::line(&args.rule)
        )),
        Err(error) => output::complain(&escape::line(&error.to_string())),
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

fn page(rule: &Rule) -> String {
    let mut text = format!("{BOLD}{} {}{BOLD:#}\n{}\n\n", rule.code, rule.name, rule.summary);
    let potential = match (rule.can_be_definite, rule.can_be_potential) {
        (true, true) => "; its potential findings are off",
        (false, true) => "; all its findings are potential",
        _ => "",
    };
    let conditional = if rule.can_be_conditional() {
        ", and so are conditional ones"
    } else {
        ""
    };
    let level = level_word(default_level(rule));
    let _ = writeln!(text, "level       {level}{potential}{conditional}");
    let _ = writeln!(text, "family      {}", rule.family.as_str());
    if !rule.aliases.is_empty() {
        let _ = writeln!(text, "aliases     {}", rule.aliases.join(", "));
    }
    if !rule.guidelines.is_empty() {
        let _ = writeln!(text, "guidelines  {}", rule.guidelines.join(", "));
    }
    text.push('\n');
    text.push_str(&markdown::render(rule.documentation()));
    let cases = cases(rule);
    if !cases.is_empty() {
        text.push('\n');
        text.push_str(&markdown::render(&cases));
    }
    text
}
