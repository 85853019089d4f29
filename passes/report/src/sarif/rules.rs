//! The rules of a document, with their help.

use ptxcheck_passes::Certainty;
use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::rules;

use super::document::{Configuration, Help, ReportingDescriptor, RuleProperties};
use super::limits::{DESCRIPTION_CHARACTERS, NAME_CHARACTERS, SHOWN_TAGS};
use crate::escape::cut;
use crate::pages::RulePages;

/// A rule as the document describes it.
pub(super) fn descriptor(rule: &'static Rule, pages: &RulePages) -> ReportingDescriptor {
    let documentation = rules::documentation(rule.code);
    let help = if documentation.is_empty() {
        rule.summary
    } else {
        documentation
    };
    let tags = [rule.family.as_str()]
        .into_iter()
        .chain(rule.guidelines.iter().copied())
        .take(SHOWN_TAGS);
    let is_on = rule.can_be(Certainty::Definite) && rule.definite != Level::Allow;
    ReportingDescriptor {
        id: rule.code,
        name: cut(rule.name, NAME_CHARACTERS),
        short_description: cut(rule.summary, DESCRIPTION_CHARACTERS).into(),
        full_description: cut(&first_paragraph(help), DESCRIPTION_CHARACTERS).into(),
        help_uri: pages.of(rule),
        help: Help {
            // Readers without Markdown are told where the text is, which would be here twice.
            text: match documentation {
                "" => help.to_owned(),
                _ => format!("`ptxcheck explain {}` shows it", rule.code),
            },
            markdown: help.to_owned(),
        },
        default_configuration: Configuration {
            enabled: is_on,
            level: level(if is_on { rule.definite } else { Level::Warning }),
        },
        properties: RuleProperties {
            tags: tags.collect(),
            precision: if rule.can_be(Certainty::Definite) {
                "very-high"
            } else {
                "medium"
            },
            severity: level(if rule.can_be(Certainty::Definite) {
                rule.definite
            } else {
                Level::Warning
            }),
        },
    }
}

/// The word for a level, which is the same in SARIF and in GitHub's `problem.severity`.
pub(super) const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning | Level::Allow => "warning",
    }
}

/// The first paragraph of Markdown that is not a heading, on one line.
fn first_paragraph(markdown: &str) -> String {
    let lines = markdown
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty() || line.starts_with('#'));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use ptxcheck_passes::rule::{Family, Level, Rule};
    use ptxcheck_passes::rules;

    use super::{RulePages, descriptor};

    #[test]
    fn every_rule_has_help_and_fits() {
        for rule in rules::ALL {
            let told = descriptor(rule, &RulePages::default());
            assert!(told.help.markdown.starts_with("## "), "{}", told.id);
            let description = &told.full_description.text;
            assert!(
                !description.is_empty() && !description.starts_with('#'),
                "{}",
                told.id
            );
            assert!(!description.ends_with('…'), "{}: {description}", told.id);
            assert_eq!(told.properties.tags[0], rule.family.as_str());
            assert_eq!(told.help_uri, None);
            assert!(told.help.text.len() < 60, "{}: the text is there twice", told.id);
        }
    }

    #[test]
    fn a_rule_of_a_program_is_described_by_its_summary() {
        static OWN: Rule = Rule::new("OWN1", "own", Family::Warp, "it is wrong").at_level(Level::Warning);
        let told = descriptor(&OWN, &RulePages::default());
        assert_eq!(told.help.text, "it is wrong");
        assert_eq!(
            (
                told.default_configuration.enabled,
                told.default_configuration.level
            ),
            (true, "warning")
        );
    }
}
