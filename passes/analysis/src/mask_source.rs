//! The origin of an operand of a warp collective: data that each lane loads, or a mask of lanes.

use ptxcheck_ir::ops::{Change, Form};
use ptxcheck_ir::{
    AccessKind, BinaryOp, Body, Callee, Collective, FunctionId, InstructionId, Op, ParamPiece, Register,
    Space, Span, Special, Value, Vote,
};

use crate::ModuleAnalyses;
use crate::limits::MAX_OPERAND_STEPS;

/// The origin of an operand, as far as one function determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandOrigin {
    /// The requested origin, and the instruction that computes the operand; `None` for a constant.
    Found(Option<(FunctionId, InstructionId)>),
    /// A piece of a parameter, by the parameter's index and the offset in bytes: callers decide.
    Param(ParamPiece),
    /// Another origin, or an unknown one.
    Other,
}

/// Follows a value through moves, conversions between integers and the stack.
fn source_of_moves(module: &ModuleAnalyses<'_>, id: FunctionId, value: Value) -> Value {
    module.function(id).trace_value(value, |form| match form {
        Form::Moved(from, change) if change.keeps_number() && change.keeps_address() => Some(from),
        _ => None,
    })
}

/// The piece of a parameter that an instruction reads.
fn loaded_param(body: &Body<'_>, at: InstructionId) -> Option<OperandOrigin> {
    body.loaded_piece(body.instruction(at)).map(OperandOrigin::Param)
}

/// The origin of loaded data.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// The instruction that loads it.
    pub origin: OperandOrigin,
    /// It is an integer that was converted from a floating-point number.
    pub is_converted: bool,
}

/// Determines whether a value is loaded at an address that differs from lane to lane.
#[must_use]
pub fn classify_lane_dependent_load(module: &ModuleAnalyses<'_>, id: FunctionId, value: Value) -> Loaded {
    let mut is_converted = false;
    let origin = origin_as_loaded_data(module, id, value, &mut is_converted);
    Loaded { origin, is_converted }
}

fn origin_as_loaded_data(
    module: &ModuleAnalyses<'_>,
    id: FunctionId,
    value: Value,
    is_converted: &mut bool,
) -> OperandOrigin {
    let Some(body) = &module.module.function(id).body else {
        return OperandOrigin::Other;
    };
    let variance = || LaneVariance {
        module,
        left: MAX_OPERAND_STEPS,
        assumed: Vec::new(),
    };
    let mut value = value;
    for _ in 0..MAX_OPERAND_STEPS {
        value = source_of_moves(module, id, value);
        let Some(at) = module.function(id).only_writer(value) else {
            break;
        };
        if let Some(param) = loaded_param(body, at) {
            return param;
        }
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            // Floating-point operations are opaque; those with one operand are assumed to be conversions.
            (Op::Opaque, &[from @ Value::Register(_)]) => {
                *is_converted |= rounds_to_integer(module, body.span_of(at));
                value = from;
            }
            // LLVM's `fptoui` and `fptosi`.
            (Op::Opaque, &[from @ Value::Register(_), Value::Unknown])
                if module.module.origin.name(body.span_of(at)).is_none() =>
            {
                *is_converted = true;
                value = from;
            }
            (Op::Access(access), &[address, ..])
                if access.kind == AccessKind::Load
                    && matches!(
                        access.space,
                        Space::Global | Space::Shared | Space::Const | Space::Generic
                    )
                    && variance().differs_between_lanes(id, at, address) =>
            {
                return OperandOrigin::Found(Some((id, at)));
            }
            _ => break,
        }
    }
    OperandOrigin::Other
}

/// True if the instruction with this span rounds a floating-point number to an integer: only conversions do so (PTX ISA, cvt).
fn rounds_to_integer(module: &ModuleAnalyses<'_>, span: Span) -> bool {
    let name = module.module.origin.name(span).unwrap_or_default();
    let mut parts = name.split('.');
    parts.next() == Some("cvt") && parts.any(|part| matches!(part, "rni" | "rzi" | "rmi" | "rpi"))
}

/// Determines whether a value is a mask of lanes: a ballot, the mask of the active lanes, or all ones.
#[must_use]
pub fn origin_as_lane_mask(module: &ModuleAnalyses<'_>, id: FunctionId, value: Value) -> OperandOrigin {
    let Some(body) = &module.module.function(id).body else {
        return OperandOrigin::Other;
    };
    let value = source_of_moves(module, id, value);
    if let Value::Integer(number) = value
        && number as u32 == u32::MAX
    {
        return OperandOrigin::Found(None);
    }
    let Some(at) = module.function(id).only_writer(value) else {
        return OperandOrigin::Other;
    };
    if let Some(param) = loaded_param(body, at) {
        return param;
    }
    let is_made = match body.instruction(at).op {
        Op::Call(_) | Op::CallResult(_) => is_mask_returned_by_callee(module, id, body, at),
        _ => match mask_producer(body, at) {
            Some(MaskMaker::Lanes) => true,
            Some(MaskMaker::Ballot(mask)) => is_certainly_mask(module, id, body, mask),
            None => false,
        },
    };
    if is_made {
        OperandOrigin::Found(Some((id, at)))
    } else {
        OperandOrigin::Other
    }
}

/// An operation that computes a mask of lanes.
enum MaskMaker {
    /// The lanes that execute it together.
    Lanes,
    /// A ballot among the lanes of this mask.
    Ballot(Value),
}

fn mask_producer(body: &Body<'_>, at: InstructionId) -> Option<MaskMaker> {
    let instruction = body.instruction(at);
    match (instruction.op, body.uses(instruction)) {
        (Op::ActiveMask, _) => Some(MaskMaker::Lanes),
        (Op::Collective(Collective::Vote(Vote::Ballot), _), &[mask, ..]) => Some(MaskMaker::Ballot(mask)),
        _ => None,
    }
}

/// True if a mask is a constant or computed from the active lanes, and so certainly no data. A program whose ballots take
/// masks that are data keeps masks in memory: then data does not indicate swapped operands.
fn is_certainly_mask(module: &ModuleAnalyses<'_>, id: FunctionId, body: &Body<'_>, mask: Value) -> bool {
    match source_of_moves(module, id, mask) {
        Value::Integer(_) => true,
        mask => module
            .function(id)
            .only_writer(mask)
            .is_some_and(|at| mask_producer(body, at).is_some()),
    }
}

/// True if a call returns a ballot or the mask of the active lanes: unoptimised code makes a function of each intrinsic.
fn is_mask_returned_by_callee(
    module: &ModuleAnalyses<'_>,
    id: FunctionId,
    body: &Body<'_>,
    at: InstructionId,
) -> bool {
    let made = || {
        let Returned {
            call, callee, value, ..
        } = returned_value(module, id, body, at)?;
        let inner = module.module.function(callee).body.as_ref()?;
        let value = source_of_moves(module, callee, value);
        match mask_producer(inner, module.function(callee).only_writer(value)?)? {
            MaskMaker::Lanes => Some(true),
            MaskMaker::Ballot(mask) => {
                let mask = source_of_moves(module, callee, mask);
                if let Value::Integer(_) = mask {
                    return Some(true);
                }
                let piece =
                    inner.loaded_piece(inner.instruction(module.function(callee).only_writer(mask)?))?;
                let mask = body.passed(call, piece)?;
                Some(is_certainly_mask(module, id, body, mask))
            }
        }
    };
    made() == Some(true)
}

/// The only value that a called function returns.
struct Returned {
    call: InstructionId,
    callee: FunctionId,
    /// The instruction of the callee that returns it.
    at: InstructionId,
    value: Value,
}

/// The value returned by the call that an instruction makes, or takes a result from.
fn returned_value(
    module: &ModuleAnalyses<'_>,
    id: FunctionId,
    body: &Body<'_>,
    at: InstructionId,
) -> Option<Returned> {
    let call = match body.instruction(at).op {
        Op::CallResult(call) => call,
        _ => at,
    };
    let Op::Call(number) = body.instruction(call).op else {
        return None;
    };
    let Callee::Direct(symbol) = body.call(number).callee else {
        return None;
    };
    let callee = module.module.called(symbol).filter(|callee| *callee != id)?;
    let inner = module.module.function(callee).body.as_ref()?;
    let mut values = inner
        .iter()
        .filter_map(|(at, instruction)| Some((at, inner.returned(instruction)?)));
    let (at, (_, value)) = values.next()?;
    values.next().is_none().then_some(Returned {
        call,
        callee,
        at,
        value,
    })
}

/// Finds values that differ from lane to lane. The registers in `assumed` are assumed to differ while their definitions are
/// examined: in a loop, `i += step` differs if `i` did before.
struct LaneVariance<'m, 'a> {
    module: &'m ModuleAnalyses<'a>,
    left: usize,
    assumed: Vec<(FunctionId, Register)>,
}

impl LaneVariance<'_, '_> {
    /// True if a value, at the instruction that reads it, depends on the lane index by sums and products alone, so that it
    /// differs between the lanes of a warp.
    fn differs_between_lanes(&mut self, id: FunctionId, reader: InstructionId, value: Value) -> bool {
        let register = match value {
            Value::Special(Special::Tid(0) | Special::LaneId) => return true,
            Value::Register(register) => register,
            _ => return false,
        };
        let Some(body) = &self.module.module.function(id).body else {
            return false;
        };
        if self.assumed.contains(&(id, register)) {
            return true;
        }
        let definitions = self.module.function(id).definitions();
        if let Some(writer) = definitions.last_writer_before(body, register, reader) {
            return self.result_differs_between_lanes(id, body, writer);
        }
        let writers = definitions.writers_of(register);
        self.assumed.push((id, register));
        let differ = !writers.is_empty()
            && writers
                .iter()
                .all(|&writer| self.result_differs_between_lanes(id, body, writer));
        self.assumed.pop();
        differ
    }

    /// True if the result of an instruction differs from lane to lane.
    fn result_differs_between_lanes(&mut self, id: FunctionId, body: &Body<'_>, at: InstructionId) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        let instruction = body.instruction(at);
        let uses = body.uses(instruction);
        match (instruction.op, uses) {
            (Op::Binary(BinaryOp::And, _), &[one, Value::Integer(kept)]) if kept != 0 => {
                let low = kept.trailing_zeros();
                // `lane & 31`, or `(lane << 2) & 124`.
                (kept >> low) & LANE_BITS == LANE_BITS && is_shifted_lane_index(self.module, id, one, low)
            }
            (Op::Access(_), _) => {
                let Some(store) = self.module.function(id).store_read_by(at) else {
                    return false;
                };
                let stored = body.stored(body.instruction(store));
                stored.is_some_and(|stored| self.differs_between_lanes(id, store, stored))
            }
            (Op::Call(_) | Op::CallResult(_), _) => {
                let returned = returned_value(self.module, id, body, at);
                returned.is_some_and(|returned| {
                    self.differs_between_lanes(returned.callee, returned.at, returned.value)
                })
            }
            (op, uses) => match Form::of(op, uses) {
                Form::Moved(_, Change::Width { from: ..16, .. }) => false,
                Form::Moved(one, _) => self.differs_between_lanes(id, at, one),
                Form::Sum(..) | Form::Product(..) | Form::ProductSum(..) => {
                    uses.iter().any(|&one| self.differs_between_lanes(id, at, one))
                }
                _ => false,
            },
        }
    }
}

/// True if a value is the index of the thread or lane, shifted left by so many bits.
fn is_shifted_lane_index(module: &ModuleAnalyses<'_>, id: FunctionId, value: Value, by: u32) -> bool {
    let mut value = source_of_moves(module, id, value);
    if by > 0 {
        let analyses = module.function(id);
        match analyses
            .only_writer(value)
            .map(|shift| analyses.form_of_result(shift))
        {
            Some(Form::Product(from, Value::Integer(factor))) if Some(factor) == 1_i64.checked_shl(by) => {
                value = source_of_moves(module, id, from);
            }
            _ => return false,
        }
    }
    matches!(value, Value::Special(Special::Tid(0) | Special::LaneId))
}

/// The bits of a thread number that distinguish the lanes of a warp.
const LANE_BITS: i64 = 31;
