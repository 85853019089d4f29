//! The rules of a run: ours, and those that a program adds.

use std::fmt;

use crate::finding::Certainty;
use crate::rule::Rule;
use crate::rules;
use crate::selector::{Selector, Subject, UnknownSelector};

/// The rules of a run, in the order of their codes. By default, ours.
///
/// ```
/// use ptxcheck_passes::Registry;
///
/// let registry = Registry::default();
/// assert_eq!(registry.find("zero-mask").map(|rule| rule.code), Some("PTX407"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Sorted by code.
    added: Vec<&'static Rule>,
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

/// All that a rule is called.
fn words(rule: &'static Rule) -> impl Iterator<Item = &'static str> {
    [rule.code, rule.name]
        .into_iter()
        .chain(rule.aliases.iter().copied())
}

impl Registry {
    /// With one rule more.
    ///
    /// # Errors
    ///
    /// [`Refused`], if another rule has its code, name or alias; upper and lower case are equal.
    ///
    /// ```
    /// use ptxcheck_passes::{Check, Family, Registry, Rule, registry::Refused};
    ///
    /// static NAMED: Rule = Rule::new(
    ///     "ACME002",
    ///     "nameless-kernel",
    ///     Family::Device,
    ///     "a kernel has a name of one letter",
    ///     Check::Module(|module, report| {
    ///         for (id, ..) in module.module.bodies() {
    ///             if module.module.function_name(id).len() < 2 {
    ///                 report.definite(ptxcheck_passes::analysis::Place::Function(id), "call it something");
    ///             }
    ///         }
    ///     }),
    /// );
    /// let registry = Registry::default().with(&NAMED)?;
    /// assert_eq!(registry.with(&NAMED).unwrap_err(), Refused::Taken("ACME002"));
    /// # Ok::<(), Refused>(())
    /// ```
    pub fn with(mut self, rule: &'static Rule) -> Result<Self, Refused> {
        for word in words(rule) {
            if word.is_empty() || Selector::is_reserved(word) || self.guideline(word).is_some() {
                return Err(Refused::NoName(word));
            }
            if self.find(word).is_some() {
                return Err(Refused::Taken(word));
            }
        }
        let place = self.added.partition_point(|known| known.code < rule.code);
        self.added.insert(place, rule);
        Ok(self)
    }

    /// All rules: ours in the order of their codes, then those that were added.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> + '_ {
        rules::ALL.iter().copied().chain(self.added.iter().copied())
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

    /// The codes of the rules that a word stands for, which is a code, a name, an alias, a family or a guideline.
    ///
    /// # Errors
    ///
    /// [`UnknownSelector`], with the nearest known word if one is near.
    pub fn covered(&self, text: &str) -> Result<Vec<&'static str>, UnknownSelector> {
        let selector = self.select(text)?;
        let names_some = selector.certainty == Certainty::Definite && !matches!(selector.what, Subject::All);
        let is_covered = |rule: &&Rule| names_some && selector.matches(rule, Certainty::Definite);
        let codes: Vec<_> = self.rules().filter(is_covered).map(|rule| rule.code).collect();
        if codes.is_empty() {
            return Err(UnknownSelector {
                word: text.to_owned(),
                nearest: None,
            });
        }
        Ok(codes)
    }

    /// The findings that a word stands for: see [`Selector::parse`], which knows our own rules only.
    ///
    /// # Errors
    ///
    /// [`UnknownSelector`], with the nearest known word if one is near.
    pub fn select(&self, text: &str) -> Result<Selector, UnknownSelector> {
        Selector::parse_in(text, self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Refused, Registry};
    use crate::rule::{Check, Family, Rule};

    static MINE: Rule = Rule::new(
        "ACME001",
        "my-rule",
        Family::Device,
        "mine",
        Check::Module(|_, _| {}),
    );
    static TAKEN: Rule = Rule::new(
        "ACME002",
        "zero-mask",
        Family::Device,
        "mine",
        Check::Module(|_, _| {}),
    );
    static FAMILY: Rule = Rule::new("warp", "w", Family::Device, "mine", Check::Module(|_, _| {}));
    static CERTAINTY: Rule = Rule::new(
        "ACME003",
        "conditional",
        Family::Device,
        "mine",
        Check::Module(|_, _| {}),
    );

    #[test]
    fn a_rule_is_added_once_and_under_names_of_its_own() {
        let registry = Registry::default().with(&MINE).unwrap();
        assert_eq!(registry.find("MY-RULE").map(|rule| rule.code), Some("ACME001"));
        assert_eq!(
            registry.clone().with(&MINE).err(),
            Some(Refused::Taken("ACME001"))
        );
        assert_eq!(
            registry.clone().with(&TAKEN).err(),
            Some(Refused::Taken("zero-mask"))
        );
        assert_eq!(
            registry.clone().with(&FAMILY).err(),
            Some(Refused::NoName("warp"))
        );
        assert_eq!(
            registry.with(&CERTAINTY).err(),
            Some(Refused::NoName("conditional"))
        );
    }

    #[test]
    fn selectors_read_what_they_print() {
        let registry = Registry::default().with(&MINE).unwrap();
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
            assert_eq!(registry.select(text).unwrap().to_string(), text);
        }
        let unknown = registry.select("my-rul").unwrap_err();
        assert_eq!(unknown.nearest.as_deref(), Some("my-rule"));
    }
}
