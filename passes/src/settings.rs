//! What the user decides: levels, and facts about the program that the code does not show.

use ptxcheck_analysis::Asked;

use crate::finding::Certainty;
use crate::launches::Launches;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::rule::{Family, Level, Rule};

/// Which findings a level is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Selector {
    /// Every rule's definite findings.
    All,
    /// Every rule's potential findings.
    Potential,
    /// A family's definite findings.
    Family(Family),
    /// A family's potential findings.
    PotentialFamily(Family),
    /// One rule's findings, potential ones included: who names a rule wants to see it.
    Rule(&'static Rule),
    /// One rule's potential findings.
    PotentialRule(&'static Rule),
}

/// What stands before the colon of a selector for potential findings alone.
const POTENTIAL: &str = "potential";

/// The selector of all definite findings.
const ALL: &str = "all";

/// As [`Selector::parse`] reads it.
impl std::fmt::Display for Selector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => formatter.write_str(ALL),
            Self::Potential => formatter.write_str(POTENTIAL),
            Self::Family(family) => formatter.write_str(family.as_str()),
            Self::PotentialFamily(family) => write!(formatter, "{POTENTIAL}:{}", family.as_str()),
            Self::Rule(rule) => formatter.write_str(rule.code),
            Self::PotentialRule(rule) => write!(formatter, "{POTENTIAL}:{}", rule.code),
        }
    }
}

impl Selector {
    /// The words that are no rule and no family.
    pub(crate) const WORDS: [&'static str; 2] = [ALL, POTENTIAL];

    /// Reads a code, a name, an alias, a family, `all` or `potential`; `potential:` before one of the others stands for
    /// its potential findings alone.
    ///
    /// # Errors
    ///
    /// [`UnknownSelector`], with the nearest known word if one is near.
    ///
    /// ```
    /// use ptxcheck_passes::{Selector, Settings, Level};
    /// use ptxcheck_passes::settings::{Change, LevelSetting};
    ///
    /// let settings = Settings {
    ///     levels: vec![LevelSetting {
    ///         selector: Selector::parse("zero-mask")?,
    ///         level: Level::Allow,
    ///         change: Change::Set,
    ///     }],
    ///     ..Settings::default()
    /// };
    /// # assert_eq!(settings.levels[0].selector.to_string(), "PTX407");
    /// assert_eq!(Selector::parse("zero-mas").unwrap_err().nearest.as_deref(), Some("zero-mask"));
    /// # Ok::<(), ptxcheck_passes::settings::UnknownSelector>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, UnknownSelector> {
        Self::parse_in(text, &Registry::default())
    }

    pub(crate) fn parse_in(text: &str, registry: &Registry) -> Result<Self, UnknownSelector> {
        if let Some(rest) = text
            .strip_prefix(POTENTIAL)
            .and_then(|rest| rest.strip_prefix(':'))
        {
            return Ok(match Self::parse_in(rest, registry)? {
                Self::Family(family) => Self::PotentialFamily(family),
                Self::Rule(rule) => Self::PotentialRule(rule),
                Self::All => Self::Potential,
                // `potential:potential:…` says it twice.
                Self::Potential | Self::PotentialFamily(_) | Self::PotentialRule(_) => {
                    return Err(UnknownSelector::new(rest, registry));
                }
            });
        }
        if text == ALL {
            return Ok(Self::All);
        }
        if text == POTENTIAL {
            return Ok(Self::Potential);
        }
        if let Some(family) = Family::ALL.into_iter().find(|family| family.as_str() == text) {
            return Ok(Self::Family(family));
        }
        registry
            .find(text)
            .map(Self::Rule)
            .ok_or_else(|| UnknownSelector::new(text, registry))
    }

    fn matches(self, rule: &Rule, certainty: Certainty) -> bool {
        match self {
            Self::All => certainty == Certainty::Definite,
            Self::Potential => certainty == Certainty::Potential,
            Self::Family(family) => family == rule.family && certainty == Certainty::Definite,
            Self::PotentialFamily(family) => family == rule.family && certainty == Certainty::Potential,
            Self::Rule(named) => std::ptr::eq(named, rule),
            Self::PotentialRule(named) => std::ptr::eq(named, rule) && certainty == Certainty::Potential,
        }
    }
}

/// A word that names no rule and no family.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownSelector {
    /// The word.
    pub word: String,
    /// What it may have meant.
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
            .chain(Selector::WORDS);
        let nearest = nearest(word, known).map(str::to_owned);
        Self {
            word: word.to_owned(),
            nearest,
        }
    }
}

impl std::fmt::Display for UnknownSelector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "`{}` is no rule's code or name, and no family",
            self.word
        )?;
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => write!(formatter, " (`ptxcheck rules` lists them)"),
        }
    }
}

impl std::error::Error for UnknownSelector {}

/// Of these words, the one that another may have meant: near enough, in whatever case.
#[must_use]
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// What a level setting does to the level that findings had before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// Puts its own in the place of it.
    Set,
    /// Raises it where it is lower.
    Raise,
    /// Raises it, and no other setting lowers it again.
    Forbid,
}

/// One level setting; later ones win, except over a forbidding one.
#[derive(Clone, Copy, Debug)]
pub struct LevelSetting {
    /// For which findings.
    pub selector: Selector,
    /// The level.
    pub level: Level,
    /// What it does to the level that they had.
    pub change: Change,
}

/// The settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The rules.
    pub registry: Registry,
    /// Level settings, in the order given.
    pub levels: Vec<LevelSetting>,
    /// The inputs are linked together: what one of them defines, the others can refer to.
    pub link_set: bool,
    /// The inputs are linked together and are all the device code there is: what they do not define, nobody does.
    pub whole_program: bool,
    /// The blocks that kernels are launched with. Those with `.reqntid` keep theirs.
    pub launches: Launches,
    /// Per cent of the limit of kernel parameters from which on they are near it; 90 where it is not said.
    pub near_limit: Option<u8>,
    /// Longest analysis of one input.
    pub timeout: Option<std::time::Duration>,
    /// Threads; 0 for one a core.
    pub threads: usize,
    /// Look at what images declare, not at their code.
    pub images_only: bool,
    /// What the images of the inputs are held against.
    pub policy: Policy,
    /// How to start a process that reads LLVM IR; without one, it is read in this process, which LLVM can end.
    pub worker: Option<WorkerCommand>,
}

/// How to start a worker: a program that calls `worker::serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: std::path::PathBuf,
    /// Its arguments. What it needs of the settings comes with each module.
    pub args: Vec<std::ffi::OsString>,
}

impl Settings {
    /// The level of a finding of `rule` that is `certainty` sure and whose own level is `own`.
    ///
    /// Unless a setting says otherwise, definite findings keep their own level and potential ones are off.
    #[must_use]
    pub fn level(&self, rule: &Rule, certainty: Certainty, own: Level) -> Level {
        let mut level = match certainty {
            Certainty::Definite => own,
            Certainty::Potential => Level::Allow,
        };
        let mut floor = Level::Allow;
        for setting in self
            .levels
            .iter()
            .filter(|setting| setting.selector.matches(rule, certainty))
        {
            level = match setting.change {
                Change::Set => setting.level.max(floor),
                Change::Raise | Change::Forbid => setting.level.max(level),
            };
            if setting.change == Change::Forbid {
                floor = floor.max(setting.level);
            }
        }
        level
    }

    /// The least certainty with which a finding of a rule of `family` can be reported.
    #[must_use]
    pub fn least_certainty(&self, family: Family) -> Certainty {
        let shows_potential = self.registry.rules().any(|rule| {
            rule.family == family
                && rule.can_be_potential
                && self.level(rule, Certainty::Potential, rule.definite) > Level::Allow
        });
        if shows_potential {
            Certainty::Potential
        } else {
            Certainty::Definite
        }
    }

    /// What of the analyses' results can be reported.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let wants_spaces = self
            .registry
            .rules()
            .any(|rule| rule.family == Family::Space && self.wants(rule));
        let nulls = self.registry.find("PTX106").and_then(|rule| {
            [Certainty::Potential, Certainty::Definite]
                .into_iter()
                .find(|&certainty| self.level(rule, certainty, rule.definite) > Level::Allow)
        });
        Asked {
            lanes: self.least_certainty(Family::Warp),
            spaces: wants_spaces.then(|| self.least_certainty(Family::Space)),
            nulls,
            // Unless a setting asks for it, what is done twice to a global address is not reported.
            global_twice: !self.levels.is_empty(),
            launches: self.launches.clone(),
        }
    }

    /// Whether any finding of `rule` can be reported: what is off need not run.
    #[must_use]
    pub fn wants(&self, rule: &Rule) -> bool {
        [Certainty::Definite, Certainty::Potential]
            .into_iter()
            .any(|certainty| self.level(rule, certainty, rule.definite) > Level::Allow)
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, LevelSetting, Selector, Settings};
    use crate::finding::Certainty::{self, Definite, Potential};
    use crate::rule::Level::{self, Allow, Error, Warning};
    use crate::rules;

    /// The level of PTX404's findings, an error unless something else is said.
    fn level(settings: &[(&str, Level, Change)], certainty: Certainty) -> Level {
        let settings = Settings {
            levels: settings
                .iter()
                .map(|&(selector, level, change)| LevelSetting {
                    selector: Selector::parse(selector).unwrap(),
                    level,
                    change,
                })
                .collect(),
            ..Settings::default()
        };
        let rule = rules::find("PTX404").unwrap();
        settings.level(rule, certainty, rule.definite)
    }

    const fn warn(selector: &str) -> (&str, Level, Change) {
        (selector, Warning, Change::Raise)
    }

    #[test]
    fn warning_raises_and_never_lowers() {
        for selector in ["all", "warp", "PTX404", "shuffle-from-absent-lane"] {
            assert_eq!(level(&[warn(selector)], Definite), Error, "{selector}");
        }
        assert_eq!(level(&[warn("PTX404")], Potential), Warning);
        assert_eq!(
            level(&[("all", Allow, Change::Set), warn("warp")], Definite),
            Warning
        );
    }

    #[test]
    fn potential_selectors_touch_nothing_else() {
        for selector in ["potential", "potential:all", "potential:warp", "potential:PTX404"] {
            assert_eq!(level(&[warn(selector)], Potential), Warning, "{selector}");
            assert_eq!(
                level(&[(selector, Warning, Change::Set)], Definite),
                Error,
                "{selector}"
            );
        }
        for selector in ["all", "warp", "potential:space", "potential:PTX403"] {
            assert_eq!(level(&[warn(selector)], Potential), Allow, "{selector}");
        }
    }

    #[test]
    fn set_lowers_and_forbid_stands_above_all() {
        let lower = ("PTX404", Warning, Change::Set);
        let forbid = ("warp", Error, Change::Forbid);
        assert_eq!(level(&[lower], Definite), Warning);
        assert_eq!(level(&[forbid, lower], Definite), Error);
        assert_eq!(level(&[lower, forbid], Definite), Error);
        assert_eq!(level(&[forbid, ("all", Allow, Change::Set)], Definite), Error);
    }

    #[test]
    fn wrong_words_are_named() {
        for (text, wanted) in [
            (
                "potential:warpp",
                "`warpp` is no rule's code or name, and no family; did you mean `warp`?",
            ),
            ("potential:potential", "`potential` is no rule's"),
            ("potential:", "`` is no rule's"),
        ] {
            let problem = Selector::parse(text).unwrap_err().to_string();
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
