//! ## What it does
//!
//! Finds virtual calls on an object that a kernel takes by value: the address of its table of functions is read from the
//! parameter, the function from that table, and called.
//!
//! ## Why is this bad?
//!
//! The host made the object, so its table is the host's. The device reads host memory, or calls host code. The CUDA guide allows
//! virtual calls only on objects that device code has constructed.
//!
//! ## Example
//!
//! ```cuda
//! struct Square : Shape { __device__ int area() const override; };
//! __global__ void k(Square s, int *out) { const Shape &shape = s; *out = shape.area(); }
//! ```
//!
//! ## Use instead
//!
//! Templates, a tag and a `switch`, or objects that a kernel constructs with `new`.
//!
//! ## Limits
//!
//! Always potential: a structure of one's own with a table of functions that device code has filled looks alike. Optimised code
//! only: a debug build copies the parameter to the stack first; PTX only: LLVM IR reads by-value parameters in another way. What the compiler knows the class of it calls directly.

use crate::context::{FunctionContext, Place, Report};
use crate::ir::{AccessKind, Callee, Instruction, Op, Space, Value};
use crate::rule::{Check, Family, Level, Rule};

use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX304",
    name: "polymorphic-kernel-param",
    aliases: &[],
    guidelines: &["G-4.3"],
    family: Family::Params,
    summary: "a virtual function of an object that a kernel takes by value is called",
    definite: Level::Error,
    can_be_definite: false,
    can_be_potential: true,
    check: Check::Function(check),
};

/// Bytes of a pointer.
const POINTER_BYTES: u64 = 8;

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    if !function.function.is_kernel() {
        return;
    }
    for call in &function.body.calls {
        let Callee::Indirect(callee) = call.callee else {
            continue;
        };
        if !has_object(function, call) || !function.analyses().is_reached(call.instruction) {
            continue;
        }
        let Some(number) = parameter(function, callee) else {
            continue;
        };
        let Some(param) = function.function.params.get(usize::from(number)) else {
            continue;
        };
        let declared = function.module.module.origin.text(param.span);
        // A pointer to a table is no object.
        if param.size == POINTER_BYTES && memchr::memchr(b'[', declared).is_none() {
            continue;
        }
        let name = wording::parameter(function.name(), usize::from(number), param.name);
        report
            .potential(
                Place::instruction(function.id, call.instruction),
                format!("this calls a function of a table whose address is in {name}: the host's, if it is a virtual one"),
            )
            .help("use a template, or objects that device code has constructed")
            .data("param", u64::from(number));
    }
}

/// True if the first argument of a call is an address.
fn has_object(function: &FunctionContext<'_>, call: &crate::ir::Call) -> bool {
    let arguments = function.body.arguments(call);
    let first = arguments.iter().find(|argument| argument.passes((0, 0)));
    let register = first.and_then(|argument| argument.value.register());
    register.is_some_and(|register| {
        u64::from(function.body.registers[register.index()].bits) == 8 * POINTER_BYTES
    })
}

/// The parameter that the address is read from which a called address is read at.
fn parameter(function: &FunctionContext<'_>, callee: Value) -> Option<u16> {
    let body = function.body;
    let table = source(function, callee)?;
    let Op::Access(access) = table.op else { return None };
    if access.kind != AccessKind::Load
        || !matches!(access.space, Space::Generic | Space::Global | Space::Const)
    {
        return None;
    }
    let pointer = source(function, *body.uses(table).first()?)?;
    body.loaded_param(pointer).map(|(number, _)| number)
}

/// The instruction that writes a value, through copies and conversions between spaces.
fn source<'a>(function: &FunctionContext<'a>, value: Value) -> Option<&'a Instruction> {
    let (body, definitions) = (function.body, function.analyses().definitions());
    let value = definitions.trace(body, value, |id| {
        let instruction = body.instruction(id);
        match instruction.op {
            Op::Copy | Op::ToGeneric(..) | Op::FromGeneric(..) => body.uses(instruction).first().copied(),
            _ => None,
        }
    });
    Some(body.instruction(definitions.only(body, value.register()?)?))
}
