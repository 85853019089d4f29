//! The analyses of a module, each made when it is first asked for.

use std::sync::OnceLock;

use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::names;
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{
    Body, DebugId, Function, FunctionId, Instruction, InstructionId, Module, Register, Span, SymbolId,
};
use rustc_hash::FxHashSet;

use crate::call_graph::{CallGraph, CallSite};
use crate::certainty::Certainty;
use crate::collectives::{self, Site};
use crate::definitions::{self, Definitions};
use crate::dominators::Dominators;
use crate::lanes::{self, Root};
use crate::launches::Launches;
use crate::provenance::{self, Violation};
use crate::reached::{self, Asked as AskedOfReach};
use crate::slots::{self, Effect, SlotId, Slots};

/// What is to be found out: analyses leave out what nobody reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Of lanes: what is certain, or also what is possible.
    pub lanes: Certainty,
    /// Of addresses that are used in the wrong space, the same.
    pub spaces: Option<Certainty>,
    /// Of uses of address 0, the same.
    pub nulls: Option<Certainty>,
    /// An address in global memory that is converted to one twice is wrong, too.
    pub global_twice: bool,
    /// The blocks that kernels are launched with.
    pub launches: Launches,
}

impl Asked {
    /// All that is possible.
    #[must_use]
    pub fn all() -> Self {
        Self {
            lanes: Certainty::Potential,
            spaces: Some(Certainty::Potential),
            nulls: Some(Certainty::Potential),
            global_twice: true,
            launches: Launches::default(),
        }
    }
}

impl Default for Asked {
    /// All that is certain.
    fn default() -> Self {
        Self {
            lanes: Certainty::Definite,
            spaces: Some(Certainty::Definite),
            nulls: Some(Certainty::Definite),
            global_twice: false,
            launches: Launches::default(),
        }
    }
}

/// A module under analysis, with the analyses that have been asked for.
pub struct ModuleAnalyses<'a> {
    /// The module.
    pub module: &'a Module<'a>,
    /// What is asked for.
    pub asked: Asked,
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
        self.may_be_reached(id) && self.is_reached_by(id, &self.computed().reached_closely, AskedOfReach::All)
    }

    /// The same, as far as that is told for next to nothing: to be asked of much.
    pub fn may_be_reached(&self, id: InstructionId) -> bool {
        self.is_reached_by(id, &self.computed().reached, AskedOfReach::Fixed)
    }

    fn is_reached_by(&self, id: InstructionId, reached: &Reached, asked: AskedOfReach) -> bool {
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

impl<'a> ModuleAnalyses<'a> {
    /// A context in which nothing has been analysed yet, with as much time as it takes.
    #[must_use]
    pub fn new(module: &'a Module<'a>, asked: Asked) -> Self {
        Self::with_deadline(module, asked, Deadline::NEVER)
    }

    /// The same, with a time at which analyses give up.
    #[must_use]
    pub fn with_deadline(module: &'a Module<'a>, asked: Asked, deadline: &'a Deadline) -> Self {
        Self {
            module,
            asked,
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
        self.lanes.get_or_init(|| lanes::analyse(self, self.asked.lanes))
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
