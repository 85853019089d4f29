//! `ptxcheck rules`: the catalogue.

use std::fmt::Write as _;

use anstream::ColorChoice;
use clap::Args;
use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::rules::documentation;
use ptxcheck_passes::{Certainty, rules};
use ptxcheck_report::styles::{self, BOLD};
use serde::Serialize;

use crate::exit::Exit;
use crate::options::{Color, ListFormat};
use crate::output;

/// Arguments of `rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {
    /// Format of the list
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Prints the list of rules.
#[must_use]
pub fn run(args: &RulesArgs) -> Exit {
    match args.format {
        ListFormat::Text => output::print(&table(), args.color.into()),
        ListFormat::Json => match serde_json::to_string_pretty(&Document::new()) {
            Ok(text) => output::print(&(text + "\n"), ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        },
    }
}

fn table() -> String {
    let width = rules::ALL.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let mut text = format!(
        "{BOLD}{:6}  {:width$}  {:7}  {:6}  finds{BOLD:#}\n",
        "code", "name", "level", "family"
    );
    for rule in rules::ALL {
        let level = default_level(rule);
        let style = styles::level(level);
        let _ = writeln!(
            text,
            "{:6}  {:width$}  {style}{:7}{style:#}  {:6}  {}",
            rule.code,
            rule.name,
            level_word(level),
            rule.family.as_str(),
            rule.summary
        );
    }
    text
}

/// The level of a rule's findings when nothing is set: potential ones are off.
#[must_use]
pub fn default_level(rule: &Rule) -> Level {
    if rule.can_be(Certainty::Definite) {
        rule.definite
    } else {
        Level::Allow
    }
}

/// The word for a level in a list of rules.
#[must_use]
pub fn level_word(level: Level) -> &'static str {
    match level {
        Level::Allow => "off",
        Level::Warning | Level::Error => level.as_str(),
    }
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    rules: Vec<RuleJson>,
}

impl Document {
    fn new() -> Self {
        Self {
            schema_version: 1,
            rules: rules::ALL.iter().map(|rule| RuleJson::new(rule)).collect(),
        }
    }
}

#[derive(Serialize)]
struct RuleJson {
    code: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    guidelines: &'static [&'static str],
    family: &'static str,
    summary: &'static str,
    /// `allow`, `warning` or `error`.
    default_level: &'static str,
    /// `definite`, `potential`.
    certainties: Vec<&'static str>,
    /// Markdown.
    documentation: &'static str,
}

impl RuleJson {
    fn new(rule: &'static Rule) -> Self {
        Self {
            code: rule.code,
            name: rule.name,
            aliases: rule.aliases,
            guidelines: rule.guidelines,
            family: rule.family.as_str(),
            summary: rule.summary,
            default_level: default_level(rule).as_str(),
            certainties: Certainty::ALL
                .into_iter()
                .filter(|certainty| rule.can_be(*certainty))
                .map(Certainty::as_str)
                .collect(),
            documentation: documentation(rule.code),
        }
    }
}
