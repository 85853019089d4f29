//! Violations of addresses whose object is known: offsets outside it (PTX211), and local objects whose address other threads
//! can read (PTX206).
//!
//! A compiler that unrolls a loop over an array, or splits an access at one of several indices, writes accesses at offsets
//! that the array does not have, after tests that the program never passes. So an access outside its object is definite only
//! if it is executed together with the other accesses of the object: for each access that may be inside, one of the two is
//! on every path through the other.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::extent::{Object, bounds_violation};
use super::function::Judge;
use super::judge::{Effect, Use, ViolationKind, allows_space};
use super::own_slot::is_thread_private_slot;
use super::value::{Base, Element, ElementKind, Provenance, Trust};
use crate::limits::{MAX_BASE_STEPS, MAX_OBJECT_STEPS};
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{Access, AccessKind, BlockId, InstructionId, Op, Space, Value};

/// The blocks that access each named object.
pub(super) struct Accessed {
    by_object: FxHashMap<Base, Vec<BlockId>>,
    /// The number of comparisons of blocks that may still be made.
    steps_left: usize,
}

impl Judge<'_> {
    /// PTX211: constant offsets outside the object, or misaligned in it.
    pub(super) fn judge_bounds(
        &mut self,
        at: InstructionId,
        access: &Access,
        uses: &[Value],
        value: &Provenance,
    ) {
        let Some(&Value::Integer(by)) = uses.get(1) else {
            return;
        };
        if access.bytes() == 0 || access.kind == AccessKind::Other {
            return;
        }
        let mut first = None;
        for element in value.elements() {
            let start = element.offset.and_then(|offset| offset.checked_add(by));
            match start.and_then(|start| self.bounds_violation(element, start, access)) {
                Some(wrong) if element.trust == Trust::Certain => {
                    first.get_or_insert((
                        wrong,
                        Element {
                            offset: start,
                            ..*element
                        },
                    ));
                }
                _ => return,
            }
        }
        if let Some((wrong, element)) = first {
            let is_definite = self.is_executed_with_other_accesses(at, element.base);
            self.report_violation(
                at,
                wrong,
                Use::Access(access.space, Effect::Reads),
                element,
                is_definite,
                None,
            );
        }
    }

    /// True if an access is executed on every path with each other access of its object that may be inside it.
    fn is_executed_with_other_accesses(&mut self, at: InstructionId, base: Base) -> bool {
        let (block, analyses) = (self.body.block_of(at), self.module.function(self.id));
        if self.accessed.is_none() {
            self.accessed = Some(self.object_accesses());
        }
        let Some(accessed) = &mut self.accessed else {
            return false;
        };
        let base = match base {
            Base::Param(number, _) => Base::Param(number, 0),
            base => base,
        };
        let Some(blocks) = accessed.by_object.get(&base) else {
            return true;
        };
        if self.body.instruction(at).guard.is_some() {
            return false;
        }
        let Some(left) = accessed.steps_left.checked_sub(blocks.len()) else {
            return false;
        };
        accessed.steps_left = left;
        let (dominators, post) = (analyses.dominators(), analyses.post_dominators());
        let comes_with = |&other: &BlockId| {
            other == block || dominators.dominates(block, other) || post.dominates(block, other)
        };
        blocks.iter().all(comes_with)
    }

    /// The blocks that access each object at an offset that is inside it or unknown.
    fn object_accesses(&self) -> Accessed {
        let mut is_known = FxHashSet::default();
        let mut by_object: FxHashMap<Base, Vec<BlockId>> = FxHashMap::default();
        for (number, block) in self.body.blocks.iter().enumerate() {
            let block_id = BlockId::new(number);
            for instruction in &self.body.instructions[block.instructions.range()] {
                let (Op::Access(access), [address, by, ..]) = (instruction.op, self.body.uses(instruction))
                else {
                    continue;
                };
                for (base, offset) in self.possible_base_objects(*address) {
                    let start = match by {
                        Value::Integer(by) => offset.and_then(|offset| offset.checked_add(*by)),
                        _ => None,
                    };
                    let is_outside = start.is_some_and(|start| {
                        let object = match base {
                            Base::Param(number, _) => {
                                Object::Param(self.module.module.function(self.id), number)
                            }
                            Base::Symbol(symbol) => Object::Symbol(symbol),
                            _ => return false,
                        };
                        bounds_violation(self.module, object, start, &access).is_some()
                    });
                    if !is_outside && is_known.insert((base, block_id)) {
                        by_object.entry(base).or_default().push(block_id);
                    }
                }
            }
        }
        Accessed {
            by_object,
            steps_left: MAX_OBJECT_STEPS,
        }
    }

    /// The named objects that an address may be computed from, each with the constant offset in it, if that is simple. For
    /// an operation that is neither a move nor a sum with a constant, the result may be based on any operand.
    fn possible_base_objects(&self, address: Value) -> Vec<(Base, Option<i64>)> {
        let mut bases = Vec::new();
        // The nearest first: an index may be computed through more operations than are followed.
        let mut open = VecDeque::from([(address, Some(0_i64))]);
        let mut steps = 0;
        while let Some((value, past)) = open.pop_front() {
            let register = match value {
                Value::Symbol(symbol, offset) => {
                    bases.push((
                        Base::Symbol(symbol),
                        past.and_then(|past| past.checked_add(offset.into())),
                    ));
                    continue;
                }
                Value::Param(number, offset) => {
                    let start = past.and_then(|past| past.checked_add(offset.into()));
                    bases.push((Base::Param(number, 0), start));
                    continue;
                }
                Value::Register(register) => register,
                _ => continue,
            };
            let definitions = self.module.function(self.id).definitions().writers_of(register);
            let past = past.filter(|_| definitions.len() == 1);
            for &definition in definitions {
                steps += 1;
                if steps > MAX_BASE_STEPS {
                    return bases;
                }
                self.add_address_sources(definition, past, &mut open);
            }
        }
        bases
    }

    /// Adds the operands that the address written by an instruction may be based on. It lies `past` bytes past the first of
    /// them, where that is known.
    fn add_address_sources(
        &self,
        definition: InstructionId,
        past: Option<i64>,
        open: &mut VecDeque<(Value, Option<i64>)>,
    ) {
        let instruction = self.body.instruction(definition);
        let form = Form::of(instruction.op, self.body.uses(instruction));
        if let Some((from, by)) = form.beside() {
            open.push_back((from, past.and_then(|past| past.checked_add(by))));
            return;
        }
        match (instruction.op, self.body.uses(instruction)) {
            _ if let Some(from) = form.moved_address() => open.push_back((from, past)),
            // A load of a value that is kept on the stack.
            (Op::Access(_), _) => {
                for &store in self.stores_for_load(definition).unwrap_or_default() {
                    let stored = self.body.stored(self.body.instruction(store));
                    open.extend(stored.map(|stored| (stored, None)));
                }
            }
            (Op::CallResult(call), _) => {
                if let Op::Call(call) = self.body.instruction(call).op {
                    let arguments = self.body.arguments(self.body.call(call)).iter();
                    open.extend(arguments.map(|argument| (argument.value, None)));
                }
            }
            (_, uses) => open.extend(uses.iter().map(|&value| (value, None))),
        }
    }

    fn bounds_violation(&self, element: &Element, start: i64, access: &Access) -> Option<ViolationKind> {
        let object = match (element.kind, element.base) {
            (ElementKind::Raw | ElementKind::Generic, Base::Symbol(symbol)) => Object::Symbol(symbol),
            (ElementKind::Raw, Base::Param(number, _)) if element.space == Space::Param => {
                Object::Param(self.module.module.function(self.id), number)
            }
            _ => return None,
        };
        bounds_violation(self.module, object, start, access)
    }

    /// PTX206: the address of a local object stored to memory that other threads see.
    pub(super) fn judge_escape(&mut self, at: InstructionId) {
        let instruction = self.body.instruction(at);
        let uses = self.body.uses(instruction);
        let (Op::Access(access), Some(&to)) = (instruction.op, uses.first()) else {
            return;
        };
        let is_seen = match access.space {
            Space::Global | Space::Shared | Space::SharedCluster => true,
            Space::Generic => {
                let (target, _) = self.solver.value_at(to, at);
                let elements = target.elements();
                !elements.is_empty()
                    && elements.iter().all(|element| {
                        element.is_address()
                            && (element.space == Space::Global
                                || allows_space(Space::SharedCluster, element.space))
                    })
            }
            _ => false,
        };
        if !is_seen {
            return;
        }
        for &stored in uses.iter().skip(2) {
            let (value, _) = self.solver.value_at(stored, at);
            let is_local = |element: &Element| element.is_address() && element.space == Space::Local;
            let Some(element) = value.elements().iter().find(|element| is_local(element)) else {
                continue;
            };
            // Half of an address does not refer to an object.
            let is_whole = access.bits >= 64;
            let is_definite = is_whole
                && value
                    .elements()
                    .iter()
                    .all(|element| is_local(element) && element.trust == Trust::Certain)
                && !is_thread_private_slot(self.module, self.id, access, uses);
            self.report_violation(
                at,
                ViolationKind::Escape,
                Use::Access(access.space, Effect::Writes),
                *element,
                is_definite,
                None,
            );
            return;
        }
    }
}
