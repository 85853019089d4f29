//! The rules of a run: ours, and those that a program adds.

use std::fmt;

use crate::checks::Check;
use crate::rule::{Family, Rule};
use crate::rules;

/// The rules of a run, in the order of their codes. By default, ours.
///
/// ```
/// use ptxcheck_rules::registry::Registry;
///
/// let registry = Registry::default();
/// assert_eq!(registry.find("zero-mask").map(|rule| rule.code), Some("PTX407"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Sorted by code.
    added: Vec<(&'static Rule, Check)>,
}

/// Why a rule can't be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// A rule has this code, name or alias.
    Taken(&'static str),
    /// The code or name is empty, or it is a word of selectors: a family, a guideline, `all`, `potential`, `conditional`, or one with a colon.
    NoName(&'static str),
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(word) => write!(formatter, "another rule is called `{word}`"),
            Self::NoName(word) => write!(formatter, "no rule can be called `{word}`"),
        }
    }
}

impl std::error::Error for Refused {}

/// The words of selectors that are neither a rule nor a family.
pub(crate) const ALL: &str = "all";
pub(crate) const POTENTIAL: &str = "potential";
pub(crate) const CONDITIONAL: &str = "conditional";

/// True if it is a word that no rule can be called.
fn is_reserved(word: &str) -> bool {
    let is_family = Family::ALL.iter().any(|family| family.as_str() == word);
    is_family || [ALL, POTENTIAL, CONDITIONAL].contains(&word) || word.contains(':')
}

/// All that a rule is called.
fn words(rule: &'static Rule) -> impl Iterator<Item = &'static str> {
    [rule.code, rule.name]
        .into_iter()
        .chain(rule.aliases.iter().copied())
}

impl Registry {
    /// With one rule more, and its check.
    ///
    /// # Errors
    ///
    /// [`Refused`], if another rule has its code, name or alias; upper and lower case are equal.
    ///
    /// ```
    /// use ptxcheck_rules::checks::Check;
    /// use ptxcheck_rules::registry::{Refused, Registry};
    /// use ptxcheck_rules::rule::{Family, Rule};
    ///
    /// static NAMED: Rule = Rule::new(
    ///     "ACME002",
    ///     "nameless-kernel",
    ///     Family::Device,
    ///     "a kernel has a name of one letter",
    /// );
    /// const CHECK: Check = Check::Module(|module, report| {
    ///     for (id, ..) in module.module.bodies() {
    ///         if module.module.function_name(id).len() < 2 {
    ///             report.definite(ptxcheck_rules::context::Place::Function(id), "call it something");
    ///         }
    ///     }
    /// });
    /// let registry = Registry::default().with(&NAMED, CHECK)?;
    /// assert_eq!(registry.with(&NAMED, CHECK).unwrap_err(), Refused::Taken("ACME002"));
    /// # Ok::<(), Refused>(())
    /// ```
    pub fn with(mut self, rule: &'static Rule, check: Check) -> Result<Self, Refused> {
        for word in words(rule) {
            if word.is_empty() || is_reserved(word) || self.guideline(word).is_some() {
                return Err(Refused::NoName(word));
            }
            if self.find(word).is_some() {
                return Err(Refused::Taken(word));
            }
        }
        let place = self.added.partition_point(|(known, _)| known.code < rule.code);
        self.added.insert(place, (rule, check));
        Ok(self)
    }

    /// All rules: ours in the order of their codes, then those that were added.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> + '_ {
        let added = self.added.iter().map(|(rule, _)| *rule);
        rules::ALL.iter().copied().chain(added)
    }

    /// The rules that look at code or images, in the same order, with their checks.
    pub(crate) fn checks(&self) -> impl Iterator<Item = (&'static Rule, Check)> + '_ {
        rules::CHECKS.iter().copied().chain(self.added.iter().copied())
    }

    /// The check of a rule; `None` if it looks at no code.
    pub fn check(&self, rule: &Rule) -> Option<Check> {
        let mut checks = self.checks();
        checks.find_map(|(known, check)| std::ptr::eq(known, rule).then_some(check))
    }

    /// The rule with this code, name or alias; case does not matter.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<&'static Rule> {
        self.rules()
            .find(|rule| words(rule).any(|known| known.eq_ignore_ascii_case(text)))
    }

    /// The guidelines that rules stand for, some of them several times.
    pub fn guidelines(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.rules().flat_map(|rule| rule.guidelines.iter().copied())
    }

    /// The guideline with this number, `G-2.1`, if a rule stands for it; case does not matter.
    #[must_use]
    pub fn guideline(&self, text: &str) -> Option<&'static str> {
        self.guidelines()
            .find(|guideline| guideline.eq_ignore_ascii_case(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Refused, Registry};
    use crate::checks::Check;
    use crate::rule::{Family, Rule};
    use crate::selector::Selector;

    const CHECK: Check = Check::Module(|_, _| {});

    static MINE: Rule = Rule::new("ACME001", "my-rule", Family::Device, "mine");
    static TAKEN: Rule = Rule::new("ACME002", "zero-mask", Family::Device, "mine");
    static FAMILY: Rule = Rule::new("warp", "w", Family::Device, "mine");
    static CERTAINTY: Rule = Rule::new("ACME003", "conditional", Family::Device, "mine");

    #[test]
    fn a_rule_is_added_once_and_under_names_of_its_own() {
        let registry = Registry::default().with(&MINE, CHECK).unwrap();
        assert_eq!(registry.find("MY-RULE").map(|rule| rule.code), Some("ACME001"));
        assert_eq!(
            registry.clone().with(&MINE, CHECK).err(),
            Some(Refused::Taken("ACME001"))
        );
        assert_eq!(
            registry.clone().with(&TAKEN, CHECK).err(),
            Some(Refused::Taken("zero-mask"))
        );
        assert_eq!(
            registry.clone().with(&FAMILY, CHECK).err(),
            Some(Refused::NoName("warp"))
        );
        assert_eq!(
            registry.with(&CERTAINTY, CHECK).err(),
            Some(Refused::NoName("conditional"))
        );
    }

    #[test]
    fn rules_without_a_check_are_about_the_run() {
        let registry = Registry::default();
        for rule in registry.rules() {
            let is_about_run = rule.problem().is_some() || rule.is_about_configuration();
            assert_eq!(registry.check(rule).is_none(), is_about_run, "{rule:?}");
        }
    }

    #[test]
    fn selectors_read_what_they_print() {
        let registry = Registry::default().with(&MINE, CHECK).unwrap();
        for text in [
            "all",
            "potential",
            "warp",
            "potential:warp",
            "PTX404",
            "potential:PTX404",
            "G-2.1",
            "potential:G-S1.5",
            "conditional",
            "conditional:warp",
            "conditional:PTX411",
            "conditional:G-2.1",
            "ACME001",
        ] {
            assert_eq!(Selector::parse_in(text, &registry).unwrap().to_string(), text);
        }
        let unknown = Selector::parse_in("my-rul", &registry).unwrap_err();
        assert_eq!(unknown.nearest.as_deref(), Some("my-rule"));
    }
}
