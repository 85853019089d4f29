//! The variable in shared memory that an unknown address is computed from.
//!
//! ```text
//! address     sums, differences and combined bits of operands, through moves, slots, and the rounds of loops
//! round       a register, or a slot, with several definitions: one adds a step to what it holds, the others begin
//! own         a value on the way whose number differs from lane to lane: of a round, where it begins and its step
//! ```
//!
//! Two accesses that count from the same own values are taken for accesses to a part that each thread has for itself, as in
//! loops from the thread number with the size of the block as step.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::found::Object;
use crate::function::Analyses;
use crate::lanes::flow::Flow;
use crate::lanes::value::ValueId;
use ptxcheck_ir::ops::Form;
use ptxcheck_ir::{InstructionId, Register, Space, SymbolId, Value};

/// A value whose number differs from lane to lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// The only value of a register.
    Register(Register),
    /// The values in the rounds of a loop: the first one, and the step.
    Rounds(ValueId, ValueId),
}

/// Limit on the operations that are followed to find the variable of an address.
const MAX_ROOT_STEPS: usize = 48;

/// Limit on the definitions of a register, and on the stores to a slot.
const MAX_DEFINITIONS: usize = 8;

/// The variable in shared memory that an address is computed from, and the own values in between; `None` if there is no
/// variable, or more than one.
pub(super) fn variable_of_address(
    flow: &mut Flow<'_>,
    node: u32,
    at: InstructionId,
    address: Value,
) -> Option<(Object, Vec<Own>)> {
    let module = flow.module;
    let function = flow.graph.context_of_node(node).function;
    let mut search = VariableSearch {
        analyses: module.function(function),
        open: vec![address],
        seen: FxHashSet::default(),
        passed: Vec::new(),
        rounds: Vec::new(),
    };
    let is_shared = |symbol: SymbolId| module.module.symbol(symbol).space == Space::Shared;
    let symbol = search.only_variable(is_shared)?;
    let registers = search.passed.iter().map(|&register| Value::Register(register));
    let rounds = search.rounds.iter().flat_map(|&(first, step)| [first, step]);
    let asked: Vec<(InstructionId, Value)> = registers.chain(rounds).map(|value| (at, value)).collect();
    let values = flow.values_before(node, &asked);
    let here = flow.may[node as usize];
    let is_same = |value: ValueId| flow.pool.get(value).is_uniform_among(here);
    let (single, rounds) = values.split_at(search.passed.len());
    let single = search.passed.iter().zip(single);
    let mut own: Vec<Own> = single
        .filter(|&(_, &value)| !is_same(value))
        .map(|(&register, _)| Own::Register(register))
        .collect();
    let rounds = rounds.iter().zip(rounds.iter().skip(1)).step_by(2);
    let differs = rounds.filter(|&(&first, &step)| {
        flow.pool.get(first).exact & here == here && !is_same(first) && is_same(step)
    });
    own.extend(differs.map(|(&first, &step)| Own::Rounds(first, step)));
    Some((Object::Variable(symbol), own))
}

struct VariableSearch<'a, 'm> {
    analyses: &'a Analyses<'m>,
    /// The operands to follow.
    open: Vec<Value>,
    seen: FxHashSet<Register>,
    /// The registers with one definition that have been followed.
    passed: Vec<Register>,
    /// The first value and the step of rounds.
    rounds: Vec<(Value, Value)>,
}

impl VariableSearch<'_, '_> {
    /// The only variable that the operands lead to.
    fn only_variable(&mut self, is_shared: impl Fn(SymbolId) -> bool) -> Option<SymbolId> {
        let mut found = None;
        for _ in 0..MAX_ROOT_STEPS {
            let Some(value) = self.open.pop() else { break };
            match value {
                Value::Symbol(symbol, _) if is_shared(symbol) => {
                    if found.is_some_and(|known| known != symbol) {
                        return None;
                    }
                    found = Some(symbol);
                }
                Value::Register(register) if self.seen.insert(register) => self.follow_register(register),
                _ => {}
            }
        }
        found
    }

    fn follow_register(&mut self, register: Register) {
        let forms = self.possible_forms(register);
        match forms[..] {
            [form] => {
                let operands = address_operands_of(form);
                // The factors of a product are followed for rounds alone: an index may be that of a round.
                if !operands.is_empty() && !matches!(form, Form::Product(..)) {
                    self.passed.push(register);
                }
                self.open.extend(operands);
            }
            _ => {
                let steps: SmallVec<[Option<Value>; 4]> = forms
                    .iter()
                    .map(|&form| self.step_per_round(register, form))
                    .collect();
                let mut begins = forms.iter().zip(&steps).filter(|(_, step)| step.is_none());
                let begin = begins.next().map(|(form, _)| *form);
                let is_one = begins.next().is_none();
                let step = steps.iter().copied().flatten().next();
                if let (Some(Form::Moved(first, _)), Some(step), true) = (begin, step, is_one) {
                    self.rounds.push((first, step));
                }
                for (&form, step) in forms.iter().zip(&steps) {
                    if step.is_none() {
                        self.open.extend(address_operands_of(form));
                    }
                }
            }
        }
    }

    /// The results that a register may hold, in terms of operands; none if there are too many.
    fn possible_forms(&self, register: Register) -> SmallVec<[Form; 4]> {
        let writers = self.analyses.definitions().writers_of(register);
        let of_writer = |&writer| {
            self.analyses
                .possible_forms(writer)
                .into_iter()
                .take(MAX_DEFINITIONS)
        };
        writers.iter().take(MAX_DEFINITIONS).flat_map(of_writer).collect()
    }

    /// The number that is added to a register in each round, if this is a result that the register holds later.
    fn step_per_round(&self, register: Register, form: Form) -> Option<Value> {
        let mut form = form;
        let mut way = SmallVec::<[Register; 4]>::new();
        while let Form::Moved(Value::Register(from), _) = form
            && way.len() < MAX_DEFINITIONS
            && !way.contains(&from)
        {
            let [next] = self.possible_forms(from)[..] else {
                break;
            };
            way.push(from);
            form = next;
        }
        let (one, other) = match form {
            Form::Sum(one, other) => (one, other),
            _ => return None,
        };
        let leads_back = |value: Value| {
            let mut value = value;
            for _ in 0..MAX_DEFINITIONS {
                let Value::Register(from) = value else {
                    return false;
                };
                if from == register {
                    return true;
                }
                let forms = self.possible_forms(from);
                match forms[..] {
                    [Form::Moved(next, _)] => value = next,
                    // Two loads of a slot hold the same.
                    _ => return forms == self.possible_forms(register) && forms.len() > 1,
                }
            }
            false
        };
        match (leads_back(one), leads_back(other)) {
            (true, false) => Some(other),
            (false, true) => Some(one),
            _ => None,
        }
    }
}

/// The operands that an address may be computed from.
fn address_operands_of(form: Form) -> SmallVec<[Value; 2]> {
    match form {
        Form::Moved(from, _)
        | Form::Product(from, Value::Integer(_))
        | Form::Product(Value::Integer(_), from) => SmallVec::from_slice(&[from]),
        Form::ProductSum(from, Value::Integer(_), other)
        | Form::ProductSum(Value::Integer(_), from, other) => SmallVec::from_slice(&[from, other]),
        Form::ProductSum(_, _, from) => SmallVec::from_slice(&[from]),
        Form::Sum(one, other) | Form::Difference(one, other) | Form::Bits(one, other) => {
            SmallVec::from_slice(&[one, other])
        }
        _ => SmallVec::new(),
    }
}
