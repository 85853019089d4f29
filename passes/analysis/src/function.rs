//! The analyses of one function, each made when it is first asked for.

use std::sync::OnceLock;

use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{Body, Function, Instruction, InstructionId, Module, Register, Special, Value};

use crate::definitions::{self, Definitions};
use crate::dominators::Dominators;
use crate::reached::{self, Asked};
use crate::slots::{self, Effect, SlotId, Slots};

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
    pub(crate) const fn of(
        module: &'a Module<'a>,
        function: &'a Function<'a>,
        deadline: &'a Deadline,
    ) -> Self {
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
    pub(crate) fn slots(&self) -> &Slots {
        self.computed()
            .slots
            .get_or_init(|| Box::new(Slots::new(self.module, self.body(), self.definitions())))
    }

    /// The slot that an instruction loads. Of most, it is told without a look at what else the body does to slots.
    pub(crate) fn loaded_slot(&self, id: InstructionId, instruction: &Instruction) -> Option<SlotId> {
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

    /// `%tid.y` and `%tid.z`: true for one that some instruction reads. It is computed anew each time.
    pub(crate) fn read_dimensions(&self) -> [bool; 2] {
        let body = self.body();
        let uses = body
            .instructions
            .iter()
            .flat_map(|instruction| body.uses(instruction));
        uses.fold([false; 2], |[y, z], value| match value {
            Value::Special(Special::Tid(1)) => [true, z],
            Value::Special(Special::Tid(2)) => [y, true],
            _ => [y, z],
        })
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
