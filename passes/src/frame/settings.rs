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
use crate::rule::{Family, Level, Question, Rule, WitnessSearch};
use crate::rule_settings::{RuleLevels, RuleSettings};
use crate::scope::{PathMap, Root, Scope};
use crate::selector::Subject;
use crate::shard_assignment::Deal;

pub use crate::selector::{Selector, UnknownSelector, nearest};

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
            && matches!(self.selector.certainty, Certainty::Definite)
            && matches!(self.selector.what, Subject::Rule(named) if std::ptr::eq(named, rule));
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
                && rule.can_be(Certainty::Potential)
                && self.level(rule, Certainty::Potential, rule.definite) > Level::Allow
        });
        if shows_potential {
            Certainty::Potential
        } else if self.search_for(is_one) != SearchScope::None {
            Certainty::Conditional
        } else {
            Certainty::Definite
        }
    }

    /// The places for which a search for witnesses is made.
    #[must_use]
    pub fn search(&self, kind: WitnessSearch) -> SearchScope {
        self.search_for(|rule| rule.certainties.witness_search() == Some(kind))
    }

    /// The places for which the search for witnesses with the greatest scope is made.
    #[must_use]
    pub fn greatest_search(&self) -> SearchScope {
        self.search_for(|_| true)
    }

    fn search_for(&self, is_one: impl Fn(&Rule) -> bool) -> SearchScope {
        let level = |rule: &Rule, is_it: &dyn Fn(Selector) -> bool| {
            self.level_by(rule, Certainty::Conditional, rule.definite, is_it) > Level::Allow
        };
        let mut found = SearchScope::None;
        for rule in self.registry.rules() {
            if is_one(rule) && rule.can_be(Certainty::Conditional) && level(rule, &|_| true) {
                let is_asked_for = level(rule, &|selector| selector.certainty != Certainty::Potential);
                found = found.max(if is_asked_for {
                    SearchScope::All
                } else {
                    SearchScope::Unknown
                });
            }
        }
        found
    }

    /// The settings that checks need: a [`ModuleContext`](crate::ModuleContext) of one's own takes them.
    ///
    /// ```
    /// use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower};
    /// use ptxcheck_passes::{ModuleContext, Settings};
    ///
    /// let text = b".version 9.0\n.target sm_90\n.visible .entry k() { ret; }\n";
    /// let tree = ptxcheck_ptx_parser::parse(text)?;
    /// let origin = PtxOrigin::new(&tree);
    /// let module = lower(&tree, &origin);
    /// let settings = Settings::default();
    /// let context = ModuleContext::new(&module, settings.for_rules());
    /// let (kernel, ..) = context.module.bodies().next().unwrap();
    /// assert_eq!(context.function(kernel).cfg().reverse_postorder().len(), 1);
    /// assert!(context.call_graph().calls_of(kernel).is_empty() && context.violations().is_empty());
    /// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
    /// ```
    #[must_use]
    pub fn for_rules(&self) -> RuleSettings<'_> {
        let levels_of = |rule: &'static Rule| {
            let definite = [Level::Allow, Level::Warning, Level::Error]
                .map(|own| self.level(rule, Certainty::Definite, own));
            let [conditional, potential] = [Certainty::Conditional, Certainty::Potential]
                .map(|certainty| self.level(rule, certainty, rule.definite));
            RuleLevels {
                code: rule.code,
                question: rule.question,
                own: rule.definite,
                definite,
                conditional,
                potential,
            }
        };
        let mut levels: Vec<RuleLevels> = self.registry.rules().map(levels_of).collect();
        // Those of a program's own come after ours.
        levels.sort_by_key(|levels| levels.code);
        RuleSettings {
            levels,
            searches: WitnessSearch::ALL.map(|kind| self.search(kind)),
            analyses: self.analysis_options(),
            launches: &self.launches,
            assumptions: &self.assumptions,
            policy: &self.policy,
            near_limit: self.near_limit,
            is_one_program: self.is_one_program(),
            is_complete: self.whole_program,
            find_index_limits: self.find_index_limits,
        }
    }

    /// The options of the analyses: the findings that can be reported under these settings.
    #[must_use]
    pub fn analysis_options(&self) -> AnalysisOptions {
        let wants_spaces = self
            .registry
            .rules()
            .any(|rule| rule.family == Family::Space && self.wants(rule));
        let asks_for_nulls = |rule: &&'static Rule| rule.question == Some(Question::NullAddresses);
        let nulls = self.registry.rules().find(asks_for_nulls).and_then(|rule| {
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

/// True for the rules about accesses of several threads that nothing orders.
fn is_about_accesses(rule: &Rule) -> bool {
    let search = rule.certainties.witness_search();
    search.is_some_and(WitnessSearch::is_about_accesses)
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
            assert_eq!(settings.greatest_search(), wanted, "{selectors:?}");
        }
    }

    /// PTX606 is off, and never potential.
    #[test]
    fn rules_run_only_for_certainties_that_they_can_have() {
        let rule = rules::find("PTX606").unwrap();
        assert_eq!(rule.definite, Allow);
        let settings = Settings {
            levels: vec![LevelSetting {
                selector: Selector::POTENTIAL,
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
