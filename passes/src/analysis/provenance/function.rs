//! One function's summary: finds its uses of addresses, has them solved, and judges them.

use rustc_hash::FxHashSet;

use super::guards::{self, Answers, Facts, Tested};
use super::judge::{Effect, Use, Wrong, covers, is_elsewhere};
use super::solver::{Solver, Summaries, callee};
use super::summary::{Demand, Held, Summary, Violation, formals, verdict};
use super::value::{Base, Element, Form, Provenance, Trust};
use crate::analysis::call_graph::CallSite;
use crate::context::ModuleContext;
use crate::ir::{
    Access, AccessKind, Argument, Body, FunctionId, Instruction, InstructionId, Linkage, Op, Space, SymbolId,
    SymbolKind, Value,
};
use crate::limits::MAX_DEMANDS;

/// What a pass over a body finds that needs to be looked at.
#[derive(Default)]
struct Survey {
    /// Uses of addresses.
    uses: Vec<InstructionId>,
    /// Calls of functions that demand something.
    calls: Vec<InstructionId>,
    /// Stores of return values.
    returns: Vec<InstructionId>,
    tests: Vec<InstructionId>,
    /// Stores whose data may be the address of a local object.
    escapes: Vec<InstructionId>,
    takes_local: bool,
    /// Something is there that can be wrong: a space other than global, a register that nothing writes.
    is_needed: bool,
}

/// The summary of a function with a body, given those of the functions that it calls.
#[must_use]
pub fn summarize<'a>(module: &'a ModuleContext<'a>, id: FunctionId, summaries: &'a Summaries<'a>) -> Summary {
    let function = module.module.function(id);
    let Some(body) = function.body.as_ref() else {
        return Summary::default();
    };
    let survey = survey(module, id, body, summaries);
    if !survey.is_needed {
        return Summary::default();
    }
    let answers = |call: InstructionId| answered(module, body, summaries, call);
    let analyses = module.function(id);
    let facts = if survey.tests.is_empty() && !survey.calls.iter().any(|&call| answers(call).is_some()) {
        Facts::default()
    } else {
        let has_guard = |id: &InstructionId| body.instruction(*id).guard.is_some();
        let guarded = survey.uses.iter().copied().filter(has_guard);
        Facts::new(body, analyses, &answers, guarded)
    };
    let seeds = seeds(body, &survey);
    let Some(solver) = Solver::new(module, id, summaries, facts, seeds.into_iter()) else {
        return Summary::default();
    };
    let mut judge = Judge {
        module,
        id,
        body,
        solver,
        summary: Summary::default(),
        tested: FxHashSet::default(),
        is_anything_tested: false,
    };
    judge.note_tests(&survey);
    for &at in &survey.uses {
        judge.instruction(at);
    }
    for &at in &survey.escapes {
        judge.escape(at);
    }
    for &at in &survey.calls {
        judge.call(at);
    }
    if !function.is_kernel() {
        judge.returns(&survey);
        if let ([only], true) = (survey.returns.as_slice(), judge.is_anything_tested) {
            judge.answer(*only, &answers);
        }
    }
    judge.summary
}

/// What a call asks of an address, if it calls a function that answers.
fn answered<'a>(
    module: &ModuleContext<'_>,
    body: &'a Body<'_>,
    summaries: &Summaries<'a>,
    call: InstructionId,
) -> Option<(Value, Space)> {
    let (summary, arguments) = callee(module, body, summaries, call)?;
    let ((number, piece), space) = summary.answer?;
    let is_asked = |argument: &&Argument| (argument.param, argument.offset) == (u32::from(number), piece);
    Some((arguments.iter().find(is_asked)?.value, space))
}

fn survey(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, summaries: &Summaries<'_>) -> Survey {
    let function = module.module.function(id);
    let mut survey = Survey {
        is_needed: !function.is_kernel() && !function.params.is_empty(),
        ..Survey::default()
    };
    let space_of = |symbol: SymbolId| {
        let symbol = module.module.symbol(symbol);
        (symbol.kind == SymbolKind::Variable).then_some(symbol.space)
    };
    let mut written = vec![false; body.registers.len()];
    for (number, instruction) in body.instructions.iter().enumerate() {
        let at = InstructionId::new(number);
        for register in body.defined(instruction) {
            written[register.index()] = true;
        }
        let uses = body.uses(instruction);
        match instruction.op {
            Op::Access(access) => {
                match uses.first() {
                    Some(Value::ReturnSlot(..)) => {
                        survey.returns.push(at);
                        continue;
                    }
                    Some(Value::Symbol(..)) => survey.is_needed = true,
                    Some(Value::Param(..)) if access.space == Space::Param => {
                        survey.is_needed |= is_outside(function, instruction, uses)
                    }
                    _ => survey.is_needed |= !matches!(access.space, Space::Global | Space::Generic),
                }
                survey.uses.push(at);
                if access.kind != AccessKind::Load && uses.len() > 2 && matches!(access.bits, 32 | 64) {
                    survey.escapes.push(at);
                }
            }
            Op::ToGeneric(space, _) | Op::FromGeneric(space, _) => {
                // Unless a setting asks for it, what is done twice to a global address is not reported.
                survey.is_needed |= space != Space::Global || !module.settings.levels.is_empty();
                survey.uses.push(at);
            }
            Op::IsSpace(_) => {
                survey.is_needed = true;
                survey.tests.push(at);
                survey.uses.push(at);
            }
            Op::MapShared(_) => {
                survey.is_needed = true;
                survey.uses.push(at);
            }
            Op::Call(call) => {
                let callee = match body.call(call).callee {
                    crate::ir::Callee::Direct(symbol) => module.module.function_of(symbol),
                    crate::ir::Callee::Indirect(_) => None,
                };
                let callee = callee.map(|callee| module.module.function(callee).alias_of.unwrap_or(callee));
                if callee
                    .and_then(summaries)
                    .is_some_and(|summary| !summary.demands.is_empty() || !summary.tested.is_empty())
                {
                    survey.is_needed = true;
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
                    survey.is_needed |= space.is_some_and(|space| space != Space::Global);
                }
                Value::Param(..) => survey.is_needed |= !matches!(instruction.op, Op::Access(_)),
                _ => {}
            }
        }
    }
    // A register exists once the code names it, so one that nothing writes is read.
    survey.is_needed |= written.contains(&false);
    if !survey.takes_local {
        survey.escapes.clear();
    }
    survey
}

/// Whether a direct access to a parameter leaves it, or is not aligned: the rest needs no analysis.
fn is_outside(function: &crate::ir::Function<'_>, instruction: &Instruction, uses: &[Value]) -> bool {
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

fn access_bytes(access: &Access) -> i64 {
    i64::from(access.bits / 8) * i64::from(access.count)
}

fn seeds(body: &Body<'_>, survey: &Survey) -> Vec<Value> {
    let mut seeds = Vec::with_capacity(survey.uses.len());
    let first = |at: InstructionId| body.uses(body.instruction(at)).first().copied();
    seeds.extend(survey.uses.iter().filter_map(|&at| first(at)));
    for &at in survey.escapes.iter().chain(&survey.returns) {
        seeds.extend(body.uses(body.instruction(at)).iter().skip(2).copied());
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

/// The use of an address that an instruction makes.
fn use_of(op: Op) -> Option<Use> {
    Some(match op {
        Op::Access(Access {
            space: Space::Tensor, ..
        }) => return None,
        Op::Access(access) => {
            let effect = match access.kind {
                AccessKind::Store => Effect::Writes,
                AccessKind::Atomic | AccessKind::Reduction => Effect::Updates,
                AccessKind::Load | AccessKind::Other => Effect::Reads,
            };
            Use::Access(access.space, effect)
        }
        Op::ToGeneric(space, _) => Use::ToGeneric(space),
        Op::FromGeneric(space, _) => Use::FromGeneric(space),
        Op::IsSpace(space) => Use::Test(space),
        Op::MapShared(space) => Use::Map(space),
        _ => return None,
    })
}

/// A symbol that stands in the operand of a generic access: ptxas sees its space and accesses that; of constant memory
/// and parameters it rejects it.
fn converted(value: &Provenance) -> Provenance {
    value.map(|element| match element.space {
        Space::Global | Space::Shared | Space::Local => Element {
            form: Form::Generic,
            ..*element
        },
        _ => *element,
    })
}

struct Judge<'a> {
    module: &'a ModuleContext<'a>,
    id: FunctionId,
    body: &'a Body<'a>,
    solver: Solver<'a>,
    summary: Summary,
    /// Bases whose space is tested somewhere.
    tested: FxHashSet<Base>,
    is_anything_tested: bool,
}

impl<'a> Judge<'a> {
    fn note_tests(&mut self, survey: &Survey) {
        let mut tested: Vec<Provenance> = Vec::new();
        for &at in &survey.tests {
            if let Some(&value) = self.body.uses(self.body.instruction(at)).first() {
                tested.push(self.solver.at(value, at).0);
            }
        }
        for &at in &survey.calls {
            let Some((summary, arguments)) = self.solver.callee(at) else {
                continue;
            };
            for piece in &summary.tested {
                let passed = arguments
                    .iter()
                    .find(|argument| (argument.param, argument.offset) == (u32::from(piece.0), piece.1));
                tested.extend(passed.map(|argument| self.solver.at(argument.value, at).0));
            }
        }
        // Of an address that is not generic, a test tells nothing.
        let elements = tested.iter().flat_map(Provenance::elements);
        for element in elements.filter(|element| element.form != Form::Raw) {
            self.is_anything_tested = true;
            self.tested.insert(element.base);
            if let (Form::Formal, Base::Param(number, piece)) = (element.form, element.base) {
                self.summary.tested.push((number, piece));
            }
        }
        self.summary.tested.sort_unstable();
        self.summary.tested.dedup();
    }

    /// Whether some element's space is tested in a way that the facts do not cover here.
    fn is_doubtful(&self, value: &Provenance, tested: Tested) -> bool {
        self.is_anything_tested
            && tested == Tested::No
            && value
                .elements()
                .iter()
                .any(|element| self.tested.contains(&element.base))
    }

    fn report(
        &mut self,
        at: InstructionId,
        wrong: Wrong,
        used: Use,
        element: Element,
        is_definite: bool,
        or: Option<Element>,
    ) {
        self.summary.violations.push(Violation {
            function: self.id,
            instruction: at,
            wrong,
            used,
            element,
            of: self.id,
            is_definite,
            or,
            callers: Vec::new(),
        });
    }

    fn instruction(&mut self, at: InstructionId) {
        let instruction = self.body.instruction(at);
        let uses = self.body.uses(instruction);
        let (Some(used), Some(&operand)) = (use_of(instruction.op), uses.first()) else {
            return;
        };
        let (value, tested) = self.solver.at(operand, at);
        if let Op::Access(access) = instruction.op {
            self.bounds(at, &access, uses, &value);
        }
        let value = match (used, operand) {
            (Use::Access(Space::Generic, _), Value::Symbol(..)) => converted(&value),
            _ => value,
        };
        let held = Held {
            value: &value,
            excluded: 0,
            is_doubtful: !matches!(used, Use::Test(_)) && self.is_doubtful(&value, tested),
        };
        if let Some((wrong, element, is_definite, or)) = verdict(used, &held) {
            let (wrong, element) = match tested {
                Tested::Holds(test) if is_elsewhere(wrong, used, &element) => (
                    Wrong::AgainstTest,
                    Element {
                        origin: Some(test),
                        ..element
                    },
                ),
                _ => (wrong, element),
            };
            let own_rank = wrong == Wrong::ClusterAsCta && self.may_be_own_rank(&element);
            self.report(at, wrong, used, element, is_definite && !own_rank, or);
        }
        for (piece, excluded, is_sole) in formals(&value).collect::<Vec<_>>() {
            self.demand(Demand {
                piece,
                used,
                excluded,
                is_sole,
                function: self.id,
                instruction: at,
                callers: Vec::new(),
            });
        }
    }

    /// Whether the rank given to `mapa` may be the CTA's own: read from a special register.
    fn may_be_own_rank(&self, element: &Element) -> bool {
        let Some(origin) = element.origin else {
            return true;
        };
        let instruction = self.body.instruction(origin);
        match (instruction.op, self.body.uses(instruction)) {
            (Op::MapShared(_), [_, rank]) => self.solver.is_uniform_special(*rank),
            _ => false,
        }
    }

    fn demand(&mut self, demand: Demand) {
        let known = self.summary.demands.iter().any(|known| {
            (known.piece, known.used, known.excluded) == (demand.piece, demand.used, demand.excluded)
                && known.is_sole >= demand.is_sole
        });
        if !known && self.summary.demands.len() < MAX_DEMANDS {
            self.summary.demands.push(demand);
        }
    }

    /// PTX211: constant offsets outside the object, or misaligned in it.
    fn bounds(&mut self, at: InstructionId, access: &Access, uses: &[Value], value: &Provenance) {
        let bytes = access_bytes(access);
        let Some(&Value::Integer(by)) = uses.get(1) else {
            return;
        };
        if bytes == 0 || access.kind == AccessKind::Other {
            return;
        }
        let mut first = None;
        for element in value.elements() {
            let start = element.offset.and_then(|offset| offset.checked_add(by));
            match start.and_then(|start| self.outside(element, start, bytes)) {
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
            self.report(
                at,
                wrong,
                Use::Access(access.space, Effect::Reads),
                element,
                true,
                None,
            );
        }
    }

    fn outside(&self, element: &Element, start: i64, bytes: i64) -> Option<Wrong> {
        let (size, align) = match (element.form, element.base) {
            (Form::Raw | Form::Generic, Base::Symbol(symbol)) => {
                let symbol = self.module.module.symbol(symbol);
                // Another module's definition may be larger.
                let is_final =
                    matches!(symbol.linkage, Linkage::Local | Linkage::External) && !symbol.is_undefined();
                (symbol.size.filter(|_| is_final)?, symbol.align)
            }
            (Form::Raw, Base::Param(number, _)) if element.space == Space::Param => {
                let parameter = self
                    .module
                    .module
                    .function(self.id)
                    .params
                    .get(usize::from(number))?;
                (Some(parameter.size).filter(|&size| size > 0)?, parameter.align)
            }
            _ => return None,
        };
        let end = start.checked_add(bytes)?;
        if start < 0 || end > i64::try_from(size).ok()? {
            return Some(Wrong::OutOfBounds);
        }
        let is_known_to_be_aligned = i64::from(align) % bytes == 0;
        (is_known_to_be_aligned && start % bytes != 0).then_some(Wrong::Misaligned)
    }

    /// PTX206: the address of a local object stored to memory that other threads see.
    fn escape(&mut self, at: InstructionId) {
        let instruction = self.body.instruction(at);
        let uses = self.body.uses(instruction);
        let (Op::Access(access), Some(&to)) = (instruction.op, uses.first()) else {
            return;
        };
        let is_seen = match access.space {
            Space::Global | Space::Shared | Space::SharedCluster => true,
            Space::Generic => {
                let (target, _) = self.solver.at(to, at);
                let elements = target.elements();
                !elements.is_empty()
                    && elements.iter().all(|element| {
                        element.is_address()
                            && (element.space == Space::Global || covers(Space::SharedCluster, element.space))
                    })
            }
            _ => false,
        };
        if !is_seen {
            return;
        }
        for &stored in uses.iter().skip(2) {
            let (value, _) = self.solver.at(stored, at);
            let is_local = |element: &Element| element.is_address() && element.space == Space::Local;
            let Some(element) = value.elements().iter().find(|element| is_local(element)) else {
                continue;
            };
            let is_definite = value
                .elements()
                .iter()
                .all(|element| is_local(element) && element.trust == Trust::Certain);
            self.report(
                at,
                Wrong::Escape,
                Use::Access(access.space, Effect::Writes),
                *element,
                is_definite,
                None,
            );
            return;
        }
    }

    /// Holds a call against what the function called demands.
    fn call(&mut self, at: InstructionId) {
        let Some((summary, arguments)) = self.solver.callee(at) else {
            return;
        };
        let Some(callee) = self.callee_of(at) else {
            return;
        };
        let site = CallSite {
            caller: self.id,
            instruction: at,
            callee,
        };
        for demand in &summary.demands {
            let passed = arguments.iter().find(|argument| {
                (argument.param, argument.offset) == (u32::from(demand.piece.0), demand.piece.1)
            });
            let Some(argument) = passed else { continue };
            let (value, tested) = self.solver.at(argument.value, at);
            let held = Held {
                value: &value,
                excluded: demand.excluded,
                is_doubtful: self.is_doubtful(&value, tested)
                    || summary.tested.contains(&demand.piece) && demand.excluded == 0,
            };
            let callers: Vec<CallSite> = demand.callers.iter().copied().chain([site]).collect();
            if let Some((wrong, element, is_definite, or)) = verdict(demand.used, &held) {
                // Nothing is written wrongly there: the register is undefined here.
                let (function, instruction, callers) = if wrong == Wrong::Undefined {
                    (self.id, at, Vec::new())
                } else {
                    (demand.function, demand.instruction, callers.clone())
                };
                self.summary.violations.push(Violation {
                    function,
                    instruction,
                    wrong,
                    used: demand.used,
                    element,
                    of: self.id,
                    is_definite: is_definite && demand.is_sole,
                    or,
                    callers,
                });
            }
            for (piece, excluded, is_sole) in formals(&value).collect::<Vec<_>>() {
                self.demand(Demand {
                    piece,
                    used: demand.used,
                    excluded: excluded | demand.excluded,
                    is_sole: is_sole && demand.is_sole,
                    function: demand.function,
                    instruction: demand.instruction,
                    callers: callers.clone(),
                });
            }
        }
    }

    fn callee_of(&self, at: InstructionId) -> Option<FunctionId> {
        let crate::ir::Callee::Direct(symbol) = self.body.callee(self.body.instruction(at))? else {
            return None;
        };
        let callee = self.module.module.function_of(symbol)?;
        Some(self.module.module.function(callee).alias_of.unwrap_or(callee))
    }

    /// What the function returns, joined over its stores to the return value.
    fn returns(&mut self, survey: &Survey) {
        for &at in &survey.returns {
            let instruction = self.body.instruction(at);
            let (Op::Access(access), &[Value::ReturnSlot(_, start), ref rest @ ..]) =
                (instruction.op, self.body.uses(instruction))
            else {
                continue;
            };
            for (number, &value) in rest.iter().skip(1).enumerate() {
                let stride = i64::from(access.bits / 8);
                let Ok(offset) = u32::try_from(i64::from(start) + stride * number as i64) else {
                    continue;
                };
                let (value, _) = self.solver.at(value, at);
                match self
                    .summary
                    .results
                    .iter_mut()
                    .find(|(known, _)| *known == offset)
                {
                    Some((_, joined)) => {
                        joined.join(&value);
                    }
                    None => self.summary.results.push((offset, value)),
                }
            }
        }
    }

    /// Whether what the function returns is the answer to a test of what it is passed.
    fn answer(&mut self, store: InstructionId, answers: &Answers<'_>) {
        let &[Value::ReturnSlot(_, 0), _, value] = self.body.uses(self.body.instruction(store)) else {
            return;
        };
        let analyses = self.module.function(self.id);
        let Some((tested, space)) = guards::answer(self.body, analyses, answers, value) else {
            return;
        };
        let (value, _) = self.solver.at(Value::Register(tested), store);
        if let &[element] = value.elements()
            && let (Form::Formal, Base::Param(number, piece), Some(0)) =
                (element.form, element.base, element.offset)
        {
            self.summary.answer = Some(((number, piece), space));
        }
    }
}
