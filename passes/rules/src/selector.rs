//! Selectors: the words for findings that settings name.

use crate::finding::Certainty;
use crate::registry::{ALL, CONDITIONAL, POTENTIAL, Registry};
use crate::rule::{Family, Rule};

/// The rules that a selector is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Subject {
    /// Every rule.
    All,
    /// The rules of a family.
    Family(Family),
    /// The rules that stand for a guideline.
    Guideline(&'static str),
    /// One rule.
    Rule(&'static Rule),
}

/// The findings that a level is for.
#[derive(Clone, Copy, Debug)]
pub struct Selector {
    /// Their rules.
    pub what: Subject,
    /// Their certainty: `Potential` is for conditional ones, too, and `Definite` for the potential ones of one rule that has no
    /// definite ones.
    pub certainty: Certainty,
}

/// The words before the colon of selectors for findings of one certainty alone.
const CERTAINTIES: [(&str, Certainty); 2] = [
    (POTENTIAL, Certainty::Potential),
    (CONDITIONAL, Certainty::Conditional),
];

/// As [`Selector::parse`] reads it.
impl std::fmt::Display for Selector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = CERTAINTIES.iter();
        let before = words.find(|(_, certainty)| *certainty == self.certainty);
        if let Some((word, _)) = before {
            formatter.write_str(word)?;
        }
        let what = match self.what {
            Subject::All if before.is_some() => return Ok(()),
            Subject::All => ALL,
            Subject::Family(family) => family.as_str(),
            Subject::Guideline(guideline) => guideline,
            Subject::Rule(rule) => rule.code,
        };
        write!(formatter, "{}{what}", if before.is_some() { ":" } else { "" })
    }
}

impl Subject {
    fn parse(text: &str, registry: &Registry) -> Option<Self> {
        if text == ALL {
            return Some(Self::All);
        }
        let mut families = Family::ALL.into_iter();
        let family = families.find(|family| family.as_str() == text);
        let guideline = || registry.guideline(text).map(Self::Guideline);
        let rule = || registry.find(text).map(Self::Rule);
        family.map(Self::Family).or_else(guideline).or_else(rule)
    }

    fn has(self, rule: &Rule) -> bool {
        match self {
            Self::All => true,
            Self::Family(family) => family == rule.family,
            Self::Guideline(guideline) => rule.guidelines.contains(&guideline),
            Self::Rule(named) => std::ptr::eq(named, rule),
        }
    }
}

impl Selector {
    /// Every rule's definite findings.
    pub const ALL: Self = Self {
        what: Subject::All,
        certainty: Certainty::Definite,
    };

    /// Every rule's potential findings.
    pub const POTENTIAL: Self = Self {
        certainty: Certainty::Potential,
        ..Self::ALL
    };

    /// Every rule's conditional findings.
    pub const CONDITIONAL: Self = Self {
        certainty: Certainty::Conditional,
        ..Self::ALL
    };

    /// One rule's definite findings; its potential ones, if it has no others.
    #[must_use]
    pub const fn rule(rule: &'static Rule) -> Self {
        Self {
            what: Subject::Rule(rule),
            ..Self::ALL
        }
    }

    /// The words that are neither a rule nor a family.
    fn words() -> impl Iterator<Item = &'static str> {
        CERTAINTIES.iter().map(|(word, _)| *word).chain([ALL])
    }

    /// Reads a code, a name, an alias, a family, a guideline (`G-2.1`), `all`, `potential` or `conditional`; `potential:` or
    /// `conditional:` before one of the others stands for its potential or conditional findings alone.
    ///
    /// # Errors
    ///
    /// [`UnknownSelector`], with the nearest known word if one is near.
    ///
    /// ```
    /// use ptxcheck_rules::selector::{Selector, UnknownSelector};
    ///
    /// assert_eq!(Selector::parse("zero-mask")?.to_string(), "PTX407");
    /// assert_eq!(Selector::parse("zero-mas").unwrap_err().nearest.as_deref(), Some("zero-mask"));
    /// # Ok::<(), UnknownSelector>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, UnknownSelector> {
        Self::parse_in(text, &Registry::default())
    }

    /// The same, with the rules of a registry.
    ///
    /// # Errors
    ///
    /// As [`Selector::parse`].
    pub fn parse_in(text: &str, registry: &Registry) -> Result<Self, UnknownSelector> {
        let mut certainty = Certainty::Definite;
        let mut what = text;
        for (word, named) in CERTAINTIES {
            match text.strip_prefix(word) {
                Some("") => {
                    return Ok(Self {
                        certainty: named,
                        ..Self::ALL
                    });
                }
                Some(rest) if rest.starts_with(':') => (certainty, what) = (named, &rest[1..]),
                _ => {}
            }
        }
        if what.is_empty() {
            return Err(UnknownSelector {
                word: text.to_owned(),
                nearest: None,
            });
        }
        match Subject::parse(what, registry) {
            Some(what) => Ok(Self { what, certainty }),
            None => Err(UnknownSelector::new(what, registry)),
        }
    }

    /// A number that is greater for a selector that is for fewer rules, and for fewer findings of the same rules: of two
    /// selectors in a table that match, the one with the greater number counts.
    #[must_use]
    pub const fn narrowness(self) -> u8 {
        let what = match self.what {
            Subject::All => 0,
            Subject::Family(_) => 1,
            Subject::Guideline(_) => 2,
            Subject::Rule(_) => 3,
        };
        let certainty = match self.certainty {
            Certainty::Definite => 0,
            Certainty::Potential => 1,
            Certainty::Conditional => 2,
        };
        3 * what + certainty
    }

    /// True if it is for findings of this rule with this certainty.
    #[must_use]
    pub fn matches(self, rule: &Rule, certainty: Certainty) -> bool {
        let is_its = match self.certainty {
            Certainty::Definite => {
                let is_all_it_has =
                    matches!(self.what, Subject::Rule(_)) && !rule.can_be(Certainty::Definite);
                certainty == Certainty::Definite || is_all_it_has
            }
            // A setting for potential findings is for conditional ones, too: `search` says which of them there are.
            Certainty::Potential => certainty != Certainty::Definite,
            Certainty::Conditional => certainty == Certainty::Conditional,
        };
        is_its && self.what.has(rule)
    }
}

/// The codes of the rules that a word stands for, which is a code, a name, an alias, a family or a guideline.
///
/// # Errors
///
/// [`UnknownSelector`], with the nearest known word if one is near.
pub fn covered(text: &str, registry: &Registry) -> Result<Vec<&'static str>, UnknownSelector> {
    let selector = Selector::parse_in(text, registry)?;
    let names_some = selector.certainty == Certainty::Definite && !matches!(selector.what, Subject::All);
    let is_covered = |rule: &&Rule| names_some && selector.matches(rule, Certainty::Definite);
    let codes: Vec<_> = registry
        .rules()
        .filter(is_covered)
        .map(|rule| rule.code)
        .collect();
    if codes.is_empty() {
        return Err(UnknownSelector {
            word: text.to_owned(),
            nearest: None,
        });
    }
    Ok(codes)
}

/// A word that names no rule and no family.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownSelector {
    /// The word.
    pub word: String,
    /// The known word that it is closest to, if one is close.
    pub nearest: Option<String>,
}

impl UnknownSelector {
    fn new(word: &str, registry: &Registry) -> Self {
        let known = registry
            .rules()
            .flat_map(|rule| {
                [rule.code, rule.name]
                    .into_iter()
                    .chain(rule.aliases.iter().copied())
            })
            .chain(Family::ALL.into_iter().map(Family::as_str))
            .chain(registry.guidelines())
            .chain(Selector::words());
        let nearest = nearest(word, known).map(str::to_owned).or_else(|| {
            let (before, what) = word.split_once(':')?;
            let meant = nearest(before, CERTAINTIES.map(|(word, _)| word))?;
            Some(format!("{meant}:{what}"))
        });
        Self {
            word: word.to_owned(),
            nearest,
        }
    }
}

impl std::fmt::Display for UnknownSelector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.word.is_empty() || self.word.ends_with(':') {
            formatter.write_str("a rule's code or name, a family or a guideline is missing")?;
            return match &*self.word {
                "" => Ok(()),
                before => write!(formatter, " behind `{before}`"),
            };
        }
        write!(
            formatter,
            "`{}` is no rule's code or name, no family and no guideline",
            self.word
        )?;
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => write!(formatter, " (`ptxcheck rules` lists them)"),
        }
    }
}

impl std::error::Error for UnknownSelector {}

/// True unless both words are codes whose numbers differ by more than two swapped digits: only its number distinguishes a code from the
/// next.
fn may_be_code(word: &str, candidate: &str) -> bool {
    let number = |text: &str| {
        let digits = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let is_code = digits.len() < text.len() && !digits.is_empty();
        (is_code && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.to_owned())
    };
    let (Some(meant), Some(written)) = (number(candidate), number(word)) else {
        return true;
    };
    let sorted = |digits: &str| {
        let mut digits = digits.as_bytes().to_vec();
        digits.sort_unstable();
        digits
    };
    sorted(&meant) == sorted(&written) && strsim::osa_distance(&meant, &written) <= 1
}

/// The known word closest to `word`, ignoring case; `None` if none is close enough to be meant.
#[must_use]
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3 && may_be_code(word, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::Selector;
    use crate::finding::Certainty::{Definite, Potential};
    use crate::rules;

    #[test]
    fn wrong_words_are_named() {
        for (text, wanted) in [
            (
                "potential:warpp",
                "`warpp` is no rule's code or name, no family and no guideline; did you mean `warp`?",
            ),
            ("potential:potential", "`potential` is no rule's"),
            (
                "potential:",
                "a rule's code or name, a family or a guideline is missing behind `potential:`",
            ),
            ("", "a guideline is missing"),
            ("PTX999", "no guideline (`ptxcheck rules` lists them)"),
            ("PTX455", "no guideline (`ptxcheck rules` lists them)"),
            ("PTX041", "did you mean `PTX401`?"),
            ("PTC401", "did you mean `PTX401`?"),
            ("conditionl", "did you mean `conditional`?"),
            ("conditionl:PTX401", "did you mean `conditional:PTX401`?"),
        ] {
            let problem = Selector::parse(text).unwrap_err().to_string();
            assert!(problem.contains(wanted), "{problem}");
        }
    }

    #[test]
    fn the_code_of_a_rule_without_definite_findings_stands_for_its_potential_ones() {
        let rule = rules::find("PTX402").unwrap();
        assert!(!rule.can_be(Definite) && rule.can_be(Potential));
        assert!(Selector::parse("PTX402").unwrap().matches(rule, Potential));
    }
}
