//! The instructions that a solution needs: backwards from the seeds, through registers, slots and arguments.

use rustc_hash::FxHashMap;

use super::reaching::{Definition, MAX_SOLVED, Reaching};
use super::solver::{NO_NODE, Solver, Variable, variable_read_by};
use super::transfer;
use crate::limits::{MAX_PROVENANCE_NODES, MAX_RELOAD_DISTANCE};
use crate::slots::{Effect, SlotId};
use ptxcheck_ir::{Access, AccessKind, Instruction, InstructionId, Op, Space, Value};

impl Solver<'_> {
    pub(super) fn discover_inputs_of(&mut self, seeds: impl Iterator<Item = Value>) {
        let mut open: Vec<Variable> = Vec::new();
        for seed in seeds {
            open.extend(variable_read_by(seed));
            while let Some(variable) = open.pop() {
                self.discover_variable(variable, &mut open);
            }
        }
    }

    pub(super) fn discover_variable(&mut self, variable: Variable, open: &mut Vec<Variable>) {
        let analyses = self.analyses;
        match variable {
            Variable::Register(register) => {
                let definitions = analyses.definitions().writers_of(register);
                match definitions {
                    [] => self.note_undefined(),
                    [definition] => self.discover_node(*definition, open),
                    _ if self.reaching.contains_key(&variable) => {}
                    _ => {
                        let known = definitions.iter().map(|&at| Definition {
                            at,
                            is_partial: self.body.instruction(at).guard.is_some(),
                        });
                        self.reaching
                            .insert(variable, Reaching::of_unsolved_definitions(known.collect()));
                        for &definition in definitions {
                            self.discover_node(definition, open);
                        }
                    }
                }
            }
            Variable::Slot(slot) => {
                if self.reaching.contains_key(&variable) {
                    return;
                }
                let Some(definitions) = self.slot_definitions(slot) else {
                    return;
                };
                self.reaching
                    .insert(variable, Reaching::of_unsolved_definitions(definitions));
                for &store in analyses.slots().stores_to(slot) {
                    self.discover_node(store, open);
                }
            }
        }
    }

    pub(super) fn discover_node(&mut self, id: InstructionId, open: &mut Vec<Variable>) {
        if self.node_of[id.index()] != NO_NODE {
            return;
        }
        if self.nodes.len() >= MAX_PROVENANCE_NODES {
            self.is_complete = false;
            return;
        }
        let before = open.len();
        if self.add_inputs(id, open) {
            self.node_of[id.index()] = self.nodes.len() as u32;
            self.nodes.push(id);
        } else {
            open.truncate(before);
        }
    }

    /// Adds the variables that the instruction's value depends on; false if there are none.
    pub(super) fn add_inputs(&self, id: InstructionId, open: &mut Vec<Variable>) -> bool {
        let instruction = self.body.instruction(id);
        let uses = self.body.uses(instruction);
        match instruction.op {
            op if op.keeps_bits() => {
                open.extend(uses.first().copied().and_then(variable_read_by));
                !matches!(uses, [] | [Value::Special(_) | Value::Integer(_)])
            }
            Op::CallResult(call) => {
                let Some((_, arguments)) = self.callee_summary(call) else {
                    return false;
                };
                open.extend(
                    arguments
                        .iter()
                        .filter_map(|argument| variable_read_by(argument.value)),
                );
                true
            }
            Op::Access(_) => match self.slot_effect(id, instruction) {
                Effect::Load(slot) => {
                    open.push(Variable::Slot(slot));
                    true
                }
                Effect::Store(_) => {
                    open.extend(uses.get(2).copied().and_then(variable_read_by));
                    true
                }
                _ => match self.preceding_store(id, instruction) {
                    Some((_, stored)) => {
                        open.extend(variable_read_by(stored));
                        true
                    }
                    None => false,
                },
            },
            op => match transfer::relevant_operands(op, uses) {
                Some(relevant) => {
                    open.extend(relevant.iter().copied().filter_map(variable_read_by));
                    true
                }
                None => false,
            },
        }
    }

    /// The store that a load of a variable in global or shared memory reads, if it precedes the load in its block and
    /// nothing in between may write the variable. Other threads may write it, so nothing certain follows.
    pub(super) fn preceding_store(
        &self,
        id: InstructionId,
        load: &Instruction,
    ) -> Option<(InstructionId, Value)> {
        let place = |instruction: &Instruction| match (instruction.op, self.body.uses(instruction)) {
            (Op::Access(access), &[base @ Value::Symbol(..), Value::Integer(0), ..])
                if access.bits == 64 && access.count == 1 && !access.is_volatile() =>
            {
                Some((access.kind, base))
            }
            _ => None,
        };
        let (AccessKind::Load, wanted) = place(load)? else {
            return None;
        };
        let start = self.body.blocks[self.body.block_of(id).index()]
            .instructions
            .start as usize;
        let near = id.index().saturating_sub(MAX_RELOAD_DISTANCE).max(start);
        for number in (near..id.index()).rev() {
            let at = InstructionId::new(number);
            let instruction = self.body.instruction(at);
            match (instruction.op, place(instruction)) {
                (_, Some((AccessKind::Store, base))) if base == wanted && instruction.guard.is_none() => {
                    return Some((at, *self.body.uses(instruction).get(2)?));
                }
                (Op::Access(access), _) if access.kind == AccessKind::Load => {}
                (Op::Access(_) | Op::Call(_) | Op::Barrier(_), _) => return None,
                _ => {}
            }
        }
        None
    }

    pub(super) fn slot_effect(&self, id: InstructionId, instruction: &Instruction) -> Effect {
        match instruction.op {
            Op::Access(Access {
                space: Space::Generic | Space::Local,
                bits: 32 | 64,
                ..
            }) => self.analyses.slots().effect_on_slots(id, instruction),
            _ => Effect::None,
        }
    }

    /// The definitions of a slot: its own stores, stores to slots that overlap it, and instructions that may write it
    /// through unknown addresses. `None` if there are such writes, and more definitions than can be distinguished: the slot
    /// holds anything.
    pub(super) fn slot_definitions(&mut self, slot: SlotId) -> Option<Vec<Definition>> {
        let slots = self.analyses.slots();
        let body = self.body;
        let (named, unseen) = self.spoils.get_or_insert_with(|| {
            let mut named: FxHashMap<SlotId, Vec<InstructionId>> = FxHashMap::default();
            let mut unseen = Vec::new();
            for (number, instruction) in body.instructions.iter().enumerate() {
                let id = InstructionId::new(number);
                match slots.effect_on_slots(id, instruction) {
                    Effect::Spoil(slot) => named.entry(slot).or_default().push(id),
                    Effect::SpoilEscaped => unseen.push(id),
                    _ => {}
                }
            }
            (named, unseen)
        });
        let own = slots.stores_to(slot).iter().map(|&at| Definition {
            at,
            is_partial: body.instruction(at).guard.is_some(),
        });
        let others = slots.slots_overlapping(slot).flat_map(|other| {
            let spoiled = named.get(&other).map_or(&[][..], Vec::as_slice);
            slots.stores_to(other).iter().chain(spoiled)
        });
        let spoiled = named.get(&slot).map_or(&[][..], Vec::as_slice);
        let unseen = if slots.escapes(slot) {
            unseen.as_slice()
        } else {
            &[]
        };
        if !unseen.is_empty() && own.len() + unseen.len() > MAX_SOLVED {
            return None;
        }
        let mut all: Vec<Definition> = own.collect();
        all.extend(
            others
                .chain(spoiled)
                .chain(unseen)
                .map(|&at| Definition { at, is_partial: true }),
        );
        all.sort_unstable_by_key(|definition| definition.at);
        all.dedup_by_key(|definition| definition.at);
        Some(all)
    }

    pub(super) fn note_undefined(&mut self) {
        if self.named_in_opaque.is_none() {
            let mut named = vec![false; self.body.registers.len()];
            for instruction in self
                .body
                .instructions
                .iter()
                .filter(|known| known.op == Op::Opaque)
            {
                for value in self.body.uses(instruction) {
                    if let Value::Register(register) = value {
                        named[register.index()] = true;
                    }
                }
            }
            self.named_in_opaque = Some(named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::guards::Facts;
    use super::super::value::Provenance;
    use super::*;
    use crate::testing::with_ptx;
    use ptxcheck_ir::Register;

    /// A kernel that keeps `slots` values in memory, passes their address to `calls` calls, and reads them.
    fn kernel(slots: usize, calls: usize) -> String {
        use std::fmt::Write as _;
        let mut code = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f(.param .b64 p);\n.visible .entry k()\n{{\n\
             .local .align 8 .b8 d[{}];\n.reg .b64 %s<2>;\n.reg .b64 %a<{slots}>;\nmov.u64 %s0, d;\ncvta.local.u64 %s1, %s0;\n",
            8 * slots
        );
        for slot in 0..slots {
            let _ = writeln!(code, "st.u64 [%s1+{}], 7;", 8 * slot);
        }
        for _ in 0..calls {
            code.push_str("{ .param .b64 p; st.param.b64 [p], %s1; call.uni f, (p); }\n");
        }
        for slot in 0..slots {
            let _ = writeln!(code, "ld.u64 %a{slot}, [%s1+{}];", 8 * slot);
        }
        code + "ret;\n}\n"
    }

    /// The number of definitions kept for all slots, and the final value of the last register.
    fn solve_kernel(slots: usize, calls: usize) -> (usize, Provenance) {
        with_ptx(&kernel(slots, calls), |module| {
            let (id, _, body) = module.module.bodies().next().expect("a kernel");
            let registers = (0..body.registers.len()).map(Register::new).map(Value::Register);
            let last = registers.clone().next_back().expect("registers");
            let solver = Solver::new(module, id, &|_| None, Facts::default(), registers).expect("a solution");
            let kept = solver.reaching.values().map(|known| known.definitions().len());
            let end = InstructionId::new(body.instructions.len() - 1);
            (kept.sum(), solver.value_at(last, end).0)
        })
    }

    #[test]
    fn calls_are_not_definitions_of_each_slot() {
        let (kept, value) = solve_kernel(300, 300);
        assert_eq!((kept, value), (0, Provenance::Top));
        // The largest number that can be distinguished is.
        let (kept, value) = solve_kernel(30, 20);
        assert_eq!((kept, value), (30 * 21, Provenance::Top));
        let (_, value) = solve_kernel(3, 0);
        assert_eq!(value.constant(), Some(7));
    }
}
