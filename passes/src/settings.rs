//! What the user decides: levels, and facts about the program that the code does not show.

use crate::finding::Certainty;
use crate::launches::Launches;
use crate::policy::Policy;
use crate::rule::{Family, Level, Rule};
use crate::rules;

/// Which findings a level is for.
#[derive(Clone, Copy, Debug)]
pub enum Selector {
    /// Every rule's definite findings.
    All,
    /// Every rule's potential findings.
    Potential,
    /// A family's definite findings.
    Family(Family),
    /// One rule's findings, potential ones included: who names a rule wants to see it.
    Rule(&'static Rule),
}

impl Selector {
    /// Reads a code, a name, an alias, a family, `all` or `potential`.
    ///
    /// # Errors
    ///
    /// [`UnknownSelector`], with the nearest known word if one is near.
    pub fn parse(text: &str) -> Result<Self, UnknownSelector> {
        if text == "all" {
            return Ok(Self::All);
        }
        if text == "potential" {
            return Ok(Self::Potential);
        }
        if let Some(family) = Family::ALL.into_iter().find(|family| family.as_str() == text) {
            return Ok(Self::Family(family));
        }
        rules::find(text)
            .map(Self::Rule)
            .ok_or_else(|| UnknownSelector::new(text))
    }

    fn matches(self, rule: &Rule, certainty: Certainty) -> bool {
        match self {
            Self::All => certainty == Certainty::Definite,
            Self::Potential => certainty == Certainty::Potential,
            Self::Family(family) => family == rule.family && certainty == Certainty::Definite,
            Self::Rule(named) => std::ptr::eq(named, rule),
        }
    }
}

/// A word that names no rule and no family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSelector {
    /// The word.
    pub word: String,
    /// What it may have meant.
    pub nearest: Option<String>,
}

impl UnknownSelector {
    fn new(word: &str) -> Self {
        let known = rules::ALL
            .iter()
            .flat_map(|rule| {
                [rule.code, rule.name]
                    .into_iter()
                    .chain(rule.aliases.iter().copied())
            })
            .chain(Family::ALL.into_iter().map(Family::as_str))
            .chain(["all", "potential"]);
        let nearest = known
            .map(|candidate| (edit_distance(word, candidate), candidate))
            .filter(|(distance, candidate)| *distance <= candidate.len() / 3)
            .min()
            .map(|(_, candidate)| candidate.to_owned());
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

/// Levenshtein distance, in characters, ignoring case: what an unknown word may have meant.
#[must_use]
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// One level setting; later ones win, except over a forbidding one.
#[derive(Clone, Copy, Debug)]
pub struct LevelSetting {
    /// For which findings.
    pub selector: Selector,
    /// The level.
    pub level: Level,
    /// Later settings do not lower it.
    pub forbid: bool,
}

/// The settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Level settings, in the order given.
    pub levels: Vec<LevelSetting>,
    /// The inputs are linked together: what one of them defines, the others can refer to.
    pub link_set: bool,
    /// The inputs are linked together and are all the device code there is: what they do not define, nobody does.
    pub whole_program: bool,
    /// The blocks that kernels are launched with. Those with `.reqntid` keep theirs.
    pub launches: Launches,
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
    /// Its arguments; from them, it must come to the settings of the run.
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
            level = setting.level.max(floor);
            if setting.forbid {
                floor = floor.max(setting.level);
            }
        }
        level
    }

    /// The least certainty with which a finding of a rule of `family` can be reported.
    #[must_use]
    pub fn least_certainty(&self, family: Family) -> Certainty {
        let shows_potential = rules::ALL.iter().any(|rule| {
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

    /// Whether any finding of `rule` can be reported: what is off need not run.
    #[must_use]
    pub fn wants(&self, rule: &Rule) -> bool {
        [Certainty::Definite, Certainty::Potential]
            .into_iter()
            .any(|certainty| self.level(rule, certainty, rule.definite) > Level::Allow)
    }
}
