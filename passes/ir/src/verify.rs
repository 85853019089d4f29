//! Invariants of every body that a front end makes. Debug builds and tests check them; analyses rely on them.
//!
//! * Blocks follow each other and hold all instructions. The entry is block 0. A terminator stands at the end of a block.
//! * Edges lead to blocks. A branch has its target as successor, a branch by table at least one; a terminator that ends lanes has none.
//!   Guarded terminators have the next block as last successor, unguarded ones do not. Any other block has at most one successor.
//! * Operands are those that [`super::fitting`] lets pass; guards are predicates.
//! * Registers, symbols, calls and arguments exist. The collectives are listed, and the calls and asynchronous
//!   operations, in their order.

use super::fitting::fitting;
use super::function::{Body, Function};
use super::index::InstructionId;
use super::instruction::{Instruction, Value};
use super::module::Module;
use super::op::Op;

/// An invariant that a body violates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function}: {what}")]
#[non_exhaustive]
pub struct Unsound {
    /// The function, by its name in the module.
    pub function: String,
    /// The violation, with the number of the block or instruction in the body.
    pub what: String,
}

/// Checks all bodies of a module.
///
/// # Errors
///
/// [`Unsound`]: the first invariant that is violated.
pub fn verify(module: &Module<'_>) -> Result<(), Unsound> {
    for (id, function, body) in module.bodies() {
        let verifier = Verifier {
            module,
            function,
            body,
        };
        verifier.body().map_err(|what| Unsound {
            function: module.function_name(id).to_owned(),
            what,
        })?;
    }
    Ok(())
}

struct Verifier<'a, 's> {
    module: &'a Module<'s>,
    function: &'a Function<'s>,
    body: &'a Body<'s>,
}

impl Verifier<'_, '_> {
    fn body(&self) -> Result<(), String> {
        let body = self.body;
        let mut next = 0;
        for (number, block) in body.blocks.iter().enumerate() {
            let range = block.instructions.range();
            if range.start != next || range.end < range.start || range.end > body.instructions.len() {
                return Err(format!("block {number} does not follow the one before"));
            }
            next = range.end;
            self.block(number)
                .map_err(|what| format!("block {number} {what}"))?;
        }
        if next != body.instructions.len() {
            return Err("instructions stand behind the last block".to_owned());
        }
        for (number, instruction) in body.instructions.iter().enumerate() {
            self.instruction(InstructionId::new(number), instruction)
                .map_err(|what| format!("instruction {number} ({:?}) {what}", instruction.op))?;
        }
        self.lists()
    }

    fn block(&self, number: usize) -> Result<(), String> {
        let body = self.body;
        let block = &body.blocks[number];
        let instructions = &body.instructions[block.instructions.range()];
        let inner = instructions.split_last().map_or(instructions, |(_, inner)| inner);
        if inner.iter().any(|one| one.op.is_terminator()) {
            return Err("goes on behind a terminator".to_owned());
        }
        let Some(edges) = body.edges.get(block.successors.range()) else {
            return Err("has edges that are not there".to_owned());
        };
        if let Some(edge) = edges.iter().find(|edge| edge.index() >= body.blocks.len()) {
            return Err(format!("leads to block {}, which is not there", edge.index()));
        }
        let last = instructions.last().filter(|last| last.op.is_terminator());
        let guarded = usize::from(last.is_some_and(|last| last.guard.is_some()));
        let fits = match last.map(|last| last.op) {
            Some(Op::Branch) => edges.len() == 1 + guarded,
            Some(Op::BranchTable) => edges.len() > guarded,
            Some(_) => edges.len() == guarded,
            None => edges.len() <= 1,
        };
        if !fits {
            return Err(format!("has {} edges", edges.len()));
        }
        Ok(())
    }

    fn instruction(&self, id: InstructionId, instruction: &Instruction) -> Result<(), String> {
        let body = self.body;
        let Some(values) = body.values.get(instruction.values.range()) else {
            return Err("has operands that are not there".to_owned());
        };
        let results = usize::from(instruction.results);
        if results > values.len() {
            return Err("has more results than operands".to_owned());
        }
        if let Some(odd) = values[..results]
            .iter()
            .find(|value| !matches!(value, Value::Register(_) | Value::Unknown))
        {
            return Err(format!("writes {odd:?}"));
        }
        for value in values {
            let exists = match *value {
                Value::Register(register) | Value::Not(register) => register.index() < body.registers.len(),
                Value::Symbol(symbol, _) => symbol.index() < self.module.symbols.len(),
                _ => true,
            };
            if !exists {
                return Err(format!("uses {value:?}, which is not there"));
            }
        }
        if let Some(guard) = instruction.guard
            && body.registers.all_bits().get(guard.register.index()) != Some(&1)
        {
            return Err("has a guard that is no predicate".to_owned());
        }
        if fitting(instruction.op, values, results, body.registers.all_bits()) != instruction.op {
            return Err(format!("does not take {values:?}, {results} of them results"));
        }
        let is_call = |id: InstructionId| matches!(body.instruction(id).op, Op::Call(_));
        match instruction.op {
            Op::Call(call) if body.calls.get(call.index()).map(|call| call.instruction) != Some(id) => {
                Err("is not the call that it says".to_owned())
            }
            Op::CallResult(of) if of.index() >= body.instructions.len() || !is_call(of) => {
                Err("is the result of no call".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn lists(&self) -> Result<(), String> {
        let body = self.body;
        if body.places.len() != body.instructions.len() {
            return Err("there are instructions without a place".to_owned());
        }
        let of = |is_it: fn(&Op) -> bool| {
            let all = body.instructions.iter().enumerate();
            all.filter(move |(_, one)| is_it(&one.op))
                .map(|(number, _)| InstructionId::new(number))
        };
        if !of(|op| matches!(op, Op::Collective(..))).eq(body.collectives.iter().copied()) {
            return Err("the list of collectives is another".to_owned());
        }
        if !of(|op| matches!(op, Op::Call(_))).eq(body.calls.iter().map(|call| call.instruction)) {
            return Err("the list of calls is another".to_owned());
        }
        if !body.asynchronous.is_sorted_by_key(|one| one.instruction)
            || !body.asynchronous.iter().all(|one| body.is_sound(one))
        {
            return Err("an asynchronous operation has operands that are not there".to_owned());
        }
        if !body.matrices.is_sorted_by_key(|one| one.instruction)
            || !body.matrices.iter().all(|one| body.is_matrix_access(one))
        {
            return Err("a matrix is none of a load or store".to_owned());
        }
        let arguments = body.calls.iter().map(|call| call.arguments.range());
        if arguments
            .into_iter()
            .any(|range| body.arguments.get(range).is_none())
        {
            return Err("a call has arguments that are not there".to_owned());
        }
        let registers = body.arguments.iter().filter_map(|one| one.value.register());
        if registers
            .into_iter()
            .any(|register| register.index() >= body.registers.len())
        {
            return Err("an argument is a register that is not there".to_owned());
        }
        if body.blocks.is_empty() && !(self.function.is_damaged || body.instructions.is_empty()) {
            return Err("there is code without a block".to_owned());
        }
        Ok(())
    }
}
