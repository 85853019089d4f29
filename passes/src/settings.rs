//! The settings of a run: levels, and facts about the program that the code does not show.

use std::sync::Arc;

use ptxcheck_analysis::AnalysisOptions;

use crate::assumptions::Assumptions;
use crate::conditional::SearchScope;
use crate::exceptions::{Allow, Exclude, Headers};
use crate::finding::Certainty;
use crate::ir::{Extent, Module};
use crate::launches::Launches;
use crate::patterns::Pattern;
use crate::policy::Policy;
use crate::progress::Progress;
use crate::recompile::Recompile;
use crate::registry::Registry;
use crate::report_cache::ReportCache;
use crate::rule::{Family, Level, Rule};
use crate::scope::{PathMap, Root, Scope};
use crate::shard_assignment::Deal;

/// The command that starts a worker: a program that calls `worker::serve`. Settings come with each module.
pub use ptxcheck_worker::Command as WorkerCommand;

/// Reads a part of LLVM IR and hands its module to the function, or `None` if it is for something other than NVIDIA's GPUs. The error
/// is a sentence. `read_device_code` of `ptxcheck-frontend-llvm` is one.
pub type ReadIr = fn(&[u8], Extent, &mut dyn FnMut(Option<&Module<'_>>)) -> Result<(), String>;

/// The program that reads LLVM IR.
#[derive(Clone, Debug, Default)]
pub enum IrReader {
    /// Nothing: LLVM IR and MLIR are refused.
    #[default]
    Missing,
    /// A process that calls `worker::serve`, such as `ptxcheck-llvm`.
    Process(WorkerCommand),
    /// A function, in this process, which LLVM can end.
    Here(ReadIr),
}

/// The findings that a level is for.
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
    /// The definite findings of the rules that stand for a guideline.
    Guideline(&'static str),
    /// The potential findings of these rules.
    PotentialGuideline(&'static str),
    /// One rule's definite findings; its potential ones, if it has no others.
    Rule(&'static Rule),
    /// One rule's potential findings.
    PotentialRule(&'static Rule),
    /// Every rule's conditional findings.
    Conditional,
    /// A family's conditional findings.
    ConditionalFamily(Family),
    /// The conditional findings of the rules that stand for a guideline.
    ConditionalGuideline(&'static str),
    /// One rule's conditional findings.
    ConditionalRule(&'static Rule),
}

/// The word before the colon of a selector for potential findings alone.
const POTENTIAL: &str = "potential";

/// The same for conditional findings alone.
const CONDITIONAL: &str = "conditional";

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
            Self::Guideline(guideline) => formatter.write_str(guideline),
            Self::PotentialGuideline(guideline) => write!(formatter, "{POTENTIAL}:{guideline}"),
            Self::Rule(rule) => formatter.write_str(rule.code),
            Self::PotentialRule(rule) => write!(formatter, "{POTENTIAL}:{}", rule.code),
            Self::Conditional => formatter.write_str(CONDITIONAL),
            Self::ConditionalFamily(family) => write!(formatter, "{CONDITIONAL}:{}", family.as_str()),
            Self::ConditionalGuideline(guideline) => write!(formatter, "{CONDITIONAL}:{guideline}"),
            Self::ConditionalRule(rule) => write!(formatter, "{CONDITIONAL}:{}", rule.code),
        }
    }
}

impl Selector {
    /// The words that are neither a rule nor a family.
    pub(crate) const WORDS: [&'static str; 3] = [ALL, POTENTIAL, CONDITIONAL];

    /// Reads a code, a name, an alias, a family, a guideline (`G-2.1`), `all`, `potential` or `conditional`; `potential:` or
    /// `conditional:` before one of the others stands for its potential or conditional findings alone.
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
        for (word, certainty) in [
            (POTENTIAL, Certainty::Potential),
            (CONDITIONAL, Certainty::Conditional),
        ] {
            if text == word {
                return Ok(Self::All.of(certainty).unwrap_or(Self::All));
            }
            let Some(rest) = text.strip_prefix(word).and_then(|rest| rest.strip_prefix(':')) else {
                continue;
            };
            if rest.is_empty() {
                return Err(UnknownSelector {
                    word: text.to_owned(),
                    nearest: None,
                });
            }
            // `potential:potential:…` says it twice.
            let selector = Self::parse_in(rest, registry)?.of(certainty);
            return selector.ok_or_else(|| UnknownSelector::new(rest, registry));
        }
        if text == ALL {
            return Ok(Self::All);
        }
        if let Some(family) = Family::ALL.into_iter().find(|family| family.as_str() == text) {
            return Ok(Self::Family(family));
        }
        if let Some(guideline) = registry.guideline(text) {
            return Ok(Self::Guideline(guideline));
        }
        registry
            .find(text)
            .map(Self::Rule)
            .ok_or_else(|| UnknownSelector::new(text, registry))
    }

    /// The selector for the findings of one certainty alone, potential or conditional, of what one without a certainty names; `None`
    /// for others.
    const fn of(self, certainty: Certainty) -> Option<Self> {
        let is_potential = matches!(certainty, Certainty::Potential);
        Some(match self {
            Self::All if is_potential => Self::Potential,
            Self::All => Self::Conditional,
            Self::Family(family) if is_potential => Self::PotentialFamily(family),
            Self::Family(family) => Self::ConditionalFamily(family),
            Self::Guideline(guideline) if is_potential => Self::PotentialGuideline(guideline),
            Self::Guideline(guideline) => Self::ConditionalGuideline(guideline),
            Self::Rule(rule) if is_potential => Self::PotentialRule(rule),
            Self::Rule(rule) => Self::ConditionalRule(rule),
            _ => return None,
        })
    }

    /// A number that is greater for a selector that is for fewer rules, and for the conditional findings of the same rules: of two
    /// selectors in a table that match, the one with the greater number counts.
    #[must_use]
    pub const fn narrowness(self) -> u8 {
        match self {
            Self::All | Self::Potential => 0,
            Self::Conditional => 1,
            Self::Family(_) | Self::PotentialFamily(_) => 2,
            Self::ConditionalFamily(_) => 3,
            Self::Guideline(_) | Self::PotentialGuideline(_) => 4,
            Self::ConditionalGuideline(_) => 5,
            Self::Rule(_) => 6,
            Self::PotentialRule(_) => 7,
            Self::ConditionalRule(_) => 8,
        }
    }

    /// True if it is for potential findings.
    const fn is_potential(self) -> bool {
        matches!(
            self,
            Self::Potential | Self::PotentialFamily(_) | Self::PotentialGuideline(_) | Self::PotentialRule(_)
        )
    }

    /// True if it is for findings of this rule with this certainty.
    #[must_use]
    pub fn matches(self, rule: &Rule, certainty: Certainty) -> bool {
        // A setting for potential findings is for conditional ones, too: `search` says which of them there are.
        let is_uncertain = certainty != Certainty::Definite;
        match self {
            Self::All => certainty == Certainty::Definite,
            Self::Potential => is_uncertain,
            Self::Family(family) => family == rule.family && certainty == Certainty::Definite,
            Self::PotentialFamily(family) => family == rule.family && is_uncertain,
            Self::Guideline(guideline) => {
                rule.guidelines.contains(&guideline) && certainty == Certainty::Definite
            }
            Self::PotentialGuideline(guideline) => rule.guidelines.contains(&guideline) && is_uncertain,
            Self::Rule(named) => {
                std::ptr::eq(named, rule) && (certainty == Certainty::Definite || !rule.can_be_definite)
            }
            Self::PotentialRule(named) => std::ptr::eq(named, rule) && is_uncertain,
            Self::Conditional => certainty == Certainty::Conditional,
            Self::ConditionalFamily(family) => family == rule.family && certainty == Certainty::Conditional,
            Self::ConditionalGuideline(guideline) => {
                rule.guidelines.contains(&guideline) && certainty == Certainty::Conditional
            }
            Self::ConditionalRule(named) => std::ptr::eq(named, rule) && certainty == Certainty::Conditional,
        }
    }
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

/// The effect of a level setting on the level that findings had before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// Replaces it.
    Set,
    /// Raises it where it is lower.
    Raise,
    /// Raises it, and no other setting lowers it again.
    Forbid,
}

/// One level setting; later ones win, except over a forbidding one.
#[derive(Clone, Copy, Debug)]
pub struct LevelSetting {
    /// The findings that it is for.
    pub selector: Selector,
    /// The level.
    pub level: Level,
    /// The effect on the level that they had.
    pub change: Change,
}

impl LevelSetting {
    /// True if it sets the level of findings of this rule with this certainty: of those that its selector matches, and where it
    /// allows a rule, of all that the rule has.
    #[must_use]
    pub fn matches(&self, rule: &Rule, certainty: Certainty) -> bool {
        let is_allowed = self.level == Level::Allow
            && matches!(self.selector, Selector::Rule(named) if std::ptr::eq(named, rule));
        is_allowed || self.selector.matches(rule, certainty)
    }
}

/// Level settings for findings in certain places.
#[derive(Clone, Debug)]
pub struct Override {
    /// The places.
    pub scope: Scope,
    /// The settings, in the order given.
    pub levels: Vec<LevelSetting>,
}

/// The settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The rules.
    pub registry: Registry,
    /// Level settings of the configuration, below those of overrides and of the run, in the order given.
    pub base_levels: Vec<LevelSetting>,
    /// Level settings for certain places, above those, in the order given.
    pub overrides: Vec<Override>,
    /// Level settings of the run, above all others, in the order given.
    pub levels: Vec<LevelSetting>,
    /// Exceptions: findings that do not count, with their reasons.
    pub allows: Vec<Allow>,
    /// Inputs and findings that are left out.
    pub exclude: Exclude,
    /// Patterns of kernels: findings about others, and about no kernel, are left out. Empty for all.
    pub kernels: Vec<Pattern>,
    /// System headers, and the line that findings in them are reported at.
    pub headers: Headers,
    /// Folders of sources, for sources that were compiled in another folder. The last that matches counts.
    pub path_maps: Vec<PathMap>,
    /// The folder that paths in patterns are relative to.
    pub root: Root,
    /// The name of the file that the settings come from, for places in it.
    pub file: Option<String>,
    /// Comments in inputs, and in the sources that they name, can say that findings do not count.
    pub reads_comments: bool,
    /// Patterns and suppressions that nothing matches are findings (PTX906).
    pub is_strict: bool,
    /// Names of inputs that were left out of the run, as [`Settings::exclude`] says.
    pub left_out: Vec<String>,
    /// The inputs are linked together: symbols that one of them defines are visible to the others.
    pub link_set: bool,
    /// The inputs are linked together and are all the device code there is: symbols that they do not define are undefined.
    pub whole_program: bool,
    /// The blocks that kernels are launched with. Those with `.reqntid` keep theirs.
    pub launches: Launches,
    /// The values of integer parameters of kernels: witnesses keep to them.
    pub assumptions: Assumptions,
    /// Per cent of the limit of kernel parameters from which on they are near it; 90 where it is not said.
    pub near_limit: Option<u8>,
    /// Longest analysis of one input.
    pub timeout: Option<std::time::Duration>,
    /// Counts the inputs that are done.
    pub progress: Option<Arc<Progress>>,
    /// The shard whose members of wheels are analysed; without it, all are.
    pub member_deal: Option<Deal>,
    /// Threads; 0 for one a core.
    pub threads: usize,
    /// Look at what images declare, not at their code.
    pub images_only: bool,
    /// Make a digest of the body of each kernel, for releases to be compared by.
    pub digest_kernels: bool,
    /// Look for the indexes of each kernel that wrap in 32 bits.
    pub find_index_limits: bool,
    /// The policy that the images of the inputs are checked against.
    pub policy: Policy,
    /// The program that reads LLVM IR.
    pub ir_reader: IrReader,
    /// Command of the process that reads MLIR, `ptxcheck-mlir`; without one, MLIR is not an input.
    pub mlir_worker: Option<WorkerCommand>,
    /// Makes the PTX of files that hold none, for the check; without one, it is not made.
    pub recompile: Option<Arc<dyn Recompile>>,
    /// Reports about texts that earlier runs analysed under the same settings; without it, each text is analysed.
    pub report_cache: Option<Arc<ReportCache>>,
}

impl Settings {
    /// True if all inputs are linked together.
    #[must_use]
    pub const fn is_one_program(&self) -> bool {
        self.link_set || self.whole_program
    }

    /// The highest level that a finding of `rule` can have that is `certainty` sure and whose own level is `own`, wherever it
    /// is.
    ///
    /// Unless a setting says otherwise, definite findings keep their own level and potential ones are off.
    #[must_use]
    pub fn level(&self, rule: &Rule, certainty: Certainty, own: Level) -> Level {
        self.level_by(rule, certainty, own, &|_| true)
    }

    /// The same, by the settings with these selectors alone.
    fn level_by(
        &self,
        rule: &Rule,
        certainty: Certainty,
        own: Level,
        is_one: &dyn Fn(Selector) -> bool,
    ) -> Level {
        let mut highest = EffectiveLevel::new(certainty, own);
        let chosen = |setting: &&LevelSetting| is_one(setting.selector) && setting.matches(rule, certainty);
        for setting in self.base_levels.iter().filter(chosen) {
            highest.apply(setting);
        }
        for setting in self.overrides.iter().flat_map(|over| &over.levels).filter(chosen) {
            // The finding may lie in another place, where the level stays.
            highest.level = highest.level.max(setting.level);
        }
        for setting in self.levels.iter().filter(chosen) {
            highest.apply(setting);
        }
        highest.level
    }

    /// The level of such a finding in a place of which `is_in` says whether the override with an index holds there.
    #[must_use]
    pub fn level_in(
        &self,
        rule: &Rule,
        certainty: Certainty,
        own: Level,
        is_in: impl Fn(usize) -> bool,
    ) -> Level {
        let mut effective = EffectiveLevel::new(certainty, own);
        let here = self
            .overrides
            .iter()
            .enumerate()
            .filter_map(|(index, over)| is_in(index).then_some(over));
        let settings = self
            .base_levels
            .iter()
            .chain(here.flat_map(|over| &over.levels))
            .chain(&self.levels);
        for setting in settings.filter(|setting| setting.matches(rule, certainty)) {
            effective.apply(setting);
        }
        effective.level
    }

    /// True if a setting of the run forbids such findings: then no exception is made for them.
    #[must_use]
    pub fn forbids(&self, rule: &Rule, certainty: Certainty) -> bool {
        self.levels
            .iter()
            .any(|setting| setting.change == Change::Forbid && setting.matches(rule, certainty))
    }

    /// The least certainty with which a finding of some of the rules can be reported.
    fn least_certainty(&self, is_one: impl Fn(&Rule) -> bool) -> Certainty {
        let shows_potential = self.registry.rules().any(|rule| {
            is_one(rule)
                && rule.can_be_potential
                && self.level(rule, Certainty::Potential, rule.definite) > Level::Allow
        });
        if shows_potential {
            Certainty::Potential
        } else if self.search(is_one) != SearchScope::None {
            Certainty::Conditional
        } else {
            Certainty::Definite
        }
    }

    /// The collectives for which witnesses of conditional findings of these rules are searched.
    #[must_use]
    pub fn search(&self, is_one: impl Fn(&Rule) -> bool) -> SearchScope {
        let level = |rule: &Rule, is_it: &dyn Fn(Selector) -> bool| {
            self.level_by(rule, Certainty::Conditional, rule.definite, is_it) > Level::Allow
        };
        let mut found = SearchScope::None;
        for rule in self.registry.rules() {
            if is_one(rule) && rule.can_be_conditional() && level(rule, &|_| true) {
                let is_asked_for = level(rule, &|selector| !selector.is_potential());
                found = found.max(if is_asked_for {
                    SearchScope::All
                } else {
                    SearchScope::Unknown
                });
            }
        }
        found
    }

    /// The options of the analyses: the findings that can be reported under these settings.
    #[must_use]
    pub fn analysis_options(&self) -> AnalysisOptions {
        let wants_spaces = self
            .registry
            .rules()
            .any(|rule| rule.family == Family::Space && self.wants(rule));
        let nulls = self.registry.find("PTX106").and_then(|rule| {
            [Certainty::Potential, Certainty::Definite]
                .into_iter()
                .find(|&certainty| self.level(rule, certainty, rule.definite) > Level::Allow)
        });
        // Conditional findings are potential ones with a witness.
        let with_witnesses = |is_one: fn(&Rule) -> bool| match self.least_certainty(is_one) {
            Certainty::Definite => Certainty::Definite,
            Certainty::Conditional | Certainty::Potential => Certainty::Potential,
        };
        AnalysisOptions {
            lanes: with_witnesses(|rule| rule.family == Family::Warp && !is_about_accesses(rule)),
            accesses: with_witnesses(is_about_accesses),
            spaces: wants_spaces.then(
                || match self.least_certainty(|rule| rule.family == Family::Space) {
                    Certainty::Potential => Certainty::Potential,
                    Certainty::Definite | Certainty::Conditional => Certainty::Definite,
                },
            ),
            nulls,
            // A global address that is converted twice is not reported unless a setting asks for it.
            global_twice: !(self.levels.is_empty()
                && self.base_levels.is_empty()
                && self.overrides.is_empty()),
            launches: self.launches.clone(),
        }
    }

    /// True if a finding of `rule` can be reported: a rule that is off need not run.
    #[must_use]
    pub fn wants(&self, rule: &Rule) -> bool {
        Certainty::ALL
            .into_iter()
            .filter(|&certainty| rule.can_be(certainty))
            .any(|certainty| self.level(rule, certainty, rule.definite) > Level::Allow)
    }
}

/// The rules about accesses of several threads that nothing orders.
const ACCESS_RULES: [&str; 4] = ["PTX415", "PTX416", "PTX417", "PTX418"];

fn is_about_accesses(rule: &Rule) -> bool {
    ACCESS_RULES.contains(&rule.code)
}

/// The level of a finding while the settings are applied to it.
struct EffectiveLevel {
    level: Level,
    /// The level that a forbidding setting has set, which no other lowers.
    floor: Level,
}

impl EffectiveLevel {
    const fn new(certainty: Certainty, own: Level) -> Self {
        Self {
            level: match certainty {
                Certainty::Definite => own,
                Certainty::Conditional | Certainty::Potential => Level::Allow,
            },
            floor: Level::Allow,
        }
    }

    fn apply(&mut self, setting: &LevelSetting) {
        self.level = match setting.change {
            Change::Set => setting.level.max(self.floor),
            Change::Raise | Change::Forbid => setting.level.max(self.level),
        };
        if setting.change == Change::Forbid {
            self.floor = self.floor.max(setting.level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, LevelSetting, Override, SearchScope, Selector, Settings};
    use crate::finding::Certainty::{self, Conditional, Definite, Potential};
    use crate::rule::Level::{self, Allow, Error, Warning};
    use crate::rules;
    use crate::scope::Scope;

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
        assert_eq!(
            level(&[("all", Allow, Change::Set), warn("warp")], Definite),
            Warning
        );
    }

    #[test]
    fn a_code_stands_for_definite_findings_unless_it_allows() {
        let potential = warn("potential");
        for (setting, definite, of_potential) in [
            (warn("PTX404"), Error, Allow),
            (("PTX404", Warning, Change::Set), Warning, Allow),
            (("PTX404", Error, Change::Set), Error, Allow),
            (("PTX404", Error, Change::Forbid), Error, Allow),
            (("PTX404", Allow, Change::Set), Allow, Allow),
            (("potential:PTX404", Error, Change::Set), Error, Error),
            (("potential:PTX404", Allow, Change::Set), Error, Allow),
        ] {
            assert_eq!(level(&[setting], Definite), definite, "{setting:?}");
            assert_eq!(level(&[setting], Potential), of_potential, "{setting:?}");
            // Of those that `potential` has switched on, a level above `allow` leaves the others as they are.
            let is_potential = setting.0.starts_with("potential:");
            let kept = if is_potential || setting.1 == Allow {
                setting.1
            } else {
                Warning
            };
            assert_eq!(level(&[potential, setting], Potential), kept, "{setting:?}");
        }
        assert_eq!(
            level(&[("PTX404", Allow, Change::Set), potential], Potential),
            Warning
        );
    }

    #[test]
    fn the_code_of_a_rule_without_definite_findings_stands_for_its_potential_ones() {
        let rule = rules::find("PTX402").unwrap();
        assert!(!rule.can_be_definite && rule.can_be_potential);
        assert!(Selector::parse("PTX402").unwrap().matches(rule, Potential));
    }

    #[test]
    fn potential_selectors_are_for_conditional_findings_too() {
        for selector in ["potential", "potential:warp", "potential:PTX404"] {
            assert_eq!(level(&[warn(selector)], Conditional), Warning, "{selector}");
            let without = [warn(selector), ("conditional", Allow, Change::Set)];
            assert_eq!(level(&without, Conditional), Allow, "{selector}");
            assert_eq!(level(&without, Potential), Warning, "{selector}");
        }
        assert_eq!(level(&[warn("conditional")], Potential), Allow);
        let narrower = |selector: &str| Selector::parse(selector).unwrap().narrowness();
        assert!(narrower("conditional") > narrower("potential"));
        assert!(narrower("potential:warp") > narrower("conditional"));
    }

    /// The search for witnesses takes many times as long as the rest: potential findings alone ask for it only where nothing is known.
    #[test]
    fn potential_selectors_search_where_nothing_is_known() {
        for (selectors, wanted) in [
            (&[][..], SearchScope::None),
            (&["all"], SearchScope::None),
            (&["potential"], SearchScope::Unknown),
            (&["potential:PTX403"], SearchScope::Unknown),
            (&["potential:PTX402"], SearchScope::None),
            (&["potential", "conditional:PTX411"], SearchScope::All),
            (&["conditional"], SearchScope::All),
        ] {
            let levels = selectors.iter().map(|selector| LevelSetting {
                selector: Selector::parse(selector).unwrap(),
                level: Warning,
                change: Change::Raise,
            });
            let settings = Settings {
                levels: levels.collect(),
                ..Settings::default()
            };
            assert_eq!(settings.search(|_| true), wanted, "{selectors:?}");
        }
    }

    /// PTX606 is off, and never potential.
    #[test]
    fn rules_run_only_for_certainties_that_they_can_have() {
        let rule = rules::find("PTX606").unwrap();
        assert_eq!(rule.definite, Allow);
        let settings = Settings {
            levels: vec![LevelSetting {
                selector: Selector::Potential,
                level: Warning,
                change: Change::Raise,
            }],
            ..Settings::default()
        };
        assert!(!settings.wants(rule));
    }

    #[test]
    fn potential_selectors_leave_definite_findings() {
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
        ] {
            let problem = Selector::parse(text).unwrap_err().to_string();
            assert!(problem.contains(wanted), "{problem}");
        }
    }

    #[test]
    fn guidelines_stand_for_their_rules() {
        for (selector, certainty, wanted) in [
            ("G-2.3", Definite, Warning),
            ("g-2.3", Definite, Warning),
            ("G-2.1", Definite, Error),
            ("G-2.3", Potential, Allow),
            ("potential:G-2.3", Potential, Warning),
        ] {
            assert_eq!(
                level(&[(selector, Warning, Change::Set)], certainty),
                wanted,
                "{selector}"
            );
        }
        let problem = Selector::parse("G-2.33").unwrap_err().to_string();
        assert!(problem.contains("did you mean `G-2.3`?"), "{problem}");
    }

    #[test]
    fn overrides_stand_between_the_file_and_the_run() {
        let set = |selector: &str, level| LevelSetting {
            selector: Selector::parse(selector).unwrap(),
            level,
            change: Change::Set,
        };
        let over = |level| Override {
            scope: Scope::default(),
            levels: vec![set("warp", level)],
        };
        let rule = rules::find("PTX404").unwrap();
        let mut settings = Settings {
            base_levels: vec![set("PTX404", Warning)],
            overrides: vec![over(Error), over(Allow)],
            ..Settings::default()
        };
        let here = |settings: &Settings| settings.level_in(rule, Definite, rule.definite, |_| true);
        let elsewhere = |settings: &Settings| settings.level_in(rule, Definite, rule.definite, |_| false);
        // The last override that holds counts, and what can be an error somewhere has to be looked for.
        assert_eq!((here(&settings), elsewhere(&settings)), (Allow, Warning));
        assert_eq!(settings.level(rule, Definite, rule.definite), Error);
        settings.levels = vec![set("PTX404", Allow)];
        assert_eq!((here(&settings), elsewhere(&settings)), (Allow, Allow));
        assert!(!settings.wants(rule));
        settings.levels.clear();
        settings.base_levels = vec![set("all", Allow)];
        assert!(settings.wants(rule));
    }
}
