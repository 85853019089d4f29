//! The analyses of one function, each computed on first use.

use std::sync::{Arc, OnceLock};

use ptxcheck_common::deadline::Deadline;
use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{
    AccessKind, Body, Function, Instruction, InstructionId, Module, Op, Register, Space, Special, SymbolId,
    Value,
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::definitions::{self, Definitions};
use crate::dominators::Dominators;
use crate::limits::MAX_STEPS_TO_STORE;
use crate::param_objects::ParamObjects;
use crate::reached::{self, ConstantPrecision};
use crate::slots::{self, Effect, SlotId, Slots};

/// The analyses of one function. Before their first use, they cost a few words: modules can have a million functions.
pub struct Analyses<'a> {
    module: &'a Module<'a>,
    function: &'a Function<'a>,
    deadline: &'a Deadline,
    objects: Arc<ParamObjects<'a>>,
    computed: OnceLock<Box<Computed>>,
}

/// A value that was kept in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// The value.
    pub value: Value,
    /// The instruction that stores it.
    pub store: InstructionId,
    /// The conversion that the load applies to it.
    pub extension: Op,
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

/// The blocks and guarded instructions of a function that may be executed, computed on first use.
#[derive(Default)]
struct Reached {
    blocks: OnceLock<Vec<bool>>,
    held_back: OnceLock<Vec<InstructionId>>,
}

static NO_BODY: Body<'static> = Body::EMPTY;

impl<'a> Analyses<'a> {
    pub(crate) const fn new(
        module: &'a Module<'a>,
        function: &'a Function<'a>,
        deadline: &'a Deadline,
        objects: Arc<ParamObjects<'a>>,
    ) -> Self {
        Self {
            module,
            function,
            deadline,
            objects,
            computed: OnceLock::new(),
        }
    }

    fn result_cache(&self) -> &Computed {
        self.computed.get_or_init(Box::default)
    }

    /// The time at which analyses give up.
    #[must_use]
    pub const fn deadline(&self) -> &'a Deadline {
        self.deadline
    }

    fn body(&self) -> &Body<'a> {
        self.function.body.as_ref().unwrap_or(&NO_BODY)
    }

    /// Some of the function's text could not be read: the values of its registers are not known.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.function.is_damaged
    }

    /// The control-flow graph.
    pub fn cfg(&self) -> &Cfg {
        self.result_cache().cfg.get_or_init(|| Cfg::new(self.body()))
    }

    /// The dominators of the blocks.
    pub fn dominators(&self) -> &Dominators {
        self.result_cache()
            .dominators
            .get_or_init(|| Box::new(Dominators::new(self.body(), self.cfg())))
    }

    /// The post-dominators of the blocks.
    pub fn post_dominators(&self) -> &Dominators {
        self.result_cache()
            .post_dominators
            .get_or_init(|| Box::new(Dominators::post_dominators(self.body(), self.cfg())))
    }

    /// The slots of `.local` memory that hold values.
    pub(crate) fn slots(&self) -> &Slots {
        self.result_cache().slots.get_or_init(|| {
            let follows_params = !self.function.is_kernel();
            let slots = Slots::new(
                self.module,
                self.body(),
                self.definitions(),
                &*self.objects,
                follows_params,
            );
            Box::new(slots)
        })
    }

    /// The slot that an instruction loads. Most instructions need no slots of the body for it. Loads through an address that
    /// is itself kept in a slot are not covered: use [`Slots::effect_on_slots`] if none may be missed.
    pub(crate) fn loaded_slot(&self, id: InstructionId, instruction: &Instruction) -> Option<SlotId> {
        if !slots::may_access(self.body(), self.definitions(), instruction) {
            return None;
        }
        match self.slots().effect_on_slots(id, instruction) {
            Effect::Load(slot) => Some(slot),
            _ => None,
        }
    }

    /// True if each path to `second` passes `first`.
    pub fn is_on_every_path_to(&self, first: InstructionId, second: InstructionId) -> bool {
        let (from, to) = (self.body().block_of(first), self.body().block_of(second));
        if from == to {
            return first < second;
        }
        let is_entry = from.index() == 0 && self.cfg().rank(from).is_some();
        is_entry || self.dominators().dominates(from, to)
    }

    /// The store whose value an instruction loads from a slot, in each of its executions: the only writer of the slot, which is on each
    /// path to the load, or the last one before the load in its block.
    pub fn store_read_by(&self, load: InstructionId) -> Option<InstructionId> {
        let slot = self.loaded_slot(load, self.body().instruction(load))?;
        match self.slots().only_store(self.body(), slot) {
            Some(store) if self.is_on_every_path_to(store, load) => Some(store),
            _ => self.store_in_block_before(load, slot),
        }
    }

    /// The store to a slot before a load of it in the same block, if no instruction between them may write the slot. Compilers of debug
    /// builds store a value in a slot and load it at once, also where the slot lies beside objects whose addresses are passed on.
    fn store_in_block_before(&self, load: InstructionId, slot: SlotId) -> Option<InstructionId> {
        let (body, slots) = (self.body(), self.slots());
        let block = body.blocks[body.block_of(load).index()].instructions.start as usize;
        for at in (block..load.index())
            .rev()
            .take(MAX_STEPS_TO_STORE)
            .map(InstructionId::new)
        {
            let instruction = body.instruction(at);
            match slots.effect_on_slots(at, instruction) {
                Effect::None | Effect::Load(_) => {}
                Effect::Store(stored) if stored == slot => return instruction.guard.is_none().then_some(at),
                Effect::Store(other) | Effect::Spoil(other)
                    if other != slot && slots.slots_overlapping(slot).all(|beside| beside != other) => {}
                _ => return None,
            }
        }
        None
    }

    /// The stores that may have written the value that an instruction loads from a slot; empty if other writes are possible.
    pub(crate) fn stores_for(&self, load: InstructionId) -> &[InstructionId] {
        match self.loaded_slot(load, self.body().instruction(load)) {
            Some(slot) if !self.slots().has_foreign_writes(slot) => self.slots().stores_to(slot),
            _ => &[],
        }
    }

    /// The values that an instruction may load from a slot; none if other writes are possible.
    pub fn stored_values_for(&self, load: InstructionId) -> impl Iterator<Item = Value> + '_ {
        let body = self.body();
        let stores = self.stores_for(load).iter();
        stores.filter_map(|&store| body.stored(body.instruction(store)))
    }

    /// The value that an instruction stores in a slot, if it is one value.
    pub(crate) fn value_stored_by(&self, store: InstructionId) -> Option<Value> {
        let instruction = self.body().instruction(store);
        match (
            self.slots().effect_on_slots(store, instruction),
            self.body().uses(instruction),
        ) {
            (Effect::Store(_), &[_, _, stored]) => Some(stored),
            _ => None,
        }
    }

    /// The values that are stored to a slot by its name.
    pub(crate) fn values_stored_in(&self, slot: SlotId) -> impl Iterator<Item = Value> + '_ {
        let stores = self.slots().stores_to(slot).iter();
        stores.filter_map(|&store| self.value_stored_by(store))
    }

    /// True if an instruction loads from a slot, a part of the stack whose address is followed.
    #[must_use]
    pub fn loads_slot(&self, load: InstructionId) -> bool {
        self.loaded_slot(load, self.body().instruction(load)).is_some()
    }

    /// The value that a load into a register reads from a slot: that of [`Self::store_read_by`], with the conversion that the load applies.
    pub(crate) fn value_kept_in_slot(&self, load: InstructionId, register: Register) -> Option<Kept> {
        let store = self.store_read_by(load)?;
        let body = self.body();
        let writer = body.instruction(store);
        let (Op::Access(stored), Op::Access(loaded)) = (writer.op, body.instruction(load).op) else {
            return None;
        };
        let bits = |register: Register| body.registers.bits(register);
        let value = body.stored(writer).filter(|_| stored.bits == loaded.bits)?;
        let has_more = match value.register().map(bits) {
            Some(bits) if bits < stored.bits => return None,
            register => register.is_some_and(|bits| bits > stored.bits),
        };
        let extension = match loaded.extension(bits(register)) {
            Op::Copy if has_more => Op::Convert {
                from: stored.bits,
                signed: false,
                to: stored.bits,
            },
            extension => extension,
        };
        Some(Kept {
            value,
            store,
            extension,
        })
    }

    /// The first result of an instruction in terms of its operands, or of the value that was stored in the slot that it loads.
    #[must_use]
    pub fn form_of_result(&self, at: InstructionId) -> Form {
        let body = self.body();
        let instruction = body.instruction(at);
        let Op::Access(_) = instruction.op else {
            return Form::of(instruction.op, body.uses(instruction));
        };
        let kept = || self.value_kept_in_slot(at, body.results(instruction).first()?.register()?);
        kept().map_or(Form::Other, |kept| Form::of(kept.extension, &[kept.value]))
    }

    /// The value that a value is computed from: follows the only definition of a register to the operand that `step` chooses of its
    /// form, and so on. Ends at a register with no or several definitions, at one for which `step` returns `None`, or after 16
    /// steps.
    pub fn trace_value(&self, value: Value, mut step: impl FnMut(Form) -> Option<Value>) -> Value {
        let body = self.body();
        self.definitions()
            .trace_value(body, value, |at| step(self.form_of_result(at)))
    }

    /// The instruction whose result a predicate is, moved or not, and true if it is the complement of that result.
    pub(crate) fn source_of_predicate(&self, predicate: Value) -> Option<(InstructionId, bool)> {
        let mut is_opposite = false;
        let end = self.trace_value(predicate, |form| match form {
            Form::Opposite(from) => {
                is_opposite = !is_opposite;
                Some(from)
            }
            form => form.moved_number(),
        });
        Some((self.only_writer(end)?, is_opposite))
    }

    /// The variable that a value is the address of, and the distance from its base address in bytes.
    #[must_use]
    pub fn variable_and_distance(&self, value: Value) -> Option<(SymbolId, i64)> {
        let mut distance = Some(0_i64);
        let begin = self.trace_value(value, |form| {
            if let Some((from, by)) = form.beside() {
                distance = distance.and_then(|distance| distance.checked_add(by));
                return Some(from);
            }
            form.moved_address()
        });
        match begin {
            Value::Symbol(symbol, by) => Some((symbol, distance?.checked_add(by.into())?)),
            _ => None,
        }
    }

    /// The first results that an instruction may have, in terms of its operands, or of the values that may be in the slot that it loads.
    pub(crate) fn possible_forms(&self, at: InstructionId) -> SmallVec<[Form; 2]> {
        let body = self.body();
        let instruction = body.instruction(at);
        let Op::Access(_) = instruction.op else {
            return SmallVec::from_iter([Form::of(instruction.op, body.uses(instruction))]);
        };
        let stores = self.stores_for(at).iter();
        let stored = stores.filter_map(|&store| self.value_stored_by(store));
        stored.map(|value| Form::Moved(value, Change::Nothing)).collect()
    }

    /// True if an instruction may store a value that was read from shared memory and not changed since: what a load gives, through moves,
    /// choices and slots.
    #[must_use]
    pub fn may_write_back(&self, store: InstructionId) -> bool {
        let body = self.body();
        let mut open = body
            .uses(body.instruction(store))
            .get(2..)
            .unwrap_or(&[])
            .to_vec();
        let mut seen = FxHashSet::default();
        while let Some(value) = open.pop() {
            let Some(register) = value.register().filter(|register| seen.insert(*register)) else {
                continue;
            };
            for &writer in self.definitions().writers_of(register) {
                for form in self.possible_forms(writer) {
                    match form {
                        Form::Moved(from, _) => open.push(from),
                        Form::Choice(one, other) => open.extend([one, other]),
                        _ => {}
                    }
                }
                let instruction = body.instruction(writer);
                let address = body.uses(instruction).first().copied();
                let is_shared = |space: Space| match space {
                    Space::Shared => true,
                    Space::Generic => address.is_some_and(|at| self.variable_and_distance(at).is_some()),
                    _ => false,
                };
                if let Op::Access(access) = instruction.op
                    && access.kind == AccessKind::Load
                    && self.stores_for(writer).is_empty()
                    && is_shared(access.space)
                {
                    return true;
                }
            }
        }
        false
    }

    /// The only instruction that writes a value, if its guard cannot skip it.
    #[must_use]
    pub fn only_writer(&self, value: Value) -> Option<InstructionId> {
        self.definitions().only_writer(self.body(), value.register()?)
    }

    /// The value that a load reads from a slot: that of [`Self::store_read_by`].
    #[must_use]
    pub fn stored_value_read_by(&self, load: InstructionId) -> Option<Value> {
        let body = self.body();
        body.stored(body.instruction(self.store_read_by(load)?))
    }

    /// `%tid.y` and `%tid.z`: true for one that some instruction reads. The result is not cached.
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

    /// The definitions of the registers.
    pub fn definitions(&self) -> &Definitions {
        self.result_cache()
            .definitions
            .get_or_init(|| Definitions::new(self.body()))
    }

    /// True if some instruction reads a register.
    pub fn is_read(&self, register: Register) -> bool {
        let read = self
            .result_cache()
            .read
            .get_or_init(|| definitions::read_registers(self.body()));
        read.get(register.index()) == Some(&true)
    }

    /// True if an instruction may be executed at all: it is not after a branch that a constant decides the other way, nor
    /// under a guard that a constant makes false. Meant for an instruction that is about to be reported.
    pub fn is_reached(&self, id: InstructionId) -> bool {
        self.may_be_reached(id)
            && self.is_reached_with_precision(
                id,
                &self.result_cache().reached_closely,
                ConstantPrecision::FlowSensitive,
            )
    }

    /// The same from fixed constants alone, at little cost: meant for many instructions.
    pub fn may_be_reached(&self, id: InstructionId) -> bool {
        self.is_reached_with_precision(id, &self.result_cache().reached, ConstantPrecision::Fixed)
    }

    fn is_reached_with_precision(
        &self,
        id: InstructionId,
        reached: &Reached,
        precision: ConstantPrecision,
    ) -> bool {
        let body = self.body();
        let blocks = reached
            .blocks
            .get_or_init(|| reached::reachable_blocks(body, self, precision));
        if blocks.get(body.block_of(id).index()) != Some(&true) {
            return false;
        }
        if body.instruction(id).guard.is_none() {
            return true;
        }
        let held_back = reached
            .held_back
            .get_or_init(|| reached::always_skipped_instructions(body, self, precision));
        held_back.binary_search(&id).is_err()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::with_ptx;
    use ptxcheck_ir::InstructionId;

    /// The distance, in instructions, from the last load of a kernel to the store whose value it reads; `None` if no store is found. The
    /// body of the function that is passed the address of the frame is not known, so that it may write any byte of the frame.
    fn steps_to_store(code: &str) -> Option<usize> {
        let text = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.extern .func f(.param .b64 p);\n.visible .entry k(.param .u64 a)\n{{\n\
             .local .align 8 .b8 frame[64];\n.reg .b64 %rd<9>;\n.reg .b64 %SP;\n.reg .b64 %SPL;\n.reg .pred %p;\nmov.u64 %SPL, frame;\n\
             cvta.local.u64 %SP, %SPL;\nadd.u64 %rd1, %SP, 32;\n{code}\nld.u64 %rd8, [%SP+8];\nst.global.u64 [%rd2], %rd8;\nret;\n}}\n"
        );
        with_ptx(&text, |module| {
            let (kernel, ..) = module.module.bodies().next().unwrap();
            let function = module.function(kernel);
            let load = function
                .body()
                .iter()
                .filter(|(id, _)| function.loads_slot(*id))
                .last()
                .map(|(id, _)| id);
            let store: InstructionId = function.store_read_by(load?)?;
            Some(load?.index() - store.index())
        })
    }

    /// A call that is passed the frame.
    const CALL: &str = "{\n.param .b64 p;\nst.param.b64 [p], %rd1;\ncall.uni f, (p);\n}\n";

    #[test]
    fn a_load_reads_the_store_before_it_in_its_block() {
        let store = "st.u64 [%SP+8], %rd3;";
        let cases: [(String, Option<usize>); 9] = [
            (format!("{CALL}{store}"), Some(1)),
            (format!("{CALL}{store}\nst.u64 [%SP+16], %rd4;"), Some(2)),
            (format!("{CALL}{store}\nadd.u64 %rd4, %rd3, 8;"), Some(2)),
            // The last of two.
            (format!("{CALL}st.u64 [%SP+8], %rd4;\n{store}"), Some(1)),
            // Something else may be there.
            (format!("{store}\n{CALL}"), None),
            (format!("{CALL}{store}\nst.u32 [%SP+12], 0;"), None),
            (format!("{CALL}@%p {store}"), None),
            (format!("{CALL}{store}\nst.u64 [%rd4], %rd3;"), None),
            (format!("{CALL}@%p bra L;\n{store}\nL:"), None),
        ];
        for (code, steps) in cases {
            assert_eq!(steps_to_store(&code), steps, "{code}");
        }
    }
}
