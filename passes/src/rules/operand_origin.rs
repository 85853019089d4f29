//! What an operand of a warp collective is made of: data that each lane loads, or a mask of lanes.

use crate::context::ModuleContext;
use crate::ir::{
    AccessKind, BinaryOp, Body, Callee, Collective, FunctionId, Instruction, InstructionId, Op, Register,
    Space, Special, Value, Vote,
};
use crate::limits::MAX_OPERAND_STEPS;

/// What is known of an operand in one function.
pub(super) enum Origin {
    /// What is asked for, and the instruction that makes it; none makes a constant.
    Found(Option<(FunctionId, InstructionId)>),
    /// What a caller passes in this piece of a parameter.
    Param((u16, u32)),
    Other,
}

/// Follows a value through moves, conversions between integers and the stack.
fn moved(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, value: Value) -> Value {
    let analyses = module.function(id);
    analyses.definitions().trace(body, value, |at| {
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            (
                Op::Copy
                | Op::Convert {
                    from: 32.., to: 32.., ..
                },
                &[from],
            ) => Some(from),
            (Op::Access(_), _) => {
                let store = body.instruction(analyses.store_for(at)?);
                body.uses(store).get(2).copied()
            }
            _ => None,
        }
    })
}

/// The instruction that alone writes a value.
fn writer(
    module: &ModuleContext<'_>,
    id: FunctionId,
    body: &Body<'_>,
    value: Value,
) -> Option<InstructionId> {
    let Value::Register(register) = value else {
        return None;
    };
    module.function(id).definitions().only(body, register)
}

/// The piece of a parameter that an instruction reads.
fn param(body: &Body<'_>, at: InstructionId) -> Option<Origin> {
    let (number, offset) = body.loaded_param(body.instruction(at))?;
    Some(Origin::Param((number, u32::try_from(offset).ok()?)))
}

/// Data that is loaded.
pub(super) struct Loaded {
    pub(super) origin: Origin,
    /// It is an integer that was made of a floating-point number.
    pub(super) is_converted: bool,
}

/// Whether a value is loaded at an address that is another one for each lane.
pub(super) fn loaded_per_lane(module: &ModuleContext<'_>, id: FunctionId, value: Value) -> Loaded {
    let mut is_converted = false;
    let origin = loaded_or_converted(module, id, value, &mut is_converted);
    Loaded { origin, is_converted }
}

fn loaded_or_converted(
    module: &ModuleContext<'_>,
    id: FunctionId,
    value: Value,
    is_converted: &mut bool,
) -> Origin {
    let Some(body) = &module.module.function(id).body else {
        return Origin::Other;
    };
    let lanes = || Lanes {
        module,
        left: MAX_OPERAND_STEPS,
        assumed: Vec::new(),
    };
    let mut value = value;
    for _ in 0..MAX_OPERAND_STEPS {
        value = moved(module, id, body, value);
        let Some(at) = writer(module, id, body, value) else {
            break;
        };
        if let Some(param) = param(body, at) {
            return param;
        }
        let instruction = body.instruction(at);
        match (instruction.op, body.uses(instruction)) {
            // Floating-point numbers are not interpreted: what has one operand converts it.
            (Op::Opaque, &[from @ Value::Register(_)]) => {
                *is_converted |= rounds(module, instruction);
                value = from;
            }
            // LLVM's `fptoui` and `fptosi`.
            (Op::Opaque, &[from @ Value::Register(_), Value::Unknown])
                if module.module.origin.name(instruction).is_none() =>
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
                    && lanes().differ(id, at, address) =>
            {
                return Origin::Found(Some((id, at)));
            }
            _ => break,
        }
    }
    Origin::Other
}

/// True if an instruction rounds a floating-point number to an integer, as only conversions of such do (PTX ISA, cvt).
fn rounds(module: &ModuleContext<'_>, instruction: &Instruction) -> bool {
    let name = module.module.origin.name(instruction).unwrap_or_default();
    let mut parts = name.split('.');
    parts.next() == Some("cvt") && parts.any(|part| matches!(part, "rni" | "rzi" | "rmi" | "rpi"))
}

/// Whether a value is a ballot, the mask of the active lanes, or all ones.
pub(super) fn made_for_masks(module: &ModuleContext<'_>, id: FunctionId, value: Value) -> Origin {
    let Some(body) = &module.module.function(id).body else {
        return Origin::Other;
    };
    let value = moved(module, id, body, value);
    if let Value::Integer(number) = value
        && number as u32 == u32::MAX
    {
        return Origin::Found(None);
    }
    let Some(at) = writer(module, id, body, value) else {
        return Origin::Other;
    };
    if let Some(param) = param(body, at) {
        return param;
    }
    let is_made = match body.instruction(at).op {
        Op::Call(_) | Op::CallResult(_) => is_made_in_callee(module, id, body, at),
        _ => match mask_maker(body, at) {
            Some(Maker::Lanes) => true,
            Some(Maker::Ballot(mask)) => is_plain(module, id, body, mask),
            None => false,
        },
    };
    if is_made {
        Origin::Found(Some((id, at)))
    } else {
        Origin::Other
    }
}

/// What makes a mask of lanes.
enum Maker {
    /// The lanes that execute it together.
    Lanes,
    /// A ballot among the lanes of this mask.
    Ballot(Value),
}

fn mask_maker(body: &Body<'_>, at: InstructionId) -> Option<Maker> {
    let instruction = body.instruction(at);
    match (instruction.op, body.uses(instruction)) {
        (Op::ActiveMask, _) => Some(Maker::Lanes),
        (Op::Collective(Collective::Vote(Vote::Ballot), _), &[mask, ..]) => Some(Maker::Ballot(mask)),
        _ => None,
    }
}

/// Whether a mask is a constant, or made of the lanes that are there, and so certainly no data: where the mask of a ballot is
/// data, masks are kept in memory, and the ballot is what they are used for.
fn is_plain(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, mask: Value) -> bool {
    match moved(module, id, body, mask) {
        Value::Integer(_) => true,
        mask => writer(module, id, body, mask).is_some_and(|at| mask_maker(body, at).is_some()),
    }
}

/// Whether a call returns a ballot or the mask of the active lanes: unoptimised code makes a function of each intrinsic.
fn is_made_in_callee(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, at: InstructionId) -> bool {
    let made = || {
        let Returned {
            call, callee, value, ..
        } = returned(module, id, body, at)?;
        let inner = module.module.function(callee).body.as_ref()?;
        let value = moved(module, callee, inner, value);
        match mask_maker(inner, writer(module, callee, inner, value)?)? {
            Maker::Lanes => Some(true),
            Maker::Ballot(mask) => {
                let mask = moved(module, callee, inner, mask);
                if let Value::Integer(_) = mask {
                    return Some(true);
                }
                let piece = inner.loaded_param(inner.instruction(writer(module, callee, inner, mask)?))?;
                let mask = argument(body, call, (piece.0, u32::try_from(piece.1).ok()?))?;
                Some(is_plain(module, id, body, mask))
            }
        }
    };
    made() == Some(true)
}

/// What a call passes in a piece of a parameter.
pub(super) fn argument(body: &Body<'_>, call: InstructionId, piece: (u16, u32)) -> Option<Value> {
    let Op::Call(number) = body.instruction(call).op else {
        return None;
    };
    let mut arguments = body.arguments(body.call(number)).iter();
    Some(arguments.find(|argument| argument.passes(piece))?.value)
}

/// The one value that a called function returns.
struct Returned {
    call: InstructionId,
    callee: FunctionId,
    /// The instruction of the callee that returns it.
    at: InstructionId,
    value: Value,
}

/// What is returned by the call that an instruction makes, or takes a result from.
fn returned(
    module: &ModuleContext<'_>,
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

/// A function, and the registers that are taken to differ from lane to lane while that is asked of what writes them: in a
/// loop, `i += step` leaves `i` different if it was.
struct Lanes<'m, 'a> {
    module: &'m ModuleContext<'a>,
    left: usize,
    assumed: Vec<(FunctionId, Register)>,
}

impl Lanes<'_, '_> {
    /// Whether a value, as an instruction reads it, hangs off the lane's number by sums and products alone, so that the
    /// lanes of a warp have different ones.
    fn differ(&mut self, id: FunctionId, reader: InstructionId, value: Value) -> bool {
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
        if let Some(writer) = definitions.last(body, register, reader) {
            return self.differ_in(id, body, writer);
        }
        let writers = definitions.of(register);
        self.assumed.push((id, register));
        let differ = !writers.is_empty() && writers.iter().all(|&writer| self.differ_in(id, body, writer));
        self.assumed.pop();
        differ
    }

    /// Whether what an instruction computes does.
    fn differ_in(&mut self, id: FunctionId, body: &Body<'_>, at: InstructionId) -> bool {
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
                (kept >> low) & LANE_BITS == LANE_BITS && is_lane(self.module, id, body, one, low)
            }
            (Op::Binary(BinaryOp::Shl, _), &[one, Value::Integer(0..=8)])
            | (Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..) | Op::Convert { from: 16.., .. }, &[one]) => {
                self.differ(id, at, one)
            }
            (Op::Binary(op, _) | Op::MulAdd(op, _), _) if op == BinaryOp::Add || is_product(op) => {
                uses.iter().any(|&one| self.differ(id, at, one))
            }
            (Op::Access(_), _) => {
                let Some(store) = self.module.function(id).store_for(at) else {
                    return false;
                };
                let stored = body.uses(body.instruction(store)).get(2);
                stored.is_some_and(|&stored| self.differ(id, store, stored))
            }
            (Op::Call(_) | Op::CallResult(_), _) => {
                let returned = returned(self.module, id, body, at);
                returned.is_some_and(|returned| self.differ(returned.callee, returned.at, returned.value))
            }
            _ => false,
        }
    }
}

/// Whether a value is the number of the thread or lane, shifted left by so many bits.
fn is_lane(module: &ModuleContext<'_>, id: FunctionId, body: &Body<'_>, value: Value, by: u32) -> bool {
    let mut value = moved(module, id, body, value);
    if by > 0 {
        let Some(shift) = writer(module, id, body, value).map(|at| body.instruction(at)) else {
            return false;
        };
        match (shift.op, body.uses(shift)) {
            (Op::Binary(BinaryOp::Shl, _), &[from, Value::Integer(bits)]) if bits == i64::from(by) => {
                value = moved(module, id, body, from);
            }
            _ => return false,
        }
    }
    matches!(value, Value::Special(Special::Tid(0) | Special::LaneId))
}

const fn is_product(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::MulLow | BinaryOp::MulWideSigned | BinaryOp::MulWideUnsigned
    )
}

/// The bits of a thread's number that tell the lanes of a warp apart.
const LANE_BITS: i64 = 31;
