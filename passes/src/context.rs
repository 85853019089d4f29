//! What a check sees, and where it puts what it found.

use std::sync::OnceLock;

use ptxcheck_ptx_parser::Span;
use rustc_hash::FxHashSet;

use crate::analysis::call_graph::{CallGraph, CallSite};
use crate::analysis::cfg::Cfg;
use crate::analysis::collectives::{self, Site};
use crate::analysis::definitions::{self, Definitions};
use crate::analysis::dominators::Dominators;
use crate::analysis::lanes::{self, Root};
use crate::analysis::provenance::{self, Violation};
use crate::analysis::reached::{self, Asked};
use crate::analysis::slots::{self, Effect, SlotId, Slots};
use crate::deadline::Deadline;
use crate::finding::{Certainty, Data, Frame, Located, Value, limit};
use crate::inventory::{InputReport, Kernel};
use crate::ir::{
    Body, DebugId, Function, FunctionId, Instruction, InstructionId, Module, Register, SymbolId,
};
use crate::limits::{MANGLED_NAME_BYTES, MAX_FINDINGS};
use crate::link::{self, Missing};
use crate::names;
use crate::policy::Policy;
use crate::rule::{Family, Level, Rule};
use crate::settings::Settings;

/// A module under analysis, with the analyses that have been asked for.
pub struct ModuleContext<'a> {
    /// The module.
    pub module: &'a Module<'a>,
    /// What the user decided.
    pub settings: &'a Settings,
    /// When analyses give up.
    pub deadline: &'a Deadline,
    functions: Vec<Analyses<'a>>,
    call_graph: OnceLock<CallGraph>,
    call_cycles: OnceLock<Vec<Vec<FunctionId>>>,
    collectives: OnceLock<Vec<Site>>,
    violations: OnceLock<Vec<Violation>>,
    lanes: OnceLock<Vec<Root>>,
}

/// The analyses of one function. Until one is asked for, it costs a few words: modules can have a million functions.
pub struct Analyses<'a> {
    module: &'a Module<'a>,
    function: &'a Function<'a>,
    deadline: &'a Deadline,
    computed: OnceLock<Box<Computed>>,
}

#[derive(Default)]
struct Computed {
    cfg: OnceLock<Cfg>,
    dominators: OnceLock<Box<Dominators>>,
    post_dominators: OnceLock<Box<Dominators>>,
    definitions: OnceLock<Definitions>,
    read: OnceLock<Vec<bool>>,
    reached: Reached,
    reached_closely: Reached,
    slots: OnceLock<Box<Slots>>,
}

/// What is ever executed of a function, once that is asked.
#[derive(Default)]
struct Reached {
    blocks: OnceLock<Vec<bool>>,
    held_back: OnceLock<Vec<InstructionId>>,
}

static NO_BODY: Body<'static> = Body::EMPTY;

impl<'a> Analyses<'a> {
    const fn of(module: &'a Module<'a>, function: &'a Function<'a>, deadline: &'a Deadline) -> Self {
        Self {
            module,
            function,
            deadline,
            computed: OnceLock::new(),
        }
    }

    fn computed(&self) -> &Computed {
        self.computed.get_or_init(Box::default)
    }

    /// When analyses give up.
    #[must_use]
    pub const fn deadline(&self) -> &'a Deadline {
        self.deadline
    }

    fn body(&self) -> &Body<'a> {
        self.function.body.as_ref().unwrap_or(&NO_BODY)
    }

    /// Some of the function's text could not be read: what its registers hold is not known.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.function.is_damaged
    }

    /// The control-flow graph.
    pub fn cfg(&self) -> &Cfg {
        self.computed().cfg.get_or_init(|| Cfg::new(self.body()))
    }

    /// Which block every path to a block passes.
    pub fn dominators(&self) -> &Dominators {
        self.computed()
            .dominators
            .get_or_init(|| Box::new(Dominators::new(self.body(), self.cfg())))
    }

    /// Which block every path from a block to the end passes.
    pub fn post_dominators(&self) -> &Dominators {
        self.computed()
            .post_dominators
            .get_or_init(|| Box::new(Dominators::post(self.body(), self.cfg())))
    }

    /// Which values stay in `.local` memory.
    pub fn slots(&self) -> &Slots {
        self.computed()
            .slots
            .get_or_init(|| Box::new(Slots::new(self.module, self.body(), self.definitions())))
    }

    /// The slot that an instruction loads. Of most, it is told without a look at what else the body does to slots.
    pub fn loaded_slot(&self, id: InstructionId, instruction: &Instruction) -> Option<SlotId> {
        if !slots::may_access(self.body(), self.definitions(), instruction) {
            return None;
        }
        match self.slots().effect(id, instruction) {
            Effect::Load(slot) => Some(slot),
            _ => None,
        }
    }

    /// Whether each way to one instruction leads past another.
    pub fn is_before(&self, first: InstructionId, second: InstructionId) -> bool {
        let (from, to) = (self.body().block_of(first), self.body().block_of(second));
        if from == to {
            return first < second;
        }
        let is_entry = from.index() == 0 && self.cfg().rank(from).is_some();
        is_entry || self.dominators().dominates(from, to)
    }

    /// The store that has put into a slot what an instruction loads there, whenever it is executed: all that writes the slot,
    /// and on each way to the load.
    pub fn store_for(&self, load: InstructionId) -> Option<InstructionId> {
        let slot = self.loaded_slot(load, self.body().instruction(load))?;
        let store = self.slots().only_store(self.body(), slot)?;
        self.is_before(store, load).then_some(store)
    }

    /// Which instructions write a register.
    pub fn definitions(&self) -> &Definitions {
        self.computed()
            .definitions
            .get_or_init(|| Definitions::new(self.body()))
    }

    /// Whether anything reads a register.
    pub fn is_read(&self, register: Register) -> bool {
        let read = self
            .computed()
            .read
            .get_or_init(|| definitions::read(self.body()));
        read.get(register.index()) == Some(&true)
    }

    /// Whether an instruction may be executed at all: not so behind a branch that a constant decides against, nor under a
    /// guard that one makes false. To be asked of what is about to be reported.
    pub fn is_reached(&self, id: InstructionId) -> bool {
        self.may_be_reached(id) && self.is_reached_by(id, &self.computed().reached_closely, Asked::All)
    }

    /// The same, as far as that is told for next to nothing: to be asked of much.
    pub fn may_be_reached(&self, id: InstructionId) -> bool {
        self.is_reached_by(id, &self.computed().reached, Asked::Fixed)
    }

    fn is_reached_by(&self, id: InstructionId, reached: &Reached, asked: Asked) -> bool {
        let body = self.body();
        let blocks = reached.blocks.get_or_init(|| reached::blocks(body, self, asked));
        if blocks.get(body.block_of(id).index()) != Some(&true) {
            return false;
        }
        if body.instruction(id).guard.is_none() {
            return true;
        }
        let held_back = reached
            .held_back
            .get_or_init(|| reached::held_back(body, self, asked));
        held_back.binary_search(&id).is_err()
    }
}

impl<'a> ModuleContext<'a> {
    /// A context in which nothing has been analysed yet, with as much time as it takes.
    #[must_use]
    pub fn new(module: &'a Module<'a>, settings: &'a Settings) -> Self {
        Self::with_deadline(module, settings, Deadline::NEVER)
    }

    /// The same, with a time at which analyses give up.
    #[must_use]
    pub fn with_deadline(module: &'a Module<'a>, settings: &'a Settings, deadline: &'a Deadline) -> Self {
        Self {
            module,
            settings,
            deadline,
            functions: module
                .functions
                .iter()
                .map(|function| Analyses::of(module, function, deadline))
                .collect(),
            call_graph: OnceLock::new(),
            call_cycles: OnceLock::new(),
            collectives: OnceLock::new(),
            violations: OnceLock::new(),
            lanes: OnceLock::new(),
        }
    }

    /// The analyses of a function.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Analyses<'a> {
        &self.functions[id.index()]
    }

    /// The direct calls.
    pub fn call_graph(&self) -> &CallGraph {
        self.call_graph.get_or_init(|| CallGraph::new(self.module))
    }

    /// The sets of functions that call each other in a cycle, by calls that may be executed.
    pub fn call_cycles(&self) -> &[Vec<FunctionId>] {
        self.call_cycles.get_or_init(|| {
            let graph = self.call_graph();
            let apparent: FxHashSet<FunctionId> = graph.cycles(|_| true).into_iter().flatten().collect();
            if apparent.is_empty() {
                return Vec::new();
            }
            graph.cycles(|site| apparent.contains(&site.caller) && self.may_call(site))
        })
    }

    /// Whether a call may be executed.
    #[must_use]
    pub fn may_call(&self, site: &CallSite) -> bool {
        self.function(site.caller).is_reached(site.instruction)
    }

    /// Where lanes go, and what is wrong with the collectives and barriers they meet at, by kernel.
    pub fn lanes(&self) -> &[Root] {
        self.lanes
            .get_or_init(|| lanes::analyse(self, self.settings.least_certainty(Family::Warp)))
    }

    /// What the analyses that were made have not looked at, since it exceeds a limit, as a sentence.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        let limited = |root: &&Root| root.is_limited;
        let mut roots = self.lanes.get()?.iter().filter(limited);
        let first = names::told(self.module.function_name(roots.next()?.function));
        let others = roots.count();
        Some(match others {
            0 => format!("it is too much work to follow all lanes of `{first}`"),
            _ => format!("it is too much work to follow all lanes of `{first}` and {others} more kernels"),
        })
    }

    /// The warp collectives, in the contexts that decide their operands.
    pub fn collectives(&self) -> &[Site] {
        self.collectives.get_or_init(|| collectives::sites(self))
    }

    /// The addresses that are used for what they are not, in the order of the input.
    pub fn violations(&self) -> &[Violation] {
        self.violations.get_or_init(|| provenance::violations(self))
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

/// What a finding, or a part of its explanation, is about.
#[derive(Clone, Debug)]
pub enum Place {
    /// The module as a whole.
    Module,
    /// A symbol's declaration.
    Symbol(SymbolId),
    /// A function's header.
    Function(FunctionId),
    /// A stretch of text in a function, with its debug location.
    Text(FunctionId, Span, DebugId),
    /// An instruction, with the calls that lead to it, innermost first.
    Instruction(FunctionId, InstructionId, Vec<CallSite>),
}

impl Place {
    /// An instruction, in any context.
    #[must_use]
    pub const fn instruction(function: FunctionId, instruction: InstructionId) -> Self {
        Self::Instruction(function, instruction, Vec::new())
    }

    /// A call.
    #[must_use]
    pub const fn call(site: CallSite) -> Self {
        Self::instruction(site.caller, site.instruction)
    }
}

/// A finding as a check writes it: places are not yet looked up.
#[derive(Debug)]
pub struct Draft<P = Place> {
    pub(crate) rule: &'static Rule,
    pub(crate) certainty: Certainty,
    pub(crate) level: Level,
    pub(crate) place: P,
    pub(crate) message: String,
    pub(crate) notes: Vec<String>,
    pub(crate) help: Vec<String>,
    pub(crate) related: Vec<(P, String)>,
    pub(crate) data: Data,
    /// It holds even if the time is over by now.
    pub(crate) is_finished: bool,
}

impl<P> Draft<P> {
    /// Says that all it rests on was finished in time, even if other work is cut short by now.
    pub(crate) fn finished(&mut self) -> &mut Self {
        self.is_finished = true;
        self
    }

    /// Adds what else one has to know.
    pub fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.notes.push(note.into());
        self
    }

    /// Adds what to do.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help.push(help.into());
        self
    }

    /// Adds a place that explains it.
    pub fn related(&mut self, place: P, message: impl Into<String>) -> &mut Self {
        self.related.push((place, message.into()));
        self
    }

    /// Adds to its payload; texts are cut at [`MANGLED_NAME_BYTES`].
    pub fn data(&mut self, key: &'static str, value: impl Into<Value>) -> &mut Self {
        let mut value = value.into();
        if let Value::Text(text) = &mut value {
            text.truncate(text.floor_char_boundary(MANGLED_NAME_BYTES));
        }
        self.data.insert(key, value);
        self
    }

    /// Reports it at a lower level than the rule's other findings.
    pub fn at_most(&mut self, level: Level) -> &mut Self {
        self.level = self.level.min(level);
        self
    }
}

/// Leaves as many drafts as are told of one input, of those that are told at all; how many of these are gone.
pub(crate) fn limit_drafts<P>(drafts: &mut Vec<Draft<P>>, settings: &Settings) -> usize {
    drafts.retain(|draft| settings.level(draft.rule, draft.certainty, draft.level) > Level::Allow);
    limit(drafts, |draft| Some(draft.certainty))
}

/// All inputs of a run, for the rules that compare images.
pub struct ImagesContext<'a> {
    /// The inputs, in the order given.
    pub inputs: &'a [InputReport],
    /// What the user asks of images.
    pub policy: &'a Policy,
    /// The inputs are all parts of one program, and linked together.
    pub is_one_program: bool,
    /// They are linked with nothing else.
    pub is_complete: bool,
    missing: OnceLock<Vec<Missing<'a>>>,
}

impl<'a> ImagesContext<'a> {
    /// Of the inputs of a run, and what the user says of them.
    #[must_use]
    pub const fn new(inputs: &'a [InputReport], settings: &'a Settings) -> Self {
        Self {
            inputs,
            policy: &settings.policy,
            is_one_program: settings.link_set || settings.whole_program,
            is_complete: settings.whole_program,
            missing: OnceLock::new(),
        }
    }

    /// The symbols that device code uses and that no image of its link set defines.
    pub fn missing(&self) -> &[Missing<'a>] {
        self.missing
            .get_or_init(|| link::missing(self.inputs, self.is_one_program, self.is_complete))
    }
}

/// What a finding about images is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlace {
    /// Index of the input.
    pub input: usize,
    /// Index of the image in the input; `None` for the input as a whole.
    pub image: Option<u32>,
    /// The kernel or function it is about, as the image names it.
    pub function: Option<String>,
    /// Where the source declares that, where it is known.
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
    pub fn site(site: &link::Site<'_>) -> Self {
        Self {
            function: site.at.and_then(|at| at.function.clone()),
            located: site.at.map(|at| Box::new(at.clone())),
            ..Self::image(site.input, site.image)
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

/// Where a check puts what it found.
pub struct Report<'a, P = Place> {
    rule: &'static Rule,
    drafts: &'a mut Vec<Draft<P>>,
    /// How many drafts may be kept at a time, and who chooses if there are more.
    room: Option<(usize, &'a Settings)>,
    left_out: usize,
}

impl<'a, P> Report<'a, P> {
    /// For the findings of `rule`.
    pub(crate) fn new(rule: &'static Rule, drafts: &'a mut Vec<Draft<P>>) -> Self {
        Self {
            rule,
            drafts,
            room: None,
            left_out: 0,
        }
    }

    /// The same; of many more than are told of one input, the first are kept.
    pub(crate) fn limited(
        rule: &'static Rule,
        drafts: &'a mut Vec<Draft<P>>,
        settings: &'a Settings,
    ) -> Self {
        Self {
            room: Some((2 * MAX_FINDINGS, settings)),
            ..Self::new(rule, drafts)
        }
    }

    /// How many drafts are not kept.
    pub(crate) const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Reports what is wrong on every execution that reaches `place`.
    pub fn definite(&mut self, place: P, message: impl Into<String>) -> &mut Draft<P> {
        self.add(Certainty::Definite, place, message.into())
    }

    /// Reports what may be wrong.
    pub fn potential(&mut self, place: P, message: impl Into<String>) -> &mut Draft<P> {
        self.add(Certainty::Potential, place, message.into())
    }

    fn add(&mut self, certainty: Certainty, place: P, message: String) -> &mut Draft<P> {
        if let Some((room, settings)) = self.room
            && self.drafts.len() >= room
        {
            self.left_out += limit_drafts(self.drafts, settings);
        }
        self.drafts.push(Draft {
            rule: self.rule,
            certainty,
            level: self.rule.definite,
            place,
            message,
            notes: Vec::new(),
            help: Vec::new(),
            related: Vec::new(),
            data: Data::default(),
            is_finished: false,
        });
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }
}
