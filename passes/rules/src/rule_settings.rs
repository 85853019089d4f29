//! The settings of a run as checks see them: what is reported of each rule, what is searched, and facts about the program.

use ptxcheck_analysis::AnalysisOptions;

use crate::assumptions::Assumptions;
use crate::conditional::SearchScope;
use crate::finding::{Certainty, Finding};
use crate::launches::Launches;
use crate::policy::Policy;
use crate::rule::{Level, Question, Rule, WitnessSearch};

/// The settings of a run that checks need.
#[derive(Clone, Debug)]
pub struct RuleSettings<'s> {
    /// Of all rules, by code, sorted.
    pub levels: Vec<RuleLevels>,
    /// The scope of each search for witnesses, in the order of [`WitnessSearch::ALL`].
    pub searches: [SearchScope; WitnessSearch::ALL.len()],
    /// The options of the analyses: the findings that can be reported.
    pub analyses: AnalysisOptions,
    /// The blocks that kernels are launched with.
    pub launches: &'s Launches,
    /// The values of integer parameters of kernels.
    pub assumptions: &'s Assumptions,
    /// The policy that images are checked against.
    pub policy: &'s Policy,
    /// Per cent of the limit of kernel parameters from which on they are near it, where it is said.
    pub near_limit: Option<u8>,
    /// All inputs are linked together.
    pub is_one_program: bool,
    /// They are linked with nothing else.
    pub is_complete: bool,
    /// The indexes of each kernel that wrap in 32 bits are declared of it.
    pub find_index_limits: bool,
}

/// The highest levels that the findings of a rule can have, wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct RuleLevels {
    /// The code of the rule.
    pub code: &'static str,
    /// Its question, if it has one.
    pub question: Option<Question>,
    /// The level that the rule gives its definite findings.
    pub own: Level,
    /// Of definite findings, by their own level.
    pub definite: [Level; 3],
    /// Of conditional ones.
    pub conditional: Level,
    /// Of potential ones.
    pub potential: Level,
}

impl RuleLevels {
    const fn of(&self, certainty: Certainty, own: Level) -> Level {
        match certainty {
            Certainty::Definite => self.definite[own as usize],
            Certainty::Conditional => self.conditional,
            Certainty::Potential => self.potential,
        }
    }
}

impl RuleSettings<'_> {
    fn levels(&self, code: &str) -> Option<&RuleLevels> {
        let at = self.levels.binary_search_by_key(&code, |levels| levels.code);
        at.ok().map(|at| &self.levels[at])
    }

    /// The highest level that a finding of `rule` can have that is `certainty` sure and whose own level is `own`, wherever it is.
    /// Nothing is reported of rules that are not registered.
    #[must_use]
    pub fn level(&self, rule: &Rule, certainty: Certainty, own: Level) -> Level {
        self.levels(rule.code)
            .map_or(Level::Allow, |levels| levels.of(certainty, own))
    }

    /// The highest level that a finding can have, wherever it is.
    pub(crate) fn level_of(&self, finding: &Finding) -> Level {
        self.level(finding.rule, finding.certainty, finding.own_level)
    }

    /// True if a finding of `rule` can be reported: a rule that is off need not run.
    #[must_use]
    pub fn wants(&self, rule: &Rule) -> bool {
        let is_reported = |levels: &RuleLevels, certainty| levels.of(certainty, rule.definite) > Level::Allow;
        self.levels(rule.code).is_some_and(|levels| {
            let mut certainties = Certainty::ALL.into_iter();
            certainties.any(|certainty| rule.can_be(certainty) && is_reported(levels, certainty))
        })
    }

    /// True if definite findings of a rule with this question are reported.
    pub(crate) fn is_asked(&self, question: Question) -> bool {
        let mut asking = self
            .levels
            .iter()
            .filter(|levels| levels.question == Some(question));
        asking.any(|levels| levels.of(Certainty::Definite, levels.own) > Level::Allow)
    }

    /// The places for which a search for witnesses is made.
    #[must_use]
    pub const fn search(&self, kind: WitnessSearch) -> SearchScope {
        self.searches[kind as usize]
    }
}
