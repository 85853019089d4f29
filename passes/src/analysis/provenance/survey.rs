//! One pass over a body: what in it uses addresses, and whether anything can be wrong at all.
//!
//! A kernel that accesses global memory only, through its parameters, is done here.

use super::nulls::{self, Marks};
use super::solver::Summaries;
use super::summary::Summary;
use crate::context::ModuleContext;
use crate::ir::{
    Access, AccessKind, Body, Callee, Function, FunctionId, Instruction, InstructionId, Op, Space, SymbolId,
    SymbolKind, Value,
};

/// What a pass over a body finds that needs to be looked at.
#[derive(Default)]
pub(super) struct Survey {
    /// Uses of addresses.
    pub(super) uses: Vec<InstructionId>,
    /// Calls of functions that demand something.
    pub(super) calls: Vec<InstructionId>,
    /// Stores of return values.
    pub(super) returns: Vec<InstructionId>,
    pub(super) tests: Vec<InstructionId>,
    /// Stores whose data may be the address of a local object.
    pub(super) escapes: Vec<InstructionId>,
    /// Calls to what a register says that may hold 0.
    pub(super) indirect: Vec<InstructionId>,
    /// Comparisons with 0 of what may be an address.
    pub(super) null_tests: Vec<InstructionId>,
    pub(super) takes_local: bool,
    /// Something is there that can be wrong: a space other than global, a register that nothing writes.
    pub(super) needs_spaces: bool,
    /// An address is there that may be null.
    pub(super) needs_nulls: bool,
    /// Callers pass something.
    pub(super) has_params: bool,
}

/// Looks through a body.
pub(super) fn survey(
    module: &ModuleContext<'_>,
    id: FunctionId,
    body: &Body<'_>,
    summaries: &Summaries<'_>,
) -> Survey {
    let function = module.module.function(id);
    let mut survey = Survey {
        has_params: !function.is_kernel() && !function.params.is_empty(),
        ..Survey::default()
    };
    let space_of = |symbol: SymbolId| {
        let symbol = module.module.symbol(symbol);
        (symbol.kind == SymbolKind::Variable).then_some(symbol.space)
    };
    let mut written = vec![false; body.registers.len()];
    let mut marks = Marks::default();
    for (number, instruction) in body.instructions.iter().enumerate() {
        let at = InstructionId::new(number);
        for register in body.defined(instruction) {
            written[register.index()] = true;
        }
        let uses = body.uses(instruction);
        marks.pass(body, instruction, uses, |call| {
            let callee = direct_callee(module, body, call).and_then(summaries);
            callee.is_some_and(nulls::returns_null)
        });
        match instruction.op {
            Op::Compare(_, 64, _) if uses.contains(&Value::Integer(0)) => survey.null_tests.push(at),
            Op::Access(access) => {
                survey.needs_nulls |= matches!(access.space, Space::Global | Space::Generic)
                    && access.kind != AccessKind::Other
                    && uses.first().is_some_and(|&base| marks.is_suspect(base));
                match uses.first() {
                    Some(Value::ReturnSlot(..)) => {
                        let mut data = uses.iter().skip(2);
                        survey.needs_nulls |= access.bits == 64 && data.any(|&value| marks.is_suspect(value));
                        survey.returns.push(at);
                        continue;
                    }
                    Some(Value::Symbol(..)) => survey.needs_spaces = true,
                    Some(Value::Param(..)) if access.space == Space::Param => {
                        survey.needs_spaces |= is_outside(function, instruction, uses);
                    }
                    _ => survey.needs_spaces |= !matches!(access.space, Space::Global | Space::Generic),
                }
                survey.uses.push(at);
                if access.kind != AccessKind::Load && uses.len() > 2 && matches!(access.bits, 32 | 64) {
                    survey.escapes.push(at);
                }
            }
            Op::ToGeneric(space, _) | Op::FromGeneric(space, _) => {
                // Unless a setting asks for it, what is done twice to a global address is not reported.
                survey.needs_spaces |= space != Space::Global || !module.settings.levels.is_empty();
                survey.uses.push(at);
            }
            Op::IsSpace(_) => {
                survey.needs_spaces = true;
                survey.tests.push(at);
                survey.uses.push(at);
            }
            Op::MapShared(_) => {
                survey.needs_spaces = true;
                survey.uses.push(at);
            }
            Op::Call(call) => {
                if let Callee::Indirect(value) = body.call(call).callee {
                    survey.needs_nulls |= marks.is_suspect(value);
                    survey.indirect.push(at);
                } else if direct_callee(module, body, at)
                    .and_then(summaries)
                    .is_some_and(Summary::asks)
                {
                    let arguments = body.arguments(body.call(call));
                    survey.needs_spaces = true;
                    survey.needs_nulls |= arguments.iter().any(|argument| marks.is_suspect(argument.value));
                    survey.calls.push(at);
                }
            }
            _ => {}
        }
        for &value in uses {
            match value {
                Value::Symbol(symbol, _) => {
                    let space = space_of(symbol);
                    survey.takes_local |= space == Some(Space::Local);
                    survey.needs_spaces |= space.is_some_and(|space| space != Space::Global);
                }
                Value::Param(..) => survey.needs_spaces |= !matches!(instruction.op, Op::Access(_)),
                _ => {}
            }
        }
    }
    // A register exists once the code names it, so one that nothing writes is read.
    survey.needs_spaces |= written.contains(&false);
    if !survey.takes_local {
        survey.escapes.clear();
    }
    survey
}

/// The function that a call names.
pub(super) fn direct_callee(
    module: &ModuleContext<'_>,
    body: &Body<'_>,
    call: InstructionId,
) -> Option<FunctionId> {
    let Callee::Direct(symbol) = body.callee(body.instruction(call))? else {
        return None;
    };
    module.module.called(symbol)
}

/// Whether a direct access to a parameter leaves it, or is not aligned: the rest needs no analysis.
fn is_outside(function: &Function<'_>, instruction: &Instruction, uses: &[Value]) -> bool {
    let (Op::Access(access), &[Value::Param(number, offset), ..]) = (instruction.op, uses) else {
        return false;
    };
    let Some(parameter) = function.params.get(usize::from(number)) else {
        return false;
    };
    let bytes = access_bytes(&access);
    access.kind != AccessKind::Load
        || offset < 0
        || i64::from(offset) + bytes > i64::try_from(parameter.size).unwrap_or(i64::MAX)
        || bytes > 0 && i64::from(offset) % bytes != 0
}

/// Bytes that an access touches; 0 where the instruction does not say.
pub(super) fn access_bytes(access: &Access) -> i64 {
    i64::from(access.bits / 8) * i64::from(access.count)
}

/// The values that have to be known.
pub(super) fn seeds(body: &Body<'_>, survey: &Survey) -> Vec<Value> {
    let mut seeds = Vec::with_capacity(survey.uses.len());
    let first = |at: InstructionId| body.uses(body.instruction(at)).first().copied();
    seeds.extend(survey.uses.iter().filter_map(|&at| first(at)));
    for &at in survey.escapes.iter().chain(&survey.returns) {
        seeds.extend(body.uses(body.instruction(at)).iter().skip(2).copied());
    }
    for &at in &survey.indirect {
        if let Some(Callee::Indirect(value)) = body.callee(body.instruction(at)) {
            seeds.push(value);
        }
    }
    for &at in &survey.null_tests {
        seeds.extend(body.uses(body.instruction(at)).iter().take(2).copied());
    }
    for &at in &survey.calls {
        if let Op::Call(call) = body.instruction(at).op {
            seeds.extend(
                body.arguments(body.call(call))
                    .iter()
                    .map(|argument| argument.value),
            );
        }
    }
    seeds
}
