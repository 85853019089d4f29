//! The input of a check, and the report that it writes its findings to.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;

use ptxcheck_analysis::ModuleAnalyses;
use ptxcheck_analysis::lanes::{Issue, Root};
pub use ptxcheck_analysis::{Analyses, Place};
use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::limits::MANGLED_NAME_BYTES;

use crate::assumptions::Assumptions;
use crate::conditional::{
    self, Conditional, ConditionalBarrier, ConditionalContention, ConditionalCopyFailure,
    ConditionalExchange, ConditionalHang, ConditionalLeaving, SearchScope, Searched,
};
use crate::finding::{Actor, Certainty, Finding, Frame, Located, Value, limit};
use crate::forecast::InputForecast;
use crate::inventory::{InputReport, Kernel};
use crate::ir::{Body, Function, FunctionId, Module};
use crate::launches::ShownKernel;
use crate::limits::MAX_FINDINGS;
use crate::link::{self, UndefinedSymbol};
use crate::policy::Policy;
use crate::reach::{self, Bundle};
use crate::rule::{Level, Rule, WitnessSearch};
use crate::rule_settings::RuleSettings;
use crate::sanitizer::Sanitizer;
use crate::support::variants::VariantWheel;

/// A module under analysis: its analyses, and the settings. All that [`ModuleAnalyses`] answers, it answers.
pub struct ModuleContext<'a> {
    analyses: ModuleAnalyses<'a>,
    conditional: OnceLock<Searched<Conditional>>,
    conditional_exchanges: OnceLock<Searched<ConditionalExchange>>,
    conditional_barriers: OnceLock<Searched<ConditionalBarrier>>,
    conditional_updates: OnceLock<Searched<ConditionalContention>>,
    conditional_beside_atomics: OnceLock<Searched<ConditionalContention>>,
    conditional_leaving: OnceLock<Searched<ConditionalLeaving>>,
    conditional_hangs: OnceLock<Searched<ConditionalHang>>,
    conditional_copy_failures: OnceLock<Searched<ConditionalCopyFailure>>,
    lane_roots: OnceLock<Vec<Root>>,
    /// The settings of the run.
    pub settings: RuleSettings<'a>,
}

impl<'a> ModuleContext<'a> {
    /// A context in which nothing has been analysed yet, with as much time as it takes.
    #[must_use]
    pub fn new(module: &'a Module<'a>, settings: RuleSettings<'a>) -> Self {
        Self::with_deadline(module, settings, Deadline::NEVER)
    }

    /// A context in which nothing has been analysed yet, whose analyses give up at the deadline.
    #[must_use]
    pub fn with_deadline(
        module: &'a Module<'a>,
        mut settings: RuleSettings<'a>,
        deadline: &'a Deadline,
    ) -> Self {
        Self {
            analyses: ModuleAnalyses::with_deadline(module, std::mem::take(&mut settings.analyses), deadline),
            conditional: OnceLock::new(),
            conditional_exchanges: OnceLock::new(),
            conditional_barriers: OnceLock::new(),
            conditional_updates: OnceLock::new(),
            conditional_beside_atomics: OnceLock::new(),
            conditional_leaving: OnceLock::new(),
            conditional_hangs: OnceLock::new(),
            conditional_copy_failures: OnceLock::new(),
            lane_roots: OnceLock::new(),
            settings,
        }
    }

    /// The conditional findings about collectives and barriers, if the settings ask for any.
    pub fn conditional(&self) -> &[Conditional] {
        let searched = self.conditional.get_or_init(|| {
            let scope = self.settings.search(WitnessSearch::Collectives);
            conditional::search_module(self, self.settings.assumptions, scope)
        });
        &searched.findings
    }

    /// The exchanges of lanes through memory that a witness makes, if the settings ask for them.
    pub fn conditional_exchanges(&self) -> &[ConditionalExchange] {
        self.searched(
            &self.conditional_exchanges,
            WitnessSearch::Exchanges,
            conditional::search_exchanges,
        )
    }

    /// The barriers of blocks that are missing with a witness, if the settings ask for them.
    pub fn conditional_barriers(&self) -> &[ConditionalBarrier] {
        self.searched(
            &self.conditional_barriers,
            WitnessSearch::Barriers,
            conditional::search_barriers,
        )
    }

    /// The lost updates that a witness shows, if the settings ask for them.
    pub fn conditional_updates(&self) -> &[ConditionalContention] {
        self.searched(
            &self.conditional_updates,
            WitnessSearch::LostUpdates,
            conditional::search_lost_updates,
        )
    }

    /// The plain accesses to what atomics change that a witness shows, if the settings ask for them.
    pub fn conditional_beside_atomics(&self) -> &[ConditionalContention] {
        self.searched(
            &self.conditional_beside_atomics,
            WitnessSearch::BesideAtomics,
            conditional::search_beside_atomics,
        )
    }

    /// The accesses that leave an array with a witness, if the settings ask for them.
    pub fn conditional_leaving(&self) -> &[ConditionalLeaving] {
        self.searched(
            &self.conditional_leaving,
            WitnessSearch::Bounds,
            conditional::search_leaving,
        )
    }

    /// The threads that wait for ever with a witness, if the settings ask for them.
    pub fn conditional_hangs(&self) -> &[ConditionalHang] {
        self.searched(
            &self.conditional_hangs,
            WitnessSearch::Hangs,
            conditional::search_hangs,
        )
    }

    /// The failures about asynchronous copies with a witness, if the settings ask for those of some rule.
    pub fn conditional_copy_failures(&self) -> &[ConditionalCopyFailure] {
        self.searched(
            &self.conditional_copy_failures,
            WitnessSearch::Copies,
            conditional::search_copy_failures,
        )
    }

    /// The findings of a search for witnesses, if the settings ask for it.
    fn searched<'s, T>(
        &self,
        known: &'s OnceLock<Searched<T>>,
        kind: WitnessSearch,
        search: fn(&ModuleAnalyses<'_>, &Assumptions) -> Searched<T>,
    ) -> &'s [T] {
        let searched = known.get_or_init(|| {
            if self.settings.search(kind) == SearchScope::All {
                search(self, self.settings.assumptions)
            } else {
                Searched::default()
            }
        });
        &searched.findings
    }

    /// Number of kernels in which the search for witnesses ended at a limit.
    pub(crate) fn unsearched(&self) -> u32 {
        fn add<T>(kernels: &mut BTreeSet<FunctionId>, searched: &OnceLock<Searched<T>>) {
            kernels.extend(searched.get().into_iter().flat_map(|searched| &searched.cut));
        }
        let mut kernels = BTreeSet::new();
        add(&mut kernels, &self.conditional);
        add(&mut kernels, &self.conditional_exchanges);
        add(&mut kernels, &self.conditional_barriers);
        add(&mut kernels, &self.conditional_updates);
        add(&mut kernels, &self.conditional_beside_atomics);
        add(&mut kernels, &self.conditional_leaving);
        add(&mut kernels, &self.conditional_hangs);
        add(&mut kernels, &self.conditional_copy_failures);
        kernels.len() as u32
    }

    /// The results of the lane analysis by kernel, with the conditional findings in place of the potential ones at their sites.
    pub(crate) fn lane_roots(&self) -> &[Root] {
        if self.conditional().is_empty() {
            return self.lanes();
        }
        self.lane_roots
            .get_or_init(|| conditional::merge_conditional_findings(self.lanes(), self.conditional()))
    }

    /// The conditional finding with this issue, with its witness.
    pub(crate) fn conditional_of(&self, issue: &Issue) -> Option<&Conditional> {
        if issue.certainty != Certainty::Conditional {
            return None;
        }
        let mut found = self.conditional().iter();
        let is_it = |other: &&Conditional| {
            (&other.found.issue.site, other.found.issue.problem) == (&issue.site, issue.problem)
        };
        found.find(is_it)
    }

    /// The launches of a kernel that the compiled host code shows.
    pub(crate) fn shown_launches(&self, kernel: FunctionId) -> Option<&ShownKernel> {
        self.settings
            .launches
            .shown_kernel(self.module.function_name(kernel))
    }
}

impl<'a> Deref for ModuleContext<'a> {
    type Target = ModuleAnalyses<'a>;

    fn deref(&self) -> &Self::Target {
        &self.analyses
    }
}

/// A function under analysis.
pub struct FunctionContext<'a> {
    /// The module it is in.
    pub module: &'a ModuleContext<'a>,
    /// Its index.
    pub id: FunctionId,
    /// The function.
    pub function: &'a Function<'a>,
    /// Its body.
    pub body: &'a Body<'a>,
}

impl<'a> FunctionContext<'a> {
    /// Its analyses.
    #[must_use]
    pub fn analyses(&self) -> &'a Analyses<'a> {
        self.module.function(self.id)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.module.module.function_name(self.id)
    }
}

/// A finding as a check writes it: places are not yet looked up.
#[derive(Debug)]
pub struct Draft<P = Place> {
    /// The finding without its places.
    pub(crate) finding: Finding,
    pub(crate) place: P,
    /// Notes about the launch that it rests on, which come after all others.
    pub(crate) launch_notes: Vec<String>,
    pub(crate) related: Vec<(P, String)>,
    pub(crate) steps: Vec<(P, String, Actor)>,
    /// Index of the related place that has to be fixed, if it is not the place itself.
    pub(crate) to_mend: Option<usize>,
    /// It holds even if the time is over by now.
    pub(crate) is_finished: bool,
}

impl<P> Draft<P> {
    /// Says that all it rests on was finished in time, even if other work is cut short by now.
    pub(crate) fn finished(&mut self) -> &mut Self {
        self.is_finished = true;
        self
    }

    /// Adds a note: an assumption, a cause.
    pub fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.finding.notes.push(note.into());
        self
    }

    /// Adds advice.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.finding.help.push(help.into());
        self
    }

    /// Adds a place that explains it.
    pub fn related(&mut self, place: P, message: impl Into<String>) -> &mut Self {
        self.related.push((place, message.into()));
        self
    }

    /// Adds a step of a run that goes wrong so. The message ends with the act of the lanes.
    pub(crate) fn step(&mut self, place: P, message: String, by: Actor) -> &mut Self {
        self.steps.push((place, message, by));
        self
    }

    /// Adds a place that explains it and has to be fixed: findings that share it have one cause.
    pub fn caused_at(&mut self, place: P, message: impl Into<String>) -> &mut Self {
        self.to_mend = Some(self.related.len());
        self.related(place, message)
    }

    /// Sets the kind of its message, where the rule has several: a word that is never changed, since fingerprints hold it.
    pub fn kind(&mut self, kind: &'static str) -> &mut Self {
        self.finding.cause.kind = kind.into();
        self
    }

    /// Says that it is about two instructions, which are both shown even where they are on one line of the source.
    pub(crate) fn about_two_places(&mut self) -> &mut Self {
        self.finding.has_two_places = true;
        self
    }

    /// Names the tool that sees it happen in a run on a GPU.
    pub fn seen_by(&mut self, sanitizer: Sanitizer) -> &mut Self {
        self.finding.sanitizer = Some(sanitizer);
        self
    }

    /// Marks its symbol as the thing to fix: its uses have one cause.
    pub fn caused_by_symbol(&mut self) -> &mut Self {
        self.finding.cause.is_symbol = true;
        self
    }

    /// Sets the message of several findings with one cause whose own messages differ. Without it, the rule's summary is
    /// theirs.
    pub fn in_general(&mut self, message: impl Into<Cow<'static, str>>) -> &mut Self {
        self.finding.cause.general = Some(message.into());
        self
    }

    /// Adds to its payload; texts are cut at [`MANGLED_NAME_BYTES`].
    pub fn data(&mut self, key: &'static str, value: impl Into<Value>) -> &mut Self {
        let mut value = value.into();
        if let Value::Text(text) = &mut value {
            text.truncate(text.floor_char_boundary(MANGLED_NAME_BYTES));
        }
        self.finding.data.insert(key, value);
        self
    }

    /// Reports it at a lower level than the rule's other findings.
    pub fn at_most(&mut self, level: Level) -> &mut Self {
        self.finding.own_level = self.finding.own_level.min(level);
        self
    }
}

/// Keeps the drafts that the settings want, up to the limit for one input; returns the number of those beyond it.
pub(crate) fn limit_drafts<P>(drafts: &mut Vec<Draft<P>>, settings: &RuleSettings<'_>) -> usize {
    drafts.retain(|draft| settings.level_of(&draft.finding) > Level::Allow);
    limit(drafts, |draft| Some(draft.finding.certainty))
}

/// All inputs of a run, for the rules that compare images.
pub struct ImagesContext<'a> {
    /// The inputs, in the order given.
    pub inputs: &'a [InputReport],
    /// The policy that the images are checked against.
    pub policy: &'a Policy,
    /// The inputs are all parts of one program, and linked together.
    pub is_one_program: bool,
    /// They are linked with nothing else.
    pub is_complete: bool,
    missing: OnceLock<Vec<UndefinedSymbol<'a>>>,
    forecasts: OnceLock<Vec<InputForecast<'a>>>,
    bundles: OnceLock<Vec<Bundle>>,
    variant_wheels: OnceLock<Vec<VariantWheel<'a>>>,
}

impl<'a> ImagesContext<'a> {
    /// For the inputs of a run with these settings.
    #[must_use]
    pub const fn new(inputs: &'a [InputReport], settings: &RuleSettings<'a>) -> Self {
        Self {
            inputs,
            policy: settings.policy,
            is_one_program: settings.is_one_program,
            is_complete: settings.is_complete,
            missing: OnceLock::new(),
            forecasts: OnceLock::new(),
            bundles: OnceLock::new(),
            variant_wheels: OnceLock::new(),
        }
    }

    /// For each input, what the GPUs of the policy load of it; empty where the policy names none.
    #[must_use]
    pub fn forecasts(&self) -> &[InputForecast<'a>] {
        self.forecasts.get_or_init(|| {
            if self.policy.gpus.is_empty() {
                return Vec::new();
            }
            let inputs = self.inputs.iter();
            inputs
                .map(|input| InputForecast::new(input, &self.policy.gpus, None))
                .collect()
        })
    }

    /// The packages of the run and its other files, with the GPUs that load them.
    #[must_use]
    pub fn bundles(&self) -> &[Bundle] {
        if let Some(bundles) = self.bundles.get() {
            return bundles;
        }
        // Not while the lock is held: a thread that waits for others may begin another rule, which asks for the same.
        let bundles = reach::bundles(self.inputs);
        self.bundles.get_or_init(|| bundles)
    }

    /// The packages and other files, if a rule has asked for them.
    pub(crate) fn into_bundles(self) -> OnceLock<Vec<Bundle>> {
        self.bundles
    }

    /// The wheels with metadata about their variant.
    pub(crate) fn variant_wheels(&self) -> &[VariantWheel<'a>] {
        self.variant_wheels.get_or_init(|| VariantWheel::all(self.inputs))
    }

    /// The symbols that device code uses and that no image of its link set defines.
    pub(crate) fn missing(&self) -> &[UndefinedSymbol<'a>] {
        self.missing
            .get_or_init(|| link::missing(self.inputs, self.is_one_program, self.is_complete))
    }
}

/// The subject of a finding about images: an input, an image, or a function in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlace {
    /// Index of the input.
    pub input: usize,
    /// Index of the image in the input; `None` for the input as a whole.
    pub image: Option<u32>,
    /// The kernel or function it is about, as the image names it.
    pub function: Option<String>,
    /// The line of the source that declares that function, where it is known.
    pub source: Option<Frame>,
    /// The place in the image, where it is known more closely.
    pub located: Option<Box<Located>>,
}

impl ImagePlace {
    /// An input as a whole.
    #[must_use]
    pub const fn input(input: usize) -> Self {
        Self {
            input,
            image: None,
            function: None,
            source: None,
            located: None,
        }
    }

    /// A use of a symbol.
    #[must_use]
    pub(crate) fn of_use(symbol_use: &link::SymbolUse<'_>) -> Self {
        Self {
            function: symbol_use.at.and_then(|at| at.function.clone()),
            located: symbol_use.at.map(|at| Box::new(at.clone())),
            ..Self::image(symbol_use.input, symbol_use.image)
        }
    }

    /// An image.
    #[must_use]
    pub fn image(input: usize, image: u32) -> Self {
        Self {
            image: Some(image),
            ..Self::input(input)
        }
    }

    /// A kernel of an image.
    #[must_use]
    pub fn kernel(input: usize, image: u32, kernel: &Kernel) -> Self {
        Self {
            function: Some(kernel.name.clone()),
            source: kernel.source.clone(),
            ..Self::image(input, image)
        }
    }
}

/// Collects the drafts of a check.
pub struct Report<'a, P = Place> {
    rule: &'static Rule,
    drafts: &'a mut Vec<Draft<P>>,
    /// The most drafts that are kept at a time, and the settings that decide which.
    limit: Option<(usize, &'a RuleSettings<'a>)>,
    left_out: usize,
}

impl<'a, P> Report<'a, P> {
    /// For the findings of `rule`.
    pub(crate) fn new(rule: &'static Rule, drafts: &'a mut Vec<Draft<P>>) -> Self {
        Self {
            rule,
            drafts,
            limit: None,
            left_out: 0,
        }
    }

    /// For the findings of `rule`; drafts far beyond the limit for one input are dropped.
    pub(crate) fn limited(
        rule: &'static Rule,
        drafts: &'a mut Vec<Draft<P>>,
        settings: &'a RuleSettings<'a>,
    ) -> Self {
        Self {
            limit: Some((2 * MAX_FINDINGS, settings)),
            ..Self::new(rule, drafts)
        }
    }

    /// Number of drafts that were not kept.
    pub(crate) const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Reports a failure on every execution that reaches `place`.
    pub fn definite(&mut self, place: P, message: impl Into<String>) -> &mut Draft<P> {
        self.add(Certainty::Definite, place, message.into())
    }

    /// Reports a failure for the launch and the values that the finding names.
    pub fn conditional(&mut self, place: P, message: impl Into<String>) -> &mut Draft<P> {
        self.add(Certainty::Conditional, place, message.into())
    }

    /// Reports what may be wrong.
    pub fn potential(&mut self, place: P, message: impl Into<String>) -> &mut Draft<P> {
        self.add(Certainty::Potential, place, message.into())
    }

    fn add(&mut self, certainty: Certainty, place: P, message: String) -> &mut Draft<P> {
        if let Some((limit, settings)) = self.limit
            && self.drafts.len() >= limit
        {
            self.left_out += limit_drafts(self.drafts, settings);
        }
        self.drafts.push(Draft {
            finding: Finding::new(self.rule, certainty, message),
            place,
            launch_notes: Vec::new(),
            related: Vec::new(),
            steps: Vec::new(),
            to_mend: None,
            is_finished: false,
        });
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }
}
